"""Equations of a factor R of a semidefinite program: norms of its rows, ``(R R')_ii = t_i``, and ``v' R = 0``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain, Eigenpairs
from oracle_opt.arrays import EPS, Matrix, Vector

ONE_RANK = 4e-15  # relative: entries that agree so far are those of a matrix of rank one
SAME = 1e-9  # relative: sums of norms that agree so far are the trace
EDGE = 0.995  # share of the ball's radius that multipliers may reach: near enough for `Domain.doubt` to tell


class FactorZeros:
    """Equations ``v' R = 0``, as of halves of a graph, each column with a multiplier, as ``R R'`` has none."""

    def __init__(self, chosen: NDArray[np.intp], norms: Vector, vectors: Matrix, sizes: Vector) -> None:
        self.chosen, self._norms, self._vectors, self._sizes = chosen, norms, vectors, sizes

    @classmethod
    def of(cls, told: Eigenpairs, chosen: NDArray[np.intp]) -> FactorZeros | None:
        """The chosen equations; None where one is no multiple of a ``v v'`` whose right-hand side is 0."""
        if told.b[chosen].any():
            return None
        matrix, entries, found, sizes = told.matrix, told.matrix.entries, [], []
        for i in chosen:
            part = slice(entries.indptr[i], entries.indptr[i + 1])
            places = entries.indices[part]
            v = _root(matrix.rows[places], matrix.columns[places], entries.data[part], matrix.order)
            if v is None:
                return None
            found.append(v)
            sizes.append(float(np.abs(entries.data[part]).max()))
        vectors = np.array(found)
        norms = np.sum(vectors**2, axis=1)
        return cls(chosen, norms, vectors / np.sqrt(norms)[:, None], np.array(sizes))

    def excess(self, R: Matrix) -> Matrix:
        """``v' R`` for all v."""
        missed: Matrix = self._vectors @ R
        return missed

    def gram(self, R: Matrix, norms: Vector) -> tuple[Vector, Vector]:
        """``<A_i, R R'>`` by ``norms_i norm(v' R)^2``, and bounds on their errors.

        Entries of A_i differ from those of ``norms_i v v'`` by less than 2 `ONE_RANK` of the largest.
        """
        missed = np.sqrt(np.sum(self.excess(R) ** 2, axis=1))
        wrong = EPS * (len(R) + 8.0) * (np.abs(self._vectors) @ norms)
        beside = 2.0 * ONE_RANK * self._sizes * float(norms.sum()) ** 2
        return self._norms * missed**2, self._norms * (
            (2.0 * missed + wrong) * wrong + EPS * (R.shape[1] + 8.0) * missed**2
        ) + beside

    def pull(self, multipliers: Matrix) -> Matrix:
        """Half the gradient of ``<multipliers, excess(R)>``."""
        half: Matrix = 0.5 * (self._vectors.T @ multipliers)
        return half

    def correction(self, R: Matrix, units: Matrix) -> Matrix:
        """The least D, ``D_i = (I - u_i u_i') sum_a v_ai w_a``, with ``v' (R + D) = 0`` to first order."""
        count, columns = len(self._vectors), R.shape[1]
        system = np.einsum("ai,bi,ij,il->ajbl", self._vectors, self._vectors, units, units, optimize=True)
        system = np.einsum("ab,jl->ajbl", np.eye(count), np.eye(columns)) - system
        w = np.linalg.lstsq(system.reshape(count * columns, -1), -self.excess(R).ravel())[0].reshape(count, columns)
        D: Matrix = self._vectors.T @ w
        D -= np.einsum("ij,ij->i", D, units)[:, None] * units
        return D

    def multipliers(self, told: Eigenpairs, y: Vector, level: float, room: float) -> Vector:
        """The y with which no eigenvalue of ``M(y)`` exceeds `level` plus `room`, nearly: see docs/theory_cones.md."""
        turned = self._vectors @ told.matrix.at(y)
        own = np.sum(turned * self._vectors, axis=1)
        beside = np.maximum(np.sum(turned**2, axis=1) - own**2, 0.0)
        weights: Vector = np.maximum(own - level + beside / room, 0.0) / self._norms
        return weights


def _root(rows: NDArray[np.intp], columns: NDArray[np.intp], data: Vector, order: int) -> Vector | None:
    """The v of a matrix v v', or None."""
    v = np.zeros(order)
    diagonal = rows == columns
    v[rows[diagonal]] = np.sqrt(np.maximum(data[diagonal], 0.0))
    if not len(data) or np.count_nonzero(v) ** 2 != len(data):
        return None
    first = rows == np.argmax(v)
    v[columns[first]] *= np.sign(data[first])
    return v if np.abs(v[rows] * v[columns] - data).max() <= ONE_RANK * np.abs(data).max() else None


