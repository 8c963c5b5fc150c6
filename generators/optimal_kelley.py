"""The optimal variant of Kelley's method: the one whose worst case over all functions is the least there is."""

from math import sqrt

import numpy as np
from scipy import sparse

from oracle_opt import (
    Domain,
    Exhausted,
    Guarantee,
    Minorant,
    ObjectiveCut,
    QueryPointGenerator,
    Regularity,
    Step,
)
from oracle_opt._deadline import seconds_left
from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.polyhedra import ball_of

TOLERANCE = 1e-10


class OptimalKelley(QueryPointGenerator):
    """The method with an exact guarantee: after N planned calls no function leaves it more than ``L R / sqrt(N)``.

    L is a Lipschitz constant of f, R the distance from the start x0 to a minimizer. With m of N calls done, M their
    largest cut and U their best value, the next query is the z of

        minimize max(M(z), U - L s)   subject to   norm(z - x0)^2 + (N - m) s^2 <= R^2.

    No method that knows L, R and N does better in the worst case, on functions of N variables or more [1]_, and this
    one does best also from there on when the oracle has answered worse than it could [2]_. It is a yardstick: off its
    planned number of calls, and on functions that are not the worst, other methods need fewer.

    Parameters
    ----------
    planned : int
        N, the number of calls that the guarantee is of.
    steepness : float, optional
        L; by default the longest subgradient so far, with which nothing is guaranteed until a longer one was met.

    Notes
    -----
    Each call solves one second-order cone program by Clarabel. The multipliers of its cuts make the minorant: its
    minimum over the ball is the proven bound, whatever the tolerances of the solver are.

    References
    ----------
    .. [1] Drori & Teboulle (2016), "An optimal variant of Kelley's cutting-plane method", (KLM) and theorem 1.
    .. [2] Grimmer & Wang (2025), "Subgame perfect methods in nonsmooth convex optimization".

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import OptimalKelley
    >>> adversary = problems.find("resisting(n=10)")[0](0)
    >>> result = minimize(adversary.oracle, OptimalKelley(planned=10), adversary.start, max_calls=10)
    >>> print(f"{result.gap * 10**0.5:.4f}")
    1.0000
    """

    needs_convexity = True
    reads_extras = False

    def __init__(self, planned: int = 100, steepness: float | None = None) -> None:
        self.planned = whole("planned", planned)
        self.steepness = None if steepness is None else real("steepness", steepness, above=0.0)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse all but a ball, or R^n with a radius."""
        return None if ball_of(domain) is not None else "it needs a Ball, or FreeSpace with a radius"

    def guarantee(self, domain: Domain, start: Vector, calls: int, known: Regularity) -> Guarantee | None:
        """At the planned number of calls, by the L that was given and the R that is searched, where they are enough."""
        if calls != self.planned or self.steepness is None or self.refusal(domain) is not None:
            return None
        radius = _reach(domain, start)
        if not (known.steepness <= self.steepness and known.distance <= radius):
            return None
        return Guarantee(self.steepness * radius / sqrt(calls), "L R / sqrt(N), of the method's own L and R")

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        self._domain, self._pool = domain, CutPool(domain)
        self._start = self._point = point
        self._radius = _reach(domain, point)
        self._steepness = self.steepness or 0.0
        self._calls, self._lower = 0, -np.inf
        self._minorant: Minorant | None = None
        self._end: Exhausted | None = None

    def ask(self) -> Vector:
        """Return the query of the cone program."""
        if self._end is not None:
            raise self._end
        return self._point

    def tell(self, cut: Cut) -> Step:
        """Add the cut and solve the cone program."""
        assert isinstance(cut, ObjectiveCut)  # the method takes no feasibility cuts
        before = self._pool.upper
        self._pool.add(cut)
        self._calls += 1
        self._steepness = max(self._steepness, float(np.linalg.norm(cut.subgradient)))
        if self._steepness > 0:
            self._solve(cut.point)
        else:
            self._end = Exhausted("the subgradient is zero, and the point a minimizer")
        return Step.SERIOUS if self._pool.upper < before else Step.NULL

    def _solve(self, last: Vector) -> None:
        """Solve for (z - x0) / R, s / R and the objective, in units of L R from the best value."""
        import clarabel  # comes with cvxpy; only here: the import takes time

        rows, n = self._pool.objective, len(last)
        unit = self._steepness * self._radius
        slopes, m = rows.matrix / self._steepness, len(rows)
        heights = (rows.constant + rows.products(self._start) - self._pool.upper) / unit
        left = sqrt(max(self.planned - self._calls, 1))
        matrix = np.zeros((m + n + 3, n + 2))
        matrix[:m, :n], matrix[: m + 1, -1], matrix[m, n] = slopes, -1.0, -1.0
        matrix[m + 2 :, : n + 1] = -np.diag(np.r_[np.ones(n), left])
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
        settings.time_limit = min(seconds_left(), 1e9)
        cones = [clarabel.NonnegativeConeT(m + 1), clarabel.SecondOrderConeT(n + 2)]
        sides = np.r_[-heights, 0.0, 1.0, np.zeros(n + 1)]
        objective = np.r_[np.zeros(n + 1), 1.0]
        empty = sparse.csc_matrix((n + 2, n + 2))
        found = clarabel.DefaultSolver(empty, objective, sparse.csc_matrix(matrix), sides, cones, settings).solve()
        x, multipliers = np.array(found.x), np.array(found.z)[:m]
        if not (np.isfinite(x).all() and np.isfinite(multipliers).all()):
            self._end = Exhausted(f"the cone program failed: {found.status}")
            return
        self._prove(multipliers)
        self._point = self._domain.project(self._start + self._radius * x[:n])
        if (self._point == last).all() and self._minorant is not None:
            self._point = self._domain.minimize_linear(self._minorant.slope)[1]

    def _prove(self, multipliers: Vector) -> None:
        """Keep the best minorant."""
        made = self._pool.minorant(multipliers, np.zeros(0))
        if made is not None and (bound := made.minimum(self._domain)) > self._lower:
            self._minorant, self._lower = made, bound

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the cone program's multipliers that proves most."""
        return self._minorant


def _reach(domain: Domain, start: Vector) -> float:
    """How far a minimizer may be from the start."""
    center, radius = domain.enclosing_ball()
    return radius + float(np.linalg.norm(start - center))
