"""Few variables of many: cuts on a face of the domain, and what the variables outside promise."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain, ObjectiveCut
from oracle_opt.arrays import Vector

Coordinates = NDArray[np.intp]


def face_refusal(domain: Domain) -> str | None:
    """Say why few variables of this domain are no problem of their own whose others can be priced, if so."""
    constraints = domain.linear_constraints()
    knows = domain.simplices() is not None or (
        constraints is not None and constraints.inequality_rhs is None and not len(constraints.equality_rhs)
    )
    faces = knows and domain.face(np.arange(domain.dimension)) is not None
    return None if faces else "it needs a domain with faces: simplices or nonnegative variables"


def on_face(cut: ObjectiveCut, coordinates: Coordinates) -> ObjectiveCut:
    """Return a cut of the function where all others are 0, as at the cut's point; the cut itself if there are none."""
    answers = (one.on_face(coordinates) for one in cut.answers)
    return ObjectiveCut(
        cut.point[coordinates],
        cut.value,
        cut.subgradient[coordinates],
        cut.error,
        cut.lower_bound,
        tuple(on_face(one, coordinates) for one in cut.summands),
        tuple(on_face(one, coordinates) for one in cut.further),
        tuple(one for one in answers if one is not None),
        cut.extras if coordinates.size == cut.point.size else {},
    )


def without_extras(cut: ObjectiveCut) -> ObjectiveCut:
    """Return the cut, those of its summands and further ones, without what proves them."""
    summands, further = (tuple(without_extras(one) for one in several) for several in (cut.summands, cut.further))
    return replace(cut, summands=summands, further=further, extras={})


def numbers_in_extras(cut: ObjectiveCut) -> int:
    """How many numbers the extras hold, with the extras of the summands' cuts and of further cuts."""
    own = sum(int(np.size(value)) for value in cut.extras.values())
    return own + sum(numbers_in_extras(one) for one in (*cut.summands, *cut.further))


def spread(domain: Domain, count: int) -> Coordinates:
    """So many coordinates in increasing order, evenly spread, and at least one of each simplex of the domain."""
    n = domain.dimension
    if count >= n:
        return np.arange(n)
    found = np.unique(np.linspace(0, n - 1, count).round().astype(np.intp))
    blocks = domain.simplices()
    if blocks is not None:
        first = np.searchsorted(found, np.append(blocks.starts, n))
        found = np.union1d(found, blocks.starts[first[1:] == first[:-1]])
    return found


def gains(domain: Domain, slope: Vector, active: Coordinates) -> Vector:
    """By how much a linear function falls from all on the best active variable of a simplex, or 0, to all on one."""
    blocks = domain.simplices()
    if blocks is None:
        upper = domain.bounding_box()[1]
        return -slope * np.where(np.isfinite(upper), upper, 1.0)
    slopes = blocks.slopes(slope)
    least: float | Vector = float(slopes[active].min())
    if len(blocks.sizes) > 1:
        of_active = np.full(slopes.size, np.inf)
        of_active[active] = slopes[active]
        least = np.repeat(np.minimum.reduceat(of_active, blocks.starts), blocks.sizes)
    found: Vector = np.subtract(least, slopes)
    found *= blocks.radius
    return found


def peaks(values: Vector, least: float, most: int) -> Coordinates:
    """The largest entries above `least` that exceed both neighbors, the first of equal ones; at most so many."""
    high = np.flatnonzero(values > least)
    before = np.where(high > 0, values[high - 1], -np.inf)
    after = np.where(high < values.size - 1, values[np.minimum(high + 1, values.size - 1)], -np.inf)
    high = high[(values[high] > before) & (values[high] >= after)]
    found: Coordinates = high[np.argsort(-values[high], kind="stable")[:most]]
    return found
