"""Everything again and again: memory, objects, open files, threads and child processes do not grow with the repeats.

Counted are the bytes that malloc has given out (`mallinfo2` of glibc; the resident memory elsewhere), the blocks that
Python has, the objects that its collector knows. What fills once (caches, pools) grows in one window of repeats; a leak
grows in all of them, so the smallest growth over three windows counts.
"""

import ctypes
import gc
import itertools
import multiprocessing
import os
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
from _seeds import FORMATS

from oracle_opt import Box, FunctionOracle, InvalidData, JournalMismatch, Simplex, generators, minimize
from oracle_opt import oracles as O
from oracle_opt.datasets import Dataset
from oracle_opt.oracles import svm
from oracle_opt.study import compare

UNIT = "kinds of work, each repeated again and again"
WARM, WINDOW, WINDOWS = 40, 70, 3
BYTES, BLOCKS, OBJECTS = 500.0, 3.0, 0.1  # of growth a repeat that are allowed
# Repeats in a window and bytes where they differ, then with up to 20 blocks and 2 objects, as caches still fill:
# matplotlib keeps some 3 kB of each figure with logarithmic axes.
LARGE = {"compare": (25, 2e4), "compare, two processes": (5, 1e5)}
LEAST_WARM = 10


def run(count, seed, tally):
    """Make `count` trials: kinds in their order, going on where the part before ended."""
    kinds = list(KINDS)
    for i in range(count):
        name = kinds[(seed % 1000 * count + i) % len(kinds)]
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            words = _grown(KINDS[name](Path(folder)), tally, *LARGE.get(name, (WINDOW, BYTES)))
        tally.trial([f"{name}: {word}" for word in words])


def _grown(once, tally, window, most):
    others = {child.pid for child in multiprocessing.active_children()}  # of what ran in this process before
    for _ in range(min(WARM, max(LEAST_WARM, window))):
        once()
    marks = [_held()]
    for _ in range(WINDOWS):
        for _ in range(window):
            once()
        marks.append(_held())
    least = {
        name: min((after[name] - before[name]) / window for before, after in itertools.pairwise(marks))
        for name in marks[0]
    }
    words = []
    for name, allowed in (
        ("bytes", most),
        ("blocks", BLOCKS if most == BYTES else 20.0),
        ("objects", OBJECTS if most == BYTES else 2.0),
        ("files", 0),
        ("threads", 0),
    ):
        if most == BYTES:
            tally.error(f"{name} a repeat", max(0.0, least[name]))
        if least[name] > allowed:
            words.append(f"{least[name]:.3g} {name} more with each repeat")
    left = [child for child in multiprocessing.active_children() if child.pid not in others]
    if left:
        words.append(f"{len(left)} child processes are left")
    return words


class _Mallinfo(ctypes.Structure):
    _names_ = (
        "arena",
        "ordblks",
        "smblks",
        "hblks",
        "hblkhd",
        "usmblks",
        "fsmblks",
        "uordblks",
        "fordblks",
        "keepcost",
    )
    _fields_ = [(name, ctypes.c_size_t) for name in _names_]


try:
    _mallinfo2 = ctypes.CDLL(None).mallinfo2
    _mallinfo2.restype = _Mallinfo
except (AttributeError, OSError, TypeError):
    _mallinfo2 = None


def _held():
    for _ in range(3):
        gc.collect()
    if _mallinfo2 is not None:
        info = _mallinfo2()
        held = info.uordblks + info.hblkhd
    else:
        held = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "bytes": held,
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
    }


def _pieces(n=4, seed=0):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(20, n)), rng.normal(size=20)

    def f(z):
        values = A @ z + b
        i = int(np.argmax(values))
        return values[i], A[i]

    return f


def _generator(name):
    def make(folder):
        generator = getattr(generators, name)()
        if name == "SpectralBundle":
            oracle = _eigenvalue()
        elif name == "NewtonBundle":
            oracle = O.MKLOracle(*_kernels(), C=1.0)
        else:
            box = Box(-np.ones(4), np.ones(4))
            oracle = FunctionOracle(_pieces(), box if name == "LBFGS" else Simplex(4))
        return lambda: minimize(oracle, generator, max_calls=15)

    return make


def _kernels():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(16, 2))
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return O.GramBank([np.exp(-distances * g) for g in (0.1, 0.3, 1.0, 3.0)]), np.where(X[:, 0] > 0.1, 1.0, -1.0)


def _eigenvalue():
    laplacian = 5 * np.eye(5) - np.ones((5, 5))
    return O.MaxEigenvalueOracle(laplacian / 4, [np.diag(row) for row in np.eye(5)], np.ones(5), trace=5)


def _oracle(make_oracle, generator=None, anew=True):
    """Runs of an oracle, made anew each time or once."""

    def make(folder):
        method = generators.Kelley() if generator is None else generator
        kept = make_oracle(folder)
        return lambda: minimize(make_oracle(folder) if anew else kept, method, max_calls=12)

    return make


def _file(name):
    def make_oracle(folder):
        make, reader, *_ = FORMATS[name]
        for path, text in make(np.random.default_rng(1)).items():
            (folder / path).write_text(text)
        return reader(folder / next(iter(make(np.random.default_rng(1)))))

    return make_oracle


def _benders(folder):
    block = O.RandomBlock([0.5, 0.5], rows=[1], rhs=[[2.0], [6.0]])
    return O.BendersOracle(O.TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -np.inf, [0, 2], [block], x_upper=10))


def _conic(folder):
    A = np.vstack([np.eye(3), -np.eye(3)[:1], np.zeros((1, 3)), -np.eye(3)[1:]])
    cones = [O.Exponential(), O.Nonnegative(3)] if hasattr(O, "Exponential") else [O.Nonnegative(6)]
    b = np.r_[np.zeros(3), 3.0, 0.0, 3.0, 3.0][: A.shape[0]]
    return O.ConicOracle([1.0, -1.0, 1.0], A[:6], b[:6], cones)


