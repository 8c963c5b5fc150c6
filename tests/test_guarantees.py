"""What theorems say of methods: an adversary that none beats, and runs that stay within their guarantees."""

import numpy as np
import pytest

import oracle_opt.generators as G
from oracle_opt import CapabilityMismatch, Exhausted, FunctionOracle, Query, Regularity, generators, minimize, problems
from oracle_opt.domains import Box, FreeSpace, Simplex
from oracle_opt.problems import Instance
from oracle_opt.study import Limits, Study
from oracle_opt.testing import check_generator


def adversary(n: int, steepness: float = 1.0, radius: float = 1.0) -> Instance:
    return problems.find(f"resisting(n={n}, steepness={steepness}, radius={radius})")[0](0)


def methods() -> list:
    """All forms that serve R^n and need no answers but cuts."""
    made = []
    for name in generators.__all__:
        kind = getattr(generators, name)
        if isinstance(kind, type) and name not in ("ActiveSet", "ForeignSolver"):
            made.append(kind())
    more = [
        G.LevelSet(center="last"),
        G.LevelSet(interior=True),
        G.LevelSet(level=0.3, adaptive=False),
        G.OptimalKelley(planned=7),
    ]
    return [*made, *more, G.Subgradient(polyak=True), G.Kelley(chebyshev=True), G.AnalyticCenter(epigraph=False)]


@pytest.mark.parametrize("generator", methods(), ids=repr)
@pytest.mark.parametrize(("n", "steepness", "radius"), [(7, 1.0, 1.0), (12, 30.0, 0.02)])
def test_no_method_beats_the_adversary(generator, n, steepness, radius) -> None:
    instance = adversary(n, steepness, radius)
    try:
        result = minimize(instance.oracle, generator, instance.start, rtol=0, max_calls=n, keep_cuts=True)
    except CapabilityMismatch:
        return
    least = steepness * radius / np.sqrt(n)
    assert result.n_probes == 0
    assert result.upper_bound >= 0.0
    assert result.upper_bound - instance.optimum >= least * (1 - 1e-12)
    assert result.lower_bound <= instance.optimum + 1e-12 * least
    assert result.gap >= steepness * radius / np.sqrt(len(result.history)) * (1 - 1e-12) or len(result.history) < n
    frozen = instance.oracle.frozen()
    for cut in result.history.cuts:
        again = frozen.query(Query(cut.point))
        assert again.value == cut.value
        assert (again.subgradient == cut.subgradient).all()


@pytest.mark.parametrize("generator", [G.Kelley(), G.ProximalBundle(), G.Subgradient(scale=3.0)], ids=repr)
def test_what_the_adversary_answered_in_the_end_is_a_function_with_proofs(generator) -> None:
    """The same run on it gives the same answers, and each cut is proven, those of points far away, too."""
    instance = adversary(9)
    minimize(instance.oracle, generator, instance.start, rtol=0, max_calls=9)
    frozen = instance.oracle.frozen()
    result = minimize(frozen, generator, instance.start, rtol=1e-9, max_calls=40)
    assert result.lower_bound - 1e-12 <= instance.optimum <= result.upper_bound
    for exact in (False, True):
        verdict = result.certificate().verify(frozen, exact=exact)
        assert verdict.proven_cuts == verdict.n_cuts if hasattr(verdict, "proven_cuts") else "proven" in str(verdict)


@pytest.mark.parametrize("n", [5, 10, 20, 50])
@pytest.mark.parametrize("steepness", [None, 2.0])
def test_the_optimal_method_meets_its_guarantee(n, steepness) -> None:
    instance = adversary(n, 2.0, 3.0)
    generator = G.OptimalKelley(planned=n, steepness=steepness)
    result = minimize(instance.oracle, generator, instance.start, rtol=0, max_calls=n)
    promised = generator.guarantee(instance.oracle.domain, instance.start, n, instance.regularity)
    least = 6.0 / np.sqrt(n)
    assert promised is None if steepness is None else promised.value == pytest.approx(least)
    assert result.upper_bound - instance.optimum == pytest.approx(least, rel=1e-6)
    assert result.gap == pytest.approx(least, rel=1e-6)


