"""Constraints of a conic problem as an oracle sees them: what its domain holds, half-spaces, and proofs."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from math import ceil, inf, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import flag, instance, real, whole
from oracle_opt.arrays import Vector, digest, fingerprint
from oracle_opt.cuts import Cut, FeasibilityCut
from oracle_opt.domains import Domain, FreeSpace
from oracle_opt.domains.domain import checked_domain
from oracle_opt.domains.promised_bounds import PromisedBounds
from oracle_opt.errors import InvalidArgument, MissingPackage
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.conic.cones import Nonnegative, Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.half_spaces import HalfSpaces, extent_of
from oracle_opt.oracles.conic.infeasibility import Infeasibility, duals_of, infeasibility_of, known_dual
from oracle_opt.oracles.conic.quadratic import Quadratic
from oracle_opt.oracles.conic.row_matrix import digest_of_rows, n_entries, row_norms
from oracle_opt.oracles.conic.rows import bounds_of, held_rows, promised_bounds, rows_of
from oracle_opt.oracles.conic.second_order import SecondOrder
from oracle_opt.oracles.conic.semidefinite import PositiveSemidefinite
from oracle_opt.result import Result, Status
from oracle_opt.words import shown

RADIUS, WIDEST = 1e4, 1e12  # where nobody promises one: of the first run, and of the last of the wider ones that follow
ROOM = 100.0  # of a wider radius beside the solution, or beside the radius before


def _rounded(radius: float) -> float:
    """The power of 10 next above."""
    return float(10.0 ** ceil(log10(radius)))


class ConicConstraints(Oracle):
    """The constraints of `ConicOracle`, ``A @ x + s = b``, s in K; `_constrain` sets them up."""

    problem: ConicProblem
    free: FreeSpace | None  # the promise of where a minimizer lies, if the domain was one
    quadratic: Quadratic | None
    assumed: bool  # whether that is nobody's, but the default
    _solution: Any = None  # Clarabel's, between the choice of a radius and the proposal of a run
    _nowhere = False  # whether the last proposal proved that no point is feasible, whatever the radius
    _feasible: Vector | None = None  # the last point that was found to be

    def _constrain(
        self,
        problem: ConicProblem,
        domain: Domain | None,
        hold_rows: bool | None,
        tolerance: float,
        max_half_spaces: int,
        radius: float | None = None,
    ) -> None:
        """Let the domain take up rows, and find out which others are to be looked at; the data are not copied."""
        self.problem = problem
        m, n = problem.A.shape
        self.tolerance = real("tolerance", tolerance, least=0.0)
        self.max_half_spaces = whole("max_half_spaces", max_half_spaces)
        self.assumed = domain is None and radius is None
        if radius is not None:
            radius = real("radius", radius, above=0.0)
            if domain is not None:
                raise InvalidArgument("`radius` must be left out where a `domain` is given: it is that of a FreeSpace")
        if domain is None:
            domain = FreeSpace(n, RADIUS if radius is None else radius)
        self.domain = checked_domain(domain, n, "that of `c`")
        self.hold_rows = None if hold_rows is None else flag("hold_rows", hold_rows)
        known = self.domain.linear_constraints()
        self.free = None
        self._held: NDArray[np.intp] = np.zeros(0, dtype=np.intp)  # rows that the domain holds
        if known is not None and known.is_everything:
            center, radius = self.domain.enclosing_ball()
            self.free = FreeSpace(n, radius, center)
            held = held_rows(problem, self.free, self.hold_rows, problem.P is not None)
            if held is not None:
                self.domain, self._held = held
        self.gives = frozenset({FeasibilityCut} if len(self._held) < m else ())
        self.polyhedral = problem.P is None and all(isinstance(cone, Zero | Nonnegative) for cone in problem.cones)
        self.curved = any(isinstance(cone, SecondOrder | PositiveSemidefinite) for cone in problem.cones)
        self._half_spaces = HalfSpaces(problem, self._held, self.tolerance, self.max_half_spaces)
        self._extent = extent_of(self.domain)

    def solution(self, keep: bool = False) -> Any:
        """Clarabel's answer, failure or `None`, see `solution_of`; kept for the next time if that is asked for."""
        from oracle_opt.oracles.conic.conic_proposal import solution_of  # that takes this class

        found = solution_of(self) if self._solution is None else self._solution
        self._solution = found if keep else None
        return found

    def _wanted_radius(self, result: Result | None) -> float | None:
        """A power of 10, in place of an assumed radius that is out of scale, see `ConicOracle.wider`."""
        over = result is not None and result.status in (Status.EDGE, Status.OUTSIDE, Status.EMPTY)
        if not self.assumed or self.free is None or (result is not None and not over):
            return None
        radius, found, far = self.free.radius, None, 0.0
        if result is None or result.status is Status.EMPTY:
            with suppress(MissingPackage):
                found = self.solution(keep=result is None)
        if isinstance(found, tuple) and "Solved" in found[3]:
            far = float(np.abs(found[0] - self.free.center).max())
        if result is None:
            tiny = radius == RADIUS and 1e-6 * self._sides < far < radius / ROOM**3
            wanted = _rounded(ROOM * far) if tiny or 0.1 * radius < far < inf else radius
            return wanted if wanted != radius and wanted <= WIDEST else None
        wanted = _rounded(ROOM * far) if result.status is Status.EMPTY and 0.0 < far < inf else ROOM * radius
        return wanted if radius < wanted <= WIDEST else None

    def _reach(self) -> float | None:
        """A power of 10 far beyond the sides of all rows, in their units, within which no point is to be feasible."""
        return None if self.free is None else min(max(self.free.radius, _rounded(ROOM**2 * self._sides)), WIDEST)

    @cached_property
    def _sides(self) -> float:
        """The largest side of a row in the unit of the row; 1 if there is none."""
        units, b = row_norms(self.problem.A), np.abs(self.problem.b)
        return float((b[units > 0] / units[units > 0]).max(initial=0.0)) or 1.0

    def room(self, point: Vector) -> float:
        """How far a point is from the nearest bound that the radius stands in for; infinite if nothing is promised.

        Parameters
        ----------
        point : ndarray of shape (n,)
            A point of the domain.

        Raises
        ------
        InvalidArgument
            The domain was no `FreeSpace`, whose radius could be a promise.
        """
        if self.free is None:
            raise InvalidArgument(f"`room` is that of a FreeSpace's radius, got {self.domain!r}")
        held = np.intersect1d(self._held, rows_of(self.problem.cones, Nonnegative))
        single = held[n_entries(self.problem.A)[held] == 1]
        return PromisedBounds(*promised_bounds(*bounds_of(self.problem.A, self.problem.b, single), self.free)).room(
            point
        )

    def _separate(self, x: Vector) -> FeasibilityCut | None:
        """The farthest half-space that excludes x, with the further ones; `None` where x counts as feasible."""
        if self._feasible is not None and np.array_equal(x, self._feasible):
            return None
        cuts = self._half_spaces.at(x, self._extent)
        if not cuts:
            self._feasible = x.copy()
            return None
        return replace(cuts[0], further=tuple(cuts[1:]))

    @cached_property
    def _exact(self) -> HalfSpaces:
        return HalfSpaces(self.problem, self._held, 0.0, self.max_half_spaces)

    def separation(self, point: Vector) -> FeasibilityCut | None:
        """The half-spaces of rows and cones that a point misses by more than rounding."""
        cuts = self._exact.at(point, self._extent)
        return replace(cuts[0], further=tuple(cuts[1:])) if cuts else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem!r}, on {shown(self.domain)})"

    def identity(self) -> str:
        """Cones, data, tolerance, and the rows that the domain holds."""
        it = self.problem
        data = digest(it.c, it.offset, digest_of_rows(it.A), it.b, self._held, [fingerprint(cone) for cone in it.cones])
        words = f"#{data}, tolerance {self.tolerance!r}, at most {self.max_half_spaces} half-spaces"
        if self.free is not None:
            words += f", minimizer in {self.free.identity()}"
        return f"{super().identity()}, {len(it.cones)} cones {words}"

    def dual_vector(self, cut: FeasibilityCut) -> Vector:
        """The vector y of the dual cone behind a feasibility cut, a zero for every row of A that it does not weigh.

        The cut says that ``y @ (b - A @ z) >= 0``.

        Parameters
        ----------
        cut : FeasibilityCut
            An answer of this oracle, or one of its `further`.

        Returns
        -------
        ndarray of shape (m,)

        Raises
        ------
        InvalidArgument
            It is no cut of this oracle.
        """
        instance("cut", cut, FeasibilityCut, "a feasibility cut of this oracle")
        dual, y = known_dual("cut", cut, len(self.problem.b)), np.zeros(len(self.problem.b))
        y[dual.rows] = dual.values
        return y

    def infeasibility(self, cuts: Iterable[Cut]) -> Infeasibility:
        """Combine the feasibility cuts of a run that ended with an empty localization set into one proof.

        The multipliers u >= 0 of the cuts make ``y = sum u_i y_i`` with ``b @ y = -1`` and the least ``|A.T @ y|_1``
        (Farkas' lemma where that is zero).

        Parameters
        ----------
        cuts : iterable of cuts
            Those of a run with ``keep_cuts=True``: ``result.history.cuts``.

        Returns
        -------
        Infeasibility
            The vector y of the dual cone, and how far it reaches.

        Raises
        ------
        InvalidArgument
            These are no cuts of this oracle, or they prove nothing: none has a positive constant.
        """
        return infeasibility_of(self, [*self._half_spaces.impossible, *duals_of(cuts, len(self.problem.b))])
