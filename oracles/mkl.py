"""l1 multiple kernel learning as a convex problem over the simplex, seen through an SVM."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.cuts import Cut, ObjectiveCut, Query, Vector
from oracle_opt.domain import Simplex
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels import GramBank
from oracle_opt.oracles.kernels.bank import Matrix
from oracle_opt.oracles.svm.csvc import checked_box, checked_labels, decision_values, solve_checked
from oracle_opt.oracles.svm.curvature import curvature_factor

# Quadratic forms are updated from the last ones where that reads at most this share of the pairs of points ...
UPDATE_SHARE = 0.75
# ... and as many times in a row at most, so that rounding does not pile up.
MOST_UPDATES = 16


class MKLOracle(Oracle):
    """``f(b) = max over a of sum(a) - 1/2 sum_k b_k S_k(a)``, b in the simplex, a in the box of the C-SVC dual.

    ``S_k(a) = (y*a) @ K_k @ (y*a)``. A query solves one SVM on the combined kernel, from where the last one ended. For
    any feasible a, optimal or not, the function of b inside the maximum lies below f: that is the cut, and a loose SVM
    costs only `error`, its duality gap. Its least value over the simplex, ``sum(a) - 1/2 max_k S_k``, is the cut's
    lower bound: the dual objective of l1-MKL at a.

    Asked for curvature, a cut has the factor R of the Hessian of f, |free support vectors| x p. It belongs to the free
    set at the a that was found, so a loose SVM gives a rough one; where that set changes f has no second derivative.
    None if no support vector is free or the combined kernel is singular on the free ones.

    From one query to the next few dual variables change. With b = y*a and b' the one before, ``S_k(b) = S_k(b') +
    (b - b') @ K_k @ (b + b')``, which reads the pairs of a changed entry and a support vector only. One rule: this is
    done where it reads at most 3/4 of the pairs of support vectors, but at most 16 times in a row, which keeps S exact
    to 1e-12 of its largest entry; then, and elsewhere, S is summed in full.

    Parameters
    ----------
    bank : GramBank
        p kernels on n points.
    y : array_like of shape (n,)
        Labels, -1 and +1, both present.
    C : float or array_like of shape (n,)
        Upper bound of each dual variable, positive. Mind the scale: with kernels of unit trace 100 is moderate.
    class_weight : mapping, optional
        Factors on C for the labels -1 and 1; default 1.
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
    >>> cut.value, cut.subgradient.tolist(), cut.lower_bound
    (1.0, [-1.0, -2.0], 0.0)
    """

    def __init__(
        self,
        bank: GramBank,
        y: ArrayLike,
        C: float | ArrayLike = 100.0,
        *,
        class_weight: Mapping[int, float] | None = None,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
    ) -> None:
        self.bank = bank
        self.y = checked_labels(y)
        if self.y.size != bank.n_points:
            raise InvalidArgument(f"`y` must have {bank.n_points} labels, one a point of the bank, got {self.y.size}")
        self.C = checked_box(C, self.y, class_weight)
        if not 0.0 <= accuracy < np.inf:
            raise InvalidArgument(f"`accuracy` must be a number >= 0, got {accuracy!r}")
        self.accuracy = accuracy
        self.max_steps = max_steps
        self.domain = Simplex(bank.n_kernels)
        self._kernel = np.empty((bank.n_points, bank.n_points))
        self.reset()

    def reset(self) -> None:
        """Forget the last SVM solution."""
        self._signed: Vector | None = None
        self._S = np.empty(0)
        self._n_updates = 0

    def recall(self, cut: Cut) -> None:
        """Take the SVM solution and the quadratic forms of a cut: all this oracle remembers between queries."""
        self._signed = self.y * np.array(cut.extras["alpha"], dtype=float)
        self._S = np.array(cut.extras["quadratic_forms"], dtype=float)
        # Journals of earlier versions do not tell: the next S is then summed in full.
        self._n_updates = int(cut.extras.get("n_updates", MOST_UPDATES))

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
            Its `extras`: `alpha`, the dual variables, shape (n,); `bias`; `quadratic_forms`, S, shape (p,); `n_updates`
            of S since it was summed in full; `n_steps` of the SVM.

        Raises
        ------
        InvalidArgument
            The point is not in the simplex.
        """
        point = np.array(query.point, dtype=float)
        self._check_point(point)
        svm = solve_checked(
            self.bank.combine(point, out=self._kernel),
            self.y,
            self.C,
            start=self._signed,
            accuracy=self.accuracy if query.accuracy is None else query.accuracy,
            max_steps=self.max_steps,
        )
        alpha = svm.alpha
        S = self._forms(svm.signed_dual)
        total = float(alpha.sum())
        value = total - 0.5 * float(point @ S)
        return ObjectiveCut(
            point=point,
            value=value,
            subgradient=-0.5 * S,
            error=max(svm.primal_objective - value, 0.0),
            lower_bound=total - 0.5 * float(S.max()),
            curvature=self._curvature(svm.signed_dual) if query.curvature else None,
            extras={
                "alpha": alpha,
                "bias": svm.bias,
                "quadratic_forms": S,
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
            New points as `GramBank.cross` takes them: m raw points, or p cross-kernels of shape (m, n).

        Returns
        -------
        ndarray of shape (m,)
            Positive for the class +1.
        """
        cross = self.bank.cross(new, cut.point)
        return decision_values(cross, self.y * cut.extras["alpha"], cut.extras["bias"])

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Labels -1 or +1 of new points, ndarray of shape (m,): the signs of `decision_function`, 0 counting as +1."""
        return np.where(self.decision_function(cut, new) >= 0, 1.0, -1.0)

    def identity(self) -> str:
        """Kernels, labels, C and accuracy."""
        data = f"y #{zlib.crc32(self.y.tobytes()):08x}, C #{zlib.crc32(self.C.tobytes()):08x}"
        return f"{super().identity()}, kernels {self.bank.digest()}, {data}, accuracy {self.accuracy:g}"

    def _forms(self, signed_dual: Vector) -> Vector:
        """S at the signed dual variables, which are remembered with it."""
        S, updates = None, self._n_updates + 1
        if self._signed is not None and updates <= MOST_UPDATES:
            added = signed_dual + self._signed
            changed = np.flatnonzero(signed_dual != self._signed)
            n_support = np.count_nonzero(signed_dual)
            if changed.size * np.count_nonzero(added) <= UPDATE_SHARE * n_support * (n_support + 1) / 2:
                difference = (signed_dual - self._signed)[changed]
                S = self._S + difference @ self.bank.row_products(changed, added)
        if S is None:
            S, updates = self.bank.quadratic_forms(signed_dual), 0
        self._signed, self._S, self._n_updates = signed_dual, S.copy(), updates
        return S

    def _curvature(self, signed_dual: Vector) -> Matrix | None:
        """Factor of the Hessian at the point whose combined kernel is in `_kernel`."""
        alpha = np.abs(signed_dual)
        free = np.flatnonzero((alpha > 0) & (alpha < self.C))
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
