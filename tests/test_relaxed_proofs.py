"""What relaxed solutions prove of Lagrangian duals, against every relaxed solution there is, in fractions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from oracle_opt import InvalidCut, Query, Refuted, minimize
from oracle_opt.bounds import cut_rounding
from oracle_opt.certificates.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.oracles import (
    FacilityLocationOracle,
    GeneralizedAssignmentOracle,
    HeldKarpOracle,
    LagrangianOracle,
    LightCuts,
    MulticommodityFlowOracle,
    RelaxedSolution,
)

KINDS = ("trees", "assignments", "profits", "facilities", "flows")


def instance(kind, seed, multicut=False):
    rng = np.random.default_rng([KINDS.index(kind), seed])
    if kind == "trees":
        distances = rng.normal(3, 1, (5, 5)).round(seed % 3 * 8)
        return HeldKarpOracle(distances + distances.T, special=seed % 5)
    if kind in ("assignments", "profits"):
        costs, uses = rng.normal(3, 2, (2, 5)).round(seed % 3 * 8), rng.integers(0, 6, (2, 5))
        return GeneralizedAssignmentOracle(costs, uses, [7, 9], maximize=kind == "profits", multicut=multicut)
    if kind == "facilities":
        return FacilityLocationOracle(rng.uniform(0, 3, 3), rng.normal(1, 1, (3, 5)), multicut=multicut)
    arcs = np.r_[[[k, (k + 1) % 5] for k in range(5)], rng.integers(0, 5, (5, 2))]
    commodities, demands = rng.integers(0, 5, (4, 2)), rng.uniform(0, 2, 4)
    demands[seed % 4] = seed % 2
    capacities = np.where(rng.random(10) < 0.8, rng.uniform(0.5, 2, 10), np.inf)
    return MulticommodityFlowOracle(
        arcs, rng.uniform(0, 3, 10), np.r_[1.0, capacities[1:]], commodities, demands, multicut=multicut
    )


def fractions(values):
    return [Fraction(float(one)) for one in values]


def subsets(costs, allowed):
    """Costs and activities of the allowed sets of columns."""
    for x in product((0, 1), repeat=len(costs)):
        if allowed(x):
            yield sum((c for c, one in zip(costs, x, strict=True) if one), Fraction(0)), [Fraction(one) for one in x]


def trees(oracle):
    n, special = len(oracle.distances), oracle.special
    others = [i for i in range(n) if i != special]
    for tree in combinations(combinations(others, 2), n - 2):
        reached = {others[0]}
        for _ in range(n):
            reached |= {j for edge in tree if reached & set(edge) for j in edge}
        if len(reached) < n - 1:
            continue
        for pair in combinations(others, 2):
            edges = [*tree, *((special, j) for j in pair)]
            cost = sum(fractions(oracle.distances[i, j] for i, j in edges), Fraction(0))
            yield cost, [Fraction(sum(i in edge for edge in edges)) for i in range(n)]


def paths(oracle, node, end, seen=()):
    if node == end:
        yield ()
        return
    for e, (tail, head) in enumerate(oracle.arcs.tolist()):
        if tail == node and head not in (*seen, node):
            for rest in paths(oracle, head, end, (*seen, node)):
                yield (e, *rest)


def flows(oracle, origin):
    """All choices of a path for each commodity of an origin."""
    mine = [k for k, (start, _) in enumerate(oracle.commodities.tolist()) if start == origin]
    choices = [list(paths(oracle, *oracle.commodities[k].tolist())) for k in mine]
    costs, limited = fractions(oracle.costs), np.flatnonzero(np.isfinite(oracle.capacities)).tolist()
    for chosen in product(*choices):
        flow = [Fraction(0)] * len(oracle.arcs)
        for k, path in zip(mine, chosen, strict=True):
            for e in path:
                flow[e] += Fraction(float(oracle.demands[k]))
        yield sum((c * f for c, f in zip(costs, flow, strict=True)), Fraction(0)), [flow[e] for e in limited]


def all_solutions(oracle):
    """Cost and activity of every relaxed solution, summand by summand."""
    if isinstance(oracle, HeldKarpOracle):
        return [list(trees(oracle))]
    if isinstance(oracle, GeneralizedAssignmentOracle):
        triples = zip(oracle.costs, oracle.uses, oracle.capacities, strict=True)
        return [list(subsets(fractions(c), lambda x, u=u, b=b: u @ np.array(x) <= b)) for c, u, b in triples]
    if isinstance(oracle, FacilityLocationOracle):
        tables = [list(subsets(fractions(row), lambda x: True)) for row in oracle.costs]
        opening = fractions(oracle.opening)
        return [[(c + f * any(x), x) for c, x in table] for f, table in zip(opening, tables, strict=True)]
    return [list(flows(oracle, origin)) for origin in np.unique(oracle.commodities[:, 0])]


@cache
def case(kind, seed, multicut=False):
    """An oracle, all its relaxed solutions, and points with the summands of f there, exactly."""
    oracle = instance(kind, seed, multicut)
    rng = np.random.default_rng([7, seed])
    low, high = oracle.domain.bounding_box()
    sign, rhs, solutions = -1 if oracle.maximize else 1, fractions(oracle.rhs), all_solutions(oracle)
    points = [rng.uniform(low, high) for _ in range(6)]
    points += [oracle.domain.project(oracle.domain.interior_point() + rng.normal(size=low.size)) for _ in range(6)]
    if isinstance(oracle, MulticommodityFlowOracle):
        points += [np.zeros(low.size), rng.uniform(0, 2, low.size)]
    truth = []
    for point in points:
        u, values = fractions(point), []
        for table in solutions:
            of = (
                -sign * c - sum((p * a for p, a in zip(u, activity, strict=True)), Fraction(0)) for c, activity in table
            )
            values.append(max(of) + sum((p * r for p, r in zip(u, rhs, strict=True)), Fraction(0)) / len(solutions))
        truth.append((point, u, values))
    return oracle, truth


def claims_of(oracle, cut):
    def claim(one, kind, summand=0, count=0):
        constant = one.constant - cut_rounding(one.point, one.value, one.subgradient)[0]
        witness = {name: one.extras[name] for name in oracle.witness if name in one.extras}
        return CutClaim(kind, constant, one.subgradient, summand, count, witness=witness)

    yield claim(cut, ClaimKind.MINORANT)
    for j, one in enumerate(cut.summands):
        yield claim(one, ClaimKind.SUMMAND, j, len(cut.summands))


def true_after(claim, excess, truth):
    """Whether the claim less its excess lies below the function, or its summand, at all points of the truth."""
    slope, constant = fractions(claim.slope), Fraction(claim.constant) - Fraction(excess)
    for _, u, values in truth:
        known = values[claim.summand] if claim.kind is ClaimKind.SUMMAND else sum(values, Fraction(0))
        if constant + sum((s * p for s, p in zip(slope, u, strict=True)), Fraction(0)) > known:
            return False
    return True


def size_of(oracle, claim):
    return abs(claim.constant) + oracle.domain.extent(claim.slope)


@pytest.mark.parametrize("multicut", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_honest_cuts_are_proven_and_values_bounded(kind, multicut):
    for seed in range(4):
        oracle, truth = case(kind, seed, multicut)
        for point, _, values in truth:
            cut, known = oracle.query(Query(point)), sum(values, Fraction(0))
            for claim in claims_of(oracle, cut):
                for exact in (False, True):
                    excess = oracle.prove_cut(claim, exact)
                    assert 0 <= excess <= 1e-13 * size_of(oracle, claim)
                    assert isinstance(excess, Fraction if exact else float)
                    assert true_after(claim, excess, truth)
            # the exact optimum, and its bound in floats
            wanted = ValueClaim(point, cut.upper)
            assert oracle.prove_value(wanted, exact=True) == known
            bound = oracle.prove_value(wanted)
            assert known <= bound <= known + 1e-12 * (1 + oracle.domain.extent(oracle.rhs))
            assert cut.value <= known <= cut.upper


@pytest.mark.parametrize("multicut", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_forged_claims_are_refused_or_what_is_proven_is_true(kind, multicut):
    rng, refused, proven, lifted = np.random.default_rng(5), 0, 0, 0
    for seed in range(4):
        oracle, truth = case(kind, seed, multicut)
        other = case(kind, seed + 1 if seed < 3 else 0, multicut)[0]
        for point, _, _ in truth[::3]:
            for claim in claims_of(oracle, oracle.query(Query(point))):
                numbers = claim.witness["compact"]
                changed = [{"compact": np.delete(numbers, rng.integers(numbers.size))}] if numbers.size else []
                for _ in range(4):
                    one = numbers.copy()
                    if one.size:
                        one[rng.integers(one.size)] += rng.integers(-6, 7)
                    changed.append({"compact": one})
                    changed.append({"compact": np.append(numbers, rng.integers(-1, 30))})
                forged = [replace(claim, witness=witness) for witness in changed]
                if other.rhs.size == oracle.rhs.size:
                    foreign = list(claims_of(other, other.query(Query(other.domain.project(point)))))
                    forged += [one for one in foreign if one.kind is claim.kind]
                slope = claim.slope.copy()
                slope[rng.integers(slope.size)] += rng.choice([1e-6, -1e-6, 1.0])
                forged += [replace(claim, slope=slope), replace(claim, constant=claim.constant + rng.uniform(0, 2))]
                for one in forged:
                    for exact in (False, True):
                        try:
                            excess = oracle.prove_cut(one, exact)
                        except Refuted:
                            refused += 1
                            continue
                        assert true_after(one, excess, truth)
                        proven += 1
                        lifted += excess > 1e-9
    assert refused > 50
    assert proven > 50
    assert lifted > 20


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_that_is_wrong_by_a_millionth_is_charged(kind, exact):
    oracle, truth = case(kind, 1)
    for claim in claims_of(oracle, oracle.query(Query(truth[-1][0]))):
        excess = oracle.prove_cut(replace(claim, constant=claim.constant + 1e-6), exact)
        assert 0.9e-6 < excess < 1.1e-6


WRONG = [
    {"compact": np.array([0.5])},
    {"compact": np.array([np.nan])},
    {"compact": np.array([-1])},
    {"compact": np.array([10**6])},
    {"compact": np.array([1e300])},
    {"compact": np.array([[1, 2]])},
    {"compact": np.array([3, 3])},
    {"compact": "abc"},
    {"compact": [1, [2, 3]]},
    {"compact": [None]},
    {"compact": 2j},
]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_witness_is_refused_in_words(kind, exact):
    oracle, truth = case(kind, 2)
    point = truth[-1][0]
    (claim,) = claims_of(oracle, oracle.query(Query(point)))
    assert oracle.prove_cut(replace(claim, witness={}), exact) is None
    for witness in WRONG:
        with pytest.raises(Refuted, match=r"whole numbers|twice"):
            oracle.prove_cut(replace(claim, witness=witness), exact)
    wrong_slope = np.full(claim.slope.size, np.nan)
    for change in (
        {"constant": np.inf},
        {"constant": np.nan},
        {"slope": wrong_slope},
        {"slope": claim.slope[1:]},
        {"kind": ClaimKind.BOUND},
        {"kind": ClaimKind.HALF_SPACE},
        {"kind": ClaimKind.SUMMAND, "n_summands": 3},
        {"kind": ClaimKind.SUMMAND, "n_summands": 1, "summand": 1},
        {"kind": ClaimKind.SUMMAND, "n_summands": 1, "summand": -1},
    ):
        with pytest.raises(Refuted):
            oracle.prove_cut(replace(claim, **change), exact)
    for wrong in (wrong_slope, point[1:], np.full(point.size, np.inf)):
        with pytest.raises(Refuted, match="finite numbers"):
            oracle.prove_value(ValueClaim(wrong, 0.0), exact)
    # numbers at the end of the floats: nothing is said that is not so
    huge = replace(claim, constant=1e308, slope=np.full(claim.slope.size, 1e308))
    assert oracle.prove_cut(huge, exact) > 1e300
    far = ValueClaim(np.full(point.size, 1.7e308), 0.0)
    with suppress(Refuted):  # nothing else is raised
        assert oracle.prove_value(far, exact) > -np.inf


def test_named_forgeries_are_named():
    rng = np.random.default_rng(3)
    away = rng.uniform(1, 2, (6, 6))
    tours = HeldKarpOracle(away + away.T)
    (claim,) = claims_of(tours, tours.query(Query(np.zeros(6))))

    def of(edges):
        return replace(claim, witness={"compact": np.array([6 * i + j for i, j in edges])})

    assert tours.prove_cut(of([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])) > 0.0  # a tour, of its own cost
    for edges, words in (
        ([(0, 1), (0, 5), (1, 2), (2, 3), (1, 3), (4, 5)], "cycle"),
        ([(0, 1), (0, 2), (0, 3), (1, 4), (4, 5), (2, 5)], "two edges at city 0"),
        ([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)], "has 6 edges"),
        ([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (5, 4)], "larger number"),
        ([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (5, 5)], "larger number"),
    ):
        with pytest.raises(Refuted, match=words):
            tours.prove_cut(of(edges))

    work = GeneralizedAssignmentOracle([[1, 1, 1.0], [1, 1, 1]], [[2, 2, 2], [1, 1, 1]], [4, 1])
    (claim,) = claims_of(work, work.query(Query(np.zeros(3))))
    for numbers, words in (([0, 1, 2], "agent 0 has the capacity 4"), ([0, 3, 4], "agent 1 has the capacity 1")):
        with pytest.raises(Refuted, match=words):
            work.prove_cut(replace(claim, witness={"compact": np.array(numbers)}))

    arcs = [[0, 1], [1, 2], [0, 2], [2, 1], [2, 3], [3, 2]]
    net = MulticommodityFlowOracle(arcs, np.ones(6), np.ones(6), [[0, 2], [1, 3]], [1.0, 1.0])
    (claim,) = claims_of(net, net.query(Query(np.zeros(6))))
    assert claim.witness["compact"].tolist() == [2, 6 + 1, 6 + 4]
    for numbers, words in (
        ([7, 10], "broken"),
        ([0, 7, 10], "broken"),
        ([1, 2, 7, 10], "same node"),
        ([4, 5, 7, 10], "circle"),
        ([1, 3, 7, 10], "circle"),
    ):
        with pytest.raises(Refuted, match=words):
            net.prove_cut(replace(claim, witness={"compact": np.array(numbers)}))
    with pytest.raises(Refuted, match="not in the domain"):
        net.prove_value(ValueClaim(np.full(6, -2.0), 0.0))
    # within the tolerance of the domain a negative price counts as none
    assert net.prove_value(ValueClaim(np.full(6, -1e-11), 0.0), exact=True) == -3.0
    apart = MulticommodityFlowOracle(arcs, np.ones(6), np.ones(6), [[0, 2], [1, 3]], [1.0, 1.0], multicut=True)
    _, first, _ = claims_of(apart, apart.query(Query(np.zeros(6))))
    with pytest.raises(Refuted, match="of others"):
        apart.prove_cut(replace(first, summand=1))


def test_a_run_keeps_few_numbers_for_its_witnesses():
    """Four bytes for each customer served: no table of m * n numbers hangs on a witness."""
    rng = np.random.default_rng(0)
    opening, costs = rng.uniform(20, 40, 100), rng.uniform(0, 50, (100, 1000))
    for multicut in (False, True):
        oracle, light = FacilityLocationOracle(opening, costs, multicut=multicut), LightCuts()
        minimize(oracle, LevelSet(), max_calls=3, callback=light)
        for cut in light.cuts:
            witness = cut.extras["compact"]
            assert witness.dtype == np.int32
            assert witness.base is None
            assert witness.size == cut.extras["activity"].sum()
            assert "solution" not in cut.extras
            assert sum(one.extras["compact"].nbytes for one in cut.summands) in (0, witness.nbytes)
            assert oracle.prove_cut(next(claims_of(oracle, cut))) <= 1e-10


@pytest.mark.parametrize("multicut", [False, True])
def test_methods_keep_of_a_cut_what_proves_it_and_no_more(multicut):
    oracle, seen = instance("facilities", 0, multicut), []

    class Listens(Kelley):
        def tell(self, cut):
            seen.append({tuple(one.extras) for one in (cut, *cut.summands)})
            return super().tell(cut)

    result = minimize(oracle, Listens(), keep_cuts=True)
    assert seen == [{("compact", "sizes"), ("compact",)} if multicut else {("compact",)}] * result.n_calls
    assert all("activity" in cut.extras for cut in result.history.cuts)
    assert oracle.recover(result.history.cuts).violation <= 1e-6


def knapsack(examine=True, several=False):
    """The knapsack of the documentation, its constraint relaxed: every set of things is a relaxed solution."""
    worth, size = np.array([6.0, 5.0, 4.1]), np.array([3.0, 2.0, 2.3])

    def solve(u):
        x = (worth > u[0] * size).astype(float)
        if several:
            return [
                RelaxedSolution(w * one, [s * one], solution=[one]) for w, s, one in zip(worth, size, x, strict=True)
            ]
        return RelaxedSolution(worth @ x, [size @ x], solution=x)

    def tell(x, worth=worth, size=size):
        if np.shape(x) != worth.shape or not np.isin(x, (0.0, 1.0)).all():
            raise ValueError("x must be 0 or 1")
        taken = np.flatnonzero(x)
        return sum((Fraction(worth[j]) for j in taken), Fraction(0)), [
            sum((Fraction(size[j]) for j in taken), Fraction(0))
        ]

    each = [lambda x, j=j: tell(x, worth[j : j + 1], size[j : j + 1]) for j in range(3)] if several else tell
    return LagrangianOracle(solve, [4.0], inequality=True, maximize=True, radius=10, examine=each if examine else None)


@pytest.mark.parametrize("exact", [False, True])
def test_a_relaxation_of_the_users_own_is_examined_by_its_own_function(exact):
    bare = knapsack(examine=False)
    (claim,) = claims_of(bare, bare.query(Query(np.array([1.9]))))
    assert bare.prove_cut(claim, exact) is None
    oracle = knapsack()
    assert oracle.prove_value(ValueClaim(np.array([1.9]), 0.0), exact) is None
    (claim,) = claims_of(oracle, oracle.query(Query(np.array([1.9]))))
    assert oracle.prove_cut(claim, exact) <= 1e-14
    raised = replace(claim, constant=claim.constant + 1e-6)
    assert 0.9e-6 < oracle.prove_cut(raised, exact) < 1.1e-6
    for x in ([0.5, 0, 0], [1, 0], "abc", [np.nan, 0, 0]):
        with pytest.raises(Refuted, match="relaxed solution is none"):
            oracle.prove_cut(replace(claim, witness={"compact": x}), exact)
    several = knapsack(several=True)
    whole, *each = claims_of(several, several.query(Query(np.array([1.9]))))
    for one in (whole, *each):
        assert several.prove_cut(one, exact) <= 1e-14
        assert 0.9e-6 < several.prove_cut(replace(one, constant=one.constant + 1e-6), exact) < 1.1e-6
    for sizes in (None, [3], [1, 1, 2], [4, -1, 0], "abc", [1.0, np.nan, 1.0]):
        with pytest.raises(Refuted, match=r"relaxed solution is none|sizes"):
            several.prove_cut(replace(whole, witness={**whole.witness, "sizes": sizes}), exact)
    with pytest.raises(InvalidCut, match="one solution for each `examine`: 1, got 2"):
        LagrangianOracle(lambda u: [RelaxedSolution(0, [0.0])] * 2, [4.0], examine=lambda x: (0.0, [0.0])).query(
            Query(np.zeros(1))
        )
    for one in claims_of(bare := knapsack(examine=False, several=True), bare.query(Query(np.array([1.9])))):
        assert bare.prove_cut(one, exact) is None
    wrong = LagrangianOracle(lambda u: RelaxedSolution(0, [0.0]), [4.0], examine=lambda x: (0.0, [0.0, 0.0]))
    with pytest.raises(Refuted, match="must hold 1 numbers"):
        wrong.prove_cut(claim, exact)
