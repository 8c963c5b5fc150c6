"""The dual of a support vector machine without its kernel: a linear term, a box and a sum."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import frexp, ldexp, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import floats, real, whole
from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.svm.smo_build import solve_signed
from oracle_opt.words import one_line


class SVMStatus(Enum):
    """How a solve ended; the value is a sentence."""

    CONVERGED = "relative gap and violation are as small as asked"
    STEP_LIMIT = "the step limit was reached first"
    ROUNDING_FLOOR = "rounding keeps the gap from falling further"


_STATUS = (SVMStatus.CONVERGED, SVMStatus.STEP_LIMIT, SVMStatus.ROUNDING_FLOOR)


@dataclass(frozen=True, eq=False)
class SVMSolution:
    """A feasible point of the dual of a support vector machine, with a certificate of how good it is.

    The certificate belongs to the numbers returned and holds in exact arithmetic: all that rounding may have made of
    ``K @ b`` and of the sums is on the safe side. On an indefinite kernel it certifies nothing.

    Parameters
    ----------
    signed_dual : ndarray of shape (n,)
        Coefficients b of the points in the decision function: exactly in the box, and of the right sum but for
        `imbalance`. Classification: ``b = y * alpha``; regression: the difference of the two dual variables of a point,
        at least one of which is 0.
    dual_objective : float
        At most the dual objective at b, and at most that of some point with exactly the right sum: so at most the
        optimum.
    primal_objective : float
        At least the primal objective of b and the bias, so at least the optimum.
    gap : float
        At least the primal objective of b and the bias minus the dual objective at b. Summed from terms that are not
        negative, it is more precise than the difference of the two objectives above, which is larger by what rounding
        leaves open of either.
    bias : float
        The constant of the decision function that makes the primal objective least.
    violation : float
        Maximal violation of the optimality conditions: largest slope of the objective in an entry that can rise minus
        the least in one that can fall, in units of the margin, or of the targets.
    n_steps : int
        Two-variable steps taken.
    n_newton : int
        Rounds of Newton's method, one Cholesky factorization each, and steps of the active-set method.
    status : SVMStatus
        Why the solve ended.
    gradient : ndarray of shape (n,)
        The linear term minus ``K @ b``: that is y (of the squared hinge also minus ``ridge * b``), the targets, or 0.
        Right up to rounding.
    imbalance : float
        At least the difference between the sum of b and what it should be.
    stretch : float
        By how many times more the bound above moves at most if the norms of the hyperplane cost more. 1 where it is the
        primal objective.
    """

    __repr__ = one_line

    signed_dual: Vector
    dual_objective: float
    primal_objective: float
    gap: float
    bias: float
    violation: float
    n_steps: int
    n_newton: int
    status: SVMStatus
    gradient: Vector
    imbalance: float = 0.0
    stretch: float = 1.0

    @property
    def alpha(self) -> Vector:
        """Dual variables, ndarray of shape (n,), nonnegative."""
        return np.abs(self.signed_dual)

    @property
    def relative_gap(self) -> float:
        """Gap divided by the absolute value of the primal objective: what `accuracy` asks for."""
        return self.gap / max(abs(self.primal_objective), 1e-300)

    def decision_function(self, cross: ArrayLike) -> Vector:
        """Decision values of new points; of a regression its predictions.

        Parameters
        ----------
        cross : array_like of shape (m, n)
            Kernel between the m new points and the n points solved for.

        Returns
        -------
        ndarray of shape (m,)
            Positive for the class +1, or for points like those solved for.
        """
        return decision_values(cross, self.signed_dual, self.bias)


def decision_values(cross: ArrayLike, signed_dual: Vector, bias: float) -> Vector:
    """Return ``cross @ signed_dual + bias``, ndarray of shape (m,)."""
    matrix = np.asarray(cross)
    if matrix.ndim != 2 or matrix.shape[1] != signed_dual.size:
        raise InvalidArgument(f"`cross` must have shape (m, {signed_dual.size}), got {matrix.shape}")
    used = np.flatnonzero(signed_dual)
    values: Vector = matrix[:, used] @ signed_dual[used] + bias
    return values


@dataclass(eq=False, slots=True)
class BoxDual:
    """``max linear @ b - epsilon * sum(abs(b)) - 1/2 b @ (K + diag(ridge)) @ b``, b in a box and of a given sum.

    The dual of a support vector machine without its kernel K: all in which losses differ. Its variables b are the
    signed dual variables, those in the decision values ``K @ b + bias``.

    Parameters
    ----------
    linear : ndarray of shape (n,)
        Linear term, float64 and contiguous, as all arrays here.
    lower, upper : ndarray of shape (n,)
        The box: finite, ``lower <= 0 <= upper``, with room for each variable. With `epsilon`, ``lower == -upper``
        and `total` is 0.
    total : float
        Sum of b.
    epsilon : float
        Half the width of the tube without loss of a regression.
    ridge : ndarray of shape (n,), optional
        Positive: ``1 / (2 * C)`` of a loss that grows with the square of the error, such as the squared hinge. The box
        is then no constraint but holds every solution in its inside, with one side at 0; `total` and `epsilon` are 0.
    unit : float
        Size of the gradients that matter, a power of 2, with which tolerances go: of targets about half their range.
        0: found from the kernel.
    offset : float
        What was subtracted from the targets to make `linear`; as b then has to add up to 0, it moves the bias alone.
    checked : bool
        Whether all of this is known to hold, as after `check`; small problems are solved faster than they are checked.
    """

    __repr__ = one_line

    linear: Vector
    lower: Vector
    upper: Vector
    total: float = 0.0
    epsilon: float = 0.0
    ridge: Vector | None = None
    unit: float = 1.0
    offset: float = 0.0
    checked: bool = False

    def check(self, n_points: int) -> None:
        """Raise `InvalidArgument` unless this dual, for `n_points` points, can be solved: what `Loss.dual` promises."""
        if self.checked:
            return
        n, zero = n_points, np.zeros(n_points)
        ridge = zero + 1.0 if self.ridge is None else self.ridge
        for name, array in (("linear", self.linear), ("lower", self.lower), ("upper", self.upper), ("ridge", ridge)):
            if not isinstance(array, np.ndarray) or array.shape != (n,) or array.dtype != np.float64:
                raise InvalidArgument(f"`{name}` of a BoxDual must be a float64 array of shape {(n,)}, got {array!r}")
            if not array.flags.c_contiguous or not np.isfinite(array).all():
                raise InvalidArgument(f"`{name}` of a BoxDual must be finite and contiguous, got {array!r}")
        numbers = self.total, self.epsilon, self.unit, self.offset
        if not np.isfinite(numbers).all() or self.epsilon < 0 or self.unit < 0:
            raise InvalidArgument(
                "`total`, `epsilon`, `unit`, `offset` of a BoxDual must be finite, epsilon and unit not negative, "
                f"got {numbers}"
            )
        if not ((self.lower <= 0) & (self.upper >= 0) & (self.lower < self.upper)).all():
            raise InvalidArgument("`lower` and `upper` of a BoxDual must leave room around 0: lower <= 0 <= upper")
        slack = 1e-12 * abs(self.total)
        if not self.lower.sum() - slack <= self.total <= self.upper.sum() + slack:
            raise InvalidArgument(f"`total` of a BoxDual must be a sum that its box allows, got {self.total!r}")
        if self.total != 0 and self.offset != 0:
            raise InvalidArgument("`offset` of a BoxDual must be 0 where `total` is not: it would move the objective")
        if self.epsilon > 0 and not (np.array_equal(self.lower, -self.upper) and self.total == 0):
            raise InvalidArgument(
                "`epsilon` of a BoxDual needs `lower == -upper` and `total` 0: the sides of the kink are mirror images"
            )
        if self.ridge is not None and not (
            (ridge > 0).all()
            and ((self.lower == 0) | (self.upper == 0)).all()
            and self.total == self.epsilon == self.offset == 0
        ):
            raise InvalidArgument(
                "`ridge` of a BoxDual must be positive and needs a box with one side at 0, and `total`, `epsilon` and "
                "`offset` 0: it is made for losses that are 0 on one side"
            )
        self.checked = True

    def longest_multiple(self, b: Vector) -> float:
        """Return the largest t for which ``t * b`` is in the box and of the right sum, for a feasible b.

        At least 1, and 1 where `total` is not 0; infinite for b = 0.
        """
        if self.total != 0:
            return 1.0
        used = np.flatnonzero(b)
        moving = b[used]
        with np.errstate(over="ignore"):
            room = np.where(moving > 0, self.upper[used], self.lower[used]) / moving
        # rounded down, but 1 is feasible
        return max(1.0, (1.0 - EPS) * float(room.min(initial=np.inf)))

    def value(self, b: Vector) -> float:
        """Objective at b without the quadratic form of the kernel."""
        value = float(self.linear @ b)
        if self.epsilon > 0:
            value -= self.epsilon * float(np.abs(b).sum())
        if self.ridge is not None:
            value -= 0.5 * float(self.ridge @ (b * b))
        return value

    def quadratic(self, b: Vector) -> float:
        """At least what `value` subtracts for the ridge: the part that goes with the square of a multiple of b."""
        if self.ridge is None:
            return 0.0
        return (1.0 + EPS * (b.size + 12)) * 0.5 * float(self.ridge @ (b * b))

    def rounding(self, b: Vector) -> float:
        """Bound on the error of `value` at b, that of a rounded linear term included."""
        size = float(np.abs(self.linear) @ np.abs(b)) + self.epsilon * float(np.abs(b).sum())
        if self.ridge is not None:
            size += float(self.ridge @ (b * b))
        return 0.5 * EPS * (b.size + 12) * size

    def slope(self, b: Vector) -> float:
        """Bound on the slope of `value` in any entry near b."""
        slope = float(np.abs(self.linear).max()) + self.epsilon
        if self.ridge is not None:
            slope += 2.0 * float((self.ridge * np.abs(b)).max())
        return slope

    def free(self, b: Vector) -> NDArray[np.intp]:
        """Indices of the entries of b where the objective is smooth both ways."""
        inside = (self.lower < b) & (b < self.upper)
        if self.epsilon > 0:
            inside &= b != 0
        return np.flatnonzero(inside)

    def add_ridge(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add the ridge, if there is one, to the diagonal of K in place, and return K."""
        if self.ridge is not None:
            K.flat[:: K.shape[0] + 1] += self.ridge
        return K

    def solve(
        self,
        K: NDArray[np.floating],
        *,
        start: Vector | None = None,
        accuracy: float = 1e-9,
        tolerance: float | None = None,
        max_steps: int = 10_000_000,
        noise: float = 0.0,
    ) -> SVMSolution:
        """Solve on a kernel that was checked before and has the ridge.

        What is certified holds for every kernel whose entries differ by at most ``noise * sqrt(K_ii * K_jj)``: a sum of
        kernels that was rounded is as good as the exact one.

        Parameters
        ----------
        K : ndarray of shape (n, n)
            The kernel.
        start, accuracy, tolerance, max_steps
            As for `solve_svm`.
        noise : float
            The relative error of its entries.

        Returns
        -------
        SVMSolution
            Dual variables, bounds, and how the solve ended.
        """
        # In units of a power of 2 nothing is rounded.
        unit = self.unit if self.unit > 0 else unit_of(self.total * abs(float(K.mean(dtype=float))))
        b = np.zeros(self.linear.size) if start is None else np.array(start, dtype=float)
        if tolerance is not None:
            wanted = tolerance / unit
        elif self.ridge is None:
            wanted = sqrt(accuracy)
        else:
            # The gap goes with the square of the violation: a test of the gap alone would accept dual variables, and
            # quadratic forms, of half as many digits.
            wanted = accuracy
        linear, lower, upper = self.linear, self.lower, self.upper
        if unit != 1.0:
            linear, lower, upper, b = linear / unit, lower / unit, upper / unit, b / unit
        total, epsilon, offset = self.total / unit, self.epsilon / unit, self.offset / unit
        gradient, dual, primal, gap, bias, violation, imbalance, n_steps, n_newton, status = solve_signed(
            K, linear, lower, upper, self.ridge, total, epsilon, offset, noise, b, accuracy, wanted, max_steps
        )
        if unit != 1.0:
            b *= unit
            gradient *= unit
            dual, primal, gap = dual * unit**2, primal * unit**2, gap * unit**2
            bias, violation, imbalance = bias * unit, violation * unit, imbalance * unit
        if self.offset != 0.0:
            gradient += self.offset
            bias += self.offset
        b.flags.writeable = gradient.flags.writeable = False
        return SVMSolution(
            b, dual, primal, gap, bias, violation, n_steps, n_newton, _STATUS[status], gradient, imbalance
        )


