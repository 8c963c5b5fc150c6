"""What a positive semidefinite matrix proves of a largest eigenvalue, counted anew from the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import fsum, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.eigenpairs import AffineMatrix
from oracle_opt.arrays import EPS, Matrix, Vector, real_array
from oracle_opt.certificates.exact_sums import SMALLEST, exact, slope_excess
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.proof.claim import ClaimKind, CutClaim

AT_ONCE = 1 << 16  # entries of W computed at a time
BITS = 200  # in fractions the witness is rounded to multiples of 2**-200, which makes it another one
WITNESS = ("eigenvector", "factor", "diagonal")


@dataclass(frozen=True, eq=False)
class MaxEigenvalueProgram:
    """The data of ``f(y) = trace * lambda_max(C - sum_i y_i A_i) + b @ y``; of C and A_i the symmetric part counts.

    Parameters
    ----------
    matrix : AffineMatrix
        C and the A_i.
    trace : float
        Positive.
    b : ndarray of shape (m,)
        The linear term.
    domain : Domain
        Of y.
    """

    matrix: AffineMatrix
    trace: float
    b: Vector
    domain: Domain


def cut_excess(program: MaxEigenvalueProgram, claim: CutClaim, exactly: bool = False) -> float | Fraction | None:
    """By how much an affine function claims more of f than a positive semidefinite matrix W proves.

    For every positive semidefinite W, not zero, ``lambda_max(M) >= <M, W> / tr W``, whatever the matrix M. So at all y

    ::

        f(y) >= k <C, W> + sum_i (b_i - k <A_i, W>) y_i,    k = trace / tr W.

    The witness is a W that nobody can doubt to be positive semidefinite: ``W = v v' + R R' + diag(d)`` with v, R and
    ``d >= 0`` any numbers. Its `eigenvector` is v, of shape (N,), `factor` is R, of shape (N, r), and `diagonal` is d,
    of shape (N,); one of them is enough. Constant and slope above are computed again from C, A, b and trace. What is
    claimed beyond the constant, and the slope claimed less the slope proven at its largest over the promised set, make
    the excess.

    In floats, an entry of W is a sum of r + 2 products, and wrong by at most ``(r / 2 + 2) EPS n_i n_j``, n_i the root
    of W_ii, by Cauchy and Schwarz. The sums over the entries of a matrix are rounded once, by `math.fsum`.

    Parameters
    ----------
    program : MaxEigenvalueProgram
        The data.
    claim : CutClaim
        The affine function and its witness.
    exactly : bool
        Whether to count in fractions.

    Returns
    -------
    float, Fraction or None
        At least 0. None if there is no witness, the numbers are too large for floats, or the domain has no end in a
        direction in which the slope is right but for rounding.

    Raises
    ------
    Refuted
        The claim is no minorant, or the witness has another shape, is zero or not finite.
    """
    if claim.kind not in (ClaimKind.MINORANT, ClaimKind.BOUND):
        raise Refuted(
            f"a largest eigenvalue has neither half-spaces nor summands, and the claim is a {claim.kind.value}"
        )
    m, slope, constant = len(program.b), numbers("slope", claim.slope), numbers("constant", claim.constant)
    if slope.shape != (m,) or constant.shape or not (np.isfinite(slope).all() and np.isfinite(constant)):
        raise Refuted(f"constant and slope of a cut must be finite, the slope of shape ({m},)")
    claim = replace(claim, constant=float(constant), slope=slope)
    witness = _witness(program.matrix.order, claim)
    if witness is None:
        return None
    if not exactly:
        with np.errstate(all="ignore"):
            proven = _in_floats(program, claim, *witness)
        if proven is None or proven < np.inf:
            return proven
    return _in_fractions(program, claim, *witness)  # also where the domain has no end and slopes must agree


def numbers(name: str, given: Any) -> Vector:
    """Return an array of floats of what stands in a file under a name; refute what is none."""
    try:
        return real_array(given)
    except (TypeError, ValueError, OverflowError) as problem:
        raise Refuted(f"`{name}` is not made of numbers: {problem}") from problem


def _witness(order: int, claim: CutClaim) -> tuple[Matrix, Vector] | None:
    """Columns R, ``W = R R' + diag(d)``, and d, with numbers of at most one."""
    given = {name: claim.witness[name] for name in WITNESS if name in claim.witness}
    if not given:
        return None
    arrays = {name: numbers(name, value) for name, value in given.items()}
    for name, array in arrays.items():
        if array.ndim != (2 if name == "factor" else 1) or len(array) != order or not np.isfinite(array).all():
            raise Refuted(f"`{name}` of the witness must be finite and have {order} rows, got shape {array.shape}")
    d = arrays.get("diagonal", np.zeros(order))
    if (d < 0).any():
        raise Refuted("`diagonal` of the witness must not be negative")
    R = np.column_stack([arrays.get("factor", np.zeros((order, 0))), arrays.get("eigenvector", np.zeros((order, 0)))])
    largest = max(float(np.abs(R).max(initial=0.0)), float(np.sqrt(d.max())))
    if not largest > 0:
        raise Refuted("the matrix of the witness is zero, which proves nothing")
    size = int(np.frexp(largest)[1])
    return np.ldexp(R, -size), np.ldexp(d, -2 * size)


