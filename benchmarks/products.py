"""Products of kernels on many points, without a matrix of all: one machine after another, and what memory they take.

    ORACLE_OPT_DATA=folder python benchmarks/products.py [--quick]

Prints a Markdown table; progress goes to stderr. `GMKLOracle` on `ProductBank.from_points`, hinge, one kernel a
feature, weights 1/d each, then 1.1/d and 2/d: seconds of the processor of the three queries, slopes included, with one
thread, each from the solution of the one before. Then the support vectors of the last query, and those of them that
are free. Peak is the resident memory of the process at its largest so far, points and library included; matrix is what
the kernel of all points would take.
"""

from time import process_time

import numpy as np
from _shared import parser, resident, say, table
from threadpoolctl import threadpool_limits

from oracle_opt import Query
from oracle_opt.datasets import load
from oracle_opt.errors import DataUnavailable
from oracle_opt.oracles import GMKLOracle, ProductBank

HEADINGS = ("points", "C", "accuracy", "first, s", "near, s", "far, s", "support", "free", "peak, GiB", "matrix, GiB")
PROBLEMS = (("letter", 10.0), ("letter", 100.0), ("poker_train", 1.0), ("cod_rna", 10.0))
BUDGET = 1 << 30
GIB = 1 << 30


def row(name, C, accuracy):
    """One line of the table."""
    dataset = load(name)
    X, y = dataset.dense(), dataset.y
    bank = ProductBank.from_points(X)
    # less than the matrix takes, also where there are few points
    oracle = GMKLOracle(bank, y, C=C, memory_budget=min(BUDGET, 8 * len(y) ** 2 - 1))
    seconds = []
    for factor in (1.0, 1.1, 2.0):
        began = process_time()
        cut = oracle.query(Query(np.full(bank.n_kernels, factor / bank.n_kernels), accuracy))
        seconds.append(process_time() - began)
    b = np.abs(cut.extras["signed_dual"])
    return [
        f"{name}, {len(y):,} x {bank.n_kernels}",
        f"{C:g}",
        f"{accuracy:g}",
        *(f"{time:.2f}" for time in seconds),
        f"{np.count_nonzero(b):,}",
        f"{np.count_nonzero((b > 0) & (b < C)):,}",
        f"{resident('VmHWM') / GIB:.2f}",
        f"{8 * len(y) ** 2 / GIB:.1f}",
    ]


def main():
    """Print the table."""
    quick = parser(__doc__).parse_args().quick
    rows = []
    with threadpool_limits(1):
        for name, C in (("wdbc", 1.0),) if quick else PROBLEMS:
            for accuracy in (1e-3, 1e-6):
                try:
                    rows.append(row(name, C, accuracy))
                except DataUnavailable as problem:
                    say(str(problem))
                    continue
                say(" ".join(rows[-1]))
    table(HEADINGS, rows)


if __name__ == "__main__":
    main()
