"""A scenario that no first stage serves makes the program empty, and is named; rounding alone does not."""

import numpy as np
import pytest

from oracle_opt import EmptyLocalizationSet, FeasibilityCut, InvalidArgument, Query, Status, minimize
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem


def program(rng, kind, apart):
    """A random program of complete recourse but for some rows that x hardly moves; which scenario has `apart` there."""
    n, m, k, count = (int(rng.integers(a, b)) for a, b in ((1, 4), (1, 4), (2, 4), (2, 7)))
    scale = 10.0 ** rng.uniform(-3, 3)
    T, W = rng.normal(size=(m, n)), np.hstack([rng.normal(size=(m, k)), np.eye(m), -np.eye(m)])
    own = np.zeros((2, W.shape[1]))
    own[0, :k] = rng.uniform(0.1, 2.0, k) * scale
    y_lower, y_upper = np.zeros(W.shape[1]), np.r_[rng.uniform(0.5, 2.0, k), np.full(2 * m, np.inf)]
    rest = np.zeros((2, n))
    if kind == "inequality":  # the largest that the row can be, and more
        own, rest = own[:1], rest[:1]
        met, lower, upper = np.array([own[0, :k] @ y_upper[:k] * rng.uniform(0.2, 0.9)]), [0.0], [np.inf]
        missed = np.array([own[0, :k] @ y_upper[:k] + apart * scale])
    else:  # one row and a multiple of it, up to rounding; the first of its columns is free
        factor = float(rng.uniform(0.3, 3.0)) * rng.choice([-1.0, 1.0])
        y_lower[0], y_upper[0] = -np.inf, np.inf
        if kind == "moved rows":  # by x, up to rounding alike
            rest[0] = rng.normal(size=n) * scale
            rest[1] = factor * rest[0]
        own[1] = factor * own[0]
        first = scale * rng.normal()
        met, lower, upper = np.array([first, factor * first]), [0.0, 0.0], [0.0, 0.0]
        y_lower, y_upper = y_lower.copy(), y_upper.copy()
        missed = np.array([first, factor * first + apart * scale])
    rows = m + np.arange(len(met))
    place = int(rng.integers(count))
    rhs = np.hstack([rng.normal(size=(count, m)), np.where((np.arange(count) == place)[:, None], missed, met)])
    block = RandomBlock(
        np.full(count, 1 / count), np.r_[np.arange(m), rows], rhs, labels=[f"s{i}" for i in range(count)]
    )
    q = np.r_[rng.uniform(0, 1, k), rng.uniform(5, 9, 2 * m)]
    q[0] = 0.0 if np.isinf(y_lower[0]) else q[0]
    order = rng.permutation(m + len(met))
    T, W = np.vstack([T, rest])[order], np.vstack([W, own])[order]
    lower, upper = np.r_[np.zeros(m), lower][order], np.r_[np.zeros(m), upper][order]
    block = RandomBlock(block.probabilities, np.argsort(order), rhs, labels=block.labels)
    problem = TwoStageProblem(
        rng.normal(size=n), q, T, W, lower, upper, [block], x_lower=-1.0, x_upper=2.0, y_lower=y_lower, y_upper=y_upper
    )
    return problem, place