def _cvxpy(folder):
    import cvxpy as cp

    x, p = cp.Variable(2), cp.Parameter(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - p) + cp.sum(x)), [x >= p - 1, x <= 1])
    return O.CvxpyOracle(problem, domain=Box(-np.ones(2), np.ones(2)))


def _svm(solve):
    def make(folder):
        bank, y = _kernels()
        K = bank.combine(np.ones(bank.n_kernels) / bank.n_kernels)
        return lambda: solve(K, y, bank)

    return make


def _journal(folder):
    """A run with a journal, taken up again."""
    number = itertools.count()
    oracle = FunctionOracle(_pieces(), Simplex(4))

    def once():
        path = folder / f"{next(number) % 5}.journal"
        path.unlink(missing_ok=True)
        for calls in (5, 10):
            minimize(oracle, generators.Kelley(), max_calls=calls, journal=path)

    return once


def _refused_journal(folder):
    """A journal of another problem."""
    path = folder / "journal"
    minimize(FunctionOracle(_pieces(), Simplex(4), name="one"), generators.Kelley(), max_calls=5, journal=path)
    other = FunctionOracle(_pieces(seed=1), Simplex(4), name="other")

    def once():
        try:
            minimize(other, generators.Kelley(), max_calls=5, journal=path)
        except JournalMismatch:
            return
        raise AssertionError("the journal of another problem was taken up")

    return once


def _failing(folder):
    """An oracle that raises at its fourth call."""
    f = _pieces()

    def once():
        calls = itertools.count()

        def fails(z):
            if next(calls) == 3:
                raise ArithmeticError("no further")
            return f(z)

        try:
            minimize(FunctionOracle(fails, Simplex(4)), generators.LevelSet(), max_calls=15)
        except ArithmeticError as problem:
            return problem.result.n_calls
        raise AssertionError("the oracle raised, and the run did not")

    return once


def _refused_files(folder):
    """Files of every format, whole and cut."""
    rng = np.random.default_rng(0)

    def once():
        for make, reader, *_ in FORMATS.values():
            for whole in (True, False):
                files = make(rng)
                for path, text in files.items():
                    (folder / path).write_text(text if whole else text[: len(text) // 2])
                try:
                    reader(folder / next(iter(files)))
                except InvalidData:
                    continue

    return once


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return Dataset("moons", X, np.where(X[:, 0] > 0, 1.0, -1.0), ("a", "b"), "", "")


def _comparison(jobs):
    def make(folder):
        number = itertools.count()
        methods = {"fixed-point": generators.FixedPoint(), "level-set": generators.LevelSet()}
        return lambda: compare([_data()], methods, folder / str(next(number)), max_calls=5, splits=jobs, jobs=jobs)

    return make


# all classes but the one that is nothing without a solver of another library
METHODS = {name for name in generators.__all__ if isinstance(getattr(generators, name), type)} - {"ForeignSolver"}
KINDS = {name: _generator(name) for name in sorted(METHODS)}
KINDS |= {
    "MKLOracle": _oracle(lambda folder: O.MKLOracle(*_kernels(), C=1.0), generators.LevelSet()),
    "MKLOracle, squared hinge": _oracle(lambda folder: O.MKLOracle(*_kernels(), svm.SquaredHinge(1.0))),
    "MKLOracle, regression": _oracle(lambda folder: O.MKLOracle(*_kernels(), svm.EpsilonInsensitive(1.0, 0.1))),
    "MKLOracle, one class": _oracle(lambda folder: O.MKLOracle(_kernels()[0], loss=svm.OneClass(0.4))),
    "MixedNormOracle": _oracle(
        lambda folder: O.MixedNormOracle(*_kernels(), C=1.0, groups=((0, 3), (1, 2))), generators.SPG()
    ),
    "GMKLOracle": _oracle(
        lambda folder: O.GMKLOracle(*_kernels(), O.LpRegularizer(2), C=1.0, radius=10.0), generators.SPG()
    ),
    "solve_csvc": _svm(lambda K, y, bank: svm.solve_csvc(K, y, 10.0)),
    "solve_svm, squared hinge": _svm(lambda K, y, bank: svm.solve_svm(K, y, svm.SquaredHinge(10.0))),
    "solve_svm, regression": _svm(lambda K, y, bank: svm.solve_svm(K, y, svm.EpsilonInsensitive(10.0))),
    "solve_svm, one class": _svm(lambda K, y, bank: svm.solve_svm(K, loss=svm.OneClass(0.3))),
    "solve_lp_mkl": _svm(lambda K, y, bank: svm.solve_lp_mkl(bank, y, C=1.0, p=2.0, lam=1.0, rtol=1e-4)),
    "MaxEigenvalueOracle": _oracle(lambda folder: _eigenvalue()),
    "ConicOracle": _oracle(_conic),
    "CvxpyOracle": _oracle(_cvxpy, anew=False),
    "BendersOracle": _oracle(_benders),
    "HeldKarpOracle": _oracle(_file("1-trees")),
    "GeneralizedAssignmentOracle": _oracle(_file("assignment")),
    "FacilityLocationOracle": _oracle(_file("facilities")),
    "MulticommodityFlowOracle": _oracle(_file("flow")),
    "journal": _journal,
    "journal refused": _refused_journal,
    "runs that fail": _failing,
    "files": _refused_files,
    "compare": _comparison(1),
    "compare, two processes": _comparison(2),
}
FULL, SMALL = 40 * -(-len(KINDS) // 40), 1  # parts of equal size meet each kind
