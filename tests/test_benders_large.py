"""Second stages that are too large for inverses of their bases: HiGHS solves each scenario from its last basis."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from test_benders_first import made, optimum
from test_time_blocks import whole

from oracle_opt import FeasibilityCut, InvalidArgument, ObjectiveCut, Query, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import dual_simplex, scenario_servers
from oracle_opt.oracles.benders.second_stage import with_implied_bounds

KINDS = ("complete", "costs", "matrices", "one scenario", "tight")


@pytest.fixture
def large(monkeypatch):
    """All second stages count as large."""
    monkeypatch.setattr(dual_simplex, "LARGEST", 0)


def dispatch(seed, count=6, periods=40):
    """Plants to build, and a store that links the periods: free flows, rows of one variable, equations, shedding."""
    rng = np.random.default_rng(seed)
    unit = float(10.0 ** rng.integers(-3, 4))
    eye, none = np.eye(periods), np.zeros((periods, periods))
    shift = eye - np.eye(periods, k=-1)
    # y = generation of two plants, the store's net flow (free), its level, what is shed
    W = np.vstack(
        [
            np.hstack([eye, eye, -eye, none, eye]),  # balance
            np.hstack([none, none, eye, -shift, none]),  # level
            np.hstack([eye, none, none, none, none]),
            np.hstack([none, eye, none, none, none]),
            np.hstack([none, none, none, eye, none]),
            np.hstack([none, 2.0 * eye, none, none, none]),  # one variable, a power of 2
            np.hstack([3.0 * eye, none, none, none, none]),  # one variable, another number
        ]
    )
    T = np.zeros((7 * periods, 3))
    for i in range(3):
        T[(2 + i) * periods : (3 + i) * periods, i] = -rng.uniform(0.2, 1.0, periods) if i == 1 else -1.0
    demand = unit * rng.uniform(0.5, 2.0, (count, periods))
    inf = np.full(periods, np.inf)
    lower = np.r_[demand[0], np.zeros(periods), np.full(5 * periods, -np.inf)]
    upper = np.r_[demand[0], np.zeros(4 * periods), unit * np.r_[8.0 * inf, 30.0 * np.ones(periods)][-2 * periods :]]
    upper[5 * periods : 6 * periods] = 5.0 * unit
    cost = np.r_[rng.uniform(1.0, 2.0, periods), np.zeros(3 * periods), np.full(periods, 50.0)]
    return TwoStageProblem(
        [10.0, 25.0, 1.0],
        cost,
        T,
        W,
        lower,
        upper,
        [RandomBlock(np.full(count, 1.0 / count), rows=np.arange(periods), rhs=demand)],
        y_lower=np.r_[np.zeros(2 * periods), -inf, np.zeros(2 * periods)],
        y_upper=np.inf,
        x_upper=4.0 * unit,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_those_of_vertices(kind, seed, monkeypatch):
    problem = made(kind, seed)
    small = BendersOracle(problem)
    with monkeypatch.context() as changed:
        changed.setattr(dual_simplex, "LARGEST", 0)
        oracle = BendersOracle(problem)
        rng = np.random.default_rng(seed)
        least, most = (np.asarray(side) for side in oracle.domain.bounding_box())
        for _ in range(4):
            x = oracle.domain.project(rng.uniform(np.maximum(least, -20.0), np.minimum(most, 20.0)))
            cut, other = oracle.query(Query(x)), small.query(Query(x))
            assert type(cut) is type(other)
            if isinstance(cut, ObjectiveCut):
                size = 1e-8 * (1.0 + abs(other.value))
                assert cut.value <= other.upper + 1e-12 * abs(other.value)
                assert other.value - size <= cut.upper <= other.value + size + cut.error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_runs_are_proven(kind, seed, large):
    problem = made(kind, seed)
    oracle = BendersOracle(problem)
    result = minimize(oracle, Kelley(), rtol=1e-7)
    best = optimum(problem)
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= best + 1e-9 * (1.0 + abs(best))
    assert result.upper_bound == pytest.approx(best, rel=2e-7, abs=1e-9)
    verdict = result.certificate().verify(oracle)
    assert verdict.n_proven == verdict.n_cuts
    assert verdict.proven or kind == "tight"  # the value at an edge of what is feasible may be given


@pytest.mark.parametrize("seed", range(4))
def test_a_dispatch_of_many_periods_is_proven(seed):
    problem = dispatch(seed, periods=45)
    assert problem.W.shape[0] > dual_simplex.LARGEST
    oracle = BendersOracle(problem)
    result = minimize(oracle, AnalyticCenter(), rtol=1e-6)
    best = optimum(problem)
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= best * (1.0 + 1e-9) <= result.upper_bound + 2e-9 * best
    assert result.upper_bound == pytest.approx(best, rel=2e-6)
    assert result.certificate().verify(oracle).proven
    frame = oracle.second_stage(result).frame()
    assert frame["dual"].to_numpy().shape == (6, problem.W.shape[0])
    least, most = oracle.second_stage(result).expected_bounds
    assert least <= result.upper_bound * (1.0 + 1e-9)
    assert most >= result.lower_bound * (1.0 - 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_implied_bounds_hold_for_every_point(seed, large):
    """Of random points of the second stage: feasible with sides made around them."""
    problem = dispatch(seed, periods=5)
    rng = np.random.default_rng(seed)
    box = problem.x_lower, problem.x_upper
    bounded = with_implied_bounds(problem, box)
    kept = np.isfinite(bounded.row_lower) | np.isfinite(bounded.row_upper)
    assert not kept[25:30].any()
    assert kept[30:35].all()  # only what a division does not round becomes a bound
    assert np.isfinite(bounded.y_lower).all()
    outcomes, _ = problem.all_scenarios()
    checked = 0
    for outcome in outcomes:
        for _ in range(5):
            x = rng.uniform(*box)
            moved = problem.blocks[0].rhs[outcome[0]]
            low, high = problem.row_lower - problem.T @ x, problem.row_upper - problem.T @ x
            low[:5], high[:5] = moved, moved
            equal = low == high
            W = sparse.csr_array(problem.W)
            found = linprog(
                rng.normal(size=problem.q.size) + problem.q, W[~equal], high[~equal], W[equal], high[equal],
                bounds=np.c_[problem.y_lower, problem.y_upper],
            )  # fmt: skip
            if found.status == 0:
                checked += 1
                off = 1e-7 * (1.0 + np.abs(found.x))
                assert (found.x >= bounded.y_lower - off).all()
                assert (found.x <= bounded.y_upper + off).all()
    assert checked


def test_infeasible_scenarios_make_half_spaces(large):
    problem = made("tight", 1)
    oracle = BendersOracle(problem)
    cut = oracle.query(Query(np.zeros(2)))
    assert isinstance(cut, FeasibilityCut)
    result = minimize(oracle, Kelley(), rtol=1e-7)
    assert cut.violation + cut.normal @ (result.point - cut.point) <= 1e-9


def test_vertices_of_large_second_stages_are_not_taken(large):
    oracle = BendersOracle(made("complete", 0))
    oracle.query(Query(oracle.domain.interior_point()))
    with pytest.raises(InvalidArgument, match="`warm` takes dual vertices, which are kept of second stages of at most"):
        BendersOracle(made("complete", 0), warm=oracle)
    with pytest.raises(InvalidArgument, match="`cuts` can be shifted"):
        oracle.shifted([oracle.query(Query(oracle.domain.interior_point()))])


@pytest.mark.parametrize("sections", [False, True])
def test_bases_travel_with_tasks(sections, monkeypatch):
    """Who does a task moves no bit, and a task begins at the bases that the last one of its scenarios ended with."""
    if sections:
        monkeypatch.setattr(dual_simplex, "LARGEST", 0)
        problem = TwoStageProblem.from_blocks(*whole(1))
    else:
        problem = dispatch(0, periods=45)
    best = minimize(BendersOracle(problem), Kelley(), rtol=1e-3).point
    begun = []
    real = scenario_servers.Warm.unpack
    monkeypatch.setattr(
        scenario_servers.Warm, "unpack", lambda self, bases: (begun.append(len(bases)), real(self, bases))[1]
    )
    found = []
    for workers in (1, 3):
        with ThreadPoolExecutor(workers) as pool:
            oracle = BendersOracle(problem, executor=pool, parts=3)
            rng, cuts = np.random.default_rng(0), []
            for _ in range(4):
                cuts.append(oracle.query(Query(oracle.domain.project(best * rng.uniform(1.0, 1.01, len(best))))))
            found.append(cuts)
    tasks = len(begun) // 8
    assert not any(begun[:tasks])
    assert any(begun[tasks:])
    for one, other in zip(*found, strict=True):
        assert type(one) is type(other)
        if isinstance(one, ObjectiveCut):
            assert one.value == other.value
            assert (one.subgradient == other.subgradient).all()


def test_rows_become_bounds_where_division_is_exact(large):
    """A side so small, or an entry so large, that the bound is rounded leaves the row a row."""
    sides = np.array([3.0, 5e-324, 1e19, np.inf, -6.0])
    entries = np.array([2.0, 2.0, 2.0**-1000, 1.0, -2.0])
    problem = TwoStageProblem(
        [1.0], np.ones(5), sparse.csr_array((5, 1)), sparse.diags_array(entries), -np.inf, sides, x_upper=1.0
    )
    made = with_implied_bounds(problem, (problem.x_lower, problem.x_upper))
    assert made.y_upper[0] == 1.5
    assert made.y_lower[4] == 3.0
    assert np.isinf(made.row_upper).tolist() == [True, False, False, True, True]