def unit_of(size: float) -> float:
    """Return the power of 2 next above a size, 1 for one that is 0 or too small to divide by."""
    return ldexp(1.0, frexp(size)[1]) if size > 1e-150 else 1.0


def check_options(accuracy: float, tolerance: float | None, max_steps: int) -> None:
    """Raise `InvalidArgument` unless the options of a solve can be used."""
    # On a small problem the checks take a good part of the time, so the usual case is looked for first.
    usual = type(accuracy) is float and tolerance is None and type(max_steps) is int
    if usual and 0.0 <= accuracy < np.inf and max_steps >= 0:
        return
    for name, value in (("accuracy", accuracy), ("tolerance", tolerance)):
        if value is not None or name == "accuracy":
            real(name, value, least=0.0)
    whole("max_steps", max_steps, 0)


def checked_start(start: ArrayLike | None, n: int) -> Vector | None:
    """Return a start as float64, or raise `InvalidArgument` unless it is n finite numbers."""
    if start is None:
        return None
    signed = start if isinstance(start, np.ndarray) and start.dtype == np.float64 else floats("start", start)
    if signed.shape != (n,) or np.count_nonzero(np.isfinite(signed)) < signed.size:
        raise InvalidArgument(f"`start` must be {n} finite signed dual variables, got shape {signed.shape}")
    return signed
