"""What tests of executors send to workers, who import it from here: banks, and tasks that go wrong."""

import os
import pickle
import signal
import threading
import time
from concurrent.futures import Executor, Future
from math import fsum
from pathlib import Path

import numpy as np

from oracle_opt.arrays import digest
from oracle_opt.oracles import KernelBank, RBFBank, RelaxedSolution


class StackBank(KernelBank):
    """Kernels as they are given, shape (p, n, n), with parts of its own: a bank of a user's."""

    def __init__(self, kernels) -> None:
        self.kernels = kernels
        self.n_kernels, self.n_points = kernels.shape[:2]

    def combine(self, weights, out=None):
        K = np.tensordot(weights, self.kernels, 1)
        if out is not None:
            out[:] = K
        return K if out is None else out

    def quadratic_forms(self, v):
        return np.array([float(v @ K @ v) for K in self.kernels])

    def row_products(self, rows, v):
        return (self.kernels[:, rows] @ v).T

    def entries(self, rows, columns):
        return self.kernels[:, rows][:, :, columns].transpose(1, 2, 0)

    def diagonal(self):
        return np.diagonal(self.kernels, axis1=1, axis2=2).T.copy()

    def cross(self, new, weights):
        return np.tensordot(weights, new, 1)

    def subset(self, kernels):
        return type(self)(self.kernels[kernels])

    def digest(self):
        return digest(self.kernels)


class KillingBank(StackBank):
    """Pricing its kernels ends the process, once, if there is a file that tells it to."""

    flag: str = ""

    def subset(self, kernels):
        chosen = super().subset(kernels)
        chosen.flag = self.flag
        return chosen

    def quadratic_forms(self, v):
        end_once(self.flag)
        return super().quadratic_forms(v)

    def row_products(self, rows, v):
        end_once(self.flag)
        return super().row_products(rows, v)


def end_once(flag):
    """End this process if the file is there, and rename it for the process."""
    try:
        os.rename(flag, f"{flag} {os.getpid()}")
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class HungryBank(StackBank):
    """Its quadratic forms ask for more memory than there is."""

    def quadratic_forms(self, v):
        if "hungry" in os.environ:
            return np.ones(1 << 45)
        return super().quadratic_forms(v)


class LimitedBank(StackBank):
    """Its quadratic forms want 2 GiB."""

    def quadratic_forms(self, v):
        return super().quadratic_forms(v) + 0.0 * np.ones(1 << 28).sum()


class WrongBank(StackBank):
    """Its quadratic forms raise."""

    def quadratic_forms(self, v):
        raise ArithmeticError("the third kernel is wrong")


class TwoWordProblem(Exception):
    """One that cannot be made again of its message."""

    def __init__(self, first, second) -> None:
        super().__init__(f"{first} {second}")


def raises(made, kind, number):
    """A task that raises."""
    if kind == "key":
        raise KeyError("a key of its own")
    raise TwoWordProblem("two", "words")


def makes_nothing():
    """A recipe that raises."""
    raise KeyError("no such file")


def nothing():
    """A recipe of nothing."""


class LockedBank(StackBank):
    """It cannot be pickled."""

    def __init__(self, kernels) -> None:
        super().__init__(kernels)
        self.lock = threading.Lock()


class Recipe:
    """Makes a bank of RBF kernels of drawn points, and writes down in which process it did."""

    def __init__(self, folder, n_points=40, n_kernels=64) -> None:
        self.folder, self.n_points, self.n_kernels = str(folder), n_points, n_kernels

    def __call__(self):
        with open(Path(self.folder) / "made", "a") as file:
            file.write(f"{os.getpid()}\n")
        return rbf(self.n_points, self.n_kernels)


def rbf(n_points=40, n_kernels=64):
    """RBF kernels of drawn points."""
    X = np.random.default_rng(3).normal(size=(n_points, 4))
    return RBFBank.from_quantiles(X, n_kernels)


def stack(kind=StackBank, p=24, n=15, seed=0):
    """A bank of drawn kernels."""
    factors = np.random.default_rng(seed).normal(size=(p, n, n))
    return kind(factors @ factors.transpose(0, 2, 1))


def limit_memory(most):
    """In a worker: no more bytes of address space than it has now and this."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + most,) * 2)


def slow(made, folder, number):
    """A task that takes a while and writes down that it began."""
    (Path(folder) / str(number)).touch()
    time.sleep(0.3)
    return number


class Counting(Executor):
    """Does each task at once in this process, and counts the bytes that a process elsewhere would be sent."""

    def __init__(self) -> None:
        self.down: list[int] = []
        self.up: list[int] = []

    def submit(self, fn, /, *args, **kwargs):
        sent = pickle.dumps((fn, args, kwargs))
        self.down.append(len(sent))
        answer = pickle.dumps(fn(*args, **kwargs))
        self.up.append(len(answer))
        future = Future()
        future.set_result(pickle.loads(answer))
        return future


class Relay(Executor):
    """Passes tasks on, and notes how many bytes each of them is."""

    def __init__(self, executor) -> None:
        self.executor, self.down = executor, []

    def submit(self, fn, /, *args, **kwargs):
        self.down.append(len(pickle.dumps((fn, args, kwargs))))
        return self.executor.submit(fn, *args, **kwargs)


def knapsack(seed, u):
    """Relaxed solution of the largest worth at prices u of drawn things, those that are worth them."""
    rng = np.random.default_rng(seed)
    worth, size = rng.uniform(1, 5, 8), rng.uniform(0, 2, (3, 8)).round(1)
    x = (worth > u @ size).astype(float)
    cost, activity = fsum(worth[x > 0]), size @ x
    return RelaxedSolution(cost, activity, solution=x, bound=cost - u @ activity + 1e-9)


def wrong_answer(u):
    """What is no relaxed solution."""
    return float(u.sum())
