"""Kernels that were computed before, bound to the numbers of their points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import n_matrices
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.words import shown


class PrecomputedKernels(KernelRecipe):
    """Kernels between all points there are, training and test; points are then numbers of rows.

    ``KernelList([PrecomputedKernels(stack)])`` is fitted on a column of row indices, ``np.arange(n)[:, None]`` for all
    points. Such a column can be split and permuted as any points, by GridSearchCV, say, which a stack of matrices
    cannot.

    The arrays are not copied, neither here nor with the list: do not change them. A pickle has them.

    Parameters
    ----------
    kernels : array_like of shape (p, N, N), or sequence of p array_like of shape (N, N)
        The kernels. They are checked where they are used: finite, symmetric, positive semidefinite.
    names : sequence of str, optional
        Names of the kernels in tables. Default: "kernel 0", "kernel 1", ...

    Raises
    ------
    InvalidArgument
        The kernels are no square matrices of one shape, or the names not as many and all different. From `fit` and
        `cross`: points that are no row indices.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import KernelList, PrecomputedKernels
    >>> kernels = KernelList([PrecomputedKernels([np.eye(3), np.ones((3, 3)) + np.eye(3)])])
    >>> bank = kernels.fit(np.array([[0], [2]]))
    >>> bank.cross(np.array([[1], [2]]), [0.0, 1.0]).tolist()
    [[0.5, 0.5], [0.5, 1.0]]
    """

    of_points = False

    def __init__(self, kernels: Sequence[ArrayLike] | NDArray[np.floating], names: Sequence[str] | None = None) -> None:
        p = n_matrices("kernels", kernels)
        matrices = [_matrix(kernels[k], k) for k in range(p)]
        shapes = {matrix.shape for matrix in matrices}
        shape = matrices[0].shape if matrices else ()
        if len(shapes) != 1 or len(shape) != 2 or shape[0] != shape[1] or 0 in shape:
            raise InvalidArgument(
                f"`kernels` must be matrices of one shape (N, N), at least one, got the shapes {sorted(shapes)[:3]}"
            )
        self.kernels: Any = kernels if isinstance(kernels, np.ndarray) else tuple(matrices)
        if names is None:
            self.names = tuple(f"kernel {k}" for k in range(p))
        else:
            given = () if isinstance(names, str) or not isinstance(names, Sequence | np.ndarray) else tuple(names)
            if len(given) != p or len(set(given)) < p or not all(isinstance(name, str) for name in given):
                raise InvalidArgument(f"`names` must be {p} different texts, one for each kernel, got {shown(names)}")
            self.names = given

    def __repr__(self) -> str:
        p, n = len(self.kernels), len(self.kernels[0])
        return f"PrecomputedKernels({p} kernels on {n} points)"

    def __deepcopy__(self, memo: dict[int, Any]) -> PrecomputedKernels:
        """Return the same object: the arrays are not to be changed, and may be large."""
        return self

    def count(self) -> int:
        """Number of kernels."""
        return len(self.names)

    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedPrecomputed:
        """Look at the row indices, see `KernelRecipe.fit`."""
        N = len(self.kernels[0])
        rows_of(Z, N)
        every: Indices = np.arange(N)
        return FittedPrecomputed({k: self.kernels[k] for k in range(self.count())}, self.names, every)


class FittedPrecomputed(FittedKernels):
    """Kernels between all points and some of them."""

    exactness = 0.0

    def __init__(self, kernels: dict[int, NDArray[Any]], labels: tuple[str, ...], columns: Indices) -> None:
        self.kernels, self.labels, self.columns = kernels, labels, columns

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield kernels, see `FittedKernels.matrices`."""
        N = self.columns.size
        rows, columns = rows_of(A, N), self.columns[rows_of(B, N)]
        for k in which:
            yield np.array(self.kernels[k][np.ix_(rows, columns)], dtype=float)

    def kept(self, which: Sequence[int], B: Table) -> FittedPrecomputed:
        """Only some of the kernels, and only between all points and those of B."""
        N = self.columns.size
        some = np.unique(rows_of(B, N))
        columns = np.full(N, -1, dtype=np.intp)
        columns[some] = np.arange(some.size)
        kernels = {k: np.ascontiguousarray(self.kernels[k][:, self.columns[some]]) for k in which}
        return FittedPrecomputed(kernels, self.labels, columns)


def rows_of(Z: Table, n_rows: int) -> Indices:
    """Row indices that stand in a column of a table, or refuse what is none."""
    advice = "pass a column of row indices as `X`, np.arange(n)[:, None] for all points"
    if sparse.issparse(Z):
        raise InvalidArgument(f"PrecomputedKernels take no sparse `X`; {advice}")
    if Z.shape[1] != 1:
        raise InvalidArgument(
            f"PrecomputedKernels take one column of row indices, got {Z.shape[1]} columns; {advice}, or choose the "
            "column: ('given', PrecomputedKernels(stack), [0])"
        )
    values = Z[:, 0]
    wrong = (values != np.floor(values)) | (values < 0) | (values >= n_rows)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidArgument(
            f"row indices of PrecomputedKernels must be whole numbers from 0 to {n_rows - 1}, got {values[row]:g} in "
            f"row {row}; {advice}"
        )
    found: Indices = values.astype(np.intp)
    return found


def _matrix(kernel: ArrayLike, k: int) -> NDArray[Any]:
    """The kernel as an array, the same one if it is an array."""
    matrix = np.asarray(kernel)
    return matrix if matrix.dtype.kind in "fiub" else floats(f"kernels[{k}]", kernel, "a matrix of real numbers")
