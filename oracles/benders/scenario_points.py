"""Points of many second stages of one matrix by HiGHS: what is found here proves nothing by itself."""

from dataclasses import dataclass
from math import inf

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from oracle_opt._deadline import seconds_left
from oracle_opt._highs_model import HighsProgram
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.oracles.benders.dual_simplex import small_enough
from oracle_opt.oracles.benders.scenario_data import Indices, ScenarioData
from oracle_opt.oracles.benders.vertices import BASIC, LOWER, UPPER, ZERO
from oracle_opt.proof.plain import Plain

_NEAR = 1e-9  # by how much a basis may miss a bound, relative to 1 and to the entry
_PROBE = 64  # programs that a basis is tried on before it is tried on all
_TOLERANCES = "primal_feasibility_tolerance", "dual_feasibility_tolerance"
_ROOM = 1e-6  # most that a point inside leaves to a row or bound: more costs more
_WORTH = 1e3  # of room, in largest costs
_NEAR_X = 1e-5  # how far a point inside both stages may be from x, relative to 1 and to the entry


class Unsolved(RuntimeError):
    """HiGHS stopped for another reason than that a program has no point or no minimum."""


@dataclass(frozen=True)
class Bases:
    """Bases that are optimal in some programs, to a tolerance."""

    at: NDArray[np.int8]  # where each column of ``[W, -I]`` is in each basis, as of `Vertices`: shape (u, k + m)
    which: Indices  # that each program has, -1 for none: shape (b,)


