"""Lagrangian relaxations beside HiGHS on the linear program of the same bound, and beside a subgradient method.

python benchmarks/peers_lagrangian.py [--quick]
"""

import numpy as np
from _extensive import solved_by_highs
from _peers import Answer, Run, from_result, growth, side_by_side
from _relaxations import (
    assignment,
    cities,
    facilities,
    facilities_at_random,
    flow_program,
    location_program,
    planar_network,
)
from _shared import parser, say, table
from _verified import print_certificates
from scipy import sparse
from scipy.optimize import LinearConstraint, milp

from oracle_opt import Query, minimize
from oracle_opt.generators import AnalyticCenter, LevelSet, ProximalBundle
from oracle_opt.oracles import (
    FacilityLocationOracle,
    GeneralizedAssignmentOracle,
    HeldKarpOracle,
    LightCuts,
    MulticommodityFlowOracle,
)

RTOL, LIMIT, ROUNDS = 1e-6, 30.0, 1
GENERATORS = (ProximalBundle(), LevelSet(), AnalyticCenter())


def ours(make, arguments, kind, generator):
    """A proven relative gap of 1e-6, or the time limit."""
    oracle = kind(*make(*arguments))

    def solve():
        return from_result(minimize(oracle, generator, rtol=RTOL, max_calls=10**6, max_seconds=LIMIT), oracle)

    return solve


def highs(make, arguments, program, solver):
    """HiGHS at its own tolerances of 1e-7."""
    linear = program(*make(*arguments))

    def solve():
        value, status = solved_by_highs(linear, solver)
        return Answer(value, ended="" if status == "optimal" else status)

    return solve


def subgradient(make, arguments, kind, calls):
    """Volgenant and Jonker's (1982) steps: ``u + t (0.6 g_k + 0.4 g_(k-1))``, t falling quadratically; no proof.

    It ends within 1e-4 of the best bound, which it is told; ours has no such help.
    """
    oracle = kind(*make(*arguments))
    known = minimize(oracle, LevelSet(), rtol=1e-5, max_calls=10**5).upper_bound

    def solve():
        u, before, best, step = np.zeros(oracle.rhs.size), 0.0, np.inf, None
        for k in range(1, calls + 1):
            cut = oracle.query(Query(u))
            step = step or 0.02 * abs(cut.value) / len(u)
            best = min(best, cut.value)
            if best - known <= 1e-4 * abs(known):
                return Answer(best, calls=k)
            t = step * ((k - 1) * (k - 2) / (2 * (calls - 1) * (calls - 2)) + (calls - k) / (calls - 1))
            u = u - t * (0.6 * cut.subgradient + 0.4 * before)
            before = cut.subgradient
        return Answer(best, calls=calls, ended=f"{(best - known) / abs(known):.0e} off")

    return solve


def rounded(make, arguments, kind, generator):
    """The relaxation, then its rounding: the cost, and the bound proven."""
    oracle = kind(*make(*arguments))

    def solve():
        light = LightCuts()
        result = minimize(oracle, generator, rtol=1e-4, max_calls=10**6, max_seconds=LIMIT, callback=light)
        found = oracle.round(result, oracle.recover(light.cuts))
        answer = Answer(found.cost, found.bound, result.n_calls, "" if found.feasible else "none found")
        return Run(result, oracle, answer)

    return solve


def branch_and_bound(make, arguments, program, seconds):
    """HiGHS on the integer program within a limit of seconds."""
    cost, constraints = program(*make(*arguments))

    def solve():
        done = milp(cost, constraints=constraints, integrality=1, bounds=(0, 1), options={"time_limit": seconds})
        value = np.nan if done.x is None else done.fun
        bound = np.nan if done.mip_dual_bound is None else done.mip_dual_bound
        return Answer(value, bound, done.mip_node_count or 0, "" if done.x is not None else "none found")

    return solve


