"""Generalized multiple kernel learning: any regularizer on the weights of a sum, or of a product, of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector, fingerprint
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.domains import NonnegativeOrthant
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels import KernelBank, ProductBank
from oracle_opt.oracles.mkl._warm_svm import WarmSVM, WeightedSVMOracle, checked_point
from oracle_opt.oracles.mkl.minorant import error_above, minorant_at, proven
from oracle_opt.oracles.mkl.regularizers import Regularizer

# What rounding may make of a regularizer or its conjugate, relative to them.
ROUNDING = 256 * float(np.finfo(float).eps)


class WeightOrthant(NonnegativeOrthant):
    """The orthant of the weights, with the metric of their regularizer.

    Parameters
    ----------
    dimension : int
        p.
    radius : float
        As for `NonnegativeOrthant`.
    regularizer : Regularizer
        Whose `metric` is the entropic metric here.
    """

    def __init__(self, dimension: int, radius: float, regularizer: Regularizer) -> None:
        super().__init__(dimension, radius)
        self.regularizer = regularizer

    def entropic_metric(self, point: Vector) -> Vector | None:
        """Return the metric of the regularizer, if it has one."""
        return self.regularizer.metric(point)


class GMKLOracle(WeightedSVMOracle):
    """``T(d) = r(d) + max over a of sum(a) - 1/2 (y*a) @ K(d) @ (y*a)``, d >= 0, a in the box of the C-SVC dual.

    A query solves one SVM on the kernel ``K(d)``, from where the last one ended; `Query.accuracy` is the relative gap
    asked of it, and what remains of its gap is the cut's `error`.

    *Sum*, ``K(d) = sum(d_k K_k)``, for a `KernelBank`. T is convex if r is. For any feasible a the function inside the
    maximum is affine in d, so its value and slope at the query point plus those of r are a valid cut. The orthant is
    not bounded, and yet the cut has a lower bound: the dual ``sum(t a) - r*(S(t a) / 2)``, r* the conjugate of r over
    the orthant and t the best scale, for every regularizer that knows its conjugate.

    *Product*, ``K(d) = exp(-sum(d_k D_k))`` entrywise, for a `ProductBank`. T is not convex: value and gradient are
    what they are, nothing is proven; end the run by `gtol`. Generators that need convexity are refused.

    Parameters
    ----------
    bank : KernelBank or ProductBank
        p kernels, or p distances, on n points.
    y : array_like of shape (n,)
        Labels, -1 and +1, both present.
    C : float or array_like of shape (n,)
        Upper bound of each dual variable, positive.
    regularizer : Regularizer
        r, for example `LpRegularizer`, or an object of a subclass of your own.
    radius : float
        States that some minimizer has all weights <= radius; cutting-plane methods need it finite. Default: unbounded.
    class_weight, accuracy, max_steps
        As for `MKLOracle`.

    Attributes
    ----------
    domain : NonnegativeOrthant
        Of dimension p. Its entropic metric, which `SPG` uses, is that of the regularizer.
    convex : bool
        Whether bounds are proofs: a sum of kernels and a regularizer that declares itself convex.

    Raises
    ------
    InvalidArgument
        Labels, C or a regularizer that cannot be used. From `query`: a point that is not in the orthant, or a
        regularizer whose value or gradient is not finite there.

    References
    ----------
    .. [1] Jain, Vishwanathan, Varma (2012), "SPG-GMKL: generalized multiple kernel learning with a million kernels",
       equations 1 to 4.
    .. [2] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm", for
       the dual of the squared lp norm.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Query
    >>> from oracle_opt.oracles import GMKLOracle, GramBank, LpRegularizer
    >>> oracle = GMKLOracle(GramBank([np.eye(2), np.ones((2, 2))]), [1, -1], 100.0, LpRegularizer(2))
    >>> cut = oracle.query(Query(np.array([1.0, 0.0])))
    >>> round(cut.value, 6), np.abs(cut.subgradient.round(6)).tolist(), round(cut.lower_bound, 3)
    (1.5, [0.0, 0.0], 1.5)
    """

    def __init__(
        self,
        bank: KernelBank | ProductBank,
        y: ArrayLike,
        C: float | ArrayLike,
        regularizer: Regularizer,
        *,
        radius: float = np.inf,
        class_weight: Mapping[int, float] | None = None,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
    ) -> None:
        if not isinstance(regularizer, Regularizer):
            raise InvalidArgument(
                f"`regularizer` must be a Regularizer, got {regularizer!r}; subclass it: `value`, `gradient`, `convex`"
            )
        self.bank = bank
        self.regularizer = regularizer
        self._svm = WarmSVM(bank.n_points, y, C, class_weight, accuracy, max_steps)
        self.domain = WeightOrthant(bank.n_kernels, radius, regularizer)
        self.convex = bool(regularizer.convex) and not isinstance(bank, ProductBank)
        self._regularize(self.domain.interior_point())

    def reset(self) -> None:
        """Forget the last SVM solution."""
        self._svm.reset()

    def resume(self, cut: Cut) -> None:
        """Take the SVM solution of a cut as the next starting point: all this oracle remembers between queries."""
        self._svm.resume(cut)

    def query(self, query: Query) -> ObjectiveCut:
        """Solve the SVM on the kernel at the point.

        Parameters
        ----------
        query : Query
            A point of the orthant; its `accuracy`, if any, is the relative gap asked of the SVM.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `alpha`, the dual variables, shape (n,); `bias`; `n_steps`; for a sum of kernels
            `quadratic_forms`, S, shape (p,), and where the regularizer has one `analytic_update`, shape (p,): the
            weights that minimize the primal objective at this SVM's hyperplane.

        Raises
        ------
        InvalidArgument
            The point is not in the orthant, or the regularizer is not finite there.
        """
        d = np.maximum(checked_point(query.point, self.domain), 0.0)
        regularized, slope = self._regularize(d)
        svm = self._svm
        noise = 0.0 if isinstance(self.bank, ProductBank) else self.bank.noise(int(np.count_nonzero(d)))
        solution = svm.solve(self.bank.combine(d, out=svm.kernel), query.accuracy, noise)
        alpha = solution.alpha
        extras: dict[str, Any] = {"alpha": alpha, "bias": solution.bias, "n_steps": solution.n_steps}
        lower = -np.inf
        if isinstance(self.bank, ProductBank):
            F = forms = -self.bank.distance_forms(solution.signed_dual, svm.kernel)
            value = solution.dual_objective
        else:
            b = solution.signed_dual
            forms = np.maximum(self.bank.quadratic_forms(b), 0.0)  # below 0 by rounding alone
            extras["quadratic_forms"] = forms
            constant, F = proven(self.bank, svm.dual, b, solution.imbalance, forms, self.bank.form_error(b, b))
            value = minorant_at(d, constant, F)
            lower = self.regularizer.dual_bound(constant, 0.5 * F, svm.longest(alpha))
            lower -= ROUNDING * (2.0 * abs(constant) + abs(lower))
            # The hyperplane has squared norms d**2 * S; its primal objective in d is 1/2 sum(norms / d) + r(d).
            if (update := self.regularizer.block_update(d * d * forms)) is not None:
                extras["analytic_update"] = update
        value += regularized - ROUNDING * abs(regularized)
        return ObjectiveCut(
            point=np.array(query.point, dtype=float),
            value=value,
            subgradient=slope - 0.5 * F,
            error=error_above(value, regularized + ROUNDING * abs(regularized) + solution.primal_objective),
            lower_bound=lower if self.convex else -np.inf,
            extras=extras,
        )

    def identity(self) -> str:
        """Kernels, labels, C, accuracy and regularizer."""
        kernels = f"kernels #{self.bank.digest()}, {self._svm.identity()}"
        return f"{super().identity()}, {kernels}, regularizer {fingerprint(self.regularizer)}"

    def _regularize(self, d: Vector) -> tuple[float, Vector]:
        """Value and gradient of r, checked, as the user may have written them."""
        value, slope = float(self.regularizer.value(d)), np.asarray(self.regularizer.gradient(d), dtype=float)
        if slope.shape != d.shape:
            raise InvalidArgument(f"`regularizer.gradient` must have shape {d.shape}, got {slope.shape}")
        if not np.isfinite(value):
            raise InvalidArgument(f"`regularizer.value` must be finite on the orthant, got {value}")
        if not np.isfinite(slope).all():
            k = int(np.flatnonzero(~np.isfinite(slope))[0])
            raise InvalidArgument(
                f"`regularizer.gradient` must be finite on the orthant, got {slope[k]} for weight {k} at {d[k]:g}"
            )
        return value, slope
