"""Small Lagrangian relaxations with all their relaxed solutions, in fractions, and the claims of their cuts."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np

from oracle_opt.bounds import cut_rounding
from oracle_opt.oracles import GeneralizedAssignmentOracle
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, MulticommodityFlowOracle
from oracle_opt.proof.claim import ClaimKind, CutClaim

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


def larger(kind, seed, multicut=False):
    """Instances whose data have all digits, so that every sum is rounded."""
    rng = np.random.default_rng([40, seed])
    if kind == "trees":
        distances = rng.lognormal(size=(25, 25))
        return HeldKarpOracle(distances + distances.T)
    if kind in ("assignments", "profits"):
        costs, uses = rng.lognormal(size=(3, 25)), rng.integers(1, 9, (3, 25))
        return GeneralizedAssignmentOracle(costs, uses, [20, 30, 9], maximize=kind == "profits", multicut=multicut)
    if kind == "facilities":
        return FacilityLocationOracle(rng.lognormal(size=9), rng.lognormal(size=(9, 30)), multicut=multicut)
    arcs = np.r_[[[k, (k + 1) % 12] for k in range(12)], rng.integers(0, 12, (25, 2))]
    commodities, capacities = rng.integers(0, 6, (20, 2)), rng.lognormal(size=37)
    return MulticommodityFlowOracle(
        arcs, rng.lognormal(size=37), capacities, commodities, rng.lognormal(size=20), multicut=multicut
    )
