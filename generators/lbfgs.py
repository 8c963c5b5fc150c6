"""Limited-memory quasi-Newton descent on a box (projected L-BFGS)."""

from collections import deque
from collections.abc import Generator

import numpy as np

from oracle_opt import Domain, ObjectiveCut, SequentialGenerator
from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut


class LBFGS(SequentialGenerator):
    """Two-metric projection with the limited-memory BFGS matrix on the free variables.

    Variables at a bound that the gradient pushes against stay there; the others move along ``-H g``, H from the last
    `memory` steps. Each trial is projected, ``z(s) = project(z + s * d)``, and s is halved until the function falls by
    `sufficient_decrease` of what the slope foretells. The method is for smooth functions: at a kink it may stop at a
    point that is no minimum, and the bounds then show that it is none.

    Parameters
    ----------
    memory : int
        Pairs kept, default 10.
    sufficient_decrease : float
        The share in Armijo's rule, default 1e-4.

    References
    ----------
    Bertsekas (1982), "Projected Newton methods for optimization problems with simple constraints", SIAM J. Control
    Optim. 20:221-246; Nocedal (1980), "Updating quasi-Newton matrices with limited storage".

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import LBFGS
    >>> result = minimize(problems.find("separable(n=3)")[0](0).oracle, LBFGS(), max_calls=100)
    >>> round(result.upper_bound, 6)
    0.045948
    """

    _pairs: deque[tuple[Vector, Vector]]

    def __init__(self, memory: int = 10, sufficient_decrease: float = 1e-4) -> None:
        self.memory = whole("memory", memory)
        self.sufficient_decrease = real("sufficient_decrease", sufficient_decrease, above=0.0, below=1.0)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse constraints other than bounds, under which alone the two-metric projection descends."""
        constraints = domain.linear_constraints()
        if constraints is None or not constraints.has_bounds_alone:
            return "it needs a domain of bounds alone, as Box or FreeSpace"
        return None

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector, ObjectiveCut, None]:
        """Descend."""
        bounds = domain.linear_constraints()
        assert bounds is not None  # `refusal` refuses all other domains
        lower, upper = bounds.lower, bounds.upper
        pairs = self._pairs = deque(maxlen=int(self.memory))
        self._known: ObjectiveCut | None = None
        self.center = cut = yield point
        while True:
            g = cut.subgradient
            free = ~(((cut.point <= lower) & (g > 0)) | ((cut.point >= upper) & (g < 0))) & (lower < upper)
            direction = np.where(free, -_two_loops(np.where(free, g, 0.0), free, pairs), 0.0)
            if not pairs and direction.any():
                direction *= (float(np.linalg.norm(cut.point)) or 1.0) / float(np.linalg.norm(direction))
            step, trial = 1.0, None
            while step > 1e-10:
                candidate = domain.project(cut.point + step * direction)
                if (candidate == cut.point).all():
                    break
                answer = yield candidate
                if answer.value <= cut.value + self.sufficient_decrease * float(g @ (candidate - cut.point)):
                    trial = answer
                    break
                step *= 0.5
            if trial is None:
                if not pairs:
                    return
                pairs.clear()  # the model was bad: the next step is along the gradient
                continue
            self._remember(cut, trial)
            self.center = cut = trial

    def learn(self, cut: Cut) -> None:
        """Take up two answers in a row as a pair; the last pairs count most, so the nearest answers come last."""
        if isinstance(cut, ObjectiveCut):
            if self._known is not None:
                self._remember(self._known, cut)
            self._known = cut

    def _remember(self, cut: ObjectiveCut, after: ObjectiveCut) -> None:
        """Keep the pair of two answers, if the slope rises on the way."""
        moved, turned = after.point - cut.point, after.subgradient - cut.subgradient
        if float(moved @ turned) > 1e-12 * float(np.linalg.norm(moved) * np.linalg.norm(turned)):
            self._pairs.append((moved, turned))


def _two_loops(g: Vector, free: np.ndarray, pairs: deque[tuple[Vector, Vector]]) -> Vector:
    """``H g`` of the BFGS matrix restricted to the free variables (Nocedal's two loops)."""
    q = g.copy()
    steps: list[tuple[Vector, Vector, float, float]] = []
    scale = 1.0
    for moved, turned in reversed(pairs):
        s, t = np.where(free, moved, 0.0), np.where(free, turned, 0.0)
        curvature = float(s @ t)
        if curvature <= 0:
            continue
        if not steps:
            scale = curvature / float(t @ t)
        a = float(s @ q) / curvature
        q -= a * t
        steps.append((s, t, curvature, a))
    q *= scale
    for s, t, curvature, a in reversed(steps):
        q += (a - float(t @ q) / curvature) * s
    return q
