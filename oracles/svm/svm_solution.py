"""What solving a support vector machine gives: dual variables, bounds, and how the solve ended."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.words import one_line


class SVMStatus(Enum):
    """How a solve ended; the value is a sentence."""

    CONVERGED = "relative gap and violation are as small as asked"
    STEP_LIMIT = "the step limit was reached first"
    ROUNDING_FLOOR = "rounding keeps the gap from falling further"


# In the order of the numbers that the compiled solver gives.
STATUSES = (SVMStatus.CONVERGED, SVMStatus.STEP_LIMIT, SVMStatus.ROUNDING_FLOOR)


@dataclass(frozen=True, eq=False)
class SVMSolution:
    """A feasible point of the dual of a support vector machine, with a certificate of how good it is.

    The certificate belongs to the numbers returned and holds in exact arithmetic: all that rounding may have made of
    ``K @ b`` and of the sums is on the safe side. On an indefinite kernel it certifies nothing.

    Parameters
    ----------
    signed_dual : ndarray of shape (n,)
        Coefficients b of the points in the decision function: exactly in the box, and of the right sum but for
        `imbalance`. Classification: ``b = y * alpha``; regression: the difference of the two dual variables of a point,
        at least one of which is 0.
    dual_objective : float
        At most the dual objective at b, and at most that of some point with exactly the right sum: so at most the
        optimum.
    primal_objective : float
        At least the primal objective of b and the bias, so at least the optimum.
    gap : float
        At least the primal objective of b and the bias minus the dual objective at b. Summed from terms that are not
        negative, it is more precise than the difference of the two objectives above, which is larger by what rounding
        leaves open of either.
    bias : float
        The constant of the decision function that makes the primal objective least.
    violation : float
        Maximal violation of the optimality conditions: largest slope of the objective in an entry that can rise minus
        the least in one that can fall, in units of the margin, or of the targets.
    n_steps : int
        Two-variable steps taken.
    n_newton : int
        Rounds of Newton's method, one Cholesky factorization each, and steps of the active-set method.
    status : SVMStatus
        Why the solve ended.
    gradient : ndarray of shape (n,)
        The linear term minus ``K @ b``: that is y (of a loss with a ridge also minus ``ridge * b``), the targets, or 0.
        Right up to rounding.
    imbalance : float
        At least the difference between the sum of b and what it should be.
    stretch : float
        By how many times more the bound above moves at most if the norms of the hyperplane cost more. 1 where it is the
        primal objective.
    """

    __repr__ = one_line

    signed_dual: Vector
    dual_objective: float
    primal_objective: float
    gap: float
    bias: float
    violation: float
    n_steps: int
    n_newton: int
    status: SVMStatus
    gradient: Vector
    imbalance: float = 0.0
    stretch: float = 1.0

    @property
    def alpha(self) -> Vector:
        """Dual variables, ndarray of shape (n,), nonnegative."""
        return np.abs(self.signed_dual)

    @property
    def relative_gap(self) -> float:
        """Gap divided by the absolute value of the primal objective: what `accuracy` asks for."""
        return self.gap / max(abs(self.primal_objective), 1e-300)

    def decision_function(self, cross: ArrayLike) -> Vector:
        """Decision values of new points, positive for the class +1 or for points like those solved for.

        Of a regression these are its predictions. `cross` is the kernel between the m new points and the n points
        solved for, shape (m, n).
        """
        return decision_values(cross, self.signed_dual, self.bias)


def decision_values(cross: ArrayLike, signed_dual: Vector, bias: float) -> Vector:
    """Return ``cross @ signed_dual + bias``, ndarray of shape (m,)."""
    matrix = np.asarray(cross)
    if matrix.ndim != 2 or matrix.shape[1] != signed_dual.size:
        raise InvalidArgument(f"`cross` must have shape (m, {signed_dual.size}), got {matrix.shape}")
    used = np.flatnonzero(signed_dual)
    values: Vector = matrix[:, used] @ signed_dual[used] + bias
    return values
