"""Regularizers r(d) of kernel weights d >= 0, with their conjugates where these are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import floats, real
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.mkl.duals import GeneralizedKL, SmoothDual, SquaredLpNorm, Thresholded
from oracle_opt.words import by_attributes, shown

GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
# Of the entropy: up to where its series is taken, whose coefficients are 1 / (k (k - 1)), highest first.
NEAR, TINY = 0.1, 1e-16
SERIES = [1.0 / (k * (k - 1)) for k in range(18, 1, -1)]


class Regularizer(ABC):
    """A differentiable function of the kernel weights; subclass it for one of your own.

    `value`, `gradient` and the attribute `convex` are enough. A `conjugate` adds global lower bounds to a sum of
    kernels, `block_update` the analytic update of `FixedPoint`, and `smooth_dual` lets `solve_mkl` work with it.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import Regularizer
    >>> class HalfSquare(Regularizer):
    ...     convex = True
    ...     def value(self, d):
    ...         return 0.5 * float(d @ d)
    ...     def gradient(self, d):
    ...         return d
    >>> HalfSquare().value(np.array([3.0, 4.0]))
    12.5
    """

    __repr__ = by_attributes

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Whether r is convex on the orthant: declare it, ``convex = True`` or ``convex = False``, in the class."""

    @property
    def homogeneous(self) -> bool:
        """Whether ``r(c d) = c r(d)`` for c >= 0, as of a norm. Default: no."""
        return False

    @abstractmethod
    def value(self, d: Vector) -> float:
        """Value at d, ndarray of shape (p,), nonnegative."""

    @abstractmethod
    def gradient(self, d: Vector) -> Vector:
        """Gradient at d, finite, ndarray of shape (p,)."""

    def conjugate(self, s: Vector) -> float:
        """``sup over d >= 0 of s @ d - r(d)`` for s >= 0; infinite, which proves nothing, where it is not known."""
        return float("inf")

    def dual_bound(self, linear: float, s: Vector, longest: float, quadratic: float = 0.0) -> float:
        """``max over 0 <= t <= longest of t * linear - t**2 * quadratic - conjugate(t**2 * s)``: GMKL's dual on a ray.

        Concave in t as the conjugate is convex and increasing. The default searches by golden section; whatever t it
        ends at gives a valid bound.

        Parameters
        ----------
        linear : float
            What of the machine's dual objective at its dual variables b goes with a multiple of b: of the hinge loss
            ``sum(abs(b))``.
        s : ndarray of shape (p,)
            Half the quadratic forms ``S(b)``.
        longest : float
            Largest t for which ``t * b`` is in the box; at least 1, perhaps infinite.
        quadratic : float
            What is subtracted and goes with its square: of the squared hinge, half the form of the ridge.

        Returns
        -------
        float
            The maximum, or less.
        """

        def bound(t: float) -> float:
            return t * linear - t * t * quadratic - self.conjugate(t * t * s)

        low, high = 0.0, min(longest, 2.0)
        inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_inner, at_outer = bound(inner), bound(outer)
        best = max(bound(0.0), bound(1.0), at_inner, at_outer)
        for _ in range(40):  # down to 4e-9 of the first bracket
            if high - low <= 1e-4 * high:
                break
            if at_inner >= at_outer:
                high, outer, at_outer = outer, inner, at_inner
                inner = high - GOLDEN * (high - low)
                at_inner = bound(inner)
            else:
                low, inner, at_inner = inner, outer, at_outer
                outer = low + GOLDEN * (high - low)
                at_outer = bound(outer)
            best = max(best, at_inner, at_outer)
        return best

    def metric(self, d: Vector) -> Vector | None:
        """Diagonal of the Hessian at d up to a factor, positive and bounded; None where all ones do as well."""
        return None

    def block_update(self, w: Vector) -> Vector | None:
        """``argmin over d >= 0 of 1/2 sum(w / d) + r(d)`` for w >= 0; None where there is no closed form."""
        return None

    def smooth_dual(self, n_kernels: int) -> SmoothDual | None:
        """Return the view of r through its conjugate that `solve_mkl` needs; None where that is not smooth or known.

        Raises
        ------
        InvalidArgument
            r does not go with `n_kernels` kernels.
        """
        return None


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
        return float(self.weight / self.power * _norm(d, self.p) ** self.power)

    def gradient(self, d: Vector) -> Vector:
        """``weight * norm**(power - p) * d**(p - 1)``, as ``weight * norm**(power - 1) * (d / norm)**(p - 1)``."""
        norm = _norm(d, self.p)
        if norm == 0.0:
            return np.full(d.shape, self.weight if self.power == self.p == 1.0 else 0.0)
        slope: Vector = self.weight * norm ** (self.power - 1.0) * (d / norm) ** (self.p - 1.0)
        return slope

    def conjugate(self, s: Vector) -> float:
        """With ``m = power / (power - 1)``: ``weight / m * (norm(s, q) / weight)**m``; at power 1 an indicator."""
        ratio = _norm(s, self._q) / self.weight
        if self.power == 1.0:
            return 0.0 if ratio <= 1.0 else float("inf")
        m = self.power / (self.power - 1.0)
        return float(self.weight / m * ratio**m)

    @property
    def homogeneous(self) -> bool:
        """Whether the power is 1."""
        return self.power == 1.0

    def dual_bound(self, linear: float, s: Vector, longest: float, quadratic: float = 0.0) -> float:
        """In closed form without `quadratic`: the conjugate is homogeneous of degree m, R of s.

        Then ``linear = 2 m R t**(2 m - 1)``. The derivative ``linear - 2 quadratic t - 2 m R t**(2 m - 1)`` is concave:
        Newton's method from the right of its root, the smaller of those with either term alone, descends to it.
        """
        if linear <= 0.0:
            return 0.0
        ratio = _norm(s, self._q) / self.weight
        t = min(longest, 0.5 * linear / quadratic) if quadratic > 0.0 else longest
        if ratio == 0.0:
            t = t if quadratic > 0.0 else min(longest, 1.0)
            return t * (linear - t * quadratic)
        if self.power == 1.0:
            t = min(t, 1.0 / sqrt(ratio))
            return t * (linear - t * quadratic)
        m = self.power / (self.power - 1.0)
        at_one = self.weight / m * ratio**m
        t = min(t, (linear / (2.0 * m * at_one)) ** (1.0 / (2.0 * m - 1.0)))
        for _ in range(20 if quadratic > 0.0 else 0):
            power = 2.0 * m * at_one * t ** (2.0 * m - 2.0)
            excess = (2.0 * quadratic + power) * t - linear
            if excess <= 1e-12 * linear:
                break
            t -= excess / (2.0 * quadratic + (2.0 * m - 1.0) * power)
        return float(t * linear - t * t * quadratic - t ** (2.0 * m) * at_one)

    def metric(self, d: Vector) -> Vector | None:
        """``d**(p - 2)`` for p < 2: the rank-one part of the Hessian and that of the SVM are left out."""
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
        of = np.asarray(self.reference)
        u = (d - of) / of
        # (1 + u) log(1 + u) - u, or its series u**2 / 2 - u**3 / 6 + .. + (-u)**k / (k (k - 1))
        small = np.abs(u) < NEAR
        away, v = np.where(small, 1.0, u), np.where(small, u, 0.0)
        terms = np.where(away > -1.0, (1.0 + away) * np.log1p(np.maximum(away, TINY - 1.0)) - away, 1.0)
        return self.weight * float((of * np.where(small, v * v * np.polyval(SERIES, -v), terms)).sum())

    def gradient(self, d: Vector) -> Vector:
        """``weight * log(d / reference)``."""
        slope: Vector = self.weight * np.log(np.maximum(d / self.reference, 1e-16))
        return slope

    def conjugate(self, s: Vector) -> float:
        """``weight * sum(reference * (exp(s / weight) - 1))``."""
        with np.errstate(over="ignore"):
            return self.weight * float((self.reference * np.expm1(s / self.weight)).sum())

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
        return self.linear * float(d.sum()) + 0.5 * self.quadratic * float(d @ d)

    def gradient(self, d: Vector) -> Vector:
        """``linear + quadratic * d``."""
        slope: Vector = self.linear + self.quadratic * d
        return slope

    def conjugate(self, s: Vector) -> float:
        """``sum(max(0, s - linear)**2) / (2 quadratic)``, coordinate by coordinate."""
        beyond = np.maximum(s - self.linear, 0.0)
        return 0.5 / self.quadratic * float(beyond @ beyond)

    def smooth_dual(self, n_kernels: int) -> SmoothDual:
        """As the conjugate is differentiable, though only once."""
        return Thresholded(self, n_kernels)


def _bounded(d: Vector) -> Vector:
    """Weights relative to the largest, not below 1e-8 of it."""
    largest = float(d.max())
    bounded: Vector = np.maximum(d / largest, 1e-8) if largest > 0 else np.ones_like(d)
    return bounded


def _norm(d: Vector, p: float) -> float:
    """Lp norm of a nonnegative vector, scaled so that no power overflows or underflows."""
    largest = float(d.max())
    if largest == 0.0 or p == np.inf:
        return largest
    if p == 1.0:
        return float(d.sum())
    return float(largest * float(((d / largest) ** p).sum()) ** (1.0 / p))


def _checked_weight(weight: float, name: str) -> float:
    return real(name, weight, above=0.0)
