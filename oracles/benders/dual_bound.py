"""What dual vectors of a second stage prove of its cost, on numbers of any kind, and how those are mended that miss.

For any pi, ``Q >= least(pi) + pi @ side`` with ``least(pi) = min (q - W' pi) @ y`` over the bounds of y, and side_i the
lower side of row i where pi_i > 0, the upper one where pi_i < 0: ``pi @ (W y) >= pi @ side`` for all y of the rows.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.benders.scenario_data import Indices, ScenarioData, finite_ends
from oracle_opt.proof.elimination import eliminated
from oracle_opt.proof.linear import least_over
from oracle_opt.proof.number import Numbers

INFEASIBLE = 1e-6  # a reduced cost on the wrong side by more than this, relative to its terms, is no rounding
_ROUNDS = 6  # of a repair
Line = list[Fraction]


def check_signs(pi: Matrix, row_lower: Vector, row_upper: Vector) -> None:
    """Refuse multipliers of sides that there are not."""
    wrong = ((pi > 0) & np.isinf(row_lower)) | ((pi < 0) & np.isinf(row_upper))
    if wrong.any():
        raise Refuted(f"a dual vector of its witness has the wrong sign in row {int(np.nonzero(wrong)[1][0])}")


def feasible(
    data: ScenarioData, pi: Matrix, cost: Matrix, members: Indices, kind: type[Numbers]
) -> tuple[Numbers, Numbers] | None:
    """Dual vectors that are feasible, the given ones or those next to them, and ``least(pi)``."""
    problem = data.problem
    found = kind.of(pi.T)
    reduced = _reduced(data, found, cost, members)
    missing = np.zeros(len(pi))  # the largest reduced cost on a side on which y has no end
    for way, end in ((1.0, problem.y_lower), (-1.0, problem.y_upper)):
        open_ = np.isinf(end)
        if open_.any():
            missing = np.maximum(missing, (reduced[open_] * way).above().max(axis=0).astype(float))
    if missing.any():
        sizes = abs(data.W).T @ np.abs(pi.T) + np.abs(cost.T)
        rows, columns = data.recourse_entries.T
        np.add.at(sizes, columns, np.abs(pi[:, rows] * data.recourse(members)).T)
        missing /= np.maximum(sizes.max(axis=0), np.finfo(float).tiny)
        if missing.max() > INFEASIBLE:
            raise Refuted(f"a dual vector of its witness misses a constraint of the dual by {missing.max():.1e}")
        moved = np.array(pi, dtype=object)
        for line in np.flatnonzero(missing).tolist():
            mended = _mended(data, pi[line], cost[line % len(cost)], int(members[line]))
            if mended is None:
                return None
            moved[line] = mended
        found = kind.of(moved.T)
        reduced = _reduced(data, found, cost, members)
    return found, least_over(reduced, finite_ends(problem.y_lower, problem.y_upper)[:, None], data.wide_columns)


def _reduced(data: ScenarioData, pi: Numbers, cost: Matrix, members: Indices) -> Numbers:
    """``q - W' pi``, a column a dual vector."""
    reduced, places = cost.T - pi.mapped(data.W.T), data.recourse_entries
    if len(places):
        terms = pi[places[:, 0]] * data.recourse(members).T
        reduced = reduced - terms.mapped(summing(places[:, 1], data.W.shape[1]))
    return reduced


def summing(where: Indices, count: int) -> sparse.csr_array:
    """The matrix that adds up numbers which belong to so many places."""
    return sparse.csr_array((np.ones(len(where)), (where, np.arange(len(where)))), shape=(count, len(where)))


def _mended(data: ScenarioData, pi: Vector, cost: Vector, member: int) -> Line | None:
    """One dual vector in fractions, moved by what it misses; None where it could not be made feasible.

    Reduced costs on the wrong side are solved to be 0, exactly, for entries of pi that may move, and looked at again.
    """
    problem, W = data.problem, sparse.csc_array(data.matrix(member))
    columns = [
        [(int(i), Fraction(v)) for i, v in zip(W.indices[a:b], W.data[a:b].tolist(), strict=True) if v]
        for a, b in pairwise(W.indptr.tolist())
    ]
    costs, found = [Fraction(q) for q in cost.tolist()], [Fraction(p) for p in pi.tolist()]
    ends = [*zip(np.isinf(problem.y_lower).tolist(), np.isinf(problem.y_upper).tolist(), strict=True)]
    no_lower, no_upper = np.isinf(problem.row_lower).tolist(), np.isinf(problem.row_upper).tolist()
    both = [not (low or high) for low, high in zip(no_lower, no_upper, strict=True)]
    one = [low != high for low, high in zip(no_lower, no_upper, strict=True)]
    tight: dict[int, None] = {}
    for _ in range(_ROUNDS + 1):
        pairs = zip(costs, columns, strict=True)
        reduced = [q - sum((v * found[i] for i, v in column), Fraction(0)) for q, column in pairs]
        # columns whose reduced cost draws y to where it has no end
        each = enumerate(zip(reduced, ends, strict=True))
        wrong = [j for j, (d, (falls, rises)) in each if (d > 0 and falls) or (d < 0 and rises)]
        if not wrong:
            break
        tight |= dict.fromkeys(wrong)
        # sum_i W_ij step_i = reduced_j, the steps of other entries being 0
        equations = (({i: v for i, v in columns[j] if both[i] or (one[i] and found[i])}, reduced[j]) for j in tight)
        steps = eliminated(equations, lambda _: 1)
        if steps is None:
            return None
        found = [p + steps.get(i, Fraction(0)) for i, p in enumerate(found)]
    signs = zip(found, no_lower, no_upper, strict=True)
    return None if wrong or any((p > 0 and low) or (p < 0 and high) for p, low, high in signs) else found
