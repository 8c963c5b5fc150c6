"""MKL in its dual: a loss, a bank of kernels, a regulariser, and what any dual variables prove about the optimum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np

from oracle_opt.cuts import ObjectiveCut, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import Step
from oracle_opt.oracles.kernels.base import KernelBank, Matrix
from oracle_opt.oracles.regularisers import Regulariser
from oracle_opt.oracles.svm.csvc import SVMSolution, solve_checked
from oracle_opt.oracles.svm.duals import smooth_dual
from oracle_opt.oracles.svm.losses import Hinge, Loss

# Limit on the steps of one SVM, times the points; several times what well-conditioned ones need.
STEPS_A_POINT = 50
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
    regulariser : LpRegulariser of power 2 with p > 1, or EntropyRegulariser
        r.

    Attributes
    ----------
    dual : SmoothDual
        The regulariser through its conjugate rho.
    seconds : float
        Time spent in answers so far.
    kernel : ndarray of shape (n, n) or None
        Combined kernel of the last SVM solved.

    Raises
    ------
    InvalidArgument
        Bank, loss and regulariser do not go together.
    """

    def __init__(self, bank: KernelBank, loss: Loss, regulariser: Regulariser) -> None:
        if loss.n_points != bank.n_points:
            raise InvalidArgument(
                f"`y` must have {bank.n_points} entries, one a point of the bank, got {loss.n_points}"
            )
        self.bank = bank
        self.loss = loss
        self.dual = smooth_dual(regulariser, bank.n_kernels)
        self.seconds = 0.0
        self.kernel: Matrix | None = None

    def answer_dual(self, x: Vector, M: Matrix, n_steps: int, polish: bool) -> tuple[ObjectiveCut, float]:
        """Cut at the weights that are best for the dual variables x.

        The primal objective of x itself for the best bias is an upper bound with an error of first order. For the hinge
        loss the SVM at these weights may be solved from x, for one of second order; this takes the combined kernel.

        Parameters
        ----------
        x : ndarray
            Feasible variables of the loss.
        M : ndarray of shape (n, p)
            Its entry (i, k) is that of ``K_k @ v`` at i, v being the variables added up by point.
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
        S = np.maximum(self.loss.signed_dual(x) @ M, 0.0)
        d = self.dual.weights(S)
        gap, bias, violation = self.loss.gap(x, M @ d)
        cut = self._cut(d, x, S, gap, bias, n_steps)
        if polish and isinstance(self.loss, Hinge):
            svm = self._solve(d, x, SVM_ACCURACY)
            solved = self._cut(d, svm.signed_dual, self._forms(svm.signed_dual), svm.gap, svm.bias, n_steps)
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
        cut = self._cut(d, svm.signed_dual, self._forms(svm.signed_dual), svm.gap, svm.bias, svm.n_steps)
        self.seconds += perf_counter() - began
        return cut

    def _solve(self, d: Vector, start: Vector | None, accuracy: float) -> SVMSolution:
        """The SVM at the weights d, its box being that of the hinge loss; leaves the combined kernel in `kernel`."""
        if self.kernel is None:
            self.kernel = np.empty((self.bank.n_points, self.bank.n_points))
        self.bank.combine(d, out=self.kernel)
        y, C = self.loss.linear, self.loss.upper - self.loss.lower
        return solve_checked(self.kernel, y, C, start=start, accuracy=accuracy, max_steps=STEPS_A_POINT * y.size)

    def _forms(self, v: Vector) -> Vector:
        """Quadratic forms, which rounding may leave below 0."""
        return np.maximum(self.bank.quadratic_forms(v), 0.0)

    def _cut(self, d: Vector, x: Vector, S: Vector, gap: float, bias: float, n_steps: int) -> ObjectiveCut:
        linear, v = float(self.loss.linear @ x), self.loss.signed_dual(x)
        return ObjectiveCut(
            point=d,
            value=linear - 0.5 * float(d @ S) + self.dual.value(d),
            subgradient=self.dual.gradient(d) - 0.5 * S,
            error=gap,
            lower_bound=linear - self.dual.conjugate(S),
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
