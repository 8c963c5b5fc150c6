"""What multiple kernel learning found, alone: support vectors, active kernels and a bias."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.oracles.kernels import KeptKernels
from oracle_opt.oracles.kernels.base import ENTRIES_AT_ONCE, Indices
from oracle_opt.oracles.kernels.recipes.points_table import is_frame
from oracle_opt.oracles.svm import Loss
from oracle_opt.oracles.svm.svm_solution import decision_values


class KernelModel:
    """A support vector machine on weighted kernels that holds what its decisions need, and no bank.

    Made by ``oracle.model(result)``, for any oracle of multiple kernel learning. It is small, and can be pickled if the
    functions in the kernels can be.

    Parameters
    ----------
    kept : KeptKernels
        The kernels of non-zero weight between new points and the support vectors.
    weights : ndarray of shape (number of active kernels,)
        Their weights.
    signed_dual : ndarray of shape (number of support vectors,)
        Coefficients of the support vectors in the decision function.
    bias : float
        Its constant.
    loss : Loss
        Of the machine: it makes labels or targets of decision values.
    kernels, support : ndarray of int
        Numbers of these kernels and of these points in the bank.
    labels : sequence of tuples (str, str)
        Name and group of each of these kernels.

    Attributes
    ----------
    weights, signed_dual, bias, loss, kernels, support
        As given.
    names, groups : tuple of str
        Of the kernels.

    Examples
    --------
    >>> import pickle
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import LevelSet
    >>> from oracle_opt.oracles import MKLOracle, uci_bank
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), [-1, -1, 1, 1]
    >>> oracle = MKLOracle(uci_bank(X), y, C=1.0)
    >>> model = oracle.model(minimize(oracle, LevelSet()))
    >>> pickle.loads(pickle.dumps(model)).predict([[0.5], [3.5]]).tolist()
    [-1.0, 1.0]
    """

    def __init__(
        self,
        kept: KeptKernels,
        weights: Vector,
        signed_dual: Vector,
        bias: float,
        loss: Loss,
        kernels: Indices,
        support: Indices,
        labels: Sequence[tuple[str, str]],
    ) -> None:
        self._kept, self.weights, self.signed_dual, self.bias, self.loss = kept, weights, signed_dual, bias, loss
        self.kernels, self.support = kernels, support
        self.names, self.groups = tuple(name for name, _ in labels), tuple(group for _, group in labels)

    def __repr__(self) -> str:
        return f"KernelModel({self.kernels.size} kernels, {self.support.size} support vectors, {self.loss!r})"

    @property
    def nbytes(self) -> int:
        """Bytes of its pickle."""
        return len(pickle.dumps(self, protocol=pickle.HIGHEST_PROTOCOL))

    def decision_function(self, new: Any) -> Vector:
        """Decision values of `new` points, which are as `cross` of the bank takes them.

        Those of ``oracle.decision_function(cut, new)``, up to rounding. Many points are taken in parts, so that memory
        does not grow with them.
        """
        at_once = max(ENTRIES_AT_ONCE // self.support.size, 1)
        rows = _rows_of(new) if self._kept.by_rows else None
        if rows is None or rows.shape[0] <= at_once:
            return self._values(new)
        parts = [slice(start, start + at_once) for start in range(0, rows.shape[0], at_once)]
        return np.concatenate([self._values(rows.iloc[part] if is_frame(rows) else rows[part]) for part in parts])

    def predict(self, new: Any) -> Vector:
        """Labels -1 or +1 of new points, 0 counting as +1, or their targets, by the loss: ndarray of shape (m,)."""
        return self.loss.predict(self.decision_function(new))

    def _values(self, new: Any) -> Vector:
        return decision_values(self._kept.cross(new, self.weights), self.signed_dual, self.bias)


def _rows_of(new: Any) -> Any:
    """Points whose rows can be taken apart; None for what is no table."""
    if sparse.issparse(new):
        return sparse.csr_array(new)
    return new if is_frame(new) or (isinstance(new, np.ndarray) and new.ndim == 2) else None


def some_of(values: Vector) -> Indices:
    """Places of the values that are not 0; the first place if all are, so that there is one."""
    found = np.flatnonzero(values)
    return found if found.size else np.zeros(1, dtype=np.intp)
