"""What a loss makes of labels or targets: a concave function of each dual variable alone, a box, and a sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.svm.svm_solution import SVMSolution
from oracle_opt.proof.number import Numbers

if TYPE_CHECKING:
    from oracle_opt.oracles.svm.separable_dual import Separable


class LossDual(ABC):
    """The dual of a support vector machine without its kernel: ``L(b) = sum_i (linear_i b_i - h_i(b_i))``, h_i convex.

    ``h_i(0) = 0``, so that ``L(t b) >= t L(b)`` for t from 0 to 1. The machine is ``max L(b) - 1/2 b @ K @ b`` over
    ``lower <= b <= upper``, ``sum(b) == total``. `Separable` has a piecewise quadratic h, the logistic loss an entropy.
    """

    __slots__ = ()
    linear: Vector  # the linear term and the box, in which 0 is, shape (n,)
    lower: Vector
    upper: Vector
    ridge: Vector | None  # what of h is counted with the kernel, on its diagonal: ``1/2 ridge_i b_i**2``, shape (n,)
    total: float  # the sum
    offset: float  # what was subtracted from the targets to make `linear`

    @property
    @abstractmethod
    def piecewise(self) -> Separable | None:
        """The dual itself, for methods that know piecewise quadratic functions alone; None if it is of another kind."""

    @abstractmethod
    def check(self, n_points: int) -> None:
        """Raise `InvalidArgument` unless this dual, for `n_points` points, can be solved."""

    @abstractmethod
    def proves(self, x: Numbers, moved: float) -> tuple[Numbers, Numbers]:
        """What L is at least near dual variables, and at their multiples: ``t * first - t**2 * second`` at ``t x``.

        x is in the box, and feasible if `moved` is 0. Else there is a feasible point whose entries differ from x by
        what adds up to `moved` at most: L is that there.
        """

    @abstractmethod
    def conjugate(self, slope: Numbers, less: Any) -> Numbers:
        """The largest of ``slope x - less abs(x) - h_i(x)`` over the box, point by point, from above.

        `less` is None, numbers or one number; it may be negative.
        """

    @abstractmethod
    def longest_multiple(self, b: Vector) -> float:
        """Return the largest t, at least 1, for which `proves` holds at ``t * b``, b being feasible."""

    @abstractmethod
    def free(self, b: Vector) -> Indices:
        """Indices of the entries of b where the objective is smooth both ways, and bent by less than without end."""

    @abstractmethod
    def bend(self, points: Indices, b: Vector) -> Vector | float:
        """Second derivatives of h at some entries of b, without the ridge."""

    @abstractmethod
    def weighted(self, weights: Vector) -> LossDual:
        """The dual where the loss of each point counts so many times; positive weights, ndarray of shape (n,)."""

    @abstractmethod
    def numbers(self) -> tuple[Any, ...]:
        """All that tells this dual from others of its loss: arrays and numbers."""

    @abstractmethod
    def solve(
        self,
        K: NDArray[np.floating],
        *,
        start: Vector | None = None,
        accuracy: float = 1e-9,
        tolerance: float | None = None,
        max_steps: int = 10_000_000,
        noise: float = 0.0,
    ) -> SVMSolution:
        """Solve on a kernel that was checked before and has the ridge; options are as for `solve_svm`.

        What is certified holds for every kernel whose entries differ by at most ``noise * sqrt(K_ii * K_jj)``: a sum of
        kernels that was rounded is as good as the exact one.
        """

    def add_ridge(self, K: Matrix) -> Matrix:
        """Add the ridge, if there is one, to the diagonal of K in place, and return K."""
        if self.ridge is not None:
            K.flat[:: K.shape[0] + 1] += self.ridge
        return K
