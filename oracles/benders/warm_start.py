"""Dual vertices of one two-stage program that are some of another one: what is known after demands have changed.

Whether multipliers are feasible depends on the costs and the matrix of the second stage, not on sides, technology
matrix or probabilities. So where only these are new every vertex is kept; where costs or W are, the bases are, if the
multipliers that they have now are feasible.
"""

import numpy as np
from numpy.typing import NDArray

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.dual_simplex import LARGEST, small_enough
from oracle_opt.oracles.benders.scenario_servers import InSections, Warm
from oracle_opt.oracles.benders.scenario_solvers import Bunched, Singly
from oracle_opt.oracles.benders.second_stage import SecondStage
from oracle_opt.oracles.benders.standard_form import FEASIBLE
from oracle_opt.oracles.benders.vertices import BASIC, LOWER, UPPER, ZERO, Indices

_STEP = 1 << 20  # entries of the inverses in memory at a time
Bases = tuple[Indices, NDArray[np.int8]]  # basic columns, and where each column is, a line a basis


def known_bases(server: Bunched | Singly | Warm | InSections, stage: SecondStage) -> Bases:
    """Bases that an oracle's scenarios were served with, those that are dual feasible for another program.

    Raises `InvalidArgument` where scenarios do not share dual vertices in one of the two, the old oracle knows none, or
    the second stages are not of the same rows and columns.
    """
    form = stage.form
    if not isinstance(server, Bunched | Singly) or not small_enough(form.shape):
        raise InvalidArgument(
            f"`warm` takes dual vertices, which are kept of second stages of at most {LARGEST} rows, and its problem "
            "or `problem` has more; leave `warm` out"
        )
    if isinstance(server, Singly) or not stage.problem.only_rows_vary:
        raise InvalidArgument(
            "`warm` takes dual vertices that all scenarios share, and in its problem or in `problem` costs or the "
            "recourse matrix vary between scenarios; leave `warm` out"
        )
    known = server.pool.vertices
    if not len(known):
        raise InvalidArgument(
            "`warm` knows no dual vertices: pass an oracle that has answered, without `executor` and `parts`"
        )
    m, k = form.shape
    if known.basic.shape[1] != m or known.at.shape[1] != m + k:
        old = known.basic.shape[1]
        raise InvalidArgument(
            f"`warm` must be an oracle whose second stage has the rows and columns of `problem`, {m} and {k}, "
            f"got {old} and {known.at.shape[1] - old}"
        )
    low = np.isfinite(np.r_[form.y_lower, form.row_lower])
    high = np.isfinite(np.r_[form.y_upper, form.row_upper])
    basic, at = known.basic, known.at
    there = ((at == BASIC) | ((at == LOWER) & low) | ((at == UPPER) & high) | ((at == ZERO) & ~low & ~high)).all(axis=1)
    kept = np.zeros(len(known), dtype=bool)
    cost = stage.problem.q[None]
    step = max(1, _STEP // m**2)
    for start in range(0, len(known), step):
        some = start + np.flatnonzero(there[start : start + step])
        found, good = stage.vertices(basic[some], at[some], cost, None)
        reduced = np.hstack([form.reduced(found.multipliers, cost, None)[0], found.multipliers])
        size = FEASIBLE * (1.0 + np.abs(np.r_[cost[0], np.zeros(m)]))
        wrong = ((found.at == LOWER) & (reduced < -size)) | ((found.at == UPPER) & (reduced > size))
        # with multipliers that had to be moved far inside, basic columns have reduced costs
        wrong |= ((found.at == ZERO) | (found.at == BASIC)) & (np.abs(reduced) > size)
        kept[some[good]] = ~(wrong & ~(form.fixed & (found.at != BASIC))).any(axis=1)
    return basic[kept], at[kept]
