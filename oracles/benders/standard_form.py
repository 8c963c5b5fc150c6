"""The second stage as ``W y - r = 0`` with bounds on y and on r, and what its multipliers and points prove.

All methods take many scenarios at a time, a line each. docs/theory_benders.md has the proofs.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector

FEASIBLE = 1e-9  # HiGHS' feasibility tolerance; a reduced cost below it, relative to the largest cost, counts as zero
_DENSE = 10_000  # entries of W up to which it is kept as an array
_FARTHEST = 1e-3  # largest step that multipliers are moved inside at no loss
Interior = tuple[Matrix, Matrix]  # multipliers well inside, and by how much each reduced cost is on its side there


class StandardForm:
    """``Q(l, u) = min q @ y : W y - r = 0, l <= r <= u, y_lower <= y <= y_upper``.

    `values` are the entries of W that differ, of shape (scenarios, entries), or None where none varies.
    """

    def __init__(
        self,
        W: sparse.csr_array,
        entries: NDArray[np.intp],
        y_lower: Vector,
        y_upper: Vector,
        row_lower: Vector,
        row_upper: Vector,
        box: tuple[Vector, Vector],
        units: Vector,
    ) -> None:
        self.units = units
        self.W, self.entries, self.y_lower, self.y_upper = W, entries, y_lower, y_upper
        self.row_lower, self.row_upper = row_lower, row_upper
        above, below = np.isinf(y_upper) & np.isfinite(y_lower), np.isinf(y_lower) & np.isfinite(y_upper)
        self.side: Vector = np.where(above, 1.0, np.where(below, -1.0, 0.0))
        self.free = np.isinf(y_lower) & np.isinf(y_upper)
        self.fixed = np.r_[y_lower == y_upper, row_lower == row_upper]
        self.signs = np.where(np.isfinite(row_upper), -np.inf, 0.0), np.where(np.isfinite(row_lower), np.inf, 0.0)
        self.price = np.maximum(np.abs(box[0]), np.abs(box[1]))
        # sizes of the bounds that a reduced cost may meet, for its rounding
        finite_lower, finite_upper = (np.where(np.isinf(side), 0.0, side) for side in (y_lower, y_upper))
        self._reach = np.maximum(np.abs(finite_lower), np.abs(finite_upper))
        self.rest = np.c_[finite_lower, finite_upper].T  # values of nonbasic columns: at the lower, at the upper bound
        m, k = W.shape
        self.shape = m, k
        columns = np.bincount(W.indices, minlength=k) + np.bincount(entries[:, 1], minlength=k)
        rows = np.diff(W.indptr) + np.bincount(entries[:, 0], minlength=m)
        self._depth, self._width = EPS * (3 + columns), EPS * (6 + rows)
        # a small matrix is faster as an array
        small = m * k <= _DENSE
        self._by_column = np.ascontiguousarray(W.T.toarray()) if small else sparse.csr_array(W.T)
        self._column_sizes = abs(self._by_column)

    @cached_property
    def columns(self) -> Matrix:
        """``[W, -I].T``, a column of the program per line, entries that vary being 0."""
        return np.vstack([self.W.toarray().T, -np.eye(self.shape[0])])

    def matrix(self, values: Vector | None) -> sparse.csr_array:
        """W of one scenario."""
        if values is None:
            return self.W
        return sparse.csr_array(self.W + sparse.csr_array((values, tuple(self.entries.T)), shape=self.shape))

    def column(self, which: NDArray[np.intp], values: Matrix | None) -> Matrix:
        """Columns of the program, one for each scenario."""
        result: Matrix = self.columns[which]
        if values is not None:
            mine = np.where(self.entries[:, 1] == which[:, None], values, 0.0)
            np.add.at(result.T, self.entries[:, 0], mine.T)
        return result

    def bases(self, basic: NDArray[np.intp], values: Matrix | None) -> Matrix:
        """Basis matrices of shape (number of scenarios, m, m)."""
        turned = self.columns[basic]
        if values is not None:
            mine = (basic[:, :, None] == self.entries[:, 1]) * values[:, None, :]
            np.add.at(turned.transpose(2, 0, 1), self.entries[:, 0], mine.transpose(2, 0, 1))
        return np.ascontiguousarray(turned.transpose(0, 2, 1))

    def pulled(self, pi: Matrix, values: Matrix | None, sizes: bool = False) -> Matrix:
        """``pi @ W``, or with `sizes` the sums of the sizes of its terms, pi being sizes."""
        result = np.ascontiguousarray(((self._column_sizes if sizes else self._by_column) @ pi.T).T)
        if values is not None:
            if len(pi) < len(values):
                result = np.repeat(result, len(values), axis=0)
            rows, columns = self.entries.T
            terms = pi[:, rows] * (np.abs(values) if sizes else values)
            np.add.at(result.T, columns, terms.T)
        return result

    def moved_rows(self, y: Matrix, places: NDArray[np.intp], values: Matrix | None) -> tuple[Matrix, Matrix]:
        """``W y``, and the sums of the sizes of its terms, for entries of y at these places, a point per line."""
        starts, shape = np.arange(0, y.size + 1, y.shape[1]), (len(y), self.shape[1])
        points = sparse.csr_array((y.ravel(), places.ravel(), starts), shape=shape)
        absolute = sparse.csr_array((np.abs(y).ravel(), places.ravel(), starts), shape=shape)
        rows, size = _dense(points @ self._by_column), _dense(absolute @ self._column_sizes)
        if values is not None:
            terms = points.toarray()[:, self.entries[:, 1]] * values
            np.add.at(rows.T, self.entries[:, 0], terms.T)
            np.add.at(size.T, self.entries[:, 0], np.abs(terms).T)
        return rows, size

    def reduced(self, pi: Matrix, cost: Matrix, values: Matrix | None) -> tuple[Matrix, Matrix]:
        """Reduced costs ``q - pi W``, and what they may be wrong by."""
        doubt = self._depth * (np.abs(cost) + self.pulled(np.abs(pi), values, sizes=True))
        return cost - self.pulled(pi, values), doubt

    def cleaned(self, pi: Matrix) -> Matrix:
        """Multipliers of sides that do not exist are rounding."""
        return np.clip(pi, *self.signs)

    def minorants(
        self, pi: Matrix, cost: Matrix, values: Matrix | None, interior: Interior | None
    ) -> tuple[Matrix, Vector]:
        """Multipliers moved inside by what they miss, and ``min (q - pi W) @ y`` over the bounds, rounded down.

        Where there is no inside, what is small beside the cost is rounding.
        """
        reduced, doubt = self.reduced(pi, cost, values)
        missing = np.where(self.side != 0, doubt - self.side * reduced, 0.0)
        if interior is not None and (missing > 0).any():
            target, margin = interior
            able = (missing > 0) & (margin > 0)
            step = np.max(np.where(able, missing + 4.0 * doubt, 0.0) / np.where(able, margin, 1.0), axis=1, initial=0.0)
            # from farther away, to where reduced costs are on their side between both: loose, and finite
            whole = np.max(np.where(able, missing / np.where(able, missing + margin, 1.0), 0.0), axis=1, initial=0.0)
            step = np.where(step < _FARTHEST, step, np.minimum((1.0 + _FARTHEST) * whole, 1.0))
            pi = pi + step[:, None] * (target - pi)
            reduced, doubt = self.reduced(pi, cost, values)
        bound = np.where(reduced > 0, self.y_lower, self.y_upper)
        wrong = np.isinf(bound) & (np.abs(reduced) <= self._nothing(pi, cost, values) + doubt)
        terms = reduced * np.where(wrong, 0.0, bound)
        rounding = doubt @ self._reach + EPS * (self.shape[1] + 3) * np.abs(terms).sum(axis=1)
        return pi, terms.sum(axis=1) - rounding

    def _nothing(self, pi: Matrix, cost: Matrix, values: Matrix | None) -> Matrix:
        """Reduced costs that count as zero: relative to the largest cost, or multiplier of a ray, and to a column."""
        size = np.abs(cost).max(axis=1, keepdims=True, initial=0.0)
        size = np.where(size > 0, size, np.abs(pi).max(axis=1, keepdims=True, initial=0.0))
        columns = self.pulled(np.ones((1, self.shape[0])), values, sizes=True)
        nothing: Matrix = FEASIBLE * size * np.minimum(1.0, columns)
        return nothing

    def margin(self, target: Matrix, cost: Matrix, values: Matrix | None) -> tuple[Matrix, NDArray[np.intp]]:
        """By how much each reduced cost is on its side at these multipliers, and how many are not."""
        reduced, doubt = self.reduced(np.atleast_2d(target), cost, values)
        margin = self.side * reduced - doubt
        return margin, ((margin <= 0) & (self.side != 0)).sum(axis=1)

    def upper_bounds(
        self, rows: Matrix, size: Matrix, cost: Vector, cost_size: Vector, pi: Matrix, lower: Matrix, upper: Matrix,
        rounding: Vector,
    ) -> Vector:  # fmt: skip
        """Upper bounds on Q: costs of points within their bounds, and the price of the rows that they miss."""
        missed = np.maximum(np.maximum(lower - rows, rows - upper), 0.0)
        missed += self._width * (size + np.abs(rows)) + rounding
        m, k = self.shape
        priced: Vector = (self.prices(pi) * missed).sum(axis=1)
        result: Vector = cost + EPS * (k + 5) * cost_size + (1.0 + EPS * (m + 3)) * priced
        return result

    def proven(
        self, pi: Matrix, y: Matrix, cost: Matrix, values: Matrix | None, interior: Interior | None, lower: Matrix,
        upper: Matrix, rounding: Vector,
    ) -> tuple[Matrix, Vector, Vector, Matrix]:  # fmt: skip
        """The bounds that a solver's multipliers and points prove, points being within their bounds."""
        pi, constant = self.minorants(pi, cost, values, interior)
        rows, size = self.moved_rows(y, np.broadcast_to(np.arange(self.shape[1]), y.shape), values)
        paid = cost * y
        total, total_size = paid.sum(axis=1), np.abs(paid).sum(axis=1)
        return pi, constant, self.upper_bounds(rows, size, total, total_size, pi, lower, upper, rounding), rows

    def prices(self, pi: Matrix) -> Matrix:
        """Most that a unit missed of each row can cost; where that is unbounded, ten times what it costs here."""
        return np.where(np.isinf(self.price), 10.0 * np.abs(pi), self.price)


def _dense(product: Matrix | sparse.csr_array) -> Matrix:
    return product if isinstance(product, np.ndarray) else product.toarray()
