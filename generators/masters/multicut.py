"""The linear program of the multicut model: one epigraph variable a summand of the function."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.cut_pool import CutPool, Rows
from oracle_opt.generators.masters.highs import Matrix
from oracle_opt.generators.masters.linear_program import CutLP, CutRows, row_factors


class MulticutLP(CutLP):
    """``min sum_j theta_j`` with ``theta_j >= constant_i + slope_i @ z`` for the cuts i of the summand j.

    Whole cuts, of calls without parts and the aggregate of cuts that were dropped, bound the sum of all theta_j. Units
    and scales are those of `ModelLP`; theta_j is counted from the first cut of its summand.

    Parameters
    ----------
    domain : Domain
        With bounded linear constraints.
    n_parts : int
        Number of summands.

    References
    ----------
    Birge & Louveaux (1988), "A multicut algorithm for two-stage stochastic linear programs".
    """

    def __init__(self, domain: Domain, n_parts: int) -> None:
        super().__init__(domain, -np.inf, np.inf, n_parts)
        self._parts = CutRows()
        self._unit = 0.0
        self._origins = np.zeros(n_parts)

    def keep(self, mask: NDArray[np.bool_], parts: NDArray[np.bool_]) -> None:
        """Drop the objective cuts, and those of parts, that the pool dropped."""
        self._drop(self._objective, mask, [self._feasibility, self._parts])
        self._drop(self._parts, parts, [self._feasibility, self._objective])

    def _groups(self, pool: CutPool) -> list[tuple[CutRows, Rows]]:
        return [*super()._groups(pool), (self._parts, pool.parts)]

    def _current_level(self, pool: CutPool) -> float:
        if not self._unit:
            parts = pool.parts
            first = np.unique(parts.part, return_index=True)[1]
            self._unit = float(np.abs(parts.matrix[first]).max()) or 1.0
            self._origins = parts.constant[first] + parts.matrix[first] @ self._domain.interior_point()
        return float(self._origins.sum())

    def _factors(self, slopes: Matrix, objective: bool) -> tuple[Vector, Vector]:
        return row_factors(slopes, objective, self._unit)

    def _heights(self, weights: Vector, parts: NDArray[np.intp], of: CutRows) -> Matrix:
        if of is not self._parts:
            return np.tile(-weights[:, None], self._n_heights)
        matrix = np.zeros((len(weights), self._n_heights))
        matrix[np.arange(len(weights)), parts] = -weights
        return matrix

    def _levels(self, level: float, parts: NDArray[np.intp], of: CutRows) -> Vector | float:
        return self._origins[parts] if of is self._parts else super()._levels(level, parts, of)

    def _part_multipliers(self, duals: Vector, pool: CutPool) -> Vector:
        return self._parts.multipliers(duals)
