"""Where in its level set should a level method ask: the projection, or the center? And which cuts does a model need?

Calls to a proven 1e-4 on random two-stage programs, with one cut a call and with a cut for each of several groups of
scenarios.
"""

import numpy as np
from _expansion import expansion, transport
from _shared import parser, table
from _verified import print_certificates, verified

from oracle_opt import minimize, problems
from oracle_opt.generators import AnalyticCenter, LevelSet, ProximalBundle
from oracle_opt.generators.masters import CutPool
from oracle_opt.oracles import BendersOracle

GENERATORS = {
    "`LevelSet()`": LevelSet,
    "`LevelSet(interior=True)`": lambda: LevelSet(interior=True),
    "`LevelSet(level=0.5)`": lambda: LevelSet(level=0.5),
    "the same, `interior=True`": lambda: LevelSet(level=0.5, interior=True),
    "`AnalyticCenter()`": AnalyticCenter,
    "`ProximalBundle()`": ProximalBundle,
}
PROBLEMS = {
    "expansion, 2 nodes": (expansion, (2, 3, 4, 16)),
    "expansion, 4 nodes": (expansion, (4, 4, 4, 16)),
    "expansion, 8 nodes": (expansion, (8, 5, 3, 16)),
    "transport, 8 x 12": (transport, (8, 12, 30)),
    "transport, 15 x 25": (transport, (15, 25, 30)),
}
DRAWS = 2
OTHERS = (
    "stochastic/4node-16",
    "nonsmooth/MAXQUAD",
    "nonsmooth/TR48",
    "max-affine(n=100, seed=1)",
    "least-absolute(n=30, seed=1)",
    "gap/c520-1",
    "gap/a05100",
)


def calls(make, arguments, summands, generator, draws):
    """Mean calls over some draws, `-` where one did not reach the gap."""
    runs = []
    for seed in range(draws):
        oracle = BendersOracle(make(*arguments, seed), n_summands=summands)
        runs.append(minimize(oracle, generator(), rtol=1e-4, max_calls=500))
        verified(runs[-1], oracle)
    return f"{np.mean([run.n_calls for run in runs]):.0f}" if all(run.success for run in runs) else "-"


def elsewhere(name):
    """Calls to a proven 1e-6 on a problem by name, `-` where it is not reached; no row where it is not at hand."""
    if name in problems.missing():
        return []
    (problem,) = problems.find(name)
    found = []
    for make in list(GENERATORS.values())[:2]:
        instance = problem()
        run = minimize(instance.oracle, make(), instance.start, rtol=1e-6, max_calls=500)
        verified(run, instance.oracle)
        found.append(run.n_calls if run.success else "-")
    return [(f"`{name}`", problem.n, *found)]


def needed(make, arguments, summands, generator):
    """Calls; cuts of summands that the run was given, those above the model at their point, those the pool keeps."""
    oracle = BendersOracle(make(*arguments, 0), n_summands=summands)
    run = minimize(oracle, generator(), rtol=1e-4, max_calls=500, keep_cuts=True)
    verified(run, oracle)
    pool, above, given = CutPool(oracle.domain), 0, 0
    for cut in run.history.cuts:
        rows = pool.summands
        for j, one in enumerate(cut.summands):
            mine = rows.summand == j
            height = (rows.constant[mine] + rows.matrix[mine] @ one.point).max(initial=-np.inf)
            above += one.value > height + 1e-9 * abs(cut.value) / summands
            given += 1
        pool.add(cut)
    return run.n_calls, given, above, len(pool.summands)


def main():
    """Print both tables."""
    quick = parser(__doc__).parse_args().quick
    drawn = dict(list(PROBLEMS.items())[:2]) if quick else PROBLEMS
    draws = 1 if quick else DRAWS
    rows = []
    for name, (make, arguments) in drawn.items():
        problem = make(*arguments, 0)
        for summands in (1, 8):
            found = [calls(make, arguments, summands, generator, draws) for generator in GENERATORS.values()]
            rows.append((name, problem.c.size, problem.q.size, summands, *found))
    print(f"Oracle calls to a proven relative gap of 1e-4, mean of {draws} draws (`-`: more than 500):\n")
    table(("problem", "x", "y", "summands", *GENERATORS), rows)
    print("Calls to 1e-6 on other problems (`-`: more than 500):\n")
    rows = [row for name in (OTHERS[:3] if quick else OTHERS) for row in elsewhere(name)]
    table(("problem", "variables", *list(GENERATORS)[:2]), rows)
    print("Cuts of 8 summands in a run of the first draw: those that the run was given, those above the model at their")
    print("query point, and the rows that the pool keeps, which counts equal rows once:\n")
    rows = [
        (name, label, *needed(make, arguments, 8, GENERATORS[label]))
        for name, (make, arguments) in drawn.items()
        for label in ("`LevelSet()`", "`ProximalBundle()`")
    ]
    table(("problem", "generator", "calls", "given", "above the model", "kept"), rows)
    print_certificates()


if __name__ == "__main__":
    main()
