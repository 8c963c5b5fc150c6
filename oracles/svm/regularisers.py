"""Regularisers of kernel weights with smooth conjugates: what MKL needs to be solved in its dual."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles._processor import AVX2

if AVX2:
    from oracle_opt.oracles.svm._lpmkl_avx2 import Entropy, LpNorm, Penalty, SquaredNorm
else:
    from oracle_opt.oracles.svm._lpmkl import Entropy, LpNorm, Penalty, SquaredNorm

Vector = NDArray[np.float64]

# Exponent of a kernel weight under the entropy; larger ones could overflow in sums.
LARGEST = 300.0
# Quadratic form over the norm of all: below, p > 2 has no second derivative to speak of.
LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class WeightDerivative:
    """Derivative ``diag(diagonal) + factor * outer(direction, direction)`` of the weights in the quadratic forms."""

    diagonal: Vector
    direction: Vector
    factor: float

    def __matmul__(self, x: Vector) -> Vector:
        result: Vector = self.diagonal * x + (self.factor * float(self.direction @ x)) * self.direction
        return result

    def between(self, R: NDArray[np.float64]) -> NDArray[np.float64]:
        """``R @ derivative @ R.T``, for R of shape (r, p)."""
        image = R @ self.direction
        result: NDArray[np.float64] = (R * self.diagonal) @ R.T + self.factor * np.outer(image, image)
        return result


class DualRegulariser(ABC):
    """A convex function r of the kernel weights d >= 0, with ``rho(S) = max over d >= 0 of d @ S / 2 - r(d)``.

    MKL ``min over d >= 0 max over a of 1'a - 1/2 d @ S(a) + r(d)`` then has the dual ``max over a of 1'a - rho(S(a))``.
    """

    @abstractmethod
    def value(self, d: Vector) -> float:
        """``r(d)``, for d of shape (p,), not negative."""

    @abstractmethod
    def gradient(self, d: Vector) -> Vector:
        """Gradient of r at d, shape (p,)."""

    @abstractmethod
    def conjugate(self, S: Vector) -> float:
        """``rho(S)``, for S of shape (p,), not negative."""

    @abstractmethod
    def weights(self, S: Vector) -> Vector:
        """The d that attains rho(S), shape (p,): twice its gradient."""

    @abstractmethod
    def derivative(self, S: Vector) -> WeightDerivative:
        """Derivative of `weights` at S."""

    @abstractmethod
    def start(self, n_kernels: int) -> Vector:
        """Weights that prefer no kernel, shape (n_kernels,)."""

    @abstractmethod
    def easier(self, S: Vector) -> DualRegulariser | None:
        """A regulariser of the same kind whose weights depend less on S, if those of this one depend on it much."""

    @abstractmethod
    def penalty(self) -> Penalty:
        """The same for the compiled loops."""


@dataclass(frozen=True)
class SquaredLpNorm(DualRegulariser):
    """``lam / 2 * norm(d, p)**2``, p > 1; with 1/p + 1/q = 1, ``rho(S) = norm(S, q)**2 / (8 lam)``.

    Parameters
    ----------
    p : float
        Exponent, greater than 1. The nearer to 1, the sparser the weights.
    lam : float
        Factor, positive.

    Raises
    ------
    InvalidArgument
        p or lam cannot be used.

    References
    ----------
    .. [1] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm",
       section 3.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredLpNorm(2.0, 0.5).weights(np.array([1.0, 3.0])).tolist()
    [1.0, 3.0]
    """

    p: float
    lam: float = 1.0

    def __post_init__(self) -> None:
        if not 1.0 < self.p < np.inf:
            raise InvalidArgument(
                f"`p` must be greater than 1 and finite, got {self.p!r}; for p = 1 minimise MKLOracle, which is l1-MKL "
                "on the simplex"
            )
        _check_factor(self.lam)

    @property
    def q(self) -> float:
        """``p / (p - 1)``."""
        return self.p / (self.p - 1.0)

    def value(self, d: Vector) -> float:
        """``lam / 2 * norm(d, p)**2``."""
        return 0.5 * self.lam * _norm(d, self.p) ** 2

    def gradient(self, d: Vector) -> Vector:
        """``lam * norm**(2 - p) * d**(p - 1)``."""
        norm = _norm(d, self.p)
        result: Vector = self.lam * norm * (d / max(norm, 1e-300)) ** (self.p - 1.0)
        return result

    def conjugate(self, S: Vector) -> float:
        """``norm(S, q)**2 / (8 lam)``."""
        return _norm(S, self.q) ** 2 / (8.0 * self.lam)

    def weights(self, S: Vector) -> Vector:
        """``norm**(2 - q) * S**(q - 1) / (2 lam)``."""
        norm = _norm(S, self.q)
        result: Vector = norm / (2.0 * self.lam) * (S / max(norm, 1e-300)) ** (self.q - 1.0)
        return result

    def derivative(self, S: Vector) -> WeightDerivative:
        """``(q - 1) / (2 lam) * diag(r**(q - 2)) + (2 - q) 2 lam / norm**2 * d d'``, r = S / norm."""
        norm = max(_norm(S, self.q), 1e-300)
        ratio = np.maximum(S / norm, LEAST)
        diagonal = (self.q - 1.0) / (2.0 * self.lam) * ratio ** (self.q - 2.0)
        return WeightDerivative(diagonal, self.weights(S), (2.0 - self.q) * 2.0 * self.lam / norm**2)

    def start(self, n_kernels: int) -> Vector:
        """Ones."""
        return np.ones(n_kernels)

    def easier(self, S: Vector) -> SquaredLpNorm | None:
        """A third of q, but at least 2, if q is above 6."""
        if self.q <= 6.0:
            return None
        return SquaredLpNorm(self.q / (self.q - 3.0), self.lam)

    def penalty(self) -> Penalty:
        """The cubic for p = 2, Newton's method else."""
        return SquaredNorm(self.lam) if self.p == 2.0 else LpNorm(self.p, self.lam)