class FactorRows:
    """Spheres on which a factor R lives, ``norm(R_i)^2 = t_i``; rows that are not fixed share the rest of the trace."""

    def __init__(
        self,
        told: Eigenpairs,
        fixed: tuple[NDArray[np.intp], NDArray[np.intp], Vector, Vector],
        rest: float,
        zeros: FactorZeros | None,
    ) -> None:
        self._told, self._rest, self.zeros = told, rest, zeros
        self._chosen, places, sides, self._scales = fixed
        self._places = places
        order = told.matrix.order
        self._free = np.ones(order, dtype=bool)
        self._free[places] = False
        self._roots = np.ones(order)
        self._roots[places] = np.sqrt(sides)
        if rest > 0:
            self._roots[self._free] = np.sqrt(rest)
        # L-BFGS on points of this size: the second derivatives are then alike in all rows
        C = told.matrix.C
        heights = (abs(C) @ self._roots - np.abs(C.diagonal()) * self._roots) * self._roots
        # The size of a row of C: the unit of the objective, over the trace, and of gradients.
        self.size = float(np.sqrt((heights**2).mean())) or 1.0
        self._lengths = np.sqrt(np.maximum(heights, 1e-3 * self.size) / self.size)
        if rest > 0:
            self._lengths[self._free] = float(np.sqrt(heights[self._free].sum() / self.size)) or 1.0

    @classmethod
    def of(cls, told: Eigenpairs) -> FactorRows | None:
        """The rows that the A_i fix, and the zeros of the others; None where an A_i is another, or no X is feasible."""
        matrix = told.matrix
        entries, b = matrix.entries, told.b
        if not matrix.counts.all():
            return None
        first = entries.indices[entries.indptr[:-1]]
        single = (matrix.counts == 1) & (matrix.rows[first] == matrix.columns[first]) & (b != 0)
        chosen, others = np.flatnonzero(single), np.flatnonzero(~single)
        places, scales = matrix.rows[first[chosen]], entries.data[entries.indptr[chosen]]
        if not len(chosen) or not scales.all() or len(np.unique(places)) < len(places):
            return None
        sides = b[chosen] / scales
        rest, full = told.trace - float(sides.sum()), len(places) == matrix.order
        if not sides.min() > 0 or ((abs(rest) > SAME * told.trace) if full else (rest <= SAME * told.trace)):
            return None
        zeros = FactorZeros.of(told, others) if len(others) else None
        if len(others) and zeros is None:
            return None
        return cls(told, (chosen, places, sides, scales), 0.0 if full else rest, zeros)

    def scaled(self, V: Matrix) -> Matrix:
        """The factor on the spheres that is next to V."""
        if not V.any(axis=1).all():
            V = np.column_stack([V, ~V.any(axis=1)])
        R: Matrix = V * self._shares(V)[:, None]
        return R

    def unscaled(self, R: Matrix) -> Matrix:
        """A point that `scaled` takes to R, of the size that suits the second derivatives."""
        V: Matrix = R * (self._lengths / self._roots)[:, None]
        return V

    def function(
        self, columns: int, multipliers: Matrix | None = None, penalty: float = 0.0
    ) -> Callable[[Vector], tuple[float, Vector]]:
        """``-<C, R R'>`` with the zeros' augmented Lagrangian, and its gradient at V, R = scaled(V), over `size`."""
        C, free, zeros = self._told.matrix.C, self._free, self.zeros

        def both(v: Vector) -> tuple[float, Vector]:
            V = v.reshape(-1, columns)
            share = self._shares(V)
            R = V * share[:, None]
            MR = C @ R
            value = -float(np.vdot(MR, R))
            if zeros is not None and multipliers is not None:
                excess = zeros.excess(R)
                value += float(np.vdot(multipliers, excess)) + 0.5 * penalty * float(np.vdot(excess, excess))
                MR = MR - zeros.pull(multipliers + penalty * excess)
            forms = np.einsum("ij,ij->i", MR, R)
            radial = forms / self._roots**2
            if self._rest > 0:
                radial[free] = forms[free].sum() / self._rest
            gradient = (-2.0 / self.size) * share[:, None] * (MR - radial[:, None] * R)
            return value / self.size, gradient.ravel()

        return both

    def met(self, R: Matrix) -> Matrix:
        """A factor next to R that meets the zeros up to rounding, by steps of Newton's on the spheres."""
        if self.zeros is None:
            return R
        for _ in range(4):
            units = np.where(self._free, 0.0, 1.0 / self._roots)[:, None] * R
            after = self.scaled(R + self.zeros.correction(R, units))
            if not np.linalg.norm(self.zeros.excess(after)) < 0.5 * np.linalg.norm(self.zeros.excess(R)):
                break
            R = after
        return R

    def dual(self, R: Matrix, domain: Domain, multipliers: Matrix | None, room: float) -> Vector:
        """The y at which a stationary R is in the eigenspace of ``C - sum_i y_i A_i``, in the domain's ball.

        See docs/theory_cones.md; the y of zeros let the largest eigenvalue exceed lambda by `room`, in units of `size`.
        """
        center, radius = domain.enclosing_ball()
        zeros, y = self.zeros, np.zeros(len(self._told.b))
        MR = self._told.matrix.C @ R
        if zeros is not None and multipliers is not None:
            MR = MR - zeros.pull(multipliers)
        forms = np.einsum("ij,ij->i", MR, R)
        y[self._chosen] = forms[self._places] / (self._roots[self._places] ** 2 * self._scales)
        along = np.zeros(len(y))
        along[self._chosen] = 1.0 / self._scales
        if self._rest > 0:
            level = float(forms[self._free].sum()) / self._rest
        else:
            level = float((y - center) @ along) / float(along @ along)
        y -= level * along
        if zeros is not None:
            weights = zeros.multipliers(self._told, y, 0.0, room * self.size)
            # where they would be larger the ball binds: at its edge, so that the result says so
            left = EDGE * float(np.sqrt(max(radius**2 - float(np.sum((y - center) ** 2)), 0.0)))
            y[zeros.chosen] = weights * min(1.0, left / max(float(np.linalg.norm(weights)), 1e-300))
        far = float(np.linalg.norm(y - center))
        if far > radius:
            y = center + (radius * (1.0 - 1e-12) / far) * (y - center)
        return y

    def _shares(self, V: Matrix) -> Vector:
        """The factors of the rows of V."""
        squares = np.maximum(np.einsum("ij,ij->i", V, V), 1e-300)
        if self._rest > 0:
            squares[self._free] = squares[self._free].sum()
        shares: Vector = self._roots / np.sqrt(squares)
        return shares
