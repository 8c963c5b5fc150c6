"""MKL with a smooth regularizer as an oracle over the kernel weights, which dual variables may answer, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import EPS, Vector
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.minorant import error_above, minorant_at, proven
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights, MKLProblem
from oracle_opt.oracles.mkl.regularizers import LpRegularizer, Regularizer
from oracle_opt.oracles.mkl.svm_oracle import chosen_loss
from oracle_opt.oracles.svm.box_dual import SVMSolution, decision_values
from oracle_opt.oracles.svm.loss import Loss
from oracle_opt.oracles.svm.pieces import imbalance

# Limit on the steps of one SVM, times the points; several times what well-conditioned ones need.
STEPS_A_POINT = 50
# What rounding may make of a regularizer or its conjugate, relative to them.
ROUNDING = 256 * EPS


@dataclass(frozen=True, eq=False)
class DualQuery(Query):
    """The weights that are best for some dual variables, and these: what they prove is asked for.

    Parameters
    ----------
    signed_dual : ndarray of shape (n,)
        Signed dual variables v, feasible but for rounding.
    quadratic_forms : ndarray of shape (p,)
        ``v @ K_k @ v``.
    decision : ndarray of shape (n,)
        ``sum_k d_k K_k @ v`` at the weights d asked about.
    slack : float
        Products ``K_k @ v``, of which the two above were made, may be wrong by so much times the largest diagonal entry
        of K_k.
    n_steps : int
        Two-variable steps that led to v.
    polish : bool
        Whether the SVM at d is to be solved, from v, for an upper bound of second order. It takes the combined kernel.
    """

    signed_dual: Vector = ()  # type: ignore[assignment]
    quadratic_forms: Vector = ()  # type: ignore[assignment]
    decision: Vector = ()  # type: ignore[assignment]
    slack: float = 0.0
    n_steps: int = 0
    polish: bool = False

    def repeats(self, previous: Query) -> bool:
        """Other dual variables are another question, at the same weights, too."""
        return (
            super().repeats(previous)
            and isinstance(previous, DualQuery)
            and self.slack == previous.slack
            and np.array_equal(self.signed_dual, previous.signed_dual)
        )


class SmoothMKLOracle(Oracle):
    """``T(d) = r(d) + max over b of L(b) - 1/2 d @ S(b)``, d >= 0, for a regularizer r whose conjugate is smooth.

    ``S_k(b) = b @ K_k @ b``; L, a box and the sum of the signed dual variables b are those of the loss. A query solves
    the SVM on the kernel ``sum(d_k K_k)``, from where the last one ended. For any feasible b the function inside the
    maximum is affine in d; with r it is a cut, and the dual objective ``L(b) - rho(S(b))``, ``rho(S) = r*(S / 2)``, is
    its lower bound. `NewtonMKL` and `SMOMKL` are made for this oracle, and all generators serve it.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    y : array_like of shape (n,), optional
        Labels or targets, as the loss takes them.
    regularizer : Regularizer, optional
        `LpRegularizer` of power 2 with p > 1, `EntropyRegularizer`, `ElasticNet`, or one of your own whose
        `smooth_dual` is not None. Default: ``LpRegularizer(1.33)``.
    loss : Loss, optional
        What the support vector machine pays. Default: ``Hinge(C)``.
    C : float or array_like of shape (n,), optional
        Short for ``loss=Hinge(C)``.
    accuracy : float
        Relative gap of the SVM where a query wishes for none.

    Attributes
    ----------
    domain : KernelWeights
        The orthant of dimension p.
    problem : MKLProblem
        What `NewtonMKL` and `SMOMKL` work on.

    Raises
    ------
    InvalidArgument
        An argument cannot be used, or they do not go together. From `query`: a point that is not in the orthant.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.oracles import GramBank, LpRegularizer, NewtonMKL, SmoothMKLOracle
    >>> oracle = SmoothMKLOracle(GramBank([np.eye(2), 2 * np.eye(2)]), [1, -1], LpRegularizer(2))
    >>> minimize(oracle, NewtonMKL()).point.round(6).tolist()
    [0.341995, 0.68399]
    """

    def __init__(
        self,
        bank: KernelBank,
        y: ArrayLike | None = None,
        regularizer: Regularizer | None = None,
        *,
        loss: Loss | float | ArrayLike | None = None,
        C: float | ArrayLike | None = None,
        accuracy: float = 1e-9,
    ) -> None:
        if not 0.0 <= accuracy < np.inf:
            raise InvalidArgument(f"`accuracy` must be a number >= 0, got {accuracy!r}")
        self.problem = MKLProblem(
            bank, y, LpRegularizer(1.33) if regularizer is None else regularizer, chosen_loss(loss, C)
        )
        self.accuracy = accuracy
        self.domain = KernelWeights(self.problem)
        self.reset()

    def reset(self) -> None:
        """Forget the last SVM solution."""
        self._start: Vector | None = None

    def resume(self, cut: Cut) -> None:
        """Take the dual variables of a cut as the next starting point: all this oracle remembers between queries."""
        self._start = np.array(cut.extras["signed_dual"], dtype=float)

    def query(self, query: Query) -> ObjectiveCut:
        """Solve the SVM at the point, or say what the dual variables of a `DualQuery` prove there.

        Parameters
        ----------
        query : Query
            A point of the orthant; its `accuracy`, if any, is the relative gap asked of the SVM.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `signed_dual`, the signed dual variables, shape (n,); `alpha`, their absolute values; `bias`;
            `quadratic_forms`, S, shape (p,); `n_steps`, of this SVM or, of a `DualQuery`, those that it tells.

        Raises
        ------
        InvalidArgument
            The point is not in the orthant.
        """
        d = np.asarray(query.point, dtype=float)
        if d.shape != (self.domain.dimension,) or not self.domain.contains(d):
            raise InvalidArgument(f"`query.point` must be {self.domain.dimension} weights >= 0, got {d!r}")
        d = np.maximum(d, 0.0)  # which may be below by rounding
        if isinstance(query, DualQuery):
            cut = self._of_dual(d, query)
        else:
            accuracy = self.accuracy if query.accuracy is None else query.accuracy
            svm = self._solve(d, self._start, accuracy)
            cut = self._solved(d, svm, svm.n_steps)
        self._start = cut.extras["signed_dual"]
        return replace(cut, point=np.array(query.point, dtype=float))

    def decision_function(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Decision values of new points, for the SVM that answered a cut of this oracle; see `MKLOracle`."""
        cross = self.problem.bank.cross(new, cut.point)
        return decision_values(cross, cut.extras["signed_dual"], cut.extras["bias"])

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Labels or targets of new points, ndarray of shape (m,), by `decision_function`."""
        return self.problem.loss.predict(self.decision_function(cut, new))

    def identity(self) -> str:
        """Kernels, the SVM's problem, regularizer and accuracy."""
        return f"{super().identity()}, {self.problem.identity()}, accuracy {float(self.accuracy)!r}"

    def _of_dual(self, d: Vector, query: DualQuery) -> ObjectiveCut:
        """Cut at d by what a query says of its dual variables.

        Their primal objective for the best bias is an upper bound with an error of first order, that of the SVM at d
        one of second order.
        """
        svm, v, S = self.problem.svm, query.signed_dual, query.quadratic_forms
        largest, size = self.problem.bank.sizes[0], float(np.abs(v).sum())
        of_entry = (query.slack + 0.5 * EPS * (d.size + 16) * size) * float(d @ largest)
        gap, bias = self.problem.pieces.gap(v, query.decision, of_entry)
        of_form = (query.slack + EPS * (v.size + 16) * size) * size
        # the primal objective at v and the bias: the dual one and the gap
        upper = svm.value(v) + svm.rounding(v) - 0.5 * float(d @ (S - of_form * largest)) + gap
        moved = imbalance(v, svm.total)
        cut = self._cut(d, v, moved, S, (of_form, np.inf), upper, bias, query.n_steps)
        if query.polish:
            solved = self._solved(d, self._solve(d, v, self.accuracy), query.n_steps)
            bound = max(cut.lower_bound, solved.lower_bound)
            cut = replace(solved if solved.upper <= cut.upper else cut, lower_bound=bound)
        return cut

    def _solve(self, d: Vector, start: Vector | None, accuracy: float) -> SVMSolution:
        """The SVM at the weights d; it gets so many steps, and what it then leaves open shows in the cut's error."""
        kernel, noise = self.problem.kernel(d), self.problem.bank.noise(int(np.count_nonzero(d)))
        limit = STEPS_A_POINT * self.problem.bank.n_points
        return self.problem.svm.solve(kernel, start=start, accuracy=accuracy, max_steps=limit, noise=noise)

    def _solved(self, d: Vector, svm: SVMSolution, n_steps: int) -> ObjectiveCut:
        """Cut from the solution of the SVM at the weights d."""
        v, bank = svm.signed_dual, self.problem.bank
        S = np.maximum(bank.quadratic_forms(v), 0.0)  # below 0 by rounding alone
        return self._cut(d, v, svm.imbalance, S, bank.form_error(v, v), svm.primal_objective, svm.bias, n_steps)

    def _cut(
        self,
        d: Vector,
        v: Vector,
        moved: float,
        S: Vector,
        error: tuple[float, float],
        upper: float,
        bias: float,
        n_steps: int,
    ) -> ObjectiveCut:
        """Cut at d by v, whose sum is wrong by `moved` and whose forms S by `error`, from a primal objective."""
        dual, r = self.problem.dual, self.problem.dual.value(d)
        constant, F = proven(self.problem.bank, self.problem.svm, v, moved, S, error)
        value = minorant_at(d, constant, F) + r - ROUNDING * abs(r)
        conjugate = dual.conjugate(F)
        return ObjectiveCut(
            point=d,
            value=value,
            subgradient=dual.gradient(d) - 0.5 * F,
            error=error_above(value, upper + r + ROUNDING * abs(r)),
            lower_bound=constant - conjugate - ROUNDING * (abs(constant) + abs(conjugate)),
            extras={"alpha": np.abs(v), "signed_dual": v, "bias": bias, "quadratic_forms": S, "n_steps": n_steps},
        )
