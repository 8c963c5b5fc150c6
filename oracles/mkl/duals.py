"""Regularizers of kernel weights through their smooth conjugates: MKL is solved in its dual by these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.mkl.lpmkl_build import Elastic, Entropy, LpNorm, Penalty, SquaredNorm

if TYPE_CHECKING:
    from oracle_opt.oracles.mkl.regularizer import Regularizer
    from oracle_opt.oracles.mkl.regularizers import ElasticNet, EntropyRegularizer, LpRegularizer


# Exponent of a kernel weight under the entropy; larger ones could overflow in sums.
LARGEST = 300.0
# Quadratic form over the norm of all: below, p > 2 has no second derivative to speak of.
LEAST = 1e-12
# Entries of a matrix with one column per kernel that are copied at a time: they stay in the cache.
BLOCK = 1 << 17
# Range in which the best multiple of quadratic forms is sought.
MULTIPLES = (1e-24, 1e24)


@dataclass(frozen=True, eq=False)
class WeightDerivative:
    """Derivative ``diag(diagonal) + factor * outer(direction, direction)`` of the weights in the quadratic forms.

    Attributes
    ----------
    diagonal, direction : ndarray of shape (p,)
        The diagonal part, and the vector of that of rank one.
    factor : float
        The factor before it.
    """

    diagonal: Vector
    direction: Vector
    factor: float

    def __matmul__(self, x: Vector) -> Vector:
        result: Vector = self.diagonal * x + (self.factor * float(self.direction @ x)) * self.direction
        return result

    def between(self, R: NDArray[np.floating]) -> Matrix:
        """``R @ derivative @ R.T``, for R of shape (r, p), summed in float64; the diagonal has to be nonnegative."""
        image, root = np.zeros(R.shape[0]), np.sqrt(self.diagonal)
        result: Matrix = np.zeros((R.shape[0], R.shape[0]))
        for part in column_blocks(R):
            scaled = R[:, part] * root[part]
            result += scaled @ scaled.T
            image += R[:, part] @ self.direction[part]
        result += self.factor * np.outer(image, image)
        return result


def column_blocks(R: NDArray[np.floating]) -> Iterator[slice]:
    """Slices of the columns of R, of at most BLOCK entries, but one column at least."""
    size = max(BLOCK // max(R.shape[0], 1), 1)
    for start in range(0, R.shape[1], size):
        yield slice(start, min(start + size, R.shape[1]))


class SmoothDual(ABC):
    """A regularizer r through ``rho(S) = max over d >= 0 of d @ S / 2 - r(d)``, which is differentiable.

    MKL ``min over d >= 0 max over b of L(b) - 1/2 d @ S(b) + r(d)`` then has the dual ``max over b of L(b) -
    rho(S(b))``. A regularizer of your own returns an object of a subclass from `Regularizer.smooth_dual`: `weights` and
    `derivative` are enough for `NewtonMKL`.

    Parameters
    ----------
    regularizer : Regularizer
        r, with its `conjugate`.
    n_kernels : int
        p, the number of weights.
    """

    def __init__(self, regularizer: Regularizer, n_kernels: int) -> None:
        self.regularizer = regularizer
        self.n_kernels = n_kernels

    def value(self, d: Vector) -> float:
        """``r(d)``, for d of shape (p,)."""
        return self.regularizer.value(d)

    def gradient(self, d: Vector) -> Vector:
        """Gradient of r at d, shape (p,)."""
        return self.regularizer.gradient(d)

    def conjugate(self, S: Vector) -> float:
        """``rho(S)``, for S of shape (p,), not negative."""
        return self.regularizer.conjugate(0.5 * S)

    @abstractmethod
    def weights(self, S: Vector) -> Vector:
        """The d that attains rho(S), a new array of shape (p,): twice its gradient."""

    @abstractmethod
    def derivative(self, S: Vector) -> WeightDerivative:
        """Derivative of `weights` at S."""

    def start(self) -> Vector:
        """Weights that prefer no kernel, shape (p,). Default: ones."""
        return np.ones(self.n_kernels)

    def best_multiple(self, linear: float, S: Vector, ridge: float = 0.0) -> float:
        """The t that maximizes ``sqrt(t) * linear - t * ridge / 2 - rho(t S)``, the dual along a ray; by bisection.

        There ``linear = sqrt(t) (w(t S) @ S + ridge)``.
        """
        low, high = MULTIPLES
        for _ in range(60):
            t = float(np.sqrt(low * high))
            if np.sqrt(t) * (float(self.weights(t * S) @ S) + ridge) < linear:
                low = t
            else:
                high = t
        return high

    def easier(self, S: Vector) -> SmoothDual | None:
        """One of the same kind whose weights depend less on S, if those of this one depend on it much; None, if not."""
        return None

    def penalty(self) -> Penalty | None:
        """The same for the compiled loops of `SMOMKL`; None, the default, if there is none."""
        return None


class SquaredLpNorm(SmoothDual):
    """``lam / 2 * norm(d, p)**2``, p > 1; with 1/p + 1/q = 1, ``rho(S) = norm(S, q)**2 / (8 lam)``."""

    regularizer: LpRegularizer

    def __init__(self, regularizer: LpRegularizer, n_kernels: int) -> None:
        super().__init__(regularizer, n_kernels)
        self.p, self.lam = regularizer.p, regularizer.weight
        self.q = self.p / (self.p - 1.0)

    def start(self) -> Vector:
        """Equal weights of norm 1: of a million weights of 1 the penalty alone would exceed all that comes after."""
        return np.full(self.n_kernels, self.n_kernels ** (-1.0 / self.p))

    def weights(self, S: Vector) -> Vector:
        """``norm**(2 - q) * S**(q - 1) / (2 lam)``."""
        norm = self._norm(S)
        result: Vector = norm / (2.0 * self.lam) * (S / norm) ** (self.q - 1.0)
        return result

    def derivative(self, S: Vector) -> WeightDerivative:
        """``(q - 1) / (2 lam) * diag(r**(q - 2)) + (2 - q) 2 lam / norm**2 * d d'``, r = S / norm."""
        norm = self._norm(S)
        ratio = np.maximum(S / norm, LEAST)
        diagonal = (self.q - 1.0) / (2.0 * self.lam) * ratio ** (self.q - 2.0)
        return WeightDerivative(diagonal, self.weights(S), (2.0 - self.q) * 2.0 * self.lam / norm**2)

    def best_multiple(self, linear: float, S: Vector, ridge: float = 0.0) -> float:
        """``(linear / (w(S) @ S))**(2/3)``, as w is homogeneous of degree 1: ``w(S) @ S = norm**2 / (2 lam)``."""
        if ridge > 0.0:
            return super().best_multiple(linear, S, ridge)
        low, high = MULTIPLES
        return min(max(float((2.0 * self.lam * linear / self._norm(S) ** 2) ** (2.0 / 3.0)), low), high)

    def easier(self, S: Vector) -> SquaredLpNorm | None:
        """A third of q, if q is above 6."""
        if self.q <= 6.0:
            return None
        return SquaredLpNorm(type(self.regularizer)(self.q / (self.q - 3.0), self.lam), self.n_kernels)

    def penalty(self) -> Penalty:
        """The cubic for p = 2, Newton's method else."""
        return SquaredNorm(self.lam) if self.p == 2.0 else LpNorm(self.p, self.lam)

    def _norm(self, S: Vector) -> float:
        """``norm(S, q)``, scaled so that no power overflows, and kept so far from 0 that its square is not."""
        largest = max(float(S.max()), 1e-150)
        return max(largest * float(float(((S / largest) ** self.q).sum()) ** (1.0 / self.q)), 1e-150)


