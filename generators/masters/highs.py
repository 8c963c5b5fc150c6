"""A linear program kept alive in HiGHS: rows and columns come and go, the basis stays warm."""

import highspy
import numpy as np
from numpy.typing import NDArray

from oracle_opt._highs_model import HighsError, HighsProgram, Options
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
    "ipm_iteration_limit": 200,  # an interior point method that needs more than this will not succeed
}


class LPFailure(RuntimeError):
    """HiGHS neither solved a linear program nor proved it infeasible."""


class WarmLP:
    """``min cost @ x`` over bounds and rows, solved from the last basis after rows or columns were added.

    Dual simplex after a row, primal after a column; copies go on from the same basis.
    """

    def __init__(self, cost: Vector, lower: Vector, upper: Vector, units: Vector | None = None) -> None:
        self._program = HighsProgram(_OPTIONS)
        # Row multipliers that prove the contradiction `solve` found last; empty if HiGHS gave none.
        self.ray = np.zeros(0)
        self._program.add_columns(lower, upper, None, units)
        self._program.change_costs(cost)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._program.n_rows

    def add_columns(self, lower: Vector, upper: Vector, matrix: Matrix, units: Vector) -> None:
        """Add columns, those of `matrix`, of shape (n_rows, number of columns), counted in units."""
        self._program.add_columns(lower, upper, matrix, units)

    def add_rows(self, matrix: Matrix, lower: Vector, upper: Vector, units: Vector | None = None) -> None:
        """Add the rows ``lower <= matrix @ x <= upper``, multiplied by units."""
        try:
            self._program.add_rows(matrix, lower, upper, units)
        except HighsError as problem:
            raise LPFailure(str(problem)) from problem

    def change_column_bounds(self, column: int, lower: float, upper: float) -> None:
        """Change the bounds of a variable."""
        self._program.change_bounds(column, lower, upper)

    def change_rows_upper(self, rows: NDArray[np.intp], upper: Vector) -> None:
        """Change the right-hand sides of rows ``matrix @ x <= upper``."""
        self._program.change_sides(rows, np.full(len(rows), -np.inf), upper)

    def delete_rows(self, rows: NDArray[np.intp]) -> None:
        """Delete rows; those behind them move up."""
        self._program.delete_rows(rows)

    def solve(self) -> tuple[Vector, Vector] | None:
        """Return solution and row multipliers, or `None` if the rows contradict each other; no attempt cycles."""
        contradicted, program = False, self._program
        self.ray = np.zeros(0)
        program.limit_steps()
        for attempt, options in enumerate(_ATTEMPTS):
            if attempt:
                program.forget()
            program.set_options(options)
            try:
                status = program.run()
            except HighsError as problem:  # of numbers that rounding has made contradict each other
                raise LPFailure(str(problem)) from problem
            if status == highspy.HighsModelStatus.kOptimal:
                x, duals = program.solution()
                if np.isfinite(x).all() and np.isfinite(duals).all():
                    return x, duals
            # at tight tolerances rows that touch may seem to contradict each other; they do if no attempt succeeds
            if status == highspy.HighsModelStatus.kInfeasible:
                contradicted, ray = True, program.ray()
                self.ray = self.ray if ray is None else ray
        if contradicted:
            return None
        raise LPFailure(program.ending(status))
