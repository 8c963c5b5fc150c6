"""A weighted sum of the kernels of a bank, made once for all machines that are solved on it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels import KernelBank, ProductBank


class CombinedKernel:
    """Room for the combined kernel of all points, ``8 n**2`` bytes, made anew where other weights are asked for.

    Machines on the same bank may share one: at the same weights their kernels differ by the ridge of their losses
    alone, which stands on the diagonal.

    Parameters
    ----------
    bank : KernelBank or ProductBank
        p kernels on n points.
    """

    def __init__(self, bank: KernelBank | ProductBank) -> None:
        self.bank = bank
        self._weights: Vector | None = None
        self._ridge: Vector | None = None

    def at(self, weights: Vector, ridge: Vector | None) -> Matrix:
        """Combined kernel at these weights with a ridge, which is valid until another one is asked for.

        Parameters
        ----------
        weights : ndarray of shape (p,)
        ridge : ndarray of shape (n,) or None
            What is added to the diagonal.

        Returns
        -------
        ndarray of shape (n, n)
        """
        if self._weights is None or not np.array_equal(self._weights, weights):
            self._weights = None
            self.bank.combine(weights, out=self._kernel)
            self._diagonal, self._ridge, self._weights = self._kernel.diagonal().copy(), None, weights.copy()
        if ridge is not self._ridge:
            self._kernel.flat[:: len(self._kernel) + 1] = self._diagonal if ridge is None else self._diagonal + ridge
            self._ridge = ridge
        return self._kernel

    def take(self) -> Matrix:
        """Return the last kernel, for the caller to change: another will be made."""
        self._weights = None
        return self._kernel

    @cached_property
    def _kernel(self) -> Matrix:
        """Room for a combined kernel, which some queries do not need."""
        return np.empty((self.bank.n_points, self.bank.n_points))
