"""Proofs that no eigenvalue of a matrix is larger than a number: a Cholesky factor, or pivots in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, fsum, inf, isfinite, ldexp

import numpy as np
from scipy import linalg

from oracle_opt.answers.eigenpairs import AffineMatrix
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.eigenvalue_cut_proof import MaxEigenvalueProgram
from oracle_opt.proof.claim import Bound
from oracle_opt.proof.elimination import semidefinite
from oracle_opt.proof.exact_sums import SMALLEST, exact
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions
from oracle_opt.proof.witness_numbers import numbers

LARGEST = 8000  # order: a matrix of it takes 512 MB
LARGEST_EXACT = 100  # order: minors have so many times the digits of an entry; seconds
ONE = 1 << 70  # in fractions entries are rounded to multiples of its inverse, which is counted
MARGINS = (1.0, 4.0, 16.0, 256.0, 1e4, 1e6)  # of the shift, in units of the rounding of eigenvalues


def value_bound(program: MaxEigenvalueProgram, point: Vector, exactly: bool = False) -> Bound | None:
    """A proven upper bound of ``trace * lambda_max(M(point)) + b @ point``.

    *In floats.* M is computed with a bound on the rounding of each entry, hence of its norm, which bounds the change of
    all eigenvalues (Weyl). Then ``S = s I - M``, s a little above the largest eigenvalue that LAPACK finds, is
    factored. Where the Cholesky factorization runs to its end in floating-point arithmetic, its factor L has
    ``L L' = S + E`` with ``|E_ij| <= g sqrt(S_ii S_jj)``, ``g = (N + 1) u / (1 - 2 (N + 1) u)`` and u = 2^-53. The norm
    of E is therefore at most ``g tr S``, no eigenvalue of S is less than minus that, and no eigenvalue of M more than
    ``s + g tr S`` (Demmel 1989, Rump 2006). A failure proves nothing: s is raised.

    *In fractions*, for orders up to 100. M is computed exactly and rounded to 70 bits, by which its norm changes by at
    most ``N / 2`` units, and all leading minors of ``s I - M`` are positive whole numbers: it is positive definite.

    Parameters
    ----------
    program : MaxEigenvalueProgram
        The data.
    point : ndarray of shape (m,)
        Where.
    exactly : bool
        Whether to count in fractions, if the order allows it.

    Returns
    -------
    float, Fraction or None
        None for orders above 8000, whose dense matrices take too much memory, for numbers too large for floats, and
        where LAPACK finds no eigenvalues.

    Raises
    ------
    Refuted
        The point has another shape, or is not finite.

    References
    ----------
    .. [1] Rump (2006), "Verification of positive definiteness", BIT Numerical Mathematics 46:433-452.
    .. [2] Higham (2002), "Accuracy and Stability of Numerical Algorithms", 2nd edition, theorems 10.3, 10.5 and 10.7.
    """
    y = numbers("point", point, len(program.b))
    if program.matrix.order > LARGEST:
        return None
    with np.errstate(all="ignore"):
        found = _formed(program.matrix, y)
        if found is None:
            return None
        S, wrong, size = found
        try:
            largest = float(linalg.eigvalsh(S, subset_by_index=(len(S) - 1, len(S) - 1), check_finite=False)[0])
        except np.linalg.LinAlgError:
            return None
        unit = EPS * len(S) * min(float(np.linalg.norm(S)), float(np.abs(S).sum(axis=0).max()))
        kind = Fractions if exactly and len(S) <= LARGEST_EXACT else Floats
        top: Bound | None
        if kind is Fractions:
            top = _bound_in_fractions(program.matrix, y, largest, unit + wrong, size)
        else:
            bound = _bound_in_floats(S, largest, unit)
            top = None if bound is None else float(np.nextafter(np.ldexp(np.nextafter(bound + wrong, inf), size), inf))
        if top is None or (kind is Floats and not isfinite(top)):
            return None
        try:
            linear = (kind.of(program.b) * y).sums([0, len(y)])
        except (OverflowError, ValueError):
            return None
        value: Bound = (linear + kind.of(program.trace) * top).above()[0]
        return None if kind is Floats and not isfinite(value) else value


def _formed(matrix: AffineMatrix, y: Vector) -> tuple[Matrix, float, int] | None:
    """The symmetric part of ``M(y)`` over ``2 ** size``, its entries below one, and a bound on the norm of its error.

    An entry is a sum of at most k products and one of C, so wrong by ``(k / 2 + 1) EPS`` times the sum of their sizes.
    """
    terms = int(np.diff(matrix.entries.tocsr().indptr).max(initial=0))
    M, sizes = matrix.at(y), matrix.sizes_at(y)
    largest = float(sizes.max()) if sizes.nnz else 0.0
    if not isfinite(largest):
        return None
    size = int(np.frexp(largest)[1]) + 1
    dense = np.ldexp(M.toarray(), -size)
    sizes.data = np.ldexp(sizes.data, -size)
    norm = min(float(np.linalg.norm(sizes.data)), float(max(sizes.sum(axis=0).max(), sizes.sum(axis=1).max())))
    underflow = matrix.order * (terms + 4.0) * (ldexp(SMALLEST, -size) if size < 0 else SMALLEST)
    return 0.5 * (dense + dense.T), 1.01 * EPS * (0.5 * terms + 4.0) * norm + underflow, size


def _bound_in_floats(S: Matrix, largest: float, unit: float) -> float | None:
    """A number that no eigenvalue of S, as it stands, exceeds."""
    if not S.any():
        return 0.0
    order = len(S)
    for margin in MARGINS:
        shift = largest + margin * unit
        shifted = np.negative(S, order="F")
        diagonal = shift - S.diagonal()
        shifted[np.diag_indices(order)] = diagonal
        trace = fsum(np.maximum(diagonal, 0.0).tolist())
        if not linalg.lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)[1]:
            # 8 more than the theorem has: triangular solves may multiply with reciprocals, and the diagonal is rounded
            tiny = 6.0 * order * (order + 1.0) * 2.0**-1022
            return shift + 1.01 * (0.5 * EPS * (order + 8.0) * trace + EPS * (abs(shift) + 1.0)) + tiny
    return None


def _bound_in_fractions(matrix: AffineMatrix, y: Vector, largest: float, unit: float, size: int) -> Fraction | None:
    """A number that no eigenvalue of M(y) exceeds, without any rounding."""
    order, C = matrix.order, matrix.C.tocoo()
    M = np.full((order, order), Fraction(0), dtype=object)
    np.add.at(M, C.coords, Fractions.of(C.data).x)
    M[matrix.rows, matrix.columns] -= Fractions.of(y).mapped(matrix.entries).x
    scale = Fraction(2) ** -size
    S = ((M + M.T) * (scale / 2)).tolist()
    if not any(map(any, S)):
        return Fraction(0)
    whole = [[round(entry * ONE) for entry in row] for row in S]
    for margin in MARGINS:
        shift = ceil(exact(largest + margin * unit) * ONE)
        raised = [[(shift if i == j else 0) - whole[i][j] for j in range(order)] for i in range(order)]
        if semidefinite(raised, strictly=True):
            return Fraction(2 * shift + order, 2 * ONE) / scale
    return None
