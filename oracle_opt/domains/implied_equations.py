"""Inequalities and bounds that no point of a set leaves slack are equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.domains.programs import linear_program, solved


def with_equations_found(known: LinearConstraints, flat: NDArray[np.bool_]) -> LinearConstraints:
    """Turn what is never slack into equations, and drop equations that others imply.

    Freund, Roundy & Todd (1985, "Identifying the set of always-active constraints") solve
    ``max sum(t) : A z + t <= tau b, z - t' >= tau lower, z + t'' <= tau upper, E z = tau f, tau >= 1, 0 <= t <= 1``. A
    solution has t_i = 1 for all that can be slack, 0 for the rest. As tau ends at 1e7, what is less slack than 1e-7
    counts as never slack. For variables whose bounds are much less than 1 apart the slack is in units of that
    distance, unless they are `flat` but for rounding.

    Raises
    ------
    InvalidArgument
        No point satisfies the constraints.
    """
    (A, b), lower, upper = known.inequalities, known.lower, known.upper
    n, m = len(lower), len(b)
    count = m + 2 * n
    units = np.where(flat, 1.0, _units(lower, upper))
    sides = np.vstack([A, -np.eye(n), np.eye(n)]) * units
    rhs = np.r_[b, -lower, upper]
    norms = np.linalg.norm(sides, axis=1)
    rows = np.hstack([sides / norms[:, None], np.eye(count), -(rhs / norms)[:, None]])
    equations = np.hstack(
        [known.equality_matrix * units, np.zeros((len(known.equality_rhs), count)), -known.equality_rhs[:, None]]
    )
    free = np.full(n, np.inf)
    solution = solved(
        linear_program(
            np.r_[np.zeros(n), -np.ones(count), 0.0],
            np.r_[-free, np.zeros(count), 1.0],
            np.r_[free, np.ones(count), 1e7],
            rows,
            np.zeros(count),
            equations,
            np.zeros(len(equations)),
            {"small_matrix_value": 1e-9},  # digits in which nearly dependent equations differ, or narrow variables
        ),
        loosely=True,  # a slack of 1 or 0 is told apart all the same
    )
    tight = np.array(solution.col_value[n : n + count]) < 0.5
    fixed = tight[m : m + n] | tight[m + n :]
    middle = np.clip(units * np.array(solution.col_value[:n]) / solution.col_value[-1], lower, upper)
    level = np.where(tight[m : m + n], lower, np.where(tight[m + n :], upper, middle))
    E = np.vstack([known.equality_matrix, A[tight[:m]], np.eye(n)[fixed]])
    f = np.r_[known.equality_rhs, b[tight[:m]], level[fixed]]
    if len(E):
        from scipy import linalg  # only here: the import takes time

        triangle, order = linalg.qr(E.T, mode="r", pivoting=True)
        size = np.abs(np.diag(triangle))
        order = np.sort(order[: np.count_nonzero(size > 1e-10 * size.max())])
        E, f = E[order], f[order]
    # the equation holds a fixed variable: its bounds need not be equal
    return LinearConstraints(E, f, lower - fixed, upper + fixed, A[~tight[:m]], b[~tight[:m]])


def _units(lower: Vector, upper: Vector) -> Vector:
    """Powers of two: 1, or the distance of the bounds of a variable where it is below a thousandth."""
    width = upper - lower
    small = (width > 0) & (width < 1e-3)
    return np.where(small, np.exp2(np.rint(np.log2(np.where(small, width, 1.0)))), 1.0)
