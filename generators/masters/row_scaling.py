"""All cuts of a pool as one list of rows, as steep as each other."""

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.generators.masters.cut_pool import CutPool

FEASIBLE = 1e-9  # tolerance of feasibility cuts, relative to their largest entry


class ScaledRows:
    """Objective cuts counted from the best value, then feasibility cuts, scaled to the slope of the first of those."""

    def __init__(self, pool: CutPool) -> None:
        self._objective, self._feasibility = objective, feasibility = pool.objective, pool.feasibility
        self.count = len(objective)  # number of objective cuts
        unit = float(objective.steepness[0]) or 1.0
        self.scale = unit / feasibility.steepness  # factors of the feasibility cuts
        self.allowed = FEASIBLE * unit  # that tolerance, of their scaled values
        # Variables with an entry in some row; all, where a row is dense.
        self.touched = objective.touched | feasibility.touched
        top = pool.upper if np.isfinite(pool.upper) else float(objective.value[0])
        # As in `Rows`; those of feasibility cuts leave room for their tolerance.
        self.constants = np.r_[objective.constant - top, feasibility.constant * self.scale + self.allowed]
        self.size = np.r_[objective.size, feasibility.size * self.scale]
        self.error = np.r_[objective.error, feasibility.error * self.scale] + EPS * self.size

    def begin(self, numbers: tuple[NDArray[np.intp], NDArray[np.intp]], multipliers: tuple[Vector, Vector]) -> Vector:
        """Multipliers to start from: those known of these serial numbers, else the newest objective cut."""
        u = self._objective.known(numbers[0], multipliers[0])
        if not u.sum() > 0:
            u[-1] = 1.0
        begun: Vector = np.r_[u / u.sum(), self._feasibility.known(numbers[1], multipliers[1]) / self.scale]
        return begun

    def values(self, point: Vector) -> Vector:
        """Values of all rows at a point."""
        of_rows = np.r_[self._objective.products(point), self._feasibility.products(point) * self.scale]
        result: Vector = self.constants + of_rows
        return result

    def combine(self, multipliers: Vector) -> Vector:
        """Slope of the rows' combination by multipliers."""
        slope = self._objective.combine(multipliers[: self.count])
        if len(self.scale):
            slope = slope + self._feasibility.combine(multipliers[self.count :] * self.scale)
        return slope

    def block(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Matrix:
        """Some columns of some rows."""
        split = int(np.searchsorted(rows, self.count))
        block = np.empty((len(rows), len(columns)))
        block[:split] = self._objective.block(rows[:split], columns)
        if split < len(rows):
            halves = rows[split:] - self.count
            block[split:] = self._feasibility.block(halves, columns) * self.scale[halves, None]
        return block
