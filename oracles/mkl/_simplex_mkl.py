"""What the l1 multiple kernel learning oracles of all kinds of support vector machines share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.domains import Simplex
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.minorant import error_above, minorant_at, proven
from oracle_opt.oracles.svm.box_dual import BoxDual, decision_values
from oracle_opt.oracles.svm.curvature import curvature_factor

# Quadratic forms are updated from the last ones where that reads at most this share of the pairs of points ...
UPDATE_SHARE = 0.75
# ... and as many times in a row at most, so that rounding does not pile up.
MOST_UPDATES = 16


class SimplexMKLOracle(Oracle):
    """``f(w) = max over b of L(b) - 1/2 sum_k w_k S_k(b)``, w in the simplex, b in a box and of a given sum.

    ``S_k(b) = b @ K_k @ b``; the concave L, the box and the sum are those of a kind of support vector machine. They do
    not depend on w, so any feasible b gives a cut. A subclass names the dual variables.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    dual : BoxDual
        L, the box and the sum.
    accuracy, max_steps
        As for `MKLOracle`.
    """

    def __init__(self, bank: KernelBank, dual: BoxDual, accuracy: float, max_steps: int) -> None:
        if not 0.0 <= accuracy < np.inf:
            raise InvalidArgument(f"`accuracy` must be a number >= 0, got {accuracy!r}")
        self.bank = bank
        self.accuracy = accuracy
        self.max_steps = max_steps
        self.domain = Simplex(bank.n_kernels)
        self._dual = dual
        self._kernel = np.empty((bank.n_points, bank.n_points))
        self.reset()

    @abstractmethod
    def _named(self, signed_dual: Vector) -> dict[str, Any]:
        """The dual variables as the extra of a cut."""

    @abstractmethod
    def _signed_dual(self, extras: Mapping[str, Any]) -> Vector:
        """The signed dual variables from the extras of a cut."""

    def reset(self) -> None:
        """Forget the last SVM solution."""
        self._signed: Vector | None = None
        self._S = np.empty(0)
        self._S_error = (0.0, 0.0)
        self._n_updates = 0

    def resume(self, cut: Cut) -> None:
        """Take the SVM solution and the quadratic forms of a cut: all this oracle remembers between queries."""
        self._signed = np.array(self._signed_dual(cut.extras), dtype=float)
        self._S = np.array(cut.extras["quadratic_forms"], dtype=float)
        of_largest, of_trace = np.asarray(cut.extras.get("forms_error", (0.0, 0.0)), dtype=float).tolist()
        self._S_error = of_largest, of_trace
        # A cut that does not tell: the next S is then summed in full.
        told = "forms_error" in cut.extras
        self._n_updates = int(cut.extras.get("n_updates", MOST_UPDATES)) if told else MOST_UPDATES

    def query(self, query: Query) -> ObjectiveCut:
        """Solve the SVM on the combined kernel.

        Parameters
        ----------
        query : Query
            A point of the simplex; its `accuracy`, if any, is the relative gap asked of the SVM; its `curvature`,
            whether second derivatives are wanted.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `alpha`, of a regression `signed_dual`, the dual variables, shape (n,); `bias`;
            `quadratic_forms`, S, shape (p,); `forms_error`, how wrong rounding may have made them, over the largest
            diagonal entry of each kernel and over its trace; `n_updates` of S since it was summed in full; `n_steps`
            of the SVM. Value, subgradient, error and lower bound hold in exact arithmetic.

        Raises
        ------
        InvalidArgument
            The point is not in the simplex.
        """
        point = np.array(query.point, dtype=float)
        self._check_point(point)
        svm = self._dual.solve(
            self._dual.add_ridge(self.bank.combine(point, out=self._kernel)),
            start=self._signed,
            accuracy=self.accuracy if query.accuracy is None else query.accuracy,
            max_steps=self.max_steps,
            noise=self.bank.noise(int(np.count_nonzero(point))),
        )
        S = self._forms(svm.signed_dual)
        constant, F = proven(self.bank, self._dual, svm.signed_dual, svm.imbalance, S, self._S_error)
        value = minorant_at(point, constant, F)
        return ObjectiveCut(
            point=point,
            value=value,
            subgradient=-0.5 * F,
            error=error_above(value, svm.primal_objective),
            lower_bound=minorant_at(np.ones(1), constant, np.atleast_1d(F.max())),
            curvature=self._curvature(svm.signed_dual) if query.curvature else None,
            extras={
                **self._named(svm.signed_dual),
                "bias": svm.bias,
                "quadratic_forms": S,
                "forms_error": np.array(self._S_error),
                "n_updates": self._n_updates,
                "n_steps": svm.n_steps,
            },
        )

    def decision_function(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Decision values of new points, for the SVM that answered a cut of this oracle.

        Parameters
        ----------
        cut : ObjectiveCut
            Say the best one of a run.
        new : array_like
            New points as the bank's `cross` takes them: m raw points, or p cross-kernels of shape (m, n).

        Returns
        -------
        ndarray of shape (m,)
            Positive for the class +1, or for points like those of the bank; of a regression the prediction.
        """
        cross = self.bank.cross(new, cut.point)
        return decision_values(cross, self._signed_dual(cut.extras), cut.extras["bias"])

    def identity(self) -> str:
        """Kernels, the SVM's problem and accuracy."""
        limits = f"accuracy {float(self.accuracy)!r}, steps {self.max_steps}"
        return f"{super().identity()}, kernels #{self.bank.digest()}, {self._data()}, {limits}"

    @abstractmethod
    def _data(self) -> str:
        """Words that tell the SVM's problem from others, but for the kernels."""

    def _forms(self, signed_dual: Vector) -> Vector:
        """S at the signed dual variables, which are remembered with it."""
        S, error, updates = None, self.bank.form_error(signed_dual, signed_dual), self._n_updates + 1
        if self._signed is not None and updates <= MOST_UPDATES:
            added = signed_dual + self._signed
            changed = np.flatnonzero(signed_dual != self._signed)
            n_support = np.count_nonzero(signed_dual)
            if changed.size * np.count_nonzero(added) <= UPDATE_SHARE * n_support * (n_support + 1) / 2:
                difference = (signed_dual - self._signed)[changed]
                S = self._S + difference @ self.bank.row_products(changed, added)
                # What the last S was wrong by, the update's own rounding, and that of the sum: one of more than 64.
                of_largest, of_trace = self.bank.form_error(signed_dual - self._signed, added)
                error = (
                    self._S_error[0] + of_largest + error[0] / 64,
                    self._S_error[1] + of_trace + error[1] / 64,
                )
        if S is None:
            S, updates = self.bank.quadratic_forms(signed_dual), 0
        self._signed, self._S, self._S_error, self._n_updates = signed_dual, S.copy(), error, updates
        return S

    def _curvature(self, signed_dual: Vector) -> Matrix | None:
        """Factor of the Hessian at the point whose combined kernel is in `_kernel`."""
        free = self._dual.free(signed_dual)
        return curvature_factor(self._kernel[np.ix_(free, free)], self.bank.row_products(free, signed_dual))

    def _check_point(self, point: Vector) -> None:
        shape = (self.domain.dimension,)
        if point.shape != shape or not np.isfinite(point).all():
            raise InvalidArgument(f"`query.point` must be {shape[0]} finite weights, got shape {point.shape}")
        if not self.domain.contains(point):
            raise InvalidArgument(
                f"`query.point` must be in {self.domain}, got the sum {point.sum():.12g} and the least entry "
                f"{point.min():.3g}; project it first"
            )


def check_count(name: str, what: str, values: Vector, bank: KernelBank) -> None:
    """Raise `InvalidArgument` unless there are as many values as points of the bank."""
    if values.size != bank.n_points:
        raise InvalidArgument(f"`{name}` must have {bank.n_points} {what}, one a point of the bank, got {values.size}")


def checksum(values: Vector) -> str:
    """Digest of an array, in words."""
    return f"#{digest(values)}"
