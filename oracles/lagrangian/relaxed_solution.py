"""Solutions of relaxed problems: as the user answers them, rounded, in few numbers, and those of earlier calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidCut
from oracle_opt.words import one_line

_REMEMBERED = 50  # relaxed solutions that later answers are checked against


@dataclass(frozen=True, eq=False)
class RelaxedSolution:
    """What the user's function answers: an x of X, seen through its cost and its activity.

    Parameters
    ----------
    cost : float
        c(x), without multipliers, correctly rounded (``math.fsum``).
    activity : array_like of shape (n,)
        a(x), the left-hand sides of the relaxed constraints, taken as exact.
    solution : array_like, optional
        x itself, as numbers, for the recovery of primal solutions.
    bound : float, optional
        A proven bound on the optimal value of the relaxed problem at these multipliers, ``c(x) + u @ a(x)`` minimized
        (``c(x) - u @ a(x)`` maximized), if x is not known to be optimal. Default: x is optimal.
    compact : array_like, optional
        x in as few numbers as tell it, the numbers of the edges of a tree for example: what a certificate keeps as the
        witness of a cut. Default: the `solution`, where the oracle has a function `examine` for it, else nothing.
    """

    __repr__ = one_line

    cost: float
    activity: ArrayLike
    solution: ArrayLike | None = None
    bound: float | None = None
    compact: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class RoundedSolution:
    """A solution of the problem itself, and how far it is from optimal at most.

    Attributes
    ----------
    cost : float
        Its cost, or profit for a maximization; nan if none was found.
    bound : float
        The bound that the run proved: no solution is better.
    feasible : bool
        Whether it satisfies every constraint of the problem, relaxed ones included. Checked from its arrays.
    arrays : mapping of str to array
        The solution, in the arrays of the problem; empty if none was found.
    """

    __repr__ = one_line

    cost: float
    bound: float
    feasible: bool
    arrays: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Distance of the cost from the bound, relative to the cost; infinite if the solution is not feasible."""
        if not self.feasible:
            return float(np.inf)
        return abs(self.cost - self.bound) / max(1e-12, abs(self.cost))


def positions(table: NDArray[np.generic], rows: NDArray[np.intp] | None = None) -> NDArray[np.signedinteger]:
    """Numbers ``i * n + j`` of the entries (i, j) of a table of n columns that are not zero, in increasing order."""
    m, n = table.shape
    found = np.flatnonzero(table)
    if rows is None or not len(found):
        return small(found, m * n)
    return small(found + (rows - np.arange(m))[found // n] * n, n * (1 + int(rows[-1])))


def small(numbers: NDArray[np.intp], count: int) -> NDArray[np.signedinteger]:
    """Numbers below `count` in as many bytes as they need: 4 or 8."""
    return numbers.astype(np.int32 if count <= 2**31 else np.int64)


def by_row(numbers: NDArray[np.signedinteger], m: int, n: int) -> list[NDArray[np.signedinteger]]:
    """The numbers that belong to each row of a table of shape (m, n)."""
    ends = np.searchsorted(numbers, np.arange(m + 1) * n)
    return [numbers[first:last] for first, last in pairwise(ends.tolist())]


class KnownSolutions:
    """Cost and activity of the last relaxed solutions."""

    def __init__(self, rhs: Vector, sign: float) -> None:
        self._rhs, self._sign, self._n_seen = rhs, sign, 0
        self._costs, self._activities = np.zeros(_REMEMBERED), np.zeros((_REMEMBERED, rhs.size))

    def add(self, cost: float, activity: Vector) -> None:
        """Take up a solution in place of the oldest."""
        at = self._n_seen % _REMEMBERED
        self._costs[at], self._activities[at] = cost, activity
        self._n_seen += 1

    def compare(self, u: Vector, value: float, error: float) -> None:
        """Raise `InvalidCut` if one of them is better than the answer by more than the stated error."""
        known = min(self._n_seen, _REMEMBERED)
        pulls = (self._rhs - self._activities[:known]) @ u
        others = pulls - self._sign * self._costs[:known]
        rounding = 1e-12 * np.maximum(1.0, np.maximum(np.abs(self._costs[:known]), np.abs(pulls)))
        better = np.flatnonzero(others > value + error + 1e3 * rounding)
        if better.size:
            back = (self._n_seen - 1 - better) % _REMEMBERED  # how many calls lie between
            last = better[back.argmin()]
            word = "greater" if self._sign < 0 else "smaller"
            raise InvalidCut(
                f"`solve` must answer with an optimal solution of the relaxed problem, or with a `bound`: the one "
                f"of {back.min() + 1} calls before has a {word} value at these multipliers, "
                f"{-self._sign * float(others[last])} against {-self._sign * value}"
            )
