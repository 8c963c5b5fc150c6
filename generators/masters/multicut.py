"""The linear program of the multicut model: one epigraph variable a summand of the function."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.generators.masters.linear_program import CutLP, CutRows, row_factors


class MulticutLP(CutLP):
    """``min sum_j theta_j`` with ``theta_j >= constant_i + slope_i @ z`` for the cuts i of the summand j.

    Whole cuts, of calls without summands and the aggregate of cuts that were dropped, bound the sum of all theta_j.
    Units and scales are those of `ModelLP`; theta_j is counted from the first cut of its summand.

    Parameters
    ----------
    domain : Domain
        With bounded linear constraints.
    n_summands : int
        Number of summands.

    References
    ----------
    Birge & Louveaux (1988), "A multicut algorithm for two-stage stochastic linear programs".
    """

    def __init__(self, domain: Domain, n_summands: int) -> None:
        super().__init__(domain, -np.inf, np.inf, n_summands)
        self._summands = CutRows()
        self._unit = 0.0
        self._origins = np.zeros(n_summands)

    def keep(self, mask: NDArray[np.bool_], summands: NDArray[np.bool_]) -> None:
        """Drop the objective cuts, and those of summands, that the pool dropped."""
        self._drop(self._objective, mask, [self._feasibility, self._summands])
        self._drop(self._summands, summands, [self._feasibility, self._objective])

    def _groups(self, pool: CutPool) -> list[tuple[CutRows, Rows]]:
        return [*super()._groups(pool), (self._summands, pool.summands)]

    def _current_level(self, pool: CutPool) -> float:
        if not self._unit:
            summands = pool.summands
            first = np.unique(summands.summand, return_index=True)[1]
            self._unit = float(summands.steepness[first].max()) or 1.0
            self._origins = summands.constant[first] + summands.products(self._domain.interior_point())[first]
        return float(self._origins.sum())

    def _factors(self, slopes: Matrix, objective: bool) -> tuple[Vector, Vector]:
        return row_factors(slopes, objective, self._unit)

    def _heights(self, weights: Vector, summands: NDArray[np.intp], of: CutRows) -> Matrix:
        if of is not self._summands:
            return np.tile(-weights[:, None], self._n_heights)
        matrix = np.zeros((len(weights), self._n_heights))
        matrix[np.arange(len(weights)), summands] = -weights
        return matrix

    def _levels(self, level: float, summands: NDArray[np.intp], of: CutRows) -> Vector | float:
        return self._origins[summands] if of is self._summands else super()._levels(level, summands, of)

    def _part_multipliers(self, duals: Vector, pool: CutPool) -> Vector:
        return self._summands.multipliers(duals)
