"""What a vector y of the dual cone proves: the half-space ``(A.T @ y) @ z <= b @ y``.

At a feasible z the vector ``b - A @ z`` is in the cone K, so ``y @ (b - A @ z) >= 0`` for every y of the dual cone. The
witness of a half-space is y, in the rows of one cone.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.certificates.affine_excess import affine_excess, numbers, place
from oracle_opt.certificates.enclosed_products import transposed_times
from oracle_opt.certificates.enclosure import Enclosure
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, PositiveSemidefinite, Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.dual_cone_proof import in_dual_cone
from oracle_opt.oracles.conic.dual_vector import FIRST, VECTOR
from oracle_opt.oracles.conic.row_matrix import consecutive
from oracle_opt.proof.claim import ClaimKind, CutClaim


def half_space_excess(problem: ConicProblem, domain: Domain, claim: CutClaim, exact: bool) -> float | Fraction | None:
    """By how much a half-space claims more than the vector y of its witness proves.

    Parameters
    ----------
    problem : ConicProblem
        A, b and the cones.
    domain : Domain
        Where z lies.
    claim : CutClaim
        The half-space, with y as its witness.
    exact : bool
        Whether to count in fractions.

    Returns
    -------
    float, Fraction or None
        `None` without a witness, and for cones of a user's own.

    Raises
    ------
    Refuted
        The witness is no such vector.
    """
    if FIRST not in claim.witness or VECTOR not in claim.witness:
        return None
    y = dual_vector(problem, claim.witness, exact)
    if y is None:
        return None
    rows, dual = y
    block, side = consecutive(problem.A, rows), Enclosure.of(problem.b[rows], exact)
    return affine_excess(domain, claim, -(side * dual).sum(), transposed_times(block, dual))


def dual_vector(problem: ConicProblem, witness: Mapping[str, Any], exact: bool) -> tuple[slice, Enclosure] | None:
    """The rows of a witness, and a vector of the dual cone in these; `None` for a cone that is not known here."""
    first = place("first row of the dual vector", witness[FIRST], len(problem.b))
    given = np.asarray(witness[VECTOR])
    cone, start = _cone_of(problem, first)
    if isinstance(cone, PositiveSemidefinite):
        if first != start or given.ndim != 2:
            raise Refuted("the dual vectors of a semidefinite cone are no matrix, or do not begin in its first row")
        rows = slice(start, start + cone.dimension)
    else:
        rows = slice(first, first + given.size)
        linear = isinstance(cone, Zero | Nonnegative)
        if given.ndim != 1 or not given.size or rows.stop > start + cone.dimension or not (linear or first == start):
            raise Refuted("the dual vector does not fit the rows of one cone")
    dual = in_dual_cone(cone, Enclosure.of(numbers("dual vector", given, *given.shape), exact))
    return None if dual is None else (rows, dual)


def _cone_of(problem: ConicProblem, row: int) -> tuple[Cone, int]:
    """The cone in which a row is, and its first row."""
    start = 0
    for cone in problem.cones:
        if row < start + cone.dimension:
            return cone, start
        start += cone.dimension
    raise Refuted(f"there is no row {row}")


def infeasibility_margin(problem: ConicProblem, domain: Domain, dual: Vector, exact: bool) -> float | Fraction | None:
    """By how much every point of a domain violates the half-space of a vector y: ``min (A.T @ y) @ z - b @ y`` over it.

    Parameters
    ----------
    problem : ConicProblem
        A, b and the cones.
    domain : Domain
        Where z lies.
    dual : ndarray of shape (m,)
        About y, which is put into the dual cone, cone by cone.
    exact : bool
        Whether to count in fractions.

    Returns
    -------
    float, Fraction or None
        If it is positive, no point of the domain is feasible; `None` for cones of a user's own.

    Raises
    ------
    Refuted
        No vector near to y is in the dual cone, or it proves nothing.
    """
    y, start = numbers("dual vector", dual, len(problem.b)), 0
    value, slope = Enclosure.of(np.zeros(()), exact), Enclosure.of(np.zeros(domain.dimension), exact)
    for cone in problem.cones:
        rows = slice(start, start + cone.dimension)
        start += cone.dimension
        if not y[rows].any():
            continue
        short = cone.witness(y[rows])
        part = in_dual_cone(cone, Enclosure.of(y[rows] if short is None else short, exact))
        if part is None:
            return None
        value = value - (Enclosure.of(problem.b[rows], exact) * part).sum()
        slope = slope + transposed_times(consecutive(problem.A, rows), part)
    # a half-space that claims the constant at the origin, and what it claims too much
    constant = max(0.0, float(value.upper))
    excess = affine_excess(domain, CutClaim(ClaimKind.HALF_SPACE, constant, np.zeros(domain.dimension)), value, slope)
    margin = Fraction(constant) - Fraction(excess) if np.isfinite(float(excess)) else Fraction(-1)
    if margin <= 0:
        raise Refuted("the vector does not prove that no point of the domain is feasible")
    return margin if exact else float(np.nextafter(float(margin), 0.0))
