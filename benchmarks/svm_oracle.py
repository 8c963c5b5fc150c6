"""One call of the MKL oracle, in parts, against scikit-learn's SVC and the C core of libsvm below it, on one thread.

    ORACLE_OPT_DATA=folder-with-the-data-sets python benchmarks/svm_oracle.py [--quick]

Prints Markdown tables; progress goes to stderr. Times are processor times of the thread, medians of rounds in which all
take their turn, each round from another one on. Ours ends at a relative gap of 1e-12 and a violation of 1e-9 (or says
why not), SVC(kernel="precomputed") and its core at a violation of 1e-5.

1. Solves, on sonar, ionosphere, wdbc and pima (70 %, 13 (d + 1) kernels): the combined kernel of uniform weights, that
   of the last query point of a level-set run, and the mean over the run's query points, ours warm-started and cold.
2. Kernels of low rank: each feature of pima, degrees 1 to 3; a random one of rank 60.
3. 2000 points of spambase, and 10,000 of a9a with the kernel matrix computed on both sides. Not with --quick.
4. Queries: combined kernel, solve, quadratic forms, medians over the run's query points, in milliseconds.
"""

import argparse
import gzip
import os
import sys
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from _shared import in_turn, milliseconds
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, _libsvm
from threadpoolctl import threadpool_limits

from oracle_opt import minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.oracles.svm import solve_csvc

NAMES = ("sonar", "ionosphere", "wdbc", "pima")
ROUNDS = 7
TILE = 256
MAX_STEPS = 300_000  # of libsvm, which needs seconds to minutes on some kernels of low rank
SOLVES = (
    "| data | n | C | kernel | ours, ms | SVC, ms | core, ms | SVC / ours | core / ours | steps | Newton | gap |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|",
)


