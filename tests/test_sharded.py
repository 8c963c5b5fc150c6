"""Banks priced by the workers of an executor: the numbers, the bits, the bytes, and what goes wrong."""

import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from time import perf_counter

import numpy as np
import pytest
from worker_parts import (
    Counting,
    HungryBank,
    KillingBank,
    LimitedBank,
    LockedBank,
    Recipe,
    Relay,
    StackBank,
    WrongBank,
    limit_memory,
    makes_nothing,
    nothing,
    raises,
    rbf,
    slow,
    stack,
)

from oracle_opt import ExecutorFailed, InvalidArgument, OutOfTime, Status, minimize
from oracle_opt._deadline import Deadline
from oracle_opt.executors import Workers
from oracle_opt.generators import ActiveSet, NewtonBundle
from oracle_opt.oracles import GramBank, MKLOracle, ProductBank, RBFBank, ShardedBank

STACK, FEW = stack(), stack(p=5, n=40, seed=1)  # cut by kernels, and by points
BANKS = {
    "by kernels": (STACK, 3),
    "by points": (FEW, 3),
    "many parts": (FEW, 50),
    "one part": (STACK, 1),
    "rbf": (rbf(), 4),
    "given": (GramBank(STACK.kernels), 2),
}


def vectors(n):
    rng = np.random.default_rng(2)
    dense, thin = rng.normal(size=n), np.zeros(n)
    thin[rng.permutation(n)[:4]] = rng.normal(size=4) * 1e6
    return {"dense": dense, "thin": thin, "zero": np.zeros(n)}


def answers(bank):
    """Bytes of all that a bank is asked by an oracle."""
    rng = np.random.default_rng(4)
    few, many = rng.integers(bank.n_points, size=3), np.arange(bank.n_points)
    found = []
    for v in vectors(bank.n_points).values():
        found += [bank.quadratic_forms(v), bank.row_products(few, v), bank.row_products(many, v)]
    return b"".join(one.tobytes() for one in found)


@pytest.mark.parametrize("name", BANKS)
def test_numbers_are_those_of_the_kernels(name) -> None:
    bank, parts = BANKS[name]
    sharded, n = ShardedBank(bank, parts=parts), bank.n_points
    kernels = np.moveaxis(bank.entries(np.arange(n), np.arange(n)), 2, 0).astype(np.longdouble)
    largest, trace = sharded.sizes
    for v in vectors(n).values():
        truth = np.einsum("i,kij,j->k", v.astype(np.longdouble), kernels, v)
        of_largest, of_trace = sharded.form_error(v, v)
        error = np.abs(sharded.quadratic_forms(v) - truth).astype(float)
        assert (error <= np.minimum(of_largest * largest, of_trace * trace)).all()
        rows = np.array([n - 1, 0, 3])
        for which in (rows, np.r_[np.arange(n), rows], rows[:0]):
            products = (kernels[:, which] @ v.astype(np.longdouble)).T
            size = np.abs(kernels).max() * (np.abs(v).sum() + 1e-300)
            found = sharded.row_products(which, v)
            assert found.shape == (which.size, bank.n_kernels)
            assert np.abs(found - products).max(initial=0.0) <= (1e-13 + 2 * sharded.exactness) * size
    d = np.random.default_rng(0).random(bank.n_kernels)
    assert np.array_equal(sharded.combine(d), bank.combine(d))
    assert np.array_equal(sharded.block(d, [1, 2], [0]), bank.block(d, [1, 2], [0]))
    assert np.array_equal(sharded.entries([1, 2], [0]), bank.entries([1, 2], [0]))
    assert np.array_equal(sharded.diagonal(), bank.diagonal())
    assert (sharded.noise(3), sharded.digest()) == (bank.noise(3), bank.digest())
    assert sharded.exactness >= bank.exactness


def test_the_error_is_the_largest_of_the_parts() -> None:
    class Rough(StackBank):
        def subset(self, kernels):
            chosen = super().subset(kernels)
            chosen.exactness = 1e-6 if 20 in kernels else 0.0
            return chosen

    v = np.ones(15)
    sharded = ShardedBank(stack(Rough), parts=3)
    assert sharded.exactness == 1e-6
    assert sharded.form_error(v, v)[0] >= 4e-6 * 15**2


