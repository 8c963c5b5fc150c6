"""Compiled Newton steps to analytic centers: those in Python, which sparse rows take, are the reference."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from oracle_opt.generators.masters import Polytope, _center, analytic_center


class Instance:
    """Random rows, in units of their own and of the variables', some of them repeated or turned around, and bounds."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        m, n = (1, 1) if seed == 0 else (int(rng.integers(1, 61)), int(rng.integers(1, 81)) if seed % 5 else 1)
        unit, size = 10.0 ** rng.integers(-6, 7, 2)
        inside = rng.uniform(-1, 1, n)
        lower, upper = inside - rng.exponential(size=n), inside + rng.exponential(size=n)
        toward = inside + 0.5 * rng.normal(size=n)
        start = np.clip(toward, 0.9 * lower + 0.1 * inside, 0.9 * upper + 0.1 * inside)
        lower[rng.random(n) < 0.3], upper[rng.random(n) < 0.3] = -np.inf, np.inf
        matrix = rng.normal(size=(m, n))
        again = np.flatnonzero(rng.random(m) < 0.3)
        matrix[again] = matrix[rng.integers(0, m, len(again))] * rng.choice([-1.0, 1.0], (len(again), 1))
        self.empty = seed % 7 == 1
        rhs = matrix @ inside + rng.exponential(size=m)
        if self.empty:
            matrix, rhs = np.vstack([matrix, -matrix[0]]), np.r_[rhs, -rhs[0] - 0.1]
        held = np.isfinite(lower) & np.isfinite(upper)  # the others may have no end but for the proximal term
        proximal = np.where(rng.random(n) < 0.5, 10.0 ** rng.uniform(-2, 2, n), np.where(held, 0.0, 0.01))
        self.start = size * start
        self.polytope = Polytope(
            unit * matrix,
            unit * size * rhs,
            rng.integers(1, 4, len(rhs)).astype(float),
            size * lower,
            rng.uniform(0.01, 1, n),
            size * upper,
            rng.uniform(0.01, 1, n),
            np.zeros((0, n)),
            proximal / size**2,
            size * inside,
        )

    def both(self, *limits) -> list[tuple[np.ndarray, bool]]:
        """The points of the compiled steps and of those in Python, and whether they converged."""
        sparse = replace(self.polytope, matrix=scipy.sparse.csr_array(self.polytope.matrix))
        return [analytic_center(polytope, self.start, *limits) for polytope in (self.polytope, sparse)]


@pytest.mark.parametrize("seed", range(200))
def test_takes_the_steps_of_python(seed, monkeypatch) -> None:
    """Also where the rows are too long to be scaled at a time."""
    case = Instance(seed)
    monkeypatch.setattr(_center, "CHUNK", 50 if seed % 2 else _center.CHUNK)
    for limits in ((0.1, 40), (1e-9, 40), (1e-9, 1), (1e-9, 3)):
        (found, converged), (plain, too) = case.both(*limits)
        assert converged is too is (not case.empty and limits[1] == 40)
        if not case.empty:
            np.testing.assert_allclose(found, plain, rtol=0, atol=1e-8 * np.abs(plain).max())


@pytest.mark.parametrize("seed", range(200))
def test_the_slope_of_the_barrier_vanishes_at_the_center(seed) -> None:
    """Its multipliers are the weights over the slacks: they hold each other and the proximal term in balance."""
    case = Instance(seed)
    of, (x, converged) = case.polytope, case.both(1e-9)[0]
    assert converged is not case.empty
    if converged:
        pushes = (
            of.weights / (of.rhs - of.matrix @ x),
            of.lower_weights / (x - of.lower),
            of.upper_weights / (of.upper - x),
        )
        slope = pushes[0] @ of.matrix - pushes[1] + pushes[2] + of.proximal * (x - of.anchor)
        sizes = pushes[0] @ np.abs(of.matrix) + pushes[1] + pushes[2] + of.proximal * np.abs(x - of.anchor)
        assert np.abs(slope / sizes).max() <= 1e-6


@pytest.mark.parametrize("name", ["matrix", "rhs", "weights", "proximal", "anchor"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_center_of_what_is_no_number(name, value) -> None:
    case = Instance(3)
    getattr(case.polytope, name).flat[0] = value
    assert [converged for _, converged in case.both()] == [False, False]


@pytest.mark.parametrize("name", ["rhs", "weights", "proximal", "anchor", "lower", "upper"])
def test_arrays_of_another_length_are_refused(name) -> None:
    case = Instance(3)
    longer = replace(case.polytope, **{name: np.r_[getattr(case.polytope, name), [1.0, 1.0]]})
    with pytest.raises((ValueError, IndexError)):
        analytic_center(longer, case.start)
