"""What a relaxed problem's solver answers."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from oracle_opt.words import one_line


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
