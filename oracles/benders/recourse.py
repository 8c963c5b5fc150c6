"""The second stage: one linear program with many right-hand sides, solved a basis at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt._highs_model import ending, new_model
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.proof import Inside, farkas

_DENSE = 10_000  # entries of W up to which it is kept as an array
_FEASIBLE = 1e-9  # HiGHS' feasibility tolerance; a dual multiplier or reduced cost below it counts as zero


@dataclass(frozen=True, eq=False)
class DualVertex:
    """Multipliers pi with ``Q(l, u) >= constant + max(pi, 0) @ l + min(pi, 0) @ u`` for all row sides l, u."""

    multipliers: Vector
    constant: float

    def values(self, lower: Matrix, upper: Matrix) -> Vector:
        """Bounds for many sides, rows of shape (s, m)."""
        pi = self.multipliers
        above, below = pi > 0, pi < 0
        result: Vector = self.constant + lower[:, above] @ pi[above] + upper[:, below] @ pi[below]
        return result

    def size(self, sides: Vector) -> float:
        """Sum of the sizes of the terms of such a value, for the sizes of the sides."""
        return abs(self.constant) + float(np.abs(self.multipliers) @ sides)


@dataclass(frozen=True, eq=False)
class Basis(DualVertex):
    """A dual vertex with the basis it came from: optimal wherever the basic variables stay within their bounds."""

    basic_rows: NDArray[np.intp]
    basic_lower: Vector
    basic_upper: Vector
    at_lower: NDArray[np.intp]
    at_upper: NDArray[np.intp]
    gain: Matrix
    shift: Vector
    base: sparse.csr_array
    fixed_pull: Vector  # what the nonbasic columns, at their bounds, add to the rows
    basic_cost: Vector
    fixed_cost: float
    row_price: Vector
    basic_price: Vector

    def serve(self, lower: Matrix, upper: Matrix, sides: Vector, rate: float) -> tuple[NDArray[np.bool_], Vector]:
        """Whether the basis is feasible to the tolerance, hence optimal, for each line of sides; of those, bounds on Q.

        With ``W y - r = 0`` the basic variables are ``shift + gain @ r_N``, r_N the nonbasic rows at their sides. What
        they miss of bounds and equations costs its price. `sides` are sizes of all sides, known up to `rate` of them.
        """
        basic = np.hstack([lower[:, self.at_lower], upper[:, self.at_upper]]) @ self.gain.T + self.shift
        slack = _FEASIBLE * (1.0 + np.abs(basic))
        n = len(self.basic_rows)
        missed = np.empty_like(basic)
        rows, columns = basic[:, :n], basic[:, n:]
        np.maximum(lower[:, self.basic_rows] - rows, rows - upper[:, self.basic_rows], out=missed[:, :n])
        np.maximum(self.basic_lower - columns, columns - self.basic_upper, out=missed[:, n:])
        fits = np.asarray((missed <= slack).all(axis=1))
        if not fits.any():
            return fits, np.zeros(0)
        price = (1.0 + EPS * (len(sides) + 8)) * (np.maximum(missed[fits], 0.0) @ self.basic_price)
        return fits, columns[fits] @ self.basic_cost + (price + self._fixed(sides, rate))

    def _fixed(self, sides: Vector, rate: float) -> float:
        """What is the same for all such sides: cost of the nonbasic columns, rounding, and the inverse's own error."""
        n, m = len(self.basic_rows), len(sides)
        nonbasic = sides[np.r_[self.at_lower, self.at_upper]]
        gain, base, missed, pull = self._sizes
        size = gain @ nonbasic + np.abs(self.shift)
        rounding = EPS * (2 * m + 8) * (base @ size + sides + np.abs(self.fixed_pull)) + rate * sides
        cost = np.abs(self.basic_cost) @ size[n:] + abs(self.fixed_cost)
        known = self.fixed_cost + self.row_price @ (missed @ nonbasic + pull + rounding)
        return float(known + EPS * ((m + 8) * cost + (m + 4) * (self.basic_price @ size)))

    @cached_property
    def _sizes(self) -> tuple[Matrix, sparse.csr_array, Matrix, Vector]:
        """Sizes of gain and base, and by how much ``(base gain + rest) r_N + base shift + W_N y_N`` is not 0."""
        missed = self.base @ self.gain
        n = len(self.at_lower)
        missed[self.at_lower, np.arange(n)] -= 1.0
        missed[self.at_upper, n + np.arange(len(self.at_upper))] -= 1.0
        pull = np.abs(self.base @ self.shift + self.fixed_pull)
        return np.abs(self.gain), abs(self.base), np.abs(missed), pull


