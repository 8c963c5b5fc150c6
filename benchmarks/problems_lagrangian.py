"""Lagrangian bounds of public instances: traveling salesman, assignment, facility location, multicommodity flow.

    ORACLE_OPT_PROBLEMS=folder python benchmarks/problems_lagrangian.py [--quick] [--only KIND ...]

The folder holds `tsp`, `gap`, `uflp` and `mcf`, each with its instances and `optima.json`, the list of known bounds.
Every generator runs to a proven relative gap of 1e-6 or its time limit; a table says what the calls come to. A file in
docs/data has a row an instance, for the generator that needs the fewest calls: known value of the best bound; the bound
proven and the limit that no multipliers exceed (the other way round where the problem is a maximization); their gap;
calls; seconds, and those in the oracle; then, from averaged relaxed solutions, the cost of a primal solution relative
to the known value, and its largest violation of a relaxed constraint relative to the largest right-hand side. Another
file has the calls of each generator, or the relative gap it had proven at its limit. Every run's certificate is
verified; "proven": from the data.
"""

import argparse
import sys
from time import perf_counter

import numpy as np
from _shared import table
from _verified import print_certificates, print_rows, verified
from threadpoolctl import threadpool_limits

from oracle_opt import minimize, problems
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, Subgradient

TOLERANCE = 1e-6
KINDS = ("tsp", "gap", "uflp", "mcf")
# seconds; those that do not get there are cut short
GENERATORS = ((LevelSet(), 90), (ProximalBundle(), 90), (AnalyticCenter(), 10), (Kelley(), 5), (Subgradient(), 2))
QUICK = ("gr17", "gr21", "c515-1", "c520-1", "cap71", "grid1")


def measure(oracle, generator, seconds, keep_cuts=False):
    """One run; the limit of calls is out of reach."""
    return minimize(oracle, generator, rtol=TOLERANCE, max_calls=10**7, max_seconds=seconds, keep_cuts=keep_cuts)


def row(name, oracle, known, generator, seconds):
    """Cells of the first table, from a run that also keeps its cuts."""
    began = perf_counter()
    result = measure(oracle, generator, seconds, keep_cuts=True)
    elapsed = perf_counter() - began
    primal = oracle.recover(result.history.cuts)
    proven, limit = oracle.dual_bound(result), oracle.dual_limit(result)
    cost = (primal.cost - known) / abs(known)
    violation = primal.violation / np.abs(oracle.rhs).max()
    return [
        name,
        str(oracle.rhs.size),
        f"{known:.10g}",
        f"{proven:.10g}",
        f"{limit:.10g}",
        f"{result.relative_gap:.0e}",
        verified(result, oracle),
        str(result.n_calls),
        f"{elapsed:.2g} ({result.oracle_seconds:.2g})",
        f"`{type(generator).__name__}()`",
        f"{cost:+.0e}",
        f"{violation:.0e}",
    ]


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="six small instances")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    wanted = parser.parse_args()
    began = perf_counter()
    rows, counts = [], []
    for kind in wanted.only:
        for why in problems.missing(kind).values():
            print(why, file=sys.stderr)
        for problem in problems.suite(kind):
            name = problem.name.removeprefix(f"{kind}/")
            if wanted.quick and name not in QUICK:
                continue
            oracle = problem().oracle
            known = problem.optimum if oracle.maximize else -problem.optimum
            results = []
            for generator, seconds in GENERATORS:
                results.append(measure(oracle, generator, seconds))
                verified(results[-1], oracle)
                print(name, generator, results[-1].status.name, results[-1].n_calls, file=sys.stderr, flush=True)
            counts.append([name, *(str(r.n_calls) if r.success else f"gap {r.relative_gap:.0e}" for r in results)])
            best = min(range(len(results)), key=lambda i: (not results[i].success, results[i].n_calls))
            rows.append(row(name, oracle, known, *GENERATORS[best]))
            print("|", " | ".join(rows[-1]), "|", file=sys.stderr, flush=True)
    head = ("instance", "multipliers", "known", "proven", "limit", "gap", "certificate", "calls", "s (oracle)")
    names = [f"`{type(generator).__name__}()`, {seconds} s" for generator, seconds in GENERATORS]
    table(("method, its limit", "reached 1e-6", "fewest calls", "median calls"), summary(names, counts))
    print_rows("problems_lagrangian", (*head, "generator", "primal cost", "violation"), rows, wanted.quick)
    print_rows("problems_lagrangian_calls", ("instance", *names), counts, wanted.quick)
    print_certificates()
    print(f"{perf_counter() - began:.0f} s", file=sys.stderr)


def summary(names, counts):
    """What the calls come to, a line each generator; those of runs that ended at their limit do not count."""
    calls = np.array([[int(one) if one.isdigit() else np.inf for one in line[1:]] for line in counts])
    least = calls.min(axis=1)
    for name, own in zip(names, calls.T, strict=True):
        reached = np.isfinite(own)
        middle = f"{np.median(own[reached]):g}" if reached.any() else "-"
        yield name, f"{reached.sum()} of {len(own)}", ((own == least) & reached).sum(), middle


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