@pytest.mark.parametrize("name", BANKS)
@pytest.mark.parametrize("worth", [0, 10**9], ids=["sent", "not sent"])
def test_some_of_the_kernels(name, worth, monkeypatch) -> None:
    monkeypatch.setattr("oracle_opt.oracles.kernels.sharded_bank.WORTH_SENDING", worth)
    bank, parts = BANKS[name]
    executor, kernels = Counting(), np.array([3, 0, 4])
    chosen, known = ShardedBank(bank, executor, parts=parts).subset(kernels), bank.subset(kernels)
    assert (chosen.n_kernels, chosen.digest(), chosen.exactness) == (3, known.digest(), known.exactness)
    rows, d = np.array([2, 9, 2, 5]), np.array([1.0, 0.0, 2.0])
    for v in vectors(bank.n_points).values():
        scale = np.abs(known.entries(rows, rows)).max() * (np.abs(v).sum() ** 2 + 1e-300)
        scale *= 1.0 + 2e12 * bank.exactness
        assert np.abs(chosen.quadratic_forms(v) - known.quadratic_forms(v)).max() <= 1e-12 * scale
        for which in (rows, rows[:0]):
            expected = known.row_products(which, v)
            assert np.abs(chosen.row_products(which, v) - expected).max(initial=0.0) <= 1e-12 * scale
    assert np.array_equal(chosen.combine(d), known.combine(d))
    assert np.array_equal(chosen.subset([2, 0]).entries(rows, [1]), known.entries(rows, [1])[:, :, [2, 0]])
    forms = chosen.subset([2, 0]).quadratic_forms(v := vectors(bank.n_points)["dense"])
    assert forms == pytest.approx(known.quadratic_forms(v)[[2, 0]], rel=1e-12)
    assert bool(executor.up) == (worth == 0)
    with pytest.raises(InvalidArgument, match="`kernels` must be indices of kernels"):
        ShardedBank(bank, parts=parts).subset([1, 1])


@pytest.mark.parametrize("name", BANKS)
def test_threads_move_no_bit(name) -> None:
    bank, parts = BANKS[name]
    expected = answers(ShardedBank(bank, parts=parts))
    for workers in (1, 2, 3):
        with ThreadPoolExecutor(workers) as executor:
            assert answers(ShardedBank(bank, executor, parts=parts)) == expected


@pytest.fixture(scope="module")
def pools():
    from loky import ProcessPoolExecutor as LokyPool

    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as one,
        ProcessPoolExecutor(3, mp_context=get_context("spawn")) as three,
        LokyPool(2) as two,
    ):
        yield {"one": one, "two, of loky": two, "three": three}


@pytest.mark.parametrize("pool", ["one", "two, of loky", "three"])
def test_processes_move_no_bit_and_make_the_bank_once(pools, pool, tmp_path) -> None:
    sharded = ShardedBank.from_recipe(Recipe(tmp_path), pools[pool], parts=6)
    expected = answers(ShardedBank(rbf(), parts=6))
    assert answers(sharded) == answers(sharded) == expected
    makers = (tmp_path / "made").read_text().split()
    assert len(set(makers)) == len(makers) >= 2
    assert str(os.getpid()) in makers
    for name in ("by kernels", "by points"):
        bank, parts = BANKS[name]
        assert answers(ShardedBank(bank, pools[pool], parts=parts)) == answers(ShardedBank(bank, parts=parts))


