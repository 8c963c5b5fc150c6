"""What a positive semidefinite matrix proves of a largest eigenvalue, counted anew from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.eigenpairs import AffineMatrix
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.proof.affine_excess import affine_excess
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.exact_sums import SMALLEST
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.rationals import Fractions
from oracle_opt.proof.witness_numbers import numbers

AT_ONCE = 1 << 16  # entries of W computed at a time
BITS = 200  # in fractions the witness is rounded to multiples of 2**-200, which makes it another one
NEAR = 1e-9  # slopes that differ by less, relative to their terms, are right but for rounding
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


def cut_excess(program: MaxEigenvalueProgram, claim: CutClaim, exactly: bool = False) -> Bound | None:
    """By how much an affine function claims more of f than a positive semidefinite matrix W proves.

    For every such W other than 0, ``lambda_max(M) >= <M, W> / tr W``, so that

        f(y) >= k <C, W> + sum_i (b_i - k <A_i, W>) y_i,    k = trace / tr W.

    The witness is a W that nobody can doubt to be positive semidefinite: ``W = v v' + R R' + diag(d)`` with v, R and
    ``d >= 0`` any numbers. Its `eigenvector` is v, of shape (N,), `factor` is R, of shape (N, r), and `diagonal` is d,
    of shape (N,); one of them is enough. Constant and slope above are computed again from C, A, b and trace, in floats
    with all rounding or in fractions. What is claimed beyond the constant, and the slope claimed less the slope proven
    at its largest over the promised set, make the excess.

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
    """Entries of ``W = R R' + diag(d)``.

    In floats an entry is a sum of r + 2 products, and wrong by at most ``(r / 2 + 2) EPS n_i n_j``, n_i the root of
    W_ii, by Cauchy and Schwarz.
    """
    parts = [slice(first, first + AT_ONCE) for first in range(0, len(i), AT_ONCE)]
    each = [np.einsum("ij,ij->i", R[i[part]], R[j[part]]) for part in parts]
    entries = np.concatenate([np.zeros(0, dtype=R.dtype), *each]) + np.where(i == j, d[i], 0)
    if kind is Fractions:
        return Fractions(entries)
    terms = 0.5 * R.shape[1] + 3.0
    roots = np.sqrt(np.einsum("ij,ij->i", R, R) + d) * (1.0 + terms * EPS)
    return Floats(entries, EPS * (terms + 1.0) * roots[i] * roots[j] + 4.0 * terms * SMALLEST)