class Programs:
    """``min cost @ y : lower <= W @ y <= upper, y_lower <= y <= y_upper`` for many sides, a line each.

    HiGHS solves the first one; its basis is tried on all that are left; and so on.
    """

    def __init__(self, cost: Vector, W: sparse.csr_array, y_lower: Vector, y_upper: Vector) -> None:
        self._y_lower, self._y_upper = y_lower, y_upper
        m = W.shape[0]
        self._rows = np.arange(m)
        self._program = HighsProgram({"solver": "simplex", **dict.fromkeys(_TOLERANCES, 1e-10)})
        self._program.add_columns(y_lower, y_upper)
        self._program.add_rows(W, np.full(m, -inf), np.full(m, inf))
        self._program.change_costs(cost)
        self._columns = sparse.csc_array(sparse.hstack([W, -sparse.eye_array(m)]))

    def solved_each(
        self, cost: Matrix, places: Indices, entries: Matrix, lower: Matrix, upper: Matrix, patience: float = inf
    ) -> Bases:
        """Bases of programs of different costs, a line each or one for all, and entries of W at these places."""
        at: list[NDArray[np.int8]] = []
        which = np.full(len(lower), -1)
        for i in range(len(lower)):
            seconds_left()
            self._program.change_costs(cost[i % len(cost)])
            for (row, column), value in zip(places.tolist(), entries[i].tolist(), strict=True):
                self._program.change_entry(row, column, value)
            if not np.isnan(self._solved(lower[i], upper[i])[0]):
                which[i] = len(at)
                at.append(self._at())
            elif not at and i + 1 >= patience:
                break
        return Bases(np.array(at, dtype=np.int8).reshape(len(at), self._columns.shape[1]), which)

    def points(self, lower: Matrix, upper: Matrix) -> Matrix:
        """Points, a line each, within the bounds of y; NaN where HiGHS finds none."""
        return self.solved(lower, upper)[0]

    def solved(self, lower: Matrix, upper: Matrix, patience: float = inf) -> tuple[Matrix, Bases]:
        """Points as of `points`, and the bases that they are of; given up if so many in the beginning have no point."""
        y = np.full((len(lower), len(self._y_lower)), np.nan)
        at: list[NDArray[np.int8]] = []
        left, which = np.arange(len(lower)), np.full(len(lower), -1)
        while len(left):
            seconds_left()
            first, left = left[0], left[1:]
            y[first] = self._solved(lower[first], upper[first])
            if np.isnan(y[first, 0]):
                patience -= 1
                if not at and patience <= 0:
                    break
                continue
            which[first] = len(at)
            at.append(self._at())
            if not len(left) or not small_enough((len(self._rows), len(self._y_lower))):
                continue
            done = self._tried(at[-1], left[:_PROBE], lower, upper, y)
            if done.any():
                done = np.r_[done, self._tried(at[-1], left[_PROBE:], lower, upper, y)]
                which[left[done]] = which[first]
                left = left[~done]
        inside: Matrix = np.clip(y, self._y_lower, self._y_upper)
        return inside, Bases(np.array(at, dtype=np.int8).reshape(len(at), self._columns.shape[1]), which)

    def _solved(self, lower: Vector, upper: Vector) -> Vector:
        program, kinds = self._program, highspy.HighsModelStatus
        program.change_sides(self._rows, lower, upper)
        self._sides = lower, upper
        none = kinds.kInfeasible, kinds.kUnbounded, kinds.kUnboundedOrInfeasible
        for attempt in ("warm", "cold", "presolved"):
            program.set_options({"presolve": "on" if attempt == "presolved" else "off"})
            status = program.run()
            if status == kinds.kOptimal:
                return program.solution()[0]
            program.forget()
            if status in none and attempt != "warm":
                return np.full(len(self._y_lower), np.nan)
        raise Unsolved(program.ending(status))

    def _at(self) -> NDArray[np.int8]:
        """Where each column is in the last basis."""
        basis, kinds = self._program.basis(), highspy.HighsBasisStatus
        found = np.fromiter(map(int, (*basis.col_status, *basis.row_status)), dtype=np.int8)
        low, high = np.r_[self._y_lower, self._sides[0]], np.r_[self._y_upper, self._sides[1]]
        at = np.where(np.isinf(low) | (found == int(kinds.kUpper)), UPPER, LOWER)
        at[np.isinf(low) & np.isinf(high)] = ZERO
        at[found == int(kinds.kBasic)] = BASIC
        return at.astype(np.int8)

    def _square(self, basic: Indices) -> Matrix:
        """Some of the columns as a dense matrix, in a fraction of the time that SciPy takes to choose them."""
        columns, made = self._columns, np.zeros((len(self._rows), len(basic)))
        counts = np.diff(columns.indptr)[basic]
        first = np.repeat(columns.indptr[basic] - np.cumsum(counts) + counts, counts)
        which = first + np.arange(counts.sum())
        made[columns.indices[which], np.repeat(np.arange(len(basic)), counts)] = columns.data[which]
        return made

    def _tried(
        self, at: NDArray[np.int8], which: Indices, lower: Matrix, upper: Matrix, y: Matrix
    ) -> NDArray[np.bool_]:
        """Points of a basis in other programs; tell for which of them it fits."""
        m, k = len(self._rows), len(self._y_lower)
        low = np.hstack([np.broadcast_to(self._y_lower, (len(which), k)), lower[which]])
        high = np.hstack([np.broadcast_to(self._y_upper, (len(which), k)), upper[which]])
        basic = np.flatnonzero(at == BASIC)
        if len(basic) != m or not len(which):
            return np.zeros(len(which), dtype=bool)
        all_ = np.where(at == UPPER, high, np.where(at == LOWER, low, 0.0))
        all_ = np.where(np.isinf(all_), 0.0, all_)
        try:
            factors = linalg.lu_factor(self._square(basic), check_finite=False)
        except linalg.LinAlgError:
            return np.zeros(len(which), dtype=bool)
        found = linalg.lu_solve(factors, -(self._columns @ all_.T), check_finite=False).T
        room = _NEAR * (1.0 + np.abs(found))
        fits = ((found >= low[:, basic] - room) & (found <= high[:, basic] + room)).all(axis=1)
        all_[:, basic] = found
        y[which[fits]] = all_[fits, :k]
        return np.asarray(fits)


