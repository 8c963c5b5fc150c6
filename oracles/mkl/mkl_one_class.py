"""l1 multiple kernel learning without labels: the one-class support vector machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl._simplex_mkl import SimplexMKLOracle
from oracle_opt.oracles.svm.one_class import one_class_dual


class MKLOneClassOracle(SimplexMKLOracle):
    """``f(w) = max over a of -1/2 sum_k w_k S_k(a)``, w in the simplex, ``S_k(a) = a @ K_k @ a``.

    ``0 <= a <= 1`` and ``sum(a) == nu * n``: the dual of the one-class SVM, `solve_one_class`, on the combined kernel.
    Cuts, errors, lower bounds and curvature are made as by `MKLOracle`. All values are at most 0. Large kernels make
    them small, so kernels should be brought to one scale first.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    nu : float
        In (0, 1]: at most this share of the points has a negative decision value.
    accuracy, max_steps
        As for `MKLOracle`.

    Attributes
    ----------
    domain : Simplex
        Of dimension p.

    Raises
    ------
    InvalidArgument
        nu is not in (0, 1].

    References
    ----------
    .. [1] Sonnenburg, Raetsch, Schaefer, Schoelkopf (2006), "Large scale multiple kernel learning", JMLR 7.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Query
    >>> from oracle_opt.oracles import GramBank, MKLOneClassOracle
    >>> oracle = MKLOneClassOracle(GramBank([np.eye(2), 2 * np.eye(2)]), nu=1.0)
    >>> cut = oracle.query(Query(np.array([1.0, 0.0])))
    >>> round(cut.value, 6), cut.subgradient.round(6).tolist(), round(cut.lower_bound, 6) + 0.0
    (-1.0, [-1.0, -2.0], -2.0)
    """

    def __init__(
        self, bank: KernelBank, nu: float = 0.5, *, accuracy: float = 1e-8, max_steps: int = 10_000_000
    ) -> None:
        self.nu = nu
        super().__init__(bank, one_class_dual(bank.n_points, nu), accuracy, max_steps)

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector:
        """1 for points like those of the bank, -1 for outliers: the signs of `decision_function`, 0 counting as 1."""
        return np.where(self.decision_function(cut, new) >= 0, 1.0, -1.0)

    def _data(self) -> str:
        return f"nu {float(self.nu)!r}"

    def _named(self, signed_dual: Vector) -> dict[str, Any]:
        return {"alpha": signed_dual}

    def _signed_dual(self, extras: Mapping[str, Any]) -> Vector:
        alpha: Vector = extras["alpha"]
        return alpha
