"""Linear constraints without number: optima of cvxpy and of grids, bounds that hold, answers that are refused."""

import cvxpy as cp
import numpy as np
import pytest
from provers import FAST

from oracle_opt import Box, FeasibilityCut, InvalidArgument, InvalidCut, ObjectiveCut, Query, Status, minimize
from oracle_opt.generators import Kelley
from oracle_opt.oracles import SemiInfiniteOracle


def ellipsoids(seed, n=6, k=8, rank=2):
    """``a_i @ x + norm(P_i x) <= b_i``: rows, their worst cases at a point, and cvxpy's constraints."""
    rng = np.random.default_rng(seed)
    a, P, b = rng.normal(size=(k, n)), 0.5 * rng.normal(size=(k, rank, n)), rng.uniform(1, 3, k)

    def worst(x):
        spread = P @ x
        lengths = np.linalg.norm(spread, axis=1)
        units = spread / np.where(lengths > 0, lengths, 1.0)[:, None]
        return a + np.einsum("ijk,ij->ik", P, units), b

    x = cp.Variable(n)
    rows = [a[i] @ x + cp.norm(P[i] @ x) <= b[i] for i in range(k)]
    return rng.normal(size=n), worst, x, [*rows, cp.abs(x) <= 5]


@pytest.mark.campaign(3)
@pytest.mark.parametrize("generator", FAST, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_ellipsoidal_uncertainty_is_a_second_order_program(seed, generator):
    c, worst, x, rows = ellipsoids(seed)
    domain = Box(np.full(6, -5.0), np.full(6, 5.0))
    linear = minimize(SemiInfiniteOracle(c, worst, domain), generator)
    known = cp.Problem(cp.Minimize(c @ x), rows).solve(solver=cp.CLARABEL)
    assert linear.status is Status.CONVERGED
    assert linear.lower_bound <= known + 1e-6 * abs(known)
    assert linear.upper_bound == pytest.approx(known, rel=3e-6)
    # and a convex objective
    square = SemiInfiniteOracle(lambda z: (z @ z + c @ z, 2 * z + c), worst, domain)
    run = minimize(square, generator)
    known = cp.Problem(cp.Minimize(cp.sum_squares(x) + c @ x), rows).solve(solver=cp.CLARABEL)
    assert run.status is Status.CONVERGED
    assert run.lower_bound <= known + 1e-6 * abs(known)
    assert run.upper_bound == pytest.approx(known, rel=3e-6)


@pytest.mark.parametrize("seed", range(3))
def test_budgeted_uncertainty_is_a_linear_program(seed):
    """Bertsimas and Sim: at most g entries of a row deviate; the protection is a linear program of its own."""
    rng = np.random.default_rng(seed)
    n, k, g = 10, 6, 3
    a, d, b = rng.normal(size=(k, n)), rng.uniform(0, 0.5, (k, n)), rng.uniform(1, 3, k)
    c = rng.normal(size=n)

    def worst(x):
        rows = a.copy()
        most = np.argsort(-d * np.abs(x), axis=1)[:, :g]
        for i, chosen in enumerate(most):
            rows[i, chosen] += d[i, chosen] * np.sign(x[chosen])
        return rows, b

    oracle = SemiInfiniteOracle(c, worst, Box(np.full(n, -10.0), np.full(n, 10.0)))
    run = minimize(oracle, Kelley())
    x = cp.Variable(n)
    largest = [cp.sum_largest(cp.multiply(d[i], cp.abs(x)), g) for i in range(k)]
    rows = [a[i] @ x + largest[i] <= b[i] for i in range(k)] + [cp.abs(x) <= 10]
    known = cp.Problem(cp.Minimize(c @ x), rows).solve(solver=cp.CLARABEL)
    assert run.status is Status.CONVERGED
    assert run.upper_bound == pytest.approx(known, rel=1e-6)


def test_what_an_approximate_separation_proves():
    """The largest x + y in the unit disc, by its tangents of a coarse fan: too optimistic, and never the other way."""
    fan = np.linspace(0.0, 2.0 * np.pi, 25)
    normals = np.stack([np.cos(fan), np.sin(fan)], axis=1)
    overlooked = 1.0 / np.cos(np.pi / 24) - 1.0  # how far its corners are outside
    true, domain = -np.sqrt(2.0), Box([-2.0, -2.0], [2.0, 2.0])
    turned = -np.array([np.cos(0.7), np.sin(0.7)]) * np.sqrt(2.0)
    outer = minimize(SemiInfiniteOracle(turned, lambda x: (normals, np.ones(25)), domain, missed=overlooked), Kelley())
    inner = minimize(SemiInfiniteOracle(turned, lambda x: (normals, np.full(25, 1.0 / (1.0 + overlooked))), domain))
    assert outer.status is inner.status is Status.CONVERGED
    assert outer.lower_bound <= true <= inner.upper_bound
    assert outer.upper_bound < true - 1e-4  # the value of a point that is outside
    assert true - outer.upper_bound <= np.sqrt(2.0) * overlooked
    assert np.linalg.norm(outer.point) <= 1.0 + overlooked + 1e-9
    assert np.linalg.norm(inner.point) <= 1.0 + 1e-9


def test_an_overlooked_row_that_comes_up_later_is_no_contradiction_if_it_was_announced():
    """The second query finds what the first one overlooked."""

    def make(missed):
        seen = []

        def worst(x):
            seen.append(x)
            return [[-1.0]], [-0.5 if len(seen) < 2 else -0.6]  # x >= 0.5, and later x >= 0.6

        def objective(x):
            return float(x[0] ** 2), 2 * x

        return SemiInfiniteOracle(objective, worst, Box([-1.0], [2.0]), missed=missed)

    assert minimize(make(0.0), Kelley(), max_calls=30).status is Status.CONTRADICTION
    assert minimize(make(0.1), Kelley(), max_calls=30).status is not Status.CONTRADICTION


def test_rows_of_an_answer_are_those_that_count():
    normals = np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0], [6.0, 8.0], [0.0, 0.0]])
    sides = np.array([5.0, 1.0, 9.0, 9.0, 1.0])
    oracle = SemiInfiniteOracle([1.0, 1.0], lambda x: (normals, sides), Box([-9.0, -9.0], [9.0, 9.0]), max_rows=2)
    cut = oracle.query(Query(np.array([2.0, 2.0])))
    assert isinstance(cut, FeasibilityCut)
    assert cut.violation == pytest.approx(1.9)  # 6 x + 8 y <= 9, over 10
    assert cut.normal == pytest.approx([0.6, 0.8])
    assert cut.extras["row"].tolist() == [6.0, 8.0]
    assert cut.extras["side"] == 9.0
    assert [one.extras["side"] for one in cut.further] == [1.0]  # not the parallel one
    assert isinstance(oracle.query(Query(np.zeros(2))), ObjectiveCut)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "must return rows of shape"),
        (([[1.0, 2.0]], [1.0]), r"here n = 3; got shapes \(1, 2\) and \(1,\)"),
        (([[1.0, 2.0, 3.0]], [1.0, 2.0]), r"got shapes \(1, 3\) and \(2,\)"),
        (([[1.0, np.nan, 3.0]], [1.0]), "finite rows and sides"),
        ((["a", "b", "c"], 1.0), "must return rows of shape"),
    ],
)
def test_answers_that_are_no_rows_are_named(answer, words):
    oracle = SemiInfiniteOracle(np.ones(3), lambda x: answer, Box(np.zeros(3), np.ones(3)))
    with pytest.raises(InvalidCut, match=words):
        oracle.query(Query(np.full(3, 0.5)))


