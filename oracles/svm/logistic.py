"""The logistic loss of classification."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.svm.checked_data import checked_labels, weights_of_points
from oracle_opt.oracles.svm.loss import LabelLoss
from oracle_opt.oracles.svm.loss_dual import LossDual
from oracle_opt.oracles.svm.pieces import falling_root, imbalance
from oracle_opt.oracles.svm.smo_build import signed_box
from oracle_opt.oracles.svm.svm_solution import SVMSolution, SVMStatus
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers

# Second derivatives beyond so many times the least count as without end: such a variable hardly moves.
STIFF = 1e8
# Margins beyond which curvature is that at this margin; it is nothing there.
FLAT = 60.0
# Rows of a product in long doubles at a time.
ROWS = 256
# Halvings of a step of Newton's method, and the share of the expected descent that is enough.
HALVINGS, DESCENT = 40, 1e-4


class EntropyDual(LossDual):
    """``max sum_i C_i h(y_i b_i / C_i) - 1/2 b @ K @ b`` over ``0 <= y * b <= C``, ``sum(b) == 0``, h the entropy.

    ``C log(1 + exp(-y f))`` is the loss at decision values f, ``b = y C / (1 + exp(y f))`` inside.
    """

    __slots__ = ("C", "linear", "lower", "upper", "y")
    ridge = None
    total = offset = 0.0
    piecewise = None

    def __init__(self, y: Vector, C: Vector) -> None:
        self.y, self.C, self.linear = y, C, np.zeros(y.size)
        self.lower, self.upper = signed_box(y, C)

    def __repr__(self) -> str:
        return f"EntropyDual(n={self.y.size})"

    def check(self, n_points: int) -> None:
        """`Logistic` has checked its labels and weights."""
        if self.y.shape != (n_points,):
            raise InvalidArgument(f"`y` must have {n_points} labels, one per point, got {self.y.size}")

    def proves(self, x: Numbers, moved: float) -> tuple[Numbers, Numbers]:
        """See `LossDual.proves`, and for a feasible point docs/theory_machines.md, *Logistic*."""
        numbers = type(x)
        C = numbers.of(self.C)
        p = x * self.y / C
        value = (C * (1.0 - (p - 1.0).divergence() - (-p).divergence())).sum()
        if moved:
            sizes = np.abs(np.asarray(x.x, dtype=float))
            room = np.minimum(sizes, self.C - sizes)
            widest = int(room.argmax())
            if room[widest] <= 2.0 * moved:
                return numbers.of(0.0), numbers.of(0.0)
            value = value - numbers.of((1.0 + log(2.0 * self.C[widest] / room[widest])) * moved)
        return value, numbers.of(0.0)

    def conjugate(self, slope: Numbers, less: Any) -> Numbers:
        """See `LossDual.conjugate`: ``C log(1 + exp(z))``, ``z = y slope - less``, by ``u = exp(-abs(z))``."""
        numbers, rise = type(slope), slope * self.y
        z = numbers.of((rise if less is None else rise - less).above())
        u = (-abs(z)).expm1() + 1.0
        return (z.maximum(0.0) + (u.divergence() + u) / (u + 1.0)) * self.C

    def longest_multiple(self, b: Vector) -> float:
        """1: an entropy is no multiple of another, but by concavity at least so many times as large up to there."""
        return 1.0

    def free(self, b: Vector) -> Indices:
        """Entries whose second derivative is not far beyond the least."""
        a = np.abs(b)
        room = a * (self.C - a) / self.C
        return np.flatnonzero(room * STIFF > room.max(initial=0.0))

    def bend(self, points: Indices, b: Vector) -> Vector:
        """``C / (a (C - a))``, ``a = abs(b)``."""
        a, C = np.abs(b[points]), self.C[points]
        bend: Vector = C / (a * (C - a))
        return bend

    def weighted(self, weights: Vector) -> EntropyDual:
        """C grows by the weights."""
        return EntropyDual(self.y, self.C * weights)

    def numbers(self) -> tuple[Any, ...]:
        """Labels and weights."""
        return self.y, self.C

    def response(self, decision: Vector) -> Vector:
        """The best signed dual variables for decision values f: ``y C / (1 + exp(y f))``."""
        from scipy.special import expit  # only here: the import takes time

        b: Vector = self.y * self.C * expit(-self.y * decision)
        return b

    def bias(self, decision: Vector) -> float:
        """The bias of least losses, where the `response` adds up to 0."""
        of_class = log(float(self.C[self.y > 0].sum()) / float(self.C[self.y < 0].sum()))
        low, high = -float(decision.max()) - abs(of_class), abs(of_class) - float(decision.min())

        def excess(bias: float) -> tuple[float, float]:
            b = self.response(decision + bias)
            a = np.abs(b)
            return float(b.sum()), float((a * (1.0 - a / self.C)).sum())

        return falling_root(excess, low, high, min(max(of_class - float(np.median(decision)), low), high), unit=1.0)

    def losses(self, decision: Vector) -> float:
        """The losses of all points."""
        return float(self.C @ np.logaddexp(0.0, -self.y * decision))

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
        """See `LossDual.solve`: at most `max_steps` steps of iteratively reweighted least squares, damped where needed.

        What is certified and returned is the `response` to v, in the box and of the right sum; at the solution it is v.
        Rasmussen, Williams (2006), "Gaussian Processes for Machine Learning", algorithm 3.1.
        """
        dense = np.asarray(K, dtype=np.float64)
        wanted = accuracy if tolerance is None else tolerance
        v = np.zeros(self.y.size) if start is None else np.array(start, dtype=float)
        moved, least, n_newton = dense @ v, np.inf, 0
        while True:
            bias = self.bias(moved)
            b = self.response(moved + bias)
            found = self._certified(dense, b, moved + bias, noise, n_newton)
            if found.relative_gap > accuracy and found.violation <= wanted:  # what is left may be rounding
                found = self._certified(dense, b, moved + bias, noise, n_newton, extended=True)
            if found.relative_gap <= accuracy and found.violation <= wanted:
                return replace(found, status=SVMStatus.CONVERGED)
            if n_newton >= max_steps:
                return found
            step = self._step(dense, v, moved, bias, found.signed_dual)
            # near the end violations fall fast, or are rounding
            if step is None or (found.violation <= sqrt(EPS) and found.violation >= 0.5 * least):
                return replace(found, status=SVMStatus.ROUNDING_FLOOR)
            least, n_newton = min(least, found.violation), n_newton + 1
            v, moved = step

    def _step(self, K: Matrix, v: Vector, moved: Vector, bias: float, b: Vector) -> tuple[Vector, Vector] | None:
        """The next v and ``K @ v``: ``(I + D K) dv = b - v - D dbias``, D the curvature; None at rounding."""
        f = np.clip(moved + bias, -FLAT, FLAT)
        from scipy.special import expit  # only here: the import takes time

        s = np.sqrt(self.C * expit(f) * expit(-f))
        B = K * s
        B *= s[:, None]
        B.flat[:: s.size + 1] += 1.0
        L, failed = dpotrf(B, lower=1, overwrite_a=1)
        if failed:
            return None
        right = np.column_stack([(b - v) / s, s])
        solved = s[:, None] * dpotrs(L, right, lower=1)[0]
        # sum(v + dv) == 0
        of_bias = float((v + solved[:, 0]).sum()) / float(solved[:, 1].sum())
        dv = solved[:, 0] - of_bias * solved[:, 1]
        dm = K @ dv
        at = 0.5 * float(v @ moved) + self.losses(moved + bias)
        slope = float((v - b) @ dm) - float(b.sum()) * of_bias
        slack, t = 8 * EPS * abs(at), 1.0
        for _ in range(HALVINGS):
            after = moved + t * dm
            value = 0.5 * float((v + t * dv) @ after) + self.losses(after + bias + t * of_bias)
            if value <= at + DESCENT * t * slope + slack:
                return v + t * dv, after
            t *= 0.5
        return None

    def _certified(
        self, K: Matrix, b: Vector, decision: Vector, noise: float, n_newton: int, extended: bool = False
    ) -> SVMSolution:
        """The bounds of b, whatever rounding and kernel errors made of ``K @ b``; in long doubles if `extended`."""
        root = np.sqrt(np.maximum(K.diagonal(), 0.0))
        root = root + 1e-7 * float(root.max())
        size = (1.0 + 1e-6) * float(root @ np.abs(b)) * root
        v, blur = K @ b, (noise + EPS * (b.size + 8)) * size
        wrong = blur
        if extended:
            v = extended_product(K, b)
            wrong = (noise + float(np.finfo(np.longdouble).eps) * (b.size + 8)) * size + EPS * np.abs(v)
        values, bias, off = Floats(v, wrong), self.bias(v), imbalance(b, 0.0)
        norms = values.dot(b) * 0.5
        primal = norms + self.conjugate(-values - bias, None).sum()
        # a feasible point differs by `off`, its form by ``off (2 |v| + off |K|)``
        linear, _ = self.proves(Floats.of(b), off)
        near = Floats.of(off) * (Floats.of(float(np.abs(v).max() + wrong.max())) + 0.5 * off * float(root.max()) ** 2)
        dual = linear - norms - near
        violation, upper = float(np.ptp(decision - v)), float(primal.above())
        gradient, status = -v, SVMStatus.STEP_LIMIT
        b.flags.writeable = gradient.flags.writeable = False
        return SVMSolution(
            b,
            float(dual.below()),
            upper,
            float((primal - dual).above()),
            bias,
            violation if violation > 4.0 * float(blur.max()) else 0.0,
            0,
            n_newton,
            status,
            gradient,
            off,
        )


def extended_product(K: Matrix, b: Vector) -> Vector:
    """``K @ b``, rounded once: in long doubles, some rows at a time."""
    x, found = b.astype(np.longdouble), np.empty(b.size)
    for start in range(0, b.size, ROWS):
        rows = slice(start, start + ROWS)
        found[rows] = K[rows].astype(np.longdouble) @ x
    return found


class Logistic(LabelLoss):
    """``C * log(1 + exp(-y * f))``: kernel logistic regression [1]_.

    Decision values are log odds: the probability of the label +1 is ``1 / (1 + exp(-f))``. With the entropy ``h(p) =
    -p log(p) - (1 - p) log(1 - p)`` the dual is ``max C * sum(h(a / C)) - 1/2 (y*a) @ K @ (y*a)`` over ``0 <= a <= C``,
    ``y @ a == 0``; its signed dual variables are ``y * a``. Each point is a support vector.

    Parameters
    ----------
    C, class_weight
        As for `Hinge`.

    Notes
    -----
    It is solved by Newton's method on the kernel of all points: not without a combined kernel, see `memory_budget` of
    `MKLOracle`, and not by `SMOMKL` and `NewtonMKL`, which know piecewise quadratic duals.

    How small a gap is proven goes with the rounding of ``b @ K @ b``, which is that of long doubles where doubles are
    too coarse. On 400 points gaps of 2e-11 of the objective are reached at C = 1e4, and 1e-9 at C = 1e6; where long
    doubles are doubles, 5e-8 and 3e-6. Entries of a combined kernel are rounded, too, by about 2e-15 of their size: an
    oracle reaches 1e-8 there.

    References
    ----------
    .. [1] Keerthi, Duan, Shevade, Poo (2005), "A fast dual algorithm for kernel logistic regression", Machine Learning
       61.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import Logistic, solve_svm
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [1, -1], Logistic(C=2.0))
    >>> solution.alpha.round(6).tolist(), round(solution.primal_objective, 6)
    ([0.674832, 0.674832], 2.101828)
    """

    def dual(self, y: ArrayLike | None, n_points: int) -> EntropyDual:
        """Entropies in the box between 0 and ``y * C``, sum 0; see `Loss.dual`."""
        labels = checked_labels(y, n_points)
        return EntropyDual(labels, weights_of_points(self.C, labels, self.class_weight))
