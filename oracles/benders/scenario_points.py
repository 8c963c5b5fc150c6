"""Points of many second stages of one matrix by HiGHS: what is found here proves nothing by itself."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from oracle_opt._deadline import seconds_left
from oracle_opt._highs_model import ending, new_model
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.oracles.benders.scenario_data import Indices, ScenarioData

_NEAR = 1e-9  # by how much a basis may miss a bound, relative to 1 and to the entry
_PROBE = 64  # programs that a basis is tried on before it is tried on all
_TOLERANCES = "primal_feasibility_tolerance", "dual_feasibility_tolerance"
_ROOM = 1e-6  # most that a point inside leaves to a row or bound: more costs more
_WORTH = 1e3  # of room, in largest costs
_NEAR_X = 1e-5  # how far a point inside both stages may be from x, relative to 1 and to the entry
_LARGEST = 600  # rows up to which bases are tried on other programs


class Programs:
    """``min cost @ y : lower <= W @ y <= upper, y_lower <= y <= y_upper`` for many sides, a line each.

    HiGHS solves the first one; its basis is tried on all that are left; and so on.

    Parameters
    ----------
    cost : ndarray of shape (k,)
    W : csr_array of shape (m, k)
    y_lower, y_upper : ndarray of shape (k,)
    """

    def __init__(self, cost: Vector, W: sparse.csr_array, y_lower: Vector, y_upper: Vector) -> None:
        self._W, self._y_lower, self._y_upper = W, y_lower, y_upper
        m, k = W.shape
        self._rows = np.arange(m, dtype=np.int32)
        self._model = new_model({"solver": "simplex", **dict.fromkeys(_TOLERANCES, 1e-10)})
        self._model.addVars(k, y_lower, y_upper)
        self._model.changeColsCost(k, np.arange(k, dtype=np.int32), cost)
        for i in range(m):
            part = slice(W.indptr[i], W.indptr[i + 1])
            columns = W.indices[part].astype(np.int32)
            self._model.addRow(-np.inf, np.inf, len(columns), columns, W.data[part])
        self._columns = sparse.csc_array(sparse.hstack([W, -sparse.eye_array(m)]))

    def points(self, lower: Matrix, upper: Matrix) -> Matrix:
        """Points, a line each, within the bounds of y; NaN where HiGHS finds none.

        Raises
        ------
        RuntimeError
            HiGHS stopped for another reason than that a program has no point or no minimum.
        """
        y = np.full((len(lower), len(self._y_lower)), np.nan)
        left = np.arange(len(lower))
        while len(left):
            seconds_left()
            first, left = left[0], left[1:]
            y[first] = self._solved(lower[first], upper[first])
            if not len(left) or np.isnan(y[first, 0]) or self._W.shape[0] > _LARGEST:
                continue
            done = self._tried(left[:_PROBE], lower, upper, y)
            if done.any():
                done = np.r_[done, self._tried(left[_PROBE:], lower, upper, y)]
                left = left[~done]
        inside: Matrix = np.clip(y, self._y_lower, self._y_upper)
        return inside

    def _solved(self, lower: Vector, upper: Vector) -> Vector:
        self._model.changeRowsBounds(len(self._rows), self._rows, lower, upper)
        kinds = highspy.HighsModelStatus
        for _ in ("warm", "cold"):
            self._model.run()
            status = self._model.getModelStatus()
            if status == kinds.kOptimal:
                return np.array(self._model.getSolution().col_value)
            self._model.clearSolver()
        if status not in (kinds.kInfeasible, kinds.kUnbounded, kinds.kUnboundedOrInfeasible):
            raise RuntimeError(ending(self._model, status))
        return np.full(len(self._y_lower), np.nan)

    def _tried(self, which: Indices, lower: Matrix, upper: Matrix, y: Matrix) -> NDArray[np.bool_]:
        """Points of the last basis in other programs; tell for which of them it fits."""
        m, k = self._W.shape
        low = np.hstack([np.broadcast_to(self._y_lower, (len(which), k)), lower[which]])
        high = np.hstack([np.broadcast_to(self._y_upper, (len(which), k)), upper[which]])
        basis, kinds = self._model.getBasis(), highspy.HighsBasisStatus
        status = np.array([int(one) for one in (*basis.col_status, *basis.row_status)])
        basic = np.flatnonzero(status == int(kinds.kBasic))
        if len(basic) != m or not len(which):
            return np.zeros(len(which), dtype=bool)
        at_upper = (status == int(kinds.kUpper)) | np.isinf(low)
        all_ = np.where(at_upper, high, low)
        all_ = np.where(np.isinf(all_), 0.0, all_)
        all_[:, basic] = 0.0
        try:
            factors = linalg.lu_factor(self._columns[:, basic].toarray(), check_finite=False)
        except linalg.LinAlgError:
            return np.zeros(len(which), dtype=bool)
        found = linalg.lu_solve(factors, -(self._columns @ all_.T), check_finite=False).T
        room = _NEAR * (1.0 + np.abs(found))
        fits = ((found >= low[:, basic] - room) & (found <= high[:, basic] + room)).all(axis=1)
        all_[:, basic] = found
        y[which[fits]] = all_[fits, :k]
        return np.asarray(fits)


def inner_points(
    cost: Vector,
    W: sparse.csr_array,
    y_lower: Vector,
    y_upper: Vector,
    equations: NDArray[np.bool_],
    lower: Matrix,
    upper: Matrix,
) -> Matrix:
    """Points of the same second stages, of nearly the same costs, that leave a little room to rows and bounds.

    The program minimizes the cost less the worth of all rooms: ``W_i y - room >= lower_i`` and so on.
    """
    k = W.shape[1]
    below, above = ~equations & np.isfinite(lower).any(axis=0), ~equations & np.isfinite(upper).any(axis=0)
    moves = (y_lower < y_upper) & equations.any()  # without equations no entry of y is moved
    y_below, y_above = moves & np.isfinite(y_lower), moves & np.isfinite(y_upper)
    eye = sparse.csr_array(sparse.eye_array(k))
    sided = sparse.vstack([W[below], W[above], eye[y_below], eye[y_above]])
    signs = np.repeat([-1.0, 1.0, -1.0, 1.0], [below.sum(), above.sum(), y_below.sum(), y_above.sum()])
    rooms = len(signs)
    none = sparse.csr_array((int(equations.sum()), rooms))
    matrix = sparse.csr_array(
        sparse.vstack([sparse.hstack([W[equations], none]), sparse.hstack([sided, sparse.diags_array(signs)])])
    )
    count = len(lower)
    wide = [np.broadcast_to(side, (count, len(side))) for side in (y_lower[y_below], y_upper[y_above])]
    lows = [lower[:, equations], lower[:, below], np.full((count, int(above.sum())), -np.inf)]
    highs = [upper[:, equations], np.full((count, int(below.sum())), np.inf), upper[:, above]]
    lows += [wide[0], np.full_like(wide[1], -np.inf)]
    highs += [np.full_like(wide[0], np.inf), wide[1]]
    program = Programs(
        np.r_[cost, np.full(rooms, -_WORTH * (float(np.abs(cost).max(initial=0.0)) or 1.0))],
        matrix,
        np.r_[y_lower, np.zeros(rooms)],
        np.r_[y_upper, np.full(rooms, _ROOM)],
    )
    found: Matrix = program.points(np.hstack(lows), np.hstack(highs))[:, :k]
    return found


def inside_of_both(data: ScenarioData, domain: Domain, x: Vector, members: Indices) -> Vector | None:
    """A point near x that leaves room to the rows of the first stage, and of the second in some scenarios together."""
    problem, n = data.problem, len(x)
    first = [problem.A, *(sparse.csr_array((problem.A.shape[0], problem.q.size)) for _ in members)]
    lines = [sparse.hstack(first)]
    for s, member in enumerate(members.tolist()):
        place = sparse.csr_array(([1.0], ([0], [s])), shape=(1, len(members)))
        lines.append(sparse.hstack([data.technology_matrix(member), sparse.kron(place, data.matrix(member))]))
    lower, upper, _ = data.sides(members)
    equations = np.r_[
        problem.first_lower == problem.first_upper,
        np.tile(problem.row_lower == problem.row_upper, len(members)),
    ]
    least, most = domain.bounding_box()
    reach = _NEAR_X * (1.0 + np.abs(x))
    costs = np.broadcast_to(data.costs(members), (len(members), problem.q.size)) * data.probability[members, None]
    found = inner_points(
        np.r_[problem.c, costs.ravel()],
        sparse.csr_array(sparse.vstack(lines)),
        np.r_[np.clip(x - reach, least, most), np.tile(problem.y_lower, len(members))],
        np.r_[np.clip(x + reach, least, most), np.tile(problem.y_upper, len(members))],
        equations,
        np.r_[problem.first_lower, lower.astype(float).ravel()][None],
        np.r_[problem.first_upper, upper.astype(float).ravel()][None],
    )[0, :n]
    return found if np.isfinite(found).all() else None
