"""Half-spaces between a point x and the feasible ones, from the cones that ``b - A @ x`` is outside of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector
from oracle_opt.cuts import FeasibilityCut
from oracle_opt.domains import Domain
from oracle_opt.errors import EmptyLocalizationSet
from oracle_opt.oracles.conic.cones import ROUNDING, Cone, Duals, Nonnegative, Zero, length
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.conic_value_proof import near_enough
from oracle_opt.oracles.conic.dual_vector import DualVector
from oracle_opt.oracles.conic.linear_rows import LinearRows
from oracle_opt.oracles.conic.row_matrix import RowMatrix, consecutive, row_norms
from oracle_opt.oracles.conic.rows import rows_of

HUGE = 1e100  # stands in for the extent of a domain without an end, so that 0 times it is 0
FAR = 32 * EPS  # distance from a curved cone that is rounding, relative to the terms of ``b - A @ x``


class HalfSpaces:
    """The constraint ``b - A @ x`` in K, and when a point counts as satisfying it."""

    def __init__(self, problem: ConicProblem, held: NDArray[np.intp], tolerance: float, most: int) -> None:
        self._A, self._b, self._tolerance, self._most = problem.A, problem.b, tolerance, most
        self._norms = row_norms(problem.A)
        looked_at = np.ones(len(problem.b), dtype=bool)
        looked_at[held] = False
        equations, inequalities = (rows_of(problem.cones, kind) for kind in (Zero, Nonnegative))
        self._linear = LinearRows(
            problem.A,
            problem.b,
            self._norms,
            equations[looked_at[equations]],
            inequalities[looked_at[inequalities]],
            tolerance,
        )
        starts = np.cumsum([0, *(cone.dimension for cone in problem.cones)])
        curved: dict[object, list[tuple[Cone, int]]] = {}
        for cone, start in zip(problem.cones, starts[:-1].tolist(), strict=True):
            if not isinstance(cone, Zero | Nonnegative):
                curved.setdefault(cone.alike, []).append((cone, start))
        self._groups = [_Group(one, self._norms) for one in curved.values()]
        self._blocks: dict[int, _Block] = {}  # those that were looked at, by their first rows
        self.impossible: list[DualVector] = []  # each proved that no point of the domain is feasible

    def at(self, x: Vector, extent: Vector) -> list[FeasibilityCut]:
        """Half-spaces that exclude x, the farthest first; none if x counts as feasible.

        `EmptyLocalizationSet` if a y of the dual cone with ``A.T @ y`` zero has ``y @ (b - A @ z) < 0`` at all z.
        """
        excess = self._A @ x
        excess -= self._b
        rows = self._linear.violated(excess, x, extent, self._most)
        if not rows.units.all():  # rows without entries are the farthest
            i = int(rows.numbers[0])
            words = f"row {i} of `A` has no entries and `b` is {self._b[i]:g} there, which no x satisfies"
            self._refuse(DualVector(rows.numbers[:1], rows.signs[:1]), words)
        cuts = rows.cuts(x, self._tolerance, extent, [dual.extras for dual in rows.duals])
        if self._groups:
            v, reach = -excess, length(extent)
            for group in self._groups:
                cuts += self._of_group(x, v, group, reach)
        cuts.sort(key=lambda cut: -cut.violation)
        return cuts[: self._most]

    def _of_group(self, x: Vector, v: Vector, group: _Group, extent: float) -> list[FeasibilityCut]:
        """Cuts of cones that are the same set: of the farthest cones, as far as the cones can tell these."""
        far = group.cone.screen(v[group.rows]) / group.sizes
        outside = np.flatnonzero(far)
        rows = group.rows[outside]
        near = group.cone.nearby(v[rows])
        if near is not None and len(rows):
            terms = abs(self._A[rows.ravel()]) @ np.abs(x) + np.abs(self._b[rows.ravel()])
            given = self._A, rows, near - v[rows], terms.reshape(rows.shape), self._tolerance, extent, FAR
            far[outside[near_enough(*given)]] = 0.0
        cuts: list[FeasibilityCut] = []
        for i in np.argsort(-far, kind="stable"):
            if far[i] == 0.0 or (len(cuts) >= self._most and np.isfinite(far[i])):
                break
            start = int(group.rows[i, 0])
            block = self._blocks.get(start)
            if block is None:
                part = slice(start, start + group.cone.dimension)
                block = _Block(consecutive(self._A, part), self._b[part], self._norms[part], start)
                self._blocks[start] = block
            part_of_v = v[start : start + group.cone.dimension]
            separating = group.cone.separate(part_of_v, self._most)
            if len(separating):
                cuts += self._curved(x, part_of_v, group.cone, block, separating, extent)
        return cuts

    def _curved(
        self, x: Vector, v: Vector, cone: Cone, block: _Block, rows: Duals, extent: float
    ) -> Iterator[FeasibilityCut]:
        """The distance of the cone decides; the half-space through its nearest point has the normal y."""
        depths = -(rows @ v)
        distance = float(depths[0]) if len(rows) == 1 else length(depths)
        y = rows[0] if len(rows) == 1 else (depths @ rows) / distance
        pull = block.turned @ y
        # no more than rounding, relative to v, as multipliers amplify what curved cones are allowed
        tolerance = self._tolerance * min(1.0, extent)
        terms = block.terms(x)
        allowed = min(tolerance * sqrt(pull @ pull), self._tolerance * float(terms.max()))
        allowed = max(allowed, FAR * float(np.abs(y) @ terms))
        if distance <= allowed and (len(rows) < self._most or cone.distance(v) <= allowed):
            return
        # an accepted point may violate another half-space of the cone by the whole distance allowed
        largest = (block.size * extent if block.size else 0.0) + block.side
        error = tolerance * block.size + (FAR + cone.rounding) * largest
        if len(rows) == 1:
            yield from self._cut(x, terms, cone, block, y, pull, distance, error, extent)
            return
        found = [
            cut
            for row, normal, depth in zip(rows, (block.turned @ rows.T).T, depths, strict=True)
            for cut in self._cut(x, terms, cone, block, row, normal, float(depth), error, extent)
        ]
        yield from found or self._cut(x, terms, cone, block, y, pull, distance, error, extent)

    def _cut(
        self,
        x: Vector,
        terms: Vector,
        cone: Cone,
        block: _Block,
        row: Vector,
        normal: Vector,
        depth: float,
        error: float,
        extent: float,
    ) -> Iterator[FeasibilityCut]:
        """The half-space of one vector of the dual cone, in units of the distance in x; none if it is rounding."""
        sizes = np.abs(row)
        unit, noise = sqrt(normal @ normal), ROUNDING * float(sizes @ block.row_norms)
        if unit <= 16.0 * noise:
            constant = float(row @ block.b)
            if -constant - ROUNDING * float(sizes @ block.sides) > ((unit + noise) * extent if unit + noise else 0.0):
                first, last = block.numbers[[0, -1]]
                words = f"no x of the domain brings rows {first} to {last} of `A` into the {cone!r}"
                self._refuse(DualVector(block.numbers, row), words)
            return
        rounding = ROUNDING * float(sizes @ terms)  # what ``y @ (b - A @ x)`` may be off by
        if depth > rounding:
            # the cut is in units of the distance in x, in which the violation of a cone has no meaning
            dual = DualVector(block.numbers, row / unit, cone.witness(row / unit))
            violation, error = (depth - rounding) / unit, (error + rounding) / unit
            yield FeasibilityCut(x, violation, normal / unit, extras=dual.extras, error=error)

    def _refuse(self, dual: DualVector, words: str) -> NoReturn:
        """End the run with the proof that there is no point."""
        self.impossible.append(dual)
        raise EmptyLocalizationSet(f"a vector of the dual cone proves that no point is feasible: {words}")


@dataclass(frozen=True, eq=False)
class _Group:
    """Cones that are the same set."""

    cone: Cone
    rows: NDArray[np.intp]  # of A of each, shape (number of cones, dimension)
    sizes: Vector  # norms of these rows, 1 where they are zero: distances over these are roughly those in x

    def __init__(self, cones: Sequence[tuple[Cone, int]], norms: Vector) -> None:
        cone = cones[0][0]
        rows = np.array([start for _, start in cones], dtype=np.intp)[:, None] + np.arange(cone.dimension)
        sizes = np.sqrt((norms[rows] ** 2).sum(axis=1))
        for name, value in {"cone": cone, "rows": rows, "sizes": np.where(sizes > 0.0, sizes, 1.0)}.items():
            object.__setattr__(self, name, value)


class _Block:
    """The rows of one curved cone, and the sizes of their entries."""

    def __init__(self, A: RowMatrix, b: Vector, row_norms: Vector, start: int) -> None:
        self._A, self.b, self.row_norms, self.sides = A, b, row_norms, np.abs(b)
        self.numbers = np.arange(start, start + len(b))
        self.size, self.side = length(row_norms), length(b)

    def terms(self, x: Vector) -> Vector:
        """Sizes of the terms of ``b - A @ x``."""
        terms: Vector = abs(self._A) @ np.abs(x) + self.sides
        return terms

    @cached_property
    def turned(self) -> RowMatrix:
        """The transpose, which curved cones multiply by; dense where that is faster."""
        if isinstance(self._A, np.ndarray):
            return self._A.T
        many = 10 * self._A.nnz > self._A.shape[0] * self._A.shape[1]
        return self._A.toarray().T if many else self._A.T.tocsr()


def extent_of(domain: Domain) -> Vector:
    """Largest size of each variable in the domain, or in the ball in which a minimizer is promised."""
    extent: Vector = np.minimum(np.abs(domain.bounding_box()).max(axis=0), HUGE)
    return extent
