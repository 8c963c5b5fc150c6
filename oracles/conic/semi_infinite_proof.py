"""What proves half-spaces of a semi-infinite program: the rows that its separation returns where it is asked again.

The rows of the set are not written down. That each of those returned holds at every feasible point is what the user
states by the function `separate`, so this function is the data: it is asked at the point of the witness, and a
half-space is judged by the row, times a positive number, that is nearest to it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.oracles.conic.linear_rows import size_of
from oracle_opt.proof.affine_excess import affine_excess
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import numbers

TRIED = 3  # rows that are compared with a half-space: those whose directions are nearest
ROUNDING = 16 * EPS

Asked = Callable[[Vector], tuple[Matrix, Vector]]


@np.errstate(all="ignore")
def row_excess(separate: Asked, c: Vector | None, domain: Domain, claim: CutClaim, exact: bool) -> Bound | None:
    """By how much a claim exceeds what the rows, or the linear objective, prove.

    Parameters
    ----------
    separate : callable
        Maps a point to rows and right-hand sides.
    c : ndarray of shape (n,) or None
        The objective, if it is linear.
    domain : Domain
        Where x lies.
    claim : CutClaim
        The half-space, or the cut of the objective.
    exact : bool
        Whether to count in fractions.

    Returns
    -------
    float, Fraction or None
        `None` without the point, and for cuts of an objective that is a function.

    Raises
    ------
    Refuted
        The function returns no row like it.
    """
    if claim.kind is ClaimKind.MINORANT:
        if c is None:
            return None
        return affine_excess(domain, claim, Enclosure.of(np.zeros(()), exact), Enclosure.of(c, exact))
    if claim.kind is not ClaimKind.HALF_SPACE:
        raise Refuted(f"a semi-infinite program answers with no {claim.kind.value}")
    if "point" not in claim.witness:
        return None
    slope = numbers("slope of the claim", claim.slope, domain.dimension)
    rows, sides = separate(numbers("point of the cut", claim.witness["point"], domain.dimension))
    sizes = np.einsum("ij,ij->i", rows, rows)
    shares = np.divide(rows @ slope, sizes, out=np.zeros(len(rows)), where=sizes > 0)  # of each row, the best multiple
    nearest = np.argsort(((slope - shares[:, None] * rows) ** 2).sum(axis=1), kind="stable")
    found = []
    for i in [int(i) for i in nearest if 0 < shares[i] < np.inf][:TRIED]:
        share = Enclosure.of(shares[i], exact)
        found.append(affine_excess(domain, claim, -share * sides[i], share * Enclosure.of(rows[i], exact)))
    if not found:
        raise Refuted("the separation returns no row of this direction at the point of the witness")
    return min(found)


def row_value(
    separate: Asked, c: Vector | None, tolerance: float, extent: float, claim: ValueClaim, exact: bool
) -> Bound | None:
    """A linear objective at a point that violates no row that the separation finds there by more than is tolerated.

    Parameters
    ----------
    separate, c, exact
        As above.
    tolerance : float
        In units of x, relative to its size (`size_of`).
    extent : float
        No point of the domain has a larger norm.
    claim : ValueClaim
        The point.

    Raises
    ------
    Refuted
        A row is violated.
    """
    if c is None:
        return None
    x = numbers("best point", claim.point, len(c))
    rows, sides = separate(x)
    norm, sizes = sqrt(x @ x), np.sqrt(np.einsum("ij,ij->i", rows, rows))
    missed = rows @ x - sides
    allowed = 1.001 * tolerance * sizes * size_of(norm, extent)
    allowed = np.maximum(
        allowed, ROUNDING * np.where(sizes > 0, sizes * norm + np.abs(sides), np.abs(sides).max(initial=0.0))
    )
    if not (missed <= allowed).all():
        raise Refuted(f"the point misses a row that the separation returns there by {float(missed.max()):.6g}")
    upper: Bound = (Enclosure.of(x, exact) * c).sum().upper.item()
    return upper
