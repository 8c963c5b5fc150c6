"""Generalized multiple kernel learning: any regularizer on the weights of a sum, or of a product, of kernels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.answers.analytic_update import AnalyticUpdate
from oracle_opt.arrays import Vector, fingerprint
from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels import KernelBank, ProductBank
from oracle_opt.oracles.mkl.dense_machine import DenseMachine
from oracle_opt.oracles.mkl.dual_query import DualQuery
from oracle_opt.oracles.mkl.excess_proof import excess_of
from oracle_opt.oracles.mkl.minorant import error_above, minorant_at, proof_of_products, proven
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights, MKLProblem
from oracle_opt.oracles.mkl.product_machine import ProductMachine
from oracle_opt.oracles.mkl.regularized import ROUNDING, least_of_multiples, lowered, regularize
from oracle_opt.oracles.mkl.regularizer_proof import value_above
from oracle_opt.oracles.mkl.regularizers import LpRegularizer, Regularizer
from oracle_opt.oracles.mkl.svm_oracle import MEMORY_BUDGET, SVMOracle, checked_bank
from oracle_opt.oracles.mkl.svm_proof import (
    judged,
    least_value,
    machine_above,
    n_entries_of,
    number_of,
    proven_by,
    vector_of,
    weights_of,
)
from oracle_opt.oracles.svm import Loss
from oracle_opt.oracles.svm.pieces import Pieces, imbalance
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.words import shown


class GMKLOracle(SVMOracle):
    """``T(d) = r(d) + max over b of L(b) - 1/2 b @ K(d) @ b``, d >= 0, b the signed dual variables of a loss.

    L, a box and the sum of b are those of the loss: with the hinge ``b = y*a`` and ``L(b) = sum(a)``. A query solves
    one support vector machine on the kernel ``K(d)``, from where the last one ended; `Query.accuracy` is the relative
    gap asked of it, and what remains of its gap is the cut's `error`.

    *Sum*, ``K(d) = sum(d_k K_k)``, for a `KernelBank`. T is convex if r is. For any feasible b the function inside the
    maximum is affine in d, so its value and slope at the query point plus those of r are a valid cut. The orthant is
    not bounded, and yet the cut has a lower bound: the dual ``L(t b) - r*(S(t b) / 2)``, r* the conjugate of r over
    the orthant and t the best scale, for every regularizer that knows its conjugate. t is 1 for `OneClass`, whose dual
    variables have a sum that is not 0. Where r* is smooth, `NewtonMKL` and `SMOMKL` serve it, too.

    *Product*, ``K(d) = exp(-sum(d_k D_k))`` entrywise, for a `ProductBank`. T is not convex: value and gradient are
    what they are, nothing is proven; end the run by `gtol`. Generators that need convexity are refused.

    Parameters
    ----------
    bank : KernelBank or ProductBank
        p kernels, or p distances, on n points.
    y : array_like of shape (n,), optional
        As for `MKLOracle`.
    regularizer : Regularizer, optional
        r: `LpRegularizer`, `ElasticNet`, `EntropyRegularizer` or an object of a subclass of your own. Default:
        ``LpRegularizer(2)``, half the squared Euclidean norm.
    loss, C
        As for `MKLOracle`.
    radius : float
        States that some minimizer has all weights <= radius; cutting-plane methods need it finite. Default: unbounded.
    accuracy, max_steps, memory_budget
        As for `MKLOracle`. Where the kernel of a product of points does not fit into the budget it is computed on the
        fly; that of given distances, which take p / 2 as many bytes, is formed on all points whatever the budget.

    Attributes
    ----------
    domain : KernelWeights
        The orthant of dimension p. Its entropic metric, which `SPG` uses, is that of the regularizer.
    convex : bool
        Whether bounds are proofs: a sum of kernels and a regularizer that declares itself convex.
    gives : frozenset of kinds of answers
        `AnalyticUpdate`, if it is a sum of kernels and the regularizer has a `block_update`.

    Raises
    ------
    InvalidArgument
        Labels, targets, a loss or a regularizer that cannot be used, or a homogeneous regularizer, as
        ``LpRegularizer(p, power=1)`` is, with `OneClass`: then ``T(c d) = c T(d)``, and T is nowhere negative, least at
        0, or not bounded below. From `query`: a point that is not in the orthant, or a regularizer whose value or
        gradient is not finite there.

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
    >>> oracle = GMKLOracle(GramBank([np.eye(2), np.ones((2, 2))]), [1, -1], LpRegularizer(2), C=100.0)
    >>> cut = oracle.query(Query(np.array([1.0, 0.0])))
    >>> round(cut.value, 6), np.abs(cut.subgradient.round(6)).tolist(), round(cut.lower_bound, 3)
    (1.5, [0.0, 0.0], 1.5)
    """

    witness = ("signed_dual", "bias", "bound_dual")

    def __init__(
        self,
        bank: KernelBank | ProductBank,
        y: ArrayLike | None = None,
        regularizer: Regularizer | None = None,
        *,
        loss: Loss | float | ArrayLike | None = None,
        C: float | ArrayLike | None = None,
        radius: float = np.inf,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        regularizer = LpRegularizer(2.0) if regularizer is None else regularizer
        if not isinstance(regularizer, Regularizer):
            raise InvalidArgument(
                f"`regularizer` must be a Regularizer such as LpRegularizer(2), got {shown(regularizer)}; for one of "
                "your own subclass it: `value`, `gradient`, `convex`. The weight of the loss goes by its name, C=..."
            )
        self.bank = bank if isinstance(bank, ProductBank) else checked_bank(bank)
        self.regularizer = regularizer
        super().__init__(bank, y, loss, C, accuracy, max_steps, memory_budget)
        if regularizer.homogeneous and self._dual.total != 0 and not self._dual.linear.any():
            raise InvalidArgument(
                f"`regularizer` must grow faster than linearly with the loss {self.loss!r}, got {regularizer!r}: then "
                "T(c d) = c T(d) is least at d = 0 or not bounded below; take LpRegularizer(p, power=2)"
            )
        self.domain: KernelWeights = KernelWeights(bank.n_kernels, radius, regularizer, self._problem())
        self.convex = bool(regularizer.convex) and not isinstance(bank, ProductBank)
        regularize(self.regularizer, self.domain.interior_point())
        if not isinstance(bank, ProductBank) and regularizer.block_update(np.ones(bank.n_kernels)) is not None:
            self.gives = frozenset({AnalyticUpdate})

    def query(self, query: Query) -> ObjectiveCut:
        """Solve the support vector machine on the kernel at the point.

        Parameters
        ----------
        query : Query
            A point of the orthant; its `accuracy`, if any, is the relative gap asked of the machine. A `DualQuery` of
            a sum of kernels is answered by its own dual variables.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `signed_dual`, b, shape (n,); `alpha`, its absolute values; `bias`; `n_steps`; for a sum of
            kernels `quadratic_forms`, S, shape (p,); where the lower bound is that of other dual variables,
            `bound_dual`, these. Wished for, its `AnalyticUpdate`: the weights that minimize the primal objective at
            this machine's hyperplane.

        Raises
        ------
        InvalidArgument
            The point is not in the orthant, or the regularizer is not finite there.
        """
        d = np.maximum(self._checked_point(query.point), 0.0)
        if isinstance(self.bank, ProductBank):
            return self._of_product(query, d)
        if isinstance(query, DualQuery):
            cut = self._of_dual(query, d)
            self._machine.signed = query.signed_dual
            return self._polished(query, d, cut) if query.polish else cut
        return self._of_machine(query, d)

    def _of_machine(self, query: Query, d: Vector) -> ObjectiveCut:
        """Cut by the solution of the support vector machine at the weights d."""
        svm = self._machine.solve(d, query.accuracy)
        S, error = self._machine.forms(svm.signed_dual)
        S = np.maximum(S, 0.0)  # below 0 by rounding alone
        extras = {**self._extras(svm), "quadratic_forms": S, **self._machine.extras()}
        return self._cut(query, d, svm.imbalance, error, svm.primal_objective, extras)

    def _of_dual(self, query: DualQuery, d: Vector) -> ObjectiveCut:
        """Cut by the dual variables b of a query: with the best bias, their primal objective is an upper bound."""
        assert isinstance(self.bank, KernelBank)
        b, S = query.signed_dual, query.quadratic_forms
        proof = proof_of_products(self.bank, self._pieces, b, S, query.decision, d, query.slack)
        extras = {
            "signed_dual": b,
            "alpha": np.abs(b),
            "bias": proof.bias,
            "n_steps": query.n_steps,
            "quadratic_forms": S,
        }
        return self._cut(query, d, imbalance(b, self._dual.total), proof.error, proof.upper, extras)

    def _polished(self, query: DualQuery, d: Vector, cut: ObjectiveCut) -> ObjectiveCut:
        """The better of that cut and the one of the machine solved from there, with the better lower bound."""
        solved = self._of_machine(query, d)
        better, other = (solved, cut) if solved.upper <= cut.upper else (cut, solved)
        extras = {**better.extras, "n_steps": query.n_steps}
        if other.lower_bound > better.lower_bound:
            extras["bound_dual"] = other.extras["signed_dual"]
        return replace(better, lower_bound=max(cut.lower_bound, solved.lower_bound), extras=extras)

    def _of_product(self, query: Query, d: Vector) -> ObjectiveCut:
        """Value and gradient of a product of kernels, which prove nothing."""
        assert isinstance(self.bank, ProductBank)
        machine = self._machine
        regularized, slope = regularize(self.regularizer, d)
        svm = machine.solve(d, query.accuracy)
        if isinstance(machine, ProductMachine):
            forms = machine.distance_forms(svm.signed_dual)
        else:
            assert isinstance(machine, DenseMachine)
            kernel = machine.take_kernel()
            kernel.flat[:: kernel.shape[0] + 1] = 1.0  # without the ridge
            forms = self.bank.distance_forms(svm.signed_dual, kernel)
        value = svm.dual_objective + regularized - ROUNDING * abs(regularized)
        return ObjectiveCut(
            point=np.array(query.point, dtype=float),
            value=value,
            subgradient=slope + 0.5 * forms,
            error=error_above(value, regularized + ROUNDING * abs(regularized) + svm.primal_objective),
            extras={**self._extras(svm), **machine.extras()},
        )

    def _cut(
        self, query: Query, d: Vector, moved: float, error: tuple[float, float], upper: float, extras: dict[str, Any]
    ) -> ObjectiveCut:
        """Cut by dual variables, in the extras, whose sum is wrong by `moved`, their forms by `error`."""
        assert isinstance(self.bank, KernelBank)
        b, S = extras["signed_dual"], extras["quadratic_forms"]
        regularized, slope = regularize(self.regularizer, d)
        constant, F = proven(self.bank, self._dual, b, moved, S, error)
        value = minorant_at(d, constant, F) + regularized - ROUNDING * abs(regularized)
        value, subgradient = lowered(d, value, slope - 0.5 * F, np.abs(slope) + 0.5 * F)
        answers: tuple[AnalyticUpdate, ...] = ()
        # The hyperplane has squared norms d**2 * S; its primal objective in d is 1/2 sum(norms / d) + r(d).
        if AnalyticUpdate in query.wishes and (update := self.regularizer.block_update(d * d * S)) is not None:
            answers = (AnalyticUpdate(np.asarray(update, dtype=float)),)
        return ObjectiveCut(
            point=np.array(query.point, dtype=float),
            value=value,
            subgradient=subgradient,
            error=error_above(value, regularized + ROUNDING * abs(regularized) + upper),
            lower_bound=self._lower_bound(constant, F, b) if self.convex else -np.inf,
            answers=answers,
            extras=extras,
        )

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        """Count what the dual variables of a cut prove of a sum of kernels; see `Oracle.prove_cut`."""
        bank, b = self.bank, vector_of(claim.witness, "signed_dual", self.bank.n_points)
        if claim.kind is ClaimKind.BOUND and "bound_dual" in claim.witness:
            b = vector_of(claim.witness, "bound_dual", bank.n_points)
        if b is None or isinstance(bank, ProductBank) or not self.convex:
            return None

        def excess() -> Fraction | None:
            return excess_of(claim, proven_by(bank, self._dual, b, exact), self.regularizer, self.domain.radius)

        return judged(excess, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """Count the primal objective of the hyperplane of a cut at its point; see `Oracle.prove_value`."""
        bank, d = self.bank, weights_of(claim.point, self.bank.n_kernels)
        b = vector_of(claim.witness, "signed_dual", bank.n_points)
        if b is None or isinstance(bank, ProductBank):
            return None
        bias = number_of(claim.witness, "bias")

        def upper(exact: bool) -> Fraction:
            return value_above(self.regularizer, d) + machine_above(bank, self._dual, b, bias, d, exact)

        return judged(lambda: least_value(upper, claim.upper, n_entries_of(bank, b, d), exact), exact)

    def identity(self) -> str:
        """Kernels, loss, labels or targets, accuracy and regularizer."""
        return f"{super().identity()}, regularizer {fingerprint(self.regularizer)}"

    def problem_identity(self) -> str:
        """Kernels, loss, labels or targets, and regularizer."""
        return f"{super().problem_identity()}, regularizer {fingerprint(self.regularizer)}"

    def _problem(self) -> MKLProblem | None:
        """What the methods made for a smooth conjugate work on; None where there is none."""
        if isinstance(self.bank, ProductBank):
            return None
        dual = self.regularizer.smooth_dual(self.bank.n_kernels)
        return None if dual is None else MKLProblem(self.bank, self._dual, dual, self._machine)

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self._dual)

    def _lower_bound(self, constant: float, F: Vector, b: Vector) -> float:
        """What L(b) and forms of b that are proven say of the minimum."""
        dual = self._dual
        longest = dual.longest_multiple(b) if dual.total == 0 else None
        return least_of_multiples(self.regularizer, constant, F, dual.quadratic(b), longest)
