"""A recipe of kernels: parameters that become kernels once they have seen training points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from numpy.random import Generator

from oracle_opt.arguments import NamedArguments
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
    positive_semidefinite : bool
        Whether the kernels are known to be symmetric and positive semidefinite, whatever the points are; matrices of
        others are checked. Default: False.
    exactness : float or None
        By how much entries may differ from those of the kernel, and from one call to the next, over the root of the
        product of the two diagonal entries. None, the default: not known; the kernels can then be kept, and not
        computed on the fly.
    """

    labels: tuple[str, ...]
    positive_semidefinite: bool = False
    exactness: float | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.labels[:3])}{', ...' if len(self.labels) > 3 else ''})"

    @abstractmethod
    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield kernels between the rows of A and those of B, of the columns that the recipe was fitted on.

        `which` are the numbers of the kernels wanted, in this order. Each is a new array of shape (m, n), which the
        caller may overwrite; A and B are arrays or CSR arrays.
        """

    def kept(self, which: Sequence[int], B: Table) -> FittedKernels:
        """The kernels where only some of them are wanted, and only between new points and those of B.

        For kernels that hold much; by default this object. They keep their numbers, of which `which` are wanted.
        """
        return self


class KernelRecipe(NamedArguments, ABC):
    """An entry of a `KernelList`; subclass it for kernels of your own.

    An object holds parameters and no data, so that it can be copied, pickled and fitted again.

    Attributes
    ----------
    each : bool
        Whether the kernels are made on each of the columns alone, in place of on all of them together. Default: False.
    takes_sparse : bool
        Whether the kernels take sparse points, as a `scipy.sparse.csr_array`. Default: False.
    of_points : bool
        Whether equal points have equal kernels, so that nothing is learned on columns that are constant: these are
        then left out. Default: True.

    Examples
    --------
    Kernels ``1 / (1 + norm(x - z)**2 / s**2)``. They are positive semidefinite; without the line that says so their
    matrices would be checked.

    >>> import numpy as np
    >>> from scipy.spatial.distance import cdist
    >>> from oracle_opt.oracles import FittedKernels, KernelList, KernelRecipe
    >>> class Cauchy(KernelRecipe):
    ...     def __init__(self, scales, each=False):
    ...         self.scales, self.each = tuple(scales), each
    ...     def count(self):
    ...         return len(self.scales)
    ...     def fit(self, Z, weights, rng):
    ...         return FittedCauchy(self.scales)
    >>> class FittedCauchy(FittedKernels):
    ...     positive_semidefinite = True
    ...     def __init__(self, scales):
    ...         self.scales, self.labels = scales, tuple(f"cauchy({s})" for s in scales)
    ...     def matrices(self, A, B, which):
    ...         squares = cdist(A, B, "sqeuclidean")
    ...         for k in which:
    ...             yield 1 / (1 + squares / self.scales[k] ** 2)
    >>> bank = KernelList([Cauchy([0.5, 1.0])]).fit(np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 2.0]]))
    >>> bank.names
    ('cauchy(0.5) of all columns', 'cauchy(1.0) of all columns')
    >>> bank.cross(np.array([[0.0, 0.0]]), [0.0, 1.0]).round(3).tolist()
    [[0.5, 0.333, 0.071]]
    """

    each: bool = False
    takes_sparse: bool = False
    of_points: bool = True

    __repr__ = by_attributes

    @abstractmethod
    def count(self) -> int:
        """Number of kernels that `fit` makes, at most."""

    @abstractmethod
    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedKernels:
        """Learn what depends on the training points, the rows of Z: as many kernels as `count` says, or fewer.

        There are fewer where some would be the same. The `weights` of the points are positive: a point of weight 2
        counts as two points. `rng` is for samples where there are many points.
        """
