"""Some kernels between new points and some points of a bank: all that a fitted model needs of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.cross import SomeGivenCrossKernels

if TYPE_CHECKING:
    from oracle_opt.oracles.kernels.base import Indices, KernelBank
    from oracle_opt.oracles.kernels.cross import CrossSums


class KeptKernels(ABC):
    """Some kernels of a bank between new points and some points of the bank; see `KernelBank.kept`.

    Attributes
    ----------
    n_kernels, n_points : int
        How many kernels, and points of the bank, were kept.
    by_rows : bool
        Whether rows of new points can be taken apart, as a row of `cross` depends on no other. Default: False.
    """

    n_kernels: int
    n_points: int
    by_rows: bool = False

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
        self.by_rows = not isinstance(kernels, SomeGivenCrossKernels)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum, see `KeptKernels.cross`."""
        from oracle_opt.oracles.kernels.base import checked_vector

        d = checked_vector(weights, self.n_kernels, "weights")
        used = np.flatnonzero(d)
        return self._kernels.cross(new, used, d[used] * self._scales[used])


class KeptWhole(KeptKernels):
    """A small bank of the kernels and points that were kept, made when it is first needed.

    Parameters
    ----------
    build : callable
        Takes no arguments and returns the bank of them alone; it can be pickled, while the bank is not.
    n_kernels, n_points : int
        Their numbers.
    order : ndarray of int, shape (n_kernels,), optional
        Kernel i that was kept is number ``order[i]`` of the bank. Default: number i.
    prepare : callable, optional
        What is done to new points first. Default: nothing.
    """

    by_rows = True

    def __init__(
        self,
        build: Callable[[], KernelBank],
        n_kernels: int,
        n_points: int,
        order: Indices | None = None,
        prepare: Callable[[Any], Any] | None = None,
    ) -> None:
        self.n_kernels, self.n_points = n_kernels, n_points
        self._build, self._order, self._prepare = build, order, prepare

    def __getstate__(self) -> dict[str, Any]:
        """Without the bank, which a copy makes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_bank"}

    @cached_property
    def _bank(self) -> KernelBank:
        return self._build()

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum, see `KeptKernels.cross`."""
        from oracle_opt.oracles.kernels.base import checked_vector

        d = checked_vector(weights, self.n_kernels, "weights")
        if self._order is not None:
            given, d = d, np.empty(self.n_kernels)
            d[self._order] = given
        return self._bank.cross(new if self._prepare is None else self._prepare(new), d)


class KeptJoined(KeptKernels):
    """What is kept of several banks on the same points.

    Parameters
    ----------
    kept : sequence of KeptKernels
        At least one.
    parts : sequence of slice or ndarray of int
        Which kernels are those of each.
    prepare : callable or None
        What is done to new points first.
    """

    def __init__(
        self,
        kept: Sequence[KeptKernels],
        parts: Sequence[slice | Indices],
        prepare: Callable[[Any], Any] | None,
    ) -> None:
        self.n_kernels, self.n_points = sum(one.n_kernels for one in kept), kept[0].n_points
        self._kept, self._parts, self._prepare = tuple(kept), tuple(parts), prepare
        self.by_rows = all(one.by_rows for one in kept)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum, see `KeptKernels.cross`."""
        from oracle_opt.oracles.kernels.base import checked_vector

        d = checked_vector(weights, self.n_kernels, "weights")
        points = new if self._prepare is None else self._prepare(new)
        terms = [one.cross(points, d[part]) for one, part in zip(self._kept, self._parts, strict=True) if d[part].any()]
        if not terms:
            raise InvalidArgument("`weights` must not be all zero")
        total: Matrix = sum(terms[1:], terms[0])
        return total


class SomeColumns:
    """Some columns of new points.

    Parameters
    ----------
    columns : ndarray of int
        Which of them.
    n_columns : int
        Number of all.
    """

    def __init__(self, columns: Indices, n_columns: int) -> None:
        self.columns, self.n_columns = columns, n_columns

    def __call__(self, new: Any) -> Any:
        """These columns, of points that have all of them."""
        from oracle_opt.oracles.kernels.points import checked_new, of_features

        points = checked_new(new, self.n_columns)
        return of_features(points.tocsc() if sparse.issparse(points) else points, self.columns)


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
