"""A linear program kept alive in HiGHS: rows come and go, the basis stays warm."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from oracle_opt.cuts import Vector

_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_LOOSE = {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7}
# A proof never rests on the solver's tolerance (see CutPool.minorant), so looser ones cost only tightness.
_ATTEMPTS = (
    {"solver": "simplex", **_TIGHT},
    {"solver": "simplex", **_TIGHT},
    {"solver": "simplex", **_LOOSE},
    {"solver": "ipm", **_LOOSE},
)


class WarmLP:
    """``min cost @ x`` subject to ``lower <= x <= upper`` and rows that are added one by one.

    Solved by the dual simplex method from the last basis. Copies go on from the same basis.

    Parameters
    ----------
    cost, lower, upper : ndarray of shape (n,)
        Costs and bounds of the variables.
    """

    def __init__(self, cost: Vector, lower: Vector, upper: Vector) -> None:
        self._model = _new_model()
        self._model.addVars(len(cost), lower, upper)
        columns = np.arange(len(cost), dtype=np.int32)
        self._model.changeColsCost(len(cost), columns, cost)
        self._columns = columns

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._model.getNumRow())

    def add_row(self, coefficients: Vector, lower: float, upper: float) -> None:
        """Add ``lower <= coefficients @ x <= upper``."""
        nonzero = self._columns[coefficients != 0]
        self._model.addRow(lower, upper, len(nonzero), nonzero, coefficients[nonzero])

    def change_column_bounds(self, column: int, lower: float, upper: float) -> None:
        """Change the bounds of a variable."""
        self._model.changeColBounds(column, lower, upper)

    def change_row_bounds(self, row: int, lower: float, upper: float) -> None:
        """Change the two sides of a row."""
        self._model.changeRowBounds(row, lower, upper)

    def delete_rows(self, rows: NDArray[np.intp]) -> None:
        """Delete rows; those behind them move up."""
        self._model.deleteRows(len(rows), rows.astype(np.int32))

    def solve(self) -> tuple[Vector, Vector] | None:
        """Return solution and row multipliers, or `None` if the rows contradict each other.

        Raises
        ------
        RuntimeError
            HiGHS neither solved the program nor proved it infeasible: warm, cold, with looser tolerances, by its
            interior point method.
        """
        for options in _ATTEMPTS:
            if options is not _ATTEMPTS[0]:
                self._model.clearSolver()
            for name, value in options.items():
                self._model.setOptionValue(name, value)
            self._model.run()
            status = self._model.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                break
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS stopped with status {self._model.modelStatusToString(status)}")
        solution = self._model.getSolution()
        return np.array(solution.col_value), np.array(solution.row_dual)

    def __deepcopy__(self, memo: dict[int, Any]) -> WarmLP:
        copy = WarmLP.__new__(WarmLP)
        copy._columns = self._columns
        copy._model = _new_model()
        copy._model.passModel(self._model.getLp())
        copy._model.setBasis(self._model.getBasis())
        return copy


def _new_model() -> highspy.Highs:
    model = highspy.Highs()
    for name, value in (("output_flag", False), ("presolve", "off"), ("threads", 1)):
        model.setOptionValue(name, value)
    return model
