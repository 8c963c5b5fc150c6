"""Cuts so steep that their rounding drowns the others: mixed with the best cut, which keeps them valid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain, ObjectiveCut
from oracle_opt.arrays import EPS
from oracle_opt.bounds import cut_rounding
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.proof.claim import claim_of_cut
from oracle_opt.proof.parts import Combination

STEEP = 1e6  # so many times the slope of the best cut is too steep


def flatten(rows: Rows, best: ObjectiveCut, upper: float, domain: Domain, first: int = 0) -> NDArray[np.bool_] | None:
    """Replace rows that are too steep by convex combinations of them and the best cut.

    A function that grows like an exponential has values of 1e50 where a method asks once and never again. As rows of a
    linear program or a barrier such cuts leave nothing of the others, whose values are told apart by the gap. With c
    the cut and b that of the best point, both below f,

        ``f >= t c + (1 - t) b``,   t = `STEEP` slope(b) / slope(c),

    is as good where it matters: it equals b where c does, and excludes what c excludes but for a strip of a millionth
    of the way from the best point. What is left in the proven bound is a millionth of the gap of the model.

    Parameters
    ----------
    rows : Rows
        The objective cuts.
    best : ObjectiveCut
        The cut at the best point.
    upper : float
        Best value with its error.
    domain : Domain
        Where the cuts hold.
    first : int
        Number of rows that are left as they are.

    Returns
    -------
    ndarray of bool, or None
        Mask of the rows that stay, of those before the call; the combinations stand behind them. `None` if no row was
        too steep.
    """
    limit = STEEP * float(np.abs(best.subgradient).max())
    steep = rows.steepness > limit
    steep[:first] = False
    if not (limit > 0 and steep.any()):
        return None
    slope, constant = best.subgradient, best.constant
    error, size = cut_rounding(best.point, best.value, slope)
    size += domain.extent(slope)
    flat = Combination([(1.0, claim_of_cut(best, error))])
    found = []
    for i in np.flatnonzero(steep):
        t = limit / float(rows.steepness[i])
        mixed = t * rows.row(i) + (1.0 - t) * slope
        sizes = t * float(rows.size[i]) + size
        errors = t * float(rows.error[i]) + error + 4.0 * EPS * sizes
        height = t * float(rows.constant[i]) + (1.0 - t) * constant
        origin = Combination.of([(t, rows.claimed(int(rows.number[i]))), (1.0 - t, flat)])
        found.append((mixed, height, sizes, errors, t * float(rows.tolerance[i]), origin))
    kept = ~steep
    rows.keep(kept)
    for mixed, height, sizes, errors, tolerance, origin in found:
        rows.add(mixed, height, upper, sizes, errors, tolerance=tolerance, origin=origin)
    return kept
