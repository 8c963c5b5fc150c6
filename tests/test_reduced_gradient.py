"""SimpleMKL's method at kinks, where one subgradient gives no descent, and how its iterations are counted."""

import cvxpy as cp
import numpy as np
import pytest
from affine_pieces import largest, least_of_pieces

from oracle_opt import FunctionOracle, Simplex, Status, minimize
from oracle_opt.generators import ReducedGradient
from oracle_opt.oracles import GramBank, MKLOracle

C = 100.0


def machine_with_kinks(seed):
    """Kernels of rank 2 at most: where few have a weight the machine has many solutions."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 0.0, 1.0], size=(40, 6), p=[0.4, 0.1, 0.5])
    y = np.where(X[:, 0] + 0.6 * X[:, 1] + 0.3 * rng.normal(size=40) > 0, 1.0, -1.0)
    kernels = [1.0 + np.outer(x, x) for x in X.T]
    return np.array([K / np.trace(K) for K in kernels]), X, y


def dual_optimum(X, y):
    """The paper's dual (7), as a cone program: quadratic forms by the factors [1, x] of the kernels."""
    a, largest = cp.Variable(len(y)), cp.Variable()
    factors = [np.column_stack([np.ones(len(y)), x]) for x in X.T]
    forms = [cp.sum_squares(F.T @ cp.multiply(y, a)) / (F**2).sum() for F in factors]
    rules = [a >= 0, a <= C, y @ a == 0, *(form <= largest for form in forms)]
    problem = cp.Problem(cp.Maximize(cp.sum(a) - 0.5 * largest), rules)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def test_a_kink_does_not_end_the_run():
    """One subgradient alone ends each of these runs at a kink, at gaps of 2e-3 to 9e-2."""
    ends = []
    for seed in range(6):
        kernels, X, y = machine_with_kinks(seed)
        result = minimize(MKLOracle(GramBank(kernels), y, C=C), ReducedGradient(), rtol=1e-3, max_calls=2000)
        ends.append(result.status)
        assert result.fun == pytest.approx(dual_optimum(X, y), rel=2e-4)
    assert ends.count(Status.CONVERGED) >= 5  # rounding decides whether a run that ends at a minimum there proves it


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_a_ridge_is_followed_to_its_lowest_point(seed):
    """The greatest of linear functions: on a ridge the function falls along no subgradient of one piece."""
    pieces = np.random.default_rng(seed).normal(size=(5, 4))
    result = minimize(FunctionOracle(largest(pieces), Simplex(4)), ReducedGradient(), rtol=1e-9, max_calls=3000)
    least = least_of_pieces(Simplex(4), pieces, np.zeros(5))
    assert result.fun == pytest.approx(least, abs=1e-8)


def test_it_ends_where_nothing_is_promised():
    center = np.array([0.2, 0.3, 0.5])
    oracle = FunctionOracle(lambda z: (1 + (z - center) @ (z - center), 2 * (z - center)), Simplex(3))
    result = minimize(oracle, ReducedGradient(), rtol=1e-30, atol=1e-30, max_calls=3000)
    assert result.status is Status.EXHAUSTED
    np.testing.assert_allclose(result.point, center, atol=1e-6)


def test_iterations_are_directions():
    """A linear function: one direction, to the boundary twice, and the run ends at the vertex."""
    oracle = FunctionOracle(lambda z: (z @ np.arange(3.0), np.arange(3.0)), Simplex(3))
    generator = ReducedGradient()
    for _ in range(2):  # a run begins its count anew
        result = minimize(oracle, generator, rtol=1e-12)
        assert (generator.iterations, result.n_calls) == (1, 3)


def test_every_line_search_belongs_to_an_iteration():
    """On an interval there is one line: of an iteration each, the search asks points between the last two centers."""
    oracle = FunctionOracle(lambda z: ((z[0] - 0.3) ** 2, np.array([2 * (z[0] - 0.3), 0.0])), Simplex(2))
    coarse, fine = ReducedGradient(0.5), ReducedGradient(1e-3)
    runs = [minimize(oracle, one, rtol=1e-12, atol=1e-7, max_calls=500) for one in (coarse, fine)]
    assert all(run.fun <= 1e-7 for run in runs)
    assert coarse.iterations > fine.iterations >= 1