class Recourse:
    """``Q(l, u) = min q @ y : l <= W @ y <= u, y_lower <= y <= y_upper``, warm-started from the last solution.

    `signs` and `bounds` are boxes for the multipliers: that of the sides of the rows, and one that holds all feasible
    ones, infinite where there is none.
    """

    def __init__(
        self,
        q: Vector,
        W: sparse.csr_array,
        y_lower: Vector,
        y_upper: Vector,
        signs: tuple[Vector, Vector],
        bounds: tuple[Vector, Vector],
    ) -> None:
        self.q, self.W, self.y_lower, self.y_upper = q.copy(), W.copy(), y_lower, y_upper
        self.signs, self.bounds = signs, bounds
        above, below = np.isinf(y_upper) & np.isfinite(y_lower), np.isinf(y_lower) & np.isfinite(y_upper)
        self._side: Vector = np.where(above, 1.0, np.where(below, -1.0, 0.0))
        self._free = np.isinf(y_lower) & np.isinf(y_upper)
        # sizes of the bounds that a reduced cost may meet, for its rounding
        finite_lower, finite_upper = (np.where(np.isinf(side), 0.0, side) for side in (y_lower, y_upper))
        self._reach = np.maximum(np.abs(finite_lower), np.abs(finite_upper))
        self.W.sum_duplicates()
        self._places: dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}
        self._one_sided = bool(self._side.any())
        self._price = np.maximum(np.abs(bounds[0]), np.abs(bounds[1]))
        self._unpriced = np.isinf(self._price)
        self._inside: dict[bool, tuple[Vector, Vector | None, int]] = {}
        self._changed()
        m, k = W.shape
        self._model = new_model({"solver": "simplex"})
        self._model.addVars(k, y_lower, y_upper)
        self._columns, self._rows = np.arange(k, dtype=np.int32), np.arange(m, dtype=np.int32)
        self._model.changeColsCost(k, self._columns, q)
        by_row = W.tocsr()
        for i in range(m):
            part = slice(by_row.indptr[i], by_row.indptr[i + 1])
            indices = by_row.indices[part].astype(np.int32)
            self._model.addRow(-np.inf, np.inf, len(indices), indices, by_row.data[part])

    def anew(self) -> Recourse:
        """Return such a program that has solved nothing; this one must be of the data that it was made of."""
        made = Recourse(self.q, self.W, self.y_lower, self.y_upper, self.signs, self.bounds)
        self._interior(True)
        made._inside = dict(self._inside)
        return made

    def _changed(self) -> None:
        """Forget what was computed from W."""
        self._depth = EPS * (3 + np.bincount(self.W.indices, minlength=self.W.shape[1]))
        self._width = EPS * (3 + np.diff(self.W.indptr))
        self._stale = False
        # a small matrix is faster as an array
        matrix = self.W.toarray() if self.W.shape[0] * self.W.shape[1] <= _DENSE else self.W
        turned = np.ascontiguousarray(matrix.T) if isinstance(matrix, np.ndarray) else sparse.csr_array(matrix.T)
        self._by_row, self._sizes, self._by_column, self._column_sizes = matrix, abs(matrix), turned, abs(turned)
        self._inside = {costly: (target, None, outside) for costly, (target, _, outside) in self._inside.items()}

    def change_cost(self, columns: NDArray[np.intp], cost: Vector) -> None:
        """Change some costs."""
        self.q[columns] = cost
        if True in self._inside:
            target, _, outside = self._inside[True]
            self._inside[True] = target, None, outside
        self._model.changeColsCost(len(columns), columns.astype(np.int32), cost)

    def change_matrix(self, entries: NDArray[np.intp], values: Vector) -> None:
        """Change some entries (row, column) of W."""
        for (row, column), value in zip(entries, values, strict=True):
            self._model.changeCoeff(int(row), int(column), float(value))
        positions = self._positions(entries)  # may replace W
        self.W.data[positions] = values
        self._stale = True

    def _positions(self, entries: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where W keeps these entries; zeros among them are kept from now on."""
        known, positions = self._places.get(id(entries), (None, None))
        if known is entries and positions is not None:
            return positions
        m, k = self.W.shape
        rows, columns = np.repeat(np.arange(m), np.diff(self.W.indptr)), self.W.indices
        wanted = entries[:, 0] * k + entries[:, 1]
        missing = np.setdiff1d(wanted, rows * k + columns)
        if len(missing):
            places = np.r_[rows, missing // k], np.r_[columns, missing % k]
            self.W = sparse.csr_array((np.r_[self.W.data, np.zeros(len(missing))], places), shape=(m, k))
            self._places.clear()
            return self._positions(entries)
        positions = np.asarray(np.searchsorted(rows * k + columns, wanted))
        self._places[id(entries)] = entries, positions
        return positions

    def solve(self, lower: Vector, upper: Vector, rounding: Vector) -> tuple[bool, DualVertex, float]:
        """Solve for one pair of sides, each known up to `rounding`.

        Returns
        -------
        feasible : bool
        dual : DualVertex
            The optimal multipliers; or, if infeasible, a ray whose value is positive exactly where it proves that.
        objective : float
            Upper bound on Q: value of the primal point and the price of what it misses; infinite if infeasible.

        Raises
        ------
        InvalidArgument
            The second stage is unbounded from below.
        RuntimeError
            HiGHS ended otherwise.
        """
        if self._stale:
            self._changed()
        self._model.changeRowsBounds(len(self._rows), self._rows, lower, upper)
        for attempt in ("warm", "cold"):
            if attempt == "cold":
                self._model.clearSolver()
            self._model.run()
            status = self._model.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                solution = self._model.getSolution()
                pi = _cleaned(np.array(solution.row_dual), lower, upper)
                upper_bound = self._upper(np.array(solution.col_value), pi, lower, upper, rounding)
                return True, self._vertex(pi, True), upper_bound
            if status == highspy.HighsModelStatus.kInfeasible:
                _, found, ray = self._model.getDualRay()
                if found:
                    return False, self._ray(np.array(ray), lower, upper), np.inf
        if status == highspy.HighsModelStatus.kInfeasible:
            return False, self._ray(farkas(self.W, self.y_lower, self.y_upper, lower, upper), lower, upper), np.inf
        if status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            raise InvalidArgument("`problem` must have a bounded second stage, and its cost falls without end")
        raise RuntimeError(ending(self._model, status))

    def solution(self) -> Vector:
        """Return y of the last program, moved into its bounds; it must have been feasible."""
        y = np.array(self._model.getSolution().col_value)
        inside: Vector = np.minimum(np.maximum(y, self.y_lower), self.y_upper)
        return inside

    def _upper(self, y: Vector, pi: Vector, lower: Vector, upper: Vector, rounding: Vector) -> float:
        """Cost of y, moved into its bounds, and the price of the rows it misses."""
        y = np.minimum(np.maximum(y, self.y_lower), self.y_upper)
        rows, size = self._by_row @ y, np.abs(y)
        missed = np.maximum(np.maximum(lower - rows, rows - upper), 0.0)
        missed += self._width * (self._sizes @ size + np.abs(rows)) + rounding
        cost = float(self.q @ y) + EPS * (len(y) + 3) * float(np.abs(self.q) @ size)
        return cost + (1.0 + EPS * (len(rows) + 3)) * float(self._prices(pi) @ missed)

    def _prices(self, pi: Vector) -> Vector:
        """Most that a unit missed of each row can cost; where that is unbounded, ten times what it costs here."""
        return np.where(self._unpriced, 10.0 * np.abs(pi), self._price)

    def _vertex(self, pi: Vector, costly: bool) -> DualVertex:
        """Multipliers moved inside by what they miss, and ``min (q - W.T pi) @ y`` over the bounds, rounded down.

        Not `costly` is with costs of 0, for rays. Where there is no inside, what is small beside the cost is rounding.
        """
        cost = self.q if costly else np.zeros_like(self.q)
        reduced, doubt = self._reduced(pi, cost)
        missing = np.where(self._side != 0, doubt - self._side * reduced, 0.0)
        if (missing > 0).any() and (inside := self._interior(costly)) is not None:
            target, margin = inside
            able = (missing > 0) & (margin > 0)
            step = float(np.max((missing[able] + 4.0 * doubt[able]) / margin[able], initial=0.0))
            if step < 1e-3:
                pi = pi + step * (target - pi)
                reduced, doubt = self._reduced(pi, cost)
        bound = np.where(reduced > 0, self.y_lower, self.y_upper)
        wrong = np.isinf(bound) & (np.abs(reduced) <= _FEASIBLE * (1.0 + np.abs(cost)) + doubt)
        bound[wrong] = 0.0
        terms = reduced * bound
        rounding = doubt @ self._reach + EPS * (len(cost) + 3) * np.abs(terms).sum()
        return DualVertex(pi, float(terms.sum() - rounding))

    def _reduced(self, pi: Vector, cost: Vector) -> tuple[Vector, Vector]:
        """Reduced costs, and what they may be wrong by."""
        doubt = self._depth * (np.abs(cost) + self._column_sizes @ np.abs(pi))
        return cost - self._by_column @ pi, doubt

    def _interior(self, costly: bool) -> tuple[Vector, Vector] | None:
        """Multipliers well inside, and by how much each reduced cost is on its side there."""
        if not self._one_sided:
            return None
        known = self._inside.get(costly)
        if known is not None and known[1] is not None:
            return known[0], known[1]
        cost = self.q if costly else np.zeros_like(self.q)
        if known is not None:
            # columns that were feasible for other costs may still be: solve anew only if more columns are not
            target, _, least = known
            margin, outside = self._margin(target, cost)
            if outside <= least:
                self._inside[costly] = target, margin, least
                return target, margin
        target = Inside(self.W, cost, self._side, self._free, self.signs).multipliers
        margin, outside = self._margin(target, cost)
        self._inside[costly] = target, margin, outside
        return target, margin

    def _margin(self, target: Vector, cost: Vector) -> tuple[Vector, int]:
        """By how much each reduced cost is on its side at these multipliers, and how many are not."""
        reduced, doubt = self._reduced(target, cost)
        margin = self._side * reduced - doubt
        return margin, int(((margin <= 0) & (self._side != 0)).sum())

    def _ray(self, ray: Vector, lower: Vector, upper: Vector) -> DualVertex:
        """The ray with the sign that proves infeasibility: ``pi W y`` can nowhere reach what the sides ask."""
        ray = ray / max(float(np.abs(ray).max()), 1e-300)
        candidates = []
        for signed in (ray, -ray):
            pi = _cleaned(signed, lower, upper)
            dual = self._vertex(pi, False)
            candidates.append((float(dual.values(lower[None], upper[None])[0]), dual))
        return max(candidates, key=lambda pair: pair[0])[1]

    def basis(self, dual: DualVertex) -> Basis | None:
        """The basis of the last solution; `None` if it is singular to working precision."""
        status: Any = self._model.getBasis()
        columns, rows = np.array(status.col_status), np.array(status.row_status)
        kinds = highspy.HighsBasisStatus
        basic_columns, basic_rows = np.flatnonzero(columns == kinds.kBasic), np.flatnonzero(rows == kinds.kBasic)
        at_lower = np.flatnonzero(rows == kinds.kLower)
        at_upper = np.flatnonzero((rows != kinds.kBasic) & (rows != kinds.kLower))
        nonbasic = columns != kinds.kBasic
        fixed = np.where(columns == kinds.kUpper, self.y_upper, np.where(columns == kinds.kLower, self.y_lower, 0.0))
        m = len(rows)
        identity = np.eye(m)
        dense = self.W.toarray()
        base = np.hstack([-identity[:, basic_rows], dense[:, basic_columns]])
        try:
            inverse = np.linalg.inv(base)
        except np.linalg.LinAlgError:
            return None
        pull = dense[:, nonbasic] @ fixed[nonbasic]
        price = self._prices(dual.multipliers)
        return Basis(
            dual.multipliers,
            dual.constant,
            basic_rows,
            self.y_lower[basic_columns],
            self.y_upper[basic_columns],
            at_lower,
            at_upper,
            inverse[:, np.r_[at_lower, at_upper]],
            -inverse @ pull,
            sparse.csr_array(base),
            pull,
            self.q[basic_columns],
            float(self.q[nonbasic] @ fixed[nonbasic]),
            price,
            np.r_[price[basic_rows], np.abs(self.q[basic_columns]) + price @ np.abs(dense[:, basic_columns])],
        )


def _cleaned(pi: Vector, lower: Vector, upper: Vector) -> Vector:
    """Multipliers of sides that do not exist are rounding."""
    gone = ((pi > 0) & np.isinf(lower)) | ((pi < 0) & np.isinf(upper))
    return np.where(gone, 0.0, pi)