def inner_points(
    cost: Vector,
    W: sparse.csr_array,
    y_lower: Vector,
    y_upper: Vector,
    equations: NDArray[np.bool_],
    lower: Matrix,
    upper: Matrix,
) -> Matrix:
    """Points of the same second stages, of nearly the same costs, that leave a little room to rows and bounds.

    The program minimizes the cost less the worth of all rooms: ``W_i y - room >= lower_i`` and so on.
    """
    k = W.shape[1]
    below, above = ~equations & np.isfinite(lower).any(axis=0), ~equations & np.isfinite(upper).any(axis=0)
    moves = (y_lower < y_upper) & equations.any()  # without equations no entry of y is moved
    y_below, y_above = moves & np.isfinite(y_lower), moves & np.isfinite(y_upper)
    eye = sparse.csr_array(sparse.eye_array(k))
    sided = sparse.vstack([W[below], W[above], eye[y_below], eye[y_above]])
    signs = np.repeat([-1.0, 1.0, -1.0, 1.0], [below.sum(), above.sum(), y_below.sum(), y_above.sum()])
    rooms = len(signs)
    none = sparse.csr_array((int(equations.sum()), rooms))
    matrix = sparse.csr_array(
        sparse.vstack([sparse.hstack([W[equations], none]), sparse.hstack([sided, sparse.diags_array(signs)])])
    )
    count = len(lower)
    wide = [np.broadcast_to(side, (count, len(side))) for side in (y_lower[y_below], y_upper[y_above])]
    lows = [lower[:, equations], lower[:, below], np.full((count, int(above.sum())), -np.inf)]
    highs = [upper[:, equations], np.full((count, int(below.sum())), np.inf), upper[:, above]]
    lows += [wide[0], np.full_like(wide[1], -np.inf)]
    highs += [np.full_like(wide[0], np.inf), wide[1]]
    program = Programs(
        np.r_[cost, np.full(rooms, -_WORTH * (float(np.abs(cost).max(initial=0.0)) or 1.0))],
        matrix,
        np.r_[y_lower, np.zeros(rooms)],
        np.r_[y_upper, np.full(rooms, _ROOM)],
    )
    found: Matrix = program.points(np.hstack(lows), np.hstack(highs))[:, :k]
    return found


def inside_of_both(data: ScenarioData, domain: Domain, x: Vector, members: Indices) -> Vector | None:
    """A point near x that leaves room to the rows of the first stage, and of the second in some scenarios together."""
    problem, n = data.problem, len(x)
    first = [problem.A, *(sparse.csr_array((problem.A.shape[0], problem.q.size)) for _ in members)]
    lines = [sparse.hstack(first)]
    for s, member in enumerate(members.tolist()):
        place = sparse.csr_array(([1.0], ([0], [s])), shape=(1, len(members)))
        lines.append(sparse.hstack([data.technology_matrix(member), sparse.kron(place, data.matrix(member))]))
    upper = data.sides(members)
    lower = upper.copy()
    lower[:, data.wide_rows[0]] = data.lower_sides(Plain.of(upper)).x
    lower[:, np.isinf(problem.row_lower)], upper[:, np.isinf(problem.row_upper)] = -np.inf, np.inf
    equations = np.r_[
        problem.first_lower == problem.first_upper,
        np.tile(problem.row_lower == problem.row_upper, len(members)),
    ]
    least, most = domain.bounding_box()
    reach = _NEAR_X * (1.0 + np.abs(x))
    costs = np.broadcast_to(data.costs(members), (len(members), problem.q.size)) * data.probability[members, None]
    found = inner_points(
        np.r_[problem.c, costs.ravel()],
        sparse.csr_array(sparse.vstack(lines)),
        np.r_[np.clip(x - reach, least, most), np.tile(problem.y_lower, len(members))],
        np.r_[np.clip(x + reach, least, most), np.tile(problem.y_upper, len(members))],
        equations,
        np.r_[problem.first_lower, lower.ravel()][None],
        np.r_[problem.first_upper, upper.ravel()][None],
    )[0, :n]
    return found if np.isfinite(found).all() else None