def _in_floats(program: MaxEigenvalueProgram, claim: CutClaim, R: Matrix, d: Vector) -> float | None:
    """The excess with a bound on all rounding."""
    matrix, b = program.matrix, program.b
    terms = 0.5 * R.shape[1] + 3.0
    roots = np.sqrt(np.einsum("ij,ij->i", R, R) + d) * (1.0 + terms * EPS)
    k = program.trace / fsum([*(R * R).ravel().tolist(), *d.tolist()])  # of positive numbers: 4 EPS are enough

    def forms(data: Vector, ends: Sequence[int], i: NDArray[np.intp], j: NDArray[np.intp]) -> tuple[Vector, Vector]:
        """Sums of the products with W between the ends, and bounds on their errors."""
        entries = np.concatenate([np.zeros(0), *(_entries(R, d, i[part], j[part]) for part in _parts(len(i)))])
        wrong = np.abs(data) * (EPS * (terms + 1.0) * roots[i] * roots[j] + 4.0 * terms * SMALLEST) + SMALLEST
        products, errors = (data * entries).tolist(), wrong.tolist()
        spans = list(pairwise(ends))
        sums = np.array([fsum(products[first:last]) for first, last in spans])
        return sums, np.array([fsum(errors[first:last]) for first, last in spans]) + EPS * np.abs(sums)

    try:
        C, A = matrix.C.tocoo(), matrix.entries
        (of_C,), (wrong_C,) = forms(C.data, [0, C.nnz], *C.coords)
        of_A, wrong_A = forms(A.data, A.indptr.tolist(), matrix.rows[A.indices], matrix.columns[A.indices])
    except (OverflowError, ValueError):  # of `fsum`: infinite sums, infinite terms
        return None
    constant, slope = k * of_C, b - k * of_A
    error = 1.01 * (k * wrong_C + 6.0 * EPS * abs(constant)) + SMALLEST
    errors = 1.01 * (k * wrong_A + 6.0 * EPS * np.abs(k * of_A) + EPS * np.abs(slope)) + SMALLEST
    if not (np.isfinite(slope).all() and np.isfinite(errors).all() and isfinite(constant) and isfinite(error)):
        return None
    more = claim.constant - constant
    # in units of the largest slope: norms of smaller or larger ones may under- or overflow
    size = int(np.frexp(max(float(np.abs(claim.slope).max()), float(np.abs(slope).max())))[1])
    claimed, known, unsure = (np.ldexp(one, -size) for one in (claim.slope, slope, errors))
    steeper = float(np.ldexp(slope_excess(program.domain, claimed, known, unsure + SMALLEST), size))
    excess = more + steeper + error + 2.0 * EPS * (abs(claim.constant) + abs(constant) + abs(steeper))
    return max(0.0, excess) if excess == excess else None


def _entries(R: Matrix, d: Vector, i: NDArray[np.intp], j: NDArray[np.intp]) -> Vector:
    """Entries of ``R R' + diag(d)``."""
    entries: Vector = np.einsum("ij,ij->i", R[i], R[j]) + np.where(i == j, d[i], 0.0)
    return entries


def _parts(count: int) -> Iterator[slice]:
    return (slice(first, first + AT_ONCE) for first in range(0, count, AT_ONCE))


def _in_fractions(program: MaxEigenvalueProgram, claim: CutClaim, R: Matrix, d: Vector) -> Fraction | float | None:
    """The excess without any rounding, over the box around the promised set."""
    matrix = program.matrix
    half = BITS // 2
    rows = [[int(np.ldexp(entry, half)) for entry in row] for row in R.tolist()]
    more = [int(np.ldexp(entry, BITS)) for entry in d.tolist()]
    total = sum(entry * entry for row in rows for entry in row) + sum(more)
    known: dict[tuple[int, int], int] = {}

    def form(data: Vector, i: NDArray[np.intp], j: NDArray[np.intp]) -> Fraction:
        result = Fraction(0)
        for entry, *place in zip(data.tolist(), i.tolist(), j.tolist(), strict=True):
            p, q = min(place), max(place)
            if (p, q) not in known:
                known[p, q] = sum(map(int.__mul__, rows[p], rows[q])) + (more[p] if p == q else 0)
            result += exact(entry) * known[p, q]
        return result

    if not total:
        raise Refuted("the matrix of the witness is next to zero, which proves nothing")
    k, C, A = exact(program.trace) / total, matrix.C.tocoo(), matrix.entries
    excess = exact(claim.constant) - k * form(C.data, *C.coords)
    lower, upper = (side.tolist() for side in program.domain.bounding_box())
    for n, b in enumerate(program.b.tolist()):
        column = slice(A.indptr[n], A.indptr[n + 1])
        places = A.indices[column]
        proven = exact(b) - k * form(A.data[column], matrix.rows[places], matrix.columns[places])
        steeper = exact(claim.slope[n]) - proven
        if not steeper:
            continue
        end = np.nextafter(upper[n], np.inf) if steeper > 0 else np.nextafter(lower[n], -np.inf)
        if not isfinite(end):
            size = abs(b) + abs(float(proven)) + abs(float(claim.slope[n]))
            return None if abs(float(steeper)) <= 1e-9 * size else np.inf
        excess += steeper * exact(end)
    return max(Fraction(0), excess)
