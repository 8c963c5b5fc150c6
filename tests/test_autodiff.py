"""Functions of JAX and PyTorch, with the packages themselves: gradients as by hand, single precision refused."""

import numpy as np
import pytest

from oracle_opt import Box, FunctionOracle, InvalidArgument, InvalidCut, MissingPackage, Query, minimize

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(30, 4)), RNG.normal(size=30)
BOUNDS = Box([-1.0] * 4, [1.0] * 4)


def _by_hand(z):
    residuals = A @ z - B
    worst = abs(residuals).argmax()
    return abs(residuals[worst]) + z @ z, np.sign(residuals[worst]) * A[worst] + 2 * z


@pytest.fixture(params=["jax", "torch"])
def library(request):
    """Constructor of oracles, a function and a constraint in this library, and its single precision."""
    package = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    if request.param == "jax":
        numbers = package.numpy
        return (
            FunctionOracle.from_jax,
            lambda z: numbers.abs(A @ z - B).max() + numbers.sum(z**2),
            lambda z: numbers.sum(z) - 0.1,
            lambda z: numbers.sum(z.astype("float32")),
        )
    a, b = package.from_numpy(A), package.from_numpy(B)
    return (
        FunctionOracle.from_torch,
        lambda z: (a @ z - b).abs().max() + (z**2).sum(),
        lambda z: z.sum() - 0.1,
        lambda z: z.float().sum(),
    )


def test_values_and_gradients_are_those_by_hand(library):
    make, function, *_ = library
    oracle = make(function, BOUNDS)
    for point in RNG.uniform(-1, 1, (20, 4)):
        cut, (value, slope) = oracle.query(Query(point)), _by_hand(point)
        assert cut.value == pytest.approx(value, rel=1e-14)
        assert cut.subgradient == pytest.approx(slope, rel=1e-13)


def test_a_run_with_a_constraint_ends_where_that_by_hand_does(library):
    make, function, constraint, _ = library
    run = minimize(make(function, BOUNDS, constraints=[constraint]))
    by_hand = minimize(FunctionOracle(_by_hand, BOUNDS, constraints=[lambda z: (z.sum() - 0.1, np.ones(4))]))
    assert run.success
    assert by_hand.success
    assert run.lower_bound <= by_hand.upper_bound
    assert by_hand.lower_bound <= run.upper_bound


def test_single_precision_is_refused(library):
    make, function, _, single = library
    with pytest.raises(InvalidCut, match="float64"):
        make(single, BOUNDS).query(Query(np.zeros(4)))
    with pytest.raises(InvalidCut, match=r"constraints\[0\]"):
        make(function, BOUNDS, constraints=[single]).query(Query(np.zeros(4)))


def test_what_is_no_function_is_refused(library):
    make, function, *_ = library
    with pytest.raises(InvalidArgument, match="function"):
        make(3, BOUNDS)
    with pytest.raises(InvalidArgument, match="constraints"):
        make(function, BOUNDS, constraints=function)


@pytest.mark.parametrize(("package", "make"), [("jax", "from_jax"), ("torch", "from_torch")])
def test_a_library_that_is_not_installed_is_named(monkeypatch, package, make):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingPackage, match=package):
        getattr(FunctionOracle, make)(lambda z: z.sum(), BOUNDS)
