"""Random two-stage programs with rows of every sense in both stages, against one linear program over all scenarios."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.stats import norm

from oracle_opt import InvalidArgument, Query, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem

N, K = 4, 9  # variables of the first and second stage


def sides(rng, at, kinds):
    """Rows that hold at ``at``: at most, at least, equal, or within a range."""
    slack, width = rng.uniform(0.0, 1.0, len(at)), rng.uniform(0.5, 2.0, len(at))
    lower = np.select([kinds == "<=", kinds == "="], [-np.inf, at], at - slack)
    upper = np.select([kinds == ">=", kinds == "=", kinds == "range"], [np.inf, at, at - slack + width], at + slack)
    return lower, upper


def random_program(seed, vary):
    """Feasible for every x of the first stage: the last columns of W, at a penalty, move each row up and down."""
    rng = np.random.default_rng(seed)
    senses = np.array(["<=", ">=", "=", "range"])
    A, inside = rng.normal(size=(4, N)), rng.uniform(0.5, 1.5, N)
    first_lower, first_upper = sides(rng, A @ inside, rng.permutation(senses))
    m = 4
    T, W = rng.normal(size=(m, N)), np.hstack([rng.normal(size=(m, K - 2 * m)), np.eye(m), -np.eye(m)])
    row_lower, row_upper = sides(rng, T @ inside, rng.permutation(senses))
    blocks = []
    if "rhs" in vary:
        for rows in ([0, 2], [1, 3]):
            shares = rng.dirichlet(np.ones(3))
            blocks.append(RandomBlock(shares, rows=rows, rhs=rng.normal(size=(3, 2)), name=f"rows {rows}"))
    if "technology" in vary:
        entries = [[0, 0], [1, 3], [3, 1]]
        blocks.append(RandomBlock([0.25, 0.75], technology_entries=entries, technology=rng.normal(size=(2, 3))))
    if "cost" in vary:
        blocks.append(RandomBlock([0.6, 0.4], cost_columns=[0, 4], cost=rng.uniform(0.5, 3, (2, 2))))
    if "recourse" in vary:
        blocks.append(RandomBlock([0.5, 0.5], recourse_entries=[[0, 0], [2, 0]], recourse=rng.normal(size=(2, 2))))
    return TwoStageProblem(
        rng.normal(size=N),
        np.r_[rng.uniform(0.1, 1.0, K - 2 * m), rng.uniform(2, 6, 2 * m)],
        T,
        W,
        row_lower,
        row_upper,
        blocks,
        A=A,
        first_lower=first_lower,
        first_upper=first_upper,
        x_lower=-rng.uniform(0, 1, N),
        x_upper=rng.uniform(2, 3, N),
        y_upper=np.r_[rng.uniform(1, 3, K - 2 * m), np.full(2 * m, np.inf)],
        offset=rng.normal(),
    )


def scenario(problem, outcome):
    """T, W, q and the sides of the rows in one scenario: a random right-hand side moves both sides of its row."""
    T, W, q = problem.T.toarray(), problem.W.toarray(), problem.q.copy()
    lower, upper = problem.row_lower.copy(), problem.row_upper.copy()
    for block, o in zip(problem.blocks, outcome, strict=True):
        for i, value in zip(block.rows, block.rhs[o], strict=True):
            if np.isfinite(upper[i]):  # the side that is meant; a lower one goes along
                lower[i], upper[i] = lower[i] + value - upper[i], value
            else:
                lower[i] = value
        q[block.cost_columns] = block.cost[o]
        T[tuple(block.technology_entries.T)] = block.technology[o]
        W[tuple(block.recourse_entries.T)] = block.recourse[o]
    return T, W, q, lower, upper


def second_stage(problem, outcome, x):
    """Value of one scenario at x, by HiGHS."""
    T, W, q, lower, upper = scenario(problem, outcome)
    bounds = np.c_[problem.y_lower, problem.y_upper]
    done = milp(q, constraints=LinearConstraint(W, lower - T @ x, upper - T @ x), bounds=tuple(bounds.T))
    return done.fun


def extensive(problem):
    """Optimum of all scenarios together, by HiGHS."""
    outcomes, p = problem.all_scenarios()
    n_s = len(p)
    rows = [sparse.hstack([problem.A, sparse.csr_array((problem.A.shape[0], K * n_s))])]
    lower, upper, costs = [problem.first_lower], [problem.first_upper], [problem.c]
    for s, outcome in enumerate(outcomes):
        T, W, q, lo, up = scenario(problem, outcome)
        place = sparse.csr_array(([1.0], ([0], [s])), shape=(1, n_s))
        rows.append(sparse.hstack([sparse.csr_array(T), sparse.kron(place, W)]))
        lower, upper, costs = [*lower, lo], [*upper, up], [*costs, p[s] * q]
    constraint = LinearConstraint(sparse.vstack(rows).tocsr(), np.concatenate(lower), np.concatenate(upper))
    bounds = (
        np.r_[problem.x_lower, np.tile(problem.y_lower, n_s)],
        np.r_[problem.x_upper, np.tile(problem.y_upper, n_s)],
    )
    done = milp(np.concatenate(costs), constraints=constraint, bounds=bounds)
    assert done.status == 0
    return done.fun + problem.offset


VARY = [("rhs",), ("rhs", "technology"), ("rhs", "cost"), ("rhs", "recourse", "technology"), ()]


@pytest.mark.campaign(5)
@pytest.mark.parametrize("vary", VARY, ids=lambda vary: "+".join(vary) or "deterministic")
@pytest.mark.parametrize("seed", range(6))
def test_rows_of_every_sense_in_both_stages(vary, seed):
    problem = random_program(seed, vary)
    known = extensive(problem)
    generator, summands = ((Kelley(), 1), (LevelSet(), 1), (AnalyticCenter(), 2))[seed % 3]
    run = minimize(BendersOracle(problem, n_summands=summands), generator, rtol=1e-7, atol=1e-7, max_calls=400)
    assert run.status is Status.CONVERGED
    assert run.lower_bound <= known + 1e-7 * max(1.0, abs(known))
    assert run.upper_bound >= known - 1e-7 * max(1.0, abs(known))
    x = run.point
    rows = problem.A @ x
    assert (rows >= problem.first_lower - 1e-7).all()
    assert (rows <= problem.first_upper + 1e-7).all()


@pytest.mark.parametrize("vary", VARY[:4], ids="+".join)
def test_values_are_the_expectation_over_the_scenarios(vary):
    problem, rng = random_program(11, vary), np.random.default_rng(0)
    outcomes, p = problem.all_scenarios()
    for _ in range(3):
        x = rng.uniform(problem.x_lower, problem.x_upper)
        values = [second_stage(problem, outcome, x) for outcome in outcomes]
        cut = BendersOracle(problem, n_summands=3).query(Query(x))
        known = problem.c @ x + problem.offset + p @ values
        assert cut.value <= known + 1e-8
        assert cut.upper >= known - 1e-8
        assert cut.error <= 1e-6
        # summands: scenarios in order, in three groups; each with its share of the first stage
        groups = np.arange(len(p)) * 3 // len(p)
        for j, part in enumerate(cut.summands):
            mine = groups == j
            assert part.value == pytest.approx(p[mine] @ np.array(values)[mine] + p[mine].sum() * (known - p @ values))


@pytest.mark.parametrize("vary", [("rhs", "technology"), ("rhs", "cost")], ids="+".join)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_an_estimate_is_the_mean_of_its_draw_with_the_normal_interval(vary, level):
    problem, count = random_program(3, vary), 12
    x = 0.5 * (problem.x_lower + problem.x_upper)
    estimate = BendersOracle(problem).estimate(x, count, seed=5, level=level)
    outcomes, p = problem.sample(count, 5)
    assert p.tolist() == [1 / count] * count
    values = np.array([second_stage(problem, outcome, x) for outcome in outcomes])
    values += problem.c @ x + problem.offset
    assert estimate.mean == pytest.approx(values.sum() / count)
    variance = ((values - values.mean()) ** 2).sum() / (count - 1)
    assert estimate.half_width == pytest.approx(norm.ppf((1 + level) / 2) * np.sqrt(variance / count))


@pytest.mark.parametrize("summands", [1, 2])
def test_probabilities_that_do_not_quite_add_up_leave_the_first_stage_alone(summands):
    block = RandomBlock([0.5000000004, 0.5], rows=[0], rhs=[[1.0], [3.0]])
    problem = TwoStageProblem([100.0], [1.0], [[1.0]], [[1.0]], [0.0], [np.inf], [block], x_upper=5.0, offset=7.0)
    x = 0.5
    known = 107.0 - 50.0 + sum(p * max(side - x, 0.0) for p, side in ((0.5000000004, 1.0), (0.5, 3.0)))
    assert BendersOracle(problem, n_summands=summands).query(Query(np.array([x]))).value == pytest.approx(
        known, rel=1e-9
    )


def test_the_interval_covers_as_often_as_its_level_says():
    problem = random_program(3, ("rhs", "technology"))
    oracle, x = BendersOracle(problem), 0.5 * (problem.x_lower + problem.x_upper)
    exact = oracle.query(Query(x)).value
    for level, low, high in ((0.5, 80, 120), (0.9, 168, 192)):
        estimates = [oracle.estimate(x, 60, seed, level) for seed in range(200)]
        assert low <= sum(abs(one.mean - exact) <= one.half_width for one in estimates) <= high


def test_draws_follow_the_probabilities_and_the_blocks_are_independent():
    problem = random_program(0, ("rhs", "technology"))
    outcomes, _ = problem.sample(20_000, 1)
    np.testing.assert_array_equal(outcomes, problem.sample(20_000, 1)[0])
    assert (outcomes != problem.sample(20_000, 2)[0]).any()
    for b, block in enumerate(problem.blocks):
        shares = np.bincount(outcomes[:, b], minlength=len(block.probabilities)) / 20_000
        np.testing.assert_allclose(shares, block.probabilities, atol=0.015)
    joint = np.zeros((3, 3))
    np.add.at(joint, (outcomes[:, 0], outcomes[:, 1]), 1 / 20_000)
    expected = np.outer(problem.blocks[0].probabilities, problem.blocks[1].probabilities)
    np.testing.assert_allclose(joint, expected, atol=0.015)


def test_an_estimate_where_a_scenario_has_no_second_stage_is_refused():
    block = RandomBlock([0.5, 0.5], rows=[0], rhs=[[1.0], [3.0]])
    problem = TwoStageProblem([1.0], [1.0], [[1.0]], [[1.0]], [-np.inf], [1.0], [block], x_upper=5.0, y_lower=0.0)
    assert BendersOracle(problem).estimate(np.array([0.5]), 20, 0).half_width == 0.0
    with pytest.raises(InvalidArgument, match="`x` must be feasible in every scenario"):
        BendersOracle(problem).estimate(np.array([2.0]), 20, 0)


def test_infinite_bounds_of_the_first_stage_are_the_radius():
    problem = TwoStageProblem([1.0, -1.0], [1.0], [[0.0, 0.0]], [[1.0]], [0.0], [1.0], x_lower=[-np.inf, -2.0])
    domain = BendersOracle(problem, radius=30.0).domain
    assert domain.lower.tolist() == [-30.0, -2.0]
    assert domain.upper.tolist() == [30.0, 30.0]


@pytest.mark.parametrize("without", [("x",), ("y",), ("rows",), ("x", "y"), ("x", "rows"), ("y", "rows")], ids="+".join)
@pytest.mark.parametrize("seed", range(3))
def test_stages_without_variables_or_rows_are_answered(without, seed):
    """The other stage is solved; bounds, costs and right-hand sides of what is left vary at random."""
    rng, inf = np.random.default_rng(seed), np.inf
    n, k, m = (0 if name in without else size for name, size in (("x", 2), ("y", 3), ("rows", 2)))
    block = RandomBlock(
        [0.25, 0.75],
        rows=range(m),
        rhs=np.zeros((2, m)) if {"x", "y"} <= set(without) else rng.uniform(0, 3, (2, m)),
        cost_columns=range(k),
        cost=rng.uniform(0, 2, (2, k)),
    )
    c, T, W, offset = (
        rng.uniform(-1, 2, n),
        rng.uniform(0.5, 2, (m, n)),
        rng.uniform(0.5, 2, (m, k)),
        float(rng.normal()),
    )
    problem = TwoStageProblem(c, np.ones(k), T, W, np.zeros(m), np.full(m, inf), [block], x_upper=9, offset=offset)
    known = offset
    if n + k:
        rows = np.vstack([np.hstack([T, W, 0 * W]), np.hstack([T, 0 * W, W])])
        bounds = [(0, 9)] * n + [(0, None)] * 2 * k
        costs = np.r_[c, 0.25 * block.cost[0], 0.75 * block.cost[1]]
        known += linprog(costs, -rows, -block.rhs.ravel(), bounds=bounds).fun
    oracle = BendersOracle(problem)
    run = minimize(oracle, rtol=1e-7)
    assert run.success
    assert run.lower_bound - 1e-6 * max(1.0, abs(known)) <= known <= run.upper_bound + 1e-6 * max(1.0, abs(known))
    assert run.certificate().verify(oracle)
    assert oracle.second_stage(run).expected_cost == pytest.approx(known, abs=1e-5)


@pytest.mark.parametrize("row", [1.0, -1.0])
def test_rows_that_an_empty_stage_cannot_keep_are_no_success(row):
    nothing = TwoStageProblem([], [], np.zeros((1, 0)), np.zeros((1, 0)), [row], [np.inf])
    if row > 0:
        assert minimize(BendersOracle(nothing)).status is Status.EMPTY
    else:
        assert minimize(BendersOracle(nothing)).upper_bound == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("nominal", [(-np.inf, np.inf), (-1e20, 1e30)])
def test_a_row_without_a_side_has_none_that_varies(nominal):
    block = RandomBlock([0.5, 0.5], rows=[0], rhs=[[2.0], [3.0]])
    with pytest.raises(InvalidArgument, match="`rows` of block must have a finite side to vary, and 'row0' has none"):
        TwoStageProblem([1.0], [1.0], [[1.0]], [[1.0]], [nominal[0]], [nominal[1]], [block])
    with pytest.raises(InvalidArgument, match=r"`rhs` of block must be finite, below 1e\+20"):
        RandomBlock([0.5, 0.5], rows=[0], rhs=[[2.0], [1e30]])
