"""MKL in its dual: a loss, a bank of kernels, a regularizer, and what any dual variables prove about the optimum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import Step
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.duals import smooth_dual
from oracle_opt.oracles.mkl.losses import _HingeData as Hinge
from oracle_opt.oracles.mkl.losses import _LossData as Loss
from oracle_opt.oracles.mkl.losses import imbalance
from oracle_opt.oracles.mkl.minorant import error_above, minorant_at, proven_forms
from oracle_opt.oracles.mkl.regularizers import Regularizer
from oracle_opt.oracles.svm.box_dual import SVMSolution
from oracle_opt.oracles.svm.csvc import solve_checked

# Limit on the steps of one SVM, times the points; several times what well-conditioned ones need.
STEPS_A_POINT = 50
# What rounding may make of a regularizer or its conjugate, relative to them.
ROUNDING = 256 * EPS
# Relative gap of the SVM that is solved for an upper bound.
SVM_ACCURACY = 1e-9


class MKLProblem:
    """``min over d >= 0 of max over x of linear @ x - 1/2 d @ S(v) + r(d)``, S_k(v) = v @ K_k @ v.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    loss : Loss
        Of n points.
    regularizer : LpRegularizer of power 2 with p > 1, or EntropyRegularizer
        r.

    Attributes
    ----------
    dual : SmoothDual
        The regularizer through its conjugate rho.
    seconds : float
        Time spent in answers so far.
    kernel : ndarray of shape (n, n) or None
        Combined kernel of the last SVM solved.

    Raises
    ------
    InvalidArgument
        Bank, loss and regularizer do not go together.
    """

    def __repr__(self) -> str:
        return f"MKLProblem({self.bank!r}, {type(self.dual).__name__})"

    def __init__(self, bank: KernelBank, loss: Loss, regularizer: Regularizer) -> None:
        if loss.n_points != bank.n_points:
            raise InvalidArgument(
                f"`y` must have {bank.n_points} entries, one a point of the bank, got {loss.n_points}"
            )
        self.bank = bank
        self.loss = loss
        self.dual = smooth_dual(regularizer, bank.n_kernels)
        self.seconds = 0.0
        self.kernel: Matrix | None = None

    def answer_dual(self, x: Vector, M: Matrix, error: float, n_steps: int, polish: bool) -> tuple[ObjectiveCut, float]:
        """Cut at the weights that are best for the dual variables x.

        The primal objective of x itself for the best bias is an upper bound with an error of first order. For the hinge
        loss the SVM at these weights may be solved from x, for one of second order; this takes the combined kernel.

        Parameters
        ----------
        x : ndarray
            Feasible variables of the loss.
        M : ndarray of shape (n, p)
            Its entry (i, k) is that of ``K_k @ v`` at i, v being the variables added up by point.
        error : float
            How wrong M may be: by so much times the largest diagonal entry of K_k.
        n_steps : int
            What to say in the extras.
        polish : bool
            Whether to solve the SVM, if the loss is the hinge loss.

        Returns
        -------
        tuple
            The `ObjectiveCut`, and the violation of the optimality conditions by x.
        """
        began = perf_counter()
        v = self.loss.signed_dual(x)
        S = np.maximum(v @ M, 0.0)
        d = self.dual.weights(S)
        largest, size = self.bank.sizes[0], float(np.abs(v).sum())
        of_entry = (error + 0.5 * EPS * (d.size + 16) * size) * float(d @ largest)
        gap, bias, violation = self.loss.gap(x, M @ d, of_entry)
        of_form = (error + EPS * (v.size + 16) * size) * size
        # the primal objective at v and the bias: the dual one and the gap
        upper = float(self.loss.linear @ x) + self._rounding(x) - 0.5 * float(d @ (S - of_form * largest)) + gap
        cut = self._cut(d, x, S, (of_form, np.inf), upper, bias, n_steps)
        if polish and isinstance(self.loss, Hinge):
            svm = self._solve(d, x, SVM_ACCURACY)
            solved = self._solved(d, svm, n_steps)
            bound = max(cut.lower_bound, solved.lower_bound)
            cut = replace(solved if solved.upper <= cut.upper else cut, lower_bound=bound)
        self.seconds += perf_counter() - began
        return cut, violation

    def answer_weights(self, d: Vector, start: Vector | None, accuracy: float) -> ObjectiveCut:
        """Cut at the weights d from the solution of the SVM there; for the hinge loss alone.

        The SVM gets so many steps; what it then leaves open shows in the cut's `error`.
        """
        began = perf_counter()
        svm = self._solve(d, start, accuracy)
        cut = self._solved(d, svm, svm.n_steps)
        self.seconds += perf_counter() - began
        return cut

    def _solve(self, d: Vector, start: Vector | None, accuracy: float) -> SVMSolution:
        """The SVM at the weights d, its box being that of the hinge loss; leaves the combined kernel in `kernel`."""
        if self.kernel is None:
            self.kernel = np.empty((self.bank.n_points, self.bank.n_points))
        self.bank.combine(d, out=self.kernel)
        y, C = self.loss.linear, self.loss.upper - self.loss.lower
        limit, noise = STEPS_A_POINT * y.size, self.bank.noise(int(np.count_nonzero(d)))
        return solve_checked(self.kernel, y, C, start=start, accuracy=accuracy, max_steps=limit, noise=noise)

    def _solved(self, d: Vector, svm: SVMSolution, n_steps: int) -> ObjectiveCut:
        """Cut from the solution of the SVM at the weights d."""
        v = svm.signed_dual
        S = np.maximum(self.bank.quadratic_forms(v), 0.0)  # below 0 by rounding alone
        return self._cut(d, v, S, self.bank.form_error(v, v), svm.primal_objective, svm.bias, n_steps)

    def _rounding(self, x: Vector) -> float:
        """Bound on the error of ``linear @ x``, that of a rounded linear term included."""
        return 0.5 * EPS * (x.size + 12) * float(np.abs(self.loss.linear) @ np.abs(x))

    def _cut(
        self, d: Vector, x: Vector, S: Vector, error: tuple[float, float], upper: float, bias: float, n_steps: int
    ) -> ObjectiveCut:
        """Cut at d by x, whose quadratic forms are S up to `error`, from a primal objective; see `minorant.proven`."""
        linear, v, r = float(self.loss.linear @ x), self.loss.signed_dual(x), self.dual.value(d)
        F, moved = proven_forms(self.bank, v, imbalance(x), S, error), imbalance(x)
        constant = linear - self._rounding(x) - moved * (float(np.abs(self.loss.linear).max()) + moved)
        value = minorant_at(d, constant, F) + r - ROUNDING * r
        conjugate = self.dual.conjugate(F)
        return ObjectiveCut(
            point=d,
            value=value,
            subgradient=self.dual.gradient(d) - 0.5 * F,
            error=error_above(value, upper + r + ROUNDING * r),
            lower_bound=constant - conjugate - ROUNDING * (abs(constant) + conjugate),
            extras={"alpha": np.abs(x), "signed_dual": v, "bias": bias, "quadratic_forms": S, "n_steps": n_steps},
        )


class MKLSolver(ABC):
    """A method for MKL problems: it goes through better and better points, each with its cut."""

    @abstractmethod
    def cuts(self, problem: MKLProblem, rtol: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        """Cuts of the problem until the caller, who proves the bounds, stops; or until no progress is possible.

        Parameters
        ----------
        problem : MKLProblem
            What to solve.
        rtol : float
            Relative gap the caller will stop at.

        Yields
        ------
        tuple
            An `ObjectiveCut` whose `lower_bound` is the dual objective, and whether it was a serious step.

        Raises
        ------
        CapabilityMismatch
            The method cannot serve the problem's loss; raised before the first answer.
        """
