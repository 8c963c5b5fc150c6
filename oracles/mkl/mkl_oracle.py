"""l1 multiple kernel learning as a convex problem over the simplex, seen through a support vector machine."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.answers.curvature import Curvature
from oracle_opt.answers.exact_slopes import ExactSlopes
from oracle_opt.arrays import EPS, Vector
from oracle_opt.cuts import Cut, ObjectiveCut, PartialQuery, Query
from oracle_opt.domains import Simplex
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels import GramBank, KernelBank
from oracle_opt.oracles.kernels.bank import stored_kernels
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.mkl.formula import least
from oracle_opt.oracles.mkl.kernel_machine import MEMORY_BUDGET, KernelMachine, checked_bank, factor_of
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle, error_above, part_of, solved
from oracle_opt.oracles.mkl.svm_machine import SVMMachine
from oracle_opt.oracles.mkl.weights import Groups, checked_query_point
from oracle_opt.oracles.svm import Loss

# Share of the memory budget that all entries of the few kernels may take.
STORED = 0.25


class FewKernels:
    """The kernels in use, and all quadratic forms when last asked for: bounds are in docs/theory_kernels.md."""

    def __init__(self, bank: KernelBank, memory_budget: int) -> None:
        self._bank, self._memory = bank, STORED * memory_budget
        self.reset()

    def reset(self) -> None:
        """Forget the kernels in use and the forms."""
        # Which are in use, in increasing order; None, as the others, before the first.
        self.kernels: Indices | None = None
        self.bank: KernelBank | None = None  # these alone
        self.machine: SVMMachine | None = None  # solves on it
        # Dual variables, and at least the forms of all kernels there.
        self.last: tuple[Vector | float, Vector | float] = 0.0, 0.0

    def use(
        self, kernels: Indices, make: Callable[[KernelBank], SVMMachine], start: Vector | None
    ) -> tuple[SVMMachine, KernelBank]:
        """Return the machine on these kernels, and a bank of them: kept from the last time, or new."""
        if self.machine is None or self.kernels is None or not np.array_equal(self.kernels, kernels):
            start = start if self.machine is None else self.machine.signed
            self.machine = self.bank = None  # which need not be kept while new ones are stored
            self.bank = stored(self._bank.subset(kernels), self._memory)
            self.kernels, self.machine = kernels.copy(), make(self.bank)
            self.machine.signed = start
        assert self.bank is not None
        return self.machine, self.bank

    def are_all_of(self, weights: Vector) -> bool:
        """Whether no other kernel has a weight."""
        return self.kernels is not None and np.count_nonzero(weights[self.kernels]) == np.count_nonzero(weights)

    def bounds(self, b: Vector, imbalance: float) -> Vector:
        """At least the forms of all kernels at whatever differs from b as `proven` says: ndarray of shape (p,)."""
        before, forms = self.last
        D = b - before
        size = float(np.abs(D).sum())
        one, two = size, float(np.linalg.norm(D))
        if self._bank.nonnegative:
            one = float(np.hypot(size, abs(float(D.sum())) + EPS * D.size * size)) * np.sqrt(0.5)
        of_largest, of_trace = self._roots_of_sizes
        rounding, roots = 1.0 + EPS * (D.size + 16), np.sqrt(np.maximum(forms, 0.0))
        F = np.empty(self._bank.n_kernels)
        np.add(np.minimum(rounding * one * of_largest, rounding * two * of_trace), roots, out=F)
        F *= F
        F *= 1.0 + 16.0 * EPS
        if imbalance:
            F += (1.0 + 16.0 * EPS) * imbalance * (2.0 * float(np.abs(b).sum()) + imbalance) * of_largest**2
        return F

    @cached_property
    def _roots_of_sizes(self) -> tuple[Vector | float, Vector | float]:
        """Roots of the largest diagonal entries and of the traces, rounded up; one number where all are the same."""
        exact = 1.0 + 2.0 * self._bank.exactness + 8.0 * EPS
        largest, trace = (np.sqrt(exact * size) for size in self._bank.sizes)
        return (
            largest if np.ptp(largest) else float(largest[0]),
            trace if np.ptp(trace) else float(trace[0]),
        )


def stored(bank: KernelBank, most_bytes: float) -> KernelBank:
    """Return a bank of the same kernels with all entries kept, or itself if that takes more bytes."""
    n = bank.n_points
    if isinstance(bank, GramBank) or 8 * bank.n_kernels * n * (n + 1) > most_bytes:
        return bank
    return stored_kernels(bank)


class MKLOracle(KernelWeightsOracle):
    """``f(w) = max over b of L(b) - 1/2 sum_k w_k S_k(b)``, w in the simplex, ``S_k(b) = b @ K_k @ b``.

    b are the signed dual variables of a support vector machine, in a box and of a given sum; these and the concave L
    are its loss's. Classification, regression and points without labels differ in the loss alone. With the hinge loss
    ``b = y*a`` and ``L(b) = sum(a)``, ``0 <= a <= C``.

    A query solves one machine on the combined kernel, from where the last one ended. For any feasible b, optimal or
    not, the function of w inside the maximum lies below f: that is the cut, and a loose solve costs only `error`, its
    duality gap. Its least value over the simplex, ``L(b) - 1/2 max_k S_k``, or that of a better multiple of b, is the
    cut's lower bound: the dual objective of l1-MKL.

    Asked for it, a cut carries the `Curvature` of f, a factor of its Hessian: a row for each free support vector, and p
    columns. It belongs to the free set at the b that was found, so a loose solve gives a rough one; where that set
    changes f has no second derivative. None if no support vector is free or the combined kernel is singular on the free
    ones.

    With the squared hinge the machine's kernel is ``sum_k w_k K_k + I / (2 * C)``: no w_k stands before the ridge, it
    moves the cut's value and lower bound alone. With `OneClass` all values are at most 0, and large kernels make them
    small, so kernels should be brought to one scale first.

    From one query to the next few dual variables change. With b' those before, ``S_k(b) = S_k(b') +
    (b - b') @ K_k @ (b + b')``, which reads the pairs of a changed entry and a support vector only. One rule: this is
    done where it reads at most 3/4 of the pairs of support vectors, but at most 16 times in a row, which keeps S exact
    to 1e-12 of its largest entry; then, and elsewhere, S is summed in full.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    y : array_like of shape (n,), optional
        Labels -1 and +1 of a classification, targets of a regression; none for `OneClass`.
    loss : Loss, optional
        `Hinge`, `SquaredHinge`, `EpsilonInsensitive`, `OneClass` of `oracle_opt.oracles.svm`, or one of your own; a
        number is the C of `Hinge`. Default: ``Hinge(C=100.0)``.
    C : float or array_like of shape (n,), optional
        Short for ``loss=Hinge(C)``.
    accuracy : float
        Relative gap of the machine where a query wishes for none. The default, 1e-8, lets outer gaps of 1e-6 be
        certified.
    max_steps : int
        Limit on the steps of one machine; what it leaves open shows in the cut's `error`.
    memory_budget : int
        Bytes that solving a machine may take besides the bank and the cuts: 2 GiB by default. Up to ``8 * n**2`` of
        them the combined kernel is formed, ``n <= 16,384`` by default. Else, and from 4,000 points on where the bank
        keeps no entries, which takes less work then, ``(K_k @ b)_k`` is kept, ``8 * n * p`` bytes, and machines are
        solved on working sets of points, no kernel ever being formed on all of them; see Notes.

    Attributes
    ----------
    domain : Simplex
        The simplex of dimension p.

    Raises
    ------
    InvalidArgument
        Labels, targets or a loss that cannot be used, or a `memory_budget` that is too small; the least is named.

    Notes
    -----
    *Many points.* With the products ``M = (K_k @ b)_k`` the decision values at weights w are ``M @ w``, S is ``b @ M``,
    and the rows of the curvature are those of M. A query solves working sets of 1,500 points and more until the gap
    is as small as asked, with decision values that follow each set by the kernels of non-zero weight, and then changes
    M for the changed entries of b. The first machine starts from one on a tenth of the points. Its cost is that of
    ``n * (number of support vectors) * p`` entries of kernels; later ones cost the share of these entries of b that
    change. The gap in `error` is that of the exact point asked, taken from M, and counts what rounding, also that of a
    bank in float32, may have made of M. If rounding is all that is left of it, the query ends and `error` says so. An
    oracle that resumes a journal computes M anew in its first query, so that its answers are those of the run before
    up to rounding. It is worst where most dual variables are free and more than fit into a set, as with the squared
    hinge on tens of thousands of points.

    References
    ----------
    .. [1] Wulff, Ong (2014), "Analytic center cutting plane method for multiple kernel learning", equations 9, 10 and
       18 (which drops the factor 1/2 that 7 has).
    .. [2] Sonnenburg, Raetsch, Schaefer, Schoelkopf (2006), "Large scale multiple kernel learning", JMLR 7, for
       regression and one class.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Query
    >>> from oracle_opt.oracles import GramBank, MKLOracle
    >>> from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass
    >>> bank, query = GramBank([np.eye(2), 2 * np.eye(2)]), Query(np.array([1.0, 0.0]))
    >>> for oracle in (
    ...     MKLOracle(bank, [1, -1], C=100.0),
    ...     MKLOracle(bank, [1.0, -1.0], loss=EpsilonInsensitive(C=100.0, epsilon=0.5)),
    ...     MKLOracle(bank, loss=OneClass(nu=1.0)),
    ... ):
    ...     cut = oracle.query(query)
    ...     print(round(cut.value, 6), cut.subgradient.round(6), round(cut.lower_bound, 6) + 0.0)
    1.0 [-1. -2.] 0.5
    0.25 [-0.25 -0.5 ] 0.125
    -1.0 [-1. -2.] -2.0
    """

    witness = ("signed_dual", "bias")
    single = True
    domain: Simplex
    bank: KernelBank

    def __init__(
        self,
        bank: KernelBank,
        y: ArrayLike | None = None,
        loss: Loss | float | ArrayLike | None = None,
        *,
        C: float | ArrayLike | None = None,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        checked_bank(bank)
        machine = KernelMachine(bank, y, loss, C=C, accuracy=accuracy, max_steps=max_steps, memory_budget=memory_budget)
        super().__init__([machine], Groups(bank.n_kernels), accuracy=machine.accuracy)
        self.gives = frozenset({Curvature, ExactSlopes})
        self._few = FewKernels(bank, self.memory_budget)

    def reset(self) -> None:
        """Forget the last solution."""
        super().reset()
        self._few.reset()

    def resume(self, cut: Cut) -> None:
        """Take the solution of a cut as the next starting point."""
        assert isinstance(cut, ObjectiveCut)
        few, b = self._few, np.array(cut.extras["signed_dual"], dtype=float)
        told = cut.answer(ExactSlopes)
        if told is not None:
            few.use(told.coordinates, self.machine.solver, None)[0].resume(cut.extras)
            return
        if few.machine is not None and few.are_all_of(cut.point) and not cut.answer(Curvature):
            few.machine.signed = b
        else:
            super().resume(cut)
        few.last = b, -2.0 * cut.subgradient

    def query(self, query: Query) -> ObjectiveCut:
        """Solve the support vector machine on the combined kernel at a point of the simplex.

        The `accuracy` of the `query`, if any, is the relative gap asked of the machine; its `wishes` tell whether the
        `Curvature` of f is wanted. To a `PartialQuery` the forms of other kernels are not computed but bounded from the
        last ones, see `FewKernels`.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `signed_dual`, b, shape (n,); `alpha`, its absolute values; `bias`; `quadratic_forms`, S,
            shape (p,); `forms_error`, how wrong rounding may have made them, over the largest diagonal entry of each
            kernel and over its trace; `n_updates` of S since it was summed in full; `n_steps` of the machine. Without a
            combined kernel `n_sets`, the working sets of the machine, in place of the two before. For a `PartialQuery`
            S is that of its coordinates. Value, subgradient, error and lower bound hold in exact arithmetic.
        """
        point = checked_query_point(query.point, self.domain)
        if isinstance(query, PartialQuery) and query.coordinates.size < self.bank.n_kernels:
            return self._of_few(query, point)
        few, wanted = self._few, self.accuracy if query.accuracy is None else query.accuracy
        if few.machine is None or Curvature in query.wishes or not few.are_all_of(point):
            (part,) = self._parts(point, wanted)
        else:  # no kernel has a weight but those in use, whose machine is at hand
            svm = few.machine.solve(point[few.kernels], wanted)
            b = svm.signed_dual
            part = part_of(self.machine, self.bank, svm, self.bank.quadratic_forms(b), self.bank.form_error(b, b), {})
        few.last = part.svm.signed_dual, part.proof.forms
        return self._cut(query, point, self._round(point, [part]))

    def _of_few(self, query: PartialQuery, point: Vector) -> ObjectiveCut:
        """Solve on the kernels of a partial query alone; forms of the others are at most so large."""
        kernels = query.coordinates
        if np.count_nonzero(point[kernels]) < np.count_nonzero(point):
            raise InvalidArgument("`coordinates` of a PartialQuery must hold all nonzero coordinates of its point")
        solver, bank = self._few.use(kernels, self.machine.solver, self._machine.signed)
        weights = point[kernels]
        part = solved(self.machine, solver, bank, weights, self.accuracy if query.accuracy is None else query.accuracy)
        svm = part.svm
        F = self._few.bounds(svm.signed_dual, svm.imbalance)
        F[kernels] = part.proof.forms
        found = self._round(weights, [part])
        factor = factor_of(self.machine, solver, weights, svm.signed_dual) if Curvature in query.wishes else None
        bound = least(part.proof.with_forms(F), self.weights_set)
        wished = () if factor is None or not factor.size else (Curvature(factor, kernels),)
        return ObjectiveCut(
            point=point,
            value=found.value,
            subgradient=-0.5 * F,
            error=error_above(found.value, found.upper),
            lower_bound=bound,
            answers=(ExactSlopes(kernels), *wished),
            extras=self._extras(found),
        )
