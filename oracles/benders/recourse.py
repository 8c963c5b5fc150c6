"""The second stage: one linear program with many right-hand sides, solved a basis at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.cuts import Vector
from oracle_opt.errors import InvalidArgument

Matrix = NDArray[np.float64]
_FEASIBLE = 1e-9  # HiGHS' feasibility tolerance; a dual multiplier or reduced cost below it counts as zero


@dataclass(frozen=True, eq=False)
class DualVertex:
    """Multipliers pi with ``Q(l, u) >= constant + max(pi, 0) @ l + min(pi, 0) @ u`` for all row sides l, u."""

    multipliers: Vector
    constant: float

    def values(self, lower: Matrix, upper: Matrix) -> Vector:
        """Bounds for many sides, rows of shape (s, m)."""
        pi = self.multipliers
        above, below = pi > 0, pi < 0
        result: Vector = self.constant + lower[:, above] @ pi[above] + upper[:, below] @ pi[below]
        return result


@dataclass(frozen=True, eq=False)
class Basis(DualVertex):
    """A dual vertex with the basis it came from: optimal wherever the basic variables stay within their bounds."""

    basic_rows: NDArray[np.intp]
    basic_lower: Vector
    basic_upper: Vector
    at_lower: NDArray[np.intp]
    at_upper: NDArray[np.intp]
    gain: Matrix
    shift: Vector

    def optimal(self, lower: Matrix, upper: Matrix) -> NDArray[np.bool_]:
        """Whether the basis is feasible, hence optimal, for each line of sides.

        With ``W y - r = 0`` the basic variables are ``shift + gain @ r_N``, r_N the nonbasic rows at their sides.
        """
        basic = np.hstack([lower[:, self.at_lower], upper[:, self.at_upper]]) @ self.gain.T + self.shift
        slack = _FEASIBLE * (1.0 + np.abs(basic))
        below = np.hstack([lower[:, self.basic_rows], np.tile(self.basic_lower, (len(lower), 1))])
        above = np.hstack([upper[:, self.basic_rows], np.tile(self.basic_upper, (len(upper), 1))])
        result: NDArray[np.bool_] = ((basic >= below - slack) & (basic <= above + slack)).all(axis=1)
        return result


class Recourse:
    """``Q(l, u) = min q @ y : l <= W @ y <= u, y_lower <= y <= y_upper``, warm-started from the last solution."""

    def __init__(self, q: Vector, W: sparse.csr_array, y_lower: Vector, y_upper: Vector) -> None:
        self.q, self.W, self.y_lower, self.y_upper = q.copy(), W.copy(), y_lower, y_upper
        m, k = W.shape
        self._model = highspy.Highs()
        for name, value in (("output_flag", False), ("presolve", "off"), ("threads", 1), ("solver", "simplex")):
            self._model.setOptionValue(name, value)
        self._model.addVars(k, y_lower, y_upper)
        self._columns, self._rows = np.arange(k, dtype=np.int32), np.arange(m, dtype=np.int32)
        self._model.changeColsCost(k, self._columns, q)
        by_row = W.tocsr()
        for i in range(m):
            part = slice(by_row.indptr[i], by_row.indptr[i + 1])
            indices = by_row.indices[part].astype(np.int32)
            self._model.addRow(-np.inf, np.inf, len(indices), indices, by_row.data[part])

    def change_cost(self, columns: NDArray[np.intp], cost: Vector) -> None:
        """Change some costs."""
        self.q[columns] = cost
        self._model.changeColsCost(len(columns), columns.astype(np.int32), cost)

    def change_matrix(self, entries: NDArray[np.intp], values: Vector) -> None:
        """Change some entries (row, column) of W."""
        for (row, column), value in zip(entries, values, strict=True):
            self._model.changeCoeff(int(row), int(column), float(value))
        self.W = sparse.lil_array(self.W)
        self.W[entries[:, 0], entries[:, 1]] = values
        self.W = self.W.tocsr()

    def solve(self, lower: Vector, upper: Vector) -> tuple[bool, DualVertex, float]:
        """Solve for one pair of sides.

        Returns
        -------
        feasible : bool
        dual : DualVertex
            The optimal multipliers; or, if infeasible, a ray whose value is positive exactly where it proves that.
        objective : float
            Primal value; infinite if infeasible.

        Raises
        ------
        InvalidArgument
            The second stage is unbounded from below.
        RuntimeError
            HiGHS ended otherwise.
        """
        self._model.changeRowsBounds(len(self._rows), self._rows, lower, upper)
        for attempt in ("warm", "cold"):
            if attempt == "cold":
                self._model.clearSolver()
            self._model.run()
            status = self._model.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                solution = self._model.getSolution()
                pi = _cleaned(np.array(solution.row_dual), lower, upper)
                value = float(self.q @ np.array(solution.col_value))
                return True, DualVertex(pi, self._constant(self.q - self.W.T @ pi, self.q)), value
            if status == highspy.HighsModelStatus.kInfeasible:
                _, found, ray = self._model.getDualRay()
                if found:
                    return False, self._ray(np.array(ray), lower, upper), np.inf
        if status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            raise InvalidArgument("`problem` must have a bounded second stage, and its cost falls without end")
        raise RuntimeError(f"HiGHS stopped with status {self._model.modelStatusToString(status)}")

    def _constant(self, reduced: Vector, cost: Vector) -> float:
        """``min reduced @ y`` over the bounds of y; what is small beside the cost and meets no bound is rounding."""
        small = np.abs(reduced) <= _FEASIBLE * (1.0 + np.abs(cost))
        bound = np.where(reduced > 0, self.y_lower, self.y_upper)
        used = ~(small & np.isinf(bound)) & (reduced != 0)
        return float(reduced[used] @ bound[used])

    def _ray(self, ray: Vector, lower: Vector, upper: Vector) -> DualVertex:
        """The ray with the sign that proves infeasibility: ``pi W y`` can nowhere reach what the sides ask."""
        ray = ray / np.abs(ray).max()
        candidates = []
        for signed in (ray, -ray):
            pi = _cleaned(signed, lower, upper)
            dual = DualVertex(pi, self._constant(-(self.W.T @ pi), np.zeros_like(self.q)))
            candidates.append((float(dual.values(lower[None], upper[None])[0]), dual))
        return max(candidates, key=lambda pair: pair[0])[1]

    def basis(self, dual: DualVertex) -> Basis | None:
        """The basis of the last solution; `None` if it is singular to working precision."""
        status: Any = self._model.getBasis()
        columns, rows = np.array(status.col_status), np.array(status.row_status)
        kinds = highspy.HighsBasisStatus
        basic_columns, basic_rows = np.flatnonzero(columns == kinds.kBasic), np.flatnonzero(rows == kinds.kBasic)
        at_lower = np.flatnonzero(rows == kinds.kLower)
        at_upper = np.flatnonzero((rows != kinds.kBasic) & (rows != kinds.kLower))
        nonbasic = columns != kinds.kBasic
        fixed = np.where(columns == kinds.kUpper, self.y_upper, np.where(columns == kinds.kLower, self.y_lower, 0.0))
        m = len(rows)
        identity = np.eye(m)
        dense = self.W.toarray()
        base = np.hstack([-identity[:, basic_rows], dense[:, basic_columns]])
        try:
            inverse = np.linalg.inv(base)
        except np.linalg.LinAlgError:
            return None
        rest = np.hstack([-identity[:, at_lower], -identity[:, at_upper]])
        return Basis(
            dual.multipliers,
            dual.constant,
            basic_rows,
            self.y_lower[basic_columns],
            self.y_upper[basic_columns],
            at_lower,
            at_upper,
            -inverse @ rest,
            -inverse @ (dense[:, nonbasic] @ fixed[nonbasic]),
        )


def _cleaned(pi: Vector, lower: Vector, upper: Vector) -> Vector:
    """Multipliers of sides that do not exist are rounding."""
    gone = ((pi > 0) & np.isinf(lower)) | ((pi < 0) & np.isinf(upper))
    return np.where(gone, 0.0, pi)
