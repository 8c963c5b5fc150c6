"""A linear program kept alive in HiGHS: rows and columns come and go, the basis stays warm."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from oracle_opt._highs_model import Options, ending, new_model, run_in_time, set_options, simplex_steps
from oracle_opt.arrays import Matrix, Vector

TOLERANCE = 1e-10
_TIGHT = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
_LOOSE = {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7}
# A proof never rests on the solver's tolerance (see CutPool.minorant), so looser ones cost only tightness.
_ATTEMPTS: tuple[Options, ...] = (
    {"solver": "simplex", **_TIGHT},
    {"solver": "simplex", **_TIGHT},
    {"solver": "simplex", **_LOOSE},
    {"solver": "ipm", **_LOOSE},
)

_OPTIONS: Options = {
    "simplex_strategy": 0,  # chooses: dual simplex unless the basis is primal feasible
    "small_matrix_value": 1e-12,  # entries below this are taken for zeros; in a wide box smaller ones than 1e-9 count
    "ipm_iteration_limit": 200,  # an interior point method that needs more than this will not succeed
}
_REFUSED = highspy.HighsStatus.kError


class LPFailure(RuntimeError):
    """HiGHS neither solved a linear program nor proved it infeasible."""


class WarmLP:
    """``min cost @ x`` subject to ``lower <= x <= upper`` and rows; columns and rows are added as they come.

    Solved by the simplex method from the last basis: the dual one after a row was added, the primal one after a column.
    Copies go on from the same basis.

    Parameters
    ----------
    cost, lower, upper : ndarray of shape (n,)
        Costs and bounds of the first columns.

    Attributes
    ----------
    ray : ndarray of shape (n_rows,)
        Row multipliers that prove the contradiction `solve` found last; empty if HiGHS gave none.
    """

    def __init__(self, cost: Vector, lower: Vector, upper: Vector) -> None:
        self._model = new_model(_OPTIONS)
        self.ray = np.zeros(0)
        self.add_columns(cost, lower, upper, np.zeros((0, len(cost))))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._model.getNumRow())

    def add_columns(self, cost: Vector, lower: Vector, upper: Vector, matrix: Matrix) -> None:
        """Add columns, those of `matrix`, of shape (n_rows, number of columns)."""
        starts, places, values = _sparse(matrix.T)
        self._model.addCols(len(cost), cost, lower, upper, len(values), starts, places, values)

    def add_rows(self, matrix: Matrix, lower: Vector, upper: Vector) -> None:
        """Add the rows ``lower <= matrix @ x <= upper``.

        Raises
        ------
        LPFailure
            HiGHS takes none of them: entries above 1e15.
        """
        starts, places, values = _sparse(matrix)
        if self._model.addRows(len(lower), lower, upper, len(values), starts, places, values) == _REFUSED:
            raise LPFailure("HiGHS refused rows, as some of their entries are too large")

    def change_column_bounds(self, column: int, lower: float, upper: float) -> None:
        """Change the bounds of a variable."""
        self._model.changeColBounds(column, lower, upper)

    def change_rows_upper(self, rows: NDArray[np.intp], upper: Vector) -> None:
        """Change the right-hand sides of rows ``matrix @ x <= upper``."""
        self._model.changeRowsBounds(len(rows), rows.astype(np.int32), np.full(len(rows), -np.inf), upper)

    def delete_rows(self, rows: NDArray[np.intp]) -> None:
        """Delete rows; those behind them move up."""
        self._model.deleteRows(len(rows), rows.astype(np.int32))

    def solve(self) -> tuple[Vector, Vector] | None:
        """Return solution and row multipliers, or `None` if the rows contradict each other.

        Each attempt ends after as many steps as only one that cycles takes, or when the time is over.

        Raises
        ------
        LPFailure
            HiGHS neither solved the program nor proved it infeasible: warm, cold, with looser tolerances, by its
            interior point method.
        OutOfTime
            The deadline passed.
        """
        contradicted = False
        self.ray = np.zeros(0)
        set_options(self._model, {"simplex_iteration_limit": simplex_steps(self._model)})
        for attempt, options in enumerate(_ATTEMPTS):
            if attempt:
                self._model.clearSolver()
            set_options(self._model, options)
            status = run_in_time(self._model)
            if status == highspy.HighsModelStatus.kOptimal:
                solution = self._model.getSolution()
                x, duals = np.array(solution.col_value), np.array(solution.row_dual)
                if np.isfinite(x).all() and np.isfinite(duals).all():
                    return x, duals
            # at tight tolerances rows that touch may seem to contradict each other; they do if no attempt succeeds
            if status == highspy.HighsModelStatus.kInfeasible:
                contradicted = True
                _, known, ray = self._model.getDualRay()
                self.ray = np.array(ray) if known else self.ray
        if contradicted:
            return None
        raise LPFailure(ending(self._model, status))

    def __deepcopy__(self, memo: dict[int, Any]) -> WarmLP:
        copy = WarmLP.__new__(WarmLP)
        copy._model = new_model(_OPTIONS)
        copy._model.passModel(self._model.getLp())
        copy._model.setBasis(self._model.getBasis())
        copy.ray = self.ray
        return copy


def _sparse(matrix: Matrix) -> tuple[NDArray[np.int32], NDArray[np.int32], Vector]:
    """Starts, column numbers and values of the rows' entries that are not zero."""
    rows, places = np.nonzero(matrix)
    starts = np.searchsorted(rows, np.arange(len(matrix)))
    return starts.astype(np.int32), places.astype(np.int32), matrix[rows, places]
