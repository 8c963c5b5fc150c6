"""What a kernel must be before any solver sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpotrf

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels._packed import asymmetry
from oracle_opt.words import shown


def n_matrices(name: str, given: Sequence[Any] | NDArray[np.floating]) -> int:
    """Return how many matrices there are in a sequence or a stack of them, or refuse what is neither."""
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return len(given)
    if isinstance(given, np.ndarray) and given.ndim:
        return len(given)
    raise InvalidArgument(f"`{name}` must be an array of shape (p, n, n) or a sequence of matrices, got {shown(given)}")


def checked_kernel(
    kernel: ArrayLike, name: str, remedy: str = "if that is noise, pass (K + K.T) / 2"
) -> NDArray[np.floating]:
    """Return the kernel as a contiguous float32 or float64 array of shape (n, n), symmetric to the last bit.

    Parameters
    ----------
    kernel : array_like of shape (n, n)
    name : str
        What it is, in messages.
    remedy : str
        What to do about one that is not symmetric.

    Raises
    ------
    InvalidArgument
        The kernel is not square, not finite, or not symmetric up to rounding (1e-8 of the largest entry, 1e-5 in
        float32).
    """
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


def check_positive_semidefinite(
    kernel: NDArray[np.floating], name: str, remedy: str = "add -that to its diagonal, or leave it out"
) -> None:
    """Raise `InvalidArgument` if the kernel has no positive trace, or an eigenvalue negative beyond rounding.

    Beyond rounding means below -1e-8 times the trace (-1e-6 in float32). A Cholesky factorization of the kernel so
    shifted decides; the eigenvalues are computed only for the message, which ends with the remedy.
    """
    trace = float(np.trace(kernel, dtype=float))
    if not trace > 0:
        raise InvalidArgument(f"{name} must have a positive trace, got {trace}; leave out kernels that are zero")
    shift = (1e-6 if kernel.dtype == np.float32 else 1e-8) * trace
    shifted = np.array(kernel, dtype=float, order="F")
    shifted.flat[:: kernel.shape[0] + 1] += shift
    _, failed = dpotrf(shifted, clean=0)
    if failed:
        least = float(np.linalg.eigvalsh(kernel.astype(float))[0])
        raise InvalidArgument(
            f"{name} must be positive semidefinite, got the eigenvalue {least:g} at trace {trace:g}; {remedy}"
        )
