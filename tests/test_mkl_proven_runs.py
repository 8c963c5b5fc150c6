"""Runs of kernel learning, from the first call to a file that is checked against the data: both ways of counting."""

import numpy as np
import pytest
from test_losses_everywhere import FORMULATIONS, KERNELS, LABELS, LOSSES, PAIRS, optimum
from test_mkl_certificates import problem

import oracle_opt.generators as G
from oracle_opt import Refuted, minimize
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.oracles import GramBank, MixedNormOracle, RBFBank, SharedWeightsOracle, uci_bank_on_the_fly
from oracle_opt.oracles.mkl import SMOMKL, GMKLOracle, LpRegularizer, MKLOracle, NewtonMKL, solve_lp_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge

METHODS = {
    kind.__name__: kind
    for kind in (G.AnalyticCenter, G.Kelley, G.LevelSet, G.MirrorDescent, G.NewtonBundle, G.ProximalBundle, G.SPG)
}
METHODS |= {"ReducedGradient": G.ReducedGradient, "ActiveSet": lambda: G.ActiveSet(G.NewtonBundle())}


def proven(result, oracle, path):
    """Verify the file of a run against a new oracle, both ways; returns the interval that is proven."""
    result.certificate().save(path)
    loaded = Certificate.load(path)
    for exact in (True, False):
        verdict = loaded.verify(oracle, exact=exact)
        assert verdict.proven
        size = 1e-9 * max(abs(result.upper_bound), abs(result.lower_bound))
        assert result.lower_bound - size <= verdict.lower
        assert verdict.upper <= result.upper_bound + size
    return loaded, verdict


@pytest.mark.campaign(2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ["weighted hinge", "regression", "one class"])
def test_every_method(method, loss, tmp_path):
    charged, formulation = LOSSES[loss], FORMULATIONS["l1"]
    result = minimize(formulation.make(charged.loss, charged.y), METHODS[method](), rtol=1e-5, max_calls=60)
    _, verdict = proven(result, formulation.make(charged.loss, charged.y), tmp_path / "run.jsonl")
    best = optimum(charged, "l1")
    assert verdict.lower - 1e-6 * abs(best) <= best <= verdict.upper + 1e-6 * abs(best)


@pytest.mark.campaign(4)
@pytest.mark.parametrize(("loss", "name"), [pair for pair in PAIRS if pair[1] not in ("l1", "own")][::3])
def test_every_formulation(loss, name, tmp_path):
    charged, formulation = LOSSES[loss], FORMULATIONS[name]
    result = minimize(formulation.make(charged.loss, charged.y), formulation.generator(), rtol=1e-5, max_calls=500)
    proven(result, formulation.make(charged.loss, charged.y), tmp_path / "run.jsonl")
    if loss in ("hinge", "censored"):
        _, verdict = proven(result, formulation.make(charged.loss, charged.y), tmp_path / "run.jsonl")
        best = optimum(charged, name)
        assert verdict.lower - 1e-6 * abs(best) <= best <= verdict.upper + 1e-6 * abs(best)


@pytest.mark.parametrize("solver", [SMOMKL, NewtonMKL])
def test_methods_made_for_kernels(solver, tmp_path):
    def oracle():
        return GMKLOracle(GramBank(KERNELS), LABELS, LpRegularizer(1.5), C=0.4)

    proven(minimize(oracle(), solver(), rtol=1e-6), oracle(), tmp_path / "run.jsonl")
    result = solve_lp_mkl(GramBank(KERNELS), LABELS, C=0.4, p=1.5)
    proven(result, oracle(), tmp_path / "solved.jsonl")


