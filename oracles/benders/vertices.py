"""Dual vertices of the second stage, with the bases they came from, as arrays with a line each."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.benders.scenario_duals import DualTable
from oracle_opt.oracles.benders.standard_form import FEASIBLE, Interior, StandardForm

LOWER, UPPER, BASIC, ZERO = 0, 1, 2, 3  # where a column of ``[W, -I]`` is; ZERO is that of a free one outside the basis
MOST_BYTES = 1 << 27  # that the vertices kept may take
_MOST = 4096  # vertices of a pool
_BATCH = 1 << 17  # entries of inverses handled at a time
_SHARED = 4  # scenarios a vertex from which one product for all of them is faster
Indices = NDArray[np.intp]


@dataclass(eq=False)
class Vertices:
    """Multipliers pi with ``Q(l, u) >= constant + max(pi, 0) @ l + min(pi, 0) @ u``, and their bases.

    A basis is optimal where ``inverse @ (r_N - pull)``, with r_N = 0 where r is basic, is within its bounds.
    """

    multipliers: Matrix
    constant: Vector
    inverse: Matrix
    basic: Indices
    at: NDArray[np.int8]
    pull: Matrix
    pull_size: Matrix
    fixed: Matrix
    row: Indices

    def __len__(self) -> int:
        return len(self.constant)

    def take(self, which: Indices | slice) -> Vertices:
        """Some of them."""
        return Vertices(*(getattr(self, field.name)[which] for field in fields(self)))

    def put(self, which: Indices | slice, other: Vertices) -> None:
        """Replace some of them."""
        for field in fields(self):
            getattr(self, field.name)[which] = getattr(other, field.name)

    @classmethod
    def room(cls, count: int, form: StandardForm) -> Vertices:
        """Room for so many."""
        m, k = form.shape
        shapes = ((m,), (), (m, m), (m,), (k + m,), (m,), (m,), (2,), ())
        kinds = (float, float, float, np.intp, np.int8, float, float, float, np.intp)
        return cls(*(np.zeros((count, *shape), dtype) for shape, dtype in zip(shapes, kinds, strict=True)))

    @classmethod
    def of(
        cls,
        form: StandardForm,
        inverse: Matrix,
        basic: Indices,
        at: NDArray[np.int8],
        cost: Matrix,
        values: Matrix | None,
        interior: Interior | None,
    ) -> Vertices:
        """The vertices of some bases; `cost` and `interior` have a line each, or one line for all."""
        k = form.shape[1]
        costs = np.broadcast_to(np.c_[cost, np.zeros((len(cost), form.shape[0]))], at.shape)
        pi = np.matmul(np.take_along_axis(costs, basic, 1)[:, None, :], inverse)[:, 0]
        pi, constant = form.minorants(form.cleaned(pi), cost, values, interior)
        rest = np.where(at[:, :k] == UPPER, form.rest[1], np.where(at[:, :k] == LOWER, form.rest[0], 0.0))
        fixed = np.c_[(cost * rest).sum(axis=1), np.abs(cost * rest).sum(axis=1)]
        pull = np.zeros((2, *basic.shape))
        if rest.any():
            pull[0], pull[1] = form.moved_rows(rest, np.broadcast_to(np.arange(k), rest.shape), values)
        row = np.full(len(basic), -1)
        return cls(pi, constant, inverse, basic, at, pull[0], pull[1], fixed, row)

    def basics(self, which: Indices, lower: Matrix, upper: Matrix) -> Matrix:
        """Basic columns of these vertices, one for each line of sides."""
        m = self.basic.shape[1]
        at = self.at[which, -m:]
        right = np.where(at == LOWER, lower, np.where(at == UPPER, upper, 0.0)) - self.pull[which]
        result = np.empty_like(right)
        order = np.argsort(which, kind="stable")
        ends = np.r_[np.flatnonzero(np.diff(which[order])) + 1, len(which)]
        if len(which) >= _SHARED * len(ends):
            for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
                some = order[start:end]
                result[some] = right[some] @ self.inverse[which[some[0]]].T
            return result
        step = max(1, _BATCH // m**2)
        for start in range(0, len(which), step):
            part = slice(start, start + step)
            result[part] = np.matmul(self.inverse[which[part]], right[part, :, None])[:, :, 0]
        return result

    def tried(
        self, form: StandardForm, which: Indices, lower: Matrix, upper: Matrix, rounding: Vector, cost: Matrix,
        values: Matrix | None,
    ) -> tuple[NDArray[np.bool_], Vector]:  # fmt: skip
        """Whether each line's vertex is feasible to the tolerance, hence optimal; of those, upper bounds on Q.

        What the basic columns miss of bounds and rows costs its price.
        """
        basics, basic = self.basics(which, lower, upper), self.basic[which]
        low, high = basic_bounds(form, basic, lower, upper)
        fits = np.asarray((np.maximum(low - basics, basics - high) <= FEASIBLE * (1.0 + np.abs(basics))).all(axis=1))
        if not fits.any():
            return fits, np.zeros(0)
        inside = np.clip(basics[fits], low[fits], high[fits])
        cost = cost if len(cost) == 1 else cost[fits]
        values = None if values is None else values[fits]
        return fits, self._paid(form, which[fits], inside, lower[fits], upper[fits], rounding, cost, values)

    def upper_bounds(
        self, form: StandardForm, which: Indices, lower: Matrix, upper: Matrix, rounding: Vector, cost: Matrix
    ) -> Vector:
        """Upper bounds on Q by vertices that need not be optimal: infinite where what is missed has no price."""
        basics = self.basics(which, lower, upper)
        low, high = basic_bounds(form, self.basic[which], lower, upper)
        bounds = self._paid(form, which, np.clip(basics, low, high), lower, upper, rounding, cost, None)
        return np.where(np.isinf(form.price).any(), np.inf, bounds)

    def _paid(
        self, form: StandardForm, which: Indices, basics: Matrix, lower: Matrix, upper: Matrix, rounding: Vector,
        cost: Matrix, values: Matrix | None,
    ) -> Vector:  # fmt: skip
        """Costs of basic columns moved into their bounds, and the price of the rows missed."""
        k, basic = form.shape[1], self.basic[which]
        y = np.where(basic < k, basics, 0.0)
        places = np.where(basic < k, basic, 0)
        rows, sizes = form.moved_rows(y, places, values)
        paid = y * (cost[0, places] if len(cost) == 1 else np.take_along_axis(cost, places, 1))
        total, size = paid.sum(axis=1) + self.fixed[which, 0], np.abs(paid).sum(axis=1) + self.fixed[which, 1]
        rows, sizes = rows + self.pull[which], sizes + self.pull_size[which]
        return form.upper_bounds(rows, sizes, total, size, self.multipliers[which], lower, upper, rounding)


def basic_bounds(form: StandardForm, basic: Indices, lower: Matrix, upper: Matrix) -> tuple[Matrix, Matrix]:
    """Bounds of the basic columns."""
    k = form.shape[1]
    row, column = np.maximum(basic - k, 0), np.minimum(basic, k - 1)
    low = np.where(basic < k, form.y_lower[column], np.take_along_axis(lower, row, 1))
    high = np.where(basic < k, form.y_upper[column], np.take_along_axis(upper, row, 1))
    return low, high


def bytes_of_one(form: StandardForm) -> int:
    """Bytes of one vertex."""
    m, k = form.shape
    return int(8 * (m * m + 6 * m + 6) + k + m)


def inverses(matrices: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """Inverses, and which matrices have one to working precision."""
    good = np.ones(len(matrices), dtype=bool)
    try:
        found: Matrix = np.asarray(np.linalg.inv(matrices), dtype=float)
    except np.linalg.LinAlgError:
        for i, one in enumerate(matrices):
            try:
                np.linalg.inv(one)
            except np.linalg.LinAlgError:
                good[i] = False
        found = np.asarray(np.linalg.inv(matrices[good]), dtype=float)
    return found, good


class Pool:
    """At most 4096 or 128 MiB of dual vertices that all scenarios share; those not best for longest are forgotten."""

    def __init__(self, form: StandardForm) -> None:
        self._form = form
        self.duals = DualTable(form.units)
        m = form.shape[0]
        self._most = max(1, min(_MOST, MOST_BYTES // bytes_of_one(form)))
        self._all = Vertices.room(0, form)
        self._last = np.zeros(0, dtype=np.intp)  # query in which each was best
        self._plain = np.zeros((0, m + 1))  # multipliers, and value with the nominal sides
        self._known: dict[bytes, int] = {}
        self._count = self._now = 0
        finite = [np.where(np.isinf(side), 0.0, side) for side in (form.row_lower, form.row_upper)]
        self._nominal = finite[0], finite[1]

    def __len__(self) -> int:
        return self._count

    @property
    def vertices(self) -> Vertices:
        """All of them."""
        return self._all.take(slice(self._count))

    def copy(self) -> Pool:
        """A pool with the same vertices."""
        made = Pool(self._form)
        made.add(self.vertices)
        return made

    def begin(self) -> None:
        """A new query: the least recently best go where there are too many."""
        self._now += 1
        if self._count > self._most:
            order = np.sort(np.argsort(self._last[: self._count], kind="stable")[-self._most * 3 // 4 :])
            kept, last = self._all.take(order), self._last[order]
            self._count, self._known = 0, {}
            self.duals = DualTable(self._form.units)  # cuts of before keep the old one
            self.add(kept)
            self._last[: self._count] = last

    def add(self, found: Vertices) -> Indices:
        """Take vertices up, each basis once; return the number of each in the pool."""
        keys = [one.tobytes() for one in found.at]
        number = np.zeros(len(found), dtype=np.intp)
        new: list[int] = []
        for i, key in enumerate(keys):
            if key not in self._known:
                self._known[key] = self._count + len(new)
                new.append(i)
            number[i] = self._known[key]
        if not new:
            return number
        first, end = self._count, self._count + len(new)
        if end > len(self._all):
            larger = Vertices.room(max(end, 3 * len(self._all) // 2), self._form)
            larger.put(slice(self._count), self.vertices)
            self._all = larger
            self._plain = np.vstack([self._plain, np.zeros((len(larger) - len(self._plain), self._plain.shape[1]))])
            self._last = np.r_[self._last, np.zeros(len(larger) - len(self._last), dtype=np.intp)]
        part, added = slice(first, end), found.take(np.array(new))
        added.row = self.duals.add(added.multipliers)
        self._all.put(part, added)
        pi = added.multipliers
        nominal = np.maximum(pi, 0.0) @ self._nominal[0] + np.minimum(pi, 0.0) @ self._nominal[1]
        self._plain[part] = np.c_[pi, added.constant + nominal]
        self._last[part] = self._now
        self._count = end
        return number

    def best(self, moved: Matrix, which: Indices) -> tuple[Indices, NDArray[np.float32]]:
        """For sides moved by this, the vertex of largest value among some, and its value."""
        numbers, values = np.empty(len(moved), dtype=np.intp), np.empty(len(moved), dtype=np.float32)
        # where all are moved alike there is one product
        vary = (moved != moved[0]).any(axis=0)
        rates, value = self._rates(which)
        value, rates, moves = value + rates[:, ~vary] @ moved[0, ~vary], rates[:, vary], moved[:, vary]
        value, turned, moves = value.astype(np.float32), rates.T.astype(np.float32), moves.astype(np.float32)
        step = max(1, _BATCH // max(len(which), 1))
        for start in range(0, len(moved), step):
            part = slice(start, start + step)
            every = moves[part] @ turned
            every += value
            numbers[part] = every.argmax(axis=1)
            values[part] = np.take_along_axis(every, numbers[part, None], 1)[:, 0]
        return which[numbers], values

    def values(self, moved: Matrix, which: Indices) -> Matrix:
        """Values of some vertices, a line for each line of sides."""
        rates, value = self._rates(which)
        return moved @ rates.T + value

    def _rates(self, which: Indices) -> tuple[Matrix, Vector]:
        """Multipliers and nominal values less the first vertex's, so that single precision is enough."""
        plain = self._plain[which] - self._plain[0]
        return plain[:, :-1], plain[:, -1]

    def used(self, numbers: Indices) -> None:
        """These were the best of some scenario."""
        self._last[numbers] = self._now
