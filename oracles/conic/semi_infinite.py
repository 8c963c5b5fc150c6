"""Semi-infinite programs: linear constraints without number, known by a function that finds violated ones.

The rows of the set are not written down. By the function `separate` the user states that each row returned holds at
every feasible point. So this function is the data also in a proof. It is asked at the point of the witness, and a
half-space is judged by the row, times a positive number, that is nearest to it.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import callback, floats, instance, real, text, whole
from oracle_opt.arrays import EPS, Matrix, Vector, digest, real_array
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.domains.domain import checked_domain
from oracle_opt.errors import EmptyLocalizationSet, InvalidArgument, InvalidCut, Refuted
from oracle_opt.feasibility import allowed
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.conic.cones import deepest
from oracle_opt.oracles.conic.half_spaces import extent_of
from oracle_opt.oracles.conic.linear_rows import LOOKED_AT, ViolatedRows, too_far
from oracle_opt.proof.affine_excess import affine_excess
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import numbers
from oracle_opt.words import shown

TRIED = 3  # rows that are compared with a half-space: those whose directions are nearest
ROUNDING = 16 * EPS

Asked = Callable[[Vector], tuple[Matrix, Vector]]
ANSWER = "rows of shape (k, n) and their right-hand sides of shape (k,), k = 0 where none is violated"


class SemiInfiniteOracle(Oracle):
    """``min f(x)`` over a domain, subject to ``a @ x <= b`` for all rows (a, b) of a set that its separation tells.

    The set may be infinite, as in a semi-infinite program, or too large to be written down, as the worst cases of a
    robust program. A query asks `separate` for violated rows. If there are any, they are the answer, the farthest
    first; else the point counts as feasible and the answer is the objective.

    Parameters
    ----------
    objective : array_like of shape (n,), or callable
        The vector c of ``f(x) = c @ x``, or a convex function: it maps a point to ``(value, subgradient)`` or to an
        `ObjectiveCut`.
    separate : callable
        Maps a point to the rows that it violates, best the most violated ones: an array of shape (k, n) and the
        right-hand sides of shape (k,); for a single row also shapes (n,) and (). Rows that are not violated are left
        out, so it may return a fixed number of candidates.
    domain : Domain
        Where the points are, bounded for most methods; a `Box` or `FreeSpace`, whose radius is a promise.
    tolerance : float
        A point x counts as satisfying a row a that it misses by ``tolerance * (abs(a) @ abs(x) + abs(b))`` at most.
    missed : float
        How far, in units of x, a point may be from the half-spaces of rows that `separate` overlooks: 0, the default,
        if it finds a violated row wherever there is one. It goes into the `error` of the cuts, so that an overlooked
        row that comes up later is no contradiction. See Notes.
    max_rows : int
        Most rows of one answer; of more the farthest, without those that are nearly parallel to a farther one.
    name : str, optional
        Tells this problem from others in a journal; default is the name of `separate`.

    Raises
    ------
    InvalidArgument
        Something is of the wrong kind or shape.

    Notes
    -----
    The lower bound holds whatever `separate` overlooks: it rests on rows that were returned, each of which must hold at
    every feasible point. The upper bound is the value at a point where `separate` found nothing. If `separate` is
    exact, this point is feasible within the tolerance, and the value is at least the optimum less the tolerance times
    the multipliers. If `separate` overlooks rows that are violated by up to `missed`, the same is true with `missed` in
    place of the tolerance. The gap then proves that the optimum is above the lower bound, no more. To have points that
    satisfy all rows, let `separate` return sides that are smaller by what it may overlook. The value of such a point is
    an upper bound, and the lower bound comes from a run with the true sides.

    References
    ----------
    .. [1] Blankenship & Falk (1976), "Infinitely constrained optimization problems".
    .. [2] Mutapcic & Boyd (2009), "Cutting-set methods for robust convex optimization with pessimizing oracles".

    Examples
    --------
    The best line for a parabola on [0, 1] in the largest error: ``abs(s**2 - x[0] - x[1] * s) <= x[2]`` for all s.

    >>> import numpy as np
    >>> from oracle_opt import Box, minimize
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import SemiInfiniteOracle
    >>> def worst(x):
    ...     s = np.array([0.0, np.clip(x[1] / 2, 0.0, 1.0), 1.0])  # where the error may be largest
    ...     rows = np.stack([np.ones(3), s, np.zeros(3)], axis=1)
    ...     return np.r_[rows, -rows] - [0, 0, 1], np.r_[s**2, -(s**2)]
    >>> oracle = SemiInfiniteOracle([0, 0, 1], worst, Box([-5, -5, 0], [5, 5, 5]))
    >>> minimize(oracle, Kelley()).point.round(6).tolist()
    [-0.125, 1.0, 0.125]
    """

    witness = ("point",)

    def __init__(
        self,
        objective: ArrayLike | Callable[[Vector], Any],
        separate: Callable[[Vector], tuple[ArrayLike, ArrayLike]],
        domain: Domain,
        *,
        tolerance: float = 1e-9,
        missed: float = 0.0,
        max_rows: int = 50,
        name: str | None = None,
    ) -> None:
        self.separate = callback("separate", separate, f"a function of a point that returns {ANSWER}")
        self.c: Vector | None = None
        if callable(objective):
            self.domain = instance("domain", domain, Domain, "a Domain such as Box(lower, upper)")
            self._function = FunctionOracle(objective, self.domain)
        else:
            self.c = floats("objective", objective, "an array of shape (n,), or a function of a point")
            if self.c.ndim != 1 or not self.c.size or not np.isfinite(self.c).all():
                raise InvalidArgument(
                    f"`objective` must be finite and of shape (n,), or a function, got {shown(objective)}"
                )
            self.domain = checked_domain(domain, self.c.size, "that of `objective`")
        self.tolerance = real("tolerance", tolerance, least=0.0)
        self.missed = real("missed", missed, least=0.0)
        self.max_rows = whole("max_rows", max_rows)
        self.name = getattr(separate, "__qualname__", repr(separate)) if name is None else text("name", name)
        self.gives = frozenset({FeasibilityCut})
        self._extent = extent_of(self.domain)

    def query(self, query: Query) -> Cut:
        """Look for violated rows, or give the objective.

        Returns
        -------
        ObjectiveCut or FeasibilityCut
            The `extras` of a feasibility cut and of those in its `further`: `row` and `side`, a and b as `separate`
            returned them, and `point`, where it was asked.

        Raises
        ------
        InvalidCut
            `separate` returned no rows, or the objective no cut.
        EmptyLocalizationSet
            A row of zeros has a negative side: no point is feasible.
        """
        x = query.point
        normals, sides = self._asked(x)
        depths, units, sizes = normals @ x - sides, np.sqrt(np.einsum("ij,ij->i", normals, normals)), np.abs(sides)
        given = depths, units, sizes, x, self._extent, self.tolerance, float(sizes.max(initial=0.0))
        distances = too_far(lambda near: normals[near], *given)
        far = deepest(distances, np.flatnonzero(distances), LOOKED_AT * self.max_rows)
        if len(far) and distances[far[0]] == inf:
            raise EmptyLocalizationSet("`separate` returned a row of zeros with a negative side")
        if not len(far):
            return self._objective(query)
        rows = ViolatedRows(far, normals[far], depths[far], units[far], sizes[far], np.ones(len(far)))
        rows = rows.different(self.max_rows)
        extras = [{"row": normals[i], "side": float(sides[i]), "point": x} for i in rows.numbers]
        cuts = rows.cuts(x, self.tolerance, self._extent, extras)
        # what is overlooked is added to what is tolerated
        first, *others = (replace(cut, error=cut.error + self.missed) for cut in cuts)
        return replace(first, further=tuple(others))

    def _asked(self, x: Vector) -> tuple[Matrix, Vector]:
        """The answer of `separate` for a point, as arrays."""
        answer = self.separate(x.copy())
        try:
            normals, sides = answer
            rows, right = real_array(normals), real_array(sides)
            if rows.ndim == 1 and len(rows) and right.size == 1:
                rows = rows[None, :]
            right = right.reshape(-1)
        except (TypeError, ValueError) as problem:
            raise InvalidCut(f"`separate` must return {ANSWER}, got {shown(answer)}: {problem}") from problem
        if not right.size:
            return np.zeros((0, len(x))), right
        if rows.shape != (right.size, len(x)):
            raise InvalidCut(
                f"`separate` must return {ANSWER}, here n = {len(x)}; got shapes {rows.shape} and {right.shape}"
            )
        if not (np.isfinite(rows).all() and np.isfinite(right).all()):
            raise InvalidCut(f"`separate` must return finite rows and sides, got {shown(answer)}")
        return rows, right

    def _objective(self, query: Query) -> Cut:
        """Value and slope at a point that counts as feasible."""
        if self.c is not None:
            return ObjectiveCut(query.point, float(self.c @ query.point), self.c.copy())
        cut = self._function.query(query)
        if not isinstance(cut, ObjectiveCut):
            raise InvalidCut("`objective` must return (value, subgradient) or an ObjectiveCut, got a FeasibilityCut")
        return cut

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """By the rows that `separate` returns at the point of the cut; an objective that is a function has no proof."""
        return row_excess(self._asked, self.c, self.domain, claim, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """A linear objective, at a point where `separate` finds no row that is violated by more than tolerated."""
        return row_value(self._asked, self.c, self.tolerance, self._extent, claim, exact)

    def __repr__(self) -> str:
        objective = "linear" if self.c is not None else self._function.name
        return f"SemiInfiniteOracle({objective} objective, rows by {shown(self.name)}, on {shown(self.domain)})"

    def identity(self) -> str:
        """The objective, the name of `separate` and the tolerances; what functions compute is not known here."""
        objective = f"objective #{digest(self.c)}" if self.c is not None else f"function {self._function.name}"
        words = f"rows by {self.name}, at most {self.max_rows}, tolerance {self.tolerance!r}, missed {self.missed!r}"
        return f"{super().identity()}, {objective}, {words}"


@np.errstate(all="ignore")
def row_excess(separate: Asked, c: Vector | None, domain: Domain, claim: CutClaim, exact: bool) -> Bound | None:
    """By how much a claim exceeds what the rows, or the linear objective, prove."""
    if claim.kind is ClaimKind.MINORANT:
        if c is None:
            return None
        return affine_excess(domain, claim, Enclosure.of(np.zeros(()), exact), Enclosure.of(c, exact))
    if claim.kind is not ClaimKind.HALF_SPACE:
        raise Refuted(f"a semi-infinite program answers with no {claim.kind.value}")
    if "point" not in claim.witness:
        return None
    slope = numbers("slope of the claim", claim.slope, domain.dimension)
    rows, sides = separate(numbers("point of the cut", claim.witness["point"], domain.dimension))
    sizes = np.einsum("ij,ij->i", rows, rows)
    shares = np.divide(rows @ slope, sizes, out=np.zeros(len(rows)), where=sizes > 0)  # of each row, the best multiple
    nearest = np.argsort(((slope - shares[:, None] * rows) ** 2).sum(axis=1), kind="stable")
    found = []
    for i in [int(i) for i in nearest if 0 < shares[i] < np.inf][:TRIED]:
        share = Enclosure.of(shares[i], exact)
        found.append(affine_excess(domain, claim, -share * sides[i], share * Enclosure.of(rows[i], exact)))
    if not found:
        raise Refuted("the separation returns no row of this direction at the point of the witness")
    return min(found)


def row_value(
    separate: Asked, c: Vector | None, tolerance: float, extent: Vector, claim: ValueClaim, exact: bool
) -> Bound | None:
    """A linear objective at a point that violates no row that the separation finds there by more than is tolerated."""
    if c is None:
        return None
    x = numbers("best point", claim.point, len(c))
    rows, sides = separate(x)
    missed, size = rows @ x - sides, np.abs(sides)
    of_side = ROUNDING * np.where(rows.any(axis=1), size, size.max(initial=0.0))
    if not (missed <= 1.001 * (allowed(np.abs(rows), x, size, tolerance, extent) + of_side)).all():
        raise Refuted(f"the point misses a row that the separation returns there by {float(missed.max()):.6g}")
    upper: Bound = (Enclosure.of(x, exact) * c).sum().upper.item()
    return upper
