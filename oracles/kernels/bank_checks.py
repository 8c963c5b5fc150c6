"""Checks of matrices, weights, vectors and indices, before any bank sees them."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.linalg.lapack import dpotrf

from oracle_opt.arguments import floats
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels._packed import asymmetry
from oracle_opt.words import shown

Indices = NDArray[np.intp]


def n_matrices(name: str, given: Sequence[Any] | NDArray[np.floating]) -> int:
    """Return how many matrices there are in a sequence or a stack of them, or refuse what is neither."""
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return len(given)
    if isinstance(given, np.ndarray) and given.ndim:
        return len(given)
    raise InvalidArgument(f"`{name}` must be an array of shape (p, n, n) or a sequence of matrices, got {shown(given)}")


def size_of_stack(name: str, given: Sequence[Any] | NDArray[np.floating]) -> tuple[int, int]:
    """Return the number of square matrices that were given, and of their rows, or refuse what is none."""
    p = n_matrices(name, given)
    first = floats(name, given[0], "matrices of real numbers").shape if p else ()
    if len(first) != 2:
        raise InvalidArgument(f"`{name}` must have shape (p, n, n) with p >= 1, got {p} entries, the first {first}")
    return p, int(first[0])


def matrix_of_stack(name: str, noun: str, given: Sequence[Any] | NDArray[np.floating], k: int) -> NDArray[np.floating]:
    """Return one of these matrices, see `checked_kernel`, or refuse one of another shape than the first."""
    matrix, n = checked_kernel(given[k], f"{noun} {k} of `{name}`"), len(given[0])
    if len(matrix) != n:
        raise InvalidArgument(f"{noun} {k} of `{name}` must have shape {(n, n)} like {noun} 0, got {matrix.shape}")
    return matrix


def checked_kernel(
    kernel: ArrayLike, name: str, remedy: str = "if that is noise, pass (K + K.T) / 2"
) -> NDArray[np.floating]:
    """Return the kernel as a contiguous float32 or float64 array of shape (n, n), symmetric to the last bit."""
    matrix = np.asarray(kernel)
    if matrix.dtype.kind not in "fiub":
        raise InvalidArgument(f"{name} must be a matrix of real numbers, got {shown(kernel)}")
    matrix = np.ascontiguousarray(matrix, dtype=np.float32 if matrix.dtype == np.float32 else np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidArgument(f"{name} must have shape (n, n), got {matrix.shape}")
    largest, difference, row, column = asymmetry(matrix)
    if not np.isfinite(largest):
        where = tuple(np.argwhere(~np.isfinite(matrix))[0].tolist())
        raise InvalidArgument(f"{name} must be finite, got {matrix[where]} at {where}; remove or impute such points")
    if difference > (1e-5 if matrix.dtype == np.float32 else 1e-8) * largest:
        raise InvalidArgument(
            f"{name} must be symmetric, got {matrix[row, column]} at {(row, column)} and {matrix[column, row]} at "
            f"{(column, row)}; {remedy}"
        )
    return matrix if difference == 0 else 0.5 * (matrix + matrix.T)


def rounding_of(dtype: np.dtype[Any]) -> float:
    """By how much a number was rounded that is stored in single precision, relative to it; 0 in double precision."""
    # a little more for the factor that it had, and for the diagonal entries, which were rounded, too
    return (1.0 + 1e-6) * 2.0**-24 if dtype == np.float32 else 0.0


def check_fits_single(diagonal: Vector, name: str) -> None:
    """Raise `InvalidArgument` unless entries of this diagonal, and of its kernel, keep 7 digits in single precision."""
    positive = diagonal[diagonal > 0]
    if positive.size and not 2.0**-100 <= positive.min() <= positive.max() < 2.0**127:
        raise InvalidArgument(
            f"{name} must have diagonal entries from 1e-30 to 1e38 to be kept in float32, got {positive.min():.3g} to "
            f"{positive.max():.3g}; scale it, or keep it in float64"
        )


def check_positive_semidefinite(
    kernel: NDArray[np.floating], name: str, remedy: str = "add -that to its diagonal, or leave it out"
) -> float:
    """Raise `InvalidArgument` if the kernel has no positive trace, or an eigenvalue negative beyond rounding.

    Beyond rounding is below -1e-8 times the trace (-1e-6 in float32). Returned is by how much, about, the diagonal has
    to grow, relative to it, until the kernel is positive semidefinite: 0 where that is rounding in its precision.
    """
    trace = float(np.trace(kernel, dtype=float))
    if not trace > 0:
        raise InvalidArgument(f"{name} must have a positive trace, got {trace}; leave out kernels that are zero")
    n, single = kernel.shape[0], kernel.dtype == np.float32
    unit = (2.0**-24 if single else EPS) * (n + 16)
    # entries that are rounding alone, as of a point in the middle of all, are measured by the largest one
    diagonal = np.diagonal(kernel).astype(float)
    roots = np.sqrt(np.maximum(diagonal, unit * diagonal.max()))
    growth = float(unit)
    if _is_semidefinite(kernel, growth * roots**2):
        return 0.0
    if not _is_semidefinite(kernel, np.full(n, (1e-6 if single else 1e-8) * trace)):
        least = float(np.linalg.eigvalsh(kernel.astype(float))[0])
        raise InvalidArgument(
            f"{name} must be positive semidefinite, got the eigenvalue {least:g} at trace {trace:g}; {remedy}"
        )
    while growth < 1.0 and not _is_semidefinite(kernel, growth * roots**2):
        growth *= 4.0
    return float(min(growth, 1.0))


def lack_of(kernel: Matrix, least: float = EPS) -> float:
    """By how much, about, the diagonal has to grow, over its largest, until the kernel is semidefinite; or 0."""
    if is_certain(kernel):
        return 0.0
    growth, largest = least, np.full(len(kernel), np.diagonal(kernel).max())
    while growth < 1.0 and not _is_semidefinite(kernel, growth * largest):
        growth *= 2.0
    return growth


def is_certain(kernel: Matrix) -> bool:
    """Whether the kernel is positive semidefinite for certain: points of the same entries as another one count once."""
    rows = np.flatnonzero(kernel.any(axis=1))
    rows = rows[np.unique(kernel[rows], axis=0, return_index=True)[1]]
    different = kernel[np.ix_(rows, rows)]
    return _is_semidefinite(different, -EPS * (rows.size + 16) * np.diagonal(different))


def _is_semidefinite(kernel: NDArray[np.floating], added: Vector) -> bool:
    """Whether the kernel with a larger diagonal has a Cholesky factorization."""
    larger = np.array(kernel, dtype=float, order="F")
    larger.flat[:: kernel.shape[0] + 1] += added
    _, failed = dpotrf(larger, clean=0, overwrite_a=1)
    return not failed


def checked_vector(values: ArrayLike, size: int, name: str) -> Vector:
    """Return the values as float64, or raise `InvalidArgument` unless they are so many finite numbers."""
    try:
        vector = np.ascontiguousarray(values, dtype=float)
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"`{name}` must be {size} finite numbers, got {shown(values)}") from problem
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise InvalidArgument(f"`{name}` must be {size} finite numbers, got shape {vector.shape}")
    return vector


def checked_indices(indices: ArrayLike, n_points: int, name: str) -> Indices:
    """Return the indices, or raise `InvalidArgument` unless they are those of points."""
    try:
        which = np.asarray(indices, dtype=np.intp, order="C")
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"`{name}` must be indices, got {shown(indices)}") from problem
    if which.ndim != 1 or (which.size and not 0 <= which.min() <= which.max() < n_points):
        raise InvalidArgument(f"`{name}` must be indices from 0 to {n_points - 1}, got {indices!r}")
    return which


def checked_kernels(kernels: ArrayLike, n_kernels: int, name: str = "kernels") -> Indices:
    """Return indices of kernels, or of points, or raise `InvalidArgument` unless they are some, none twice."""
    which = checked_indices(kernels, n_kernels, name)
    if which.size == 0 or np.unique(which).size < which.size:
        raise InvalidArgument(f"`{name}` must be indices of {name}, at least one and none twice, got {shown(which)}")
    return which


def checked_out(out: Matrix | None, n_points: int) -> Matrix:
    """Return where to write a sum of kernels, or raise `InvalidArgument` if it cannot be written there."""
    shape = (n_points, n_points)
    if out is None:
        check_square_fits(n_points)
    K = np.empty(shape) if out is None else out
    if K.shape != shape or K.dtype != np.float64 or not K.flags.c_contiguous:
        raise InvalidArgument(
            f"`out` must be C-contiguous float64 of shape {shape}, got {K.dtype} of shape {K.shape}; "
            "leave it out for a new array"
        )
    return K


def checked_precision(dtype: DTypeLike) -> bool:
    """Whether the type is float32, or raise `InvalidArgument` if it is not float64 either."""
    try:
        wanted = np.dtype(dtype)
    except TypeError as problem:
        raise InvalidArgument(f"`dtype` must be float64 or float32, got {shown(dtype)}") from problem
    if wanted not in (np.float32, np.float64):
        raise InvalidArgument(f"`dtype` must be float64 or float32, got {wanted}")
    return wanted == np.float32


def check_square_fits(n_points: int) -> None:
    """Raise `InvalidArgument` if a combined kernel of so many points does not fit into memory."""
    most = most_of_memory()
    if most is not None and 8 * n_points * n_points > most:
        raise InvalidArgument(
            f"the combined kernel of {n_points} points would take {8 * n_points * n_points} bytes, more than 70 % of "
            "the memory; solve_lp_mkl does without, or take fewer points"
        )


def most_of_memory() -> int | None:
    """70 % of the bytes of the machine's memory; None where the system does not tell."""
    try:
        return int(0.7 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return None
