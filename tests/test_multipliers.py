"""Compiled Newton steps over bounds alone: those in Python, which all other domains take, are the reference."""

import numpy as np
import pytest

from oracle_opt import Box, InvalidArgument, LinearConstraints
from oracle_opt.domains._multipliers import nonnegative_quadratic, simplex_quadratic
from oracle_opt.domains.projection import project_on_cuts
from oracle_opt.generators.masters.proximal_master import proximal_point


class WithRow(Box):
    """The same set, whose description has one more row that says nothing: it is solved by the steps in Python."""

    def linear_constraints(self) -> LinearConstraints:
        return LinearConstraints(
            np.zeros((0, self.dimension)),
            np.zeros(0),
            self.lower,
            self.upper,
            np.zeros((1, self.dimension)),
            np.ones(1),
        )


class Instance:
    """Random rows, in units of their own and of the variables', some of them repeated or nearly so, and a box."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        m, n = (1, 1) if seed == 0 else (int(rng.integers(1, 61)), int(rng.integers(1, 81)) if seed % 5 else 1)
        self.unit, self.size = 10.0 ** rng.integers(-6, 7, 2)
        self.center = rng.uniform(-1, 1, n)
        lower, upper = self.center - rng.exponential(size=n), self.center + rng.exponential(size=n)
        lower[rng.random(n) < 0.3], upper[rng.random(n) < 0.3] = -np.inf, np.inf
        fixed = rng.random(n) < 0.1
        lower[fixed] = upper[fixed] = self.center[fixed]
        self.matrix = rng.normal(size=(m, n))
        self.n_equations = 0 if n == 1 else int(rng.integers(0, min(m, n, 4)))
        again = np.flatnonzero(rng.random(m - self.n_equations) < 0.3)
        self.matrix[again] = self.matrix[rng.integers(0, m - self.n_equations, len(again))]
        self.matrix[again] += (rng.random() < 0.5) * 1e-9 * rng.normal(size=(len(again), n))
        inside = np.clip(self.center + 0.3 * rng.normal(size=n), lower, upper)
        self.rhs = self.matrix @ inside + rng.exponential(size=m) * (np.arange(m) < m - self.n_equations)
        self.n_pieces = int(rng.integers(1, m - self.n_equations + 1))
        self.metric = 10.0 ** rng.uniform(-1, 1, n)
        self.start = np.zeros(m)
        self.start[rng.choice(m, rng.integers(1, min(m, n) + 1), replace=False)] = rng.exponential()
        self.boxes = [kind(self.size * lower, self.size * upper) for kind in (Box, WithRow)]
        self.center, self.matrix = self.size * self.center, self.unit * self.matrix
        self.rhs = self.unit * self.size * self.rhs


def check_point(case: Instance, found, plain, metric, slope, values) -> None:
    """The same point as in Python, the minimizer at its multipliers, where all constraints hold."""
    assert found.converged == plain.converged
    if found.converged:
        np.testing.assert_allclose(found.point, plain.point, rtol=0, atol=1e-8 * np.abs(plain.point).max())
        z = case.boxes[0].project(case.center - slope / metric)
        np.testing.assert_allclose(found.point, z, rtol=0, atol=1e-9 * max(case.size, np.abs(z).max()))
        kept = len(values) - case.n_equations
        assert (found.multipliers[:kept] >= 0).all()
        assert values.max(initial=0.0) <= 1e-3
        assert np.abs(values[kept:]).max(initial=0.0) <= 1e-3


@pytest.mark.parametrize("seed", range(200))
def test_projections_take_the_steps_of_python(seed) -> None:
    case = Instance(seed)
    units, metric = np.full(len(case.rhs), case.unit * case.size), case.metric / case.size**2
    found, plain = (
        project_on_cuts(
            box, case.center, metric, case.matrix, case.rhs, case.start, unit=units, n_equations=case.n_equations
        )
        for box in case.boxes
    )
    values = (case.matrix @ found.point - case.rhs) / units
    check_point(case, found, plain, metric, (found.multipliers / units) @ case.matrix, values)


@pytest.mark.parametrize("seed", range(200))
def test_proximal_points_take_the_steps_of_python(seed) -> None:
    case = Instance(seed)
    scale = case.unit * case.size
    pieces = np.arange(len(case.rhs)) < case.n_pieces
    rhs = np.where(pieces, np.maximum(case.matrix @ case.center, case.rhs), case.rhs)
    start = case.start.copy()
    start[0] += not start[pieces].any()
    start[pieces] /= start[pieces].sum()
    metric = case.metric * case.unit / case.size
    found, plain = (
        proximal_point(
            box,
            case.center,
            1.0,
            case.matrix,
            rhs,
            case.n_pieces,
            start,
            floor=1e-15 * scale,
            allowed=1e-9 * scale,
            n_equations=case.n_equations,
            scale=metric,
            max_steps=200,
        )
        for box in case.boxes
    )
    values = (case.matrix @ found.point - rhs) / scale
    check_point(case, found, plain, metric, found.multipliers @ case.matrix, np.where(pieces, 0.0, values))
    assert found.multipliers[pieces].sum() == pytest.approx(1.0)
    if found.converged:
        gap = values[pieces].max() - found.multipliers @ values
        assert gap <= max(0.1 * -values[pieces].max(), 1e-3)


@pytest.mark.parametrize("name", ["matrix", "rhs", "center"])
def test_points_of_rows_without_numbers_are_refused(name) -> None:
    case = Instance(7)
    getattr(case, name).flat[0] = np.nan
    for box in case.boxes:
        metric = np.ones(box.dimension)
        assert not project_on_cuts(box, case.center, metric, case.matrix, case.rhs, case.start).converged
        start = np.eye(len(case.rhs))[0]
        assert not proximal_point(box, case.center, 1.0, case.matrix, case.rhs, case.n_pieces, start).converged


@pytest.mark.parametrize("seed", range(30))
def test_quadratics_on_a_simplex_satisfy_the_optimality_conditions(seed) -> None:
    """Also where the first variables stand twice, the Hessian has no full rank, and the last ones are free."""
    rng = np.random.default_rng(seed)
    m, rank = int(rng.integers(2, 20)), int(rng.integers(1, 25))
    n_free = int(rng.integers(0, min(m, 3)))
    count = int(rng.integers(1, m - n_free + 1))
    unit = 10.0 ** rng.integers(-9, 10)
    root = rng.normal(size=(m, rank))
    if count > 1:
        root[0] = root[1]
    hessian = unit * (root @ root.T + 1e-9 * np.eye(m))
    linear, start = unit * root @ rng.normal(size=rank), np.eye(m)[0]
    v = simplex_quadratic(hessian, linear, start, count, 1e-9 * unit, 1e-9 * unit, n_free)
    slope = (hessian @ v - linear) / unit
    slope[:count] -= slope[:count] @ v[:count]
    assert v[:count].sum() == pytest.approx(1.0, abs=1e-12)
    assert (v[: m - n_free] >= 0).all()
    assert slope[: m - n_free].min() >= -1e-6
    assert np.abs(slope * v).max() <= 1e-6
    assert np.abs(slope[m - n_free :]).max(initial=0.0) <= 1e-6


def test_programs_without_variables_have_no_multipliers() -> None:
    assert nonnegative_quadratic(np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1e-9).shape == (0,)


class OneBound(Box):
    """Its description has one lower bound for all variables."""

    def linear_constraints(self) -> LinearConstraints:
        return LinearConstraints(np.zeros((0, self.dimension)), np.zeros(0), self.lower[:1], self.upper)


def test_bounds_of_another_shape_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"shape \(3,\), got \(1,\) and \(3,\)"):
        proximal_point(OneBound(np.zeros(3), np.ones(3)), np.zeros(3), 1.0, np.eye(3), np.ones(3), 3, np.eye(3)[0])


@pytest.mark.parametrize("seed", range(24))
def test_a_factor_that_is_kept_ends_at_the_optimum(seed):
    """Supports of many rows: pieces, rows that hold, and equations; some rows twice."""
    rng = np.random.default_rng(seed)
    m, n_free = int(rng.integers(60, 200)), int(rng.integers(0, 4))
    count = int(rng.integers(m // 2, m - 3))
    matrix = rng.normal(size=(m, int(rng.integers(50, 300)))) * 10 ** rng.uniform(-2, 2)
    if seed % 3 == 0:
        matrix[rng.integers(0, m - 3, m // 5)] = matrix[rng.integers(0, m - 3, m // 5)]
    hessian = matrix @ matrix.T
    hessian[np.diag_indices(m)] *= 1.0 + 1e-9
    linear = rng.normal(size=m) * np.sqrt(np.diag(hessian)) * rng.uniform(0.1, 3)
    start = np.zeros(m)
    start[:count] = rng.uniform(0.01, 1, count) * (rng.random(count) < 0.9)
    start /= start.sum()
    size = np.abs(linear).max()
    v = simplex_quadratic(hessian, linear, start, count, 1e-9 * size, 1e-9 * size, n_free)
    gains, signed = linear - hessian @ v, m - n_free
    assert v[:count].sum() == pytest.approx(1.0, abs=1e-9)
    assert v[:signed].min() >= 0
    assert gains[:count].max() <= (gains * v)[:count].sum() + 1e-7 * size
    assert gains[count:signed].max(initial=0.0) <= 1e-7 * size
    assert np.abs(gains[signed:]).max(initial=0.0) <= 1e-7 * size
