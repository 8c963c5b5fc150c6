"""The same problem is decided by asking: what a certificate or a folder of runs holds, against fresh answers."""

import numpy as np
import pytest

from oracle_opt import Box, FunctionOracle, InvalidCertificate, ObjectiveCut, Refuted, Simplex, StoreMismatch, minimize
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.study import Results, Study


def affine(rng, domain, scale=1.0, shift=0.0, name="f", witness=False):
    """A maximum of affine functions, by a function whose name is drawn anew at each call."""
    slopes, constants = scale * rng.normal(size=(8, domain.dimension)), scale * (rng.normal(size=8) + shift)

    def function(z):
        values = slopes @ z + constants
        k = int(values.argmax())
        return ObjectiveCut(z, float(values[k]), slopes[k]) if witness else (float(values[k]), slopes[k])

    function.__qualname__ = name
    return FunctionOracle(function, domain, witness=("point",) if witness else ())


def domain_of(rng):
    n = int(rng.integers(1, 5))
    return Simplex(n + 1) if rng.random() < 0.5 else Box(-rng.uniform(0.1, 2.0, n), rng.uniform(0.1, 2.0, n))


@pytest.mark.to_the_bit
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_renamed_function_verifies_and_a_changed_one_does_not(scale, tmp_path) -> None:
    refused = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        domain, generator = domain_of(rng), LevelSet() if seed % 2 else Kelley()
        oracle = affine(np.random.default_rng(seed), domain, scale)
        result = minimize(oracle, generator, rtol=1e-9)
        result.certificate().save(tmp_path / "c.jsonl")
        certificate = Certificate.load(tmp_path / "c.jsonl")
        renamed = affine(np.random.default_rng(seed), domain, scale, name="another.<locals>.name")
        verdict = certificate.verify(renamed)
        assert verdict.n_asked >= 1
        assert "asked anew" in str(verdict)
        assert certificate.verify(renamed, ask=False).n_asked == 0
        for shift in (1e-5, 0.1, -1e-5, -0.1):
            changed = affine(np.random.default_rng(seed), domain, scale, shift)
            at = renamed.function(result.point)[0], changed.function(result.point)[0]
            assert at[0] != at[1]
            with pytest.raises(Refuted) as caught:
                certificate.verify(changed)
            assert repr(at[1]) in str(caught.value)
            refused += 1
    assert refused == 80


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_held_against_answers_where_they_were_taken(seed) -> None:
    """The value at the best point is the same, and those at the points of the cuts are lower."""
    rng = np.random.default_rng(seed)
    domain = Box(-np.ones(3), np.ones(3))
    oracle = affine(rng, domain, witness=True)
    result = minimize(oracle, Kelley(), rtol=1e-9)
    certificate = result.certificate()
    assert certificate.verify(oracle).n_asked >= len(certificate.cuts)

    def lower(z):
        cut = oracle.function(z)
        low = 0.0 if (z == result.point).all() else 0.5 * np.linalg.norm(z - result.point)
        return ObjectiveCut(z, cut.value - low, cut.subgradient)

    with pytest.raises(Refuted, match="at a point where it claims"):
        certificate.verify(FunctionOracle(lower, domain, witness=("point",)))


def test_other_data_with_a_digest_are_another_problem() -> None:
    oracle = affine(np.random.default_rng(0), Box(-np.ones(3), np.ones(3)))
    certificate = minimize(oracle, Kelley()).certificate()
    with pytest.raises(InvalidCertificate, match="another problem"):
        certificate.verify(FunctionOracle(oracle.function, Box(-np.ones(3), 2 * np.ones(3))))


def test_constraints_are_asked_too() -> None:
    """A best point that another constraint excludes."""
    domain, disk = Box([-2.0, -2.0], [2.0, 2.0]), lambda z: (float(z @ z) - 1.0, 2 * z)
    far = lambda z: (float(z.sum()), np.ones(2))  # noqa: E731 - a name would be an identity
    certificate = minimize(FunctionOracle(far, domain, constraints=[disk]), Kelley(), rtol=1e-6).certificate()
    assert certificate.verify(FunctionOracle(far, domain, constraints=[disk])).n_asked == 1
    with pytest.raises(Refuted, match="feasible"):
        certificate.verify(FunctionOracle(far, domain, constraints=[lambda z: (float(z @ z) - 0.9, 2 * z)]))


def study_of(function, domain):
    return Study({"one": FunctionOracle(function, domain)}, {"kelley": Kelley(), "level": LevelSet()}, tau=1e-3)


@pytest.mark.to_the_bit
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_folder_knows_a_renamed_problem_and_refuses_a_changed_one(scale, tmp_path) -> None:
    for seed in range(5):
        domain = domain_of(np.random.default_rng(seed))
        made = [affine(np.random.default_rng(seed), domain, scale, shift).function for shift in (0.0, 0.0, 1e-5, -0.1)]
        folder = tmp_path / str(seed)
        before = study_of(made[0], domain).run(folder, jobs=1, progress=False).runs
        made[1].__qualname__ = "elsewhere.<locals>.renamed"
        after = study_of(made[1], domain).run(folder, jobs=1, progress=False).runs
        assert after["seconds"].tolist() == before["seconds"].tolist()
        for changed in made[2:]:
            at = domain.interior_point()
            with pytest.raises(StoreMismatch, match="another folder") as caught:
                study_of(changed, domain).run(folder, jobs=1, progress=False)
            assert repr(made[0](at)[0]) in str(caught.value)
            assert repr(changed(at)[0]) in str(caught.value)
        assert len(Results.read(folder).runs) == 2


def test_a_factory_and_its_closure_are_asked_at_each_seed(tmp_path) -> None:
    domain, shift = Simplex(3), [0.0]

    def make(seed):
        return affine(np.random.default_rng(seed), domain, shift=shift[0])

    def run():
        return Study({"drawn": make}, {"kelley": Kelley()}, seeds=2, tau=1e-3).run(tmp_path, jobs=1, progress=False)

    run()
    make.__qualname__ = "moved"
    assert len(run().runs) == 2
    shift[0] = 1.0
    with pytest.raises(StoreMismatch, match="another problem called drawn"):
        run()


def test_a_folder_without_answers_is_read_as_before(tmp_path) -> None:
    domain = Simplex(3)
    function = affine(np.random.default_rng(0), domain).function
    study_of(function, domain).run(tmp_path, jobs=1, progress=False)
    (tmp_path / "runs" / "one" / "answer-0.json").unlink()
    assert len(study_of(function, domain).run(tmp_path, jobs=1, progress=False)) == 2
