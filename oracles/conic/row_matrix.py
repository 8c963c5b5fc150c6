"""A matrix of many rows, kept once: dense where most of it is not zero, else sparse by rows."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arguments import floats, sparse_matrix
from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument

RowMatrix: TypeAlias = "Matrix | sparse.csr_array"

DENSE = 8  # a dense matrix stays dense if more than one in so many entries is not zero
BLOCK = 10_000  # rows that a digest takes at a time


def row_matrix(name: str, matrix: Any) -> RowMatrix:
    """Return a new matrix of floats, or refuse what is no matrix."""
    if not sparse.issparse(matrix):
        dense = floats(name, matrix, "a matrix of real numbers, dense or sparse")
        if dense.ndim != 2:
            raise InvalidArgument(f"`{name}` must be a matrix, of two dimensions, got {dense.ndim}")
        if DENSE * np.count_nonzero(dense) > dense.size:
            return dense
        matrix = dense
    made = sparse_matrix(name, matrix)
    made.eliminate_zeros()
    return made


def entries(A: RowMatrix) -> Vector:
    """All that is stored of a matrix, as one array."""
    stored: Vector = A if isinstance(A, np.ndarray) else A.data
    return stored


def row_norms(A: RowMatrix) -> Vector:
    """Euclidean norm of each row."""
    if isinstance(A, np.ndarray):
        squares: Vector = np.einsum("ij,ij->i", A, A)
    else:
        squares = sparse.csr_array((A.data**2, A.indices, A.indptr), shape=A.shape) @ np.ones(A.shape[1])
    return np.sqrt(squares)


def n_entries(A: RowMatrix) -> NDArray[np.intp]:
    """Number of entries of each row that are not zero."""
    counts: NDArray[np.intp] = np.count_nonzero(A, axis=1) if isinstance(A, np.ndarray) else np.diff(A.indptr)
    return counts


def dense_rows(A: RowMatrix, rows: NDArray[np.intp]) -> Matrix:
    """Rows of a matrix, as a dense one of their own."""
    chosen: Matrix = A[rows] if isinstance(A, np.ndarray) else A[rows].toarray()
    return chosen


def consecutive(A: RowMatrix, part: slice) -> RowMatrix:
    """Rows of a matrix that follow each other, without a copy."""
    if isinstance(A, np.ndarray):
        return A[part]
    ends = A.indptr[part.start : part.stop + 1]
    stored = slice(ends[0], ends[-1])
    return sparse.csr_array((A.data[stored], A.indices[stored], ends - ends[0]), shape=(len(ends) - 1, A.shape[1]))


def digest_of_rows(A: RowMatrix) -> str:
    """Digest of a matrix, the same of a dense one and of a sparse one; block by block, without a copy of the whole."""
    parts = [slice(start, min(start + BLOCK, A.shape[0])) for start in range(0, A.shape[0], BLOCK)]
    return digest(A.shape[1], [digest(sparse.csr_array(consecutive(A, part))) for part in parts])
