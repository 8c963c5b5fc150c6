"""Regularizers r(d) of kernel weights d >= 0: what a class of one's own has to say, and may say besides."""

from abc import ABC, abstractmethod
from math import inf, isfinite

import numpy as np

from oracle_opt.arguments import NamedArguments
from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.oracles.mkl.duals import SmoothDual
from oracle_opt.proof.number import Numbers
from oracle_opt.words import by_attributes

GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
SEARCH = 80  # steps of the search for a good multiple
ROUNDING = 256 * EPS  # what rounding may make of a regularizer of a user's own, or of its conjugate, relative to them


class Regularizer(NamedArguments, ABC):
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

    def value_of(self, d: Numbers) -> Numbers:
        """Value at `d` on numbers of a proof, at least. Default: `value` is taken at its word, up to `ROUNDING`."""
        value = float(self.value(np.array(d.x, dtype=float)))
        if not isfinite(value):
            raise Refuted(f"the regularizer is {value}")
        return type(d).near(value, ROUNDING * abs(value))

    def conjugate_of(self, s: Numbers) -> Numbers | None:
        """The `conjugate` at `s` on numbers of a proof, at least; None if it is infinite or not known."""
        above = np.nextafter(np.array(s.above(), dtype=float), inf)
        value = float(self.conjugate(np.maximum(above, 0.0)))
        return type(s).near(value, ROUNDING * abs(value)) if value < inf else None

    def best_multiple(self, linear: float, s: Vector, longest: float, quadratic: float = 0.0) -> float:
        """The t of `dual_bound`, about, from 0 to `longest`; whatever it is, a bound is proven.

        The default searches by golden section. `linear`, `s` and `quadratic` are as for `dual_bound`.
        """

        def bound(t: float) -> float:
            with np.errstate(over="ignore"):
                return t * linear - t * t * quadratic - self.conjugate(t * t * s)

        low, high = 0.0, min(longest, 2.0)
        inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_inner, at_outer = bound(inner), bound(outer)
        for _ in range(SEARCH):
            if high - low <= 1e-7 * high:
                break
            if at_inner >= at_outer:
                high, outer, at_outer = outer, inner, at_inner
                inner = high - GOLDEN * (high - low)
                at_inner = bound(inner)
            else:
                low, inner, at_inner = inner, outer, at_outer
                outer = low + GOLDEN * (high - low)
                at_outer = bound(outer)
        return 0.5 * (low + high)

    def dual_bound(self, linear: float, s: Vector, longest: float, quadratic: float = 0.0) -> float:
        """``max over 0 <= t <= longest of t * linear - t**2 * quadratic - conjugate(t**2 * s)``: GMKL's dual on a ray.

        Concave in t as the conjugate is convex and increasing. Whatever `best_multiple` is gives a valid bound.
        `linear` is what of the machine's dual objective at its dual variables b goes with a multiple of b: of the hinge
        loss ``sum(abs(b))``; `quadratic` what is subtracted and goes with its square: of the squared hinge, half the
        form of the ridge. `s` is half the quadratic forms ``S(b)``, shape (p,), and `longest` the largest t for which
        ``t * b`` is in the box, at least 1, perhaps infinite.
        """
        rays = self.best_multiple(linear, s, longest, quadratic), 1.0, 0.0
        return max(t * linear - t * t * quadratic - self.conjugate(t * t * s) for t in rays)

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


def regularize(regularizer: Regularizer, d: Vector) -> tuple[float, Vector]:
    """Value and gradient of a regularizer at weights d."""
    value, slope = float(regularizer.value(d)), np.asarray(regularizer.gradient(d), dtype=float)
    if slope.shape != d.shape:
        raise InvalidArgument(f"`regularizer.gradient` must have shape {d.shape}, got {slope.shape}")
    if not np.isfinite(value):
        raise InvalidArgument(f"`regularizer.value` must be finite on the orthant, got {value}")
    if not np.isfinite(slope).all():
        k = int(np.flatnonzero(~np.isfinite(slope))[0])
        raise InvalidArgument(
            f"`regularizer.gradient` must be finite on the orthant, got {slope[k]} for weight {k} at {d[k]:g}"
        )
    return value, slope