@pytest.mark.parametrize("generator", [G.NewtonBundle, G.LevelSet, G.AnalyticCenter])
@pytest.mark.parametrize("regularizer", [None, LpRegularizer(2)])
def test_machines_that_share_weights(generator, regularizer, tmp_path):
    if generator is G.NewtonBundle and regularizer is not None:
        return
    labels = [LABELS, np.where(np.arange(LABELS.size) % 2, 1.0, -1.0)]

    def oracle():
        bank = GramBank(KERNELS)
        return SharedWeightsOracle([MKLOracle(bank, y, C=2.0) for y in labels], regularizer, radius=20.0)

    proven(minimize(oracle(), generator(), rtol=1e-5, max_calls=200), oracle(), tmp_path / "run.jsonl")


@pytest.mark.campaign(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", [Hinge(10.0), SquaredHinge(1.0), EpsilonInsensitive(1.0, 0.1), OneClass(0.4)])
@pytest.mark.parametrize("kind", ["rbf", "features", "stored"])
def test_kernels_of_other_banks(kind, loss, dtype, tmp_path):
    """Entries that are computed when they are asked for, and wrong by what the bank admits."""
    X = np.random.default_rng(2).normal(size=(30, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, 1.0, -1.0)

    def oracle():
        if kind == "stored":
            kernels = [np.exp(-w * ((X[:, None] - X) ** 2).sum(axis=2)) for w in (0.1, 1.0, 5.0)]
            bank = GramBank(kernels, dtype=dtype)
        elif kind == "rbf":
            bank = RBFBank.from_quantiles(X, 5, dtype=dtype)
        else:
            bank = uci_bank_on_the_fly(X, dtype=dtype)
        return MKLOracle(bank, None if isinstance(loss, OneClass) else y, loss)

    proven(minimize(oracle(), G.NewtonBundle(), rtol=1e-4, max_calls=60), oracle(), tmp_path / "run.jsonl")


def test_other_data_are_refused(tmp_path):
    """A label, an entry, a C: the file is of another problem; and if it says otherwise, its claims are not proven."""
    bank = GramBank(KERNELS)
    result = minimize(MKLOracle(bank, LABELS, C=0.5), G.NewtonBundle(), rtol=1e-6)
    loaded, _ = proven(result, MKLOracle(bank, LABELS, C=0.5), tmp_path / "run.jsonl")
    y, changed = LABELS.copy(), [K.copy() for K in KERNELS]
    y[3] = -y[3]
    first, second = np.argsort(-result.cut.extras["alpha"])[:2]
    for K in changed:
        K[first, second] += 1e-4
        K[second, first] = K[first, second]
    others = (
        MKLOracle(bank, y, C=0.5),
        MKLOracle(bank, LABELS, C=0.5001),
        MKLOracle(GramBank(changed, check=False), LABELS, C=0.5),
    )
    for other in others:
        with pytest.raises(ValueError, match="another problem"):
            loaded.verify(other)
        other.problem_identity = lambda: loaded.problem
        for exact in (False, True):
            with pytest.raises(Refuted):
                loaded.verify(other, exact=exact)


@pytest.mark.campaign(4)
@pytest.mark.parametrize("C", [10.0, 1e4])
@pytest.mark.parametrize("loss", [Hinge, SquaredHinge, lambda C: EpsilonInsensitive(C, 0.1), lambda C: OneClass(0.4)])
def test_kernels_of_very_different_size(loss, C, tmp_path):
    """Floats lose six digits and more of a value where one kernel is 1e12 times the other: it is counted exactly."""
    _, kernels, y, _ = problem(1)
    bank, chosen = GramBank(kernels, check=False), loss(C)
    y = None if isinstance(chosen, OneClass) else y

    def formulations():
        yield G.NewtonBundle(), lambda: MKLOracle(bank, y, chosen)
        yield G.LevelSet(), lambda: GMKLOracle(bank, y, LpRegularizer(1.5), loss=chosen, radius=1e4)
        yield G.LevelSet(), lambda: MixedNormOracle(bank, y, chosen, groups=[[0, 1, 2], [3, 4, 5]])

    for generator, oracle in formulations():
        proven(minimize(oracle(), generator, rtol=1e-5, max_calls=20), oracle(), tmp_path / "run.jsonl")
