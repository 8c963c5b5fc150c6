"""Kelley-Cheney-Goldstein: minimize the cutting-plane model."""

import numpy as np

from oracle_opt import (
    Domain,
    FeasibilityCut,
    Minorant,
    ObjectiveCut,
    Query,
    QueryPointGenerator,
    Step,
)
from oracle_opt.arguments import flag, whole
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.known_model import KnownModel, KnownProjection
from oracle_opt.generators.masters.level_projection import LevelProjection
from oracle_opt.generators.masters.polyhedra import polyhedral_refusal

FAR = 100.0  # a value above the best by so many times the decrease that the model predicted ...
SHALLOW = 0.05  # ... whose cut, on the way back to the best point, ends after this share of it: the step was too long


class Kelley(QueryPointGenerator):
    """The Kelley-Cheney-Goldstein method, for MKL known as SILP.

    The next query point minimizes the model ``max_i constant_i + slope_i @ z``, a linear program to which each call
    adds a row; HiGHS re-solves it from the last basis.

    Parameters
    ----------
    chebyshev : bool
        Ask at the center of the largest ball between the cuts ``constant_i + slope_i @ z <= upper bound`` instead:
        the same program with normalized gradients.
    max_cuts : int
        Keep at most so many objective cuts; slack ones are dropped and their proof is kept as one aggregate cut.
    tune_accuracy : bool
        Ask the oracle for a relative error of a tenth of the relative gap, where the default is the oracle's own
        accuracy. The cuts are valid all the same; it pays where a call has an inner loop, as `MixedNormOracle`.

    Notes
    -----
    Where cuts come with `summands`, the model is the sum of the models of the summands, with a variable each (multicut;
    Birge & Louveaux 1988, "A multicut algorithm for two-stage stochastic linear programs").

    If the linear program fails numerically, the query point is that of a level method, half way between the bounds.

    References
    ----------
    Kelley (1960), "The cutting-plane method for solving convex programs"; Wulff & Ong (2014), section 2.2.1 and (15);
    Elzinga & Moore (1975), "A central cutting plane algorithm", for the ball.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Box, FunctionOracle, minimize
    >>> from oracle_opt.generators import Kelley
    >>> A = np.array([[1.0, 2.0], [-3.0, 1.0], [1.0, -2.0]])  # the largest of three affine functions
    >>> def largest(z):
    ...     values = A @ z + [0, 1, 2]
    ...     return values.max(), A[values.argmax()]
    >>> result = minimize(FunctionOracle(largest, Box([-2, -2], [2, 2])), Kelley())
    >>> print(f"between {result.lower_bound:.4f} and {result.upper_bound:.4f}")
    between 1.1250 and 1.1250
    """

    needs_convexity = True
    reads_extras = False
    takes = frozenset({FeasibilityCut})

    def __init__(self, chebyshev: bool = False, max_cuts: int = 5000, tune_accuracy: bool = False) -> None:
        self.chebyshev = flag("chebyshev", chebyshev)
        self.max_cuts = whole("max_cuts", max_cuts)
        self.tune_accuracy = flag("tune_accuracy", tune_accuracy)

    @property
    def takes_known(self) -> bool:
        """Not with the largest ball."""
        return not self.chebyshev

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without bounded linear constraints."""
        return polyhedral_refusal(domain)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        self._model: CuttingPlaneModel
        self._levels: LevelProjection | KnownProjection  # used if the master fails
        if self.known is None:
            self._model = CuttingPlaneModel(domain, self.max_cuts, self.chebyshev)
            self._levels = LevelProjection(self._model)
        else:
            self._model = model = KnownModel(domain, self.known, self.max_cuts)
            self._levels = KnownProjection(model)
        self._point = point
        self._share = 1.0  # of the way from the best point to the model's minimizer

    def ask(self) -> Vector | Query:
        """Return the model's minimizer."""
        return self._model.query(self._point, self.tune_accuracy)

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Add the cut and solve the linear program; every objective cut moves the point."""
        model = self._model
        if isinstance(cut, ObjectiveCut):
            self._share = 0.5 * self._share if self._too_far(cut) else min(1.0, 2.0 * self._share)
        model.add(cut)
        if model.minimum is not None:
            best = model.pool.best
            failed = model.failed and best is not None
            self._point = self._levels.project(cut.point, 0.5) if failed else model.minimum.point
            if best is not None and not failed and self._share < 1.0:
                self._point = best.point + self._share * (self._point - best.point)
            if len(model.pool.objective):
                model.expect(self._point)
        return Step.FEASIBILITY if isinstance(cut, FeasibilityCut) else Step.SERIOUS

    def _too_far(self, cut: ObjectiveCut) -> bool:
        """Whether a value is far above the best one, and its cut says so of the last bit of the way there alone."""
        best = self._model.pool.best
        if best is None or not FAR < self._model.error(cut) < np.inf:
            return False
        return cut.value - best.upper < SHALLOW * float(cut.subgradient @ (cut.point - best.point))

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the linear program's multipliers."""
        return self._model.minorant