def test_a_run_is_the_same_bit_for_bit_and_its_journal_goes_on_elsewhere(pools, tmp_path) -> None:
    bank, y = rbf(60, 80), np.where(np.arange(60) % 3 == 0, -1.0, 1.0)

    def run(executor, parts=4, **options):
        return minimize(MKLOracle(ShardedBank(bank, executor, parts=parts), y, C=10.0), NewtonBundle(), **options)

    alone, many = run(None), run(pools["three"])
    assert alone.success
    assert alone.point.tobytes() == many.point.tobytes()
    assert (alone.n_calls, alone.lower_bound, alone.upper_bound) == (many.n_calls, many.lower_bound, many.upper_bound)
    whole = minimize(MKLOracle(bank, y, C=10.0), NewtonBundle())
    assert whole.lower_bound <= alone.upper_bound
    assert alone.lower_bound <= whole.upper_bound
    journal = tmp_path / "run"
    assert run(None, max_calls=3, journal=journal).status is Status.MAX_CALLS
    with ThreadPoolExecutor(2) as executor:
        again = run(executor, parts=7, journal=journal)
    assert again.success
    assert again.n_calls > 3
    assert MKLOracle(ShardedBank(bank), y, C=10.0).identity() == MKLOracle(bank, y, C=10.0).identity()


def test_a_run_without_a_matrix_is_the_same_bit_for_bit(pools, monkeypatch) -> None:
    monkeypatch.setattr("oracle_opt.oracles.kernels.sharded_bank.WORTH_SENDING", 1 << 14)
    n = 700
    bank, y = rbf(n, 12), np.where(np.random.default_rng(0).random(n) < 0.4, -1.0, 1.0)

    def run(executor):
        oracle = MKLOracle(ShardedBank(bank, executor, parts=4), y, C=1.0, memory_budget=3_500_000)
        return minimize(oracle, NewtonBundle(), rtol=1e-5)

    counting = Counting()
    alone, many, counted = run(None), run(pools["three"]), run(counting)
    assert alone.success
    assert "n_sets" in alone.cut.extras  # solved on working sets
    assert alone.point.tobytes() == many.point.tobytes() == counted.point.tobytes()
    assert (alone.lower_bound, alone.upper_bound) == (many.lower_bound, many.upper_bound)
    assert max(counting.down) <= 8 * n + 1000
    assert max(counting.up) <= 8 * n * 12 / 4 + 1000  # changes of the rows of a part
    known = minimize(MKLOracle(bank, y, C=1.0), NewtonBundle(), rtol=1e-5)
    assert "n_sets" not in known.cut.extras
    assert known.lower_bound <= alone.upper_bound
    assert alone.lower_bound <= known.upper_bound


def test_active_kernels_live_here_and_workers_price_the_others(pools) -> None:
    rng, n, p = np.random.default_rng(0), 120, 1500
    X = rng.normal(size=(n, 6))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    bank = RBFBank.from_quantiles(X, p)

    def run(kernels):
        return minimize(MKLOracle(kernels, y, C=10.0), ActiveSet(NewtonBundle()), rtol=1e-3)

    counting, calls = Counting(), 5
    alone, many, counted, whole = (
        run(one)
        for one in (
            ShardedBank(bank, parts=calls),
            ShardedBank(bank, pools["three"], parts=calls),
            ShardedBank(bank, counting, parts=calls),
            bank,
        )
    )
    assert alone.success
    assert alone.point.tobytes() == many.point.tobytes() == counted.point.tobytes()
    assert (alone.lower_bound, alone.upper_bound) == (many.lower_bound, many.upper_bound)
    assert len(counting.up) < calls * alone.n_calls  # some calls need no workers
    assert max(counting.down + counting.up) <= 8 * (n + p / calls) + 1000
    assert whole.lower_bound <= alone.upper_bound
    assert alone.lower_bound <= whole.upper_bound


def test_nothing_of_the_size_of_a_kernel_is_sent() -> None:
    n, p, parts = 400, 1000, 5
    bank = rbf(n, p)
    y, executor = np.where(np.arange(n) % 2 == 0, -1.0, 1.0), Counting()
    result = minimize(MKLOracle(ShardedBank(bank, executor, parts=parts), y, C=1.0), NewtonBundle(), max_calls=4)
    assert result.n_calls >= 2
    assert len(executor.down) % parts == 0
    assert max(executor.down) <= 8 * n + 8 * n / parts + 1000  # a vector, some rows, and words
    executor = Counting()
    sharded = ShardedBank(bank, executor, parts=parts)
    v = np.zeros(n)
    v[:7] = 1.0
    sharded.quadratic_forms(v)
    assert max(executor.down) <= 16 * 7 + 1000  # entries that are not 0
    assert max(executor.up) <= 8 * p + 1000  # a number for each kernel
    del executor.up[:]
    sharded.row_products(np.arange(n), v)
    assert sum(executor.up) <= 8 * n * p + 1000 * parts


