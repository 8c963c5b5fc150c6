"""Mixed-norm multiple kernel learning: every group of kernels is kept, within a group few are chosen."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.answers.analytic_update import AnalyticUpdate
from oracle_opt.arguments import whole
from oracle_opt.arrays import Vector, digest
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.domains import ProductOfSimplices
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.group_proof import excess_of_groups, value_of_groups
from oracle_opt.oracles.mkl.minorant import error_above, minorant_at, proven
from oracle_opt.oracles.mkl.svm_oracle import MEMORY_BUDGET, SVMOracle, checked_bank
from oracle_opt.oracles.mkl.svm_proof import (
    judged,
    least_value,
    n_entries_of,
    number_of,
    proven_by,
    vector_of,
    weights_of,
)
from oracle_opt.oracles.svm import Loss, SVMSolution
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim, missing
from oracle_opt.words import shown

ROUNDING = 64 * float(np.finfo(float).eps)  # relative rounding of the sums, quotients and roots of a group
FLOOR = 1e-10  # the least weight c_j, which a group keeps whose kernels vanish on the support vectors
MAX_SOLVES = 50  # SVMs per query
MEMORY = 6  # alternations that are extrapolated
FALLS, PATIENCE = 0.9, 8  # a factor by which the error of a query has to fall once in so many rounds


class MixedNormOracle(SVMOracle):
    """``h(l) = max over b, c of L(b) - 1/2 sum_j (1/c_j) sum_k l_jk S_jk(b)``, l in a product of simplices.

    b are the signed dual variables of a loss, which gives L, their box and their sum: with the hinge ``b = y*a`` and
    ``L(b) = sum(a)``. c is in the simplex of the n groups; ``S_jk(b) = b @ K_jk @ b``. The primal has the largest group
    norm, and within a group the sum of the norms: l-infinity over groups, l1 inside. The bracket is concave in (b, c)
    together and affine in l: any (b, c) gives a cut, so h is convex and every generator applies.

    A query alternates: a support vector machine on ``sum_j (1/c_j) sum_k l_jk K_jk``, then ``c_j`` proportional to
    ``sqrt(W_j)`` with ``W_j = sum_k l_jk S_jk``, (6), from where the last query ended; further rounds extrapolate. The
    machine's hyperplane, feasible for the primal whatever c, gives the upper estimate: `error` is what it is above the
    cut.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    y, loss
        As for `MKLOracle`.
    groups : sequence of sequences of int
        Indices of the kernels of each group; together they are 0 .. p - 1, each once. The weights of a query point
        are in this order, group after group.
    C : float or array_like of shape (n,), optional
        As for `MKLOracle`.
    max_solves : int, optional
        At most so many SVMs per query, however large the error that is left. With 1 the run is the paper's alternation,
        Algorithm 1: steps in l, the generator's, alternate with steps in c, after every one of them. That suits
        methods which keep moving (`MirrorDescent`, `FixedPoint`); those that compare values, or may ask the same point
        again, stall on such errors. Default: as many as the accuracy needs.
    accuracy, max_steps, memory_budget
        As for `MKLOracle`; the accuracy is that of h.

    Attributes
    ----------
    domain : ProductOfSimplices
        One simplex a group.

    Raises
    ------
    InvalidArgument
        Labels, targets or a loss that cannot be used, or groups that do not partition the kernels.

    References
    ----------
    .. [1] Nath, Dinesh, Raman, Bhattacharyya, Ben-Tal, Ramakrishnan (2009), "On the algorithmics and applications of a
       mixed-norm based kernel learning formulation", equations 1 and 4 to 6.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Query
    >>> from oracle_opt.oracles import GramBank, MixedNormOracle
    >>> oracle = MixedNormOracle(GramBank([np.eye(2), np.eye(2)]), [1, -1], 100.0, groups=[[0], [1]])
    >>> cut = oracle.query(Query(np.array([1.0, 1.0])))
    >>> round(cut.value, 6), cut.extras["group_weights"].tolist()
    (0.25, [0.5, 0.5])
    """

    gives = frozenset({AnalyticUpdate})
    witness = ("signed_dual", "bias", "group_weights", "machine_weights")
    bank: KernelBank
    domain: ProductOfSimplices

    def __init__(
        self,
        bank: KernelBank,
        y: ArrayLike | None = None,
        loss: Loss | float | ArrayLike | None = None,
        *,
        groups: Sequence[Sequence[int]],
        C: float | ArrayLike | None = None,
        max_solves: int | None = None,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        self.bank = checked_bank(bank)
        self._meant = bank.before_rounding()  # as 1 / c multiplies what a store has rounded
        self.groups = _checked_groups(groups, bank.n_kernels)
        self.max_solves = None if max_solves is None else whole("max_solves", max_solves)
        self.domain = ProductOfSimplices([len(group) for group in self.groups])
        self._order = np.concatenate([np.asarray(group, dtype=np.intp) for group in self.groups])
        self._starts = np.cumsum((0, *self.domain.sizes[:-1]))
        super().__init__(self._meant, y, loss, C, accuracy, max_steps, memory_budget)
        self.reset()

    def reset(self) -> None:
        """Forget the last solution and the last weights of the groups."""
        super().reset()
        self._c = np.full(len(self.groups), 1.0 / len(self.groups))

    def resume(self, cut: Cut) -> None:
        """Take the solution and the group weights of a cut: all this oracle remembers between queries."""
        super().resume(cut)
        self._c = np.array(cut.extras["group_weights"], dtype=float)

    def query(self, query: Query) -> ObjectiveCut:
        """Alternate between the support vector machine and the weights of the groups.

        Parameters
        ----------
        query : Query
            A point of the product of simplices; its `accuracy`, if any, is the relative error asked.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `signed_dual`, b, shape (n,); `alpha`, its absolute values; `bias`; `kernel_weights`, those of
            the bank's kernels in the machine, shape (p,); `group_weights`, c, shape (number of groups,), of the cut;
            `machine_weights`, those of the groups in the machine, by which the point was divided;
            `quadratic_forms`, S, in the order of the query point; `n_solves`, machines solved; `n_steps`, their steps.
            Wished for, its `AnalyticUpdate`: the weights that minimize the primal objective at this machine's
            hyperplane.

        Raises
        ------
        InvalidArgument
            The point is not in the domain.
        """
        point = self._checked_point(query.point)
        wanted = self.accuracy if query.accuracy is None else query.accuracy
        limit = MAX_SOLVES if self.max_solves is None else self.max_solves
        n_solves = n_steps = 0
        tried: list[Vector] = []
        found: list[Vector] = []
        best: _Round | None = None
        since, restarted = 0, False  # rounds since the error last fell, and whether they began once more
        c = self._c
        while True:
            n_solves += 1
            last = self._round(point, c, wanted)
            n_steps += last.svm.n_steps
            since += 1
            if best is None or last.upper - last.value < best.upper - best.value:
                since = 0 if best is None or last.upper - last.value < FALLS * (best.upper - best.value) else since
                best = last
            if best.upper - best.value <= wanted * abs(best.upper) or n_solves == limit:
                break
            if since >= PATIENCE and restarted:
                break
            if since >= PATIENCE:
                # A weight of a group that had become very small grows slowly: from equal ones it does not have to.
                since, restarted, tried, found = 0, True, [], []
                c = np.full(len(self.groups), 1.0 / len(self.groups))
                continue
            tried.append(np.log(c))
            found.append(np.log(last.c))
            c = _extrapolated(tried[-MEMORY:], found[-MEMORY:])
        self._c = best.c
        if best is not last:
            self._machine.resume(self._extras(best.svm) | {"quadratic_forms": best.S})
        largest = np.maximum(np.maximum.reduceat(best.F, self._starts), 0.0)
        return ObjectiveCut(
            point=point,
            value=best.value,
            subgradient=-0.5 * best.F / self._of_kernels(best.c),
            error=error_above(best.value, best.upper),
            # the best c for the largest S of each group gives the dual objective at a
            lower_bound=best.total
            - 0.5 * (1 + ROUNDING) * float(np.sqrt(largest).sum()) ** 2
            - ROUNDING * abs(best.total),
            extras={
                **self._extras(best.svm),
                **self._machine.extras(),
                "n_steps": n_steps,
                "kernel_weights": best.weights,
                "group_weights": best.c.copy(),
                "machine_weights": best.solved,
                "quadratic_forms": best.S,
                "n_solves": n_solves,
            },
            answers=(self._update(point, best.S),) if AnalyticUpdate in query.wishes else (),
        )

    def _round(self, point: Vector, c: Vector, wanted: float) -> _Round:
        """Solve the machine at weights c of the groups, and find better ones."""
        weights = np.empty(self.bank.n_kernels)
        weights[self._order] = point / self._of_kernels(c)
        svm = self._machine.solve(weights, 0.5 * wanted)
        b = svm.signed_dual
        forms, error = self._machine.forms(b)
        total, F = proven(self._meant, self._dual, b, svm.imbalance, forms, error)
        S, F = forms[self._order], F[self._order]
        of_machine = self._sums(point * S)  # below 0 where a store has rounded, and its norms are then, too
        W = np.maximum(of_machine, 0.0)
        # The machine's hyperplane has group norms W / c**2; its primal objective takes the largest of them. They are W
        # up to the error of the forms, which F has on one side. Where a group tells nothing, all of its W is that
        # error, which must not be divided by a square of nothing.
        wrong = self._sums(point * (F - S)) + ROUNDING * W
        better = _best_group_weights(W + wrong)
        value = minorant_at(point, total, F / self._of_kernels(better))
        # As c adds up to 1, the largest of W / c**2 is at least the sum of W / c.
        more = 0.5 * float(((W + wrong) / c**2).max() - ((of_machine - wrong) / c).sum()) * (1 + ROUNDING)
        upper = svm.primal_objective + svm.stretch * more
        return _Round(svm, weights, S, F, total, c, better, value, upper)

    def _update(self, point: Vector, S: Vector) -> AnalyticUpdate:
        """In each group the weights l_k proportional to ``l_k sqrt(S_k)``; the old ones where all of these are 0."""
        update = np.sqrt(np.maximum(S, 0.0)) * point
        sums = self._sums(update)
        return AnalyticUpdate(
            np.where(self._of_kernels(sums) > 0, update, point) / self._of_kernels(np.where(sums > 0, sums, 1.0))
        )

    def _kernel_weights(self, cut: ObjectiveCut) -> Vector:
        """Weights of the bank's kernels in the SVM that answered a cut, ndarray of shape (p,)."""
        weights: Vector = cut.extras["kernel_weights"]
        return weights

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """Dual variables, and weights of the groups: those of a cut, or of the machine that was solved for a value."""
        if isinstance(claim, ValueClaim):
            return missing(claim, "signed_dual", "machine_weights")
        return missing(claim, "signed_dual", *(() if claim.kind is ClaimKind.BOUND else ("group_weights",)))

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        """Count what the dual variables of a cut and its weights of groups prove; see `Oracle.prove_cut`."""
        b = vector_of(claim.witness, "signed_dual", self.bank.n_points)
        c = vector_of(claim.witness, "group_weights", len(self.groups))
        if b is None or (c is None and claim.kind is not ClaimKind.BOUND):
            return None

        def excess() -> Fraction | None:
            proven = proven_by(self._meant, self._dual, b, exact)
            return excess_of_groups(claim, proven, self.groups, c, self.domain.radius)

        return judged(excess, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """Count the primal objective of the hyperplane of a cut at its point; see `Oracle.prove_value`."""
        weights = weights_of(claim.point, self.bank.n_kernels)
        b = vector_of(claim.witness, "signed_dual", self.bank.n_points)
        c = vector_of(claim.witness, "machine_weights", len(self.groups))
        if b is None or c is None:
            return None
        bias = number_of(claim.witness, "bias")

        def upper(exact: bool) -> Fraction:
            return value_of_groups(self._meant, self._dual, b, bias, weights, self.groups, c, exact)

        n_entries = n_entries_of(self.bank, b, weights)
        return judged(lambda: least_value(upper, claim.upper, n_entries, exact), exact)

    def identity(self) -> str:
        """Kernels, loss, labels or targets, accuracy and groups."""
        return f"{super().identity()}, groups #{digest(self.groups)}, solves {self.max_solves}"

    def problem_identity(self) -> str:
        """Kernels, loss, labels or targets, and groups."""
        return f"{super().problem_identity()}, groups #{digest(self.groups)}"

    def _sums(self, values: Vector) -> Vector:
        """Sums over the groups."""
        sums: Vector = np.add.reduceat(values, self._starts)
        return sums

    def _of_kernels(self, values: Vector) -> Vector:
        """Values of the groups, one per kernel."""
        repeated: Vector = np.repeat(values, self.domain.sizes)
        return repeated


@dataclass(frozen=True, eq=False)
class _Round:
    """One machine of a query: what it proves, value and upper, at the best weights c of the groups for it.

    It was solved at the weights `solved` of the groups.
    """

    svm: SVMSolution
    weights: Vector
    S: Vector
    F: Vector
    total: float
    solved: Vector
    c: Vector
    value: float
    upper: float


def _best_group_weights(W: Vector) -> Vector:
    """(6), kept positive."""
    roots = np.sqrt(W)
    total = float(roots.sum())
    c = np.maximum(roots / total, FLOOR) if total > 0 else np.ones_like(W)
    normalized: Vector = c / c.sum()
    return normalized


def _extrapolated(tried: list[Vector], found: list[Vector]) -> Vector:
    """Anderson's extrapolation of a fixed point of positive weights, in their logarithms.

    The affine combination of the rounds for which ``found - tried`` is least in norm, Walker & Ni (2011). Nothing rests
    on it: any c gives a cut, and the next round proves how good this one is.
    """
    logs = found[-1]
    if len(tried) > 1:
        moves = np.array(found) - np.array(tried)
        shares = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-10)[0]
        logs = logs - shares @ np.diff(found, axis=0)
    c = np.exp(np.maximum(logs - logs.max(), np.log(FLOOR)))
    normalized: Vector = c / c.sum()
    return normalized


def _checked_groups(groups: Sequence[Sequence[int]], n_kernels: int) -> tuple[tuple[int, ...], ...]:
    try:
        checked = tuple(tuple(operator.index(k) for k in group) for group in groups)
    except TypeError as problem:
        raise InvalidArgument(f"`groups` must hold sequences of indices, got {shown(groups)}: {problem}") from problem
    if not checked or not all(checked):
        raise InvalidArgument(f"`groups` must hold groups of at least one kernel, got {shown(groups)}")
    counts = np.bincount([k for group in checked for k in group if 0 <= k < n_kernels], minlength=n_kernels)
    outside = sorted({k for group in checked for k in group if not 0 <= k < n_kernels})
    missing, twice = np.flatnonzero(counts == 0).tolist(), np.flatnonzero(counts > 1).tolist()
    if outside or missing or twice:
        wrong = [
            f"{words} {kernels[:5]}"
            for words, kernels in (("not kernels:", outside), ("missing:", missing), ("more than once:", twice))
            if kernels
        ]
        raise InvalidArgument(f"`groups` must partition the kernels 0 to {n_kernels - 1}, got {', '.join(wrong)}")
    return checked
