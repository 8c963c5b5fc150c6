"""l1 multiple kernel learning for regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl._simplex_mkl import SimplexMKLOracle, check_count, checksum
from oracle_opt.oracles.svm.csvc import checked_box
from oracle_opt.oracles.svm.svr import checked_epsilon, checked_targets, svr_dual


class MKLRegressionOracle(SimplexMKLOracle):
    """``f(w) = max over b of t @ b - epsilon * sum(abs(b)) - 1/2 sum_k w_k S_k(b)``, w in the simplex.

    ``S_k(b) = b @ K_k @ b``, ``-C <= b <= C`` and ``sum(b) == 0``: the dual of epsilon-support vector regression,
    `solve_svr`, on the combined kernel. Cuts, errors, lower bounds and curvature are made as by `MKLOracle`.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    t : array_like of shape (n,)
        Targets.
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive. Mind the scale: with kernels of unit trace 100 is moderate.
    epsilon : float
        Half the width of the tube without loss, in units of the targets.
    accuracy, max_steps
        As for `MKLOracle`.

    Attributes
    ----------
    domain : Simplex
        Of dimension p.

    Raises
    ------
    InvalidArgument
        Targets, C or epsilon that cannot be used.

    References
    ----------
    .. [1] Sonnenburg, Raetsch, Schaefer, Schoelkopf (2006), "Large scale multiple kernel learning", JMLR 7.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Query
    >>> from oracle_opt.oracles import GramBank, MKLRegressionOracle
    >>> oracle = MKLRegressionOracle(GramBank([np.eye(2), 2 * np.eye(2)]), [1.0, -1.0], epsilon=0.5)
    >>> cut = oracle.query(Query(np.array([1.0, 0.0])))
    >>> round(cut.value, 6), cut.subgradient.round(6).tolist(), round(cut.lower_bound, 6) + 0.0
    (0.25, [-0.25, -0.5], 0.0)
    """

    def __init__(
        self,
        bank: KernelBank,
        t: ArrayLike,
        C: float | ArrayLike = 100.0,
        epsilon: float = 0.1,
        *,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
    ) -> None:
        self.t = checked_targets(t)
        check_count("t", "targets", self.t, bank)
        self.C = checked_box(C, self.t)
        self.epsilon = checked_epsilon(epsilon)
        super().__init__(bank, svr_dual(self.t, self.C, self.epsilon), accuracy, max_steps)

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Predicted targets of new points, ndarray of shape (m,): `decision_function` by its usual name."""
        return self.decision_function(cut, new)

    def _data(self) -> str:
        return f"t {checksum(self.t)}, C {checksum(self.C)}, epsilon {float(self.epsilon)!r}"

    def _named(self, signed_dual: Vector) -> dict[str, Any]:
        return {"signed_dual": signed_dual}

    def _signed_dual(self, extras: Mapping[str, Any]) -> Vector:
        signed: Vector = extras["signed_dual"]
        return signed
