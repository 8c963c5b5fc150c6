"""The exponential cone: its projection is the zero of a function of one number."""

from collections.abc import Hashable
from math import exp, inf, log

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.conic.cones import Cone, Duals, known_vector, length, nearest_of, one_row, refuse_misfit, scaled
from oracle_opt.oracles.conic.roots import rising_root
from oracle_opt.proof.enclosure import Enclosure

TINY = 5e-324  # the least positive number
FAR = 700.0  # exp(FAR) is finite, exp(-FAR) is not zero


class Exponential(Cone):
    """Closure of ``{(x, y, z) : y > 0, y * exp(x / y) <= z}``.

    References
    ----------
    .. [1] Friberg (2023), "Projection onto the exponential cone: a univariate root-finding problem", Optimization
       Methods and Software.
    """

    def __init__(self) -> None:
        self.dimension = 3

    def __repr__(self) -> str:
        return "Exponential()"

    @property
    def alike(self) -> Hashable:
        """All are."""
        return Exponential

    def screen(self, points: Matrix) -> Vector:
        """``x - y log(z / y)`` where y and z are positive, else what keeps y or z from being so."""
        x, y, z = points.T
        inner = (y > 0.0) & (z > 0.0)
        below, above = np.where(inner, y, 1.0), np.where(inner, z, 1.0)
        beyond = np.where(y > 0.0, y - z, np.maximum(x, 0.0) - y + np.maximum(-z, 0.0))
        distances: Vector = np.where(inner, x - below * (np.log(above) - np.log(below)), beyond)
        return np.maximum(distances, 0.0)

    def nearby(self, points: Matrix) -> Matrix:
        """One step of Newton's method to ``x = y log(z / y)``, then x lowered to it by more than rounding."""
        x, y, z = points.T
        with np.errstate(all="ignore"):
            log_ratio = np.log(z / y)
            normal = np.c_[np.ones_like(x), 1.0 - log_ratio, -y / z]
            step = np.maximum(x - y * log_ratio, 0.0) / (normal**2).sum(axis=1)
            near: Matrix = points - step[:, None] * normal
            _, y, z = near.T
            log_ratio = np.log(z / y)
            most = y * log_ratio - (16.0 * EPS * y * (1.0 + np.abs(log_ratio)) + 4.0 * TINY)
        near[:, 0] = np.minimum(near[:, 0], most)
        near[~((y > 0.0) & (np.abs(log_ratio) < 0.9 * FAR) & np.isfinite(near).all(axis=1))] = np.nan
        return near

    def separate(self, v: Vector, most: int | None = None) -> Duals:
        """One row: ``(-1, r - 1, exp(-r))``, r the ratio x / y at the nearest point, if that is none of a face."""
        v = scaled(v)
        x, y, z = (float(entry) for entry in v)
        if _inside(x, y, z):
            return np.zeros((0, 3))
        if _in_polar(x, y, z):
            dual = -v
        elif x <= 0.0 and y <= 0.0:  # the nearest point is (x, 0, max(z, 0))
            dual = np.array([0.0, -y, max(-z, 0.0)])
        else:
            dual = _support(_ratio(x, y, z))
        return one_row(_kept_in_dual(dual / length(dual)), v)

    def dual_near(self, y: Enclosure) -> Enclosure:
        """V raised to ``u (1 + log(w / -u))``, or w so that v is; ``(0, v, w)`` where u is not negative.

        The logarithm of ``-u exp(v / u - 1) <= w``, for u < 0 and w > 0.
        """
        refuse_misfit(self, y)
        u, v, w = y.lower.tolist()
        zero = 0 * u
        if u >= 0:
            return known_vector(zero, max(v, zero), max(w, zero))
        choices = []
        try:  # the least w
            least = (-y[0] * ((-y[1]) / (-y[0]) - 1).exp()).upper.item()
            choices.append(known_vector(u, v, max(w, least)))
        except OverflowError:
            pass
        if w > 0:
            least = (y[0] * (1 + y[2].log() - (-y[0]).log())).upper.item()
            choices.append(known_vector(u, max(v, least), w))
        if not choices:
            raise Refuted("the dual vector of an exponential cone has a negative first entry, and no positive last one")
        return nearest_of(choices, y)

    def point_near(self, v: Vector) -> Vector:
        """The projection with x lowered to ``y log(z / y)``, or z raised where that moves less."""
        x, y, z = self.project(v).tolist()
        if y <= 0:
            return np.array([min(x, 0.0), 0.0, max(z, 0.0)])
        ratio = Enclosure.of(np.array(x)) / y
        raised = max(z, (ratio.exp() * y).upper.item())
        if z <= 0:
            return np.array([x, y, raised])
        most = (Enclosure.of(np.array(z)).log() - Enclosure.of(np.array(y)).log()) * y
        lowered = min(x, most.lower.item())
        return np.array([lowered, y, z] if x - lowered < raised - z else [x, y, raised])


