"""Kelley-Cheney-Goldstein: minimise the cutting-plane model."""

from __future__ import annotations

from oracle_opt import (
    Domain,
    EmptyLocalizationSet,
    FeasibilityCut,
    Minorant,
    ObjectiveCut,
    QueryPointGenerator,
    Step,
)
from oracle_opt.cuts import Vector
from oracle_opt.generators._chebyshev import ChebyshevLP
from oracle_opt.generators._cuts import CutPool
from oracle_opt.generators._lp import ModelLP
from oracle_opt.generators._polyhedron import polyhedral_refusal, working_polyhedron


class Kelley(QueryPointGenerator):
    """The Kelley-Cheney-Goldstein method, for MKL known as SILP.

    The next query point minimises the model ``max_i constant_i + slope_i @ z``, a linear program to which each call
    adds a row; HiGHS re-solves it from the last basis.

    Parameters
    ----------
    chebyshev : bool
        Ask at the centre of the largest ball between the cuts ``constant_i + slope_i @ z <= upper bound`` instead:
        the same program with normalised gradients.
    max_cuts : int
        Keep at most so many objective cuts; slack ones are dropped and their proof is kept as one aggregate cut.

    References
    ----------
    Kelley (1960), "The cutting-plane method for solving convex programs"; Wulff & Ong (2014), section 2.2.1 and (15);
    Elzinga & Moore (1975), "A central cutting plane algorithm", for the ball.
    """

    needs_convexity = True
    takes_feasibility_cuts = True

    def __init__(self, chebyshev: bool = False, max_cuts: int = 5000) -> None:
        self.chebyshev = chebyshev
        self.max_cuts = max_cuts

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without bounded linear constraints."""
        return polyhedral_refusal(domain)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        polyhedron = working_polyhedron(domain)
        self._pool = CutPool(domain.dimension)
        self._lp = ChebyshevLP(polyhedron) if self.chebyshev else ModelLP(polyhedron)
        self._point: Vector | None = point
        self._minorant: Minorant | None = None

    def ask(self) -> Vector:
        """Return the model's minimiser."""
        if self._point is None:
            raise EmptyLocalizationSet("the cuts leave no point")
        return self._point

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Add the cut and solve the linear program; every objective cut moves the point."""
        self._pool.add(cut)
        minimum = self._lp.solve(self._pool)
        if minimum is None:
            self._point = None
        else:
            self._point = minimum.point
            if len(self._pool.objective):
                self._minorant = self._pool.minorant(minimum.objective, minimum.feasibility)
                mask = self._pool.shrink(self.max_cuts, minimum.objective, minimum.feasibility)
                if mask is not None:
                    self._lp.keep(mask)
        return Step.FEASIBILITY if isinstance(cut, FeasibilityCut) else Step.SERIOUS

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the linear program's multipliers."""
        return self._minorant
