"""One call of the MKL oracle, in parts, against scikit-learn's SVC, in one process on one thread.

    ORACLE_OPT_DATA=folder-with-the-data-sets python benchmarks/svm_oracle.py

Prints two tables for sonar, ionosphere, wdbc and pima (70 %, 13 (d + 1) kernels, C = 100 and 1e4). Solves: medians in
milliseconds of our solver and of SVC(kernel="precomputed", tol=1e-5), taken in turn, on the combined kernel of uniform
weights and of the last query point of a level-set run; and the sums over that run's query points, ours warm-started.
Queries: combined kernel, solve, quadratic forms, medians over the run's query points.
"""

import os
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.oracles.svm import solve_csvc
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from oracle_opt import minimize

NAMES = ("sonar", "ionosphere", "wdbc", "pima")
ROUNDS = 7
ACCURACY = 1e-8  # relative gap; SVC's tolerance is the violation


def milliseconds(call, *arguments):
    start = perf_counter()
    answer = call(*arguments)
    return 1e3 * (perf_counter() - start), answer


def in_turn(*calls):
    """Medians of ROUNDS interleaved rounds."""
    rounds = [[milliseconds(call)[0] for call in calls] for _ in range(ROUNDS)]
    return [median(times) for times in zip(*rounds, strict=True)]


def fit_svc(K, y, C):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SVC(C=C, kernel="precomputed", tol=1e-5, max_iter=5_000_000).fit(K, y)


def solve(K, y, C, start=None):
    return solve_csvc(K, y, C, start=start, accuracy=ACCURACY, check=False)


def warm_solves(kernels, y, C):
    last = None
    steps = 0
    for K in kernels:
        last = solve(K, y, C, None if last is None else last.signed_dual)
        steps += last.n_steps
    return steps


def main():
    folder = Path(os.environ["ORACLE_OPT_DATA"])
    solves, queries = [], []
    for name in NAMES:
        table = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
        chosen = np.random.default_rng(0).permutation(len(table))[: int(0.7 * len(table))]
        X, y = table[chosen, :-1], table[chosen, -1]
        build, bank = milliseconds(uci_bank, X)
        single = uci_bank(X, dtype=np.float32)
        run = minimize(MKLOracle(bank, y), LevelSet(), rtol=1e-4, keep_cuts=True)
        points = [cut.point for cut in run.history.cuts]
        kernels = [bank.combine(point) for point in points]
        for C in (100.0, 1e4):
            for label, K in (("uniform", kernels[0]), ("last", kernels[-1])):
                ours, peer = in_turn(lambda K=K, C=C: solve(K, y, C), lambda K=K, C=C: fit_svc(K, y, C))
                solution = solve(K, y, C)
                words = f"{solution.n_steps:8d} {solution.relative_gap:9.1e}"
                solves.append(
                    f"{name:11s}{len(y):4d} {C:7g} {label:14s}{ours:9.3f}{peer:9.2f}{peer / ours:8.1f}{words}"
                )
            warm, cold, peer = in_turn(
                lambda C=C: warm_solves(kernels, y, C),
                lambda C=C: [solve(K, y, C) for K in kernels],
                lambda C=C: [fit_svc(K, y, C) for K in kernels],
            )
            words = f"{warm_solves(kernels, y, C):8d}"
            label = f"{len(kernels)} in a row"
            solves.append(f"{name:11s}{len(y):4d} {C:7g} {label:14s}{warm:9.3f}{peer:9.2f}{peer / warm:8.1f}{words}")
            solves.append(f"{'':24s}{'same, cold':14s}{cold:9.3f}{peer:9.2f}{peer / cold:8.1f}")
        for store in (bank, single):
            times, last, out = [], None, np.empty((len(y), len(y)))
            for point in points:
                forming, K = milliseconds(lambda point=point, store=store: store.combine(point, out=out))
                start = None if last is None else last.signed_dual
                solving, last = milliseconds(lambda K=K, start=start: solve(K, y, 100.0, start))
                scoring, _ = milliseconds(lambda last=last, store=store: store.quadratic_forms(last.signed_dual))
                times.append((forming, solving, scoring, forming + solving + scoring))
            parts = "".join(f"{value:9.2f}" for value in np.median(times, axis=0))
            size = f"{store.nbytes / 1e6:8.0f}"
            kept = f"{median(np.count_nonzero(point) for point in points):8.0f}"
            kind = store.combine(points[0]).dtype if store is bank else "float32"
            queries.append(f"{name:11s}{bank.n_kernels:4d} {kind!s:8s}{size}{build / 1e3:9.2f}{kept}{parts}")
    print("set           n       C kernel           ours      SVC   ratio   steps       gap")
    print("\n".join(solves))
    print("\nset           p store        MB  build s  non-zero  K      solve    forms    query")
    print("\n".join(queries))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
