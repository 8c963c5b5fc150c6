"""The dual of a support vector machine without its kernel: a concave function of each variable alone, and a sum."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import frexp, ldexp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.svm.loss_dual import LossDual
from oracle_opt.oracles.svm.smo_build import solve_signed
from oracle_opt.oracles.svm.svm_solution import STATUSES, SVMSolution
from oracle_opt.proof.number import Numbers
from oracle_opt.words import one_line


@dataclass(eq=False, slots=True)
class Separable(LossDual):
    """``max linear @ b - kink @ abs(b) - 1/2 ridge @ b**2 - 1/2 b @ K @ b``, b in a box and of a given sum.

    The dual of a support vector machine without its kernel K: all in which losses differ. Its variables b are the
    signed dual variables, those in the decision values ``K @ b + bias``; a loss charges a point whose target, or label,
    is `linear` and whose decision value is f

        max over lower <= b <= upper of (linear - f) b - kink abs(b) - 1/2 ridge b**2.

    `kink` is half the width of the interval of errors that cost nothing, the sides are the steepest slopes of the loss,
    and `ridge` is one over its curvature.

    Parameters
    ----------
    linear : ndarray of shape (n,)
        Linear term, float64 and contiguous, as all arrays here.
    lower, upper : ndarray of shape (n,)
        The box, ``lower <= 0 <= upper`` with room for each variable; a side may be infinite where the ridge is
        positive.
    kink : ndarray of shape (n,), optional
        Not negative; None: 0.
    ridge : ndarray of shape (n,), optional
        Not negative; None: 0.
    total : float
        Sum of b. If it is not 0, infinite sides are all upper ones or all lower ones.
    offset : float
        What was subtracted from the targets to make `linear`, and is added to the bias: as b then has to add up to 0,
        it moves nothing else.
    unit : float
        Size of the gradients that matter, a power of 2, with which tolerances go: of targets about half their range.
        0: found from the kernel.
    reach : ndarray of shape (n,), optional
        Larger than the size of each variable of any solution, whatever the kernel: what stands for infinite sides in
        computations. Default: found from the losses at the hyperplane 0.
    checked : bool
        Whether all of this is known to hold, as after `check`; small problems are solved faster than they are checked.
    """

    __repr__ = one_line

    linear: Vector
    lower: Vector
    upper: Vector
    kink: Vector | None = None
    ridge: Vector | None = None
    total: float = 0.0
    offset: float = 0.0
    unit: float = 1.0
    reach: Vector | None = None
    checked: bool = False
    _box: tuple[Vector, Vector] | None = field(default=None, init=False, repr=False)
    _steepest: float | None = field(default=None, init=False, repr=False)  # the largest of abs(linear)
    _endless: bool = field(default=False, init=False, repr=False)  # each side is 0 or infinite, and no kink

    def check(self, n_points: int) -> None:
        """Raise `InvalidArgument` unless this dual, for `n_points` points, can be solved: what `Loss.dual` promises."""
        if self.checked:
            return
        arrays = {"linear": self.linear, "lower": self.lower, "upper": self.upper}
        arrays |= {name: array for name in ("kink", "ridge", "reach") if (array := getattr(self, name)) is not None}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray) or array.shape != (n_points,) or array.dtype != np.float64:
                raise InvalidArgument(
                    f"`{name}` of a Separable must be a float64 array of shape {(n_points,)}, got {array!r}"
                )
            side = name in ("lower", "upper")
            if not array.flags.c_contiguous or not (~np.isnan(array) if side else np.isfinite(array)).all():
                raise InvalidArgument(f"`{name}` of a Separable must be finite and contiguous, got {array!r}")
        for name in ("kink", "ridge"):
            if name in arrays and not (arrays[name] >= 0).all():
                raise InvalidArgument(f"`{name}` of a Separable must not be negative, got {arrays[name].min()!r}")
            if name in arrays and not arrays[name].any():
                setattr(self, name, None)
        self._check_numbers()
        self._check_box()
        self.checked = True

    def _check_numbers(self) -> None:
        for name in ("total", "offset", "unit"):
            if not np.isfinite(getattr(self, name)):
                raise InvalidArgument(f"`{name}` of a Separable must be finite, got {getattr(self, name)!r}")
        if self.unit < 0:
            raise InvalidArgument(f"`unit` of a Separable must not be negative, got {self.unit!r}")
        if self.total != 0 and self.offset != 0:
            raise InvalidArgument("`offset` of a Separable must be 0 where `total` is not: it would move the objective")

    def _check_box(self) -> None:
        if not ((self.lower <= 0) & (self.upper >= 0) & (self.lower < self.upper)).all():
            raise InvalidArgument("`lower` and `upper` of a Separable must leave room around 0: lower <= 0 <= upper")
        none = np.zeros(self.linear.size) if self.ridge is None else self.ridge
        for name, infinite in (("lower", np.isinf(self.lower)), ("upper", np.isinf(self.upper))):
            if (infinite & (none == 0)).any():
                raise InvalidArgument(f"`{name}` of a Separable must be finite where `ridge` is 0")
        slack = 1e-12 * abs(self.total)
        if not self.lower.sum() - slack <= self.total <= self.upper.sum() + slack:
            raise InvalidArgument(f"`total` of a Separable must be a sum that its box allows, got {self.total!r}")
        if self.total != 0 and np.isinf(self.lower).any() and np.isinf(self.upper).any():
            raise InvalidArgument(
                "`total` of a Separable must be 0 where `lower` and `upper` are both infinite somewhere, got "
                f"{self.total!r}: solutions have no bound then that holds for every kernel"
            )
        if self.reach is not None and not (self.reach > 0).all():
            raise InvalidArgument(f"`reach` of a Separable must be positive, got {self.reach.min()!r}")

    @property
    def box(self) -> tuple[Vector, Vector]:
        """Finite sides that hold every solution in their inside: the box, `reach` where it has no end.

        Let P be what the losses charge the hyperplane 0 with any constant, here the median. No loss of a solution is
        more, and where a variable is in the inside of its interval its loss is at least ``1/2 ridge b**2``: so
        ``abs(b) <= sqrt(2 P / ridge)``, of which twice as much is taken. Of another sum than 0, where infinite sides
        are all on one side, no variable exceeds the sum and the other sides.
        """
        if self.ridge is None:
            return self.lower, self.upper
        if self._box is None:
            reach = self._far() if self.reach is None else self.reach
            self._box = np.maximum(self.lower, -reach), np.minimum(self.upper, reach)
            sides = np.minimum(-self.lower, self.upper) + np.isfinite(self.upper - self.lower)
            self._endless = self.kink is None and not sides.any()
        return self._box

    def _far(self) -> Vector:
        assert self.ridge is not None
        if self.total != 0:
            sides = np.concatenate([self.lower, self.upper])
            return np.full(self.linear.size, 2.0 * (abs(self.total) + float(np.abs(sides[np.isfinite(sides)]).sum())))
        slope = self.linear - np.median(self.linear)
        losses = self.charged(slope, self.response(slope))
        with np.errstate(divide="ignore"):
            far: Vector = 2.0 * np.sqrt(2.0 * max(float(losses.sum()), np.finfo(float).tiny) / self.ridge)
        return far

    def response(self, slope: Vector) -> Vector:
        """Where ``slope b - kink abs(b) - 1/2 ridge b**2`` is largest in the box, point by point: ndarray (n,)."""
        past = np.abs(slope) if self.kink is None else np.maximum(np.abs(slope) - self.kink, 0.0)
        end = np.where(slope > 0, self.upper, -self.lower)
        if self.ridge is None:
            size = np.where(past > 0, end, 0.0)
        else:
            bent = self.ridge > 0
            free = past / np.where(bent, self.ridge, 1.0)
            size = np.where(bent, np.minimum(free, end), np.where(past > 0, end, 0.0))
        at: Vector = np.copysign(size, slope)
        return at

    def charged(self, slope: Vector, b: Vector) -> Vector:
        """``slope b - kink abs(b) - 1/2 ridge b**2``, point by point: the loss, at the `response` to slope."""
        charged = slope * b
        if self.kink is not None:
            charged -= self.kink * np.abs(b)
        if self.ridge is not None:
            charged -= 0.5 * self.ridge * b * b
        return charged

    def part(self, points: Indices, factor: float = 1.0) -> Separable:
        """The dual of some points alone, their box times a factor."""
        lower, upper = self.box
        return Separable(
            self.linear[points],
            factor * self.lower[points],
            factor * self.upper[points],
            None if self.kink is None else self.kink[points],
            None if self.ridge is None else self.ridge[points],
            self.total,
            self.offset,
            self.unit,
            None if self.ridge is None else factor * np.maximum(upper, -lower)[points],
            checked=True,
        )

    def weighted(self, weights: Vector) -> Separable:
        """The dual where the loss of each point counts so many times, positive `weights`: sides grow, ridges shrink.

        It is refused where `total` is not 0: what it is of weighted points the loss alone knows.
        """
        if self.total != 0:
            raise InvalidArgument(f"`total` of a Separable must be 0 where points are weighted, got {self.total!r}")
        ridge = None if self.ridge is None else self.ridge / weights
        lower, upper = self.lower * weights, self.upper * weights
        return Separable(self.linear, lower, upper, self.kink, ridge, offset=self.offset, unit=self.unit)

    def longest_multiple(self, b: Vector) -> float:
        """Return the largest t for which ``t * b`` is in the finite `box` and of the right sum, for a feasible b.

        At least 1, and 1 where `total` is not 0; infinite for b = 0.
        """
        if self.total != 0:
            return 1.0
        lower, upper = self.box
        if (np.abs(b) == np.maximum(upper, -lower)).any():  # as of most, at their end
            return 1.0
        used = np.flatnonzero(b)
        moving = b[used]
        with np.errstate(over="ignore"):
            room = np.where(moving > 0, upper[used], lower[used]) / moving
        # rounded down, but 1 is feasible
        return max(1.0, (1.0 - EPS) * float(room.min(initial=np.inf)))

    def value(self, b: Vector) -> float:
        """Objective at b without the quadratic form of the kernel."""
        value = float(self.linear @ b)
        if self.kink is not None:
            value -= float(self.kink @ np.abs(b))
        if self.ridge is not None:
            value -= 0.5 * float(self.ridge @ (b * b))
        return value

    def rounding(self, b: Vector) -> float:
        """Bound on the error of `value` at b, that of a rounded linear term included."""
        size = float(np.abs(self.linear) @ np.abs(b))
        if self.kink is not None:
            size += float(self.kink @ np.abs(b))
        if self.ridge is not None:
            size += float(self.ridge @ (b * b))
        return 0.5 * EPS * (b.size + 12) * size

    def proves(self, x: Numbers, moved: float) -> tuple[Numbers, Numbers]:
        """See `LossDual.proves`: the slope of L there is at most ``abs(linear) + kink + ridge (abs(x) + moved)``.

        A ridge is ``1 / (2 C)``, rounded, and so is a shifted target: half a unit in the last place of either is
        charged.
        """
        numbers = type(x)
        linear, quadratic = numbers.of(self.linear).dot(x), numbers.of(0.0)
        size = abs(x) if self.kink is not None or self.offset or self.ridge is not None else x
        if self.kink is not None:
            linear = linear - numbers.of(self.kink).dot(size)
        if self.offset:
            linear = linear - numbers.of(abs(self.linear)).dot(size) * (0.5 * EPS)
        if self.ridge is not None:
            quadratic = numbers.of(self.ridge).dot(x * x) * (0.5 + 0.5 * EPS)
        if moved:
            if self._steepest is None:
                self._steepest = float(np.abs(self.linear).max())
            steep = numbers.of(self._steepest)
            if self.kink is not None:
                steep = steep + float(self.kink.max())
            if self.ridge is not None:
                steep = steep + (numbers.of(self.ridge) * (size + moved)).max()
            linear = linear - steep * moved
        return linear, quadratic

    def conjugate(self, slope: Numbers, less: Any) -> Numbers:
        """See `LossDual.conjugate`: the larger of what the variable gains above 0 and below."""
        if self.kink is not None:
            less = type(slope).of(self.kink) + (0.0 if less is None else less)
        if self.offset:
            less = type(slope).of(abs(self.linear)) * (-0.5 * EPS) + (0.0 if less is None else less)
        rise, fall = (slope, -slope) if less is None else (slope - less, -slope - less)
        return largest(rise, self.upper, self.ridge).maximum(largest(fall, -self.lower, self.ridge))

    def free(self, b: Vector) -> NDArray[np.intp]:
        """Indices of the entries of b where the objective is smooth both ways."""
        inside = (self.lower < b) & (b < self.upper)
        if self.kink is not None:
            inside &= (b != 0) | (self.kink == 0)
        return np.flatnonzero(inside)

    def bend(self, points: Indices, b: Vector) -> float:
        """None but the ridge."""
        return 0.0

    @property
    def piecewise(self) -> Separable:
        """The dual itself."""
        return self

    def numbers(self) -> tuple[Any, ...]:
        """The finite box, so that a reach counts; one number for equal kinks."""
        kink = 0.0 if self.kink is None else float(self.kink[0]) if np.ptp(self.kink) == 0 else self.kink
        return self.linear, *self.box, self.ridge, self.total, kink, self.unit, self.offset

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
        """See `LossDual.solve`: two-variable steps, then Newton's method, compiled."""
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
        (lower, upper), linear, kink = self.box, self.linear, self.kink
        if unit != 1.0:
            linear, lower, upper, b = linear / unit, lower / unit, upper / unit, b / unit
            kink = None if kink is None else kink / unit
        total, offset = self.total / unit, self.offset / unit
        gradient, dual, primal, gap, bias, violation, imbalance, n_steps, n_newton, status = solve_signed(
            K,
            linear,
            lower,
            upper,
            kink,
            self.ridge,
            self._endless,
            total,
            offset,
            noise,
            b,
            accuracy,
            wanted,
            max_steps,
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
            b, dual, primal, gap, bias, violation, n_steps, n_newton, STATUSES[status], gradient, imbalance
        )


def largest(slope: Numbers, end: Vector, ridge: Vector | None) -> Numbers:
    """``max over 0 <= z <= end of slope z - 1/2 ridge z**2``, entry by entry, from above; no end, some ridge."""
    t = slope.maximum(0.0)
    if ridge is None:
        return t * end
    finite, curved = np.isfinite(end), ridge > 0
    end, numbers = np.where(finite, end, 0.0), type(slope)
    least_ridge = numbers.of(ridge) * (1.0 - EPS)
    z = t / (numbers.of(np.where(curved, ridge, 1.0)) * (1.0 - EPS))
    if finite.any():
        z = z * (curved & ~finite).astype(float) + z.minimum(end) * (curved & finite).astype(float)
        z = z + end * (~curved).astype(float)
        t = t + (t - least_ridge * end).maximum(0.0) * finite.astype(float)
    return z * t * 0.5


def unit_of(size: float) -> float:
    """Return the power of 2 next above a size, 1 for one that is 0 or too small to divide by."""
    return ldexp(1.0, frexp(size)[1]) if size > 1e-150 else 1.0
