"""Primal solutions from averaged relaxed solutions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.words import one_line


@dataclass(frozen=True, eq=False)
class PrimalSolution:
    """A convex combination of relaxed solutions.

    Attributes
    ----------
    cost : float
        Its cost, as the average of theirs.
    activity : ndarray of shape (n,)
        Left-hand sides of the relaxed constraints, averaged.
    violation : float
        Largest violation of a constraint.
    weights : ndarray of shape (number of cuts, number of summands)
        Weight of each relaxed solution; each column adds up to 1.
    solutions : tuple of ndarray
        The average of each summand's solutions; empty if `solve` gave none.
    arrays : mapping of str to array
        The average in the arrays of the problem, which the shipped relaxations describe; empty for others.
    points : tuple of ndarray of shape (n,)
        Multipliers of the calls that have a weight.
    """

    __repr__ = one_line

    cost: float
    activity: Vector
    violation: float
    weights: Matrix
    solutions: tuple[Vector, ...]
    arrays: Mapping[str, Any] = field(default_factory=dict)
    points: tuple[Vector, ...] = ()


def weighted_average(
    columns: Sequence[Sequence[ObjectiveCut]], weights: Matrix, rhs: Vector, inequality: NDArray[np.bool_]
) -> PrimalSolution:
    """Average cuts, one row per call and one column per summand, with weights of the same shape."""
    pairs = [(w, one) for row, cuts in zip(weights, columns, strict=True) for w, one in zip(row, cuts, strict=True)]
    activity = sum((w * cut.extras["activity"] for w, cut in pairs), np.zeros(len(rhs)))
    excess = activity - rhs
    solutions: tuple[Vector, ...] = ()
    if all("solution" in cut.extras for _, cut in pairs):
        used = [
            [(w, cuts[k].extras["solution"]) for w, cuts in zip(column, columns, strict=True) if w > 0]
            for k, column in enumerate(weights.T)
        ]
        solutions = tuple(np.sum([w * solution for w, solution in summand], axis=0) for summand in used)
    return PrimalSolution(
        cost=float(sum(w * cut.extras["cost"] for w, cut in pairs)),
        activity=activity,
        violation=float(np.where(inequality, excess, np.abs(excess)).max(initial=0.0)),
        weights=weights,
        solutions=solutions,
    )


def restricted_master(
    columns: Sequence[Sequence[ObjectiveCut]], rhs: Vector, inequality: NDArray[np.bool_], sign: float
) -> Matrix:
    """Weights of the cheapest average among those of least total violation (Dantzig & Wolfe 1960).

    ``min sign * costs @ w`` with ``activities @ w - over + under == rhs`` (under is free for inequalities), the weights
    of each summand adding up to 1, over and under (of equations) within those of least sum.
    """
    from scipy.optimize import linprog  # only here: the import takes time

    calls, summands, n = len(columns), len(columns[0]), len(rhs)
    flat = [cut for cuts in columns for cut in cuts]
    activities = np.array([cut.extras["activity"] for cut in flat]).T
    costs = sign * np.array([cut.extras["cost"] for cut in flat])
    scale = np.maximum(np.abs(activities).max(axis=1), 1e-12)
    identity = sparse.eye_array(n)
    rows = sparse.hstack([sparse.csr_array(activities / scale[:, None]), -identity, identity], format="csr")
    ones = sparse.hstack([sparse.hstack([sparse.eye_array(summands)] * calls), sparse.csr_array((summands, 2 * n))])
    constraints = sparse.vstack([rows, ones], format="csr")
    sides = np.r_[rhs / scale, np.ones(summands)]
    pain = np.r_[np.zeros(len(flat)), np.ones(n), ~inequality].astype(float)
    least = linprog(pain, A_eq=constraints, b_eq=sides)
    if least.x is None:
        raise RuntimeError(f"HiGHS stopped with: {least.message}")
    # the cheapest average whose violations are nowhere larger than those of the first program's solution
    upper = np.where(pain > 0, least.x, np.inf)
    worth = np.r_[costs / max(float(np.abs(costs).max()), 1e-300), np.zeros(2 * n)]
    cheapest = linprog(worth, A_eq=constraints, b_eq=sides, bounds=np.column_stack([np.zeros(len(worth)), upper]))
    # within the tolerance of HiGHS the second program may have no point; then the first solution is as good
    solved = least.x if cheapest.x is None else cheapest.x
    weights = np.maximum(solved[: len(flat)], 0.0).reshape(calls, summands)
    shares: Matrix = weights / weights.sum(axis=0)
    return shares
