"""Support vector machines on a product of kernels, solved without a matrix of all points."""

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.oracles.kernels import ProductBank
from oracle_opt.oracles.mkl.matrix_free_machine import MatrixFreeMachine
from oracle_opt.oracles.svm import SVMSolution
from oracle_opt.oracles.svm.separable_dual import Separable

# Arrays of the shape of the points that are held at a time, at most.
COPIES = 6


class ProductMachine(MatrixFreeMachine):
    """Solves on the one kernel ``exp(-sum(d_k D_k))`` of some weights, which other weights turn into another kernel.

    Products with the last dual variables are computed anew at each weights. Scaled points and what is made of them,
    ``48 n p`` bytes, count as part of the budget; blocks of the kernel of 4 MiB do not.
    """

    def __init__(
        self, product: ProductBank, dual: Separable, accuracy: float, max_steps: int, memory_budget: int
    ) -> None:
        self.product = product
        self._at: Vector | None = np.zeros(product.n_kernels)
        beside = 8 * COPIES * product.n_points * product.n_kernels
        super().__init__(product.kernel(self._at), dual, accuracy, max_steps, memory_budget, beside)

    def solve(self, weights: Vector, accuracy: float | None) -> SVMSolution:
        """Solve on the product of the kernels at these weights, see `SVMMachine.solve`."""
        if self._at is None or not np.array_equal(self._at, weights):
            self._b = self._at = None  # the products are those of another kernel
            self.bank = self.product.kernel(weights)
            self._at = weights.copy()
        return super().solve(np.ones(1), accuracy)

    def distance_forms(self, b: Vector) -> Vector:
        """``b @ (D_k * K) @ b`` of all distances in the kernel of the last solution, ndarray of shape (p,)."""
        return self.product.distance_forms(b, self.bank)
