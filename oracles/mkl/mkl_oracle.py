"""l1 multiple kernel learning as a convex problem over the simplex, seen through an SVM that classifies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl._simplex_mkl import SimplexMKLOracle, check_count, checksum
from oracle_opt.oracles.svm.csvc import checked_box, checked_labels, csvc_dual


class MKLOracle(SimplexMKLOracle):
    """``f(b) = max over a of sum(a) - 1/2 sum_k b_k S_k(a)``, b in the simplex, a in the box of the C-SVC dual.

    ``S_k(a) = (y*a) @ K_k @ (y*a)``. A query solves one SVM on the combined kernel, from where the last one ended. For
    any feasible a, optimal or not, the function of b inside the maximum lies below f: that is the cut, and a loose SVM
    costs only `error`, its duality gap. Its least value over the simplex, ``sum(a) - 1/2 max_k S_k``, is the cut's
    lower bound: the dual objective of l1-MKL at a.

    Asked for curvature, a cut has the factor R of the Hessian of f, |free support vectors| x p. It belongs to the free
    set at the a that was found, so a loose SVM gives a rough one; where that set changes f has no second derivative.
    None if no support vector is free or the combined kernel is singular on the free ones.

    With the squared hinge the SVM's kernel is ``sum_k b_k K_k + I / (2 * C)``, so ``sum(a**2 / (4 * C))`` is subtracted
    from all of this and a has no upper bound: no b_k stands before it, it moves the cut's value and lower bound alone.

    From one query to the next few dual variables change. With b = y*a and b' the one before, ``S_k(b) = S_k(b') +
    (b - b') @ K_k @ (b + b')``, which reads the pairs of a changed entry and a support vector only. One rule: this is
    done where it reads at most 3/4 of the pairs of support vectors, but at most 16 times in a row, which keeps S exact
    to 1e-12 of its largest entry; then, and elsewhere, S is summed in full.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    y : array_like of shape (n,)
        Labels, -1 and +1, both present.
    C : float or array_like of shape (n,)
        Weight of the loss, positive: of the hinge the upper bound of each dual variable. Mind the scale: with kernels
        of unit trace 100 is moderate.
    class_weight : mapping, optional
        Factors on C for the labels -1 and 1; default 1.
    squared_hinge : bool
        Whether the loss is ``C * hinge**2`` in place of ``C * hinge``.
    accuracy : float
        Relative gap of the SVM where a query wishes for none. The default, 1e-8, lets outer gaps of 1e-6 be certified.
    max_steps : int
        Limit on the steps of one SVM; what it leaves open shows in the cut's `error`.

    Attributes
    ----------
    domain : Simplex
        Of dimension p.

    Raises
    ------
    InvalidArgument
        Labels, C or weights that cannot be used.

    References
    ----------
    .. [1] Wulff, Ong (2014), "Analytic center cutting plane method for multiple kernel learning", equations 9, 10 and
       18 (which drops the factor 1/2 that 7 has).

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Query
    >>> from oracle_opt.oracles import GramBank, MKLOracle
    >>> oracle = MKLOracle(GramBank([np.eye(2), 2 * np.eye(2)]), [1, -1])
    >>> cut = oracle.query(Query(np.array([1.0, 0.0])))
    >>> round(cut.value, 6), cut.subgradient.round(6).tolist(), round(cut.lower_bound, 6) + 0.0
    (1.0, [-1.0, -2.0], 0.0)
    """

    def __init__(
        self,
        bank: KernelBank,
        y: ArrayLike,
        C: float | ArrayLike = 100.0,
        *,
        class_weight: Mapping[int, float] | None = None,
        squared_hinge: bool = False,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
    ) -> None:
        self.y = checked_labels(y)
        check_count("y", "labels", self.y, bank)
        self.C = checked_box(C, self.y, class_weight)
        self.squared_hinge = squared_hinge
        super().__init__(bank, csvc_dual(self.y, self.C, squared_hinge), accuracy, max_steps)

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Labels -1 or +1 of new points, ndarray of shape (m,): the signs of `decision_function`, 0 counting as +1."""
        return np.where(self.decision_function(cut, new) >= 0, 1.0, -1.0)

    def _data(self) -> str:
        loss = ", squared hinge" if self.squared_hinge else ""
        return f"y {checksum(self.y)}, C {checksum(self.C)}{loss}"

    def _named(self, signed_dual: Vector) -> dict[str, Any]:
        return {"alpha": np.abs(signed_dual)}

    def _signed_dual(self, extras: Mapping[str, Any]) -> Vector:
        signed: Vector = self.y * extras["alpha"]
        return signed
