"""Solutions of the public instances of the shipped relaxations: averaged and rounded ones, beside the known optima.

ORACLE_OPT_PROBLEMS=folder python benchmarks/rounding.py [--quick]
"""

from time import process_time

import numpy as np
from _extensive import solved_by_highs
from _relaxations import flow_program, location_program
from _shared import parser, say
from _verified import print_certificates, print_rows, verified

from oracle_opt import minimize, problems
from oracle_opt.generators import LevelSet, ProximalBundle
from oracle_opt.oracles import FacilityLocationOracle, LightCuts, MulticommodityFlowOracle
from oracle_opt.problems.collection import entries

KINDS = ("tsp", "gap", "uflp", "mcf")
QUICK = ("gr17", "c515-1", "cap71", "grid1")
LIMIT = 25.0


def optimum(entry):
    """Known integer optimum, None where there is none in the list."""
    return entry.get("tour_optimum", entry["resolved"] if entry.get("resolved") is not None else entry["optimum"])


def timed(function):
    """What it returns, and its processor seconds."""
    began = process_time()
    found = function()
    return found, process_time() - began


def of_highs(oracle):
    """Processor seconds of HiGHS on the linear program that has the same bound; None where none is written out."""
    if isinstance(oracle, FacilityLocationOracle):
        program = location_program(oracle.opening, oracle.costs)
    elif isinstance(oracle, MulticommodityFlowOracle):
        data = (oracle.arcs, oracle.costs, oracle.capacities, oracle.commodities, oracle.demands)
        program = flow_program(*data)
    else:
        return None
    (_, status), seconds = timed(lambda: solved_by_highs(program, "simplex"))
    return seconds if status == "optimal" else None


def row(entry, oracle):
    """Cells of one instance."""

    def run(generator):
        light = LightCuts()
        done = minimize(oracle, generator, rtol=1e-6, max_calls=10**6, max_seconds=LIMIT, callback=light)
        return done, light

    (result, light), seconds = timed(lambda: run(ProximalBundle()))
    if not result.success:
        (result, light), seconds = timed(lambda: run(LevelSet()))
    verified(result, oracle)
    primal, averaging = timed(lambda: oracle.recover(light.cuts))
    known, bound, peer = optimum(entry), oracle.dual_bound(result), of_highs(oracle)
    cost, gap, off, seconds = "-", "-", "-", f"{seconds:.2g} + {averaging:.2g}"
    if isinstance(oracle, FacilityLocationOracle):
        rounded, rounding = timed(lambda: oracle.round(result, primal))
        cost, gap, seconds = f"{rounded.cost:.10g}", f"{rounded.gap:.1e}", f"{seconds} + {rounding:.2g}"
        off = "-" if known is None else f"{abs(rounded.cost - known) / abs(known):.1e}"
    return (
        entry["name"],
        f"{bound:.10g}",
        f"{result.relative_gap:.0e}",
        f"{(primal.cost - bound) / abs(bound):+.0e}",
        f"{primal.violation / np.abs(oracle.rhs).max():.0e}",
        cost,
        gap,
        "-" if known is None else f"{known:.10g}",
        "optimal" if off != "-" and float(off) < 1e-8 else off,
        seconds,
        "-" if peer is None else f"{peer:.2g}",
    )


def main():
    """Print the table."""
    quick = parser(__doc__).parse_args().quick
    rows = []
    for kind in KINDS:
        listed = {entry["name"]: entry for entry in entries(kind)}
        for problem in problems.suite(kind):
            name = problem.name.removeprefix(f"{kind}/")
            if quick and name not in QUICK:
                continue
            rows.append(row(listed[name], problem().oracle))
            say(" ".join(rows[-1]))
    heads = ("instance", "bound", "gap", "average: cost", "violation", "rounded", "its gap", "optimum", "off by")
    off = [cells[8] for cells in rows if cells[8] != "-"]
    worst = max((float(one) for one in off if one != "optimal"), default=0.0)
    rounded = f"{len(off)}, {off.count('optimal')} to the optimum, the worst off by {worst:.1e}"
    print(f"{len(rows)} instances. Rounded: {rounded}.\n")
    print_rows("rounding", (*heads, "s: run + average + rounding", "s: HiGHS, bound"), rows, quick)
    print_certificates()


if __name__ == "__main__":
    main()
