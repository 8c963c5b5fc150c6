"""The SVM inside an oracle: labels and box checked once, every solve from where the last one ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.cuts import Cut, ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels import KernelBank, ProductBank
from oracle_opt.oracles.svm.csvc import (
    SVMSolution,
    checked_box,
    checked_labels,
    csvc_dual,
    decision_values,
    solve_checked,
)


class WarmSVM:
    """C-SVC on one kernel after another.

    Parameters
    ----------
    n_points : int
        Number of points of the kernels.
    y, C, class_weight, accuracy, max_steps
        As for `MKLOracle`.
    """

    def __init__(
        self,
        n_points: int,
        y: ArrayLike,
        C: float | ArrayLike,
        class_weight: Mapping[int, float] | None,
        accuracy: float,
        max_steps: int,
    ) -> None:
        self.y = checked_labels(y)
        if self.y.size != n_points:
            raise InvalidArgument(f"`y` must have {n_points} labels, one a point of the bank, got {self.y.size}")
        self.C = checked_box(C, self.y, class_weight)
        self.dual = csvc_dual(self.y, self.C)
        if not 0.0 <= accuracy < np.inf:
            raise InvalidArgument(f"`accuracy` must be a number >= 0, got {accuracy!r}")
        self.accuracy = accuracy
        self.max_steps = max_steps
        self.kernel: Matrix = np.empty((n_points, n_points))
        self.reset()

    def reset(self) -> None:
        """Forget the last solution."""
        self._signed: Vector | None = None

    def resume(self, cut: Cut) -> None:
        """Take the solution of a cut, its extra `alpha`, as the next starting point."""
        self._signed = self.y * np.asarray(cut.extras["alpha"], dtype=float)

    def solve(self, kernel: Matrix, accuracy: float | None, noise: float) -> SVMSolution:
        """Solve to a relative gap of `accuracy`, default the own one. `kernel` may, but need not, be `self.kernel`.

        The answer is certified for all kernels whose entries differ by `noise` over the roots of the diagonal.
        """
        wanted, limit = self.accuracy if accuracy is None else accuracy, self.max_steps
        svm = solve_checked(kernel, self.y, self.C, start=self._signed, accuracy=wanted, max_steps=limit, noise=noise)
        self._signed = svm.signed_dual
        return svm

    def longest(self, alpha: Vector) -> float:
        """Largest t for which t * alpha is in the box."""
        used = alpha > 0
        return float((self.C[used] / alpha[used]).min(initial=np.inf))

    def identity(self) -> str:
        """Labels, C and accuracy."""
        limits = f"accuracy {float(self.accuracy)!r}, steps {self.max_steps}"
        return f"y #{digest(self.y)}, C #{digest(self.C)}, {limits}"


class WeightedSVMOracle(Oracle):
    """What the oracles have in common whose cuts come from a C-SVC on the weighted kernels of a bank."""

    bank: KernelBank | ProductBank
    _svm: WarmSVM

    @property
    def y(self) -> Vector:
        """Labels, ndarray of shape (n,)."""
        return self._svm.y

    @property
    def C(self) -> Vector:
        """Upper bounds of the dual variables, ndarray of shape (n,)."""
        return self._svm.C

    def _kernel_weights(self, cut: ObjectiveCut) -> Vector:
        """Weights of the bank's kernels in the SVM that answered a cut, ndarray of shape (p,)."""
        return cut.point

    def decision_function(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Decision values of new points, for the SVM that answered a cut of this oracle.

        Parameters
        ----------
        cut : ObjectiveCut
            Say the best one of a run.
        new : array_like
            New points as the bank's `cross` takes them.

        Returns
        -------
        ndarray of shape (m,)
            Positive for the class +1.
        """
        cross = self.bank.cross(new, self._kernel_weights(cut))
        return decision_values(cross, self.y * cut.extras["alpha"], cut.extras["bias"])

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Labels -1 or +1 of new points, ndarray of shape (m,): the signs of `decision_function`, 0 counting as +1."""
        return np.where(self.decision_function(cut, new) >= 0, 1.0, -1.0)


def checked_point(point: Vector, domain: Domain) -> Vector:
    """Return a copy of the point, or raise `InvalidArgument` unless it is finite and in the domain."""
    checked = np.array(point, dtype=float)
    if checked.shape != (domain.dimension,) or not np.isfinite(checked).all():
        raise InvalidArgument(f"`query.point` must be {domain.dimension} finite weights, got shape {checked.shape}")
    if not domain.contains(checked):
        raise InvalidArgument(
            f"`query.point` must be in {domain!r}, got the sum {checked.sum():.12g} and the least entry "
            f"{checked.min():.3g}; project it first"
        )
    return checked
