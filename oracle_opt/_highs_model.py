"""HiGHS as every linear program here uses it: options, units, the deadline, and a look at every status it returns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector

if TYPE_CHECKING:
    import highspy
    from scipy import sparse

Options = Mapping[str, bool | int | float | str]
Indices = NDArray[np.intp]

SMALL, LARGE = 1e-12, 1e15  # HiGHS drops entries up to the one, and refuses those from the other on
_FAR = 1e-9  # an entry below it, or above its inverse, asks for another unit
_NEXT = 40.0  # by so many powers of 2 a bound is less than 1, and than the other one, if it is next to 0
_SWEEPS = 20  # of the search for units, each of which halves what is left to do
_LEAST, _MOST = -3.0, 10.0  # sizes from 2^-3 to 2^10 count as 1, so that ordinary programs stay as they are


class HighsError(RuntimeError):
    """HiGHS did not take a program, or could not run it."""


class HighsProgram:
    """``min cost @ x`` over bounds and ``lower <= A @ x <= upper``, kept alive in HiGHS with its last basis.

    Presolve would forget the basis, and bounds that differ by less than the tolerance are infeasible. Threads are left
    alone: HiGHS has one scheduler a process, and another number makes later runs fail. Units are powers of 2.
    """

    def __init__(self, options: Options) -> None:
        self._options = {"presolve": "off", "small_matrix_value": SMALL, **options}
        self._model = silent_highs()()
        self._set: dict[str, bool | int | float | str] = {}
        self.set_options(self._options)
        self._rows, self._columns = np.ones(0), np.ones(0)  # rows are multiplied by it, columns counted in it
        self._cost_unit = 1.0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def set_options(self, options: Options) -> None:
        """Set options of HiGHS, as far as they change."""
        for name, value in options.items():
            if self._set.get(name) != value:
                self._model.setOptionValue(name, value)
                self._set[name] = value

    def add_columns(
        self, lower: Vector, upper: Vector, matrix: Matrix | None = None, units: Vector | None = None
    ) -> None:
        """Add columns of no cost, those of `matrix`, of shape (n_rows, number of columns)."""
        count = len(lower)
        units = np.ones(count) if units is None else units
        starts, places, values = _sparse(np.zeros((count, 0)) if matrix is None else (matrix * self._rows[:, None]).T)
        values = values * np.repeat(units, np.diff(np.r_[starts, len(values)]))
        bounds = lower / units, upper / units
        self._took(self._model.addCols(count, np.zeros(count), *bounds, len(values), starts, places, values), "columns")
        self._columns = np.r_[self._columns, units]

    def add_rows(
        self, matrix: Matrix | sparse.csr_array, lower: Vector, upper: Vector, units: Vector | None = None
    ) -> None:
        """Add the rows ``lower <= matrix @ x <= upper``."""
        starts, places, values = _sparse(matrix)
        values = values * self._columns[places]
        if units is None:
            units = np.ones(len(lower))
        else:
            values *= np.repeat(units, np.diff(np.r_[starts, len(values)]))
        status = self._model.addRows(len(lower), lower * units, upper * units, len(values), starts, places, values)
        self._took(status, "rows")
        self._rows = np.concatenate([self._rows, units])

    def change_costs(self, cost: Vector) -> None:
        """Change all costs."""
        cost = cost * self._columns
        self._cost_unit = float(np.exp2(np.frexp(np.abs(cost).max(initial=0.0))[1] - 1.0)) if cost.any() else 1.0
        columns = np.arange(len(cost), dtype=np.int32)
        self._took(self._model.changeColsCost(len(cost), columns, cost / self._cost_unit), "costs")

    def change_entry(self, row: int, column: int, value: float) -> None:
        """Change an entry of the matrix; its variable is counted anew where the entry would be far from 1."""
        size = abs(value) * float(self._rows[row] * self._columns[column])
        if value and not _FAR < size < 1.0 / _FAR:
            self._count(column, 2.0 ** -np.rint(np.log2(size)))
        value *= float(self._rows[row] * self._columns[column])
        self._took(self._model.changeCoeff(row, column, value), "an entry")

    def _count(self, column: int, factor: float) -> None:
        """Count a variable in a unit so many times its own."""
        _, cost, lower, upper, _ = self._model.getCol(column)
        _, rows, values = self._model.getColEntries(column)
        self._columns[column] *= factor
        self._took(self._model.changeColCost(column, cost * factor), "a cost")
        self._took(self._model.changeColBounds(column, lower / factor, upper / factor), "bounds")
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            self._took(self._model.changeCoeff(row, column, value * factor), "an entry")

    def change_sides(self, rows: Indices, lower: Vector, upper: Vector) -> None:
        """Change the sides of rows."""
        units = self._rows[rows]
        status = self._model.changeRowsBounds(len(rows), rows.astype(np.int32), lower * units, upper * units)
        self._took(status, "sides")

    def change_bounds(self, column: int, lower: float, upper: float) -> None:
        """Change the bounds of a variable."""
        unit = float(self._columns[column])
        self._took(self._model.changeColBounds(column, lower / unit, upper / unit), "bounds")

    def delete_rows(self, rows: Indices) -> None:
        """Delete rows; those behind them move up."""
        self._took(self._model.deleteRows(len(rows), rows.astype(np.int32)), "fewer rows")
        self._rows = np.delete(self._rows, rows)

    def forget(self) -> None:
        """Begin the next run without what is known from the last one."""
        self._model.clearSolver()

    def limit_steps(self) -> None:
        """Limit the steps of the simplex method to several times what it takes from any basis."""
        self.set_options({"simplex_iteration_limit": 5000 + 50 * (len(self._rows) + len(self._columns))})

    def run(self) -> highspy.HighsModelStatus:
        """Solve, or go on solving, until the deadline at most; return how it ended."""
        import highspy

        self.set_options({"time_limit": self._model.getRunTime() + seconds_left()})
        ran = self._model.run()
        status: highspy.HighsModelStatus = self._model.getModelStatus()
        if ran == highspy.HighsStatus.kError and status == highspy.HighsModelStatus.kNotset:
            raise HighsError(
                "HiGHS ended with an error before it began to solve; if another part of this process runs HiGHS with "
                "a number of threads of its own, call highspy.Highs.resetGlobalScheduler(True) in between"
            )
        return status

    def ending(self, status: highspy.HighsModelStatus) -> str:
        """How a solve ended, for a message."""
        return f"HiGHS stopped with status {self._model.modelStatusToString(status)}"

    def solution(self) -> tuple[Vector, Vector]:
        """The last solution, and the multipliers of its rows."""
        found = self._model.getSolution()
        return np.array(found.col_value) * self._columns, np.array(found.row_dual) * self._rows * self._cost_unit

    def ray(self) -> Vector | None:
        """Row multipliers that prove the contradiction found last, if HiGHS has some."""
        _, found, ray = self._model.getDualRay()
        return np.array(ray) * self._rows if found else None

    def basis(self) -> Any:
        """The last basis, of HiGHS' own class."""
        return self._model.getBasis()

    def begin(self, basis: Any) -> None:
        """Begin the next run at a basis as of `basis`."""
        self._took(self._model.setBasis(basis), "a basis")

    def __deepcopy__(self, memo: dict[int, Any]) -> HighsProgram:
        copy = HighsProgram(self._options)
        copy._took(copy._model.passModel(self._model.getLp()), "a copy")
        copy.begin(self.basis())
        copy._rows, copy._columns, copy._cost_unit = self._rows, self._columns, self._cost_unit
        return copy

    def _took(self, status: highspy.HighsStatus, what: str) -> None:
        import highspy

        if status == highspy.HighsStatus.kError:
            raise HighsError(f"HiGHS does not take {what}: a number is no number, or above {LARGE:g} in its unit")


