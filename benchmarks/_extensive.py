"""The extensive form of a two-stage program, one linear program, for solvers that know no scenarios."""

import highspy
import numpy as np
from scipy import sparse


def extensive_form(problem, outcomes, probability):
    """Costs, rows and bounds of ``min c @ x + sum_s p_s q_s @ y_s``, all scenarios' rows below the first stage's.

    Parameters
    ----------
    problem : TwoStageProblem
        The data.
    outcomes, probability : ndarray of shape (s, n_blocks) and (s,)
        Scenarios, as `all_scenarios` and `sample` give them.

    Returns
    -------
    HighsLp
        The program.
    """
    s, n, (m, k) = len(probability), problem.c.size, problem.W.shape
    lower, upper = np.tile(problem.row_lower, (s, 1)), np.tile(problem.row_upper, (s, 1))
    cost = np.tile(problem.q, (s, 1))
    changes = {"technology": [], "recourse": []}
    for block, chosen in zip(problem.blocks, outcomes.T, strict=True):
        moved = block.rhs[chosen] - problem.rhs[block.rows]
        lower[:, block.rows] += moved
        upper[:, block.rows] += moved
        cost[:, block.cost_columns] = block.cost[chosen]
        changes["technology"].append((block.technology_entries, block.technology[chosen]))
        changes["recourse"].append((block.recourse_entries, block.recourse[chosen]))
    T = _of_scenarios(problem.T, changes["technology"], s)
    W = _of_scenarios(problem.W, changes["recourse"], s)
    # the columns of each scenario's W are its own
    rows, columns, values = T
    below = sparse.csr_array((values, (rows, columns)), shape=(s * m, n))
    rows, columns, values = W
    own = sparse.csr_array((values, (rows, columns + k * (rows // m))), shape=(s * m, s * k))
    first = sparse.csr_array((problem.A.shape[0], s * k))
    matrix = sparse.vstack([sparse.hstack([problem.A, first]), sparse.hstack([below, own])], format="csc")
    return linear_program(
        np.r_[problem.c, (cost * probability[:, None]).ravel()],
        matrix,
        np.r_[problem.first_lower, lower.ravel()],
        np.r_[problem.first_upper, upper.ravel()],
        np.r_[problem.x_lower, np.tile(problem.y_lower, s)],
        np.r_[problem.x_upper, np.tile(problem.y_upper, s)],
        problem.offset,
    )


def _of_scenarios(matrix, changes, s):
    """Rows, columns and entries of the copies of a matrix, one below the other, some entries of which vary."""
    m = matrix.shape[0]
    entries = matrix.tocoo()
    known = dict(zip(zip(*entries.coords, strict=True), entries.data, strict=True))
    for places, _ in changes:
        known.update({(int(i), int(j)): 0.0 for i, j in places if (int(i), int(j)) not in known})
    at = np.array(list(known), dtype=np.intp).reshape(-1, 2)
    values = np.tile(np.array(list(known.values()), dtype=float), (s, 1))
    number = {place: e for e, place in enumerate(known)}
    for places, of_scenarios in changes:
        where = [number[int(i), int(j)] for i, j in places]
        values[:, where] = of_scenarios
    rows = at[:, 0] + m * np.arange(s)[:, None]
    return rows.ravel(), np.tile(at[:, 1], s), values.ravel()


def linear_program(cost, matrix, lower, upper, x_lower, x_upper, offset=0.0):
    """``min cost @ x + offset`` with ``lower <= matrix @ x <= upper`` and bounds, as HiGHS takes it."""
    matrix = sparse.csc_array(matrix)
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_, program.offset_ = cost, offset
    program.row_lower_, program.row_upper_ = lower, upper
    program.col_lower_, program.col_upper_ = x_lower, x_upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    program.a_matrix_.index_ = matrix.indices.astype(np.int32)
    program.a_matrix_.value_ = matrix.data
    return program


def solved_by_highs(program, solver="choose"):
    """Value and status of HiGHS, on one thread, at its own tolerances of 1e-7."""
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    model.setOptionValue("solver", solver)
    model.passModel(program)
    model.run()
    return model.getInfo().objective_function_value, model.modelStatusToString(model.getModelStatus()).lower()
