"""Kernels between new points and some points: what predictions ask for, and all that a fitted model keeps of a bank."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import checked_vector, n_matrices
from oracle_opt.oracles.kernels.base import Indices, KeptKernels


class CrossKernels(Protocol):
    """Kernels of a bank between new points and the bank's points, with their names; any bank is one."""

    n_kernels: int

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels, shape (number of new points, n), before a store scaled them."""

    def kept(self, kernels: Indices, points: Indices) -> KeptKernels:
        """Some of the kernels, numbered in this order, on some of the points, and nothing else."""

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group, which may be empty."""


class GivenCrossKernels(KeptKernels):
    """Cross-kernels the user evaluates: an array of shape (p, m, n), or p arrays, any for those of weight zero."""

    def __init__(
        self,
        n_kernels: int,
        n_points: int,
        kernels: Indices | None = None,
        points: Indices | None = None,
        noun: str = "kernel",
    ) -> None:
        self._given, self._noun = (n_kernels, n_points), noun
        self._kernels, self._points = kernels, points
        self.n_kernels = n_kernels if kernels is None else kernels.size
        self.n_points = n_points if points is None else points.size

    def label(self, k: int) -> tuple[str, str]:
        """The number of a kernel is its name."""
        return f"{self._noun} {k}", ""

    def kept(self, kernels: Indices, points: Indices) -> GivenCrossKernels:
        """Some of these kernels and points, picked from the kernels that the user evaluates for all of them."""
        which = kernels if self._kernels is None else self._kernels[kernels]
        some = points if self._points is None else self._points[points]
        return GivenCrossKernels(*self._given, which, some, self._noun)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Add them up."""
        d, (n_kernels, n_points) = checked_vector(weights, self.n_kernels, "weights"), self._given
        if n_matrices("new", new) != n_kernels:
            raise InvalidArgument(f"`new` must hold {n_kernels} cross-{self._noun}s, got {len(new)}")
        total: Matrix | None = None
        for i in np.flatnonzero(d).tolist():
            k = i if self._kernels is None else int(self._kernels[i])
            name = f"{self._noun} {k} of `new`"
            if new[k] is None:
                raise InvalidArgument(f"{name} must be given, as its weight is {d[i]:g}; got None")
            term = floats(f"new[{k}]", new[k], "a matrix of real numbers")
            shape = (term.shape[0] if total is None else total.shape[0], n_points) if term.ndim else None
            if term.shape != shape:
                raise InvalidArgument(f"{name} must have shape (m, {n_points}), got {term.shape}")
            total = d[i] * term if total is None else total + d[i] * term
        if total is None:
            sizes = [len(one) for one in new if one is not None]
            if not sizes:
                raise InvalidArgument("`weights` must not be all zero where `new` has no matrix")
            total = np.zeros((sizes[0], n_points))
        return total if self._points is None else total[:, self._points]


class Given:
    """The recipe of something that is there."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing

    def __call__(self) -> Any:
        """Return it."""
        return self._thing


class KeptPart(KeptKernels):
    """What something small knows of the kernels and points that were kept, such as a bank of them alone."""

    def __init__(
        self,
        build: Callable[[], Any],
        n_kernels: int,
        n_points: int,
        *,
        order: Indices | None = None,
        scales: Vector | None = None,
        prepare: Callable[[Any], Any] | None = None,
        by_rows: bool = True,
    ) -> None:
        self.n_kernels, self.n_points, self.by_rows = n_kernels, n_points, by_rows
        self._build, self._order, self._scales, self._prepare = build, order, scales, prepare

    def __getstate__(self) -> dict[str, Any]:
        """Without what was made, which a copy makes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_made"}

    @cached_property
    def _made(self) -> Any:
        return self._build()

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum, see `KeptKernels.cross`."""
        d = checked_vector(weights, self.n_kernels, "weights")
        if self._scales is not None:
            d = d * self._scales
        if self._order is not None:
            given, d = d, np.empty(self.n_kernels)
            d[self._order] = given
        found: Matrix = self._made.cross(new if self._prepare is None else self._prepare(new), d)
        return found
