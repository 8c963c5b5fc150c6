"""Units of the second stage, powers of 2: tolerances inside are relative to the terms of a row, in whatever unit it is.

A row is multiplied by its unit, a variable counted in its own; nothing is rounded. Dual vectors in units are those of
the problem over the units of the rows: whoever sees one from outside sees it in the numbers of the problem.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from oracle_opt._highs_model import units_of
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.benders.random_block import RandomBlock
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem


@dataclass(frozen=True, eq=False)
class Units:
    """The factors of the rows, shape (m,), and the units of the variables of the second stage, shape (k,)."""

    rows: Vector
    columns: Vector

    @classmethod
    def of(cls, problem: TwoStageProblem) -> Units:
        """The units in which the terms of all scenarios are about 1."""
        W, T = sparse.lil_array(abs(problem.W)), sparse.lil_array(abs(problem.T))
        sides = np.where(np.isinf(problem.rhs), 0.0, np.abs(problem.rhs))
        for block in problem.blocks:
            np.maximum.at(sides, block.rows, _largest(block.rhs))
            for places, values, matrix in (
                (block.recourse_entries, block.recourse, W),
                (block.technology_entries, block.technology, T),
            ):
                for (i, j), size in zip(places.tolist(), _largest(values).tolist(), strict=True):
                    matrix[i, j] = max(matrix[i, j], size)
        # the first stage is counted as it is; it tells the unit of a row that has nothing else
        sizes = sparse.csr_array(W)
        steep = sparse.csr_array(T).max(axis=1).toarray().ravel()
        alone = (np.diff(sizes.indptr) == 0) & (sides == 0)
        return cls(*units_of(sizes, np.where(alone, steep, sides), problem.y_lower, problem.y_upper))

    def __call__(self, problem: TwoStageProblem) -> TwoStageProblem:
        """The problem in these units."""
        made, r, c = copy(problem), self.rows, self.columns
        if (r == 1).all() and (c == 1).all():
            return made
        made.q = problem.q * c
        made.T = sparse.csr_array(sparse.diags_array(r) @ problem.T)
        made.W = sparse.csr_array(sparse.diags_array(r) @ problem.W @ sparse.diags_array(c))
        made.row_lower, made.row_upper = problem.row_lower * r, problem.row_upper * r
        made.y_lower, made.y_upper = problem.y_lower / c, problem.y_upper / c
        made.blocks = tuple(self._block(block) for block in problem.blocks)
        return made

    def _block(self, block: RandomBlock) -> RandomBlock:
        given = block.rhs, block.cost, block.technology, block.recourse
        rhs, cost, technology, recourse = (np.zeros(0) if one is None else one for one in given)
        r, c = self.rows, self.columns
        i, j = block.recourse_entries.T
        return replace(
            block,
            rhs=rhs * r[block.rows],
            cost=cost * c[block.cost_columns],
            technology=technology * r[block.technology_entries[:, 0]],
            recourse=recourse * r[i] * c[j],
        )


def _largest(outcomes: Matrix | None) -> Vector:
    """Largest size of each entry of a block."""
    return np.zeros(0) if outcomes is None else np.abs(outcomes).max(axis=0, initial=0.0)
