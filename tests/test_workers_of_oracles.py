"""Scenarios and relaxed problems done by the workers of an executor: the same bits, whoever does them."""

import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_all_start_methods, get_context

import numpy as np
import pytest
from test_benders import KINDS, capacities
from worker_parts import Counting, knapsack, wrong_answer

from oracle_opt import Box, FunctionOracle, InvalidArgument, InvalidCut, ObjectiveCut, Query, minimize
from oracle_opt.executors import successive
from oracle_opt.generators import Kelley, ProximalBundle
from oracle_opt.oracles import GramBank, ShardedBank
from oracle_opt.oracles.benders import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.lagrangian import GeneralizedAssignmentOracle, LagrangianOracle, MulticommodityFlowOracle
from oracle_opt.study import Study


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        yield executor


def content(cut):
    """All bits of a cut."""
    if isinstance(cut, ObjectiveCut):
        numbers = [cut.value, cut.error, cut.lower_bound, cut.subgradient]
        return [np.array(one).tobytes() for one in numbers] + [content(one) for one in cut.summands]
    numbers = [cut.violation, cut.error, cut.normal]
    return [np.array(one).tobytes() for one in numbers] + [content(one) for one in cut.further]


def test_successive_parts_are_all_there_is() -> None:
    assert successive(7, 3) == [(0, 2), (2, 4), (4, 7)]
    assert successive(2, 8) == [(0, 1), (1, 2)]
    assert successive(0, 8) == []


@pytest.mark.skipif("fork" not in get_all_start_methods(), reason="no fork")
def test_an_executor_that_forks_is_refused_before_it_forks(tmp_path) -> None:
    problem, square = capacities(("rhs",), 20.0), FunctionOracle(lambda z: (z @ z, 2 * z), Box(-np.ones(2), np.ones(2)))
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as executor:
        for use in (
            lambda: BendersOracle(problem, executor=executor),
            lambda: ShardedBank(GramBank(np.ones((2, 3, 3))), executor),
            lambda: Study({"square": square}, ["kelley"]).run(tmp_path, executor),
        ):
            with pytest.raises(InvalidArgument, match=r"`executor` must not fork .*ProcessPoolExecutor\(mp_context="):
                use()
        assert not executor._processes


POINTS = [np.array(x) for x in ([5.0, 6.0, 7.0], [8.0, 2.0, 0.5], [0.0, 0.0, 0.0], [5.0, 6.0, 7.0])]


@pytest.mark.campaign(8)
@pytest.mark.parametrize("n_summands", [1, 4])
@pytest.mark.parametrize("penalty", [20.0, None], ids=["complete", "incomplete"])
@pytest.mark.parametrize("vary", KINDS[1:], ids="+".join)
def test_scenarios_by_workers(vary, penalty, n_summands, processes) -> None:
    problem = capacities(vary, penalty)

    def answers(executor=None, parts=3):
        oracle = BendersOracle(problem, n_summands=n_summands, executor=executor, parts=parts)
        return [oracle.query(Query(x)) for x in POINTS]

    expected = answers()
    bits = [content(cut) for cut in expected]
    assert bits[0] == bits[3]  # whatever was asked before
    with ThreadPoolExecutor(3) as executor:
        assert [content(cut) for cut in answers(executor)] == bits
    assert [content(cut) for cut in answers(processes)] == bits
    for one, known, many in zip(expected, answers(parts=None), answers(parts=10**6), strict=True):
        for other in (known, many):
            assert type(one) is type(other)
            if isinstance(one, ObjectiveCut):
                assert max(one.value, other.value) <= min(one.upper, other.upper)  # f is in both intervals
                assert one.value == pytest.approx(other.value, rel=1e-9)
                assert len(one.summands) == len(other.summands)
                for part, same in zip(one.summands, other.summands, strict=True):
                    assert max(part.value, same.value) <= min(part.upper, same.upper)


@pytest.mark.parametrize("vary", [("rhs", "technology"), ("rhs", "cost")], ids="+".join)
def test_runs_with_scenarios_by_workers(vary, processes) -> None:
    problem = capacities(vary, None)
    known = minimize(BendersOracle(problem), Kelley(), rtol=1e-9)
    one, two = (
        minimize(BendersOracle(problem, executor=executor, parts=4), Kelley(), rtol=1e-9)
        for executor in (None, processes)
    )
    assert one.success
    assert one.point.tobytes() == two.point.tobytes()
    assert (one.lower_bound, one.upper_bound, one.n_calls) == (two.lower_bound, two.upper_bound, two.n_calls)
    assert one.lower_bound <= known.upper_bound
    assert known.lower_bound <= one.upper_bound
    assert BendersOracle(problem, executor=processes).identity() == BendersOracle(problem).identity()


def test_many_infeasible_scenarios_give_fifty_cuts_at_most() -> None:
    demand = RandomBlock(np.full(200, 0.005), rows=[0], rhs=np.linspace(1.0, 2.0, 200)[:, None])
    problem = TwoStageProblem([1.0], [0.0], [[1.0]], [[1.0]], [0.0], [np.inf], [demand], x_upper=3.0, y_upper=0.5)
    cut = BendersOracle(problem, parts=150).query(Query(np.zeros(1)))
    assert len(cut.further) == 49
    assert cut.violation == pytest.approx(1.5, rel=1e-6) or cut.violation <= 1.5


