"""Oracles that err within the error they state: the bounds still hold. Oracles that lie: it is noticed."""

import re

import numpy as np
import pytest
from affine_pieces import least_of_pieces

from oracle_opt import Ball, Box, FunctionOracle, ObjectiveCut, Oracle, Query, Simplex, Status, minimize
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, NewtonBundle, ProximalBundle

CUTTING_PLANES = [
    AnalyticCenter(),
    AnalyticCenter(epigraph=False),
    Ellipsoid(),
    Ellipsoid(deep=False),
    Kelley(),
    Kelley(chebyshev=True),
    LevelSet(),
    LevelSet(entropic=False),
    LevelSet(interior=True),
    NewtonBundle(),
    ProximalBundle(),
]
DOMAINS = [Box(-np.ones(4), np.ones(4)), Simplex(4)]
ON_DOMAINS = [  # NewtonBundle needs a simplex
    pytest.param(one, domain, id=f"{one!r}-{domain!r}")
    for one in CUTTING_PLANES
    for domain in (DOMAINS[1:] if isinstance(one, NewtonBundle) else DOMAINS)
]


class Erring(Oracle):
    """Largest of affine pieces; states some piece within `error` of the largest, lowered at random.

    With `split` the same as a sum of two summands, a third and two thirds of it, with a cut of each.
    """

    def __init__(self, domain, error: float, seed: int, split: bool = False) -> None:
        self.domain = domain
        self._error, self._split = error, split
        self._rng = np.random.default_rng(seed)
        self.slopes, self.constants = self._rng.normal(size=(15, 4)), self._rng.normal(size=15)

    def query(self, query: Query) -> ObjectiveCut:
        """A cut whose value is at most f and at least f - error, by an error-subgradient."""
        values = self.slopes @ query.point + self.constants
        best = float(values.max())
        i = int(self._rng.choice(np.flatnonzero(values >= best - 0.5 * self._error)))
        value = float(values[i]) - float(self._rng.uniform(0, 0.5 * self._error))
        if not self._split:
            return ObjectiveCut(query.point, value, self.slopes[i], error=self._error)
        summands = tuple(ObjectiveCut(query.point, w * value, w * self.slopes[i]) for w in (1 / 3, 2 / 3))
        return ObjectiveCut(query.point, value, self.slopes[i], error=self._error, summands=summands)

    def minimum(self) -> float:
        return least_of_pieces(self.domain, self.slopes, self.constants)


@pytest.mark.campaign(5)
@pytest.mark.parametrize("error", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize(("generator", "domain"), ON_DOMAINS)
@pytest.mark.parametrize(("seed", "split"), [(0, False), (1, False), (2, False), (3, True)])
def test_bounds_hold_under_a_stated_error(generator, domain, error, seed, split) -> None:
    oracle = Erring(domain, error, seed, split)
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


def lying(kind: str, domain) -> Oracle:
    """A quadratic whose answers, from an early one on, cannot all belong to one convex function."""
    calls = 0

    def function(z):
        nonlocal calls
        calls += 1
        away = z - np.linspace(-0.2, 0.6, 4)
        value, slope = float(away @ away), 2 * away
        if kind == "above itself" and calls > 3:
            value += 5.0  # a minorant through a point far above f
        elif kind == "concave":
            value, slope = -value, -slope
        elif kind == "tilted" and calls > 1:
            slope = -slope + 10.0
        return value, slope

    return FunctionOracle(function, domain)


@pytest.mark.parametrize("kind", ["above itself", "concave", "tilted"])
@pytest.mark.parametrize(("generator", "domain"), ON_DOMAINS)
def test_cuts_that_contradict_each_other_end_the_run(generator, domain, kind) -> None:
    result = minimize(
        lying(kind, domain), generator, domain.project(np.linspace(-0.5, 0.7, 4)), max_calls=400, keep_cuts=True
    )
    assert result.status is Status.CONTRADICTION, (
        result.status,
        result.n_calls,
        result.lower_bound,
        result.upper_bound,
    )
    assert not result.success
    assert "not minorants of one convex function" in result.message
    i, j = map(int, re.findall(r"answer (\d+)", result.message))
    claims, stated = result.history.cuts[i - 1], result.history.cuts[j - 1]
    assert claims.value + claims.subgradient @ (stated.point - claims.point) > stated.upper + 1e-6
