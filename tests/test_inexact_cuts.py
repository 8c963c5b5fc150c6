"""Ellipsoid and proximal bundle with an oracle that errs within the error it states: the bounds still hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from oracle_opt import Ball, Box, ObjectiveCut, Oracle, Query, Simplex, minimize
from oracle_opt.generators import Ellipsoid, ProximalBundle


class Erring(Oracle):
    """Largest of affine pieces; states some piece within `error` of the largest, lowered at random."""

    def __init__(self, domain, error: float, seed: int) -> None:
        self.domain = domain
        self._error = error
        self._rng = np.random.default_rng(seed)
        self.slopes, self.constants = self._rng.normal(size=(15, 4)), self._rng.normal(size=15)

    def query(self, query: Query) -> ObjectiveCut:
        """A cut whose value is at most f and at least f - error, by an error-subgradient."""
        values = self.slopes @ query.point + self.constants
        best = float(values.max())
        i = int(self._rng.choice(np.flatnonzero(values >= best - 0.5 * self._error)))
        value = float(values[i]) - float(self._rng.uniform(0, 0.5 * self._error))
        return ObjectiveCut(query.point, value, self.slopes[i], error=self._error)

    def minimum(self) -> float:
        """By HiGHS, on the pieces themselves."""
        rows = np.column_stack([self.slopes, -np.ones(15)])
        sides, equality = [(-1, 1)] * 4, None
        if isinstance(self.domain, Simplex):
            sides, equality = [(0, 1)] * 4, np.array([[1.0, 1, 1, 1, 0]])
        solved = linprog(
            [0, 0, 0, 0, 1],
            rows,
            -self.constants,
            equality,
            None if equality is None else [1.0],
            [*sides, (None, None)],
        )
        return float(solved.fun)


@pytest.mark.parametrize("error", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("domain", [Box(-np.ones(4), np.ones(4)), Simplex(4)], ids=repr)
@pytest.mark.parametrize("generator", [Ellipsoid(), Ellipsoid(deep=False), ProximalBundle()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_under_a_stated_error(generator, domain, error, seed) -> None:
    oracle = Erring(domain, error, seed)
    result = minimize(oracle, generator, rtol=0, atol=3 * error, max_calls=3000)
    optimum, history = oracle.minimum(), result.history
    assert (history.lower_bound <= optimum + 1e-9).all()
    assert (history.upper_bound >= optimum - 1e-9).all()
    # no run can prove less than the error; each comes to a few times that
    assert result.gap <= 10 * error
    assert oracle.slopes @ result.point + oracle.constants == pytest.approx(
        oracle.slopes @ result.cut.point + oracle.constants
    )
    assert float((oracle.slopes @ result.point + oracle.constants).max()) <= result.upper_bound + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_ellipsoid_bounds_hold_on_a_ball(seed) -> None:
    oracle = Erring(Ball(4), 1e-2, seed)
    result = minimize(oracle, Ellipsoid(), rtol=0, atol=3e-2, max_calls=3000)
    # the least of the largest piece over some points of the ball is no less than the minimum
    z = np.random.default_rng(seed).normal(size=(20000, 4))
    z /= np.maximum(np.linalg.norm(z, axis=1), 1.0)[:, None]
    assert (result.history.lower_bound <= (z @ oracle.slopes.T + oracle.constants).max(axis=1).min() + 1e-9).all()
    assert result.gap <= 0.1
