"""What an executor costs a call: processor time of this process, bytes down and up, and a killed worker.

    python benchmarks/workers.py [--quick]

Small tasks: four of a bank of 40 kernels on 50 points, so that nearly all is overhead. Bytes are those of the pickled
arguments and answers of all tasks of a call, once the workers have the bank; derived ones are of the arrays alone.
"""

import os
import pickle
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from statistics import median
from time import process_time

import cloudpickle
import numpy as np
from _shared import parser, table, timed

from oracle_opt import Query
from oracle_opt.executors import Workers
from oracle_opt.oracles import BendersOracle, RandomBlock, RBFBank, ShardedBank, TwoStageProblem


class Counting(Executor):
    """Does each task in this process, and counts the bytes that one elsewhere would be sent."""

    def __init__(self):
        self.down, self.up = [], []

    def submit(self, fn, /, *args, **kwargs):
        """Do a task at once."""
        self.down.append(len(pickle.dumps((fn, args, kwargs))))
        future = Future()
        future.set_result(fn(*args, **kwargs))
        self.up.append(len(pickle.dumps(future.result())))
        return future


def rbf(n_points, n_kernels, n_features=20, seed=0):
    """Kernels on random features of drawn points."""
    rng = np.random.default_rng(seed)
    subsets = [rng.permutation(n_features)[: rng.integers(2, n_features)] for _ in range(n_kernels)]
    return RBFBank(rng.normal(size=(n_points, n_features)), subsets, [[4.0]] * n_kernels)


def dual(n_points, n_support, seed=1):
    """Dual variables with so many support vectors."""
    rng, v = np.random.default_rng(seed), np.zeros(n_points)
    v[rng.permutation(n_points)[:n_support]] = rng.normal(size=n_support)
    return v


