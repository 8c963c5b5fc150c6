"""The rows of a factor R whose norms the equations of a semidefinite program fix: ``(R R')_ii = t_i``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oracle_opt import Domain, Eigenpairs
from oracle_opt.arrays import Matrix, Vector

SAME = 1e-9  # relative: sums of norms that agree so far are the trace


class FactorRows:
    """Spheres on which a factor R lives, ``norm(R_i)^2 = t_i``; rows that are not fixed share the rest of the trace.

    Parameters
    ----------
    told : Eigenpairs
        Matrix function, trace and b.
    places, sides, scales : ndarray of shape (m,)
        Row that each A_i fixes, ``b_i / a_i``, and its entry a_i.
    rest : float
        Trace of the rows that are not fixed.
    """

    def __init__(self, told: Eigenpairs, places: Vector, sides: Vector, scales: Vector, rest: float) -> None:
        self._told = told
        self._places, self._sides, self._scales, self._rest = places, sides, scales, rest
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
        self.size = float(np.sqrt((heights**2).mean())) or 1.0
        self._lengths = np.sqrt(np.maximum(heights, 1e-3 * self.size) / self.size)
        if rest > 0:
            self._lengths[self._free] = float(np.sqrt(heights[self._free].sum() / self.size)) or 1.0

    @classmethod
    def of(cls, told: Eigenpairs) -> FactorRows | None:
        """The rows that the A_i fix; None where some A_i is not a single entry of the diagonal, or no X is feasible."""
        matrix = told.matrix
        entries, b = matrix.entries, told.b
        if entries.shape != (len(b), len(b)) or not (np.diff(entries.indptr) == 1).all():
            return None
        if not (matrix.rows == matrix.columns).all() or not entries.data.all():
            return None
        places = matrix.rows[entries.indices]
        sides = b / entries.data
        rest = told.trace - float(sides.sum())
        if not sides.min() > 0:
            return None
        if len(places) == matrix.order:
            return cls(told, places, sides, entries.data, 0.0) if abs(rest) <= SAME * told.trace else None
        return cls(told, places, sides, entries.data, rest) if rest > SAME * told.trace else None

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

    def function(self, columns: int) -> Callable[[Vector], tuple[float, Vector]]:
        """``-<C, R R'>`` and its gradient as a function of V, R = scaled(V), in units of a row of C."""
        C, free = self._told.matrix.C, self._free

        def value(v: Vector) -> tuple[float, Vector]:
            V = v.reshape(-1, columns)
            share = self._shares(V)
            R = V * share[:, None]
            CR = C @ R
            forms = np.einsum("ij,ij->i", CR, R)
            radial = forms / self._roots**2
            if self._rest > 0:
                radial[free] = forms[free].sum() / self._rest
            gradient = (-2.0 / self.size) * share[:, None] * (CR - radial[:, None] * R)
            return -float(forms.sum()) / self.size, gradient.ravel()

        return value

    def dual(self, R: Matrix, domain: Domain) -> Vector:
        """The y at which a stationary R is in the eigenspace of ``C - sum_i y_i A_i``, in the domain's ball.

        ``(C R)_i = (lambda + y_i a_i) R_i``; lambda is that of the rows not fixed. Where there are none it is any, f is
        the same for all, and the y next to the center is taken.
        """
        forms = np.einsum("ij,ij->i", self._told.matrix.C @ R, R)
        y: Vector = forms[self._places] / (self._roots[self._places] ** 2 * self._scales)
        center, radius = domain.enclosing_ball()
        along = 1.0 / self._scales
        if self._rest > 0:
            y -= float(forms[self._free].sum()) / self._rest * along
        else:
            y -= float((y - center) @ along) / float(along @ along) * along
        far = float(np.linalg.norm(y - center))
        if far > radius:
            y = center + (radius * (1.0 - 1e-12) / far) * (y - center)
        return y

    def _shares(self, V: Matrix) -> Vector:
        """What the rows of V are multiplied by."""
        squares = np.maximum(np.einsum("ij,ij->i", V, V), 1e-300)
        if self._rest > 0:
            squares[self._free] = squares[self._free].sum()
        shares: Vector = self._roots / np.sqrt(squares)
        return shares
