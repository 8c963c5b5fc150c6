"""The main door, `minimize(oracle)`, against each method alone on some 190 instances; half of the families held out.

    python benchmarks/panel.py [--quick] [--half tuned|held] [--family NAME ..] [--families] [--keep FILE]
                               [--default-only]

To a relative gap of 1e-4, at most 500 calls and 1 s of processor. All methods run in one process, one after the other
on each instance. What a run costs is its calls at a price each, or the oracle's own time, and the generator's seconds;
the ratio is to the least of the methods alone that solve it, at most 10, which an open run counts as.
"""

import pickle
import warnings
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from _panel_families import panel
from _shared import parser, say, table

from oracle_opt import (
    CapabilityMismatch,
    minimize,
)
from oracle_opt.generators import (
    LBFGS,
    SPG,
    AnalyticCenter,
    Kelley,
    LevelSet,
    NewtonBundle,
    ProximalBundle,
    SpectralBundle,
    TrustRegion,
    choose_generator,
)

RTOL, SECONDS = 1e-4, 1.0  # of the processor
OPTIONS = {"rtol": RTOL, "max_calls": 500, "max_seconds": 20.0, "check": False, "probes": 0, "first": False}
OPTIONS["clock"] = "processor"
CAP = 10.0  # the largest ratio; what is open counts as this
SHORT = 0.02  # seconds: runs below are measured twice
PRICES = (None, 1e-3, 1e-2, 1e-1)  # seconds a call; None is the oracle's own time
HEADINGS = ["own time", "1 ms", "10 ms", "100 ms"]
DEFAULT = "minimize(oracle)"
KINDS = (ProximalBundle, LevelSet, TrustRegion, AnalyticCenter, Kelley, LBFGS, SPG, NewtonBundle, SpectralBundle)
ALONE = {f"{kind.__name__}()": kind for kind in KINDS} | {'LevelSet(center="last")': partial(LevelSet, center="last")}
ALONE["LevelSet(0.5)"] = partial(LevelSet, 0.5)


def run(case, method):
    """One run in words and numbers; None where the method refuses."""
    try:
        oracle, start = case.make()
        generator = None if method == DEFAULT else ALONE[method]()
        began = process_time()
        result = minimize(oracle, generator, start, callback=lambda record: process_time() - began > SECONDS, **OPTIONS)
    except CapabilityMismatch:
        return None
    except Exception as problem:  # what fails is open, and is told
        return {"solved": False, "failed": f"{type(problem).__name__}: {problem}"[:120], "calls": 0}
    return {
        "solved": bool(result.success or result.relative_gap <= RTOL),
        "failed": "",
        "calls": result.n_calls,
        "oracle": result.oracle_seconds,
        "generator": result.generator_seconds,
        "gap": result.relative_gap,
        "status": result.status.name,
        "lower": -np.inf if result.status.disproved else result.lower_bound,
        "upper": np.inf if result.status.disproved else result.upper_bound + result.price,
        "last": result.generator.partition("(")[0],
        "choice": result.choice,
    }


def measured(case, methods):
    """Rows of an instance by method; of short runs the least seconds of two."""
    rows = {method: row for method in methods if (row := run(case, method)) is not None}
    for method, row in rows.items():
        if not row["failed"] and row["oracle"] + row["generator"] < SHORT:
            again = run(case, method) or {}
            for seconds in ("oracle", "generator"):
                row[seconds] = min(row[seconds], again.get(seconds, np.inf))
    if DEFAULT in rows:
        rows[DEFAULT]["chosen"] = type(choose_generator(case.make()[0])).__name__
    return rows


def cost(row, price):
    """Seconds of a run if a call costs so much; infinite if it is open."""
    if not row["solved"]:
        return np.inf
    return (row["oracle"] if price is None else price * row["calls"]) + row["generator"]


def best(rows, price):
    """The method alone that costs least; None if none solves the instance."""
    costs = {method: cost(row, price) for method, row in rows.items() if method != DEFAULT}
    method = min(costs, key=costs.get)
    return method if costs[method] < np.inf else None


def ratio(rows, method, price):
    """Cost over that of the best alone; where the method refuses, it is open."""
    if method not in rows:
        return CAP
    return min(CAP, cost(rows[method], price) / cost(rows[best(rows, price)], price))


