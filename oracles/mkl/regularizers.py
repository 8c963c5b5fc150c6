"""The regularizers that are shipped, with their conjugates: one function each, on floats and on fractions."""

from fractions import Fraction
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import floats, real
from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.mkl.duals import GeneralizedKL, SmoothDual, SquaredLpNorm, Thresholded
from oracle_opt.oracles.mkl.regularizer import Regularizer
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.plain import Plain
from oracle_opt.words import shown


class LpRegularizer(Regularizer):
    """``weight / power * norm(d, p)**power``.

    ========================  ==================  =================================
    regularizer               parameters          value
    ========================  ==================  =================================
    l1                        ``p=1, power=1``    ``weight * sum(d)``
    lp                        ``p > 1, power=1``  ``weight * norm(d, p)``
    lp, separable             ``power=p``         ``weight / p * sum(d**p)``
    lp squared (the default)  ``power=2``         ``weight / 2 * norm(d, p)**2``
    ========================  ==================  =================================

    Parameters
    ----------
    p : float
        Exponent of the norm, at least 1. At p > 1 the norm itself has a kink at 0, where 0 is the subgradient given.
    weight : float
        lambda, positive.
    power : float
        At least 1.

    Raises
    ------
    InvalidArgument
        A parameter out of its range.

    References
    ----------
    Jain, Vishwanathan & Varma (2012), "SPG-GMKL", section 3; Vishwanathan, Sun, Theera-Ampornpunt & Varma (2010),
    "Multiple kernel learning and the SMO algorithm", for the square and its dual; Kloft, Brefeld, Sonnenburg & Zien
    (2011), "lp-norm multiple kernel learning", for the analytic update.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import LpRegularizer
    >>> LpRegularizer(2).value(np.array([3.0, 4.0]))
    12.5
    """

    convex = True

    def __init__(self, p: float, weight: float = 1.0, power: float = 2.0) -> None:
        self.p = real("p", p, least=1.0)
        self.weight = _checked_weight(weight, "weight")
        self.power = real("power", power, least=1.0)
        self._q = np.inf if p == 1.0 else p / (p - 1.0)

    def value(self, d: Vector) -> float:
        """``weight / power * norm(d, p)**power``."""
        return float(self.value_of(Plain.of(d)).x)

    def value_of(self, d: Numbers) -> Numbers:
        """The same on numbers of a proof."""
        norm = lp_norm(d, Fraction(self.p)).power(Fraction(self.power))
        return norm * (type(d).of(self.weight) / self.power)

    def gradient(self, d: Vector) -> Vector:
        """``weight * norm**(power - p) * d**(p - 1)``, as ``weight * norm**(power - 1) * (d / norm)**(p - 1)``."""
        norm = _norm(d, self.p)
        if norm == 0.0:
            return np.full(d.shape, self.weight if self.power == self.p == 1.0 else 0.0)
        slope: Vector = self.weight * norm ** (self.power - 1.0) * (d / norm) ** (self.p - 1.0)
        return slope

    def conjugate(self, s: Vector) -> float:
        """With ``m = power / (power - 1)``: ``weight / m * (norm(s, q) / weight)**m``; at power 1 an indicator."""
        if self.power == 1.0:
            return 0.0 if _norm(s, self._q) <= self.weight else inf
        cost = self.conjugate_of(Plain.of(s))
        return inf if cost is None else float(cost.x)

    def conjugate_of(self, s: Numbers) -> Numbers | None:
        """The same on numbers of a proof."""
        norm, weight, power = lp_norm(s, self.conjugate_exponent), type(s).of(self.weight), Fraction(self.power)
        if power == 1:
            return type(s).of(0.0) if norm.above() <= weight.x else None
        m = power / (power - 1)
        try:
            return (norm / weight).power(m) * weight / m
        except OverflowError:
            return None

    @property
    def conjugate_exponent(self) -> Fraction | None:
        """The q of ``1/p + 1/q = 1``; None for infinity."""
        p = Fraction(self.p)
        return None if p == 1 else p / (p - 1)

    @property
    def homogeneous(self) -> bool:
        """Whether the power is 1."""
        return self.power == 1.0

    def best_multiple(self, linear: float, s: Vector, longest: float, quadratic: float = 0.0) -> float:
        """In closed form without `quadratic`: the conjugate is homogeneous of degree m, R of s.

        Then ``linear = 2 m R t**(2 m - 1)``. The derivative ``linear - 2 quadratic t - 2 m R t**(2 m - 1)`` is concave:
        Newton's method from the right of its root, the smaller of those with either term alone, descends to it. At
        power 1, where the conjugate has an end, t stays before it by what rounding may make of a norm.
        """
        if linear <= 0.0:
            return 0.0
        ratio = _norm(s, self._q) / self.weight
        t = min(longest, 0.5 * linear / quadratic) if quadratic > 0.0 else longest
        if ratio == 0.0:
            return t if quadratic > 0.0 else min(longest, 1.0)
        if self.power == 1.0:
            return min(t, (1.0 - EPS * (s.size + 64)) / sqrt(ratio))
        m = self.power / (self.power - 1.0)
        at_one = self.weight / m * ratio**m
        t = min(t, (linear / (2.0 * m * at_one)) ** (1.0 / (2.0 * m - 1.0)))
        for _ in range(20 if quadratic > 0.0 else 0):
            power = 2.0 * m * at_one * t ** (2.0 * m - 2.0)
            excess = (2.0 * quadratic + power) * t - linear
            if excess <= 1e-12 * linear:
                break
            t -= excess / (2.0 * quadratic + (2.0 * m - 1.0) * power)
        return float(t)

    def metric(self, d: Vector) -> Vector | None:
        """``d**(p - 2)`` for p < 2: the Hessian's rank-one part and the SVM's Hessian are left out."""
        return None if self.p >= 2.0 else _bounded(d) ** (self.p - 2.0)

    def block_update(self, w: Vector) -> Vector:
        """``d = c u`` with ``u = w**(1 / (p + 1))`` and ``2 weight c**(power + 1) norm(u, p)**(power - p) = 1``."""
        u = w ** (1.0 / (self.p + 1.0))
        norm = _norm(u, self.p)
        if norm == 0.0:
            return np.zeros_like(w)
        factor = (2.0 * self.weight * norm ** (self.power - self.p)) ** (-1.0 / (self.power + 1.0))
        update: Vector = factor * u
        return update

    def smooth_dual(self, n_kernels: int) -> SmoothDual | None:
        """Of the square, for p > 1."""
        return SquaredLpNorm(self, n_kernels) if self.power == 2.0 and self.p > 1.0 else None


