"""A product of kernels with weights in the exponent: value and gradient are what they are, and nothing is proven."""

from __future__ import annotations

from fractions import Fraction

from oracle_opt.arrays import class_name
from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.oracles.mkl.dense_machine import DenseMachine
from oracle_opt.oracles.mkl.gmkl_oracle import GMKLOracle
from oracle_opt.oracles.mkl.kernel_weights_oracle import error_above
from oracle_opt.oracles.mkl.product_machine import ProductMachine
from oracle_opt.oracles.mkl.regularizer import ROUNDING, regularize
from oracle_opt.oracles.mkl.weights import checked_query_point
from oracle_opt.proof.claim import ValueClaim
from oracle_opt.proof.floats import Floats


class ProductOracle(GMKLOracle):
    """``T(d) = r(d) + max over b of L(b) - 1/2 b @ K(d) @ b`` with ``K(d) = exp(-sum(d_k D_k))`` entrywise.

    What `GMKLOracle` makes of a `ProductBank`. T is not convex: end a run by `gtol`. Generators that need convexity are
    refused.
    """

    of_products = True

    def query(self, query: Query) -> ObjectiveCut:
        """Value and gradient at the point; its `extras` are those of `GMKLOracle` without quadratic forms."""
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
        """Nothing is known of values, either."""
        return None

    def _problem(self) -> None:
        """No method is made for products."""

    def identity(self) -> str:
        """As `GMKLOracle`, the name under which journals know it."""
        return _renamed(super().identity())

    def problem_identity(self) -> str:
        """As `GMKLOracle`, the name under which certificates know it."""
        return _renamed(super().problem_identity())


def _renamed(words: str) -> str:
    own, known = map(class_name, (ProductOracle, GMKLOracle))
    return words.replace(own, known, 1)
