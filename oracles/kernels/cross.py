"""Kernels between new points and those of a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.checked_kernel import n_matrices


class CrossSums(Protocol):
    """Knows kernels between new points and some points."""

    def cross(self, new: Any, which: NDArray[np.intp], weights: Vector) -> Matrix:
        """Sum of ``weights[i]`` times kernel ``which[i]``, shape (number of new points, n), before any scaling."""


class CrossKernels(CrossSums, Protocol):
    """Knows the kernels of a bank between new points and those of the bank, and what they are."""

    def kept(self, which: NDArray[np.intp], points: NDArray[np.intp]) -> CrossSums:
        """Some of the kernels, numbered in this order, on some of the points, and nothing else."""

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group, which may be empty."""


class GivenCrossKernels:
    """Cross-kernels the user evaluated: `new` is an array of shape (p, m, n), or p arrays of shape (m, n).

    Entries of weight zero are not looked at and may be None.
    """

    def __init__(self, n_kernels: int, n_points: int) -> None:
        self.n_kernels = n_kernels
        self.n_points = n_points

    def label(self, k: int) -> tuple[str, str]:
        """The number of a kernel is its name."""
        return f"kernel {k}", ""

    def kept(self, which: NDArray[np.intp], points: NDArray[np.intp]) -> SomeGivenCrossKernels:
        """What picks these kernels and points of those the user evaluates, who gives all of them."""
        return SomeGivenCrossKernels(self, which, points)

    def cross(self, new: Sequence[ArrayLike | None], which: NDArray[np.intp], weights: Vector) -> Matrix:
        """Add them up."""
        if n_matrices("new", new) != self.n_kernels:
            raise InvalidArgument(f"`new` must hold {self.n_kernels} cross-kernels, got {len(new)}")
        total: Matrix | None = None
        for k, weight in zip(which.tolist(), weights.tolist(), strict=True):
            term = floats(f"new[{k}]", new[k], "a matrix of real numbers")
            shape = (term.shape[0] if total is None else total.shape[0], self.n_points) if term.ndim else None
            if term.shape != shape:
                raise InvalidArgument(f"kernel {k} of `new` must have shape (m, {self.n_points}), got {term.shape}")
            total = weight * term if total is None else total + weight * term
        if total is None:
            raise InvalidArgument("`weights` must not be all zero")
        return total


class SomeGivenCrossKernels:
    """Some of the kernels and points of cross-kernels the user evaluated for all."""

    def __init__(self, given: GivenCrossKernels, kernels: NDArray[np.intp], points: NDArray[np.intp]) -> None:
        self._given, self._kernels, self._points = given, kernels, points

    def cross(self, new: Sequence[ArrayLike | None], which: NDArray[np.intp], weights: Vector) -> Matrix:
        """Add them up."""
        return self._given.cross(new, self._kernels[which], weights)[:, self._points]
