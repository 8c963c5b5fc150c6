"""Linear programs cut into blocks: the split has the minimum of the whole, and sections are proven."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from test_benders_first import optimum

from oracle_opt import FeasibilityCut, InvalidArgument, ObjectiveCut, Query, Status, minimize
from oracle_opt.errors import OracleOptError, Refuted
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, choose_generator
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import dual_simplex
from oracle_opt.oracles.benders.recourse import DualVertex
from oracle_opt.proof.claim import ClaimKind, CutClaim


def whole(seed, blocks=4, periods=5):
    """A plant and a store over all periods: levels that link them, also the last to the first, and limits in all."""
    rng = np.random.default_rng(seed)
    unit, count = float(10.0 ** rng.integers(-2, 4)), blocks * periods
    eye, none = np.eye(count), np.zeros((count, count))
    link = eye - 0.95 * np.roll(np.eye(count), -1, axis=1).T if seed % 2 else eye - 0.95 * np.eye(count, k=-1)
    demand = unit * rng.uniform(0.5, 2.0, count)
    # capacity, level's capacity, then generation, flow out of the store, its level, what is bought
    balance = np.hstack([np.zeros((count, 2)), eye, eye, none, eye])
    level = np.hstack([np.zeros((count, 2)), none, eye, link, none])
    plant = np.hstack([-np.ones((count, 1)), np.zeros((count, 1)), eye, none, none, none])
    room = np.hstack([np.zeros((count, 1)), -np.ones((count, 1)), none, none, eye, none])
    fuel = np.r_[0.0, 0.0, np.ones(count), np.zeros(3 * count)][None]
    share = np.r_[1.0, 0.0, np.zeros(3 * count), np.ones(count)][None]  # holds a first-stage variable, too
    ends = np.r_[0.0, 0.0, np.zeros(count), rng.uniform(-1.0, 1.0, count), np.zeros(2 * count)][None]
    matrix = np.vstack([balance, level, plant, room, fuel, share, ends])
    lower = np.r_[demand, np.zeros(count), np.full(2 * count, -np.inf), -np.inf, 0.1 * demand.sum(), -0.2 * unit]
    upper = np.r_[demand, np.zeros(count), np.zeros(2 * count), 0.6 * demand.sum(), np.inf, 0.4 * unit]
    cost = np.r_[3.0, 0.5, rng.uniform(0.1, 1.0, count), np.zeros(2 * count), rng.uniform(2.0, 5.0, count)]
    low = np.r_[0.0, 0.0, np.zeros(count), np.full(count, -unit), np.zeros(2 * count)]
    high = np.r_[5.0 * unit, 10.0 * unit, np.full(4 * count, np.inf)]
    of = np.r_[-1, -1, np.tile(np.repeat(np.arange(blocks), periods), 4)]
    return cost, matrix, lower, upper, low, high, of


def least(cost, matrix, lower, upper, low, high):
    """The minimum of the whole, by scipy."""
    equal, above, below = lower == upper, np.isfinite(upper) & (lower != upper), np.isfinite(lower) & (lower != upper)
    rows, sides = np.vstack([matrix[above], -matrix[below]]), np.r_[upper[above], -lower[below]]
    found = linprog(cost, rows, sides, matrix[equal], upper[equal], bounds=np.c_[low, high])
    assert found.status == 0
    return found.fun


@pytest.fixture(params=[None, 0], ids=["vertices", "large"])
def size(request, monkeypatch):
    """Whether sections count as large."""
    if request.param is not None:
        monkeypatch.setattr(dual_simplex, "LARGEST", request.param)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_by_a_split(seed):
    *program, of = whole(seed)
    problem = TwoStageProblem.from_blocks(*program, of)
    assert optimum(problem) == pytest.approx(least(*program), rel=1e-7)
    assert len(problem.sections) == 4


@pytest.mark.campaign(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("generator", [Kelley(), AnalyticCenter(), LevelSet(interior=True)], ids=str)
def test_runs_over_sections_are_proven(seed, generator, size):
    *program, of = whole(seed)
    oracle = BendersOracle(TwoStageProblem.from_blocks(*program, of))
    result = minimize(oracle, generator, rtol=1e-5)
    best = least(*program)
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= best * (1.0 + 1e-9)
    assert best * (1.0 - 1e-7) <= result.upper_bound <= best * (1.0 + 2e-5)
    verdict = result.certificate().verify(oracle)
    assert verdict.n_proven == verdict.n_cuts


@pytest.mark.parametrize("seed", range(4))
def test_a_section_is_a_summand(seed, size):
    *program, of = whole(seed)
    problem = TwoStageProblem.from_blocks(*program, of)
    oracle, single = BendersOracle(problem), BendersOracle(problem, n_summands=1)
    assert (oracle.n_summands, single.n_summands) == (4, 1)
    result = minimize(oracle, Kelley(), rtol=1e-6)
    cut, other = oracle.query(Query(result.point)), single.query(Query(result.point))
    assert isinstance(cut, ObjectiveCut)
    assert other.value == pytest.approx(cut.value, rel=1e-9)
    assert sum(one.value for one in cut.summands) == pytest.approx(cut.value, rel=1e-9)
    with ThreadPoolExecutor(2) as pool:
        shared = BendersOracle(problem, executor=pool, parts=3).query(Query(result.point))
    assert shared.value == pytest.approx(cut.value, rel=1e-9)
    for j, one in enumerate(cut.summands):
        slope, constant = one.subgradient, one.value - one.subgradient @ cut.point
        claim = CutClaim(ClaimKind.SUMMAND, constant, slope, j, 4, witness=one.extras)
        reach = abs(constant) + np.abs(slope) @ np.abs(np.asarray(oracle.domain.bounding_box())).max(axis=0)
        assert float(oracle.prove_cut(claim)) <= 1e-9 * reach
        wrong = CutClaim(ClaimKind.SUMMAND, constant + 1e-3 * reach, slope, j, 4, witness=one.extras)
        assert float(oracle.prove_cut(wrong)) >= 0.9e-3 * reach
        with pytest.raises(Refuted):
            oracle.prove_cut(CutClaim(ClaimKind.SUMMAND, constant, slope, j, 3, witness=one.extras))


@pytest.mark.parametrize("count", [2, 4])
def test_sections_of_scenarios(count, size):
    """Each section of each scenario is a summand, or scenarios are, where fewer are wanted."""
    *program, of = whole(1)
    problem = TwoStageProblem.from_blocks(*program, of)
    rng = np.random.default_rng(count)
    rows = np.array([i for i, name in enumerate(problem.row_names) if name in {f"row{j}" for j in range(20)}])
    costs = np.arange(problem.q.size)[problem.q > 0]
    block = RandomBlock(
        rng.dirichlet(np.ones(count)),
        rows=rows,
        rhs=problem.rhs[rows] * rng.uniform(0.8, 1.1, (count, len(rows))),
        cost_columns=costs,
        cost=problem.q[costs] * rng.uniform(0.8, 1.2, (count, len(costs))),
    )
    problem.blocks = (block,)
    best = optimum(problem)
    for wanted, made in ((None, 4 * count), (3, min(3, count))):
        oracle = BendersOracle(problem, n_summands=wanted)
        assert oracle.n_summands == made
        result = minimize(oracle, Kelley(), rtol=1e-6)
        assert result.status is Status.CONVERGED
        assert result.lower_bound <= best * (1.0 + 1e-9)
        assert result.upper_bound == pytest.approx(best, rel=2e-6)
        verdict = result.certificate().verify(oracle)
        assert verdict.n_proven == verdict.n_cuts


@pytest.mark.parametrize("seed", [1, 11, 14])
def test_capacities_without_end_are_no_obstacle(seed, size):
    """Points at the radius of 1e6 miss half-spaces by their last digits: none ends a run, and none is asked again."""
    cost, matrix, lower, upper, low, high, of = whole(seed, periods=6)
    high[:2] = np.inf
    best = least(cost, matrix, lower, upper, low, high)
    for generator in (Kelley(), ProximalBundle(), LevelSet(interior=True)):
        oracle = BendersOracle(TwoStageProblem.from_blocks(cost, matrix, lower, upper, low, high, of))
        result = minimize(oracle, generator, rtol=1e-5, first=False)
        assert result.status is Status.CONVERGED
        assert result.lower_bound <= best * (1.0 + 1e-9)
        assert best * (1.0 - 1e-7) <= result.upper_bound <= best * (1.0 + 2e-5)


@pytest.mark.parametrize("largest", [1e3, 1e6])
def test_what_is_missed_by_rounding_is_priced_and_no_more(largest, size):
    """One row, ``y <= x_0 - x_1`` with y at least 1: by what the terms of x leave open there is a second stage."""
    problem = TwoStageProblem.from_blocks(
        [1.0, 0.0, 2.0], [[-1.0, 1.0, 1.0]], -np.inf, 0.0, [0.0, 0.0, 1.0], [np.inf, np.inf, 9.0], [-1, -1, 0]
    )
    terms = 1.0 + 2.0 * largest
    for missed, kind in ((1e-9, ObjectiveCut), (1e-8 + 1e-10 * terms, ObjectiveCut), (1e-3 * terms, FeasibilityCut)):
        cut = BendersOracle(problem).query(Query(np.array([largest, largest - 1.0 + missed])))
        assert isinstance(cut, kind)
        if kind is ObjectiveCut:
            assert cut.value <= largest + 2.0 <= cut.value + cut.error
            assert cut.error <= 1e-4 * terms


def test_what_no_ray_proves_names_block_and_row(size, monkeypatch):
    """Rays that HiGHS gives, and that of the least violation, are made worthless; block 1 has no row."""
    real = DualVertex.values
    monkeypatch.setattr(DualVertex, "values", lambda self, *sides: real(self, *sides) - 1e9)
    rows, high = [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]], [1.0, 9.0, 9.0, 2.0]
    problem = TwoStageProblem.from_blocks(np.ones(4), rows, [1.0, 5.0], np.inf, 0.0, high, [-1, 0, 1, 2])
    for parts in (None, 2):
        with pytest.raises(OracleOptError, match=r"scenario 0 of block 2 at this x .* row 'row1'"):
            BendersOracle(problem, parts=parts).query(Query(np.zeros(1)))


@pytest.mark.parametrize(("seed", "parts"), [(0, None), (1, 2)])
def test_blocks_without_rows_cost_what_they_cost(seed, parts, size):
    """Variables that no row has, in blocks of their own before, between and behind the others; failures name these."""
    cost, matrix, lower, upper, low, high, of = whole(seed, blocks=3)
    rng, n = np.random.default_rng(seed), 4
    cost, matrix = np.r_[cost, rng.normal(size=n)], np.c_[matrix, np.zeros((len(matrix), n))]
    low, high = np.r_[low, rng.uniform(-2, 0, n)], np.r_[high, rng.uniform(1, 2, n)]
    of = np.r_[np.where(of < 0, -1, 2 * of + 1), 0, 2, 4, 6]
    problem = TwoStageProblem.from_blocks(cost, matrix, lower, upper, low, high, of)
    assert problem.sections.numbers.tolist() == [1, 3, 5]
    oracle, best = BendersOracle(problem, parts=parts), least(cost, matrix, lower, upper, low, high)
    for first in ("auto", False):
        result = minimize(oracle, Kelley(), rtol=1e-6, first=first)
        assert result.status is Status.CONVERGED
        assert result.lower_bound - 1e-9 * abs(best) <= best <= result.upper_bound + 1e-9 * abs(best)
    verdict = result.certificate().verify(oracle)
    assert verdict.n_proven == verdict.n_cuts
    assert oracle.second_stage(result).expected_cost == pytest.approx(best, rel=2e-6)


def test_half_spaces_of_sections_are_proven(size):
    """Without what is bought a section may have no second stage; its ray is one of its own rows."""
    cost, matrix, lower, upper, low, high, of = whole(0)
    high[-20:] = 0.0
    lower[-2] = -np.inf  # the share that was to be bought
    upper[-3] = np.inf
    high[0] = 100.0 * high[0]
    oracle = BendersOracle(TwoStageProblem.from_blocks(cost, matrix, lower, upper, low, high, of))
    cut = oracle.query(Query(oracle.domain.project(np.zeros(oracle.domain.dimension))))
    assert isinstance(cut, FeasibilityCut)
    assert 0 <= cut.extras["section"] < 4
    result = minimize(oracle, Kelley(), rtol=1e-6)
    best = least(cost, matrix, lower, upper, low, high)
    assert result.upper_bound == pytest.approx(best, rel=2e-6)
    verdict = result.certificate().verify(oracle)
    assert verdict.n_proven == verdict.n_cuts
    for one in (cut, *cut.further):
        assert one.violation + one.normal @ (result.point - one.point) <= 1e-7 * np.abs(one.normal).sum()


def test_one_call_first_for_the_whole():
    *program, of = whole(2)
    result = minimize(BendersOracle(TwoStageProblem.from_blocks(*program, of)))
    assert result.n_calls == 1
    assert result.success
    assert result.upper_bound == pytest.approx(least(*program), rel=1e-6)


def test_large_second_stages_get_analytic_centers():
    *program, of = whole(0, blocks=8, periods=14)
    program[5][:2] = np.inf
    oracle, best = BendersOracle(TwoStageProblem.from_blocks(*program, of)), least(*program)
    assert oracle.costly
    assert isinstance(choose_generator(oracle), AnalyticCenter)
    result = minimize(oracle, rtol=1e-3, first=False)
    assert result.status is Status.CONVERGED
    assert result.n_calls < 40
    assert result.lower_bound <= best * (1.0 + 1e-9) <= result.upper_bound * (1.0 + 1e-7)


def test_second_stages_over_sections():
    *program, of = whole(3)
    oracle = BendersOracle(TwoStageProblem.from_blocks(*program, of))
    result = minimize(oracle, Kelley(), rtol=1e-7)
    found = oracle.second_stage(result)
    assert found.expected_cost == pytest.approx(least(*program), rel=2e-7)


def test_models_of_linopy_are_cut_along_a_dimension():
    linopy = pytest.importorskip("linopy", reason="linopy is not installed: pip install 'oracle-opt[modeling]'")
    import pandas as pd

    rng = np.random.default_rng(0)
    hour, plant = pd.RangeIndex(12, name="hour"), pd.Index(["gas", "sun"], name="plant")
    model = linopy.Model()
    built = model.add_variables(lower=0, upper=9, coords=[plant], name="built")
    made = model.add_variables(lower=0, coords=[hour, plant], name="made")
    level = model.add_variables(lower=0, upper=3, coords=[hour], name="level")
    shed = model.add_variables(lower=0, coords=[hour], name="shed")
    extra = model.add_variables(lower=0, upper=1, name="extra")
    shape = pd.DataFrame({"gas": 1.0, "sun": rng.uniform(0, 1, 12)}, index=hour).rename_axis(columns="plant")
    model.add_constraints(made - built * shape <= 0, name="capacity")
    demand = pd.Series(rng.uniform(2, 4, 12), index=hour)
    model.add_constraints(made.sum("plant") + shed + level - level.roll(hour=1) >= demand, name="demand")
    model.add_constraints(made.sel(plant="gas").sum() - extra <= 14, name="fuel")
    model.add_objective((built * pd.Series([2.0, 4.0], plant)).sum() + 9 * shed.sum() + 0.3 * made.sum() + 5 * extra)
    problem = TwoStageProblem.from_linopy(model, ["built"], blocks="hour", size=4)
    assert len(problem.sections) == 3
    assert "extra" in problem.names
    assert any(name.startswith("fuel of block") for name in problem.names)
    plain = TwoStageProblem.from_linopy(model, ["built"])
    assert optimum(problem) == pytest.approx(optimum(plain), rel=1e-8)
    result = minimize(BendersOracle(problem), AnalyticCenter(), rtol=1e-6)
    assert result.upper_bound == pytest.approx(optimum(plain), rel=2e-6)
    for wrong, message in (("day", "`blocks` must be a dimension"), ("", "`blocks`")):
        with pytest.raises(InvalidArgument, match=message):
            TwoStageProblem.from_linopy(model, ["built"], blocks=wrong)
    with pytest.raises(InvalidArgument, match="`size`"):
        TwoStageProblem.from_linopy(model, ["built"], blocks="hour", size=0)


def test_what_cannot_be_sections_is_refused():
    W = [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    arguments = [1.0], [1.0, 1.0, 1.0], sparse.csr_array((2, 1)), W, [1.0, 1.0], np.inf
    for sections, message in (
        ([0, 1, 1], "'row0' has variables of 0 and 1"),
        ([0, 0, 2], "number 1 has none"),
        ([0, 0], "3 whole numbers"),
        ([0, 0, -1], "3 whole numbers"),
        ([0, 0, 0.5], "3 whole numbers"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            TwoStageProblem(*arguments, sections=sections)
    with pytest.raises(InvalidArgument, match="`blocks` must be 2 whole numbers"):
        TwoStageProblem.from_blocks([1.0, 1.0], [[1.0, 1.0]], 0.0, 1.0, 0.0, 1.0, blocks=[-1, -1])
    with pytest.raises(InvalidArgument, match="`cost` must be 2 numbers"):
        TwoStageProblem.from_blocks([1.0], [[1.0, 1.0]], 0.0, 1.0, 0.0, 1.0, blocks=[0, 1])