def _inside(x: float, y: float, z: float) -> bool:
    if y > 0.0 and z > 0.0:
        return x <= y * (log(z) - log(y))
    return y == 0.0 and x <= 0.0 and z >= 0.0


def _in_polar(x: float, y: float, z: float) -> bool:
    """Whether ``x * exp(y / x) <= -e z``, x > 0, or a limit of that."""
    if x > 0.0 and z < 0.0:
        return y <= x * (1.0 + log(-z) - log(x))
    return x == 0.0 and y <= 0.0 and z <= 0.0


def _support(r: float) -> Vector:
    """``(-1, r - 1, exp(-r))``, normal to the cone along the ray ``(r, 1, exp(r))``; times exp(r) where r < 0."""
    if r < -FAR:
        return np.array([0.0, 0.0, 1.0])
    return np.array([-1.0, r - 1.0, exp(-r)]) if r > 0.0 else np.array([-exp(r), (r - 1.0) * exp(r), 1.0])


def _ratio(x: float, y: float, z: float) -> float:
    """The ratio r at the nearest point of a point that is neither in the cone, nor in the polar, nor near the face.

    Zero of a function that rises with r, see docs/theory_cones.md; compared in logarithms, which do not overflow.
    """
    low, high = -inf, inf  # where a and b are positive
    if x > 0.0:
        low = 1.0 - y / x
    elif x < 0.0:
        high = 1.0 - y / x
    if y > 0.0:
        high = min(high, x / y)
    elif y < 0.0:
        low = max(low, x / y)

    def difference(r: float) -> tuple[float, float]:
        q = r * r - r + 1.0
        turn = (2.0 * r - 1.0) / q
        over, under = ((r - 1.0) * x + y) / q, (x - r * y) / q
        if not over > 0.0:
            return -inf, 0.0
        if not under > 0.0:
            return inf, 0.0
        up, down = r + log(over), log(under) - r
        rise, fall = 1.0 + x / (over * q) - turn, -1.0 - y / (under * q) - turn
        if z > 0.0:  # exp(up) = z + exp(down)
            if down > FAR:
                return up - down, rise - fall
            other = exp(down)
            return up - log(z + other), rise - fall * other / (z + other)
        if z < 0.0:  # exp(down) = exp(up) - z
            if up > FAR:
                return up - down, rise - fall
            other = exp(up)
            return log(other - z) - down, rise * other / (other - z) - fall
        return up - down, rise - fall

    # infinite ends: the bracket grows from the other one; q overflows where nothing depends on r any more
    low, high = (max(-1e150, min(end, 1e150)) for end in (low, high))
    if high == 1e150 and low > -1e150:
        start = low + max(1.0, abs(low))
    elif low == -1e150 and high < 1e150:
        start = high - max(1.0, abs(high))
    else:
        start = 0.5 * (low + high)
    return rising_root(difference, low, high, start) if low < start < high else start


def _kept_in_dual(dual: Vector) -> Vector:
    """The vector with v raised by more than rounding: ``v >= u (1 + log(w / -u))`` where u < 0."""
    u, v, w = (float(entry) for entry in dual)
    if u > -TINY / EPS:
        return np.array([0.0, max(v, 0.0), max(w, 0.0)])
    w = max(w, TINY)
    logs = log(w), log(-u)
    least = u * (1.0 + logs[0] - logs[1])
    return np.array([u, max(v, least - u * 4 * EPS * (2.0 + abs(logs[0]) + abs(logs[1]))), w])