def mean(ratios):
    """Geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


def conflicts(name, rows):
    """Pairs of runs whose bounds contradict each other beyond rounding."""
    proven = {method: row for method, row in rows.items() if not row["failed"]}
    for low, a in proven.items():
        for high, b in proven.items():
            if a["lower"] > b["upper"] + 1e-9 * max(1.0, abs(b["upper"])):
                yield f"{name}: {low} proves {a['lower']:.12g}, {high} has {b['upper']:.12g}"


# Tables.


def cells(all_rows, method):
    """Shares and means at each price, and what is open."""
    for price in PRICES:
        ratios = np.array([ratio(rows, method, price) for rows in all_rows])
        within = [f"{100 * np.mean(ratios <= limit):.0f} %" for limit in (1.2, 1.5)]
        yield ", ".join([*within, f"{mean(ratios):.2f}"])
    yield sum(method not in rows or not rows[method]["solved"] for rows in all_rows)


def tell_half(half, all_rows):
    """A row the default and each method alone."""
    methods = [DEFAULT, *ALONE]
    print(f"{half}: {len(all_rows)} instances; shares within 1.2 x and 1.5 x of the best alone, geometric mean\n")
    refused = {method: sum(method not in rows for rows in all_rows) for method in methods}
    body = [[f"`{m}`", *cells(all_rows, m), refused[m]] for m in methods if refused[m] < len(all_rows)]
    table(["method", *HEADINGS, "open", "of which refused"], body)


def tell_families(kept):
    """A row a family, and the instances where the default does worst at 10 ms."""
    families = defaultdict(list)
    for case, rows in kept:
        families[case.half, case.family].append(rows)
    body = []
    for (half, family), all_rows in sorted(families.items(), reverse=True):
        means = [f"{mean([ratio(rows, DEFAULT, price) for rows in all_rows]):.2f}" for price in PRICES]
        used = Counter(" then ".join(dict.fromkeys(path(rows[DEFAULT]))) for rows in all_rows)
        winner, wins = Counter(best(rows, 1e-2) for rows in all_rows).most_common(1)[0]
        words = "; ".join(f"{name} ({n})" for name, n in used.most_common())
        body.append([half, family, len(all_rows), *means, words, f"`{winner}` ({wins})"])
    table(["half", "family", "instances", *HEADINGS, "chosen, and at the end", "best alone at 10 ms"], body)
    worst = sorted(kept, key=lambda one: -ratio(one[1], DEFAULT, 1e-2))[:15]
    table(["instance", "at 10 ms", "calls", "best alone, calls", "choice"], [worst_row(*one) for one in worst])


def path(row):
    """What was chosen, and what was at work at the end."""
    return [row["chosen"], row.get("last", "failed")]


def worst_row(case, rows):
    """How the default did on one instance, beside the best alone."""
    row, winner = rows[DEFAULT], best(rows, 1e-2)
    calls = f"{row['calls']}{'' if row['solved'] else ', open'}"
    words = row["failed"] or row["choice"]
    return [case.name, f"{ratio(rows, DEFAULT, 1e-2):.2f}", calls, f"`{winner}` {rows[winner]['calls']}", words]


def tell(measured_cases, families):
    """All tables, and what is odd."""
    kept = [(case, rows) for case, rows in measured_cases if best(rows, None)]
    left = [case.name for case, rows in measured_cases if not best(rows, None)]
    for half in ("tuned", "held"):
        all_rows = [rows for case, rows in kept if case.half == half]
        if all_rows:
            tell_half(half, all_rows)
    if families and kept:
        tell_families(kept)
    print(f"Left out, as no method alone solves them: {len(left)} {', '.join(left)}")
    against = [words for case, rows in measured_cases for words in conflicts(case.name, rows)]
    print(f"Conflicts of bounds: {len(against)}", *against, sep="\n")
    ends = [(case.name, method, row["failed"]) for case, rows in measured_cases for method, row in rows.items()]
    failed = [": ".join(words) for words in ends if words[-1]]
    print(f"Exceptions: {len(failed)}", *failed, sep="\n")


def chosen_cases(options):
    """The instances that were asked for."""
    cases = [case for case in panel() if options.half in (None, case.half)]
    cases = [case for case in cases if not options.family or case.family in options.family]
    return firsts(cases) if options.quick else cases


def firsts(cases):
    """The first of each family."""
    return list({case.family: case for case in reversed(cases)}.values())[::-1]


def warm(cases, methods):
    """Imports and first calls are charged to nobody."""
    for case in firsts(cases):
        run(case, DEFAULT)
    for method in methods:
        any(run(case, method) for case in firsts(cases))  # until one is not refused


def main():
    """Measure, keep, and tell."""
    options = parser(__doc__)
    options.add_argument("--half", choices=("tuned", "held"))
    options.add_argument("--family", nargs="+", metavar="NAME")
    options.add_argument("--families", action="store_true", help="a row a family, and the worst instances")
    options.add_argument("--keep", type=Path, metavar="FILE", help="put the rows there")
    options.add_argument("--default-only", action="store_true", help="the default alone anew, beside rows of --keep")
    options = options.parse_args()
    warnings.simplefilter("ignore")
    anew = options.default_only
    kept = pickle.loads(options.keep.read_bytes()) if options.keep and options.keep.exists() else {}
    methods = [DEFAULT] if anew else [DEFAULT, *list(ALONE)[: 2 if options.quick else None]]
    cases = [case for case in chosen_cases(options) if not anew or case.name in kept]
    warm(cases, methods)
    found = []
    for i, case in enumerate(cases):
        found.append((case, (kept[case.name] if anew else {}) | measured(case, methods)))
        if i % 10 == 9:
            say(f"{i + 1} of {len(cases)}, {process_time():.0f} s")
    if options.keep and not anew:
        options.keep.write_bytes(pickle.dumps(kept | {case.name: rows for case, rows in found}))
    tell(found, options.families)


if __name__ == "__main__":
    main()