class EntropyRegularizer(Regularizer):
    """``weight * sum(d * log(d / reference) - d + reference)``: the generalized Kullback-Leibler divergence.

    Parameters
    ----------
    weight : float
        lambda, positive.
    reference : float or array_like of shape (p,)
        Positive weights of which the divergence is taken, default 1.

    Notes
    -----
    The slope at 0 is minus infinity. Below ``1e-16 * reference`` the gradient is that at this floor; the tangent there
    lies above the function by at most ``1e-16 * weight * sum(reference)``, which is rounding.

    References
    ----------
    Vishwanathan, Sun, Theera-Ampornpunt & Varma (2010), "Multiple kernel learning and the SMO algorithm".
    """

    convex = True

    def __init__(self, weight: float = 1.0, reference: float | ArrayLike = 1.0) -> None:
        self.weight = _checked_weight(weight, "weight")
        self.reference = floats("reference", reference)
        if (
            self.reference.ndim > 1
            or not self.reference.size
            or not (0.0 < self.reference.min() <= self.reference.max() < np.inf)
        ):
            raise InvalidArgument(f"`reference` must be positive finite weights, got {shown(reference)}")

    def value(self, d: Vector) -> float:
        """``weight * sum(d * (log(d / reference) - 1) + reference)``, as exact near the reference, where it is 0."""
        return float(self.value_of(Plain.of(d)).x)

    def value_of(self, d: Numbers) -> Numbers:
        """The same on numbers of a proof: with ``u = d / reference - 1`` each term is ``(1 + u) log(1 + u) - u``."""
        if self.reference.shape not in ((), d.x.shape):
            raise InvalidArgument(
                f"`reference` must have {d.x.size} weights, one per kernel, got {self.reference.size}"
            )
        of = np.broadcast_to(self.reference, d.x.shape)
        return ((d - of) / of).divergence().dot(of) * self.weight

    def gradient(self, d: Vector) -> Vector:
        """``weight * log(d / reference)``."""
        slope: Vector = self.weight * np.log(np.maximum(d / self.reference, 1e-16))
        return slope

    def conjugate(self, s: Vector) -> float:
        """``weight * sum(reference * (exp(s / weight) - 1))``."""
        cost = self.conjugate_of(Plain.of(s))
        return inf if cost is None else float(cost.x)

    def conjugate_of(self, s: Numbers) -> Numbers | None:
        """The same on numbers of a proof."""
        try:
            return (s / self.weight).expm1().dot(np.broadcast_to(self.reference, s.x.shape)) * self.weight
        except OverflowError:
            return None

    def metric(self, d: Vector) -> Vector:
        """``1 / d``."""
        return 1.0 / _bounded(d)

    def smooth_dual(self, n_kernels: int) -> SmoothDual:
        """As the conjugate is."""
        return GeneralizedKL(self, n_kernels)


