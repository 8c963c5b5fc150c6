"""Inequalities and bounds that no point of a set leaves slack are equations."""

from __future__ import annotations

import numpy as np

from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.domains.programs import linear_program, solved


def with_equations_found(known: LinearConstraints) -> LinearConstraints:
    """Turn what is never slack into equations, and drop equations that others imply.

    ``max sum(t) : A z + t <= tau b, z - t' >= tau lower, z + t'' <= tau upper, E z = tau f, tau >= 1, 0 <= t <= 1``
    has t_i = 1 for all that can be slack, 0 for the rest (Freund, Roundy & Todd 1985, "Identifying the set of
    always-active constraints"). Narrow variables are counted in their widths: what has slack has it in small units,
    too.

    Raises
    ------
    InvalidArgument
        No point satisfies the constraints.
    """
    (A, b), lower, upper = known.inequalities, known.lower, known.upper
    n, m = len(lower), len(b)
    count = m + 2 * n
    width = upper - lower
    unit = np.where(width > 0, 2.0 ** np.frexp(np.minimum(width, 0.5))[1], 1.0)
    sides = np.vstack([A, -np.eye(n), np.eye(n)]) * unit
    rhs = np.r_[b, -lower, upper]
    norms = np.linalg.norm(sides, axis=1)
    rows = np.hstack([sides / norms[:, None], np.eye(count), -(rhs / norms)[:, None]])
    fixed_sides = known.equality_matrix * unit
    size = np.linalg.norm(fixed_sides, axis=1)[:, None]
    equations = np.hstack([fixed_sides / size, np.zeros((len(size), count)), -known.equality_rhs[:, None] / size])
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
        ),
        loosely=True,  # a slack of 1 or 0 is told apart all the same
    )
    tight = np.array(solution.col_value[n : n + count]) < 0.5
    fixed = tight[m : m + n] | tight[m + n :]
    middle = np.clip(unit * np.array(solution.col_value[:n]) / solution.col_value[-1], lower, upper)
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
