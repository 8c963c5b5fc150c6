"""One query of the MKL oracle in parts, against the read bound of the memory and against SVC with packed BLAS.

    ORACLE_OPT_DATA=folder-with-the-data-sets python benchmarks/mkl_query.py [--quick]

Prints tables in Markdown for sonar, ionosphere, wdbc and pima (70 %, 13 (d + 1) kernels, C = 100). The query points are
those of a level-set run to a gap of 1e-4, answered in the same order, ours and the peer in turn, caches emptied before
each part by reading 64 MB of something else; medians over the points. The read bound is a loop in C that adds up words,
compiled here with `cc`.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from oracle_opt import Query, minimize
from oracle_opt.generators import LevelSet, NewtonBundle
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.oracles.kernels import _packed
from oracle_opt.oracles.svm import solve_csvc

NAMES = ("sonar", "ionosphere", "wdbc", "pima")
OTHER = np.ones(8 * 2**20)
READ = """
unsigned long read_words(const unsigned long *x, long n) {
    unsigned long s = 0;
    for (long i = 0; i < n; i++) s += x[i];
    return s;
}
unsigned long read_rows(const char *x, long size, const long *rows, long count) {
    unsigned long s = 0;
    for (long r = 0; r + 4 <= count; r += 4) {
        const unsigned long *a = (const void *) (x + rows[r] * size), *b = (const void *) (x + rows[r + 1] * size);
        const unsigned long *c = (const void *) (x + rows[r + 2] * size), *d = (const void *) (x + rows[r + 3] * size);
        for (long i = 0; i < size / 8; i++) s += (a[i] + b[i]) + (c[i] + d[i]);
    }
    return s;
}
"""


def compiled():
    """Load the plain loops."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "read.so"
        command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
        subprocess.run(command, input=READ, text=True, check=True)
        return ctypes.CDLL(str(path))


def address(array):
    """Where an array begins, for a C function."""
    return ctypes.c_void_p(array.ctypes.data)


def milliseconds(call, clock=thread_time):
    """Time of one call on cold caches, and its answer; the thread's clock leaves out what other processes took."""
    OTHER.sum()
    start = clock()
    answer = call()
    return 1e3 * (clock() - start), answer


def medians(rows):
    """Medians of the columns."""
    return [median(column) for column in zip(*rows, strict=True)]


def table(title, head, rows):
    """Print one table."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(cell if isinstance(cell, str) else f'{cell:.2f}' for cell in row)} |", flush=True)


class Sequence:
    """Query points of a level-set run, and the signed dual variables that answered them."""

    def __init__(self, name, quick):
        print(name, file=sys.stderr, flush=True)
        data = np.loadtxt(Path(os.environ["ORACLE_OPT_DATA"]) / f"{name}.csv", delimiter=",", skiprows=1)
        chosen = np.random.default_rng(0).permutation(len(data))[: int(0.7 * len(data))]
        self.name, self.X, self.y = name, data[chosen, :-1], data[chosen, -1]
        oracle = MKLOracle(uci_bank(self.X), self.y)
        cuts = minimize(oracle, LevelSet(), rtol=1e-2 if quick else 1e-4, keep_cuts=True).history.cuts
        self.points = [cut.point for cut in cuts]
        self.duals = [self.y * cut.extras["alpha"] for cut in cuts]


def answer(sequence, bank):
    """K, solve, S in full, their sum, and the oracle's query, which updates S; and the share of queries that do."""
    oracle, K, start, parts, updates = MKLOracle(bank, sequence.y), np.empty((bank.n_points,) * 2), None, [], []
    for point in sequence.points:
        forming, _ = milliseconds(lambda point=point: bank.combine(point, out=K))
        solving, solution = milliseconds(
            lambda start=start: solve_csvc(K, sequence.y, 100.0, start=start, accuracy=1e-8, check=False)
        )
        start = solution.signed_dual
        scoring, _ = milliseconds(lambda start=start: bank.quadratic_forms(start))
        query, cut = milliseconds(lambda point=point: oracle.query(Query(point)))
        updates.append(cut.extras["n_updates"] > 0)
        parts.append((forming, solving, scoring, forming + solving + scoring, query))
    return [*medians(parts), float(np.mean(updates))]


