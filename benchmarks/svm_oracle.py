"""One call of the MKL oracle, in parts, against scikit-learn's SVC, in one process on one thread.

    ORACLE_OPT_DATA=folder-with-the-data-sets python benchmarks/svm_oracle.py

Prints two tables for sonar, ionosphere, wdbc and pima (70 %, 13 (d + 1) kernels, C = 100 and 1e4). Solves: medians in
milliseconds of our solver and of SVC(kernel="precomputed", tol=1e-5), taken in turn, on the combined kernel of uniform
weights and of the last query point of a level-set run; and the sums over that run's query points, ours warm-started.
Queries: combined kernel, solve, quadratic forms, medians over the run's query points.
"""

import os
import warnings
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from oracle_opt import minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.oracles.svm import solve_csvc

NAMES = ("sonar", "ionosphere", "wdbc", "pima")
ROUNDS = 7
ACCURACY = 1e-8  # relative gap; SVC's tolerance is the violation


def milliseconds(call):
    """Time of one call, and its answer."""
    start = perf_counter()
    answer = call()
    return 1e3 * (perf_counter() - start), answer


def in_turn(*calls):
    """Medians of ROUNDS interleaved rounds."""
    rounds = [[milliseconds(call)[0] for call in calls] for _ in range(ROUNDS)]
    return [median(times) for times in zip(*rounds, strict=True)]


def fit_svc(K, y, C):
    """Fit the peer; the limit is there because some low-rank kernels cost it minutes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SVC(C=C, kernel="precomputed", tol=1e-5, max_iter=5_000_000).fit(K, y)


def solve(K, y, C, start=None):
    """Solve with ours; the kernels of a bank need no check."""
    return solve_csvc(K, y, C, start=start, accuracy=ACCURACY, check=False)


def solve_in_a_row(kernels, y, C):
    """Solve for each kernel from the last solution; return the steps."""
    last, steps = None, 0
    for K in kernels:
        last = solve(K, y, C, None if last is None else last.signed_dual)
        steps += last.n_steps
    return steps


def solve_rows(name, kernels, y, C):
    """Rows of the first table."""

    def row(label, ours, peer, words):
        return f"{name:11s}{len(y):4d} {C:7g} {label:16s}{ours:9.3f}{peer:9.2f}{peer / ours:8.1f}{words}"

    for label, K in (("uniform", kernels[0]), ("last", kernels[-1])):
        ours, peer = in_turn(partial(solve, K, y, C), partial(fit_svc, K, y, C))
        solution = solve(K, y, C)
        yield row(label, ours, peer, f"{solution.n_steps:8d}{solution.relative_gap:10.1e}")
    warm, cold, peer = in_turn(
        partial(solve_in_a_row, kernels, y, C),
        lambda: [solve(K, y, C) for K in kernels],
        lambda: [fit_svc(K, y, C) for K in kernels],
    )
    yield row(f"{len(kernels)} in a row", warm, peer, f"{solve_in_a_row(kernels, y, C):8d}")
    yield row("the same, cold", cold, peer, "")


def query_row(name, store, bank, points, y):
    """One row of the second table."""
    times, last, out = [], None, np.empty((len(y), len(y)))
    for point in points:
        forming, K = milliseconds(partial(bank.combine, point, out=out))
        solving, last = milliseconds(partial(solve, K, y, 100.0, None if last is None else last.signed_dual))
        scoring, _ = milliseconds(partial(bank.quadratic_forms, last.signed_dual))
        times.append((forming, solving, scoring, forming + solving + scoring))
    parts = "".join(f"{value:8.2f}" for value in np.median(times, axis=0))
    kept = median(np.count_nonzero(point) for point in points)
    return f"{name:11s}{bank.n_kernels:4d}{len(y):5d} {store:8s}{bank.nbytes / 1e6:6.0f}{kept:10.0f}{parts}"


def main():
    """Print both tables."""
    folder = Path(os.environ["ORACLE_OPT_DATA"])
    solves, queries = [], []
    for name in NAMES:
        table = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
        chosen = np.random.default_rng(0).permutation(len(table))[: int(0.7 * len(table))]
        X, y = table[chosen, :-1], table[chosen, -1]
        build, bank = milliseconds(partial(uci_bank, X))
        run = minimize(MKLOracle(bank, y), LevelSet(), rtol=1e-4, keep_cuts=True)
        points = [cut.point for cut in run.history.cuts]
        kernels = [bank.combine(point) for point in points]
        for C in (100.0, 1e4):
            solves += solve_rows(name, kernels, y, C)
        queries.append(query_row(name, "float64", bank, points, y) + f"{build:11.0f}")
        queries.append(query_row(name, "float32", uci_bank(X, dtype=np.float32), points, y))
    print("set           n       C kernel             ours      SVC   ratio   steps       gap")
    print("\n".join(solves))
    print("\nset           p    n store        MB  non-zero       K   solve   forms   query  build bank")
    print("\n".join(queries))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
