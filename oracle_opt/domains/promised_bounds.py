"""Bounds of which some are no constraints, but the statement that some minimizer lies within."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Vector
from oracle_opt.domains._domain_arguments import EDGE, edge_of_promise
from oracle_opt.errors import InvalidArgument
from oracle_opt.words import shown


def checked_promised(promised: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Which lower and upper bounds are promised, as an array of shape (2, n)."""
    given = np.asarray(promised)
    if given.dtype != bool:
        raise InvalidArgument(f"`promised` must be True, False or an array of these, got {shown(promised)}")
    try:
        return np.array(np.broadcast_to(given, (2, n)))
    except ValueError as problem:
        raise InvalidArgument(f"`promised` must have shape (2, {n}) or fit it, got {problem}") from problem


class PromisedBounds:
    """Lower and upper bounds of n variables, and which of them are only promised."""

    def __init__(self, lower: Vector, upper: Vector, promised: NDArray[np.bool_]) -> None:
        self.lower, self.upper = lower, upper
        self.promised = promised & np.isfinite([lower, upper])

    def constraints(self) -> tuple[Vector, Vector]:
        """Return the bounds that constrain: those that are only promised are infinite."""
        return np.where(self.promised[0], -np.inf, self.lower), np.where(self.promised[1], np.inf, self.upper)

    def room(self, point: Vector) -> float:
        """How far a point is from the nearest promised bound; infinite if none is promised."""
        rooms = np.array([point - self.lower, self.upper - point])
        return float(rooms[self.promised].min(initial=np.inf))

    def doubt(self, point: Vector) -> str:
        """Say that a point lies at a promised bound, within a hundredth of its size or of the width."""
        if not self.promised.any():
            return ""
        rooms = np.array([point - self.lower, self.upper - point])
        width = self.upper - self.lower
        sizes = np.where(np.isfinite([self.lower, self.upper]), np.abs([self.lower, self.upper]), 0.0).max(axis=0)
        width = np.where(np.isfinite(width), width, sizes)
        sides, which = np.nonzero(self.promised & (rooms <= EDGE * width) & (self.lower < self.upper))
        if not len(which):
            return ""
        bound = (self.lower, self.upper)[int(sides[0])][which[0]]
        j = int(which[0])
        return edge_of_promise(f"variable {j} is {point[j]:.6g}, where the bound {bound:g} is only promised")

    def words(self) -> str:
        """Say which bounds are only promised, by an example."""
        sides, which = np.nonzero(self.promised)
        if not len(which):
            return ""
        side, j = int(sides[0]), int(which[0])
        bound = f"variable {j} is {('at least', 'at most')[side]} {(self.lower, self.upper)[side][j]:g}"
        others = f", and {len(which) - 1} more bounds are promised" if len(which) > 1 else ""
        return f"that {bound}{others}"
