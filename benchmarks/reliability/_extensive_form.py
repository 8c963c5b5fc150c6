"""A two-stage program and its scenarios as one linear program, for a solver that knows nothing of stages."""

import numpy as np
from scipy.optimize import linprog


def scenarios(problem):
    """Probability, costs, T, W and sides of each scenario, written anew from the blocks."""
    outcomes, probabilities = problem.all_scenarios()
    rhs = np.where(np.isfinite(problem.row_upper), problem.row_upper, problem.row_lower)
    for p, outcome in zip(probabilities, outcomes, strict=True):
        q, T, W, side = problem.q.copy(), problem.T.toarray(), problem.W.toarray(), rhs.copy()
        for block, o in zip(problem.blocks, outcome, strict=True):
            side[block.rows], q[block.cost_columns] = block.rhs[o], block.cost[o]
            T[tuple(block.technology_entries.T)] = block.technology[o]
            W[tuple(block.recourse_entries.T)] = block.recourse[o]
        moved = np.where(np.isfinite(rhs), side - np.where(np.isfinite(rhs), rhs, 0.0), 0.0)
        yield p, q, T, W, problem.row_lower + moved, problem.row_upper + moved


def optimum(problem, unit_x=None):
    """HiGHS' minimum of the whole in x / unit_x: (status of linprog, value)."""
    unit = np.ones(len(problem.c)) if unit_x is None else unit_x
    every = list(scenarios(problem))
    n, (m, k) = len(unit), problem.W.shape
    cost = np.r_[problem.c * unit, *(p * q for p, q, *_ in every)]
    rows = np.zeros((problem.A.shape[0] + m * len(every), n + k * len(every)))
    rows[: problem.A.shape[0], :n] = problem.A.toarray() * unit
    lower, upper = [problem.first_lower], [problem.first_upper]
    for s, (_, _, T, W, low, high) in enumerate(every):
        part = slice(problem.A.shape[0] + m * s, problem.A.shape[0] + m * (s + 1))
        rows[part, :n], rows[part, n + k * s : n + k * (s + 1)] = T * unit, W
        lower, upper = [*lower, low], [*upper, high]
    size = np.abs(rows).max(axis=1, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    rows, low, high = rows / size[:, None], np.concatenate(lower) / size, np.concatenate(upper) / size
    above, below = np.isfinite(high), np.isfinite(low)
    bounds = np.c_[
        np.r_[problem.x_lower / unit, np.tile(problem.y_lower, len(every))],
        np.r_[problem.x_upper / unit, np.tile(problem.y_upper, len(every))],
    ]
    found = linprog(cost, np.vstack([rows[above], -rows[below]]), np.r_[high[above], -low[below]], bounds=bounds)
    return found.status, (found.fun + problem.offset if found.status == 0 else np.nan)
