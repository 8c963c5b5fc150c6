"""RBF kernels on the same features share distances, of many widths by interpolation, of few points in tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.compiled_loops import rbf_loops
from oracle_opt.oracles.kernels.family_points import FamilyPoints
from oracle_opt.oracles.kernels.family_sums import FamilySums, KernelFamily

# Widths from which no tables of kernels are kept.
MANY_WIDTHS = 8
# Points that differ up to which all entries of the kernels of a few widths are kept.
FEW_POINTS = 64
# Error of an interpolated kernel, relative to its diagonal, in double and in single precision.
EXACT, EXACT_SINGLE = 1e-14, 2.0**-27
# Nodes from which, and features up to which, distances are taken in double precision also where entries are not: they
# serve all nodes, or take little time.
MANY_NODES, FEW_FEATURES = 4, 8
# Rates at least, whose logarithm is taken; and at most, in double and in single precision.
FLAT, STEEP, STEEP_SINGLE = 5e-324, 1e300, 1e30
LOG2_E = 1.0 / np.log(2.0)
# Entries of the map from nodes to widths that are made at a time, and up to which they are kept.
AT_ONCE = 1 << 16


class RBFFamily(KernelFamily):
    """Kernels ``exp(-D / (2 s**2))`` of squared distances D, equal points being one, many widths interpolated."""

    def __init__(self, points: FamilyPoints, widths: Vector, single: bool) -> None:
        self.points, self.widths, self.single = points, widths, single
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            rates = 0.5 / widths**2
        self.rates = np.clip(rates, FLAT, STEEP)
        self._interpolation = WidthInterpolation(self.rates, EXACT_SINGLE if single else EXACT)
        self.nodes = self._interpolation.nodes
        few = points.features.size <= FEW_FEATURES or points.sparse
        precise = not single or few or self.nodes.size >= MANY_NODES
        sums = FamilySums(points, single, precise, polynomial=False)
        fine = FamilySums(points, single=False, precise=True, polynomial=False) if single else sums
        super().__init__(points, sums, self._speeds(self.rates, single=False), fine)
        in_sums = self._interpolation.growth * self._error(single, precise) + self._interpolation.error
        steep = rates.max() > STEEP
        # How wrong an entry may be in a sum, and in `entries`, over the diagonal.
        self.exactness = 1.0 if steep else min(in_sums, 1.0)
        self.entry_error = 1.0 if steep else min(self._error(single=False, precise=True), 1.0)

    def label(self, k: int) -> str:
        """The name of a kernel, without its features."""
        return f"gaussian(width={self.widths[k]:.4g})"

    def chosen(self, kernels: Indices) -> RBFFamily:
        """Some of the kernels on the same points."""
        return RBFFamily(self.points, self.widths[kernels], self.single)

    def at_nodes(self, weights: Vector) -> tuple[Vector, Vector]:
        """Speeds as the compiled loops want them, and weights, of a weighted sum of the kernels."""
        rates, at_rates = self._interpolation.to_nodes(weights)
        return self._speeds(rates, self.single), at_rates

    def products(self, rows: Indices, v: Vector, block: int) -> Matrix:
        """Entries of every kernel times one vector, see `KernelFamily.products`: of those at the nodes."""
        return self._interpolation.to_rates(self.sums.products(rows, v, self._speeds(self.nodes, self.single), block))

    def forms(self, v: Vector) -> Vector:
        """Quadratic forms of every kernel, shape (w,): of those at the nodes."""
        at_nodes = self.sums.forms(v, self._speeds(self.nodes, self.single))
        forms: Vector = self._interpolation.to_rates(at_nodes[None])[0]
        return forms

    @cached_property
    def table(self) -> Matrix | None:
        """All entries of the kernels, if the points that differ are few: shape (number of pairs, w)."""
        every, u = slice(None), self.points.n_distinct
        if u > FEW_POINTS or self.rates.size >= MANY_WIDTHS:
            return None
        found = np.empty((u, u, self.rates.size))
        self._fine.entries(every, every, self._told, 1.0, found)
        return found.reshape(u * u, -1)

    def _speeds(self, rates: Vector, single: bool) -> Vector:
        """The factors of the squared distances of the kept points, for powers of 2."""
        steep = STEEP_SINGLE if single else STEEP
        with np.errstate(over="ignore", under="ignore"):
            speeds: Vector = np.minimum(np.ldexp(rates * LOG2_E, 2 * self.points.shared.exponent), steep)
        return speeds

    def _error(self, single: bool, precise: bool) -> float:
        """Error of an entry over the diagonal, with distances in double if `precise`: docs/theory_smooth_mkl.md."""
        u, d = (2.0**-24 if single else 0.5 * EPS), self.points.features.size
        u_of_distance = 0.5 * EPS if precise else 2.0**-24
        # As for points that are kept in other units, see `SharedPoints`.
        exponent = self.points.shared.exponent
        with np.errstate(over="ignore"):
            steepest = float(np.ldexp(self.rates.max(), 2 * exponent))
        # The power of 2, relative; where it ends, absolute; rate, distance and their product rounded, 0.37 of it left.
        error = 2.5 * u + (2.0**-125 if single else 0.0) + 0.37 * 4.0 * u
        if self.points.sparse:
            error += EPS * (self.points.most_entries + 8.0) * 2.0 * steepest * self.points.largest_norm
        else:
            error += 0.37 * (d // 4 + 11.0) * u_of_distance
        # The slope of exp(-rate z^2) in z is at most sqrt(2 rate / e) = 0.86 sqrt(rate); both points may be off: they
        # are rounded to single precision, and by EPS / 2 of a number of at most 1 where they are centered in double.
        off = (0.0 if precise else self.points.misplaced) + (EPS * np.sqrt(d) if self.points.shared.single else 0.0)
        error += 0.86 * np.sqrt(steepest) * 2.0 * off
        return float(error)


class RBFTables:
    """Families whose kernels are kept in tables, one of ``u**2`` entries a kernel, u points differing; all at once."""

    def __init__(self, families: Sequence[RBFFamily], scale: float) -> None:
        tables: list[Matrix] = [scale * family.table for family in families if family.table is not None]
        index = np.concatenate([np.broadcast_to(f.points.index, (f.rates.size, f.points.index.size)) for f in families])
        sizes = np.concatenate([np.full(f.rates.size, f.points.n_distinct) for f in families])
        # Value a of kernel k has the number starts[k] + a, its pairs (a, b) are at pair_starts[k] + sizes[k] * a + b.
        self.sizes = sizes
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.pair_starts = np.cumsum([0, *sizes[:-1] ** 2])
        self.values = np.ascontiguousarray(index.T)
        self.pairs = np.concatenate([table.T.ravel() for table in tables])
        self.matrix = sparse.block_diag(
            [sparse.coo_array(block) for t in tables for block in _squares(t)], format="csr"
        )

    def entries(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """Kernels of two lists of points, shape (r, c, t)."""
        others = self.values[columns]
        where = np.empty(others.shape, np.intp)
        found = np.empty((rows.size, *others.shape))
        for i, of_row in enumerate(self.pair_starts + self.sizes * self.values[rows]):
            np.take(self.pairs, np.add(of_row, others, out=where), out=found[i], mode="clip")
        return found

    def products(self, rows: Indices, v: Vector) -> Matrix:
        """Entries of every kernel times one vector, shape (r, t)."""
        products = self.matrix @ self._added_up(v)
        of_rows: Matrix = np.asarray(products)[self.starts + self.values[rows]]
        return of_rows

    def forms(self, v: Vector) -> Vector:
        """Quadratic forms of every kernel, shape (t,)."""
        w = self._added_up(v)
        return np.add.reduceat(w * (self.matrix @ w), self.starts)

    def _added_up(self, v: Vector) -> Vector:
        """Entries of v added up where the points are equal, value by value of kernel by kernel."""
        support = np.flatnonzero(v)
        numbers = self.starts + self.values[support]
        weights = np.broadcast_to(v[support, None], numbers.shape)
        added = np.bincount(numbers.ravel(), weights.ravel(), minlength=self.matrix.shape[0])
        return np.asarray(added, dtype=float)


def _squares(table: Matrix) -> list[Matrix]:
    size = round(table.shape[0] ** 0.5)
    return [column.reshape(size, size) for column in table.T]


class WidthInterpolation:
    """Interpolation of kernels ``exp(-D * rate)`` between Chebyshev points of ``log(rate)``.

    See docs/theory_smooth_mkl.md, "Many widths on the fly": at m nodes if they are fewer than the rates, else at these.
    Trefethen (2013), "Approximation theory and approximation practice", theorems 8.2 and 15.2; Higham (2004), "The
    numerical stability of barycentric Lagrange interpolation", IMA J. Numer. Anal. 24.
    """

    def __init__(self, rates: Vector, allowed: float) -> None:
        self.rates = self.nodes = rates
        self.direct, self.growth, self.error = True, 1.0, 0.0
        logs = np.log(rates)
        low, high = float(logs.min()), float(logs.max())
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        if half == 0.0:
            return
        r = 0.5 * np.pi / half + np.hypot(0.5 * np.pi / half, 1.0)
        m = int(np.ceil(1.0 + np.log(4.0 / ((r - 1.0) * allowed)) / np.log(r)))
        if m >= rates.size:
            return
        angles = (np.arange(m) + 0.5) * np.pi / m
        self.direct = False  # whether these are all the rates
        # The weights of Chebyshev points of the first kind are sines of alternating sign.
        self._points, self._factors = np.cos(angles), np.sin(angles) * (-1.0) ** np.arange(m)
        self._places = (logs - middle) / half
        self.nodes = np.exp(middle + half * self._points)  # rates at which sums are to be taken, shape (m,)
        # By how much errors at the nodes grow, and what is added to them.
        self.growth = 1.0 + 2.0 / np.pi * float(np.log(m))
        moved = 0.37 * EPS * (4.0 + max(abs(low), abs(high)))
        self.error = allowed + self.growth * (0.5 * EPS * (3 * m + 8) + moved) + moved
        self._kept = self._map(slice(None)) if rates.size * m <= AT_ONCE else None

    def to_rates(self, found: Matrix) -> Matrix:
        """Sums at the rates, shape (r, w), from those at the nodes, shape (r, m)."""
        if self.direct:
            return found
        mapped = np.empty((found.shape[0], self._places.size))
        for part, weights in self._maps():
            np.matmul(found, weights.T, out=mapped[:, part])
        return mapped

    def to_nodes(self, weights: Vector) -> tuple[Vector, Vector]:
        """Rates at which kernels are to be taken, and their weights there, for a sum with weights at the rates."""
        used = np.flatnonzero(weights)
        if self.direct or used.size <= self.nodes.size:
            return self.rates[used], weights[used]
        total = np.zeros(self.nodes.size)
        for part, factors in self._maps():
            total += weights[part] @ factors
        return self.nodes, total

    def _maps(self) -> Iterator[tuple[slice, Matrix]]:
        """Which rates, and what sums at the nodes are multiplied by for them: shape (number of them, m)."""
        if self._kept is not None:
            yield slice(None), self._kept
            return
        size = max(AT_ONCE // self.nodes.size, 1)
        for start in range(0, self.rates.size, size):
            part = slice(start, start + size)
            yield part, self._map(part)

    def _map(self, part: slice) -> Matrix:
        places = self._places[part]
        weights = np.empty((places.size, self.nodes.size))
        rbf_loops.barycentric(places, self._points, self._factors, weights)
        return weights
