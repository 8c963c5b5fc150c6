"""Losses of support vector machines, through their duals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.svm.csvc import checked_box, checked_labels


def imbalance(x: Vector) -> float:
    """At least the absolute sum of x, little more where long double is longer than double."""
    total = float(abs(np.add.reduce(x, dtype=np.longdouble)))
    return (1 + EPS) * total + float(np.finfo(np.longdouble).eps) * x.size * float(np.abs(x).sum())


class _LossData:
    """A loss whose dual is ``linear @ x`` over a box and ``sum(x) == 0``.

    The variables x belong to points: the i-th to point ``i % n``. Added up they are the signed dual variables v of the
    kernel expansion, shape (n,).

    Attributes
    ----------
    linear, lower, upper : ndarray of shape (n,) or (2 n,)
        The linear term and the box, which contains 0.
    n_points : int
        n.
    """

    linear: Vector
    lower: Vector
    upper: Vector
    n_points: int

    def signed_dual(self, x: Vector) -> Vector:
        """Variables added up by point, shape (n,)."""
        v: Vector = x.reshape(-1, self.n_points).sum(axis=0)
        return v

    def gap(self, x: Vector, decision: Vector, error: float = 0.0) -> tuple[float, float, float]:
        """How far x is from optimal for the SVM whose decision values, without bias, are ``K @ v``.

        For any bias the primal objective minus the dual one is a sum of terms that are not negative,

            sum_i (upper_i - x_i) max(0, g_i - bias) + (x_i - lower_i) max(0, bias - g_i),    g = linear - K v,

        convex and piecewise linear in the bias, with slope ``sum(upper - lower where g < bias) - sum(upper - x)``: the
        best bias is a weighted order statistic of g.

        Parameters
        ----------
        x : ndarray
            Variables in the box.
        decision : ndarray of shape (n,)
            ``K @ v``.
        error : float
            By how much entries of `decision` may be wrong: each term is then the largest it can be.

        Returns
        -------
        tuple of float
            At least the least gap, the bias that attains it, and the violation of the optimality conditions.
        """
        g = self.linear - np.tile(decision, x.size // self.n_points)
        order = np.argsort(g)
        reached = np.cumsum((self.upper - self.lower)[order])
        share = float((self.upper - x).sum())
        first = min(int(np.searchsorted(reached, share)), g.size - 1)
        # where the slope is 0 up to the next entry, the middle
        level = abs(reached[first] - share) <= 1e-12 * reached[-1] and first + 1 < g.size
        bias = 0.5 * float(g[order[first]] + g[order[first + level]])
        excess, wide = g - bias, error + EPS * (float(np.abs(self.linear).max()) + abs(bias))
        terms = np.maximum((self.upper - x) * (excess + wide), (self.lower - x) * (excess - wide))
        rising, falling = g[x < self.upper], g[x > self.lower]
        violation = max(float(rising.max() - falling.min()), 0.0) if rising.size and falling.size else 0.0
        return (1 + EPS * (x.size + 16)) * float(terms.sum()) + abs(bias) * imbalance(x), bias, violation


class _HingeData(_LossData):
    """Hinge loss of classification, ``C * max(0, 1 - y * f)``: x = y * alpha.

    Parameters
    ----------
    y : array_like of shape (n,)
        Labels, -1 and +1, both present.
    C : float or array_like of shape (n,)
        Upper bound of each dual variable, positive.

    Raises
    ------
    InvalidArgument
        Labels or C that cannot be used.
    """

    def __init__(self, y: ArrayLike, C: float | ArrayLike = 100.0) -> None:
        self.y = checked_labels(y)
        self.C = checked_box(C, self.y)
        self.n_points = self.y.size
        self.linear = self.y
        self.lower = np.where(self.y > 0, 0.0, -self.C)
        self.upper = np.where(self.y > 0, self.C, 0.0)


class _EpsilonInsensitiveData(_LossData):
    """Loss of support vector regression, ``C * max(0, abs(y - f) - epsilon)``: x = (alpha+, -alpha-).

    Parameters
    ----------
    y : array_like of shape (n,)
        Targets, finite.
    C : float or array_like of shape (n,)
        Upper bound of each dual variable, positive.
    epsilon : float
        Error that costs nothing, in units of y, not negative.

    Raises
    ------
    InvalidArgument
        Targets, C or epsilon that cannot be used.
    """

    def __init__(self, y: ArrayLike, C: float | ArrayLike = 100.0, epsilon: float = 0.1) -> None:
        self.y = np.array(y, dtype=float)
        if self.y.ndim != 1 or self.y.size == 0 or not np.isfinite(self.y).all():
            raise InvalidArgument(f"`y` must be finite targets of shape (n,), got shape {self.y.shape}")
        if not 0.0 <= epsilon < np.inf:
            raise InvalidArgument(f"`epsilon` must be a number >= 0, got {epsilon!r}")
        self.C = checked_box(C, self.y)
        self.epsilon = float(epsilon)
        self.n_points = self.y.size
        none = np.zeros(self.n_points)
        self.linear = np.concatenate([self.y - self.epsilon, self.y + self.epsilon])
        self.lower = np.concatenate([none, -self.C])
        self.upper = np.concatenate([self.C, none])