def test_one_row_none_and_a_contradiction():
    domain = Box(np.zeros(3), np.ones(3))
    one = SemiInfiniteOracle(np.ones(3), lambda x: (-np.ones(3), -1.0), domain)
    assert minimize(one, Kelley()).upper_bound == pytest.approx(1.0)
    assert minimize(SemiInfiniteOracle(np.ones(3), lambda x: ([], []), domain), Kelley()).upper_bound == 0.0
    assert minimize(SemiInfiniteOracle(np.ones(3), lambda x: (np.zeros(3), -1.0), domain)).status is Status.EMPTY
    far = SemiInfiniteOracle(np.ones(3), lambda x: (-np.ones((1, 3)), [-4.0]), domain)
    assert minimize(far, Kelley()).status is Status.EMPTY


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"objective": [[1.0]]}, "`objective` must be finite and of shape"),
        ({"objective": [1.0, np.inf]}, "`objective` must be finite"),
        ({"objective": [1.0, 2.0, 3.0]}, "`domain` must have dimension 3, that of `objective`"),
        ({"separate": [[1.0, 2.0]]}, "`separate` must be a function of a point"),
        ({"domain": 3}, "`domain` must be a Domain"),
        ({"objective": len, "domain": 3}, "`domain` must be a Domain"),
        ({"max_rows": 0}, "`max_rows`"),
        ({"missed": -1.0}, "`missed`"),
    ],
)
def test_arguments_are_named(change, words):
    good = {"objective": [1.0, 2.0], "separate": len, "domain": Box([0.0, 0.0], [1.0, 1.0])}
    with pytest.raises(InvalidArgument, match=words):
        SemiInfiniteOracle(**(good | change))


def test_an_objective_that_answers_no_cut_is_named():
    def cut_off(x):
        return FeasibilityCut(x, 1.0, x)

    oracle = SemiInfiniteOracle(cut_off, lambda x: ([], []), Box([1.0], [2.0]))
    with pytest.raises(InvalidCut, match="`objective` must return"):
        oracle.query(Query(np.ones(1)))