@dataclass(frozen=True, eq=False)
class GeneralisedKL(DualRegulariser):
    """``lam * sum(d * log(d / d0) - d + d0)``; ``rho(S) = lam * sum(d0 * (exp(S / (2 lam)) - 1))``.

    Parameters
    ----------
    reference : array_like of shape (p,)
        Weights d0, positive, from which departing costs.
    lam : float
        Factor, positive.

    Raises
    ------
    InvalidArgument
        Reference weights or lam cannot be used.

    References
    ----------
    .. [1] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm",
       section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> GeneralisedKL([1.0, 2.0]).weights(np.zeros(2)).tolist()
    [1.0, 2.0]
    """

    reference: ArrayLike
    lam: float = 1.0

    def __post_init__(self) -> None:
        weights = np.array(self.reference, dtype=float)
        if weights.ndim != 1 or weights.size == 0 or not ((weights > 0) & (weights < np.inf)).all():
            shown = np.array2string(weights, threshold=10)
            raise InvalidArgument(f"`reference` must be positive finite weights of shape (p,), got {shown}")
        weights.flags.writeable = False
        object.__setattr__(self, "reference", weights)
        _check_factor(self.lam)

    @property
    def _d0(self) -> Vector:
        return np.asarray(self.reference)

    def value(self, d: Vector) -> float:
        """``lam * sum(d * log(d / d0) - d + d0)``, with ``0 * log(0) = 0``."""
        ratio = np.where(d > 0, d / self._d0, 1.0)
        return self.lam * float((d * np.log(ratio) - d + self._d0).sum())

    def gradient(self, d: Vector) -> Vector:
        """``lam * log(d / d0)``; where d is 0, that at 1e-300 of the reference."""
        result: Vector = self.lam * np.log(np.maximum(d / self._d0, 1e-300))
        return result

    def conjugate(self, S: Vector) -> float:
        """``lam * sum(d0 * (exp(S / (2 lam)) - 1))``."""
        return self.lam * float(self._d0 @ np.expm1(np.minimum(S / (2.0 * self.lam), LARGEST)))

    def weights(self, S: Vector) -> Vector:
        """``d0 * exp(S / (2 lam))``."""
        return self._d0 * np.exp(np.minimum(S / (2.0 * self.lam), LARGEST))

    def derivative(self, S: Vector) -> WeightDerivative:
        """``diag(d) / (2 lam)``."""
        d = self.weights(S)
        return WeightDerivative(d / (2.0 * self.lam), d, 0.0)

    def start(self, n_kernels: int) -> Vector:
        """Give the reference weights."""
        return self._d0.copy()

    def easier(self, S: Vector) -> GeneralisedKL | None:
        """Three times lam, if some weight is more than twenty times its reference."""
        if S.max() <= 6.0 * self.lam:
            return None
        return GeneralisedKL(self._d0, 3.0 * self.lam)

    def penalty(self) -> Penalty:
        """The same for the compiled loops."""
        return Entropy(self._d0, self.lam)


def _norm(x: Vector, p: float) -> float:
    """The p-norm of x >= 0, scaled so that no power overflows."""
    largest = float(x.max())
    return largest * float(((x / largest) ** p).sum()) ** (1.0 / p) if largest > 0 else 0.0


def _check_factor(lam: float) -> None:
    if not 0.0 < lam < np.inf:
        raise InvalidArgument(f"`lam` must be positive and finite, got {lam!r}")
