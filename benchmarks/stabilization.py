"""Which stabilization should Benders' decomposition have? Calls and processor seconds to a proven 1e-4.

    python benchmarks/stabilization.py [--quick]

Public two-stage programs in SMPS files, and drawn ones of capacity expansion and transport with 30 scenarios; with one
cut a call and with a cut for each of up to 20 groups of scenarios, the default. Every run proves its gap, and its
certificate is verified.
"""

import sys
from collections import defaultdict
from time import process_time

import numpy as np
from _expansion import expansion, transport
from _shared import parser, table
from _verified import print_certificates, verified

from oracle_opt import minimize, problems
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, TrustRegion
from oracle_opt.oracles import BendersOracle

RTOL, MAX_CALLS, MAX_SECONDS = 1e-4, 500, 60.0
METHODS = {
    '`LevelSet(center="last")`': lambda: LevelSet(center="last"),
    "`LevelSet()`": LevelSet,
    "`LevelSet(interior=True)`": lambda: LevelSet(interior=True),
    "`TrustRegion()`": TrustRegion,
    '`TrustRegion(norm="box")`': lambda: TrustRegion(norm="box"),
    "`ProximalBundle()`": ProximalBundle,
    "`AnalyticCenter()`": AnalyticCenter,
    "`Kelley()`": Kelley,
}
PUBLIC = ("chem", "phone1", "4node-16", "fxm2-6", "stocfor2", "env-aggr")
DRAWN = {
    "expansion, 4 nodes": lambda: expansion(4, 4, 4, 30, 0),
    "expansion, 8 nodes": lambda: expansion(8, 5, 3, 30, 0),
    "transport, 15 x 25": lambda: transport(15, 25, 30, 0),
}


def given(quick):
    """Names and two-stage programs."""
    at_hand = [f"stochastic/{one}" for one in PUBLIC if f"stochastic/{one}" not in problems.missing()]
    for name in at_hand[:2] if quick else at_hand:
        yield f"`{name.rpartition('/')[2]}`", problems.find(name)[0]().oracle.problem
    for name, make in list(DRAWN.items())[: 1 if quick else None]:
        yield name, make()


def measured(problem, n_summands, make):
    """Calls and processor seconds, infinite where the gap was not proven."""
    oracle = BendersOracle(problem, n_summands=n_summands)
    start = process_time()
    run = minimize(oracle, make(), rtol=RTOL, max_calls=MAX_CALLS, max_seconds=MAX_SECONDS)
    seconds = process_time() - start
    verified(run, oracle)
    return (run.n_calls, seconds) if run.success else (np.inf, np.inf)


def main():
    """Print the tables."""
    quick = parser(__doc__).parse_args().quick
    rows, found = [], defaultdict(list)
    for name, problem in given(quick):
        print(name, file=sys.stderr, flush=True)
        for summands in (1, None):
            runs = [measured(problem, summands, make) for make in METHODS.values()]
            for label, run in zip(METHODS, runs, strict=True):
                found[label, summands].append(run)
            rows.append((name, summands or "default", *(f"{n:.0f}, {s:.2g} s" if n < np.inf else "-" for n, s in runs)))
    print(f"Calls and processor seconds to a proven gap of {RTOL:g} (`-`: not in {MAX_CALLS} calls and a minute):\n")
    table(("problem", "cuts a call", *METHODS), rows)
    print(
        'Over those of `LevelSet(center="last")`, geometric means of the problems that both proved; fewest calls (ties'
    )
    print("count for all); not proven:\n")
    rows = []
    for summands in (1, None):
        base = np.array(found['`LevelSet(center="last")`', summands])
        least = np.min([np.array(found[label, summands])[:, 0] for label in METHODS], axis=0)
        for label in METHODS:
            own = np.array(found[label, summands])
            both = np.isfinite(own[:, 0]) & np.isfinite(base[:, 0])
            ratios = np.exp(np.log(own[both] / base[both]).mean(axis=0))
            fewest = int((own[:, 0] == least).sum())
            rows.append(
                (
                    summands or "default",
                    label,
                    *(f"{one:.2f}" for one in ratios),
                    fewest,
                    int(np.isinf(own[:, 0]).sum()),
                )
            )
    table(("cuts a call", "method", "calls", "seconds", "fewest calls", "not proven"), rows)
    print_certificates()


if __name__ == "__main__":
    main()
