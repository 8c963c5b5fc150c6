"""The power cone: its projection is the zero of a function of one number."""

from collections.abc import Hashable
from math import exp, frexp, hypot, inf, log, log1p

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.conic.cones import Cone, Duals, known_vector, length, nearest_of, one_row, refuse_misfit, scaled
from oracle_opt.oracles.conic.roots import rising_root
from oracle_opt.proof.enclosure import Enclosure

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

    def dual_near(self, y: Enclosure) -> Enclosure:
        """``abs(w) <= (u / a)**a (v / (1 - a))**(1 - a)``: the size of w cut down to that, or u or v raised."""
        refuse_misfit(self, y)
        a = Enclosure.of(np.array(self.exponent), y.exact)
        return _within(y, a, a, 1 - a)

    def point_near(self, v: Vector) -> Vector:
        """The projection, put into the cone as a dual vector is."""
        near = self.project(v)
        unit = frexp(float(np.abs(near).max(initial=0.0)))[1]  # of 2: logarithms of ordinary numbers are exact enough
        inside = _within(Enclosure.of(np.ldexp(near, -unit)), Enclosure.of(np.array(self.exponent)), 1.0, 1.0)
        point: Vector = np.ldexp(inside.lower, unit)
        return point


def _within(y: Enclosure, a: Enclosure, p: Enclosure | float, q: Enclosure | float) -> Enclosure:
    """A vector near (u, v, w) with ``(u / p)**a (v / q)**(1 - a) >= abs(w)`` and u, v >= 0.

    Either u is raised, or v, or the size of w is cut down, whatever moves least.
    """
    u, v, w = y.lower.tolist()
    zero = 0 * u
    u, v, b = max(u, zero), max(v, zero), 1 - a
    if not w:
        return known_vector(u, v, w)
    choices = [known_vector(u, v, zero)]
    log_p, log_q = (one.log() if isinstance(one, Enclosure) else one - 1 for one in (p, q))
    log_u, log_v, log_w = (known_vector(one)[0].log() if one > 0 else None for one in (u, v, abs(w)))
    assert log_w is not None
    try:
        if log_u is not None and log_v is not None:
            most = (a * (log_u - log_p) + b * (log_v - log_q)).exp().lower.item()
            if abs(w) <= most:
                return known_vector(u, v, w)
            choices.append(known_vector(u, v, max(-most, min(w, most))))
        if log_v is not None:
            least = ((log_w - b * (log_v - log_q)) / a + log_p).exp().upper.item()
            choices.append(known_vector(max(u, least), v, w))
        if log_u is not None:
            least = ((log_w - a * (log_u - log_p)) / b + log_q).exp().upper.item()
            choices.append(known_vector(u, max(v, least), w))
    except OverflowError:  # in fractions: numbers of a hundred thousand digits; the first choice is left
        pass
    return nearest_of(choices, y)


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