@cache
def silent_highs() -> type[highspy.Highs]:
    """HiGHS that is told to be silent before its constructor sets callbacks: version 1.16 prints its name there."""
    import highspy  # only here and where it solves: the import takes time

    class Silent(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return Silent


def units_of(matrix: sparse.csr_array, sides: Vector, lower: Vector, upper: Vector) -> tuple[Vector, Vector]:
    """Powers of 2 as units of rows and columns: the largest term of a row is about 1 where x is about its unit.

    Logarithms are centered by rows and columns in turn, a side being an entry in a column of unit 1 (Curtis & Reid
    1972). A bound is the size of a variable where 0 is not between both, else the largest size.
    """
    m, n = matrix.shape
    with np.errstate(divide="ignore"):
        entries, side = np.log2(np.abs(matrix.data)), np.log2(np.abs(sides))
        certain = np.log2(np.maximum(np.maximum(lower, -upper), 0.0))
        most = np.log2(np.maximum(np.abs(lower), np.abs(upper)))
    used = np.isfinite(entries)
    entries, column = entries[used], matrix.indices[used]
    row = np.repeat(np.arange(m), np.diff(matrix.indptr))[used]
    # a side or a bound next to 0 is no size
    side[side < -5.0 * _NEXT] = -np.inf
    certain[~np.isfinite(certain) | (certain < np.minimum(most, 0.0) - _NEXT)] = np.nan
    u, v = np.zeros(m), np.zeros(n)
    for _ in range(_SWEEPS):
        before = v
        u = -_middle(entries + v[column], row, side)
        # a certain bound is a row of its own, with the entries v and that
        v = -_middle(entries + u[row], column, -0.5 * (v + certain))
        if np.abs(v - before).max(initial=0.0) < 0.5:
            break
    v = np.minimum(v, np.where(np.isfinite(most), most, np.inf))
    v = _counted(v)
    return np.exp2(-_counted(np.maximum(_extreme(np.maximum, entries + v[column], row, m), side))), np.exp2(v)


def units_of_sizes(sizes: Vector) -> Vector:
    """Units in which numbers of these sizes are about 1, powers of 2; 1 for those near 1, for 0 and for infinity."""
    with np.errstate(divide="ignore"):
        units: Vector = np.exp2(_counted(np.log2(sizes)))
    return units


def _counted(size: Vector) -> Vector:
    """Whole logarithms of sizes, 0 for those that count as 1 and for none."""
    counted: Vector = np.where(((size >= _LEAST) & (size <= _MOST)) | np.isinf(size), 0.0, np.rint(size))
    return counted


def _extreme(of: np.ufunc, values: Vector, group: Indices, count: int) -> Vector:
    """Largest or least value of each group, infinite where there is none."""
    found = np.full(count, -np.inf if of is np.maximum else np.inf)
    of.at(found, group, values)
    return found


def _middle(values: Vector, group: Indices, one: Vector) -> Vector:
    """The middle of the largest and the least value of each group and one more, where that is finite; 0 of nothing."""
    some = np.isfinite(one)
    most = np.maximum(_extreme(np.maximum, values, group, len(one)), np.where(some, one, -np.inf))
    least = np.minimum(_extreme(np.minimum, values, group, len(one)), np.where(some, one, np.inf))
    middle: Vector = 0.5 * (np.where(np.isfinite(most), most, 0.0) + np.where(np.isfinite(least), least, 0.0))
    return middle


def _sparse(matrix: Matrix | sparse.csr_array) -> tuple[NDArray[np.int32], NDArray[np.int32], Vector]:
    """Starts, column numbers and values of the rows' entries that are not zero."""
    if not isinstance(matrix, np.ndarray):
        starts, places, values = matrix.indptr[:-1], matrix.indices, matrix.data
    else:
        rows, places = matrix.nonzero()
        starts, values = rows.searchsorted(np.arange(len(matrix))), matrix[rows, places]
    return starts.astype(np.int32), places.astype(np.int32), values
