"""Real worker processes of Dask: the same bits whatever their number, killed workers, overhead that can be counted."""

import numpy as np
import pytest
from worker_parts import KillingBank, LimitedBank, Recipe, limit_memory, rbf, stack

from oracle_opt import ExecutorFailed, minimize
from oracle_opt.generators import ActiveSet, Kelley, NewtonBundle
from oracle_opt.oracles import BendersOracle, MKLOracle, RandomBlock, ShardedBank, TwoStageProblem

distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")


@pytest.fixture(scope="module")
def client():
    import dask

    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def executor(client, n_workers, pure=False):
    addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
    return client.get_executor(pure=pure, workers=addresses[:n_workers])


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_runs_are_the_same_bit_for_bit(client, n_workers, tmp_path) -> None:
    recipe, y = Recipe(tmp_path, 60, 80), np.where(np.arange(60) % 3 == 0, -1.0, 1.0)

    def run(bank):
        return minimize(MKLOracle(bank, y, C=10.0), NewtonBundle())

    alone = run(ShardedBank(rbf(60, 80), parts=5))
    found = run(ShardedBank.from_recipe(recipe, executor(client, n_workers), parts=5))
    assert found.success
    assert found.point.tobytes() == alone.point.tobytes()
    assert (found.lower_bound, found.upper_bound) == (alone.lower_bound, alone.upper_bound)
    makers = (tmp_path / "made").read_text().split()
    assert 2 <= len(makers) == len(set(makers)) <= 1 + n_workers  # each process makes the bank once


@pytest.mark.parametrize("pure", [False, True])
def test_a_worker_killed_in_the_middle_of_a_task_costs_nothing_else(client, pure, tmp_path) -> None:
    bank, v = stack(KillingBank, p=80), np.linspace(-1.0, 1.0, 15)
    bank.flag = str(tmp_path / "kill")
    sharded = ShardedBank(bank, client.get_executor(pure=pure), parts=6)
    expected = ShardedBank(stack(p=80), parts=6).quadratic_forms(v).tobytes()
    assert sharded.quadratic_forms(v).tobytes() == expected
    (tmp_path / "kill").touch()
    assert sharded.quadratic_forms(v).tobytes() == expected
    assert len(list(tmp_path.glob("kill *"))) == 1  # one was killed, and no task was tried in vain again
    assert sharded.quadratic_forms(v).tobytes() == expected


def test_a_run_goes_on_when_a_worker_is_killed(client, tmp_path) -> None:
    bank, y = stack(KillingBank, p=80, n=16), np.tile([1.0, -1.0], 8)
    bank.flag = str(tmp_path / "kill")

    def run(executor=None, callback=None):
        oracle = MKLOracle(ShardedBank(bank, executor, parts=5), y, C=1.0)
        return minimize(oracle, ActiveSet(NewtonBundle()), rtol=1e-3, callback=callback)

    def arm(record):
        if record.call == 1:
            (tmp_path / "kill").touch()

    alone, found = run(), run(client.get_executor(pure=False), arm)
    assert len(list(tmp_path.glob("kill *"))) == 1
    assert found.success
    assert found.point.tobytes() == alone.point.tobytes()
    assert (found.n_calls, found.lower_bound) == (alone.n_calls, alone.lower_bound)


def test_scenarios_by_workers(client) -> None:
    demand = RandomBlock(np.full(40, 0.025), rows=[1], rhs=np.linspace(2.0, 6.0, 40)[:, None])
    shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -np.inf, [0, 2], [demand], x_upper=10)

    def run(executor):
        return minimize(BendersOracle(shop, executor=executor, parts=4), Kelley())

    alone, found = run(None), run(client.get_executor(pure=False))
    assert found.success
    assert found.point.tobytes() == alone.point.tobytes()
    assert (found.n_calls, found.lower_bound) == (alone.n_calls, alone.lower_bound)


def test_a_worker_without_the_memory_says_so(client) -> None:
    pytest.importorskip("resource", reason="the system does not limit the memory of a process")
    alone = executor(client, 1)
    client.run(limit_memory, 1 << 30, workers=alone._kwargs["workers"])
    with pytest.raises(ExecutorFailed, match="a worker of `executor` ran out of memory in task 1 of 2"):
        ShardedBank(stack(LimitedBank), alone, parts=2).quadratic_forms(np.ones(15))


def test_an_executor_that_is_shut_down(client) -> None:
    shut = client.get_executor(pure=False)
    sharded = ShardedBank(stack(), shut, parts=2)
    shut.shutdown()
    with pytest.raises(ExecutorFailed, match="`executor` takes no tasks"):
        sharded.quadratic_forms(np.ones(15))