def fit_svc(K, y, C):
    """Fit the peer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SVC(C=C, kernel="precomputed", tol=1e-5, max_iter=MAX_STEPS).fit(K, y)


def fit_core(K, y, C):
    """Fit the peer without its Python."""
    return _libsvm.fit(K, y, svm_type=0, kernel="precomputed", C=C, tol=1e-5, max_iter=MAX_STEPS)


def solve(K, y, C, start=None):
    """Solve with ours; the kernels of a bank need no check."""
    return solve_csvc(K, y, C, start=start, accuracy=1e-12, tolerance=1e-9, check=False)


def each(fit, kernels, y, C):
    """Fit to each kernel from scratch."""
    return [fit(K, y, C) for K in kernels]


def solve_in_a_row(kernels, y, C):
    """Solve for each kernel from the last solution."""
    solutions = []
    for K in kernels:
        solutions.append(solve(K, y, C, solutions[-1].signed_dual if solutions else None))
    return solutions


def row(words, times, solutions):
    """One row of a table of solves: means over the kernels, and the worst gap."""
    ours, svc, core = (time / len(solutions) for time in times)
    steps, rounds = (np.mean([getattr(one, key) for one in solutions]) for key in ("n_steps", "n_newton"))
    gap = max(one.relative_gap for one in solutions)
    figures = f"{ours:.3f} | {svc:.2f} | {core:.3f} | {svc / ours:.1f} | {core / ours:.1f} | {steps:.0f} | {rounds:.1f}"
    return f"| {' | '.join(map(str, words))} | {figures} | {gap:.0e} |"


def solve_rows(name, kernels, y, C, rounds):
    """Rows of the first table."""
    for label, some in (("uniform", kernels[:1]), ("last", kernels[-1:]), (f"{len(kernels)} in a row", kernels)):
        warm = partial(solve_in_a_row, some, y, C)
        times = in_turn(warm, *(partial(each, fit, some, y, C) for fit in (fit_svc, fit_core)), rounds=rounds)
        yield row((name, len(y), f"{C:g}", label), times, warm())
    cold = partial(each, solve, kernels, y, C)
    yield row((name, len(y), f"{C:g}", "the same, cold"), [*in_turn(cold, rounds=rounds), *times[1:]], cold())


def low_rank_rows(X, y, rounds):
    """Rows of the second table: all features one after the other, then each whole data set."""
    for degree, C in product((1, 2, 3), (100.0, 1e4)):
        kernels = [(1 + np.multiply.outer(x, x)) ** degree for x in X.T]
        kernels = [K / np.trace(K) for K in kernels]
        calls = [partial(each, fit, kernels, y, C) for fit in (solve, fit_svc, fit_core)]
        words = ("pima", len(y), f"{C:g}", f"each feature, degree {degree}")
        yield row(words, in_turn(*calls, rounds=rounds), calls[0]())
    rng = np.random.default_rng(0)
    for n, C in product((145, 300), (1.0, 1e3)):
        Z = rng.normal(size=(n, 60))
        K, signs = Z @ Z.T / 60, np.where(rng.random(n) < 0.5, 1.0, -1.0)
        calls = [partial(fit, K, signs, C) for fit in (solve, fit_svc, fit_core)]
        yield row(("random", n, f"{C:g}", "rank 60"), in_turn(*calls, rounds=rounds), [calls[0]()])


def spambase_rows(folder):
    """Rows of the third table."""
    table = np.loadtxt(folder / "spambase.csv", delimiter=",", skiprows=1)
    table = table[np.random.default_rng(0).permutation(len(table))[:2000]]
    X, y = table[:, :-1], np.ascontiguousarray(table[:, -1])
    K = rbf((X - X.mean(axis=0)) / X.std(axis=0), 1 / X.shape[1])
    for C in (1.0, 100.0, 1e4):
        calls = [partial(fit, K, y, C) for fit in (solve, fit_svc, fit_core)]
        yield row(("spambase", len(y), f"{C:g}", "RBF"), in_turn(*calls, rounds=3), [calls[0]()])


def rbf(X, gamma):
    """exp(-gamma |x - z|^2) in tiles that stay in the cache; the exponents of a tile are one matrix product."""
    squares = gamma * (X**2).sum(axis=1)
    left = np.c_[np.sqrt(2 * gamma) * X, -squares, np.ones_like(squares)].astype(X.dtype)
    right = np.c_[np.sqrt(2 * gamma) * X, np.ones_like(squares), -squares].astype(X.dtype)
    K = np.empty((len(X), len(X)), X.dtype)
    for start in range(0, len(X), TILE):
        rows = slice(start, start + TILE)
        for other in range(0, start + 1, TILE):
            columns = slice(other, other + TILE)
            tile = np.exp(np.minimum(left[rows] @ right[columns].T, 0))
            K[rows, columns] = tile
            K[columns, rows] = tile.T
    return K


def a9a_row(folder):
    """The last row of the third table: kernel and solve, against SVC(kernel="rbf") with room for the whole kernel."""
    with gzip.open(folder / "a9a.svm.gz") as file:
        X, y = load_svmlight_file(file)
    X, y = X[:10_000], y[:10_000]
    dense = X.toarray().astype(np.float32)

    def ours():
        return solve_csvc(rbf(dense, 0.05), y, 1.0, accuracy=1e-6, check=False)

    def peer(points):
        return SVC(C=1.0, gamma=0.05, tol=1e-3, cache_size=2000).fit(points, y)

    times = in_turn(ours, partial(peer, X), partial(peer, dense), rounds=3)
    solution = ours()
    alone, _ = milliseconds(partial(rbf, dense, 0.05))
    ratios = f"{times[1] / times[0]:.1f} | {times[2] / times[0]:.1f}"
    words = f"{times[0]:.0f}, of which the kernel {alone:.0f} | {times[1]:.0f} | {times[2]:.0f} | {ratios}"
    return f"| a9a | 10000 | 1 | {words} | {solution.n_steps} | {solution.n_newton} | {solution.relative_gap:.0e} |"


def query_row(name, store, bank, points, y):
    """One row of the last table."""
    times, last, out = [], None, np.empty((len(y), len(y)))
    for point in points:
        forming, K = milliseconds(partial(bank.combine, point, out=out))
        solving, last = milliseconds(partial(solve, K, y, 100.0, None if last is None else last.signed_dual))
        scoring, _ = milliseconds(partial(bank.quadratic_forms, last.signed_dual))
        times.append((forming, solving, scoring, forming + solving + scoring))
    parts = " | ".join(f"{value:.2f}" for value in np.median(times, axis=0))
    kept = median(np.count_nonzero(point) for point in points)
    return f"| {name} | {bank.n_kernels} | {len(y)} | {store} | {bank.nbytes / 1e6:.0f} | {kept:.0f} | {parts}"


def show(*lines):
    """Print lines of a table as soon as they are known."""
    print(*lines, sep="\n", flush=True)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three rounds, two data sets, no large ones")
    quick = parser.parse_args().quick
    folder, rounds = Path(os.environ["ORACLE_OPT_DATA"]), 3 if quick else ROUNDS
    queries = []
    show(*SOLVES)
    for name in NAMES[-2:] if quick else NAMES:
        print(name, file=sys.stderr)
        table = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
        chosen = np.random.default_rng(0).permutation(len(table))[: int(0.7 * len(table))]
        X, y = table[chosen, :-1], table[chosen, -1]
        build, bank = milliseconds(partial(uci_bank, X))
        run = minimize(MKLOracle(bank, y), LevelSet(), rtol=1e-4, keep_cuts=True)
        points = [cut.point for cut in run.history.cuts]
        kernels = [bank.combine(point) for point in points]
        for C in (100.0, 1e4):
            show(*solve_rows(name, kernels, y, C, rounds))
        queries.append(f"{query_row(name, 'float64', bank, points, y)} | {build:.0f} |")
        queries.append(f"{query_row(name, 'float32', uci_bank(X, dtype=np.float32), points, y)} | |")
    print("low rank", file=sys.stderr)
    show("", *SOLVES, *low_rank_rows((X - X.mean(axis=0)) / X.std(axis=0), y, 3))
    if not quick:
        print("spambase", file=sys.stderr)
        show("", *SOLVES, *spambase_rows(folder))
        print("a9a", file=sys.stderr)
        show(
            "",
            "| data | n | C | ours, ms | SVC sparse | SVC dense | ratio | ratio, dense | steps | Newton | gap |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
            a9a_row(folder),
        )
    show(
        "",
        "| data | p | n | store | MB | non-zero | K, ms | solve, ms | forms, ms | query, ms | build bank, ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *queries,
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