def test_a_long_vector_is_sent_to_a_process_once(pools, monkeypatch) -> None:
    monkeypatch.setattr("oracle_opt.executors.SMALL", 1000)
    bank, v = rbf(400, 20), np.random.default_rng(0).normal(size=400)
    for pool, most in (("one", 1), ("three", 3)):
        relay = Relay(pools[pool])
        sharded, alone = ShardedBank(bank, relay, parts=6), ShardedBank(bank, parts=6)
        assert sharded.quadratic_forms(v).tobytes() == alone.quadratic_forms(v).tobytes()
        for changed in (v, 2.0 * v, v, 3.0 * v):
            del relay.down[:]
            for start in (0, 200):
                rows = np.arange(start, start + 200)
                assert sharded.row_products(rows, changed).tobytes() == alone.row_products(rows, changed).tobytes()
            # each process, and those tasks that bring it in vain as their process has it: 12 tasks in all
            assert sum(size > 8 * 400 for size in relay.down) <= (1, 2, 4, 8)[most]
            assert min(relay.down) < 1000
    relay = Relay(pools["one"])
    sharded = ShardedBank(bank, relay, parts=6)
    sharded.quadratic_forms(v)
    del relay.down[:]
    sharded.quadratic_forms(5.0 * v)
    assert sorted(size > 8 * 400 for size in relay.down) == [False] * 5 + [True]


def test_the_bytes_of_parts_of_kernels() -> None:
    executor = Counting()
    ShardedBank(stack(p=400, n=10), executor, parts=5).quadratic_forms(np.arange(10.0))
    assert len(executor.up) == 5
    assert sum(executor.up) <= 8 * 400 + 5 * 300


@pytest.mark.parametrize(
    ("bank", "reason"),
    [
        (ProductBank([1.0 - np.eye(2)] * 2), "`bank` cannot be sharded, got ProductBank.*needs all of its kernels"),
        (stack(p=1), "one kernel"),
        (ShardedBank(STACK), "it is sharded; pass its attribute `bank`"),
        (STACK.kernels, "`bank` must be a KernelBank such as RBFBank"),
    ],
)
def test_a_bank_that_cannot_be_sharded(bank, reason) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        ShardedBank(bank)
    with pytest.raises(InvalidArgument, match=reason.replace("`bank` ", r"`build\(\)` ")):
        ShardedBank.from_recipe(lambda: bank)


def test_a_bank_that_cannot_be_sent_serves_threads(pools) -> None:
    locked = stack(LockedBank)
    with pytest.raises(InvalidArgument, match=r"`bank` cannot be sent to another process .*lock.*from_recipe"):
        ShardedBank(locked, pools["one"])
    lock = threading.Lock()
    with pytest.raises(InvalidArgument, match=r"`build` cannot be sent to another process .*lock"):
        ShardedBank.from_recipe(lambda: STACK if lock else None, pools["one"])
    with ThreadPoolExecutor(2) as executor:
        assert answers(ShardedBank(locked, executor, parts=2)) == answers(ShardedBank(STACK, parts=2))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"executor": 2}, "`executor` must be an Executor such as ProcessPoolExecutor"),
        ({"parts": 0}, "`parts` must be a whole number of at least 1"),
    ],
)
def test_arguments_are_refused(arguments, reason) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        ShardedBank(STACK, **arguments)


def test_an_executor_that_is_shut_down() -> None:
    executor = ThreadPoolExecutor(1)
    oracle = MKLOracle(ShardedBank(rbf(), executor), np.tile([1.0, -1.0], 20))
    executor.shutdown()
    with pytest.raises(ExecutorFailed, match=r"`executor` takes no tasks: .*after shutdown.*another executor"):
        minimize(oracle, NewtonBundle())


