"""Regularizers of kernel weights that have a smooth conjugate: what MKL needs to be solved in its dual."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.mkl.lpmkl_build import Entropy, LpNorm, Penalty, SquaredNorm
from oracle_opt.oracles.mkl.regularizers import EntropyRegularizer, LpRegularizer, Regularizer

# Exponent of a kernel weight under the entropy; larger ones could overflow in sums.
LARGEST = 300.0
# Quadratic form over the norm of all: below, p > 2 has no second derivative to speak of.
LEAST = 1e-12
# Entries of a matrix with one column a kernel that are copied at a time: they stay in the cache.
BLOCK = 1 << 17
# Range in which the best multiple of quadratic forms is sought.
MULTIPLES = (1e-24, 1e24)


@dataclass(frozen=True, eq=False)
class WeightDerivative:
    """Derivative ``diag(diagonal) + factor * outer(direction, direction)`` of the weights in the quadratic forms."""

    diagonal: Vector
    direction: Vector
    factor: float

    def __matmul__(self, x: Vector) -> Vector:
        result: Vector = self.diagonal * x + (self.factor * float(self.direction @ x)) * self.direction
        return result

    def between(self, R: Matrix) -> Matrix:
        """``R @ derivative @ R.T``, for R of shape (r, p); the diagonal has to be nonnegative."""
        image, root = R @ self.direction, np.sqrt(self.diagonal)
        result: Matrix = self.factor * np.outer(image, image)
        for part in column_blocks(R):
            scaled = R[:, part] * root[part]
            result += scaled @ scaled.T
        return result


def column_blocks(R: Matrix) -> Iterator[slice]:
    """Slices of the columns of R, of at most BLOCK entries, but one column at least."""
    size = max(BLOCK // max(R.shape[0], 1), 1)
    for start in range(0, R.shape[1], size):
        yield slice(start, min(start + size, R.shape[1]))


class SmoothDual(ABC):
    """A regularizer r through ``rho(S) = max over d >= 0 of d @ S / 2 - r(d)``, which is differentiable.

    MKL ``min over d >= 0 max over a of 1'a - 1/2 d @ S(a) + r(d)`` then has the dual ``max over a of 1'a - rho(S(a))``.
    """

    def __init__(self, regularizer: Regularizer) -> None:
        self.regularizer = regularizer

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
        """The d that attains rho(S), shape (p,): twice its gradient."""

    @abstractmethod
    def derivative(self, S: Vector) -> WeightDerivative:
        """Derivative of `weights` at S."""

    @abstractmethod
    def start(self) -> Vector:
        """Weights that prefer no kernel, shape (p,)."""

    def best_multiple(self, linear: float, S: Vector) -> float:
        """The t that maximizes ``sqrt(t) * linear - rho(t S)``: where ``linear = sqrt(t) w(t S) @ S``, by bisection."""
        low, high = MULTIPLES
        for _ in range(60):
            t = float(np.sqrt(low * high))
            if np.sqrt(t) * float(self.weights(t * S) @ S) < linear:
                low = t
            else:
                high = t
        return high

    @abstractmethod
    def easier(self, S: Vector) -> SmoothDual | None:
        """One of the same kind whose weights depend less on S, if those of this one depend on it much."""

    @abstractmethod
    def penalty(self) -> Penalty:
        """The same for the compiled loops."""


class SquaredLpNorm(SmoothDual):
    """``lam / 2 * norm(d, p)**2``, p > 1; with 1/p + 1/q = 1, ``rho(S) = norm(S, q)**2 / (8 lam)``."""

    def __init__(self, regularizer: LpRegularizer, n_kernels: int) -> None:
        super().__init__(regularizer)
        self.n_kernels = n_kernels
        self.p, self.lam = regularizer.p, regularizer.weight
        self.q = self.p / (self.p - 1.0)

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

    def best_multiple(self, linear: float, S: Vector) -> float:
        """``(linear / (w(S) @ S))**(2/3)``, as w is homogeneous of degree 1: ``w(S) @ S = norm**2 / (2 lam)``."""
        low, high = MULTIPLES
        return min(max(float((2.0 * self.lam * linear / self._norm(S) ** 2) ** (2.0 / 3.0)), low), high)

    def start(self) -> Vector:
        """Ones."""
        return np.ones(self.n_kernels)

    def easier(self, S: Vector) -> SquaredLpNorm | None:
        """A third of q, if q is above 6."""
        if self.q <= 6.0:
            return None
        return SquaredLpNorm(LpRegularizer(self.q / (self.q - 3.0), self.lam), self.n_kernels)

    def penalty(self) -> Penalty:
        """The cubic for p = 2, Newton's method else."""
        return SquaredNorm(self.lam) if self.p == 2.0 else LpNorm(self.p, self.lam)

    def _norm(self, S: Vector) -> float:
        """``norm(S, q)``, scaled so that no power overflows, and kept so far from 0 that its square is not."""
        largest = max(float(S.max()), 1e-150)
        return max(largest * float(float(((S / largest) ** self.q).sum()) ** (1.0 / self.q)), 1e-150)


class GeneralizedKL(SmoothDual):
    """``lam * sum(d * log(d / d0) - d + d0)``; ``rho(S) = lam * sum(d0 * (exp(S / (2 lam)) - 1))``."""

    def __init__(self, regularizer: EntropyRegularizer, n_kernels: int) -> None:
        super().__init__(regularizer)
        if regularizer.reference.shape not in ((), (n_kernels,)):
            raise InvalidArgument(
                f"`reference` must have {n_kernels} weights, one a kernel of the bank, got {regularizer.reference.size}"
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
        return GeneralizedKL(EntropyRegularizer(3.0 * self.lam, self.reference), self.reference.size)

    def penalty(self) -> Penalty:
        """The same for the compiled loops."""
        return Entropy(self.reference, self.lam)


def smooth_dual(regularizer: Regularizer, n_kernels: int) -> SmoothDual:
    """Give the dual view of a regularizer of n_kernels weights.

    Raises
    ------
    InvalidArgument
        Its conjugate is not smooth, or not known here.
    """
    if isinstance(regularizer, EntropyRegularizer):
        return GeneralizedKL(regularizer, n_kernels)
    if isinstance(regularizer, LpRegularizer) and regularizer.power == 2.0 and regularizer.p > 1.0:
        return SquaredLpNorm(regularizer, n_kernels)
    if isinstance(regularizer, LpRegularizer) and regularizer.p == 1.0:
        raise InvalidArgument(
            f"`p` must be greater than 1, got {regularizer!r}; for p = 1 minimize MKLOracle: l1-MKL on the simplex"
        )
    raise InvalidArgument(
        f"`regularizer` must be an LpRegularizer of power 2 or an EntropyRegularizer, got {regularizer!r}; minimize "
        "GMKLOracle with it"
    )
