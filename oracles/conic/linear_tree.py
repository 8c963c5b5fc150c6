"""Branch and bound by any solver as a theorem: leaves that cover all points, and a bound of each by its multipliers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector
from oracle_opt.domains import Box
from oracle_opt.errors import InvalidArgument, InvalidCertificate
from oracle_opt.oracles.conic.given_multipliers import mended_ends
from oracle_opt.oracles.conic.lagrangian import Lagrangian
from oracle_opt.words import one_line

if TYPE_CHECKING:
    from oracle_opt.oracles.conic.linear_model import LinearModel

Ends = tuple[Vector, Vector]
Leaf = tuple[Any, Any, Any]  # lower and upper bounds of columns, and multipliers
CELLS = 50  # parts of the box that are looked at, for each leaf


@dataclass(frozen=True, eq=False)
class TreeBound:
    """The bound that a tree proves of a program in whole numbers, in the sense that the program has.

    Attributes
    ----------
    bound : float
        No feasible point has a better value; infinite if no point is feasible.
    leaves : ndarray
        The bound of each leaf, infinite where its multipliers prove that it has no feasible point.
    weakest : int
        The leaf that decides.
    """

    __repr__ = one_line

    bound: float
    leaves: Vector
    weakest: int

    def __str__(self) -> str:
        without = int(np.isinf(self.leaves).sum())
        return (
            f"proven: no point has a value better than {self.bound!r}; the {len(self.leaves)} leaves cover all points, "
            f"{without} have none that is feasible, and leaf {self.weakest} is the weakest"
        )


def proven_tree(oracle: LinearModel, leaves: Iterable[Leaf]) -> TreeBound:
    """The bound of leaves, whose boxes are to cover all whole points, as `LinearModel.notarize_tree` says."""
    whole, root = oracle.program.whole, oracle.domain.bounding_box()
    program, flat = oracle._proof.lagrangian, Lagrangian(oracle.flat())
    given = list(leaves)
    boxes, found = [], np.full(len(given), -np.inf)
    for k, (lower, upper, multipliers) in enumerate(given):
        ends = oracle.ends(lower, upper)
        boxes.append(_rounded(np.maximum(ends[0], root[0]), np.minimum(ends[1], root[1]), whole))
        if (boxes[k][0] > boxes[k][1]).any():
            found[k] = np.inf
            continue
        ways = oracle.both_ways(multipliers)
        if any(_about(flat, boxes[k], y) > 0.0 and _least(flat, boxes[k], y) > 0.0 for y in ways):
            found[k] = np.inf
            continue
        about = [_about(program, boxes[k], y) for y in ways]
        likely = [y for y, one in zip(ways, about, strict=True) if one == max(about)]
        found[k] = max(_least(program, boxes[k], y) for y in likely)
    gap = _left_out(_rounded(*root, whole), np.array([b[0] for b in boxes]), np.array([b[1] for b in boxes]), whole)
    if gap is not None:
        names = [
            f"{name} from {a:g} to {b:g}"
            for name, a, b, c, d in zip(oracle.columns, *gap, *root, strict=True)
            if (a, b) != (c, d)
        ]
        raise InvalidCertificate(f"the leaves leave out points: those with {', '.join(names[:10]) or 'any values'}")
    weakest = int(found.argmin())
    sign = -1.0 if oracle.maximizes else 1.0
    return TreeBound(sign * float(found[weakest]), sign * found, weakest)


def _rounded(lower: Vector, upper: Vector, whole: NDArray[np.bool_]) -> Ends:
    """Bounds of whole columns as whole numbers."""
    return np.where(whole, np.ceil(lower), lower), np.where(whole, np.floor(upper), upper)


def _about(lagrangian: Lagrangian, box: Ends, y: Vector) -> float:
    """The least value of the Lagrangian over a box, without a look at rounding."""
    r, problem = lagrangian.problem.c + y @ lagrangian.A, lagrangian.problem
    with np.errstate(invalid="ignore"):
        least = np.where(r == 0.0, 0.0, r * np.where(r > 0.0, *box)).sum()
    return float(least) - float(problem.b @ y) + problem.offset


def _least(lagrangian: Lagrangian, box: Ends, y: Vector) -> float:
    """A lower bound of the Lagrangian over a box, with multipliers mended where a column has no end."""
    zero, domain = np.zeros(len(box[0])), Box(*box)
    for mend in (False, True):
        y = mended_ends(lagrangian, domain, zero, y) if mend else y
        value, slope = lagrangian.at_ends(domain, zero, y)
        with np.errstate(invalid="ignore"):
            ways = [np.where(r == 0.0, 0.0, r * end) for r in (slope.lower, slope.upper) for end in box]
        terms = np.min(ways, axis=0)
        if np.isfinite(terms).all():
            total = fsum([float(value.lower), *terms.tolist()])
            return total - 2.0 * EPS * (float(np.abs(terms).sum()) * (1 + len(zero) * EPS) + abs(total))
    return -np.inf


def _left_out(root: Ends, lower: NDArray[Any], upper: NDArray[Any], whole: NDArray[np.bool_]) -> Ends | None:
    """A part of the root that no leaf covers, or none: the root is cut at bounds of leaves until each part is in one.

    Points of a whole column are whole numbers, so that nothing lies between 3 and 4.
    """
    waiting = [(root, np.flatnonzero((lower <= upper).all(axis=1)))]
    for _ in range(CELLS * (len(lower) + 20)):
        if not waiting:
            return None
        (low, high), some = waiting.pop()
        room = ~whole & (low < high)  # there a box that only touches the part does not matter
        common = np.minimum(upper[some], high) - np.maximum(lower[some], low)
        some = some[((common > 0.0) | ((common == 0.0) & ~room)).all(axis=1)]
        if not len(some):
            return low, high
        under, over = np.maximum(lower[some], low), np.minimum(upper[some], high)
        if ((under == low) & (over == high)).all(axis=1).any():
            continue
        j, at = _cut(under, over, low, high, whole)
        left, right = high.copy(), low.copy()
        left[j], right[j] = at - 1.0 if whole[j] else at, at
        waiting += [((low, left), some), ((right, high), some)]
    raise InvalidArgument("`leaves` are no tree, and overlap so much that their cover cannot be checked")


def _cut(
    under: NDArray[Any], over: NDArray[Any], low: Vector, high: Vector, whole: NDArray[np.bool_]
) -> tuple[int, float]:
    """The column, and where its right part begins, that cuts the fewest boxes, and of these the most even cut."""
    best, where = (len(under) + 1, 0), (0, 0.0)
    for j in np.flatnonzero((under > low).any(axis=0) | (over < high).any(axis=0)).tolist():
        ends = np.unique(np.r_[under[:, j], over[:, j] + whole[j]])
        ends = ends[(ends > low[j]) & (ends < high[j] + whole[j])]
        starts, stops = np.sort(under[:, j]), np.sort(over[:, j] + whole[j])
        before, after = np.searchsorted(starts, ends), len(under) - np.searchsorted(stops, ends, side="right")
        for cut, a, b in zip(ends.tolist(), before.tolist(), after.tolist(), strict=True):
            best, where = min((best, where), ((a + b - len(under), -min(a, b)), (j, cut)))
    return where
