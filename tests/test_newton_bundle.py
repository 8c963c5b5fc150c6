"""The rules of NewtonBundle: when it hands over, which curvature it takes, and that wrong curvature proves nothing."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Curvature, FunctionOracle, InvalidArgument, ObjectiveCut, Query, Simplex, Status, minimize
from oracle_opt.generators import LevelSet, NewtonBundle

N = 20


def curved(root: np.ndarray | None) -> tuple[Curvature, ...]:
    """What a cut carries of this factor of the Hessian."""
    return () if root is None else (Curvature(root),)


def quadratic(scale: float = 1.0, shift: float = 0.0, radius: float = 1.0, seed: int = 0) -> FunctionOracle:
    """``shift + scale / 2 |root @ (z - target)|^2``, whose curvature is the same everywhere."""
    rng = np.random.default_rng(seed)
    root = np.sqrt(scale) * rng.normal(size=(N, N))
    target = radius * (rng.dirichlet(np.full(N, 0.3)) + 0.02 * rng.normal(size=N))

    def function(z: np.ndarray) -> ObjectiveCut:
        away = root @ (z - target)
        return ObjectiveCut(z, shift + 0.5 * float(away @ away), root.T @ away, answers=curved(root))

    return FunctionOracle(function, Simplex(N, radius), gives={Curvature})


def log_sum_exp(told=lambda root: root, seed: int = 0) -> FunctionOracle:
    """``log sum_i exp(A_i @ z)``: Hessian ``A' (diag(p) - p p') A``. `told` is what the oracle says of its factor."""
    A = 8 * np.random.default_rng(seed).normal(size=(40, N))

    def function(z: np.ndarray) -> ObjectiveCut:
        values = A @ z
        p = np.exp(values - values.max())
        value, p = values.max() + np.log(p.sum()), p / p.sum()
        root = np.sqrt(p)[:, None] * (A - p @ A)
        return ObjectiveCut(z, float(value), p @ A, answers=curved(told(root)))

    return FunctionOracle(function, Simplex(N), gives={Curvature})


def log_sum_exp_optimum(seed: int = 0) -> float:
    A, z = 8 * np.random.default_rng(seed).normal(size=(40, N)), cp.Variable(N, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.log_sum_exp(A @ z)), [cp.sum(z) == 1])
    return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("radius", [1.0, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_quadratic_takes_one_level_step_and_a_few_newton_steps(seed, radius) -> None:
    """The first step's value is predicted exactly, so the second is Newton's; other cuts hold it back, but briefly."""
    oracle = quadratic(radius=radius, seed=seed)
    result = minimize(oracle, NewtonBundle(), rtol=1e-6)
    assert result.status is Status.CONVERGED
    assert result.n_calls <= 6
    z = cp.Variable(N, nonneg=True)
    start = oracle.query(Query(oracle.domain.interior_point()))
    quadratic_form = 0.5 * cp.sum_squares(start.answer(Curvature).factor @ (z - start.point))
    whole = start.value + start.subgradient @ (z - start.point) + quadratic_form
    optimum = cp.Problem(cp.Minimize(whole), [cp.sum(z) == radius]).solve(solver=cp.CLARABEL)
    assert result.upper_bound == pytest.approx(optimum, abs=1e-6 * abs(start.value))


@pytest.mark.parametrize("seed", range(3))
def test_a_smooth_function_is_minimized_in_few_calls(seed) -> None:
    newton = minimize(log_sum_exp(seed=seed), NewtonBundle(), rtol=1e-6)
    level = minimize(log_sum_exp(seed=seed), LevelSet(), rtol=1e-6)
    assert newton.status is level.status is Status.CONVERGED
    assert newton.upper_bound == pytest.approx(log_sum_exp_optimum(seed), rel=2e-6)
    assert 2 * newton.n_calls < level.n_calls


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1e3), (1.0, -1e3), (1e4, 0.0), (1e-4, 0.0)])
def test_the_hand_over_does_not_depend_on_the_units_of_the_function(scale, shift) -> None:
    """Errors of the prediction count relative to the gap: the query points stay the same."""
    runs = [
        minimize(oracle, NewtonBundle(), rtol=0.0, max_calls=4, keep_cuts=True)
        for oracle in (quadratic(), quadratic(scale, shift))
    ]
    points = [np.array([cut.point for cut in run.history.cuts]) for run in runs]
    np.testing.assert_allclose(*points, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_the_newton_point_minimizes_the_whole_model_though_it_starts_with_few_variables(seed) -> None:
    """The start is dense, the minimizer's support lies mostly outside the first program."""
    rng, n = np.random.default_rng(seed), 400
    root, slope = 3 * rng.normal(size=(60, n)), rng.normal(size=n)
    generator = NewtonBundle()
    generator.reset(Simplex(n), rng.dirichlet(np.ones(n)))
    start = generator.ask().point
    generator.tell(ObjectiveCut(start, 1.0, slope, answers=curved(root)))
    moved = generator.ask().point - start
    predicted = 1.0 + slope @ moved + 0.5 * float(np.sum((root @ moved) ** 2))
    last = ObjectiveCut(start + moved, predicted, slope + root.T @ (root @ moved), answers=curved(root))
    generator.tell(last)
    asked, best = generator.ask().point, min((1.0, start), (predicted, last.point), key=lambda pair: pair[0])[1]
    z = cp.Variable(n, nonneg=True)
    cuts = cp.maximum(1.0 + slope @ (z - start), predicted + last.subgradient @ (z - last.point))
    problem = cp.Problem(cp.Minimize(cuts + 0.5 * cp.sum_squares(root @ (z - best))), [cp.sum(z) == 1])
    problem.solve(solver=cp.CLARABEL)
    reached = max(1.0 + slope @ (asked - start), predicted + last.subgradient @ (asked - last.point))
    reached += 0.5 * float(np.sum((root @ (asked - best)) ** 2))
    assert reached == pytest.approx(problem.value, abs=1e-6)


