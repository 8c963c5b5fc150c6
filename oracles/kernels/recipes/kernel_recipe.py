"""A recipe of kernels: parameters that become kernels once they have seen training points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from numpy.random import Generator

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.words import by_attributes

# Points as recipes see them: ndarray or csr_array of the columns they were given, one point a row.
Table = Any


class FittedKernels(ABC):
    """Kernels that a recipe made from training points: they hold parameters and no points.

    Attributes
    ----------
    labels : tuple of str
        What each kernel is, such as ``"gaussian(width=1.5)"``: as many as there are kernels, all different.
    """

    labels: tuple[str, ...]

    @abstractmethod
    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield kernels between the rows of A and those of B.

        Parameters
        ----------
        A, B : ndarray or csr_array, shapes (m, columns) and (n, columns)
            Points; of the columns the recipe was fitted on.
        which : sequence of int
            Numbers of the kernels wanted, in this order.

        Yields
        ------
        ndarray of shape (m, n)
        """


class KernelRecipe(ABC):
    """An entry of a `KernelList`; subclass it for kernels of your own.

    An object holds parameters and no data, so that it can be copied, pickled and fitted again.

    Attributes
    ----------
    each : bool
        Whether the kernels are made on each of the columns alone, in place of on all of them together. Default: False.
    """

    each: bool = False

    __repr__ = by_attributes

    @abstractmethod
    def count(self) -> int:
        """Number of kernels that `fit` makes."""

    @abstractmethod
    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedKernels:
        """Learn what depends on the training points.

        Parameters
        ----------
        Z : ndarray or csr_array of shape (n, columns)
            Training points.
        weights : ndarray of shape (n,)
            Their weights, positive: a point of weight 2 counts as two points.
        rng : numpy.random.Generator
            For samples where there are many points.

        Returns
        -------
        FittedKernels
            As many as `count` says.
        """
