"""Relaxed solutions of earlier calls: none of them may be better than a later answer."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidCut

_REMEMBERED = 50  # relaxed solutions that later answers are checked against


class KnownSolutions:
    """Cost and activity of the last relaxed solutions.

    Parameters
    ----------
    rhs : ndarray of shape (n,)
        Right-hand sides of the relaxed constraints.
    sign : float
        1 to minimize the cost, -1 to maximize it.
    """

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
