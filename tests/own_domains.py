"""Domains as a user writes them, and what each serves for."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize
from table import BOUNDS_ALONE, LINEAR, METRICS, NO_CONSTRAINTS, ONE_SIMPLEX, SIMPLICES

from oracle_opt import Box, Domain, InvalidArgument, LinearConstraints, SimplexBlocks

N = 6
SCALE = np.array([0.5, 1.0, 2.0, 4.0, 1.5, 0.25])
LOWER, UPPER = np.array([-1.0, 0.0, -2.0, 0.5, -1.0, 0.0]), np.array([1.0, 2.0, 0.0, 3.0, 4.0, 1.0])
PRICES, BUDGET = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0]), 2.0
AXES = np.linalg.qr(np.random.default_rng(3).normal(size=(N, N)))[0] * np.array([3.0, 2.0, 1.0, 0.5, 0.3, 1.5])
CENTER = np.linspace(-1.0, 1.0, N)


class ScaledSimplex(Domain):
    """``{z >= 0 : scale @ z == radius}``."""

    def __init__(self, scale, radius=1.0):
        self.scale, self.radius, self.dimension = np.array(scale), float(radius), len(scale)

    def project(self, point, metric=None):
        """``max(0, point - nu * scale / metric)``; the k largest breakpoints are positive for the right nu."""
        inverse = self.scale**2 if metric is None else self.scale**2 / metric
        breakpoints = self.scale * point / inverse
        order = np.argsort(-breakpoints)
        nus = (np.cumsum((self.scale * point)[order]) - self.radius) / np.cumsum(inverse[order])
        last = np.flatnonzero(breakpoints[order] > nus)[-1]
        return np.maximum(point - nus[last] * inverse / self.scale, 0.0)

    def minimize_linear(self, slope):
        best = int(np.argmin(slope / self.scale))
        point = np.zeros(self.dimension)
        point[best] = self.radius / self.scale[best]
        return float(slope[best] * point[best]), point

    def interior_point(self):
        return self.radius / (self.dimension * self.scale)

    def simplices(self):
        return SimplexBlocks((self.dimension,), self.radius, self.scale)

    def entropic_metric(self, point):
        return self.scale / np.maximum(point, 0.01 * self.interior_point())


class WithoutMetrics(ScaledSimplex):
    """The same, where only the Euclidean projection is known."""

    euclidean_only = True

    def project(self, point, metric=None):
        if metric is not None:
            raise InvalidArgument("`metric` must be None: the projection is Euclidean only")
        return super().project(point)


class BudgetBox(Domain):
    """``{lower <= z <= upper : prices @ z <= budget}``, prices positive."""

    def __init__(self, lower, upper, prices, budget):
        self.lower, self.upper, self.prices, self.budget = lower, upper, prices, budget
        self.dimension = len(lower)

    def project(self, point, metric=None):
        pull = self.prices if metric is None else self.prices / metric

        def excess(nu):
            return float(self.prices @ np.clip(point - nu * pull, self.lower, self.upper)) - self.budget

        if excess(0.0) <= 0:
            return np.clip(point, self.lower, self.upper)
        enough = float(((point - self.lower) / pull).max())
        nu = scipy.optimize.brentq(excess, 0.0, enough, xtol=1e-16, rtol=1e-15)
        return np.clip(point - nu * pull, self.lower, self.upper)

    def minimize_linear(self, slope):
        """Spend the budget where a unit of it gains most."""
        point = self.lower.copy()
        left = self.budget - float(self.prices @ point)
        for j in np.argsort(slope / self.prices):
            if slope[j] < 0:
                point[j] += min(self.upper[j] - self.lower[j], left / self.prices[j])
                left -= self.prices[j] * (point[j] - self.lower[j])
        return float(slope @ point), point

    def interior_point(self):
        middle, spent = 0.5 * (self.lower + self.upper), self.prices @ self.lower
        share = min(1.0, 0.5 * (self.budget - spent) / (self.prices @ middle - spent))
        return self.lower + share * (middle - self.lower)

    def linear_constraints(self):
        rows, sides = self.prices[None], np.array([self.budget])
        return LinearConstraints(np.zeros((0, N)), np.zeros(0), self.lower, self.upper, rows, sides)


class Ellipsoidal(Domain):
    """``{center + axes @ w : norm(w) <= 1}``, axes square."""

    euclidean_only = True

    def __init__(self, center, axes):
        self.center, self.axes, self.dimension = center, axes, len(center)
        self.turn, self.lengths, _ = np.linalg.svd(axes)

    def project(self, point, metric=None):
        """``w_i = l_i^2 p_i / (l_i^2 + nu)`` along the principal axes, nu >= 0 such that it is inside."""
        if metric is not None:
            raise InvalidArgument("`metric` must be None: the projection is Euclidean only")
        along = self.turn.T @ (point - self.center)

        def excess(nu):
            return float(np.sum((self.lengths * along / (self.lengths**2 + nu)) ** 2)) - 1.0

        if excess(0.0) <= 0:
            return np.array(point)
        most = float(np.linalg.norm(self.lengths * along))
        nu = scipy.optimize.brentq(excess, 0.0, most, xtol=1e-16, rtol=1e-15)
        return self.center + self.turn @ (self.lengths**2 * along / (self.lengths**2 + nu))

    def minimize_linear(self, slope):
        turned = self.axes.T @ slope
        length = float(np.linalg.norm(turned))
        point = self.center - self.axes @ (turned / length) if length else self.center.copy()
        return float(slope @ self.center) - length, point

    def interior_point(self):
        return self.center.copy()


class Above(Domain):
    """``{z >= lower}``, where some minimizer is promised not to exceed it by more than `reach`."""

    def __init__(self, lower, reach):
        self.lower, self.reach, self.dimension = lower, reach, len(lower)

    def project(self, point, metric=None):
        return np.maximum(point, self.lower)

    def minimize_linear(self, slope):
        return self.promised_polyhedron().minimize_linear(slope)

    def interior_point(self):
        return self.lower + 0.5 * self.reach

    def linear_constraints(self):
        return LinearConstraints(np.zeros((0, N)), np.zeros(0), self.lower, np.full(N, np.inf))

    def promised_polyhedron(self):
        return Box(self.lower, self.lower + self.reach)


class Everywhere(Domain):
    """R^n, where some minimizer is promised in a box around the origin."""

    def __init__(self, n, reach):
        self.dimension, self.reach = n, reach

    def project(self, point, metric=None):
        return np.array(point)

    def minimize_linear(self, slope):
        return -self.reach * float(np.abs(slope).sum()), -self.reach * np.sign(slope)

    def interior_point(self):
        return np.zeros(self.dimension)

    def linear_constraints(self):
        none, ends = np.zeros((0, self.dimension)), np.full(self.dimension, np.inf)
        return LinearConstraints(none, np.zeros(0), -ends, ends)

    def promised_polyhedron(self):
        return Box(np.full(self.dimension, -self.reach), np.full(self.dimension, self.reach))


LINEAR_AND = (LINEAR[0], METRICS[0])
ONE_BLOCK = (ONE_SIMPLEX[0], SIMPLICES[0])
# each with its constraints, and the needs of generators that it meets, in the words of the table
OWN = {
    "scaled simplex": (ScaledSimplex(SCALE, 3.0), lambda z: [z >= 0, SCALE @ z == 3.0], [*LINEAR_AND, *ONE_BLOCK]),
    "without metrics": (WithoutMetrics(SCALE, 3.0), lambda z: [z >= 0, SCALE @ z == 3.0], [LINEAR[0], *ONE_BLOCK]),
    "box with a budget": (
        BudgetBox(LOWER, UPPER, PRICES, BUDGET),
        lambda z: [z >= LOWER, z <= UPPER, PRICES @ z <= BUDGET],
        LINEAR_AND,
    ),
    "ellipsoid": (Ellipsoidal(CENTER, AXES), lambda z: [cp.norm(np.linalg.inv(AXES) @ (z - CENTER)) <= 1], []),
    "above": (Above(LOWER, 20.0), lambda z: [z >= LOWER], [*LINEAR_AND, BOUNDS_ALONE[0]]),
    "everywhere": (Everywhere(N, 20.0), lambda z: [], [*LINEAR_AND, BOUNDS_ALONE[0], NO_CONSTRAINTS[0]]),
}
each_domain = pytest.mark.parametrize("name", OWN)