LIES = {
    "zero": lambda root: 0 * root,
    "one row of it": lambda root: root[:1],
    "a hundredth": lambda root: 0.1 * root,
    "ten thousand times": lambda root: 100 * root,
    "of another function": lambda root: 10 * np.random.default_rng(9).normal(size=(3, N)),
    "none": lambda root: None,
}


@pytest.mark.parametrize("lie", LIES)
def test_wrong_curvature_proves_nothing_and_cannot_stop_the_method(lie) -> None:
    optimum = log_sum_exp_optimum()
    honest = minimize(log_sum_exp(), LevelSet(), rtol=1e-6)
    result = minimize(log_sum_exp(LIES[lie]), NewtonBundle(), rtol=1e-6, max_calls=4 * honest.n_calls)
    assert result.status is Status.CONVERGED
    assert result.history.lower_bound.max() <= optimum + 1e-6 * abs(optimum)
    assert result.history.upper_bound.min() >= optimum - 1e-6 * abs(optimum)


def test_without_curvature_it_is_the_level_set() -> None:
    runs = [minimize(log_sum_exp(LIES["none"]), make(), rtol=1e-4, keep_cuts=True) for make in (NewtonBundle, LevelSet)]
    points = [np.array([cut.point for cut in run.history.cuts]) for run in runs]
    np.testing.assert_array_equal(*points)


def told_of(generator: NewtonBundle, values: list[float], roots: list[np.ndarray | None]) -> None:
    """Tell cuts of the given values and curvatures, whatever the generator asks."""
    generator.reset(Simplex(3), np.full(3, 1 / 3))
    for value, root in zip(values, roots, strict=True):
        point = generator.ask().point
        generator.tell(ObjectiveCut(point, value, np.array([1.0, 2.0, 3.0]), answers=curved(root)))


def test_the_mean_is_over_the_best_point_and_the_last_others() -> None:
    roots = [np.diag([float(i), 1.0, 0.0]) for i in range(1, 6)]
    hessians = [root.T @ root for root in roots]
    generator = NewtonBundle(memory=3)
    told_of(generator, [5.0, 1.0, 2.0, 3.0, 4.0], roots)
    best = generator._model.pool.best
    mean = generator._root(best, alone=False)
    np.testing.assert_allclose(mean.T @ mean, (hessians[1] + hessians[4] + hessians[3]) / 3)
    alone = generator._root(best, alone=True)
    np.testing.assert_allclose(alone.T @ alone, hessians[1])


def test_a_best_point_without_curvature_leaves_the_others() -> None:
    roots = [np.eye(3), 2 * np.eye(3), None]
    generator = NewtonBundle(memory=3)
    told_of(generator, [3.0, 2.0, 1.0], roots)
    best = generator._model.pool.best
    mean = generator._root(best, alone=False)
    np.testing.assert_allclose(mean.T @ mean, 2.5 * np.eye(3))
    alone = generator._root(best, alone=True)
    np.testing.assert_allclose(alone.T @ alone, 4 * np.eye(3))


@pytest.mark.parametrize("name", ["switch", "level", "memory"])
def test_parameters_out_of_range_are_refused(name) -> None:
    with pytest.raises(InvalidArgument, match=f"`{name}`"):
        minimize(quadratic(), NewtonBundle(**{name: 0}))
