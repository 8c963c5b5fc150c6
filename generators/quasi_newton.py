"""Quasi-Newton descent with a diagonal secant (QN-PKL)."""

from collections.abc import Generator

import numpy as np

from oracle_opt import Domain, ObjectiveCut, SequentialGenerator
from oracle_opt.arguments import real
from oracle_opt.arrays import Vector


class QuasiNewton(SequentialGenerator):
    """Projected descent with an inverse Hessian that is diagonal: ``z' = project(z - delta * B * g)``.

    delta starts at 1 and is divided by 10 until the function falls; then each entry of B is the secant of the step,
    ``B_m = (z'_m - z_m) / (g'_m - g_m)``, (7).

    Parameters
    ----------
    shrinkage : float
        delta is divided by this until the function falls, default 10.
    least_step : float
        delta below which the method stops asking, default 1e-6.
    spread : float
        Entries of B are kept within this factor of their first value, default 1e4.

    Notes
    -----
    The equation (7) of the paper divides by the change of p, the negative gradient, which has the opposite sign. Here
    it is taken against the gradient, so that B is positive where the curvature is. The paper does not say what to do
    elsewhere: where the secant is not positive, the entry stays as it was; where it leaves the range, it is cut off.
    The first B moves the point by its own length. The projection is taken in the metric of B.

    References
    ----------
    Picard, Thome, Cord & Rakotomamonjy (2012), "Learning geometric combinations of Gaussian kernels with alternating
    quasi-Newton algorithm", Algorithm 1, (6), (7).

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import QuasiNewton
    >>> result = minimize(problems.find("separable(n=3)")[0](0).oracle, QuasiNewton(), max_calls=100)
    >>> round(result.upper_bound, 6)
    0.045948
    """

    def __init__(self, shrinkage: float = 10.0, least_step: float = 1e-6, spread: float = 1e4) -> None:
        self.shrinkage = real("shrinkage", shrinkage, above=1.0)
        self.least_step = real("least_step", least_step, above=0.0, below=1.0)
        self.spread = real("spread", spread, above=1.0)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse domains without a projection in a diagonal metric."""
        return "it needs a domain that projects in diagonal metrics" if domain.euclidean_only else None

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector, ObjectiveCut, None]:
        """Run Algorithm 1."""
        self.center = cut = yield point
        norm = float(np.linalg.norm(cut.subgradient))
        if not 0 < norm < np.inf:
            return
        first = (float(np.linalg.norm(cut.point)) or 1.0) / norm
        scale = np.full(len(point), first)
        while True:
            step = 1.0
            while True:
                candidate = domain.project(cut.point - step * scale * cut.subgradient, 1.0 / scale)
                if (candidate == cut.point).all():
                    return
                trial = yield candidate
                if trial.value < cut.value:
                    break
                step /= self.shrinkage
                if step < self.least_step:
                    return
            moved, turned = trial.point - cut.point, trial.subgradient - cut.subgradient
            positive = moved * turned > 0
            secant = np.divide(moved, turned, out=scale.copy(), where=positive)
            scale = np.clip(secant, first / self.spread, first * self.spread)
            self.center = cut = trial
