"""What users hand over in other types, signs and senses: taken for what it means, or refused in words."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import (
    Box,
    FunctionOracle,
    InvalidArgument,
    InvalidCut,
    Listener,
    ObjectiveCut,
    Oracle,
    Status,
    minimize,
)
from oracle_opt.generators import Kelley
from oracle_opt.learn import MKLClassifier
from oracle_opt.oracles import BendersOracle, ConicOracle, CvxpyOracle, Nonnegative, RandomBlock, TwoStageProblem
from oracle_opt.testing import check_oracle

SQUARE = FunctionOracle(lambda z: ((z - 0.3) @ (z - 0.3) + 1, 2 * (z - 0.3)), Box([-5] * 3, [5] * 3))


@pytest.mark.parametrize("asked", [True, np.True_, np.bool_(1)])
def test_a_truth_of_numpy_stops_a_run(asked) -> None:
    class Watch(Listener):
        def show(self, record):
            return asked if record.call == 5 else np.False_

    for callback in (Watch(), lambda record: asked if record.call == 5 else None):
        assert minimize(SQUARE, Kelley(), callback=callback).status is Status.STOPPED
    assert minimize(SQUARE, Kelley(), callback=lambda record: 1.0).success  # a number is no answer


def test_values_have_the_sense_that_was_modeled() -> None:
    stock, sales = cp.Parameter(2, name="stock"), cp.Variable(2, nonneg=True)
    shops = cp.Problem(cp.Maximize(cp.sum(cp.log(1 + sales))), [sales <= stock])
    run = minimize(CvxpyOracle(shops, domain=Box([0, 0], [1.5, 1.5])))
    assert run.value == pytest.approx(2 * np.log(2.5), rel=1e-5)
    for sense in (True, False):
        sign = -1.0 if sense else 1.0  # the least of sign (10 x - 3 min(x, 4)), x in [0, 10]: of a maximum 3 min - .5 x
        problem = TwoStageProblem([0.5], [-3.0], [[-1], [0]], [[1], [1]], -np.inf, [0, 4], x_upper=10, maximize=sense)
        run = minimize(BendersOracle(problem))
        assert run.value == pytest.approx(sign * -10.0)
        assert run.maximizes is sense


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_answers_in_single_precision_are_refused(kind) -> None:
    function = FunctionOracle(lambda z: (kind(z @ z), (2 * z).astype(kind)), Box([-1, -1], [1, 1]))
    with pytest.raises(InvalidCut, match="single precision"):
        minimize(function)

    class Stated(Oracle):
        domain = Box([-1.0, -1.0], [1.0, 1.0])

        def query(self, query):
            z = query.point
            return ObjectiveCut(z, float(kind(z @ z)) - 1e-2, (2 * z).astype(kind), error=2e-2)

    assert minimize(Stated(), Kelley(), max_calls=5).n_calls == 5  # who states an error may


def test_what_is_under_a_mask_is_no_data() -> None:
    masked = np.ma.masked_array([1.0, 9.96921e36], mask=[False, True])
    points = np.ma.masked_array(np.eye(2), mask=[[False, True], [False, False]])
    for make in (
        lambda: Box([0, 0], masked),
        lambda: ConicOracle([1.0], [[-1.0], [-1.0]], masked, [Nonnegative(2)]),
        lambda: TwoStageProblem([1.0], [3.0, 3.0], [[1.0], [1.0]], np.eye(2), masked, np.inf),
        lambda: MKLClassifier().fit(points, [1, -1]),
    ):
        with pytest.raises(InvalidArgument, match="mask"):
            make()
    assert Box([0, 0], np.ma.masked_array([1.0, 2.0])).upper.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("total", [0.9999, 1.00005, 1 - 1e-7])
def test_probabilities_that_do_not_add_up_are_refused(total) -> None:
    with pytest.raises(InvalidArgument, match="must add up to 1"):
        RandomBlock(np.full(3, total / 3), rows=[0], rhs=[[1.0], [2.0], [3.0]])
    RandomBlock(np.full(3, total / 3), rows=[0], rhs=[[1.0], [2.0], [3.0]], total=total)  # who says so may
    RandomBlock([0.1] * 10, rows=[0], rhs=[[float(k)] for k in range(10)])


def test_a_function_that_is_infinite_outside_passes_the_examination() -> None:
    def barrier(z):
        return (np.inf, np.zeros(2)) if z.max() > 0.5 else (-np.log(0.6 - z).sum(), 1 / (0.6 - z))

    check_oracle(FunctionOracle(barrier, Box([-1, -1], [1, 1])))


def test_a_contradiction_found_afterwards_is_not_called_rounding() -> None:
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(20, 4)), rng.normal(size=20)

    def lost(z):
        values = A @ z + b
        slope = A[values.argmax()].copy()
        slope[2] = 0.0
        return values.max(), slope

    concave = FunctionOracle(
        lambda z: (z.sum(), np.ones(2)), Box([-1, -1], [1, 2]), constraints=[lambda z: (1 - z @ z, -2 * z)]
    )
    for oracle in (FunctionOracle(lost, Box([-2] * 4, [2] * 4)), concave):
        result = minimize(oracle, max_calls=200)
        assert result.status is Status.CONTRADICTION
        assert "likeliest cause is a subgradient of the wrong sign or with a wrong entry" in result.message
        assert ".." not in result.message


def test_a_constraint_in_the_sign_of_scipy_is_told_so() -> None:
    disc = FunctionOracle(
        lambda z: (z.sum(), np.ones(2)), Box([-5, -5], [5, 5]), constraints=[lambda z: (1 - z @ z, -2 * z)]
    )
    for generator in (None, Kelley()):
        result = minimize(disc, generator, max_calls=200)
        assert result.status is not Status.EMPTY or "sign" in result.message