@contextmanager
def dask(n_workers):
    """A cluster of worker processes, and its client; None if Dask is not installed."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        yield None
        return
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as client:
        yield client


def overhead(client, rounds):
    """Times of a call of four small tasks."""
    bank, v, rows = rbf(50, 40), dual(50, 30), []
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        executors = {"none": None, "`ThreadPoolExecutor(2)`": threads, "`ProcessPoolExecutor(2)`, spawn": processes}
        if client is not None:
            executors["Dask, 2 processes"] = client.get_executor(pure=False)
        for name, executor in executors.items():
            call = partial(ShardedBank(bank, executor, parts=4).quadratic_forms, v)
            first = timed(call)[0]
            times = [timed(call)[0] for _ in range(rounds)]
            wall, cpu = (median(getattr(t, clock) for t in times) for clock in ("wall", "cpu"))
            best = min(t.wall for t in times)
            rows.append([name, f"{1e3 * first.wall:.0f}", f"{1e3 * cpu:.2f}", f"{1e3 * wall:.2f}", f"{1e3 * best:.2f}"])
    headings = ["executor", "first call, wall ms", "a call: processor ms here", "wall ms, median", "least"]
    table(headings, rows)


def numbers(made, value, count):
    """As many numbers as a task of many kernels brings back."""
    return np.full(count, value)


def nothing():
    """A recipe of nothing."""


def volume(client, quick):
    """Times of bringing back a number for each of many kernels, in 8 tasks."""
    rows = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        executors = {"`ProcessPoolExecutor(2)`, spawn": processes}
        if client is not None:
            executors["Dask, 2 processes"] = client.get_executor(pure=False)
        for name, executor in executors.items():
            workers = Workers(nothing, executor, "nothing", "")
            for count in (10**5, 10**6, 10**7)[: 2 if quick else 3]:
                tasks = [(count // 8,)] * 8
                workers.run(numbers, 0.5, tasks)
                times = [timed(lambda: np.concatenate(workers.run(numbers, 0.5, tasks)))[0] for _ in range(3)]  # noqa: B023
                cells = [name, f"{count:,}", f"{8e-6 * count:g}"]
                rows.append(
                    [*cells, *(f"{1e3 * min(getattr(t, clock) for t in times):.0f}" for clock in ("cpu", "wall"))]
                )
    table(["executor", "kernels", "MB up", "processor ms here", "wall ms"], rows)


def widths(n_kernels):
    """Widths on each of 60 features of 208 drawn points, the shape of Sonar."""
    X = np.random.default_rng(0).normal(size=(208, 60))
    return RBFBank.from_quantiles(X, n_kernels, np.arange(60)[:, None])


def million(client, quick):
    """Kernels of many widths, priced alone and by two processes that made the bank by themselves."""
    p, v = 10_000 if quick else 1_000_000, dual(208, 150)
    recipe, executor = partial(widths, p), client.get_executor(pure=False)
    alone = ShardedBank.from_recipe(recipe, parts=8)
    one, expected = timed(lambda: alone.quadratic_forms(v))
    sharded = ShardedBank.from_recipe(recipe, executor, parts=8)
    sharded.quadratic_forms(v)
    before = sum(client.run(process_time).values())
    shared, found = timed(lambda: sharded.quadratic_forms(v))
    theirs = sum(client.run(process_time).values()) - before
    sizes = len(cloudpickle.dumps(recipe)), len(pickle.dumps(alone.bank))
    cells = [f"{p:,}", f"{one.cpu:.2f}", f"{theirs:.2f}", f"{1e3 * shared.cpu:.0f}", same(found, expected)]
    headings = ["kernels", "alone: processor s", "two workers of Dask: theirs, s", "here, ms", "the same bits"]
    table([*headings, "bytes of the recipe", "of the bank"], [[*cells, *sizes]])


def bytes_of_calls(quick):
    """Bytes of the calls of banks and programs, derived and counted."""
    rows = []
    for n, p, n_support, parts in [(208, 2000, 120, 8), (2000, 50, 400, 8)][: 1 if quick else 2]:
        bank, problem = rbf(n, p), f"{n} points, {p} kernels"
        for name, call, changed, answered in (
            ("`quadratic_forms`", ShardedBank.quadratic_forms, n_support, None),
            ("`row_products`, all points", all_rows, 20, 8 * n * p),
        ):
            executor = Counting()
            sharded = ShardedBank(bank, executor, parts=parts)
            call(sharded, dual(n, changed))
            # the entries that are not 0 with their places, or all entries
            down = parts * min(16 * changed, 8 * n)
            if answered is None:
                answered = 8 * p if sharded.by_kernels else 8 * p * parts
            cells = [problem, f"{name}, {changed} entries not 0", down, sum(executor.down), answered, sum(executor.up)]
            rows.append([*cells, 8 * n * n])
    answers = "bytes up: derived", "counted"
    table(["problem", "call, in 8 tasks", "bytes down: derived", "counted", *answers, "a kernel has"], rows)


def transport(n_scenarios, costs_vary, m=15, k=25):
    """Capacity at m places, shipped to k customers of random demand, perhaps at random costs; shortage is paid for."""
    rng = np.random.default_rng(0)
    c, costs = rng.uniform(1, 2, m), np.r_[rng.uniform(1, 10, m * k), np.full(k, 100.0)]
    W, T = np.zeros((m + k, m * k + k)), np.zeros((m + k, m))
    for i in range(m):
        W[i, i * k : (i + 1) * k], T[i, i] = 1.0, -1.0
    W[m:] = np.hstack([np.eye(k)] * (m + 1))
    lower, upper = np.r_[np.full(m, -np.inf), np.zeros(k)], np.r_[np.zeros(m), np.full(k, np.inf)]
    varied = {"rows": np.arange(m, m + k), "rhs": rng.uniform(1, 5, (n_scenarios, k))}
    if costs_vary:
        varied |= {"cost_columns": np.arange(20), "cost": costs[:20] * rng.uniform(0.8, 1.2, (n_scenarios, 20))}
    block = RandomBlock(np.full(n_scenarios, 1.0 / n_scenarios), **varied)
    return TwoStageProblem(c, costs, T, W, lower, upper, [block], x_upper=50.0)


def scenarios(quick):
    """Processor time of a query of all scenarios: with bases kept from query to query, and in tasks without."""
    rows, count = [], 100 if quick else 1000
    points = np.random.default_rng(1).uniform(4.0, 8.0, (4, 15))
    for varies in ("demands", "demands and costs"):
        problem, cells = transport(count, "costs" in varies), []
        for parts in (None, 8, 32):
            oracle = BendersOracle(problem, parts=parts)
            times = [timed(partial(oracle.query, Query(x)))[0].cpu for x in points]
            cells.append(f"{1e3 * median(times):.0f}")
        rows.append([f"transport 15 x 25, {count} scenarios", varies, *cells])
    table(["program", "random", "processor ms a query: `parts=None`", "8 parts", "32 parts"], rows)


def all_rows(bank, v):
    """Products of all kernels with a vector."""
    return bank.row_products(np.arange(bank.n_points), v)


def killed(client, tasks):
    """What a killed worker costs: whether the bits are the same, and the seconds."""
    bank, v = rbf(1000, 400), dual(1000, 900)
    executor = client.get_executor(pure=False)
    sharded = ShardedBank(bank, executor, parts=tasks)
    expected = sharded.quadratic_forms(v)
    without = timed(lambda: sharded.quadratic_forms(v))[0]
    victim = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(0.3 * without.wall, os.kill, (victim, signal.SIGKILL))
    timer.start()
    during, found = timed(lambda: sharded.quadratic_forms(v))
    timer.join()
    after, again = timed(lambda: sharded.quadratic_forms(v))
    rows = [["before", f"{without.wall:.2f}", "yes"]]
    rows += [["a worker killed by SIGKILL in the middle", f"{during.wall:.2f}", same(found, expected)]]
    rows += [["the next one", f"{after.wall:.2f}", same(again, expected)]]
    table([f"call of {tasks} tasks", "wall s", "the same bits"], rows)


def same(one, other):
    """Whether two arrays are equal to the last bit, in words."""
    return "yes" if one.tobytes() == other.tobytes() else "NO"


def main():
    """Print the tables."""
    quick = parser(__doc__).parse_args().quick
    with dask(2) as client:
        overhead(client, 10 if quick else 100)
        volume(client, quick)
        bytes_of_calls(quick)
        scenarios(quick)
        if client is None:
            print("Left out: Dask, as `distributed` is not installed.")
        else:
            million(client, quick)
            killed(client, 8)


if __name__ == "__main__":
    main()