def test_sampled_scenarios_are_drawn_by_each_worker() -> None:
    blocks = [RandomBlock(np.full(50, 0.02), rows=[i], rhs=np.arange(50.0)[:, None]) for i in range(2)]
    problem = TwoStageProblem([1.0], [9.0, 9.0], [[1.0], [1.0]], np.eye(2), [0.0, 0.0], np.inf, blocks, x_upper=60.0)
    executor = Counting()
    cut = BendersOracle(problem, n_samples=20_000, executor=executor, parts=4).query(Query(np.array([20.0])))
    assert content(cut) == content(BendersOracle(problem, n_samples=20_000, parts=4).query(Query(cut.point)))
    assert max(executor.down) <= 3000
    assert max(executor.up) <= 3000 + 5000  # sums, some dual vectors, and a byte a scenario that says which is its


def test_what_a_worker_refuses_is_refused_here(processes) -> None:
    down = TwoStageProblem([1.0], [-1.0], [[1.0]], [[1.0]], [0.0], [np.inf], x_upper=1.0)
    with pytest.raises(InvalidArgument, match="must have a bounded second stage") as raised:
        BendersOracle(down, executor=processes).query(Query(np.zeros(1)))
    assert "in task 1 of 1, done by a worker" in raised.value.__notes__[0]
    with pytest.raises(InvalidArgument, match="`parts` must be a whole number of at least 1"):
        BendersOracle(down, parts=0)


def assignment(**options):
    rng = np.random.default_rng(0)
    costs, uses = rng.uniform(1, 9, (5, 12)), rng.integers(1, 9, (5, 12))
    return GeneralizedAssignmentOracle(costs, uses, np.full(5, 15), **options)


def flows(**options):
    rng = np.random.default_rng(1)
    arcs = np.array(
        [(i, j) for i in range(9) for j in range(9) if i != j and rng.random() < 0.6]
        + [(i, (i + 1) % 9) for i in range(9)]
    )
    commodities = np.array([(i, (i + k) % 9) for i in range(7) for k in (2, 5)])
    costs, demands = rng.uniform(1, 5, len(arcs)), rng.uniform(0.1, 2.0, len(commodities))
    capacities = np.where(rng.random(len(arcs)) < 0.7, 1.5, np.inf)
    return MulticommodityFlowOracle(arcs, costs, capacities, commodities, demands, **options)


def knapsacks(**options):
    return LagrangianOracle(
        [partial(knapsack, seed) for seed in range(5)], np.full(3, 4.0), inequality=True, maximize=True, **options
    )


RELAXED = {
    "assignment": assignment,
    "assignment, a summand each": partial(assignment, multicut=True),
    "largest": partial(assignment, maximize=True),
    "flows": flows,
    "flows, a summand each": partial(flows, multicut=True),
    "functions": knapsacks,
}


@pytest.mark.parametrize("name", RELAXED)
def test_relaxed_problems_by_workers(name, processes) -> None:
    make = RELAXED[name]

    def run(**options):
        return minimize(make(**options), ProximalBundle(), max_calls=12, keep_cuts=True)

    expected = run()
    bits = [content(cut) for cut in expected.history.cuts]
    assert len(bits) == expected.n_calls > 3
    for workers in (1, 3):
        with ThreadPoolExecutor(workers) as executor:
            assert [content(cut) for cut in run(executor=executor, parts=workers + 1).history.cuts] == bits
    found = run(executor=processes, parts=3)
    assert [content(cut) for cut in found.history.cuts] == bits
    one, other = expected.history.cuts[2], found.history.cuts[2]
    for part, same in zip(one.summands or (one,), other.summands or (other,), strict=True):
        assert set(part.extras) == set(same.extras)
        assert all(np.array_equal(part.extras[key], same.extras[key]) for key in part.extras)
    assert make(executor=processes).identity() == make().identity()


def test_functions_are_the_summands_of_one_function() -> None:
    functions = [partial(knapsack, seed) for seed in range(5)]
    options = {"inequality": True, "maximize": True}
    whole = LagrangianOracle(lambda u: [one(u) for one in functions], np.full(3, 4.0), name="all", **options)
    apart = LagrangianOracle(functions, np.full(3, 4.0), name="all", **options)
    for u in (np.zeros(3), np.array([0.1, 2.0, 0.7])):
        assert content(whole.query(Query(u))) == content(apart.query(Query(u)))
    assert len(apart.query(Query(np.ones(3))).summands) == 5


def test_what_is_sent_of_relaxed_problems() -> None:
    executor, dense = Counting(), assignment()
    assignment(executor=executor, parts=2).query(Query(dense.domain.interior_point()))
    assert max(executor.down) <= 8 * 12 + 500
    assert max(executor.up) <= 3 * 12 + 400  # a byte for each job of an agent
    executor = Counting()
    oracle = flows(executor=executor, parts=2)
    oracle.query(Query(oracle.domain.interior_point()))
    assert max(executor.up) <= 24 * 4 * 8 + 1500  # trees, not all arcs of each origin


def test_relaxed_problems_that_cannot_be_shared_out(processes) -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(InvalidArgument, match="`executor` has nothing to share out"):
        LagrangianOracle(partial(knapsack, 0), np.ones(3), executor=executor)
    with pytest.raises(InvalidArgument, match=r"`solve\[1\]` must be a function of the multipliers"):
        LagrangianOracle([partial(knapsack, 0), 3], np.ones(3))
    with pytest.raises(InvalidArgument, match=r"`solve` must be a function of the multipliers .* or a sequence"):
        LagrangianOracle([], np.ones(3))
    lock = threading.Lock()
    with pytest.raises(InvalidArgument, match=r"`solve` cannot be sent to another process .*ThreadPoolExecutor"):
        LagrangianOracle([lambda u: lock] * 2, np.ones(3), executor=processes)
    with pytest.raises(InvalidCut, match="`solve` must return a RelaxedSolution"):
        LagrangianOracle([wrong_answer] * 2, np.ones(3), executor=processes).query(Query(np.zeros(3)))
