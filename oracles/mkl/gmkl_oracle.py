"""Generalized multiple kernel learning: any regularizer on the weights of a sum, or of a product, of kernels."""

from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels import KernelBank, ProductBank
from oracle_opt.oracles.mkl.dense_machine import DenseMachine
from oracle_opt.oracles.mkl.dual_query import DualQuery
from oracle_opt.oracles.mkl.kernel_machine import MEMORY_BUDGET, KernelMachine
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle, error_above, part_of
from oracle_opt.oracles.mkl.matrix_free_machine import proof_of_products
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights, MKLProblem
from oracle_opt.oracles.mkl.product_machine import ProductMachine
from oracle_opt.oracles.mkl.regularizer import ROUNDING, Regularizer, regularize
from oracle_opt.oracles.mkl.regularizers import LpRegularizer
from oracle_opt.oracles.mkl.weights import Regularized, checked_query_point
from oracle_opt.oracles.svm import Loss, SVMSolution
from oracle_opt.oracles.svm.pieces import Pieces, imbalance
from oracle_opt.oracles.svm.svm_solution import SVMStatus
from oracle_opt.proof.claim import ValueClaim
from oracle_opt.proof.floats import Floats
from oracle_opt.words import shown


class GMKLOracle(KernelWeightsOracle):
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
    single = True

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
        self.of_products = isinstance(bank, ProductBank)
        regularizer = LpRegularizer(2.0) if regularizer is None else regularizer
        if not isinstance(regularizer, Regularizer):
            raise InvalidArgument(
                f"`regularizer` must be a Regularizer such as LpRegularizer(2), got {shown(regularizer)}; for one of "
                "your own subclass it: `value`, `gradient`, `convex`. The weight of the loss goes by its name, C=..."
            )
        machine = KernelMachine(
            bank, y, loss, C=C, accuracy=accuracy, max_steps=max_steps, memory_budget=memory_budget, most_updates=0
        )
        super().__init__([machine], Regularized(bank.n_kernels, regularizer, radius), accuracy=machine.accuracy)
        self.regularizer = regularizer
        self.domain: KernelWeights = KernelWeights(bank.n_kernels, radius, regularizer, self._problem())

    def query(self, query: Query) -> ObjectiveCut:
        """Solve the support vector machine on the kernel at a point of the orthant where the regularizer is finite.

        The `accuracy` of the `query`, if any, is the relative gap asked of the machine. A `DualQuery` of a sum of
        kernels is answered by its own dual variables.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `signed_dual`, b, shape (n,); `alpha`, its absolute values; `bias`; `n_steps`; for a sum of
            kernels `quadratic_forms`, S, shape (p,); where the lower bound is that of other dual variables,
            `bound_dual`, these. Wished for, its `AnalyticUpdate`: the weights that minimize the primal objective at
            this machine's hyperplane.
        """
        if self.of_products:
            return self._of_product(query)
        if not isinstance(query, DualQuery):
            return super().query(query)
        cut = self._of_dual(query, checked_query_point(query.point, self.domain))
        self._machine.signed = query.signed_dual
        if not query.polish:
            return cut
        # the better of that cut and the one of the machine solved from there, with the better lower bound
        solved = super().query(query)
        better, other = (solved, cut) if solved.upper <= cut.upper else (cut, solved)
        extras = {**better.extras, "n_steps": query.n_steps}
        if other.lower_bound > better.lower_bound:
            extras["bound_dual"] = other.extras["signed_dual"]
        return replace(better, lower_bound=max(cut.lower_bound, solved.lower_bound), extras=extras)

    def _of_product(self, query: Query) -> ObjectiveCut:
        """Value and gradient at the point, with no lower bound, as T is not convex."""
        point = checked_query_point(query.point, self.domain)
        d, machine = self.weights_set.clean(point), self._machine
        regularized, slope = regularize(self.regularizer, d)
        svm = machine.solve(d, self.accuracy if query.accuracy is None else query.accuracy)
        if isinstance(machine, ProductMachine):
            forms = machine.distance_forms(svm.signed_dual)
        else:
            assert isinstance(machine, DenseMachine)
            kernel = machine.take_kernel()
            kernel.flat[:: kernel.shape[0] + 1] = 1.0  # without the ridge
            forms = self.bank.distance_forms(svm.signed_dual, kernel)
        fixed = Floats(regularized, ROUNDING * abs(regularized))
        value = float((fixed + svm.dual_objective).below())
        return ObjectiveCut(
            point=point,
            value=value,
            subgradient=slope + 0.5 * forms,
            error=error_above(value, float((fixed + svm.primal_objective).above())),
            extras={
                "signed_dual": svm.signed_dual,
                "alpha": svm.alpha,
                "bias": svm.bias,
                "n_steps": svm.n_steps,
                **machine.extras(),
            },
        )

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """Prove the value of a sum of kernels, see `Oracle.prove_value`; of a product nothing is proven."""
        return None if self.of_products else super().prove_value(claim, exact)

    def _of_dual(self, query: DualQuery, point: Vector) -> ObjectiveCut:
        """Cut by the dual variables b of a query: with the best bias, their primal objective is an upper bound."""
        b, S, d, dual = query.signed_dual, query.quadratic_forms, self.weights_set.clean(point), self.dual
        proof = proof_of_products(self.bank, self._pieces, b, S, query.decision, d, query.slack)
        moved, gradient = imbalance(b, dual.total), dual.linear - query.decision
        status, n = SVMStatus.CONVERGED, query.n_steps
        svm = SVMSolution(b, -np.inf, proof.upper, proof.gap, proof.bias, np.inf, n, 0, status, gradient, moved)
        part = part_of(self.machine, self.bank, svm, S, proof.error, {})
        return self._cut(query, point, self._round(d, [part]))

    def _problem(self) -> MKLProblem | None:
        """What the methods made for a smooth conjugate work on; None for products, and where there is none."""
        if self.of_products:
            return None
        dual, svm = self.regularizer.smooth_dual(self.bank.n_kernels), self.dual.piecewise
        return None if dual is None or svm is None else MKLProblem(self.bank, svm, dual, self._machine)

    @cached_property
    def _pieces(self) -> Pieces:
        assert self.dual.piecewise is not None  # else no method asks a `DualQuery`
        return Pieces(self.dual.piecewise)