def test_the_optimal_method_promises_by_its_own_constants_alone() -> None:
    """Nothing where a constant of the problem is larger, and no less where it is smaller."""
    domain, start = FreeSpace(4, radius=2.0), np.array([1.0, 0.0, 0.0, 0.0])
    generator = G.OptimalKelley(planned=9, steepness=5.0)
    for known in (Regularity(5.0, 3.0), Regularity(0.1, 0.1)):
        promised = generator.guarantee(domain, start, 9, known)
        assert promised is not None
        assert promised.value == pytest.approx(5.0 * 3.0 / 3.0)
    for known in (Regularity(5.1, 1.0), Regularity(5.0, 3.1), Regularity()):
        assert generator.guarantee(domain, start, 9, known) is None
    assert generator.guarantee(domain, start, 8, Regularity(5.0, 3.0)) is None
    assert generator.guarantee(Box([-1.0, -1.0], [1.0, 1.0]), np.zeros(2), 9, Regularity(1.0, 1.0)) is None


def random_instance(seed: int) -> Instance:
    """The largest of affine functions of slopes of length up to 1, whose minimizer is known."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 40))
    slopes = rng.normal(size=(2 * n, n))
    slopes /= np.linalg.norm(slopes, axis=1)[:, None]
    minimizer = rng.normal(size=n)
    minimizer /= np.linalg.norm(minimizer)
    slopes[0] = -rng.dirichlet(np.ones(2 * n - 1)) @ slopes[1:]  # 0 is in the hull of the slopes

    def largest(z):
        values = slopes @ (z - minimizer)
        i = int(values.argmax())
        return float(values[i]), slopes[i]

    oracle = FunctionOracle(largest, FreeSpace(n, radius=1.0))
    return Instance(oracle, np.zeros(n), 0.0, 0.0, regularity=Regularity(1.0, 1.0))


@pytest.mark.parametrize("seed", range(20))
def test_runs_stay_within_their_guarantees(seed) -> None:
    instance, calls = random_instance(seed), 8 + seed % 18
    for generator in (
        G.OptimalKelley(planned=calls, steepness=1.0),
        G.Subgradient(),
        G.Subgradient(scale=0.3),
        G.LevelSet(level=0.3, adaptive=False, center="last"),
        G.LevelSet(target=0.0),
        G.Ellipsoid(),
        G.Ellipsoid(deep=False),
    ):
        result = minimize(instance.oracle, generator, instance.start, rtol=0, max_calls=calls)
        promised = generator.guarantee(instance.oracle.domain, instance.start, calls, instance.regularity)
        assert promised is not None
        assert result.upper_bound <= promised.value * (1 + 1e-9), generator


@pytest.mark.parametrize("seed", range(60))
def test_guarantees_hold_from_any_start_to_a_minimizer_at_a_corner(seed) -> None:
    """Distances in the largest entry, of 0 at a corner of a box; and a smooth function on an interval, from its end."""
    rng = np.random.default_rng(seed)
    n, calls = int(rng.integers(2, 6)), int(rng.integers(1, 32))
    corner, start = rng.choice([-1.0, 1.0], n), rng.uniform(-1, 1, n)

    def farthest(z):
        i = int(np.abs(z - corner).argmax())
        return abs(z[i] - corner[i]), np.sign(z[i] - corner[i]) * np.eye(n)[i]

    smooth = 10.0 ** rng.uniform(-6, 1)

    def bent(z):
        return z[0] + smooth * z[0] ** 2 / 2, np.array([1 + smooth * z[0]])

    for function, domain, point, known, methods_that_promise in (
        (
            farthest,
            Box(-np.ones(n), np.ones(n)),
            start,
            Regularity(1.0, float(np.linalg.norm(corner - start))),
            (G.LevelSet(target=0.0), G.LevelSet(level=0.3, adaptive=False, center="last")),
        ),
        (
            bent,
            Box([0.0], [1.0]),
            np.ones(1),
            Regularity(1.0 + smooth, 1.0, smooth),
            (G.FrankWolfe("classic", "open-loop"), G.LevelSet(target=0.0)),
        ),
    ):
        for generator in methods_that_promise:
            result = minimize(FunctionOracle(function, domain), generator, point, rtol=0, atol=0, max_calls=calls)
            promised = generator.guarantee(domain, point, calls, known)
            assert promised is not None
            assert result.upper_bound <= promised.value * (1 + 1e-9), generator


def test_a_study_says_what_is_guaranteed() -> None:
    words = [
        "kelley",
        "subgradient",
        "optimal-kelley(planned=10, steepness=1.0)",
        'level-set(center="last", adaptive=False, level=0.3)',
    ]
    study = Study(["resisting(n=10)", "max-affine(n=5, seed=0)"], words, limits=Limits(calls=10))
    table = study.guarantee()
    assert len(table) == 8
    adverse, other = (table[table["instance"].str.startswith(name)] for name in ("resisting", "max-affine"))
    assert other["guarantee"].isna().all()
    assert set(other["formula"]) == {"none"}
    assert adverse["unbeatable"].tolist() == pytest.approx([10**-0.5] * 4)
    values = adverse["guarantee"].to_numpy() * 10**0.5
    assert np.isnan(values[0])
    assert values[1:] == pytest.approx([1.237, 1.0, 2 * 10**0.5 / (0.49 * 0.3 * 1.7) ** 0.5], abs=1e-3)
    assert (study.guarantee(calls=20)["unbeatable"].isna()).all()


@pytest.mark.parametrize("seed", range(6))
def test_conditional_gradients_stay_within_theirs(seed) -> None:
    """A quadratic whose minimizer is known, on a box."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    B, minimizer = rng.normal(size=(n, n)), rng.uniform(-1, 1, n)
    A = B @ B.T / n
    oracle = FunctionOracle(
        lambda z: (0.5 * (z - minimizer) @ A @ (z - minimizer), A @ (z - minimizer)), Box(-np.ones(n), np.ones(n))
    )
    generator, known = G.FrankWolfe("classic", "open-loop"), Regularity(smoothness=float(np.linalg.eigvalsh(A)[-1]))
    for calls in (2, 10, 40):
        promised = generator.guarantee(oracle.domain, np.zeros(n), calls, known)
        assert promised is not None
        assert minimize(oracle, generator, rtol=0, max_calls=calls).upper_bound <= promised.value
    assert G.FrankWolfe().guarantee(oracle.domain, np.zeros(n), 5, known) is None