class GeneralizedKL(SmoothDual):
    """``lam * sum(d * log(d / d0) - d + d0)``; ``rho(S) = lam * sum(d0 * (exp(S / (2 lam)) - 1))``."""

    regularizer: EntropyRegularizer

    def __init__(self, regularizer: EntropyRegularizer, n_kernels: int) -> None:
        super().__init__(regularizer, n_kernels)
        if regularizer.reference.shape not in ((), (n_kernels,)):
            raise InvalidArgument(
                f"`reference` must have {n_kernels} weights, one per kernel, got {regularizer.reference.size}"
            )
        self.reference = np.ascontiguousarray(np.broadcast_to(regularizer.reference, n_kernels))
        self.lam = regularizer.weight

    def weights(self, S: Vector) -> Vector:
        """``d0 * exp(S / (2 lam))``."""
        result: Vector = self.reference * np.exp(np.minimum(S / (2.0 * self.lam), LARGEST))
        return result

    def derivative(self, S: Vector) -> WeightDerivative:
        """``diag(d) / (2 lam)``."""
        d = self.weights(S)
        return WeightDerivative(d / (2.0 * self.lam), d, 0.0)

    def start(self) -> Vector:
        """Give the reference weights."""
        return self.reference.copy()

    def easier(self, S: Vector) -> GeneralizedKL | None:
        """Three times lam, if some weight is more than twenty times its reference."""
        if S.max() <= 6.0 * self.lam:
            return None
        return GeneralizedKL(type(self.regularizer)(3.0 * self.lam, self.reference), self.n_kernels)

    def penalty(self) -> Penalty:
        """The same for the compiled loops."""
        return Entropy(self.reference, self.lam)


class Thresholded(SmoothDual):
    """``linear sum(d) + quadratic / 2 sum(d**2)``; ``rho(S) = sum(max(0, S/2 - linear)**2) / (2 quadratic)``."""

    def __init__(self, regularizer: ElasticNet, n_kernels: int) -> None:
        super().__init__(regularizer, n_kernels)
        self.linear, self.quadratic = regularizer.linear, regularizer.quadratic

    def weights(self, S: Vector) -> Vector:
        """``max(0, S / 2 - linear) / quadratic``."""
        result: Vector = np.maximum(0.5 * S - self.linear, 0.0) / self.quadratic
        return result

    def derivative(self, S: Vector) -> WeightDerivative:
        """``1 / (2 quadratic)`` for the kernels of positive weight: one of the derivatives where there are several."""
        return WeightDerivative(np.where(self.linear < 0.5 * S, 0.5 / self.quadratic, 0.0), np.zeros_like(S), 0.0)

    def penalty(self) -> Penalty:
        """The same for the compiled loops."""
        return Elastic(self.linear, self.quadratic)
