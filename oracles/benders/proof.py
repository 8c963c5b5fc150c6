"""The proof of a second stage's answer to the last bit: multipliers moved inside, prices of what primal points miss.

docs/theory_benders.md has the proofs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.benders.standard_form import Interior, StandardForm

EXTENDED = float(np.finfo(np.longdouble).eps)
_ROUNDS = 20  # rounds of tightening the bounds of multipliers
_TARGETS = 100  # multipliers well inside that are remembered


def multiplier_bounds(
    W: sparse.csr_array, y_lower: Vector, y_upper: Vector, least: Vector, most: Vector, signs: tuple[Vector, Vector]
) -> tuple[Vector, Vector]:
    """Box that holds all pi with ``W.T @ pi <= q`` where y may rise without end, ``>= q`` where it may fall.

    Each of these rows bounds each of its entries by the bounds of the others, again and again.
    """
    columns = W.tocsc()
    rows = [columns[:, np.isinf(y_upper)], -columns[:, np.isinf(y_lower)]]
    sides = [most[np.isinf(y_upper)], -least[np.isinf(y_lower)]]
    A, b = sparse.hstack(rows).T.tocsr(), np.concatenate(sides)
    entry, row, column = A.data, np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices
    keep = entry != 0
    entry, row, column = entry[keep], row[keep], column[keep]
    low, high = signs[0].copy(), signs[1].copy()
    for _ in range(_ROUNDS):
        least_term = np.where(entry > 0, entry * low[column], entry * high[column])
        open_ = np.isinf(least_term)
        n_open = np.bincount(row[open_], minlength=len(b))
        finite = np.where(open_, 0.0, least_term)
        total = np.bincount(row, finite, len(b))
        size = np.bincount(row, np.abs(finite), len(b)) + np.abs(b)
        others_finite = n_open[row] - open_ == 0
        # moved outward by more than the rounding of the sums
        rest = b[row] - (total[row] - finite) + 1e-12 * size[row]
        new_high, new_low = high.copy(), low.copy()
        up, down = others_finite & (entry > 0), others_finite & (entry < 0)
        np.minimum.at(new_high, column[up], _outward(rest[up] / entry[up], 1.0))
        np.maximum.at(new_low, column[down], _outward(rest[down] / entry[down], -1.0))
        new_low, new_high = np.minimum(new_low, signs[1]), np.maximum(new_high, signs[0])
        opened = np.isinf(low).sum() + np.isinf(high).sum()
        change = np.isinf(new_low).sum() + np.isinf(new_high).sum() < opened
        low, high = new_low, new_high
        if not change:
            break
    return low, high


def _outward(values: Vector, sign: float) -> Vector:
    result: Vector = values + sign * 1e-12 * np.abs(values)
    return result


class Inside:
    """Multipliers at which no reduced cost of a variable with one infinite bound is near 0, if there are such."""

    def __init__(
        self, W: sparse.csr_array, cost: Vector, side: Vector, free: NDArray[np.bool_], signs: tuple[Vector, Vector]
    ) -> None:
        m = W.shape[0]
        self.multipliers = np.zeros(m)
        one = np.flatnonzero(side)
        if ((side * cost)[one] > 0).all() and not cost[free].any():
            return
        from scipy.optimize import linprog  # only here: the import takes time

        scale = np.abs(cost[one]) + abs(W).max(axis=0).toarray().ravel()[one]
        scale = np.where(scale > 0, scale, 1.0)
        # max t + mean t_j, t <= t_j <= 1: side_j (cost_j - W_j pi) >= scale_j t_j, and W_j pi == cost_j where free
        n = len(one)
        pull = sparse.csr_array(W.T)[one].multiply((side / 1.0)[one, None])
        rows = sparse.vstack(
            [
                sparse.hstack([pull, sparse.csr_array((n, 1)), sparse.diags_array(scale)]),
                sparse.hstack([sparse.csr_array((n, m)), np.ones((n, 1)), -sparse.eye_array(n)]),
            ]
        )
        sides = np.r_[(side * cost)[one], np.zeros(n)]
        bounds = [*np.transpose(signs), *[(0.0, 1.0)] * (1 + n)]
        equations = sparse.hstack([sparse.csr_array(W.T)[free], sparse.csr_array((int(free.sum()), 1 + n))])
        gain = np.r_[np.zeros(m), -1.0, np.full(n, -1.0 / max(n, 1))]
        some = bool(free.any())
        found = linprog(gain, rows, sides, equations if some else None, cost[free] if some else None, bounds)
        if found.status == 0:
            self.multipliers = np.clip(found.x[:m], *signs)


class Interiors:
    """Multipliers well inside, found as they are needed: those of one scenario serve others whose costs are near."""

    def __init__(self, form: StandardForm, cost: Vector) -> None:
        self._form, self._cost = form, cost
        self._found: list[tuple[Vector, int]] = []  # and how many reduced costs were not on their side

    def __call__(self, cost: Matrix, values: Matrix | None) -> Interior | None:
        """Multipliers for each line of costs and of entries that vary; None where every side is finite."""
        form = self._form
        if not form.side.any():
            return None
        lines = max(len(cost), 1 if values is None else len(values))
        if not self._found:
            self._find(self._cost, None if values is None else values[0])
            if not (cost == self._cost).all():
                self._found[0] = self._found[0][0], 0
        target, margin = np.zeros((lines, form.shape[0])), np.zeros((lines, form.shape[1]))
        left, tried = np.arange(lines), 0
        while len(left):
            some = cost if len(cost) == 1 else cost[left]
            mine = None if values is None else values[left]
            own = tried == len(self._found)
            if own:
                self._find(some[0], None if mine is None else mine[0])
            multipliers, least = self._found[tried]
            margins, outside = form.margin(multipliers, some, mine)
            fits = np.broadcast_to(outside <= least, left.shape).copy()
            fits[0] |= own
            target[left[fits]] = multipliers
            margin[left[fits]] = np.broadcast_to(margins, (len(left), form.shape[1]))[fits]
            left, tried = left[~fits], tried + 1
        del self._found[_TARGETS:]
        return target, margin

    def anew(self) -> Interiors:
        """Return the multipliers of the same costs, without a memory of earlier queries."""
        made = Interiors(self._form, self._cost)
        if not len(self._form.entries):  # the first ones are the same whichever scenario came first
            made._found = self._found[:1]
        return made

    def _find(self, cost: Vector, values: Vector | None) -> None:
        form = self._form
        found = Inside(form.matrix(values), cost, form.side, form.free, form.signs).multipliers
        outside = form.margin(found, cost[None], None if values is None else values[None])[1]
        self._found.append((found, int(outside[0])))


def farkas(W: sparse.csr_array, y_lower: Vector, y_upper: Vector, lower: Vector, upper: Vector) -> Vector:
    """Multipliers of the least total violation of ``lower <= W @ y <= upper``: a ray where HiGHS has none to give."""
    from scipy.optimize import linprog  # only here: the import takes time

    m, k = W.shape
    rows = sparse.csr_array(sparse.hstack([W, sparse.eye_array(m), -sparse.eye_array(m)]))
    above, below = np.isfinite(upper), np.isfinite(lower)
    found = linprog(
        np.r_[np.zeros(k), np.ones(2 * m)],
        sparse.vstack([rows[above], -rows[below]]),
        np.r_[upper[above], -lower[below]],
        bounds=[*zip(y_lower, y_upper, strict=True), *[(0.0, np.inf)] * (2 * m)],
    )
    ray = np.zeros(m)
    if found.status == 0:
        n = int(above.sum())
        ray[above] += found.ineqlin.marginals[:n]
        ray[below] -= found.ineqlin.marginals[n:]
    return ray
