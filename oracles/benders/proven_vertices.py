"""Upper bounds of scenarios' costs by vertices that are proven to be feasible: many at a time, in floats.

With v = (y, r) and C = [W, -I], the points of a second stage are those of ``C v = 0`` within bounds. A basis B says
``C_B v_B = -C_N v_N``, with v_N at bounds, or a little inside. Let R be nearly the inverse of C_B, ``abs(I - R C_B) <=
E`` with row sums below 1. Then there is exactly one such v_B, and it is near to any u, by what u misses,
``miss = abs(C_B u + C_N v_N)`` and its rounding:

    abs(v_B - u)  <=  w + (E 1) max(w) / (1 - max(E 1)),     w = abs(R) miss.

It is a point of the second stage if u is that far inside the bounds, and costs no more than ``q @ u`` and that much.
Where a vertex is on more bounds than it has to be, as many are, that does not show. Then bases are those of programs
whose bounds are moved inside, and v_N a little inside, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.benders.dual_simplex import small_enough
from oracle_opt.oracles.benders.scenario_data import Indices, ScenarioData
from oracle_opt.oracles.benders.scenario_points import Bases, Programs
from oracle_opt.oracles.benders.vertices import BASIC, LOWER, UPPER, inverses

_ROOM = 1e-8  # by which bounds are moved inside to find bases, relative to 1 and to the bound
_SHARES = (0.0, 1e-4, 1e-2, 1.0)  # of that room that is left to points, one after the other
_PATIENCE = 3  # programs without a point, as where rows imply equations, before no more are tried
_NUMBERS = 1 << 22  # in the inverses in memory at a time


@dataclass(frozen=True)
class Ends:
    """Bounds of the columns of ``[W, -I]`` in some scenarios, and the room that is left to each."""

    low: Matrix
    high: Matrix
    low_room: Matrix
    high_room: Matrix
    doubt: Matrix

    @classmethod
    def of(cls, y_lower: Vector, y_upper: Vector, lower: Matrix, upper: Matrix, doubt: Matrix) -> Ends:
        """The ends that bounds of y and sides of rows make, a line a scenario."""
        shape = len(lower), len(y_lower)
        low, high = (
            np.hstack([np.broadcast_to(one, shape), side]) for one, side in ((y_lower, lower), (y_upper, upper))
        )
        doubt = np.hstack([np.zeros(shape), doubt])
        width = np.maximum(0.25 * (high - low) - 2.0 * doubt, 0.0)
        rooms = [np.minimum(_ROOM * (1.0 + np.abs(end)), width) for end in (low, high)]
        low_room, high_room = (np.where(np.isfinite(one), one, 0.0) for one in rooms)
        return cls(low, high, low_room, high_room, doubt)

    def take(self, lines: Indices) -> Ends:
        """The ends of some scenarios."""
        return Ends(*(one[lines] for one in (self.low, self.high, self.low_room, self.high_room, self.doubt)))


class ProvenVertices:
    """Finds bases for scenarios of a two-stage program, and proves what their vertices cost."""

    def __init__(self, data: ScenarioData) -> None:
        self._data, problem = data, data.problem
        self._m, self._k = problem.W.shape
        bounds = Ends.of(problem.y_lower, problem.y_upper, np.zeros((1, 0)), np.zeros((1, 0)), np.zeros((1, 0)))
        inside = (bounds.low + bounds.low_room)[0], (bounds.high - bounds.high_room)[0]
        each = ((problem.y_lower, problem.y_upper), inside)
        self._plain, self._inside = (Programs(problem.q, data.W, *one) for one in each)
        self._alike = problem.only_rows_vary
        self.solved: tuple[Matrix, Bases] | None = None  # points and bases of all lines of the last call, if alike
        self._columns = (
            np.hstack([data.W.toarray(), -np.eye(self._m)]) if small_enough((self._m, self._k)) else np.zeros((0, 0))
        )

    def costs(self, members: Indices, lower: Matrix, upper: Matrix, doubt: Matrix) -> tuple[Vector, Vector]:
        """Upper bounds of the costs of scenarios, infinite where none is proven, and what they are about, NaN there."""
        bound, near = np.full(len(members), np.inf), np.full(len(members), np.nan)
        if not small_enough((self._m, self._k)):
            return bound, near
        ends = Ends.of(self._data.problem.y_lower, self._data.problem.y_upper, lower, upper, doubt)
        cost, entries = self._data.costs(members), self._data.recourse(members)
        for programs, room, patience in ((self._plain, 0.0, np.inf), (self._inside, 1.0, _PATIENCE)):
            left = np.flatnonzero(np.isinf(bound))
            some = ends.take(left)
            rows = (some.low + room * some.low_room)[:, self._k :], (some.high - room * some.high_room)[:, self._k :]
            mine = cost if len(cost) == 1 else cost[left]
            if self._alike:
                y, bases = programs.solved(*rows, patience)
                self.solved = self.solved if programs is self._inside else (y, bases)
            else:
                bases = programs.solved_each(mine, self._data.recourse_entries, entries[left], *rows, patience)
            found = np.flatnonzero(bases.which >= 0)
            found = found[(bases.at[bases.which[found]] == BASIC).sum(axis=1) == self._m]
            step = max(1, _NUMBERS // (self._m * (self._m + (0 if self._alike else self._k)) + self._k + 1))
            for start in range(0, len(found), step):
                which = found[start : start + step]
                lines, these = left[which], Bases(bases.at, bases.which[which])
                above, about = self._proven(
                    these, ends.take(lines), cost if len(cost) == 1 else cost[lines], entries[lines]
                )
                bound[lines] = above
                near[lines] = np.where(np.isnan(near[lines]), about, near[lines])
        return bound, near

    def _proven(self, bases: Bases, ends: Ends, cost: Matrix, entries: Matrix) -> tuple[Vector, Vector]:
        m, k = self._m, self._k
        used, which = np.unique(bases.which, return_inverse=True)
        at = bases.at[used]
        basic = np.nonzero(at == BASIC)[1].reshape(-1, m)
        columns = self._columns
        if self._alike:
            matrices = np.ascontiguousarray(columns[:, basic].transpose(1, 0, 2))
        else:  # each scenario has a basis of its own
            every = np.repeat(columns[None], len(which), axis=0)
            rows, places = self._data.recourse_entries.T
            every[:, rows, places] = entries
            matrices = np.take_along_axis(every, basic[which][:, None, :], 2)
            which, at, basic = np.arange(len(which)), at[which], basic[which]
        inverse, good = np.zeros_like(matrices), np.zeros(len(matrices), dtype=bool)
        found, good = inverses(matrices)
        inverse[good] = found
        sizes = np.abs(inverse)
        off = np.abs(np.eye(m) - inverse @ matrices) + EPS * (m + 4) * (sizes @ np.abs(matrices))
        off = 1.01 * off.sum(axis=2)
        worst = off.max(axis=1, initial=0.0)
        good &= worst < 0.01  # not so where a number is none
        off = off / (1.0 - np.where(good, worst, 0.0))[:, None]

        bound, near = np.full(len(which), np.inf), np.full(len(which), np.nan)
        at_line, basic_line = at[which], basic[which]
        low, high, doubt = (np.take_along_axis(one, basic_line, 1) for one in (ends.low, ends.high, ends.doubt))
        costs = np.broadcast_to(np.hstack([cost, np.zeros((len(cost), m))]), ends.low.shape)
        paid_basic = np.take_along_axis(costs, basic_line, 1)
        left = np.flatnonzero(good[which])
        for share in _SHARES:
            if not len(left):
                break
            w = which[left]
            where, e = at_line[left], ends.take(left)
            rest = np.where(where == LOWER, e.low + share * e.low_room, 0.0)
            rest = np.where(where == UPPER, e.high - share * e.high_room, rest)
            if self._alike:
                right, right_size = -(rest @ columns.T), np.abs(rest) @ np.abs(columns).T
            else:
                right = -np.matmul(every[left], rest[:, :, None])[:, :, 0]
                right_size = np.matmul(np.abs(every[left]), np.abs(rest)[:, :, None])[:, :, 0]
            u = _times(inverse, w, right)
            u = u + _times(inverse, w, right - _times(matrices, w, u))
            miss = np.abs(right - _times(matrices, w, u)) + e.doubt[:, k:]
            miss += EPS * (m + k + 8) * (right_size + _times(np.abs(matrices), w, np.abs(u)))
            reach = _times(sizes, w, miss)
            reach = 1.01 * (reach + off[w] * reach.max(axis=1, initial=0.0)[:, None])
            need = reach + 1.01 * doubt[left] + EPS * np.abs(u)
            fits = ((u - low[left] >= need) & (high[left] - u >= need)).all(axis=1)
            terms = np.abs(u * paid_basic[left]).sum(axis=1) + np.abs(rest * costs[left]).sum(axis=1)
            total = (u * paid_basic[left]).sum(axis=1) + (rest * costs[left]).sum(axis=1)
            over = total + (np.abs(paid_basic[left]) * reach).sum(axis=1) + EPS * (m + k + 8) * terms
            if share == 0.0:
                near[left] = total
            bound[left[fits]] = np.nextafter(over[fits], np.inf)
            left = left[~fits]
        near[np.isnan(near) & np.isfinite(bound)] = bound[np.isnan(near) & np.isfinite(bound)]
        return bound, near


def _times(matrices: Matrix, which: Indices, vectors: Matrix) -> Matrix:
    """The product of a matrix and a vector, for each line; lines of the same matrix together where they are many."""
    if len(matrices) * 4 > len(which):
        product: Matrix = np.matmul(matrices[which], vectors[:, :, None])[:, :, 0]
        return product
    result = np.empty_like(vectors)
    order = np.argsort(which, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(which[order])) + 1, len(which)]
    for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
        some = order[start:end]
        result[some] = vectors[some] @ matrices[which[some[0]]].T
    return result
