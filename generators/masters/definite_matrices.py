"""Positive definite matrices in interior point methods: factors, inverses, and how far a step stays inside."""

import numpy as np
import scipy.linalg

from oracle_opt.arrays import Matrix, Vector

STEP = 0.98  # share of the way to the boundary
EIGENVALUES = 60  # order up to which all eigenvalues are cheaper than some Cholesky factors
HALVINGS = 5  # of the interval that holds the way to the boundary, once a step is known to stay inside


def definite_factor(matrix: Matrix) -> tuple[Matrix, tuple[Matrix, bool]]:
    """The matrix and its Cholesky factor; with a multiple of the identity where rounding leaves it without one."""
    ridge = 0.0
    while True:
        try:
            return matrix, scipy.linalg.cho_factor(matrix)
        except scipy.linalg.LinAlgError:
            ridge = max(100.0 * ridge, 1e-14 * float(np.abs(matrix).max()), 1e-300)
            matrix = matrix + ridge * np.eye(len(matrix))


def root_of(matrix: Matrix) -> Matrix | None:
    """Lower Cholesky factor, None where the matrix is not positive definite."""
    if not matrix.size:
        return matrix
    root, info = scipy.linalg.lapack.dpotrf(matrix, lower=1)
    return None if info or not np.isfinite(root).all() else np.asarray(root)


def inverse_of(root: Matrix) -> Matrix:
    """Inverse of the matrix with this lower Cholesky factor, symmetric."""
    if not root.size:
        return root
    lower: Matrix = scipy.linalg.lapack.dpotri(root, lower=1)[0]
    inverse = np.tril(lower, -1)
    inverse = inverse + inverse.T
    inverse[np.diag_indices(len(inverse))] = lower.diagonal()
    return inverse


def share_of(value: Matrix, root: Matrix, change: Matrix) -> float:
    """How far, at most 1, a definite matrix, given with its root, can change and stay so."""
    if not value.size:
        return 1.0
    if len(value) > EIGENVALUES:
        return _searched(value, change)
    half = scipy.linalg.solve_triangular(root, change, lower=True, check_finite=False)
    whole = scipy.linalg.solve_triangular(root, half.T, lower=True, check_finite=False)
    least = float(np.linalg.eigvalsh(0.5 * (whole + whole.T))[0])
    return min(1.0, -STEP / least) if least < 0 else 1.0


def share_of_positive(value: Vector, change: Vector) -> float:
    """How far, at most 1, a positive vector can change and stay so."""
    least = float((change / value).min(initial=0.0))
    return min(1.0, -STEP / least) if least < 0 else 1.0


def _searched(value: Matrix, change: Matrix) -> float:
    """The same by bisection: whether a step stays inside, a Cholesky factor tells."""
    inside, outside = 0.0, 1.0 / STEP
    if _is_definite(value, outside, change):
        return 1.0
    halvings = HALVINGS
    while halvings > 0 and outside > 1e-9:
        middle = 0.5 * (inside + outside)
        if _is_definite(value, middle, change):
            inside = middle
        else:
            outside = middle
        halvings -= inside > 0.0
    return STEP * inside


def _is_definite(value: Matrix, share: float, change: Matrix) -> bool:
    return bool(scipy.linalg.lapack.dpotrf(value + share * change, lower=1, clean=0, overwrite_a=1)[1] == 0)
