"""The cutting-plane model minimised by a linear program: the master of Kelley, the lower bound of others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain
from oracle_opt.cuts import Vector
from oracle_opt.generators._cuts import CutPool
from oracle_opt.generators._highs import WarmLP


@dataclass(frozen=True, eq=False)
class ModelMinimum:
    """Minimum of the cutting-plane model, where it is, and the multipliers that prove it."""

    point: Vector
    value: float
    objective: Vector
    feasibility: Vector


class ModelLP:
    """``min theta`` subject to ``theta >= constant_i + slope_i @ z``, feasibility cuts and the domain.

    theta is counted from the first cut's value in units of its slope, and every row is divided by its largest entry,
    so that the solver's absolute tolerances mean the same on every problem.

    Parameters
    ----------
    domain : Domain
        With bounded linear constraints.
    """

    def __init__(self, domain: Domain) -> None:
        constraints = domain.linear_constraints()
        assert constraints is not None
        n = domain.dimension
        # theta stays fixed until the first objective cut bounds it from below
        self._lp = WarmLP(np.r_[np.zeros(n), 1.0], np.r_[constraints.lower, 0.0], np.r_[constraints.upper, 0.0])
        for row, rhs in zip(constraints.equality_matrix, constraints.equality_rhs, strict=True):
            self._lp.add_row(np.r_[row, 0.0], rhs, rhs)
        self._domain = domain
        self._objective_rows = np.zeros(0, dtype=np.intp)
        self._feasibility_rows = np.zeros(0, dtype=np.intp)
        self._scales: list[float] = []
        self._unit = 0.0
        self._origin = 0.0

    def solve(self, pool: CutPool) -> ModelMinimum | None:
        """Take up the pool's new cuts and minimise; `None` if the feasibility cuts leave nothing.

        Without objective cuts the value is -inf and the point satisfies the feasibility cuts.
        """
        self._add_new(pool)
        solved = self._lp.solve()
        if solved is None:
            return None
        solution, duals = solved
        point = self._domain.project(solution[:-1])
        if not self._unit:
            return ModelMinimum(point, -np.inf, np.zeros(0), np.zeros(len(self._feasibility_rows)))
        objective = np.maximum(duals[self._objective_rows], 0.0) * self._unit / np.asarray(self._scales)
        feasibility = np.maximum(-duals[self._feasibility_rows], 0.0) * self._unit
        value = float((pool.objective.constant + pool.objective.matrix @ point).max())
        return ModelMinimum(point, value, objective, feasibility)

    def _add_new(self, pool: CutPool) -> None:
        rows = pool.feasibility
        for i in range(len(self._feasibility_rows), len(rows)):
            self._feasibility_rows = np.append(self._feasibility_rows, self._lp.n_rows)
            self._lp.add_row(np.r_[rows.matrix[i], 0.0], -np.inf, -rows.constant[i])
        rows = pool.objective
        for i in range(len(self._objective_rows), len(rows)):
            if not self._unit:
                self._unit = float(np.abs(rows.matrix[i]).max()) or 1.0
                point = self._domain.interior_point()
                self._origin = float(rows.constant[i] + rows.matrix[i] @ point)
                self._lp.change_column_bounds(self._domain.dimension, -np.inf, np.inf)
            # theta = origin + unit * t; the row  unit * t - slope @ z >= constant - origin  divided by its scale
            scale = max(float(np.abs(rows.matrix[i]).max()), 1e-12 * self._unit)
            self._scales.append(scale)
            self._objective_rows = np.append(self._objective_rows, self._lp.n_rows)
            row = np.r_[-rows.matrix[i], self._unit] / scale
            self._lp.add_row(row, (rows.constant[i] - self._origin) / scale, np.inf)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the objective cuts the pool dropped."""
        gone = self._objective_rows[~mask]
        self._lp.delete_rows(gone)
        self._objective_rows = self._objective_rows[mask]
        self._objective_rows -= np.searchsorted(gone, self._objective_rows)
        self._feasibility_rows -= np.searchsorted(gone, self._feasibility_rows)
        self._scales = [scale for scale, kept in zip(self._scales, mask, strict=True) if kept]
