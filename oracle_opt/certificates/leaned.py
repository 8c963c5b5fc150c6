"""Weights of claims, moved by less than rounding, so that no minorant falls that is level up to rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.proof.claim import ClaimKind
from oracle_opt.proof.parts import Weighted

NEAR = 1e-9  # slopes of no more than this share of their terms may be level
MOST = 1e-9  # by this share the weights change at most


def leaned(domain: Domain, terms: Sequence[Weighted]) -> Sequence[Weighted]:
    """Change weights by less than rounding where the domain has no end, so that the minorant rises or is level there.

    Where z_j has no upper bound, a minorant of a slope below 0 in j has no minimum. At a minimizer with ``z_j > 0`` the
    best one is level, and weights are floats: their exact sum is level up to rounding, and may fall. So some d >= 0 are
    added to the weights, as small as will do: those of the linear program

    ::

        maximize t   subject to   sum_i d_i a_ij >= t |a_j|   for all such j,   0 <= d_i <= 1

    with the slopes a_i of the claims. Any weights that are not negative prove a bound, if those of the claims of each
    summand add up to the same, as they do for those d as well. A variable without any bound needs a slope of exactly 0,
    which floats do not give: it is left alone.

    Parameters
    ----------
    domain : Domain
        Where the minorant is minimized.
    terms : sequence of tuple of float and CutClaim
        Weights with claims.

    Returns
    -------
    sequence of tuple of float and CutClaim
        The same ones where nothing has to be changed, or nothing can.
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
    """What is added to the weights; zeros if there is nothing by which all slopes rise."""
    from scipy.optimize import linprog  # only here: the import takes time

    k, n_level = slopes.shape
    largest = np.abs(slopes).max(axis=0)
    rows = np.c_[-(slopes / largest).T, np.ones(n_level)]
    members = np.array([claim.summand if claim.kind is ClaimKind.SUMMAND else -1 for _, claim in terms])
    n_summands = max(claim.n_summands for _, claim in terms)
    sums = np.equal.outer(np.arange(n_summands), members).astype(float)
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
