"""The equations ``<v v', R R'> = 0`` of a semidefinite program: linear ones of its factor R, ``v' R = 0``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Eigenpairs
from oracle_opt.arrays import EPS, Matrix, Vector

SAME = 4e-15  # relative: entries that agree so far are those of a matrix of rank one


class FactorZeros:
    """Equations ``v' R = 0``, such as the one that halves a graph, with a multiplier for each v and column of R.

    As an equation of R R' it has none: its gradient is zero where it holds.

    Parameters
    ----------
    chosen : ndarray of int
        Which A_i are ``norms_i v v'``.
    norms : ndarray of shape (k,)
        Their norms.
    vectors : ndarray of shape (k, N)
        The v, of norm one.
    sizes : ndarray of shape (k,)
        Largest entries of the A_i.
    """

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
        """``<A_i, R R'>``, and bounds on their errors, from the norms of the rows of R.

        ``norms_i norm(v' R)^2``: next to zero this has the square of the rounding of ``v' R``. The entries of A_i
        differ from those of ``norms_i v v'`` by less than 2 `SAME` of the largest.
        """
        missed = np.sqrt(np.sum(self.excess(R) ** 2, axis=1))
        wrong = EPS * (len(R) + 8.0) * (np.abs(self._vectors) @ norms)
        beside = 2.0 * SAME * self._sizes * float(norms.sum()) ** 2
        return self._norms * missed**2, self._norms * (
            (2.0 * missed + wrong) * wrong + EPS * (R.shape[1] + 8.0) * missed**2
        ) + beside

    def pull(self, multipliers: Matrix) -> Matrix:
        """Half the gradient of ``<multipliers, excess(R)>``."""
        half: Matrix = 0.5 * (self._vectors.T @ multipliers)
        return half

    def correction(self, R: Matrix, units: Matrix) -> Matrix:
        """The least change D of R with ``v' (R + D) = 0`` to first order, and ``D_i`` orthogonal to the unit vectors.

        ``D_i = (I - u_i u_i') sum_a v_ai w_a``, where the w solve a system with an equation for each entry of `excess`.

        Parameters
        ----------
        R : ndarray of shape (N, k)
            The factor.
        units : ndarray of shape (N, k)
            The u: rows of norm one, or zero where a row may change as it will.
        """
        count, columns = len(self._vectors), R.shape[1]
        system = np.einsum("ai,bi,ij,il->ajbl", self._vectors, self._vectors, units, units, optimize=True)
        system = np.einsum("ab,jl->ajbl", np.eye(count), np.eye(columns)) - system
        w = np.linalg.lstsq(system.reshape(count * columns, -1), -self.excess(R).ravel())[0].reshape(count, columns)
        D: Matrix = self._vectors.T @ w
        D -= np.einsum("ij,ij->i", D, units)[:, None] * units
        return D

    def multipliers(self, told: Eigenpairs, y: Vector, level: float, room: float) -> Vector:
        """The y of these equations with which no eigenvalue of ``M(y)`` exceeds `level` plus `room`, nearly.

        Next to a solution M is, without them, at most `level` beside v; ``v' M v`` and ``v' M`` are its other blocks.
        By Schur's complement ``v' M v - weight + norm(v' M beside v)^2 / room <= level + room`` is enough. No finite
        weight takes away all of the room, in general.
        """
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
    return v if np.abs(v[rows] * v[columns] - data).max() <= SAME * np.abs(data).max() else None