def test_a_process_that_dies_loses_nothing_that_was_answered(tmp_path) -> None:
    bank = stack(KillingBank, n=16)
    bank.flag = str(tmp_path / "kill")
    y, journal = np.tile([1.0, -1.0], 8), tmp_path / "run"

    def run(executor, **options):
        oracle = MKLOracle(ShardedBank(bank, executor, parts=3), y, C=1e-3)
        return minimize(oracle, NewtonBundle(), rtol=1e-12, **options)

    def armed(record):
        if record.call == 2:
            (tmp_path / "kill").touch()

    whole = run(None)
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor,
        pytest.raises(ExecutorFailed, match=r"a worker of `executor` died.*Repeat the call with another") as raised,
    ):
        run(executor, journal=journal, callback=armed)
    assert raised.value.result.n_calls == 2
    (killed,) = tmp_path.glob("kill *")
    assert killed.name != f"kill {os.getpid()}"
    again = run(None, journal=journal)
    assert again.n_calls == whole.n_calls > 2
    assert again.point.tobytes() == whole.point.tobytes()


def test_a_task_that_wants_more_memory_than_there_is(monkeypatch) -> None:
    monkeypatch.setenv("hungry", "yes")
    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(ExecutorFailed, match=r"out of memory in task 1 of 3 .*raise `parts`.*fewer workers") as raised,
    ):
        ShardedBank(stack(HungryBank), executor, parts=3).quadratic_forms(np.ones(15))
    assert isinstance(raised.value.__cause__, MemoryError)


def test_a_worker_without_the_memory_says_so() -> None:
    pytest.importorskip("resource", reason="the system does not limit the memory of a process")
    options = {"mp_context": get_context("spawn"), "initializer": limit_memory, "initargs": (1 << 30,)}
    with (
        ProcessPoolExecutor(1, **options) as executor,
        pytest.raises(ExecutorFailed, match="a worker of `executor` ran out of memory in task 1 of 2"),
    ):
        ShardedBank(stack(LimitedBank), executor, parts=2).quadratic_forms(np.ones(15))


def test_what_a_task_raises_is_raised_here(pools) -> None:
    sharded = ShardedBank(stack(WrongBank), pools["one"], parts=2)
    with pytest.raises(ArithmeticError, match="the third kernel is wrong") as raised:
        sharded.quadratic_forms(np.ones(15))
    assert "in task 1 of 2, done by a worker of `executor`" in raised.value.__notes__[0]
    assert "worker_parts.py" in raised.value.__notes__[0]


@pytest.mark.parametrize(
    ("build", "kind", "error", "words"),
    [
        (nothing, "key", KeyError, "a key of its own"),
        (nothing, "two", RuntimeError, "TwoWordProblem: two words"),
        (makes_nothing, "key", KeyError, "no such file"),
    ],
)
def test_problems_of_any_kind_come_back(pools, build, kind, error, words) -> None:
    with pytest.raises(error, match=words):
        Workers(build, pools["one"], "build", "").run(raises, kind, [(0,), (1,)])
    assert pools["one"].submit(abs, -1).result() == 1


def test_the_deadline_of_the_driver_ends_the_wait(tmp_path) -> None:
    with ThreadPoolExecutor(1) as executor:
        workers = Workers(nothing, executor, "build", "")
        with pytest.raises(OutOfTime), Deadline(perf_counter() + 0.1):
            workers.run(slow, tmp_path, [(number,) for number in range(20)])
    assert len(list(tmp_path.iterdir())) <= 3


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_takes_back_the_tasks_that_wait(tmp_path) -> None:
    with ThreadPoolExecutor(1) as executor:
        workers = Workers(nothing, executor, "build", "")
        timer = threading.Timer(0.15, signal.raise_signal, (signal.SIGINT,))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            workers.run(slow, tmp_path, [(number,) for number in range(20)])
    assert len(list(tmp_path.iterdir())) <= 3
