"""One affine minorant of a conic problem: its Lagrangian at multipliers y of all rows, made affine at a point x.

``f(z) >= f(x) + y @ (A @ x - b) + r @ (z - x)`` at feasible z, with ``r = P @ x + c + A.T @ y``: the Lagrangian is
convex in z, and ``y @ (A @ z - b) <= 0`` for y in the dual cone. This holds for every x and y. How well they solve the
problem decides how high the minorant is: r, times the size of the domain, is what it loses.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from oracle_opt.arrays import EPS, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.feasibility import allowed
from oracle_opt.generator import Minorant
from oracle_opt.oracles.conic.cone_groups import ConeGroups
from oracle_opt.oracles.conic.cones import Nonnegative, Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.half_spaces import extent_of
from oracle_opt.oracles.conic.quadratic import POINT, EnclosedRows, Quadratic, affine_below, enclosed
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.floats import Floats

MULTIPLIERS = "multipliers"  # name in the `extras` of the minorant, beside the point
LONG = float(np.finfo(np.longdouble).eps)
DENSE = 600  # variables up to which the equations of `refined` are factorized as a dense matrix
RIDGE = 1e-13  # on the diagonal of these equations, which is 1
TINY = 1e-300  # a diagonal entry up to which a variable is in no row that may be moved
FEW = 30  # entries of a linear row up to which it is multiplied out
FULL = 10.0  # times the square root of their number: columns of more entries are full
ROUNDS = 4
FLAT, FLATTER = 1e-8, 1e-7  # share of the value that a minorant may lose by a slope of 0; of more variables than DENSE
MOST = 10**8  # entries of matrices, for all variables, up to which multipliers are refined


class Lagrangian:
    """Minorants of ``min 1/2 x @ P @ x + c @ x + offset`` subject to ``b - A @ x`` in K, and their proof in floats."""

    def __init__(self, problem: ConicProblem, quadratic: Quadratic | None = None) -> None:
        self.problem, self.quadratic = problem, quadratic
        self.groups = ConeGroups(problem.cones)

    @cached_property
    def A(self) -> sparse.csr_array:
        """The rows, sparse; made when they are first needed."""
        return sparse.csr_array(self.problem.A)

    @cached_property
    def _turned(self) -> sparse.csr_array:
        return sparse.csr_array(self.A.T)

    def at(self, x: Vector, given: Vector) -> tuple[Enclosure, Enclosure]:
        """Value at x and slope of the minorant of multipliers, lifted into the dual cone, counted in long double."""
        if not self.groups.known:
            raise Refuted("the dual of a cone of one's own is not known")
        problem, wide, n = self.problem, np.longdouble, len(x)
        y = self.groups.lifted(given)
        X, Y, b, c = (one.astype(wide) for one in (x, y, problem.b, problem.c))
        A, At = self.A.astype(wide), self._turned.astype(wide)
        pull, size = At @ Y + c, abs(At) @ abs(Y) + abs(c)
        head: Any = c @ X + wide(problem.offset)
        terms: Any = abs(c) @ abs(X) + abs(problem.offset)
        if self.quadratic is not None and self.quadratic.whole.charged:
            value, steep = enclosed(self.quadratic.whole.tangent(Floats.of(x)))
            middle = 0.5 * (steep.lower + steep.upper)
            pull, size = pull - c + middle, size + np.abs(middle)
            away = np.nextafter(np.maximum(steep.upper - middle, middle - steep.lower), np.inf)
            head, terms = wide(value.lower.item()), wide(abs(value.lower.item()))
        else:
            away = np.zeros(n)
            if problem.P is not None:
                P = sparse.csr_array(problem.P).astype(wide)
                Px, sized = P @ X, abs(P) @ abs(X)
                pull, size, head, terms = pull + Px, size + sized, head + X @ Px / 2, terms + abs(X) @ sized
        head = head + Y @ (A @ X - b)
        terms = terms + abs(Y) @ (abs(A) @ abs(X) + abs(b))
        width = int(max(np.diff(self._turned.indptr).max(initial=0), np.diff(self.A.indptr).max(initial=0)))
        error = 1.01 * LONG * (2 * n + len(y) + width + 16) * float(terms)
        lower, upper = np.nextafter(float(head) - error, -np.inf), np.nextafter(float(head) + error, np.inf)
        near = pull.astype(float)
        summed = width + (n if problem.P is not None else 0) + 8
        left = 1.01 * (np.abs((pull - near).astype(float)) + LONG * summed * size.astype(float)) + away
        slope = Enclosure(np.nextafter(near - left, -np.inf), np.nextafter(near + left, np.inf))
        return Enclosure(np.array(lower), np.array(upper)), slope

    def at_ends(self, domain: Domain, x: Vector, y: Vector) -> tuple[Enclosure, Enclosure]:
        """As `at`; where a column has no end, a reduced cost that may be 0 is counted in fractions."""
        value, slope = self.at(x, y)
        lower, upper, given = slope.lower, slope.upper, self.groups.lifted(y)
        if self.problem.P is None:
            for j in np.flatnonzero(np.isinf(domain.bounding_box()).any(axis=0) & (lower <= 0) & (upper >= 0)).tolist():
                its = slice(self._turned.indptr[j], self._turned.indptr[j + 1])
                terms = zip(self._turned.data[its].tolist(), given[self._turned.indices[its]].tolist(), strict=True)
                if sum((Fraction(a) * Fraction(v) for a, v in terms if v), Fraction(self.problem.c[j])) == 0:
                    lower[j] = upper[j] = 0.0
        return value, Enclosure(lower, upper)

    def minorant(self, domain: Domain, x: Vector, y: Vector, tolerance: float = 0.0, steep: bool = False) -> Minorant:
        """The minorant of x and y, rounded so that it holds, with its witness; slopes next to nothing are 0.

        Its `tolerance` is what a point that counts as feasible may miss of rows and cones, times the multipliers. If it
        is `steep` it has all of its slope: where that is next to nothing, too, it tells the last digits.
        """
        value, slope = self.at_ends(domain, x, y) if steep else self.at(x, y)
        size, bounds = slope.size(), np.array(domain.bounding_box())
        flat = FLATTER if len(x) > DENSE else FLAT  # there the least of a slope takes linear programs
        if not steep:
            (least,), (chosen,) = affine_below(domain, x, value, EnclosedRows.of(Enclosure(-size, size)))
        if steep or not (np.isfinite(bounds).all() and value.lower - least <= flat * abs(least)):
            (least,), (chosen,) = affine_below(domain, x, value, EnclosedRows.of(slope))
        if steep:  # a slope not proven to be 0 falls without end
            chosen = np.where(np.isinf(bounds).all(axis=0) & (slope.lower < slope.upper), slope.upper, chosen)
        constant = fsum([float(least), *(-chosen * x).tolist()])  # rounded once, and each product
        lost = 4.0 * EPS * (float(np.abs(chosen) @ np.abs(x)) * (1.0 + len(x) * EPS) + abs(float(least)))
        saved, extras = self._tolerated(domain, x, y, tolerance), {POINT: x, MULTIPLIERS: y}
        return Minorant(constant - lost, chosen, lost, saved, extras=extras)

    def _tolerated(self, domain: Domain, x: Vector, y: Vector, tolerance: float) -> float:
        """What points near x that are feasible within the tolerance may save: ``y @ (A @ x - b)`` at most."""
        extent = np.full(len(x), extent_of(domain).max())  # a solver's accuracy is that of the largest variable
        missed, total, start = allowed(abs(self.A), x, self.problem.b, tolerance, extent), 0.0, 0
        for cone in self.problem.cones:
            rows = slice(start, start + cone.dimension)
            start += cone.dimension
            if isinstance(cone, Zero | Nonnegative):
                total += float(np.abs(y[rows]) @ missed[rows])
            else:
                total += float(np.linalg.norm(y[rows]) * missed[rows].max(initial=0.0))
        return total

    def refined(self, x: Vector, z: Vector, s: Vector) -> Vector:
        """A vector of the dual cone near z, of ``norm_1(P @ x + c + A.T @ y)`` as small as rounding lets it be.

        See docs/theory_cones.md, "A solver first": what leaves the cone is taken up in the next round.
        """
        problem, A = self.problem, self.A
        if sum(cone.order**2 for cone, _ in self.groups.matrices) * A.shape[1] > MOST:
            return self.groups.lifted(z)
        WA = self.groups.moved(A, z, s, problem.b)
        try:
            solved = self._solver(WA)
        except (np.linalg.LinAlgError, RuntimeError):  # singular, for all the ridge
            return self.groups.lifted(z)
        base = (problem.c if problem.P is None else problem.P @ x + problem.c).astype(np.longdouble)
        wide, y, least = self._turned.astype(np.longdouble), self.groups.lifted(z), np.inf
        best = y
        for _ in range(ROUNDS):
            r = (wide @ y.astype(np.longdouble) + base).astype(float)
            size = float(np.abs(r).sum())
            if size < least:
                best, least = y, size
            y = self.groups.lifted(y - WA @ solved(r))
        return best

    def _solver(self, WA: sparse.csr_array) -> Callable[[Vector], Vector]:
        """A solver of equations of ``A.T @ WA``, scaled and with a ridge: dense where they are few.

        A few long linear rows would fill a sparse matrix: their products with the solution are unknowns beside it.
        """
        A, n = self.A, self.A.shape[1]
        diagonal = A.multiply(WA).sum(axis=0)
        scale = 1.0 / np.sqrt(np.where(diagonal > TINY, diagonal, 1.0))
        if n <= DENSE:
            dense = (A.T @ WA).toarray() * np.outer(scale, scale)
            dense[np.diag_indices_from(dense)] += RIDGE
            factor = linalg.cho_factor(dense, check_finite=False)
            return lambda r: linalg.cho_solve(factor, r * scale, check_finite=False) * scale
        D, linear = sparse.diags_array(scale), np.r_[self.groups.zero, self.groups.plus]
        long = linear[np.diff(A.indptr)[linear] > FEW]
        long = long if 2 * len(long) < n else long[:0]
        rest = np.setdiff1d(np.arange(A.shape[0]), long)
        K = D @ (A[rest].T @ WA[rest]) @ D + RIDGE * sparse.eye_array(n)
        roots = A[long].sign().multiply(A[long].multiply(WA[long]).sqrt()) @ D
        whole = sparse.csc_matrix(sparse.block_array([[K, roots.T], [roots, -sparse.eye_array(len(long))]]))
        lu = splu(whole, permc_spec=_ordering(whole), diag_pivot_thresh=0.01 if len(long) else 0.0)
        return lambda r: lu.solve(np.r_[r * scale, np.zeros(len(long))])[:n] * scale


def _ordering(K: sparse.csc_matrix) -> str:
    """SuperLU's name of an order of columns: minimum degree takes long where some are full, COLAMD sets them aside."""
    return "COLAMD" if np.diff(K.indptr).max() > FULL * np.sqrt(K.shape[0]) else "MMD_AT_PLUS_A"
