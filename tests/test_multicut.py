"""Cuts of the summands of a function: their linear program, its proof, and what each method makes of them."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from affine_pieces import least_of_pieces

from oracle_opt import Box, Curvature, FunctionOracle, InvalidCut, Oracle, ProductOfSimplices, Simplex, Status, minimize
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, NewtonBundle, ProximalBundle
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.linear_program import MulticutLP


class Sum(Oracle):
    """Sum of `n_summands` maxima of 10 affine pieces; with or without the cuts of the summands."""

    def __init__(self, domain, n_summands: int = 6, seed: int = 0, split: bool = True, steep: float = 1.0) -> None:
        self.domain, self.split = domain, split
        rng = np.random.default_rng(seed)
        self.slopes = steep * rng.normal(size=(n_summands, 10, domain.dimension))
        self.constants = steep * rng.normal(size=(n_summands, 10))

    def value(self, z: np.ndarray) -> float:
        return float((self.slopes @ z + self.constants).max(axis=1).sum())

    def query(self, query: Query) -> ObjectiveCut:
        z = query.point
        values = self.slopes @ z + self.constants
        summands = tuple(
            ObjectiveCut(z, float(values[j, i]), self.slopes[j, i]) for j, i in enumerate(values.argmax(axis=1))
        )
        slope = np.sum([part.subgradient for part in summands], axis=0)
        return ObjectiveCut(z, sum(part.value for part in summands), slope, summands=summands if self.split else ())

    def minimum(self) -> float:
        return least_of_pieces(self.domain, self.slopes, self.constants)


def filled(oracle: Oracle, count: int, seed: int = 1) -> CutPool:
    pool, rng = CutPool(oracle.domain), np.random.default_rng(seed)
    for _ in range(count):
        pool.add(oracle.query(Query(oracle.domain.project(rng.normal(size=oracle.domain.dimension)))))
    return pool


DOMAINS = [Box(-np.ones(4), np.ones(4)), Simplex(5), ProductOfSimplices([3, 4]), Simplex(130)]


@pytest.mark.parametrize("steep", [1.0, 1e-7, 1e7])
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_program_and_proof_attain_the_minimum_of_the_parts_model(domain, steep) -> None:
    oracle = Sum(domain, steep=steep)
    pool = filled(oracle, 12)
    found = MulticutLP(domain, 6).solve(pool)
    groups = [pool.summands.summand == j for j in range(6)]
    exact = least_of_pieces(
        domain, [pool.summands.matrix[g] for g in groups], [pool.summands.constant[g] for g in groups]
    )
    assert found.value == pytest.approx(exact, abs=1e-8 * steep)
    minorant = pool.minorant(found.objective, found.feasibility, found.summands)
    assert minorant.minimum(domain) == pytest.approx(exact, abs=1e-8 * steep)


@pytest.mark.parametrize("domain", DOMAINS[:3], ids=repr)
def test_any_multipliers_give_a_minorant(domain) -> None:
    oracle, rng = Sum(domain), np.random.default_rng(2)
    pool = filled(oracle, 8)
    points = np.array([domain.project(2 * rng.normal(size=domain.dimension)) for _ in range(50)])
    values = np.array([oracle.value(z) for z in points])
    for whole in (0.0, 0.3):
        for _ in range(20):
            summands = rng.exponential(size=len(pool.summands)) * (rng.random(len(pool.summands)) < 0.4) - 0.01
            minorant = pool.minorant(whole * rng.random(len(pool.objective)), np.zeros(0), summands)
            if minorant is not None:
                assert (minorant.constant + points @ minorant.slope <= values + 1e-10).all()
    # a summand without a multiplier leaves the whole cuts, or nothing
    summands = np.where(pool.summands.summand == 2, 0.0, 1.0)
    assert pool.minorant(np.zeros(len(pool.objective)), np.zeros(0), summands) is None
    assert pool.minorant(np.ones(len(pool.objective)), np.zeros(0), summands) is not None


@pytest.mark.parametrize("domain", DOMAINS[:3], ids=repr)
def test_dropping_cuts_keeps_the_bound_and_the_rows_in_step(domain) -> None:
    oracle = Sum(domain)
    pool, lp = filled(oracle, 30), MulticutLP(domain, 6)
    found = lp.solve(pool)
    before = found.value
    lp.keep(*pool.shrink(2, found.objective, found.feasibility, found.summands))
    assert len(pool.objective) == 2  # one and the aggregate
    assert len(pool.summands) <= 6 + 6
    assert set(pool.summands.summand) == set(range(6))
    after = lp.solve(pool)
    assert after.value >= before - 1e-9
    pool.add(oracle.query(Query(domain.interior_point())))
    warm, cold, twin = lp.solve(pool), MulticutLP(domain, 6).solve(pool), copy.deepcopy(lp).solve(pool)
    for other in (cold, twin):
        assert warm.value == pytest.approx(other.value, abs=1e-9)


def test_tangent_is_the_piece_of_the_parts_model_at_the_point() -> None:
    oracle = Sum(Simplex(5))
    pool, z = filled(oracle, 5), np.array([0.3, 0.1, 0.1, 0.2, 0.3])
    height = pool.value(z)
    assert not pool.add_tangent(z, height + 1e-12)
    assert pool.objective.largest(z) < height  # no single call's cut reaches it
    assert pool.add_tangent(z, height - 1e-12)
    assert pool.objective.largest(z) == pytest.approx(height)
    assert not pool.add_tangent(z, height - 1e-12)  # it stands there already
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(5), size=50):
        assert pool.objective.largest(other) <= oracle.value(other) + 1e-12


METHODS = [
    AnalyticCenter(),
    AnalyticCenter(epigraph=False),
    Kelley(),
    Kelley(chebyshev=True),
    LevelSet(),
    LevelSet(entropic=False),
    LevelSet(interior=True),
    LevelSet(interior=True, max_cuts=30),
    NewtonBundle(),
    ProximalBundle(),
    ProximalBundle(max_cuts=30),
    Kelley(max_cuts=40),
    Ellipsoid(),
]


@pytest.mark.campaign(6)
@pytest.mark.parametrize(
    ("method", "domain"),
    [
        pytest.param(method, domain, id=f"{method!r}-{domain!r}")
        for method in METHODS
        for domain in (Box(-np.ones(6), np.ones(6)), Simplex(8))
        if not (isinstance(method, NewtonBundle) and isinstance(domain, Box))  # which needs a simplex
    ],
)
def test_parts_leave_the_optimum_and_save_calls(method, domain) -> None:
    calls = []
    for split in (False, True):
        oracle = Sum(domain, n_summands=12, split=split)
        result = minimize(oracle, method, rtol=1e-6, max_calls=1500)
        optimum = oracle.minimum()
        assert result.status is Status.CONVERGED
        assert (result.history.lower_bound <= optimum + 1e-8).all()
        assert result.upper_bound == pytest.approx(optimum, rel=2e-6)
        calls.append(result.n_calls)
    single, several = calls
    if isinstance(method, Ellipsoid):  # takes whole cuts alone
        assert several == single
    else:
        assert several <= single
    if isinstance(method, Kelley) and not method.chebyshev:
        assert several < 0.7 * single


def test_level_points_lie_in_the_level_set_of_the_parts_model() -> None:
    oracle, method = Sum(Box(-np.ones(6), np.ones(6)), n_summands=12), LevelSet(level=0.5, adaptive=False)
    method.reset(oracle.domain, np.zeros(6))
    pool = CutPool(oracle.domain)
    best, lower = np.inf, -np.inf
    for _ in range(15):
        point = method.ask()
        if np.isfinite(lower):
            assert pool.value(point) <= lower + 0.52 * (best - lower)
        cut = oracle.query(Query(point))
        pool.add(cut)
        method.tell(cut)
        best = min(best, cut.value)
        minorant = method.minorant()
        lower = max(lower, minorant.minimum(oracle.domain))


def test_feasibility_cuts_go_along_with_parts() -> None:
    inner = Sum(Box(-np.ones(4), np.ones(4)))
    normal = np.array([1.0, 1.0, -1.0, 0.5])

    def function(z):
        excess = float(normal @ z) + 0.7
        return FeasibilityCut(z, excess, normal) if excess > 1e-9 else inner.query(Query(z))

    known = least_of_pieces(inner.domain, inner.slopes, inner.constants, [normal], [-0.7])
    oracle = FunctionOracle(function, inner.domain, gives={FeasibilityCut})
    for method in (Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()):
        result = minimize(oracle, method, np.ones(4), rtol=1e-6, max_calls=300)
        assert result.status is Status.CONVERGED
        assert result.lower_bound <= known + 1e-8
        assert result.upper_bound == pytest.approx(known, rel=2e-6, abs=1e-5)


@pytest.mark.parametrize("method", [Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()], ids=repr)
def test_cuts_without_parts_join_those_with(method) -> None:
    oracle = Sum(Simplex(8), n_summands=12)
    whole = minimize(Sum(Simplex(8), n_summands=12, split=False), method, max_calls=4, rtol=0, keep_cuts=True)
    result = minimize(oracle, method, rtol=1e-6, cuts=whole.history.cuts, max_calls=300)
    assert result.status is Status.CONVERGED
    assert result.upper_bound == pytest.approx(oracle.minimum(), rel=2e-6)


def changed(answer: int, change) -> Oracle:
    """A sum whose answer of this number is changed."""
    inner, count = Sum(Simplex(4), n_summands=3), 0

    def function(z):
        nonlocal count
        count += 1
        cut = inner.query(Query(z))
        return change(cut) if count == answer else cut

    return FunctionOracle(function, inner.domain)


@pytest.mark.parametrize("method", [Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()], ids=repr)
def test_another_number_of_parts_is_refused(method) -> None:
    def merged(cut):
        one, two, three = cut.summands
        both = ObjectiveCut(cut.point, one.value + two.value, one.subgradient + two.subgradient)
        return replace(cut, summands=(both, three))

    with pytest.raises(InvalidCut, match="got 2, before 3") as caught:
        minimize(changed(3, merged), method, rtol=1e-12)
    assert caught.value.result.n_calls == 2


def spoiled(cut: ObjectiveCut, **changes) -> tuple[ObjectiveCut, ...]:
    return (replace(cut.summands[0], **changes), *cut.summands[1:])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda cut: replace(cut, summands=cut.summands[:2]), "`summands` must add up to the cut"),
        (lambda cut: replace(cut, summands=spoiled(cut, value=cut.summands[0].value + 1e-3)), "add up"),
        (lambda cut: replace(cut, summands=spoiled(cut, subgradient=cut.summands[0].subgradient + 1e-3)), "add up"),
        (lambda cut: replace(cut, summands=spoiled(cut, value=np.nan)), r"`summands\[0\]` must be finite"),
        (
            lambda cut: replace(cut, summands=spoiled(cut, subgradient=np.ones(3))),
            r"`summands\[0\]` must be finite and of",
        ),
        (lambda cut: replace(cut, summands=spoiled(cut, point=cut.point + 1)), r"`summands\[0\].point`"),
        (lambda cut: replace(cut, further=spoiled(cut, value=np.inf)), r"`further\[0\]` must be finite"),
        (lambda cut: replace(cut, further=spoiled(cut, point=np.zeros(4))), r"`further\[0\].point`"),
    ],
)
def test_spoiled_parts_are_refused(change, words) -> None:
    with pytest.raises(InvalidCut, match=words):
        minimize(changed(2, change), Kelley(), rtol=1e-12)


@pytest.mark.parametrize(
    ("lift", "own", "of_summands", "good"),
    [
        (0.9, 1.0, 0.0, True),  # above the cut's value, by less than its error
        (0.9, 0.0, 1.0, False),
        (-0.9, 0.0, 1.0, True),  # below it, by less than theirs
        (-0.9, 1.0, 0.0, False),
        (1.1, 1.0, 5.0, False),
        (-1.1, 5.0, 1.0, False),
    ],
)
def test_summands_miss_their_sum_by_stated_errors_at_most(lift, own, of_summands, good) -> None:
    def change(cut):
        first = cut.summands[0]
        return replace(cut, error=own, summands=spoiled(cut, value=first.value + lift, error=first.error + of_summands))

    oracle = changed(1, change)
    if good:
        minimize(oracle, Kelley(), max_calls=1)
    else:
        with pytest.raises(InvalidCut, match="add up"):
            minimize(oracle, Kelley(), max_calls=1)


@pytest.mark.parametrize("normal", [np.zeros(2), np.full(2, np.nan), np.ones(3)])
def test_spoiled_further_cuts_of_feasibility_cuts_are_refused(normal) -> None:
    def function(z):
        return FeasibilityCut(z, 1.0, np.ones(2), (FeasibilityCut(z, 1.0, normal),))

    oracle = FunctionOracle(function, Box(-np.ones(2), np.ones(2)), gives={FeasibilityCut})
    with pytest.raises(InvalidCut, match="`further"):
        minimize(oracle, Kelley())


def test_ellipsoid_cuts_with_the_further_cuts_of_a_call() -> None:
    pieces = Sum(Box(-np.ones(5), np.ones(5)), n_summands=1)

    def function(z, several):
        values = pieces.slopes[0] @ z + pieces.constants[0]
        first, *rest = (ObjectiveCut(z, float(values[i]), pieces.slopes[0, i]) for i in np.argsort(-values)[:4])
        return replace(first, further=tuple(rest)) if several else first

    calls = []
    for several in (False, True):
        oracle = FunctionOracle(lambda z, several=several: function(z, several), pieces.domain)
        result = minimize(oracle, Ellipsoid(), rtol=0, atol=1e-4, max_calls=2000)
        assert result.status is Status.CONVERGED
        assert (result.history.lower_bound <= pieces.minimum() + 1e-9).all()
        calls.append(result.n_calls)
    assert calls[1] < calls[0]


@pytest.mark.parametrize("seed", range(3))
def test_newton_steps_go_along_with_parts(seed) -> None:
    rng = np.random.default_rng(seed)
    roots, targets = rng.normal(size=(3, 4, 6)), rng.dirichlet(np.ones(6), size=3)

    def function(z, split):
        away = [root @ (z - target) for root, target in zip(roots, targets, strict=True)]
        summands = tuple(ObjectiveCut(z, 0.5 * float(a @ a), root.T @ a) for root, a in zip(roots, away, strict=True))
        slope = np.sum([part.subgradient for part in summands], axis=0)
        value = sum(part.value for part in summands)
        return ObjectiveCut(z, value, slope, summands=summands if split else (), answers=(Curvature(np.vstack(roots)),))

    single, several = (
        minimize(
            FunctionOracle(lambda z, s=split: function(z, s), Simplex(6), gives={Curvature}), NewtonBundle(), rtol=1e-8
        )
        for split in (False, True)
    )
    assert single.success
    assert several.success
    assert several.lower_bound <= single.upper_bound
    assert single.lower_bound <= several.upper_bound
    assert several.n_calls <= 1.5 * single.n_calls