class ElasticNet(Regularizer):
    """``linear * sum(d) + quadratic / 2 * sum(d**2)``.

    Parameters
    ----------
    linear, quadratic : float
        Positive weights of the two terms.
    """

    convex = True

    def __init__(self, linear: float = 1.0, quadratic: float = 1.0) -> None:
        self.linear = _checked_weight(linear, "linear")
        self.quadratic = _checked_weight(quadratic, "quadratic")

    def value(self, d: Vector) -> float:
        """Value at d."""
        return float(self.value_of(Plain.of(d)).x)

    def value_of(self, d: Numbers) -> Numbers:
        """The same on numbers of a proof."""
        return d.sum() * self.linear + d.dot(d) * self.quadratic * 0.5

    def gradient(self, d: Vector) -> Vector:
        """``linear + quadratic * d``."""
        slope: Vector = self.linear + self.quadratic * d
        return slope

    def conjugate(self, s: Vector) -> float:
        """``sum(max(0, s - linear)**2) / (2 quadratic)``, coordinate by coordinate."""
        return float(self.conjugate_of(Plain.of(s)).x)

    def conjugate_of(self, s: Numbers) -> Numbers:
        """The same on numbers of a proof."""
        beyond = (s - self.linear).maximum(0.0)
        return beyond.dot(beyond) * 0.5 / self.quadratic

    def smooth_dual(self, n_kernels: int) -> SmoothDual:
        """As the conjugate is differentiable, though only once."""
        return Thresholded(self, n_kernels)


def lp_norm(values: Numbers, p: Fraction | None) -> Numbers:
    """At least the lp norm of what is positive in some numbers, p None being infinity; scaled, as powers overflow."""
    positive = values.maximum(0.0)
    if p == 1:
        return positive.sum()
    largest = positive.max()
    scale = largest.above()
    if p is None or not 0 < scale < inf:
        return largest
    norm: Numbers = (positive / scale).power(p).sum().power(1 / p) * scale
    return norm


def _bounded(d: Vector) -> Vector:
    """Weights relative to the largest, not below 1e-8 of it."""
    largest = float(d.max())
    bounded: Vector = np.maximum(d / largest, 1e-8) if largest > 0 else np.ones_like(d)
    return bounded


def _norm(d: Vector, p: float) -> float:
    """Lp norm of a vector that is not negative."""
    return float(lp_norm(Plain.of(d), None if p == inf else Fraction(p)).x)


def _checked_weight(weight: float, name: str) -> float:
    return real(name, weight, above=0.0)
