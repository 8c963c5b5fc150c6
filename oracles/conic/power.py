"""The power cone: its projection is the zero of a function of one number."""

from collections.abc import Hashable
from math import exp, hypot, inf, log, log1p

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.conic.cones import Cone, Duals, length, one_row, scaled
from oracle_opt.oracles.conic.roots import rising_root

SMALL = float(np.finfo(float).tiny)  # the least number with all its digits


class Power(Cone):
    """``{(x, y, z) : x**a * y**(1 - a) >= abs(z), x >= 0, y >= 0}``.

    Parameters
    ----------
    exponent : float
        a, strictly between 0 and 1.

    References
    ----------
    .. [1] Hien (2015), "Differential properties of Euclidean projection onto power cone", Mathematical Methods of
       Operations Research.
    """

    def __init__(self, exponent: float) -> None:
        self.exponent = real("exponent", exponent, above=0.0, below=1.0)
        self.dimension = 3

    def __repr__(self) -> str:
        return f"Power({self.exponent:g})"

    @property
    def alike(self) -> Hashable:
        """Power cones of one exponent are alike."""
        return Power, self.exponent

    def screen(self, points: Matrix) -> Vector:
        """``abs(z) - x**a * y**(1 - a)``, x and y cut off at zero, and what was cut off."""
        x, y = np.maximum(points[:, :2], 0.0).T
        beyond = np.abs(points[:, 2]) - x**self.exponent * y ** (1.0 - self.exponent)
        distances: Vector = np.maximum(beyond, 0.0) - np.minimum(points[:, :2], 0.0).sum(axis=1)
        return distances

    def separate(self, v: Vector, most: int | None = None) -> Duals:
        """One row: ``(a r / x_p, (1 - a) r / y_p, -sign(z))``, x_p, y_p and r = abs(z_p) of the nearest point."""
        v = scaled(v)
        x, y, z = (float(entry) for entry in v)
        a, size = self.exponent, abs(z)
        if x >= 0.0 and y >= 0.0 and self._mean(x, y) >= _log(size):
            return np.zeros((0, 3))
        if z == 0.0:
            dual = np.array([max(-x, 0.0), max(-y, 0.0), 0.0])
        elif x <= 0.0 and y <= 0.0 and self._mean(-x / a, -y / (1.0 - a)) >= log(size):
            dual = -v  # v is in the polar cone: the nearest point is the origin
        else:
            first, second = self._log_slopes(x, y, size)
            top = max(first, second, 0.0)
            sign = 1.0 if z > 0.0 else -1.0
            dual = np.array([exp(first - top), exp(second - top), -sign * exp(-top)])
        return one_row(self._kept_in_dual(dual / length(dual)), v)

    def _mean(self, x: float, y: float) -> float:
        """Logarithm of ``x**a * y**(1 - a)``."""
        return self.exponent * _log(x) + (1.0 - self.exponent) * _log(y)

    def _log_slopes(self, x: float, y: float, size: float) -> tuple[float, float]:
        """Logarithms of ``a r / x_p``, ``(1 - a) r / y_p``, ``r = size / (1 + exp(-t))``: see docs/theory_cones.md."""
        a = self.exponent

        def parts(t: float) -> tuple[float, float, float, float, float]:
            log_r, log_rest = log(size) - _softplus(-t), log(size) - _softplus(t)
            first, bend = _log_root(x, log(a) + log_r + log_rest)
            second, other = _log_root(y, log(1.0 - a) + log_r + log_rest)
            return log_r, first, second, bend, other

        def difference(t: float) -> tuple[float, float]:
            log_r, first, second, bend, other = parts(t)
            share, rest = exp(-_softplus(-t)), exp(-_softplus(t))  # r and size - r, over size
            slope = rest - (a * bend + (1.0 - a) * other) * (rest - share)
            return log_r - (a * first + (1.0 - a) * second), slope

        t = rising_root(difference, -inf, inf, 0.0)
        log_r, first, second, _, _ = parts(t)
        return log(a) + log_r - first, log(1.0 - a) + log_r - second

    def _kept_in_dual(self, dual: Vector) -> Vector:
        """The vector with its last entry lowered by more than rounding: at most ``(u/a)**a * (v/(1-a))**(1-a)``."""
        u, v, w = (float(entry) for entry in dual)
        a = self.exponent
        if w == 0.0:
            return np.array([max(u, 0.0), max(v, 0.0), 0.0])
        u, v = max(u, SMALL), max(v, SMALL)
        terms = a * abs(log(u / a)), (1.0 - a) * abs(log(v / (1.0 - a)))
        most = exp(self._mean(u / a, v / (1.0 - a))) * (1.0 - 4 * EPS * (2.0 + sum(terms)))
        return np.array([u, v, max(-most, min(w, most))])


def _log(t: float) -> float:
    return log(t) if t > 0.0 else -inf


def _softplus(t: float) -> float:
    """``log(1 + exp(t))``."""
    return max(t, 0.0) + log1p(exp(-abs(t)))


def _log_root(x: float, log_product: float) -> tuple[float, float]:
    """Logarithm of the positive p with ``p (p - x) = product``, and its slope in the logarithm of the product."""
    twice = hypot(x, 2.0 * exp(0.5 * log_product))  # 2 p - x
    if twice == 0.0 or x == 0.0:
        return 0.5 * log_product, 0.5
    half = 0.5 * (1.0 - x / twice)
    if x > 0.0:
        return log(0.5 * (x + twice)), half
    return log(2.0) + log_product - log(twice - x), half
