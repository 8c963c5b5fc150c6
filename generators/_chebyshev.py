"""The centre of the largest ball in the localization set, by a linear program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain
from oracle_opt.cuts import Vector
from oracle_opt.generators._cuts import CutPool
from oracle_opt.generators._highs import WarmLP
from oracle_opt.generators._lp import ModelMinimum


class ChebyshevLP:
    """``max r`` such that the ball of radius r around z fits: ``(constant_i + slope_i @ z - upper) / norm_i + r <= 0``.

    The ball has to fit between the cuts; its centre alone has to lie in the domain, whose many faces would else hold
    it far from the optima that lie on them. Distances are taken inside the domain's affine hull: norm_i is that of the
    slope projected on it.

    Parameters
    ----------
    domain : Domain
        With bounded linear constraints.
    """

    def __init__(self, domain: Domain) -> None:
        constraints = domain.linear_constraints()
        assert constraints is not None
        n = domain.dimension
        self._domain = domain
        # An orthonormal basis of the equalities' normals, to project slopes on the affine hull.
        self._normals = np.linalg.qr(constraints.equality_matrix.T)[0].T if len(constraints.equality_rhs) else None
        largest = constraints.equality_rhs.max(initial=0.0) if len(constraints.equality_rhs) else np.inf
        diameter = float(np.linalg.norm(np.minimum(constraints.upper, largest) - constraints.lower))
        self._lp = WarmLP(np.r_[np.zeros(n), -1.0], np.r_[constraints.lower, 0.0], np.r_[constraints.upper, diameter])
        for row, rhs in zip(constraints.equality_matrix, constraints.equality_rhs, strict=True):
            self._lp.add_row(np.r_[row, 0.0], rhs, rhs)
        self._objective_rows = np.zeros(0, dtype=np.intp)
        self._feasibility_rows = np.zeros(0, dtype=np.intp)
        self._norms = np.zeros(0)

    def _norm(self, slope: Vector) -> float:
        inside = slope if self._normals is None else slope - self._normals.T @ (self._normals @ slope)
        return float(np.linalg.norm(inside))

    def solve(self, pool: CutPool) -> ModelMinimum | None:
        """Take up the pool's new cuts and the upper bound; `None` if no ball is left.

        The multipliers a of the objective rows give, with U the upper bound and r the radius, the lower bound
        ``U - r / sum(a / norm)``, so the gap closes with the radius.
        """
        for i in range(len(self._feasibility_rows), len(pool.feasibility)):
            row = pool.feasibility.matrix[i]
            self._feasibility_rows = np.append(self._feasibility_rows, self._lp.n_rows)
            self._lp.add_row(np.r_[row, self._norm(row)], -np.inf, -pool.feasibility.constant[i])
        for i in range(len(self._objective_rows), len(pool.objective)):
            row = pool.objective.matrix[i]
            norm = max(self._norm(row), 1e-12 * float(np.linalg.norm(row))) or 1.0
            self._objective_rows = np.append(self._objective_rows, self._lp.n_rows)
            self._norms = np.append(self._norms, norm)
            self._lp.add_row(np.r_[row / norm, 1.0], -np.inf, np.inf)
        sides = (pool.upper - pool.objective.constant) / self._norms
        for row_index, side in zip(self._objective_rows, sides, strict=True):
            self._lp.change_row_bounds(int(row_index), -np.inf, float(side))
        solved = self._lp.solve()
        if solved is None:
            return None
        solution, duals = solved
        objective = np.maximum(-duals[self._objective_rows], 0.0) / self._norms
        feasibility = np.maximum(-duals[self._feasibility_rows], 0.0)
        return ModelMinimum(self._domain.project(solution[:-1]), -np.inf, objective, feasibility)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the objective cuts the pool dropped."""
        gone = self._objective_rows[~mask]
        self._lp.delete_rows(gone)
        self._objective_rows = self._objective_rows[mask]
        self._objective_rows -= np.searchsorted(gone, self._objective_rows)
        self._feasibility_rows -= np.searchsorted(gone, self._feasibility_rows)
        self._norms = self._norms[mask]