def answer_with_blas(sequence, bank):
    """The first four by SVC and NumPy on packed halves: the non-zero weights times halves, all halves times vv'."""
    i, j = np.tril_indices(bank.n_points)
    packed = np.array([bank.combine(vertex)[i, j] for vertex in np.eye(bank.n_kernels)])
    K, parts = np.empty((bank.n_points,) * 2), []

    def form(point):
        kept = np.flatnonzero(point)
        K[i, j] = K[j, i] = point[kept] @ packed[kept]

    for point, dual in zip(sequence.points, sequence.duals, strict=True):
        forming, _ = milliseconds(lambda point=point: form(point))
        solving, _ = milliseconds(lambda: SVC(C=100.0, kernel="precomputed", tol=1e-5).fit(K, sequence.y))
        scoring, _ = milliseconds(lambda dual=dual: packed @ (np.where(i == j, 1.0, 2.0) * dual[i] * dual[j]))
        parts.append((forming, solving, scoring, forming + solving + scoring))
    return medians(parts)


def against_the_bound(sequence, bank, dtype, read):
    """K and S over a plain sum of as many bytes in a row, S over a plain sum of its own rows, gigabytes a second."""
    store = np.ones((bank.n_points * (bank.n_points + 1) // 2, bank.n_kernels), dtype)
    K, size, ratios = np.empty((bank.n_points,) * 2), ctypes.c_long(store.strides[0]), []
    for point, dual in zip(sequence.points, sequence.duals, strict=True):
        support = np.flatnonzero(dual)
        a, b = np.tril_indices(support.size)
        rows = support[a] * (support[a] + 1) // 2 + support[b]
        halves, pairs = store.shape[0] * np.count_nonzero(point) * store.itemsize, rows.size * store.strides[0]
        forming, _ = milliseconds(lambda point=point: bank.combine(point, out=K))
        scoring, _ = milliseconds(lambda dual=dual: bank.quadratic_forms(dual))
        for_k, _ = milliseconds(lambda n=halves: read.read_words(address(store), ctypes.c_long(n // 8)))
        for_s, _ = milliseconds(lambda n=pairs: read.read_words(address(store), ctypes.c_long(n // 8)))
        in_place, _ = milliseconds(
            lambda rows=rows: read.read_rows(address(store), size, address(rows), ctypes.c_long(rows.size))
        )
        ratios.append((forming / for_k, scoring / for_s, scoring / in_place, pairs / for_s / 1e6))
    return medians(ratios)


def sparse_points(bank):
    """Milliseconds of `combine` at some numbers of non-zero weights, and at all weights written out, most of them 0."""
    K, times = np.empty((bank.n_points,) * 2), []
    for count in (0, 1, 20, 76, min(300, bank.n_kernels)):
        point = np.zeros(bank.n_kernels)
        point[np.random.default_rng(count).permutation(bank.n_kernels)[:count]] = np.linspace(1, 2, count)
        times.append(median(milliseconds(lambda point=point: bank.combine(point, out=K))[0] for _ in range(9)))
    return times


def on_threads(bank):
    """Threads allowed and used, and milliseconds on the wall of K of all kernels and S of all points."""
    K, weights, v = np.empty((bank.n_points,) * 2), np.linspace(1, 2, bank.n_kernels), np.ones(bank.n_points)
    for count in (1, 2):
        with threadpool_limits(count):
            calls = lambda: bank.combine(weights, out=K), lambda: bank.quadratic_forms(v)
            times = medians([[milliseconds(call, perf_counter)[0] for call in calls] for _ in range(7)])
            yield (
                str(count),
                str(_packed.thread_count(bank.n_kernels * bank.n_points * (bank.n_points + 1) // 2)),
                *times,
            )


MEMORY = """
import resource, sys
import numpy as np
from oracle_opt import minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import MKLOracle, GramBank
from oracle_opt.oracles.kernels.kept_kernels import GivenCrossKernels
p, n = 40, 1600
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 3))
y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
D = ((X[:, None] - X[None]) ** 2)
i, j = np.tril_indices(n)
packed = np.array([np.exp(-g * D[i, j].sum(axis=1)) / n for g in np.geomspace(0.01, 10, p)])
del D, i, j
bank = GramBank.from_packed(packed, np.ones(p), GivenCrossKernels(p, n))
del packed
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
open("/proc/self/clear_refs", "w").write("5")
before = resident()
result = minimize(MKLOracle(bank, y), LevelSet(), rtol=1e-3)
peak = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")][0] * 1024
halves = bank._packed.nbytes
print(halves, peak - before, bank.nbytes - halves, 2 * 8 * n * n, result.n_calls * 8 * (2 * p + n))
"""


def building(sequence, rounds=9):
    """Processor milliseconds of building a bank and of filling a new array of its size, in turn, and the ratio."""
    X, times = sequence.X, []
    size = uci_bank(X)._packed.shape
    for _ in range(rounds):
        built, bank = milliseconds(lambda: uci_bank(X))
        del bank
        filled, array = milliseconds(lambda: np.full(size, 1.0))
        del array
        times.append((built, filled, built / filled))
    bank = uci_bank(X)
    minimize(MKLOracle(bank, sequence.y), NewtonBundle(), rtol=1e-6)
    kept = bank.nbytes / bank._packed.nbytes - 1
    return sequence.name, f"{8e-6 * size[0] * size[1]:.0f}", *medians(times), f"{100 * kept:.0f} %"


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two sets, runs to a gap of 1e-2")
    quick = parser.parse_args().quick
    read, queries, bounds, threads, weights = compiled(), [], [], [], []
    with threadpool_limits(1):
        built = []
        for name in NAMES[1:3] if quick else NAMES:
            sequence = Sequence(name, quick)
            built.append(building(sequence))
            for dtype in (np.float64, np.float32):
                bank = uci_bank(sequence.X, dtype=dtype)
                *parts, updated = answer(sequence, bank)
                label, kept = np.dtype(dtype).name, median(np.count_nonzero(point) for point in sequence.points)
                size = f"{bank.n_kernels} x {bank.n_points}"
                queries.append((name, size, label, f"{kept:.0f}", *parts, f"{100 * updated:.0f} %"))
                bounds.append(
                    (name, label, *against_the_bound(sequence, bank, dtype, read), f"{bank._packed.nbytes / 1e6:.0f}")
                )
                if dtype is np.float64:
                    queries.append((name, size, "SVC, BLAS", f"{kept:.0f}", *answer_with_blas(sequence, bank), "", ""))
                    weights.append((name, *sparse_points(bank)))
                    threads += [(name, *row) for row in on_threads(bank)]
    table(
        "Milliseconds of a query: the combined kernel K, the solve, the quadratic forms S in full, the three together, "
        "and the oracle's query, which updates S where that reads less.",
        ("set", "kernels x points", "store", "non-zero", "K", "solve", "S", "together", "query", "S updated"),
        queries,
    )
    table(
        "Time over that of a plain sum (of as many bytes in a row, or of the rows S reads, where they are), the rate "
        "of the plain sum, and the size of the halves.",
        ("set", "store", "K / sum", "S / sum", "S / sum in place", "GB/s", "MB a layout"),
        bounds,
    )
    table(
        "Milliseconds on the wall of K of all kernels and S of all points, by threads.",
        ("set", "allowed", "used", "K", "S"),
        threads,
    )
    table(
        "Building a bank (`uci_bank`, all of it) against filling a new array of the size of its halves, processor "
        "milliseconds, medians of nine in turn; and the share of the pairs that `NewtonBundle` to 1e-6 keeps.",
        ("set", "MB", "build", "write", "build / write", "pairs kept"),
        built,
    )
    table("Milliseconds of K by the number of non-zero weights.", ("set", "0", "1", "20", "76", "300 or all"), weights)
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    table(
        "Megabytes: the halves, what a level-set run added at its peak, and the parts that are known of that.",
        ("halves", "added", "pairs", "2 n^2", "cuts"),
        [[f"{int(number) / 1e6:.1f}" for number in done.stdout.split()]],
    )


if __name__ == "__main__":
    main()