def bounds(name, make, sizes, kind, program=None, calls=0):
    """Table of one family: ours by generator, HiGHS on the linear program, the subgradient method."""
    rows, seconds = [], {}
    for arguments in sizes:
        say(f"{name} {arguments}")
        solvers = {f"`{type(one).__name__}()`": (ours, make, arguments, kind, one) for one in GENERATORS}
        if program is not None:
            solvers["simplex"] = (highs, make, arguments, program, "simplex")
            solvers["interior point"] = (highs, make, arguments, program, "ipm")
        if calls:
            solvers["subgradient, 1e-4"] = (subgradient, make, arguments, kind, calls)
        found = side_by_side(solvers, ROUNDS, 2 * LIMIT)
        cells = [f"{one.words} ({one.answer.calls})" if one.answer.calls else one.words for one in found.values()]
        proven = min((one.answer for name, one in found.items() if name[0] == "`"), key=lambda one: one.value)
        rows.append((" x ".join(map(str, arguments)), f"{abs(proven.value):.9g}", *cells))
        for solver, one in found.items():
            seconds.setdefault(solver, []).append(np.nan if one.answer.ended else one.seconds)
    table((name, "best bound proven", *seconds), rows)
    counts = [arguments[-1] for arguments in sizes]
    exponents = {solver: growth(counts, taken) for solver, taken in seconds.items()}
    words = ", ".join(f"{solver} {one:.1f}" for solver, one in exponents.items() if np.isfinite(one))
    print(f"\nGrowth of the seconds over the last number of the size: {words}.\n")


def solutions(cases):
    """Table of integer solutions: ours, and HiGHS within as many seconds by the clock."""
    rows = []
    for words, make, arguments, kind, program in cases:
        say(words)
        own = side_by_side({"ours": (rounded, make, arguments, kind, ProximalBundle())}, ROUNDS, 4 * LIMIT)["ours"]
        peer = None
        if program is not None:
            limit = max(own.seconds, 0.1)
            peer = side_by_side({"HiGHS": (branch_and_bound, make, arguments, program, limit)}, ROUNDS, 4 * LIMIT)
        theirs = ("-", "-", "-") if peer is None else (f"{peer['HiGHS'].seconds:.2g}", *_cost(peer["HiGHS"]))
        rows.append((words, f"{own.seconds:.2g}", *_cost(own), *theirs))
    table(("problem", "s", "cost, `round`", "proven gap", "s, HiGHS", "its cost", "its gap"), rows)


def _cost(measured):
    answer = measured.answer
    if not np.isfinite(answer.value):
        return "none", "-"
    gap = abs(answer.value - answer.bound) / abs(answer.value)
    return f"{answer.value:.8g}", f"{gap:.1e}" if np.isfinite(gap) else "-"


def location_choice(opening, costs):
    """Location as an integer program."""
    m, n = costs.shape
    below = sparse.hstack([-sparse.kron(sparse.eye_array(m), np.ones((n, 1))), sparse.eye_array(m * n)])
    once = sparse.hstack([sparse.csr_array((n, m)), sparse.kron(np.ones((1, m)), sparse.eye_array(n))])
    return np.r_[opening, costs.ravel()], [LinearConstraint(below, ub=0), LinearConstraint(once, 1, 1)]


def main():
    """Print the tables."""
    quick = parser(__doc__).parse_args().quick

    def some(*sizes):
        return sizes[:1] if quick else sizes

    place, knapsack = FacilityLocationOracle, GeneralizedAssignmentOracle
    places = some((25, 250), (50, 500), (100, 1000))
    bounds("facilities x customers, in the plane", facilities, places, place, location_program)
    places = some((50, 50), (100, 100), (200, 200))
    bounds("facilities x customers, at random", facilities_at_random, places, place, location_program)
    nets = some((30, 100), (50, 300), (80, 600))
    bounds("nodes x commodities, planar", planar_network, nets, MulticommodityFlowOracle, flow_program)
    jobs = some(("d", 5, 50), ("d", 10, 100), ("d", 20, 200))
    bounds("type, agents x jobs", assignment, jobs, knapsack)
    bounds("cities", _distances, some((50,), (100,), (200,)), HeldKarpOracle, calls=1000)
    solutions(
        some(
            ("location, plane, 50 x 500", facilities, (50, 500), place, location_choice),
            ("location, random, 100 x 100", facilities_at_random, (100, 100), place, location_choice),
        )
    )
    print_certificates()


def _distances(n):
    return (cities(n),)


if __name__ == "__main__":
    main()
