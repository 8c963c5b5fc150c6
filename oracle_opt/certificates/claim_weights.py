"""Weights of the claims of a certificate: as few as prove the same, and level where a domain has no end."""

from collections.abc import Sequence

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.proof.claim import ClaimKind
from oracle_opt.proof.parts import Weighted

MANY = 100  # up to so many claims all are kept
LARGE = 1 << 21  # numbers of all slopes: with more the linear program takes long
LOST = 1e-14  # share of the sizes of the terms that may be lost to rounding
NEAR = 1e-9  # slopes of no more than this share of their terms may be level
MOST = 1e-9  # by this share the weights of level claims change at most


def fewest_claims(domain: Domain, terms: Sequence[Weighted]) -> Sequence[Weighted]:
    """Choose of many claims a few whose combination is the same minorant, or a higher one.

    By a linear program, see docs/theory.md, "Fewer claims". Nothing changes where there are few, where more than
    rounding would be lost, or where the domain has no end.
    """
    k = len(terms)
    n_summands = max((claim.n_summands for _, claim in terms), default=0)
    if k <= max(MANY, 2 * (domain.dimension + 1 + n_summands)) or k * domain.dimension > LARGE:
        return terms
    if not np.isfinite(domain.bounding_box()).all():  # where slopes count without end
        return terms
    weights = np.array([weight for weight, _ in terms])
    total = weights.max()
    weights = weights / total
    slopes, constants = np.array([claim.slope for _, claim in terms]), np.array([one.constant for _, one in terms])
    if not (np.isfinite(slopes).all() and np.isfinite(constants).all()):
        return terms
    matrix = np.vstack([_sums(terms, n_summands), slopes.T])
    scale = np.abs(matrix).max(axis=1)
    matrix = matrix[scale > 0] / scale[scale > 0, None]
    found = _vertex(matrix, constants, matrix @ weights)
    if found is None:
        return terms
    left = weights @ slopes - found @ slopes
    sizes = np.abs(weights) @ (np.abs(constants) + np.array([domain.extent(slope) for slope in slopes]))
    lost = domain.extent(left) + max(0.0, float(weights @ constants - found @ constants))
    if not lost <= LOST * sizes:
        return terms
    chosen = np.flatnonzero(found).tolist()
    return [(float(total * found[i]), terms[i][1]) for i in chosen]


def _sums(terms: Sequence[Weighted], n_summands: int) -> Matrix:
    """A row that sums the weights of the whole cuts, and a row for the weights of each summand."""
    members = [claim.summand if claim.kind is ClaimKind.SUMMAND else -1 for _, claim in terms]
    whole = [claim.kind in (ClaimKind.MINORANT, ClaimKind.BOUND) for _, claim in terms]
    return np.vstack([whole, np.equal.outer(np.arange(n_summands), members)]).astype(float)


def _vertex(matrix: Matrix, constants: Vector, sides: Vector) -> Vector | None:
    """Weights of the linear program, exact up to rounding; None if it has no solution that can be told."""
    from scipy.optimize import linprog  # only here: the import takes time

    size = float(np.abs(constants).max()) or 1.0
    solved = linprog(-constants / size, A_eq=matrix, b_eq=sides, bounds=(0.0, None), method="highs-ds")
    if not solved.success:
        return None
    chosen = np.flatnonzero(solved.x > 0)
    part, weights = matrix[:, chosen], solved.x[chosen]
    for _ in range(2):  # the second time for what rounding left
        missing = sides.astype(np.longdouble) - part.astype(np.longdouble) @ weights.astype(np.longdouble)
        weights = weights + np.linalg.lstsq(part, missing.astype(float), rcond=None)[0]
    found = np.zeros(matrix.shape[1])
    found[chosen] = np.maximum(weights, 0.0)
    return found


def level_weights(domain: Domain, terms: Sequence[Weighted]) -> Sequence[Weighted]:
    """Raise weights by less than rounding where the domain has no end, so that the minorant is level there or rises.

    By a linear program, see docs/theory.md, "Level where there is no end"; variables without any bound are left alone.
    """
    lower, upper = domain.bounding_box()
    sign = np.where(np.isinf(upper), 1.0, -1.0) * (np.isinf(lower) != np.isinf(upper))
    columns = np.flatnonzero(sign)
    if not (columns.size and terms):
        return terms
    weights = np.array([weight for weight, _ in terms])
    slopes = np.array([claim.slope[columns] for _, claim in terms]) * sign[columns]
    sizes, rises = weights @ np.abs(slopes), weights @ slopes
    level = (rises <= NEAR * sizes) & (sizes > 0)
    lost = EPS * (len(terms) + 4) * sizes[level] - rises[level]  # at most so much below 0, at least by the same
    if not level.any() or (lost <= 0).all():
        return terms
    added = _direction(terms, slopes[:, level])
    gained = added @ slopes[:, level]
    if not (gained > 0).all():
        return terms
    share = 2.0 * float((lost / gained).max())
    if not share * added.max() <= MOST * weights.max():
        return terms
    return [(float(w), claim) for w, (_, claim) in zip(weights + share * added, terms, strict=True)]


def _direction(terms: Sequence[Weighted], slopes: Matrix) -> Vector:
    """The change of the weights by which all slopes rise; zeros if there is none."""
    from scipy.optimize import linprog  # only here: the import takes time

    k, n_level = slopes.shape
    largest = np.abs(slopes).max(axis=0)
    rows = np.c_[-(slopes / largest).T, np.ones(n_level)]
    n_summands = max(claim.n_summands for _, claim in terms)
    sums = _sums(terms, n_summands)[1:]
    same = np.c_[sums[1:] - sums[:1], np.zeros(max(n_summands - 1, 0))] if n_summands > 1 else None
    found = linprog(
        np.r_[np.zeros(k), -1.0],
        A_ub=rows,
        b_ub=np.zeros(n_level),
        A_eq=same,
        b_eq=None if same is None else np.zeros(len(same)),
        bounds=[(0.0, 1.0)] * k + [(0.0, 1.0)],
    )
    return np.maximum(found.x[:k], 0.0) if found.success else np.zeros(k)
