"""A term that is known, in the form in which masters take it."""

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import Box
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.generators.masters.polyhedra import simple_part
from oracle_opt.known import KnownTerm

FEW = 4  # different numbers on the diagonal


class KnownForm:
    """A known term as the masters take it: a diagonal quadratic plus a linear function, on bounds and equations.

    With an l1 norm a variable is the difference of two that are not negative. With a factor R of a quadratic there are
    variables ``y = R z``. Both are variables more of the master alone: ``z = point(x)``.

    Attributes
    ----------
    domain, equations, sides : Domain, ndarray of shape (k, N), ndarray of shape (k,)
        Where the N variables x lie.
    diagonal, linear : ndarray of shape (N,)
        The term is ``diagonal @ x**2 / 2 + linear @ x``, but for a constant.
    bends : bool
        Whether the diagonal is positive: the model plus the term then has one minimizer.
    is_norm : bool
        Whether the term is an l1 norm alone.
    last : ndarray of shape (n,)
        The point z that a master found last.
    bending : tuple of float
        The numbers on the diagonal, where these are few and there is no other constraint: see `SpaceRows`.
    """

    def __init__(self, term: KnownTerm, domain: Domain) -> None:
        self.term, self.last = term, domain.interior_point()
        self.domain, equations, sides = simple_part(domain)
        quadratic, norm, n = term.quadratic, term.norm, domain.dimension
        self._split, self._n = norm is not None, n
        factor = None if quadratic is None else quadratic.factor
        self._n_more = 0 if factor is None else len(factor)
        diagonal, linear = np.zeros(n), np.zeros(n)
        if quadratic is not None:
            diagonal = np.broadcast_to(quadratic.weight * quadratic.entries, n)
            linear = linear if quadratic.center is None else -quadratic.steep(quadratic.center)
        known = domain.linear_constraints()
        if self._split or self._n_more:
            assert known is not None
            lower, upper = known.lower, known.upper
            equations, sides = known.equality_matrix, known.equality_rhs
            if norm is not None:
                diagonal = np.r_[diagonal, diagonal]
                linear = np.r_[linear, -linear] + np.broadcast_to(norm.weight, n)[None].repeat(2, 0).ravel()
                lower, upper = np.maximum([lower, -upper], 0.0).ravel(), np.maximum([upper, -lower], 0.0).ravel()
            free = np.full(self._n_more, np.inf)
            self.domain = Box(np.r_[lower, -free], np.r_[upper, free])
        self.diagonal, self.linear = np.r_[diagonal, np.zeros(self._n_more)], np.r_[linear, np.zeros(self._n_more)]
        self.equations, self.sides = self.rows(equations), sides
        if factor is not None and quadratic is not None:
            self.diagonal[len(diagonal) :] = quadratic.weight
            lifted = self.rows(factor)
            lifted[:, len(diagonal) :] = -np.eye(self._n_more)
            self.equations, self.sides = np.concatenate([self.equations, lifted]), np.r_[sides, np.zeros(self._n_more)]
        self.bends, self.is_norm = bool((self.diagonal > 0).all()), self._split and not self.diagonal.any()
        everything = known is not None and known.is_everything and not (self._split or self._n_more)
        different = np.unique(self.diagonal) if everything else self.diagonal[:0]
        self.bending = tuple(different.tolist()) if len(different) <= FEW else ()
        self._numbers = np.zeros(0, dtype=np.intp)  # of the cuts whose products are kept
        self._products = np.zeros((len(self.bending), 0, 0))  # over the variables of each number on the diagonal

    def products(self, rows: Rows) -> NDArray[np.float64]:
        """``rows @ rows.T`` over the variables of each number on the diagonal; kept from call to call."""
        if not np.array_equal(self._numbers, rows.number):
            kept, old = self._products, len(self._numbers)
            if not np.array_equal(self._numbers, rows.number[:old]):  # some were dropped
                which = np.isin(self._numbers, rows.number)
                kept, old = kept[:, which][:, :, which], int(which.sum())
            new, made = range(old, len(rows)), np.zeros((len(self.bending), len(rows), len(rows)))
            made[:, :old, :old] = kept
            for i in new:
                row = rows.row(i)
                for each, number in zip(made, self.bending, strict=True):
                    each[i] = each[:, i] = rows.products(np.where(self.diagonal == number, row, 0.0))
            self._products, self._numbers = made, rows.number.copy()
        return self._products

    def rows(self, matrix: Matrix) -> Matrix:
        """Rows over z as rows over x."""
        if self._split:
            matrix = np.concatenate([matrix, -matrix], axis=1)
        return np.pad(matrix, ((0, 0), (0, self._n_more))) if self._n_more else matrix

    def point(self, x: Vector) -> Vector:
        """The point z of variables x."""
        n = self._n
        return x[:n] - x[n : 2 * n] if self._split else x[:n] if self._n_more else x

    def near(self, center: Vector, metric: Vector) -> tuple[Vector, Vector]:
        """Center and metric of the quadratic that is the term plus ``metric @ (z - center)**2 / 2``."""
        if self._split:
            center, metric = np.r_[np.maximum(center, 0.0), np.maximum(-center, 0.0)], np.r_[metric, metric]
        pad = np.zeros(self._n_more)
        center, metric = np.r_[center, pad], np.r_[metric, pad]
        whole = metric + self.diagonal
        return (metric * center - self.linear) / whole, whole