def test_methods_without_constants_promise_nothing() -> None:
    domain, known = Simplex(5), Regularity(1.0, 1.0)
    for generator in (
        G.SPG(),
        G.Subgradient(),
        G.Ellipsoid(),
        G.LevelSet(),
        G.LevelSet(interior=True),
        G.Kelley(),
        G.Subgradient(polyak=True),
    ):
        assert generator.guarantee(domain, domain.interior_point(), 10, known) is None


def test_the_optimal_method_is_a_generator() -> None:
    assert len(check_generator(G.OptimalKelley(planned=30), domains=[FreeSpace(3, radius=4.0)])) > 2
    with pytest.raises(CapabilityMismatch, match="it needs a Ball"):
        minimize(FunctionOracle(lambda z: (z @ z, 2 * z), Box([-1.0, -1.0], [1.0, 1.0])), G.OptimalKelley())


def test_the_optimal_method_ends_at_a_flat_function() -> None:
    result = minimize(FunctionOracle(lambda z: (1.0, 0 * z), FreeSpace(3, radius=1.0)), G.OptimalKelley())
    assert result.success
    assert result.n_calls == 1
    generator = G.OptimalKelley()
    generator.reset(FreeSpace(2, radius=1.0), np.zeros(2))
    oracle = FunctionOracle(lambda z: (0.0, 0 * z), FreeSpace(2, radius=1.0))
    from oracle_opt import Query

    generator.tell(oracle.query(Query(np.zeros(2))))
    with pytest.raises(Exhausted, match="minimizer"):
        generator.ask()
