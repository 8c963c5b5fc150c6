"""Conditional gradients: Frank-Wolfe steps, and their away and pairwise forms."""

from collections.abc import Generator

import numpy as np

from oracle_opt import Domain, Guarantee, ObjectiveCut, Regularity, SequentialGenerator
from oracle_opt.arguments import one_of
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.polyhedra import boundless_refusal

SHRINK, GROW = 0.9, 2.0  # of the curvature: at each step, at each trial that fails; those of Pedregosa et al.
TRIALS = 60  # of a step before the method gives up
DROWNED = 1e-10  # gains below, relative to the value, say nothing
GONE = 1e-15  # weights below are rounding


class FrankWolfe(SequentialGenerator):
    """Move weight to the vertex of the domain that minimizes the last cut: conditional gradients.

    Neither a projection nor a master problem is needed, only `Domain.minimize_linear`. The method is a yardstick, not a
    first choice: on smooth functions it took 1 to 14 times the calls of `ProximalBundle`, on some more than 300 calls.
    The function has to be smooth, which no refusal can tell beforehand. On nonsmooth functions the method fails: of
    twelve such problems one came to a gap of 1e-2.

    Parameters
    ----------
    step : {"pairwise", "away", "blended-pairwise", "classic"}
        Where weight goes. The query is a mix of vertices met so far; the new vertex is that which minimizes the cut.
        "classic": from the whole mix to the new vertex. "away": as "classic", or from the worst vertex of the mix to
        the others where this is steeper. "pairwise": from the worst vertex to the new one. "blended-pairwise": from the
        worst to the best vertex of the mix where this is as steep as "classic", else as "classic".
    rule : {"measured", "adaptive", "open-loop"}
        How far. "adaptive": to the minimum of a quadratic, whose curvature falls by a tenth at each step and doubles
        until the function falls by half of what the cut promises. "measured": the curvature is that met by the slopes
        of the last step, and a fourth of the promise suffices. "open-loop": ``2 / (k + 2)`` after k steps.

    Notes
    -----
    *The lower bound* is that of the last cut: the difference from the value is the Frank-Wolfe gap. With classic steps
    and the rule "open-loop" theorem 1 of Jaggi holds, ``f(x_k) - f* <= 2 C / (k + 2)``, and theorem 2, that the least
    gap is at most ``6.75 C / (k + 2)``. The curvature constant C is at most the Lipschitz constant of the gradient
    times the squared diameter of the domain. On polytopes away and pairwise steps converge linearly where the function
    is strongly convex: theorem 1 of Lacoste-Julien & Jaggi.

    *The defaults.* On nine smooth problems steps "pairwise" took 657 calls to 1e-6 in all, and "blended-pairwise" 674;
    "away" left one of them open, and "classic" eight. The rule "measured" took 0.45 to 1 times the calls of "adaptive".

    *Trials* of a step that is too long are calls. Where values differ by less than their errors and rounding, the slope
    at a trial tells whether it lies beyond the minimum.

    References
    ----------
    Frank & Wolfe (1956), "An algorithm for quadratic programming"; Jaggi (2013), "Revisiting Frank-Wolfe:
    projection-free sparse convex optimization", Algorithm 1, theorems 1 and 2; Lacoste-Julien & Jaggi (2015), "On the
    global linear convergence of Frank-Wolfe optimization variants", Algorithms 1 (away) and 2 (pairwise), theorem 1;
    Tsuji, Tanaka & Pokutta (2022), "Pairwise conditional gradients without swap steps and sparser kernel herding", for
    the blended steps; Pedregosa, Negiar, Askari & Jaggi (2020), "Linearly convergent Frank-Wolfe with backtracking
    line-search", for the rule "adaptive".

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import FunctionOracle, Simplex, minimize
    >>> from oracle_opt.generators import FrankWolfe
    >>> target = np.array([0.2, 0.3, 0.5])
    >>> oracle = FunctionOracle(lambda z: ((z - target) @ (z - target), 2 * (z - target)), Simplex(3))
    >>> minimize(oracle, FrankWolfe(), atol=1e-9).point.round(4).tolist()
    [0.2, 0.3, 0.5]
    """

    def __init__(self, step: str = "pairwise", rule: str = "measured") -> None:
        self.step = one_of("step", step, ("pairwise", "away", "blended-pairwise", "classic"))
        self.rule = one_of("rule", rule, ("measured", "adaptive", "open-loop"))

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without end."""
        return boundless_refusal(domain)

    def guarantee(self, domain: Domain, start: Vector, calls: int, known: Regularity) -> Guarantee | None:
        """Of classic steps by the rule "open-loop", of which the last of N calls is the N - 1st (Jaggi 2013)."""
        if (self.step, self.rule) != ("classic", "open-loop"):
            return None
        if calls == 1:
            return Guarantee(known.steepness * known.distance, "L R: the first call is at the start")
        lower, upper = domain.bounding_box()
        value = 2.0 * known.smoothness * float((upper - lower) @ (upper - lower)) / (calls + 1.0)
        return Guarantee(value, "2 M D^2 / (N + 1), M the smoothness, D the diameter of the box around the set")

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector, ObjectiveCut, str]:
        """Move weight between vertices until no move descends."""
        self._vertices, self._weights = point[None], np.ones(1)
        self.center = cut = yield point
        steps = 0
        while True:
            least, vertex = domain.minimize_linear(cut.subgradient)
            gap = float(cut.subgradient @ cut.point) - least
            if not gap > 0:
                return "the point minimizes its own cut"
            change = self._change(cut.subgradient, vertex, gap)
            direction = change @ self._vertices
            slope, squared = -float(cut.subgradient @ direction), float(direction @ direction)
            if not (slope > 0 and squared > 0):
                return "no move of weight descends"
            if self.rule == "open-loop" or steps == 0:
                self._curvature = 0.5 * (steps + 2) * slope / squared  # the minimum is 2 / (steps + 2) away
            elif self.rule == "adaptive":
                self._curvature *= SHRINK
            found = yield from self._search(cut, change, direction, slope, squared)
            if found is None:
                return "no step is short enough"
            self.center = cut = found
            steps += 1

    def _change(self, subgradient: Vector, vertex: Vector, gap: float) -> Vector:
        """The change of the weights by a step of length 1, which adds up to 0."""
        heights = self._vertices @ subgradient
        best, worst = int(heights.argmin()), int(heights.argmax())
        away = float(heights[worst] - self._weights @ heights)
        new = (self._vertices == vertex).all(axis=1)
        if not new.any():
            self._vertices = np.vstack([self._vertices, vertex])
            self._weights, new = np.append(self._weights, 0.0), np.append(new, True)
        change = np.zeros(len(new))
        if self.step == "pairwise":
            change[new] += 1.0
            change[worst] -= 1.0
        elif self.step == "blended-pairwise" and heights[worst] - heights[best] >= gap:
            change[best] += 1.0
            change[worst] -= 1.0
        elif self.step == "away" and away > gap:
            change += self._weights
            change[worst] -= 1.0
        else:
            change[new] += 1.0
            change -= self._weights
        return change

    def _search(
        self, cut: ObjectiveCut, change: Vector, direction: Vector, slope: float, squared: float
    ) -> Generator[Vector, ObjectiveCut, ObjectiveCut | None]:
        """Try shorter and shorter steps until one gains enough; take its weights, and return its answer."""
        longest = float((self._weights[change < 0] / -change[change < 0]).min())
        lower, upper = self._vertices.min(axis=0), self._vertices.max(axis=0)  # which rounding may not leave
        for _ in range(TRIALS):
            bent = self._curvature * squared
            length = slope / bent if slope < longest * bent else longest
            weights = self._weights + length * change
            weights[weights <= GONE] = 0.0
            weights /= weights.sum()
            trial = np.clip(weights @ self._vertices, lower, upper)
            if (trial == cut.point).all():
                return None
            new = yield trial
            met = (float(new.subgradient @ direction) + slope) / (length * squared)
            if self._suffices(cut, new, direction, length * slope):
                if self.rule == "measured":
                    self._curvature = max(met, 0.1 * self._curvature)
                self._vertices, self._weights = self._vertices[weights > 0], weights[weights > 0]
                return new
            self._curvature = GROW * slope / (length * squared)
            if self.rule == "measured":
                self._curvature = max(self._curvature, met)
        return None

    def _suffices(self, cut: ObjectiveCut, new: ObjectiveCut, direction: Vector, promised: float) -> bool:
        """Whether a trial gains enough of what the cut promised; where gains drown, whether it is not too long."""
        gained = cut.value - new.value
        if self.rule == "open-loop":
            return bool(np.isfinite(gained))
        if abs(gained) <= cut.error + new.error + DROWNED * abs(cut.value) and new.subgradient @ direction <= 0:
            return True
        return gained >= (0.5 if self.rule == "adaptive" else 0.25) * promised
