"""A convex quadratic form as the sum of squares of linear functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.answers.curvature import Curvature
from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument

POINT = "point"  # name in the `extras` of a cut of a quadratic objective: where it was taken
ROUNDING = 1e-13  # of eigenvalues, relative to the largest and per dimension


class Quadratic:
    """``1/2 x @ P @ x = 1/2 sum_i (r_i @ x)**2``, the r_i being eigenvectors times the root of their eigenvalues.

    P is taken apart block by block: variables that no entry of P joins share no r_i, and a diagonal P gives one r_i a
    variable.

    Parameters
    ----------
    P : csr_array of shape (n, n)
        Symmetric, positive semidefinite; what rounding leaves of negative eigenvalues, to 1e-9 of the largest, is
        taken for zero.

    Attributes
    ----------
    P : csr_array of shape (n, n)
    roots : csr_array of shape (rank, n)
        The r_i; eigenvalues that are rounding are left out.

    Raises
    ------
    InvalidArgument
        P is not positive semidefinite.
    """

    def __init__(self, P: sparse.csr_array) -> None:
        self.P = P
        self.roots = sparse.csr_array(self._roots(P.shape[0]))

    def _roots(self, n: int) -> sparse.coo_array:
        n_blocks, block = sparse.csgraph.connected_components(self.P, directed=False)
        used = self.P.diagonal() != 0
        used[self.P.indices] = True
        rows, columns, entries, rank = [], [], [], 0
        order = np.argsort(block, kind="stable")
        for members in np.split(order, np.cumsum(np.bincount(block, minlength=n_blocks))[:-1]):
            if not used[members[0]]:
                continue
            values, vectors = np.linalg.eigh(self.P[np.ix_(members, members)].toarray())
            size = float(np.abs(values).max())
            if values[0] < -1e-9 * size:
                raise InvalidArgument(
                    f"`P` must be positive semidefinite, else nothing is convex, got an eigenvalue {values[0]:.6g}"
                )
            kept = np.flatnonzero(values > ROUNDING * len(members) * size)
            scaled = vectors[:, kept] * np.sqrt(values[kept])
            rows.append(np.repeat(rank + np.arange(len(kept)), len(members)))
            columns.append(np.tile(members, len(kept)))
            entries.append(scaled.T.ravel())
            rank += len(kept)
        if not rank:
            return sparse.coo_array((0, n))
        where = np.concatenate(rows), np.concatenate(columns)
        return sparse.coo_array((np.concatenate(entries), where), shape=(rank, n))

    def at(self, x: Vector) -> tuple[float, Vector]:
        """Value and gradient."""
        along = self.roots @ x
        return 0.5 * float(along @ along), self.roots.T @ along

    def cut(self, linear: ObjectiveCut, multicut: bool, wished: bool) -> ObjectiveCut:
        """Add the form to the cut of a linear function: with the cuts of all summands, and the curvature if wished."""
        curved, pull = self.at(linear.point)
        summands = (linear, *self.summands(linear.point)) if multicut else ()
        answers = (Curvature(self.roots.toarray()),) if wished else ()
        value, slope = linear.value + curved, linear.subgradient + pull
        told = {POINT: linear.point}  # the witness of a certificate
        return ObjectiveCut(linear.point, value, slope, summands=summands, answers=answers, extras=told)

    def summands(self, x: Vector) -> tuple[ObjectiveCut, ...]:
        """Cuts of the summands ``1/2 (r_i @ x)**2``, each a function of one number."""
        along = self.roots @ x
        slopes: NDArray[np.float64] = self.roots.multiply(along[:, None]).toarray()
        return tuple(ObjectiveCut(x, float(value), slope) for value, slope in zip(0.5 * along**2, slopes, strict=True))
