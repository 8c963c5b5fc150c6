"""Half-spaces between a point x and the feasible ones, from the cones that ``b - A @ x`` is outside of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Vector
from oracle_opt.cuts import FeasibilityCut
from oracle_opt.domains import Domain
from oracle_opt.errors import EmptyLocalizationSet
from oracle_opt.oracles.conic.cones import ROUNDING, Cone, Duals, Nonnegative, Zero, length
from oracle_opt.oracles.conic.conic_problem import ConicProblem

FAR = 32 * EPS  # distance from a curved cone that is rounding, relative to the terms of ``b - A @ x``


class HalfSpaces:
    """The constraint ``b - A @ x`` in K, and when a point counts as satisfying it.

    Parameters
    ----------
    problem : ConicProblem
        A, b and the cones, whose product is K.
    tolerance : float
        The tolerance of `ConicOracle`.
    most : int
        Limit on the half-spaces of one cone.

    Attributes
    ----------
    impossible : list of ndarray of shape (m,)
        Vectors of the dual cone each of which proved that no point of the domain is feasible.
    """

    def __init__(self, problem: ConicProblem, tolerance: float, most: int) -> None:
        A, b, cones = problem.A, problem.b, problem.cones
        self.A, self.b, self.cones, self.tolerance, self.most = A, b, cones, tolerance, most
        starts = np.cumsum([0, *(cone.dimension for cone in cones)])
        row_norms = np.asarray(sparse.linalg.norm(A, axis=1)) if A.shape[0] else np.zeros(0)
        self._blocks = [
            _Block(A[start:stop], b[start:stop], row_norms[start:stop], slice(start, stop))
            for start, stop in pairwise(starts)
        ]
        self._largest_side = float(np.abs(b).max(initial=0.0))
        self.impossible: list[Vector] = []

    def at(self, x: Vector, held: NDArray[np.intp], extent: float) -> list[FeasibilityCut]:
        """Half-spaces that exclude x, the farthest first; none if x counts as feasible.

        Parameters
        ----------
        x : ndarray of shape (n,)
            The query point.
        held : ndarray of int
            Rows that need no look, as the domain holds them.
        extent : float
            No point of the domain has a larger norm.

        Raises
        ------
        EmptyLocalizationSet
            Some y of the dual cone has ``y @ (b - A @ z) < 0`` for all z of the domain, as ``A.T @ y`` is zero.
        """
        v = self.b - self.A @ x
        v[held] = 0.0  # satisfied, up to the domain's tolerance
        norm = sqrt(x @ x)
        cuts: list[FeasibilityCut] = []
        for cone, block in zip(self.cones, self._blocks, strict=True):
            part = v[block.part]
            if isinstance(cone, Zero | Nonnegative):
                cuts += self._inequalities(x, norm, part, cone, block, extent)
            elif len(rows := cone.separate(part, self.most)):
                cuts += self._curved(x, norm, part, cone, block, rows, extent)
        cuts.sort(key=lambda cut: -cut.violation)
        return cuts

    def _inequalities(
        self, x: Vector, norm: float, v: Vector, cone: Cone, block: _Block, extent: float
    ) -> Iterator[FeasibilityCut]:
        """Each row of A is a cone of its own: its tolerance is in units of the distance in x."""
        depths = np.abs(v) if isinstance(cone, Zero) else -v
        if not depths.max() > 0.0:
            return
        units = block.row_norms
        allowed = self.tolerance * np.where(units > 0.0, units * max(1.0, norm), max(1.0, self._largest_side))
        chosen = np.flatnonzero(depths > np.maximum(allowed, ROUNDING * (units * norm + block.sides)))
        if not len(chosen):
            return
        chosen = chosen[np.argsort(-depths[chosen], kind="stable")][: self.most]
        signs = np.where(v[chosen] > 0.0, -1.0, 1.0)
        normals = signs[:, None] * block.A[chosen].toarray()
        for i, sign, normal in zip(chosen, signs, normals, strict=True):
            row = np.zeros(len(v))
            row[i] = sign
            error = self.tolerance * max(1.0, extent) * float(units[i])
            yield from self._cut(x, norm, block, row, normal, float(depths[i]), error, extent)

    def _curved(
        self, x: Vector, norm: float, v: Vector, cone: Cone, block: _Block, rows: Duals, extent: float
    ) -> Iterator[FeasibilityCut]:
        """The distance of the cone decides; the half-space through its nearest point has the normal y."""
        depths = -(rows @ v)
        distance = float(depths[0]) if len(rows) == 1 else length(depths)
        y = rows[0] if len(rows) == 1 else (depths @ rows) / distance
        pull = block.turned @ y
        # no more than rounding, relative to v, as multipliers amplify what curved cones are allowed
        allowed = self.tolerance * sqrt(pull @ pull)
        allowed = max(allowed, FAR * float(np.abs(y) @ (block.row_norms * norm + block.sides)))
        if distance <= allowed and (len(rows) < self.most or cone.distance(v) <= allowed):
            return
        # an accepted point may violate another half-space of the cone by the whole distance allowed
        largest = (block.size * extent if block.size else 0.0) + block.side
        error = self.tolerance * block.size + (FAR + cone.rounding) * largest
        if len(rows) == 1:
            yield from self._cut(x, norm, block, y, pull, distance, error, extent)
            return
        found = [
            cut
            for row, normal, depth in zip(rows, (block.turned @ rows.T).T, depths, strict=True)
            for cut in self._cut(x, norm, block, row, normal, float(depth), error, extent)
        ]
        yield from found or self._cut(x, norm, block, y, pull, distance, error, extent)

    def _cut(
        self,
        x: Vector,
        norm: float,
        block: _Block,
        row: Vector,
        normal: Vector,
        depth: float,
        error: float,
        extent: float,
    ) -> Iterator[FeasibilityCut]:
        """The half-space of one vector of the dual cone, in units of the distance in x; none if it is rounding."""
        sizes = np.abs(row)
        unit, noise, terms = (
            sqrt(normal @ normal),
            ROUNDING * float(sizes @ block.row_norms),
            float(sizes @ block.sides),
        )
        dual = np.zeros(len(self.b))
        if unit <= 16.0 * noise:
            constant = float(row @ self.b[block.part])
            if -constant - ROUNDING * terms > ((unit + noise) * extent if unit + noise else 0.0):
                dual[block.part] = row
                self.impossible.append(dual)
                raise EmptyLocalizationSet("a vector of the dual cone proves that no point is feasible")
            return
        rounding = noise * norm + ROUNDING * terms  # what ``y @ (b - A @ x)`` may be off by
        if depth > rounding:
            dual[block.part] = row / unit
            # the cut is in units of the distance in x, in which the violation of a cone has no meaning
            yield FeasibilityCut(
                x, (depth - rounding) / unit, normal / unit, extras={"dual": dual}, error=(error + rounding) / unit
            )


class _Block:
    """The rows of one cone, and the sizes of their entries."""

    def __init__(self, A: sparse.csr_array, b: Vector, row_norms: Vector, part: slice) -> None:
        self.A, self.part, self.row_norms, self.sides = A, part, row_norms, np.abs(b)
        self.size, self.side = length(row_norms), length(b)

    @cached_property
    def turned(self) -> sparse.csr_array | NDArray[np.float64]:
        """The transpose, which curved cones multiply by; dense where that is faster."""
        turned = self.A.T.tocsr()
        return turned.toarray() if 10 * turned.nnz > self.A.shape[0] * self.A.shape[1] else turned


def extent_of(domain: Domain) -> float:
    """Norm that no point of the domain, or of the ball in which a minimizer is promised, exceeds."""
    return length(np.abs(domain.bounding_box()).max(axis=0))
