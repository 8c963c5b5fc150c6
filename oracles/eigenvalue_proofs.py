"""Proofs of a largest eigenvalue: below by positive semidefinite matrices, above by Cholesky factors or pivots."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, fsum, inf, isfinite, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from oracle_opt.answers.eigenpairs import AffineMatrix
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.proof.affine_excess import affine_excess
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim
from oracle_opt.proof.elimination import semidefinite
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.exact_sums import SMALLEST, exact
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.rationals import Fractions
from oracle_opt.proof.witness_numbers import numbers

LARGEST = 8000  # order: a matrix of it takes 512 MB
LARGEST_EXACT = 100  # order: minors have so many times the digits of an entry; seconds
ONE = 1 << 70  # in fractions entries are rounded to multiples of its inverse, which is counted
MARGINS = (1.0, 4.0, 16.0, 256.0, 1e4, 1e6)  # of the shift, in units of the rounding of eigenvalues
AT_ONCE = 1 << 16  # entries of W computed at a time
BITS = 200  # in fractions the witness is rounded to multiples of 2**-200, which makes it another one
NEAR = 1e-9  # slopes that differ by less, relative to their terms, are right but for rounding
WITNESS = ("eigenvector", "factor", "diagonal")


@dataclass(frozen=True, eq=False)
class MaxEigenvalueProgram:
    """The data of ``f(y) = trace * lambda_max(C - sum_i y_i A_i) + b @ y``; of C and A_i the symmetric part counts."""

    matrix: AffineMatrix
    trace: float
    b: Vector
    domain: Domain


def cut_excess(program: MaxEigenvalueProgram, claim: CutClaim, exactly: bool = False) -> Bound | None:
    """By how much an affine function claims more of f than a positive semidefinite matrix W proves; None if unknown.

    ``W = v v' + R R' + diag(d)``, v the `eigenvector`, (N,), R the `factor`, (N, r), d the `diagonal`, (N,): one is
    enough. In floats with all rounding or in fractions, see docs/theory_cones.md, "Certificates".
    """
    if claim.kind not in (ClaimKind.MINORANT, ClaimKind.BOUND):
        raise Refuted(
            f"a largest eigenvalue has neither half-spaces nor summands, and the claim is a {claim.kind.value}"
        )
    slope = numbers("slope of the claim", claim.slope, len(program.b))
    witness = _witness(program.matrix.order, claim)
    if witness is None:
        return None
    with np.errstate(all="ignore"):
        for kind in (Fractions,) if exactly else (Floats, Fractions):
            try:
                constant, proven = _proven(program, *witness, kind)
            except (OverflowError, ValueError):  # sums beyond the floats
                return None
            if kind is Floats and not np.isfinite([*proven.size(), constant.size()]).all():
                return None
            excess = affine_excess(program.domain, claim, constant, proven)
            if excess < np.inf:
                return excess
        # where the domain has no end slopes must agree, but for rounding
        steeper = (Enclosure.of(slope, exact=True) - proven).floats().size()
        allowed = NEAR * (np.abs(program.b) + proven.floats().size() + np.abs(slope))
        open_ended = ~np.isfinite(program.domain.bounding_box()).all(axis=0)
        return None if (steeper <= allowed)[open_ended].all() else np.inf


def _witness(order: int, claim: CutClaim) -> tuple[Matrix, Vector] | None:
    """Columns R, ``W = R R' + diag(d)``, and d, with numbers of at most one."""
    given = {name: claim.witness[name] for name in WITNESS if name in claim.witness}
    if not given:
        return None
    made = {"eigenvector": np.zeros((order, 0)), "factor": np.zeros((order, 0)), "diagonal": np.zeros(order)}
    for name, value in given.items():
        made[name] = numbers(f"`{name}` of the witness", value, order, *((None,) if name == "factor" else ()))
    d = made["diagonal"]
    if (d < 0).any():
        raise Refuted("`diagonal` of the witness must not be negative")
    R = np.column_stack([made["factor"], made["eigenvector"]])
    largest = max(float(np.abs(R).max(initial=0.0)), float(np.sqrt(d.max())))
    if not largest > 0:
        raise Refuted("the matrix of the witness is zero, which proves nothing")
    size = int(np.frexp(largest)[1])
    return np.ldexp(R, -size), np.ldexp(d, -2 * size)


def _proven(
    program: MaxEigenvalueProgram, R: Matrix, d: Vector, kind: type[Floats] | type[Fractions]
) -> tuple[Enclosure, Enclosure]:
    """Constant and slope that W proves: ``k <C, W>`` and ``b - k <A_i, W>``."""
    matrix = program.matrix
    C, A = matrix.C.tocoo(), matrix.entries
    if kind.exact:  # whole numbers
        R, d = (_whole(np.ldexp(one, bits)) for one, bits in ((R, BITS // 2), (d, BITS)))
        if not (R.any() or d.any()):
            raise Refuted("the matrix of the witness is next to zero, which proves nothing")
    roots, ends = kind.of(R.ravel()), [0, R.size]
    k = kind.of(program.trace) / ((roots * roots).sums(ends) + kind.of(d).sums([0, len(d)]))
    rows, columns = C.coords
    of_C = (_entries(R, d, rows, columns, kind) * C.data).sums([0, C.nnz])
    of_A = (_entries(R, d, matrix.rows, matrix.columns, kind)[A.indices] * A.data).sums(A.indptr.tolist())
    return Enclosure.around((of_C * k)[0]), Enclosure.around(kind.of(program.b) - of_A * k)


def _whole(values: NDArray[np.float64]) -> NDArray[Any]:
    made = np.empty(values.shape, dtype=object)
    made.reshape(-1)[:] = [int(value) for value in values.ravel().tolist()]
    return made


def _entries(R: Matrix, d: Vector, i: NDArray[np.intp], j: NDArray[np.intp], kind: type[Numbers]) -> Any:
    """Entries of ``W = R R' + diag(d)``, in floats wrong by ``(r / 2 + 2) EPS n_i n_j`` at most, n_i root W_ii."""
    parts = [slice(first, first + AT_ONCE) for first in range(0, len(i), AT_ONCE)]
    each = [np.einsum("ij,ij->i", R[i[part]], R[j[part]]) for part in parts]
    entries = np.concatenate([np.zeros(0, dtype=R.dtype), *each]) + np.where(i == j, d[i], 0)
    if kind is Fractions:
        return Fractions(entries)
    terms = 0.5 * R.shape[1] + 3.0
    roots = np.sqrt(np.einsum("ij,ij->i", R, R) + d) * (1.0 + terms * EPS)
    return Floats(entries, EPS * (terms + 1.0) * roots[i] * roots[j] + 4.0 * terms * SMALLEST)


def value_bound(program: MaxEigenvalueProgram, point: Vector, exactly: bool = False) -> Bound | None:
    """A proven upper bound of ``trace * lambda_max(M(point)) + b @ point``: see docs/theory_cones.md, "Certificates".

    Rump (2006), "Verification of positive definiteness", BIT Numerical Mathematics 46:433-452; Higham (2002), "Accuracy
    and Stability of Numerical Algorithms", 2nd edition, theorems 10.3, 10.5 and 10.7.
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
    """The symmetric part of ``M(y)`` over ``2 ** size``, its entries below 1, and a bound on the norm of its error."""
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
