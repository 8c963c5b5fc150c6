"""lp-MKL by Newton's method and by SMO-MKL, certified, against the memory limit of an SMO step.

    ORACLE_OPT_DATA=folder-with-the-data-sets python benchmarks/lp_mkl.py [--quick] > tables.md

Sonar, ionosphere, pima and wdbc (70 %, 13 (d + 1) kernels, C = 100, lambda = 1), p = 2, 1.33 and 1.1, to the gap of
the authors' code. Prints Markdown; progress goes to stderr. Seconds are processor seconds of one thread, medians over
rounds in which the methods take turns; the bank is built before. The memory limit is the least time to add up, in the
same round, the numbers of two columns of every kernel, 16 n p bytes, picked in turn from at least 64 MB of columns; a
ratio is that of a whole run, columns and certificates included, to its steps times the limit. It may be below 1, as
points that stay at a bound are left out of most steps. The last table is about columns that do not fit. `--quick` takes
one round on sonar alone.
"""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from statistics import median
from time import thread_time

import numpy as np
from _verified import print_certificates, verified
from threadpoolctl import threadpool_limits

from oracle_opt.oracles import GMKLOracle, LpRegularizer, uci_bank
from oracle_opt.oracles.mkl import SMOMKL, NewtonMKL, solve_lp_mkl

EXPONENTS = (2.0, 1.33, 1.1)
# The C++ code of the authors of SMO-MKL: seconds, measured elsewhere, on a machine about three times as fast; and the
# relative gap that its answers were certified to have, which ours have to reach.
AUTHORS = {
    "sonar": ((0.76, 3e-8), (1.1, 8e-8), (1.5, 5e-7)),
    "ionosphere": ((0.63, 2e-8), (0.91, 5e-8), (0.94, 2e-7)),
    "pima": ((5.9, 3e-9), (3.0, 5e-9), (1.7, 3e-8)),
    "wdbc": ((0.88, 2e-8), (1.1, 6e-8), (1.4, 3e-7)),
}
ROUNDS = 5
READS, TRIES = 20, 5


def timed(call):
    """Processor seconds of one call, and its answer."""
    start = thread_time()
    answer = call()
    return thread_time() - start, answer


def read_columns(columns):
    """Add up READS pairs of columns, each pair far from the last; the sum keeps the reads."""
    count = len(columns)
    return sum(columns[7 * k % count].sum() + columns[(7 * k + 3) % count].sum() for k in range(READS))


def row(name, bank, y, p, authors, gap, rounds):
    """One row of the first table."""
    n, kernels = bank.n_points, bank.n_kernels
    columns = np.random.default_rng(0).random((max(8, (1 << 26) // (8 * n * kernels)), n, kernels))
    times = []
    for _ in range(rounds):
        newton, by_newton = timed(partial(solve_lp_mkl, bank, y, p=p, rtol=gap, solver=NewtonMKL()))
        smo, by_smo = timed(partial(solve_lp_mkl, bank, y, p=p, rtol=gap, solver=SMOMKL()))
        limit = min(timed(partial(read_columns, columns))[0] for _ in range(TRIES)) / READS
        times.append((newton, smo, smo / (by_smo.cut.extras["n_steps"] * limit)))
    for run in (by_newton, by_smo):
        verified(run, GMKLOracle(bank, y, LpRegularizer(p), C=100.0))
    newton, smo, ratio = (median(column) for column in zip(*times, strict=True))
    lowest, highest = (pick(r[2] for r in times) for pick in (min, max))
    print(f"{name} p = {p}: {newton:.3f} s, {smo:.3f} s", file=sys.stderr)
    cells = (
        name,
        kernels,
        n,
        f"{p:g}",
        f"{gap:.0e}",
        f"{by_newton.upper_bound:.8g}",
        by_newton.n_calls,
        f"{by_newton.relative_gap:.0e}",
        f"{newton:.3f}",
        by_smo.cut.extras["n_steps"],
        f"{by_smo.relative_gap:.0e}",
        f"{smo:.3f}",
        f"{ratio:.1f} ({lowest:.1f}-{highest:.1f})",
        f"{authors:g}",
        f"{authors / newton:.0f}",
        f"{authors / smo:.1f}",
    )
    return table_row(cells)


def cache_rows(name, bank, y, rounds):
    """Rows of the second table: a run with room for some of the columns."""
    column = 8 * bank.n_points * bank.n_kernels
    for share in (1.0, 0.5, 0.25, 0.1):
        solver = SMOMKL(cache_bytes=int(share * bank.n_points) * column)
        runs = [timed(partial(solve_lp_mkl, bank, y, solver=solver)) for _ in range(rounds)]
        steps = runs[0][1].cut.extras["n_steps"]
        seconds = median(run[0] for run in runs)
        yield table_row((name, f"{share:.0%}", f"{solver.cache_bytes / 1e6:.0f}", steps, f"{seconds:.3f}"))


def table_row(cells):
    """One line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def heading(*names):
    """The first two lines of a Markdown table."""
    return f"{table_row(names)}\n{table_row(['---'] * len(names))}"


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round on sonar alone")
    quick = parser.parse_args().quick
    rounds = 1 if quick else ROUNDS
    folder = Path(os.environ["ORACLE_OPT_DATA"])
    first, second = [], []
    for name, authors in AUTHORS.items():
        if quick and name != "sonar":
            continue
        table = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
        chosen = np.random.default_rng(0).permutation(len(table))[: int(0.7 * len(table))]
        y, bank = table[chosen, -1], uci_bank(table[chosen, :-1])
        first += [row(name, bank, y, p, *anchor, rounds) for p, anchor in zip(EXPONENTS, authors, strict=True)]
        second += cache_rows(name, bank, y, rounds)
    newton, smo = ("Newton: calls", "gap", "s"), ("SMO-MKL: steps", "gap", "s", "times the memory limit")
    print(
        heading(
            "set",
            "kernels",
            "n",
            "p",
            "gap asked",
            "optimum",
            *newton,
            *smo,
            "authors, s",
            "over Newton",
            "over SMO-MKL",
        )
    )
    print("\n".join(first))
    print("\np = 1.33, room for a share of the columns:\n")
    print(heading("set", "room", "MB", "steps", "s"))
    print("\n".join(second))
    print()
    print_certificates()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
