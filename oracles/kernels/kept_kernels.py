"""Some kernels between new points and some points of a bank: all that a fitted model needs of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Matrix, Vector

if TYPE_CHECKING:
    from oracle_opt.oracles.kernels.base import Indices, KernelBank
    from oracle_opt.oracles.kernels.cross import CrossSums


class KeptKernels(ABC):
    """Some kernels of a bank between new points and some points of the bank; see `KernelBank.kept`.

    Attributes
    ----------
    n_kernels, n_points : int
        How many kernels, and points of the bank, were kept.
    """

    n_kernels: int
    n_points: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_kernels={self.n_kernels}, n_points={self.n_points})"

    @abstractmethod
    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points and the points kept.

        Parameters
        ----------
        new : array_like
            New points as `KernelBank.cross` of the bank takes them.
        weights : array_like of shape (n_kernels,)
            Weights of the kernels kept.

        Returns
        -------
        ndarray of shape (m, n_points)
        """


class KeptCross(KeptKernels):
    """What is kept where kernels are evaluated by `CrossSums`.

    Parameters
    ----------
    kernels : CrossSums
        On the points kept.
    scales : ndarray of shape (n_kernels,)
        Factors of the kernels.
    n_points : int
        Number of points kept.
    """

    def __init__(self, kernels: CrossSums, scales: Vector, n_points: int) -> None:
        self.n_kernels, self.n_points = scales.size, n_points
        self._kernels, self._scales = kernels, scales

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum, see `KeptKernels.cross`."""
        from oracle_opt.oracles.kernels.base import checked_vector

        d = checked_vector(weights, self.n_kernels, "weights")
        used = np.flatnonzero(d)
        return self._kernels.cross(new, used, d[used] * self._scales[used])


class KeptOfBank(KeptKernels):
    """What is kept of a bank that can only be evaluated as a whole: the bank itself.

    Parameters
    ----------
    bank : KernelBank
    kernels, points : ndarray of int
        Those to look at.
    """

    def __init__(self, bank: KernelBank, kernels: Indices, points: Indices) -> None:
        self.n_kernels, self.n_points = kernels.size, points.size
        self._bank, self._chosen, self._points = bank, kernels, points

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum, see `KeptKernels.cross`."""
        from oracle_opt.oracles.kernels.base import checked_vector

        d = np.zeros(self._bank.n_kernels)
        d[self._chosen] = checked_vector(weights, self.n_kernels, "weights")
        found: Matrix = self._bank.cross(new, d)[:, self._points]
        return found