@pytest.mark.parametrize("kind", ["inequality", "equations", "moved rows"])
@pytest.mark.parametrize("seed", range(12))
def test_a_scenario_that_no_first_stage_serves_is_named(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    problem, place = program(rng, kind, 10.0 ** rng.uniform(-5, 2))
    parts = int(rng.integers(1, 4)) if seed % 3 == 0 else None
    oracle = BendersOracle(problem, n_summands=int(rng.integers(1, 4)), parts=parts)
    result = minimize(oracle, max_calls=50)
    assert result.status is Status.EMPTY
    assert not result.success
    with pytest.raises(EmptyLocalizationSet, match=rf"scenario {place} \('s{place}'\) has no second stage"):
        oracle.query(Query(rng.uniform(-1, 2, len(problem.c))))


@pytest.mark.campaign(9)
@pytest.mark.parametrize("kind", ["inequality", "equations", "moved rows"])
@pytest.mark.parametrize("seed", range(6))
def test_the_same_programs_have_a_minimum_where_the_rows_agree(kind, seed):
    rng = np.random.default_rng([seed, 7])
    problem, _ = program(rng, kind, -0.5 if kind == "inequality" else 0.0)
    oracle = BendersOracle(problem)
    result = minimize(oracle, rtol=1e-6)
    assert result.status is Status.CONVERGED
    result.certificate().verify(oracle)


def test_an_entry_that_two_blocks_vary_is_no_obstacle():
    """The sides of one row move by the sum of what both blocks say: -1 and 1 leave it as it was, 2 is too much."""
    blocks = [RandomBlock([0.5, 0.5], rows=[0], rhs=[[-1.0], [1.0]], name=name) for name in ("a", "b")]
    problem = TwoStageProblem([1.0], [1.0], [[0.0]], [[0.5]], [0.0], [np.inf], blocks, x_upper=1.0, y_upper=2.5)
    with pytest.raises(EmptyLocalizationSet, match="scenario 3 has no second stage whatever x is"):
        BendersOracle(problem).query(Query(np.array([0.5])))
    wide = TwoStageProblem([1.0], [1.0], [[0.0]], [[0.5]], [0.0], [np.inf], blocks, x_upper=1.0, y_upper=4.5)
    assert minimize(BendersOracle(wide), rtol=1e-6).upper_bound == pytest.approx(1.0)


def test_a_normal_that_is_small_beside_its_terms_is_no_proof_by_itself():
    """``T_1 x - y <= 0`` and ``T_2 x - y >= 1`` ask for (T_2 - T_1) x >= 1: x from 1.8e16 on serves that."""
    third = 1.0 / 3.0
    T = np.array([[third], [np.nextafter(third, 1.0)]])
    least = 1.0 / float(T[1, 0] - T[0, 0])

    def oracle(x_upper):
        sides = np.array([-np.inf, 1.0]), np.array([0.0, np.inf])
        return BendersOracle(
            TwoStageProblem([1.0], [0.0], T, -np.ones((2, 1)), *sides, x_upper=x_upper, y_lower=-np.inf)
        )

    with pytest.raises(EmptyLocalizationSet, match="scenario 0 has no second stage at any x within the bounds"):
        oracle(1e6).query(Query(np.array([0.0])))
    cut = oracle(4.0 * least).query(Query(np.array([0.0])))
    assert isinstance(cut, FeasibilityCut)
    assert cut.violation + cut.normal @ np.array([2.0 * least]) <= 0


def test_an_empty_row_without_variables_is_named():
    def first(A, lower, upper):
        return TwoStageProblem(
            [1.0], [1.0], [[1.0]], [[1.0]], 1.0, np.inf, A=A, first_lower=lower, first_upper=upper, x_upper=3.0,
            first_row_names=[f"budget{i}" for i in range(len(A))],
        )  # fmt: skip

    for lower, upper in ((-5.0, -3.0), (-np.inf, -3.0), (2.0, np.inf), (2.0, 2.0), (-1e-300, -1e-300)):
        with pytest.raises(InvalidArgument, match="'budget1' has no variables"):
            BendersOracle(first([[1.0], [0.0]], [0.0, lower], [2.0, upper]))
    for lower, upper in ((-5.0, 3.0), (0.0, 0.0), (-np.inf, 0.0), (0.0, np.inf), (-np.inf, np.inf)):
        result = minimize(BendersOracle(first([[1.0], [0.0]], [0.0, lower], [2.0, upper])), rtol=1e-6)
        assert result.success
        assert result.upper_bound == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("low", "high"),
    [("row_lower", "row_upper"), ("first_lower", "first_upper"), ("x_lower", "x_upper"), ("y_lower", "y_upper")],
)
def test_sides_that_no_number_lies_between_are_named(low, high):
    given = {"row_lower": 0.0, "row_upper": 1.0, "first_lower": 0.0, "first_upper": 1.0}
    for lower, upper in ((3.0, 2.0), (np.inf, np.inf), (-np.inf, -np.inf), (1e30, np.inf)):
        sides = given | {low: lower, high: upper}
        with pytest.raises(InvalidArgument, match=f"`{low}` must be at most `{high}`"):
            TwoStageProblem([1.0], [1.0], [[1.0]], [[1.0]], A=[[1.0]], **sides)
