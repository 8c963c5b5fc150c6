"""What a symmetric matrix may lack of being positive semidefinite, block by block, each in units of its own.

A block B is first brought to the unit diagonal ``B / (s s')``, by powers of two s, which round nothing: units of the
variables, however many decades they span, then decide nothing. Suppose a Cholesky factorization of ``U + d I`` runs to
its end in floats. Then all eigenvalues of U are at least ``-d - t`` with t the trace of ``U + d I`` times
``(k + 1) EPS`` and a little more (Rump 2006, "Verification of positive definiteness"). So ``B + D`` with
``D = (d + t) s**2`` is positive semidefinite, for certain.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.proof.elimination import semidefinite
from oracle_opt.proof.exact_sums import SMALLEST
from oracle_opt.proof.rationals import integers

ELIMINATED = 30  # largest order of a block that is eliminated in fractions
INDEFINITE = 1e-9  # a negative eigenvalue of this share of the largest is none of rounding

Units = NDArray[np.intp]


def blocks(P: sparse.csr_array) -> list[NDArray[np.intp]]:
    """Variables that entries of P join, those without entries left out."""
    count, block = sparse.csgraph.connected_components(P, directed=False)
    order = np.argsort(block, kind="stable")
    used = np.diff(P.indptr) > 0
    return [one for one in np.split(order, np.cumsum(np.bincount(block, minlength=count))[:-1]) if used[one[0]]]


def in_own_units(P: sparse.csr_array, members: NDArray[np.intp]) -> tuple[Matrix, Units]:
    """The block of these variables with a diagonal from 1/2 to 2, and the exponents e of its units ``s = 2**e``.

    A variable whose entry on the diagonal is not positive has the largest unit of the block.
    """
    B: Matrix = P[np.ix_(members, members)].toarray()
    diagonal = B.diagonal()
    size = np.where(diagonal > 0, diagonal, max(float(diagonal.max()), float(np.abs(B).max() * (diagonal <= 0).all())))
    exponents: Units = np.rint(0.5 * np.log2(size)).astype(np.intp)
    return np.ldexp(B, -(exponents[:, None] + exponents)), exponents


def lack(P: sparse.csr_array) -> Vector:
    """The diagonal D >= 0 with which P is known to be positive semidefinite; 0 in blocks where P itself is."""
    shift = np.zeros(P.shape[0])
    several = []
    for members in blocks(P):
        if len(members) > 1:
            several.append(members)
        elif not (entry := float(P[members[0], members[0]])) > 0:
            raise InvalidArgument(
                f"`P` must be positive semidefinite, else nothing is convex, got {entry:.6g} on the diagonal, at index "
                f"{members[0]}"
            )
    for members in several:
        U, units = in_own_units(P, members)
        if np.isfinite(U).all() and lacking(U, most=0.0) == 0.0:
            continue
        least, largest = _extreme_eigenvalues(U)
        if not least >= -INDEFINITE * largest:
            raise InvalidArgument(
                f"`P` must be positive semidefinite, else nothing is convex, got an eigenvalue {least:.6g} of the "
                f"block of the variables {_some(members)}, in units in which its diagonal is between 1/2 and 2"
            )
        if not (
            len(members) <= ELIMINATED and semidefinite(integers(P[np.ix_(members, members)].toarray())[0].tolist())
        ):
            shift[members] = in_units_of_form(lacking(U), units)
    return shift


def in_units_of_form(d: float, units: Units) -> Vector:
    """``d s**2``, rounded up where it is next to no number."""
    if d == 0.0:
        return np.zeros(len(units))
    shift: Vector = np.nextafter(np.ldexp(d, 2 * units), np.inf)
    return shift


def _extreme_eigenvalues(U: Matrix) -> tuple[float, float]:
    """The smallest and the largest; of a matrix that is not finite its 2 by 2 blocks are not semidefinite."""
    if not np.isfinite(U).all():
        return -np.inf, np.inf
    values = np.linalg.eigvalsh(U)
    return float(values[0]), float(values[-1])


def _some(members: NDArray[np.intp]) -> str:
    shown = ", ".join(map(str, members[:3]))
    return shown if len(members) <= 3 else f"{shown} and {len(members) - 3} more"


def lacking(U: Matrix, error: float = 0.0, most: float = np.inf) -> float:
    """A number d >= 0 with which ``U + d I`` is positive semidefinite, also where U is wrong by a norm of `error`."""
    k, size = len(U), float(np.abs(U.diagonal()).sum())
    rounding = 1.01 * (k + 4) * EPS * size + error + SMALLEST
    if k == 1:
        return max(0.0, error - float(U[0, 0]))
    d = -2.0 * rounding
    while d <= most:
        raised = U + d * np.eye(k)
        wrong = 1.01 * ((k + 4) * EPS * float(np.abs(raised.diagonal()).sum()) + EPS * abs(d)) + error
        try:
            np.linalg.cholesky(raised)
            if d + wrong <= 0:
                return 0.0
            if d > 0:
                return 1.01 * (d + wrong)
        except np.linalg.LinAlgError:
            pass
        d = 2.0 * rounding if d < 0 else 2.0 * d
    return np.inf
