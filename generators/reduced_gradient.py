"""The reduced gradient method of SimpleMKL."""

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain, ObjectiveCut, SequentialGenerator, SimplexBlocks
from oracle_opt.arguments import real
from oracle_opt.arrays import EPS, Vector


class ReducedGradient(SequentialGenerator):
    """SimpleMKL: reduced gradient on the simplex, longest step while the function falls, then a line search.

    The equality is eliminated through the largest weight mu: every other weight moves against its reduced gradient
    ``g_k - g_mu``, unless it is zero and would become negative, and mu takes up the rest (12). The direction is
    followed to the boundary, where the weight that arrived is fixed at zero, as long as the function falls there
    (Algorithm 1); between the last two points a golden section search follows.

    Parameters
    ----------
    line_tolerance : float
        The line search stops when its bracket is shorter than this fraction of the step, default 1e-2.

    Attributes
    ----------
    iterations : int
        Directions followed since the run began: the iterations of Algorithm 1. Each takes many calls.

    Notes
    -----
    Algorithm 1 of the paper updates the direction at the boundary without the sign rule, so that a weight already
    zero can be pushed below zero (its line 9). Here the longest step keeps all weights nonnegative. The direction of a
    weight that arrived at zero is set to zero, that of mu is restored from the sum, and the line search runs inside.
    Values are compared up to the errors the oracle states.

    The paper takes the function to be differentiable. Where few kernels have a weight and their sum is singular, the
    machine has several solutions and the function a kink. There the function may fall along no direction that one
    subgradient gives, and the paper's method ends. This one takes the subgradient at the nearest point that the line
    search asked, and follows the direction of the shortest convex combination of it and the last one. This is repeated
    until the function falls (null steps, Wolfe 1975). The run ends when a combination promises no more than the errors
    of the values.

    References
    ----------
    Rakotomamonjy, Bach, Canu & Grandvalet (2008), "SimpleMKL", Algorithm 1 and (12); Wolfe (1975), "A method of
    conjugate subgradients for minimizing nondifferentiable functions".

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import ReducedGradient
    >>> from oracle_opt.oracles import GramBank, MKLOracle
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)  # one kernel for each column
    >>> oracle = MKLOracle(GramBank([np.outer(x, x) for x in X.T]), y, C=1)
    >>> result = minimize(oracle, ReducedGradient(), rtol=1e-3)
    >>> result.success, result.point.round(2).tolist()
    (True, [0.7, 0.3, 0.0])
    """

    def __init__(self, line_tolerance: float = 1e-2) -> None:
        self.line_tolerance = real("line_tolerance", line_tolerance, above=0.0, below=1.0)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse everything but a simplex, scaled or not."""
        blocks = domain.simplices()
        return "it needs a domain that is one simplex" if blocks is None or len(blocks.sizes) > 1 else None

    def reset(self, domain: Domain, point: Vector) -> None:
        """Begin a run."""
        self.iterations = 0
        super().reset(domain, point)

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector, ObjectiveCut, None]:
        """Run Algorithm 1."""
        blocks = domain.simplices()
        assert blocks is not None  # `refusal` refuses all other domains
        self.center = cut = yield point
        slopes = blocks.slopes(cut.subgradient)
        while True:
            start, lead = cut, int(np.argmax(blocks.weights(cut.point)))
            direction = _reduced_direction(cut, slopes, lead)
            if not direction.any():
                return
            self.iterations += 1
            # what the slopes promise to a step that moves all weight
            farthest = 2.0 * blocks.weights(cut.point).sum() / np.abs(direction).sum()
            promised = -float(slopes @ direction) * farthest
            cut, nearest = yield from self._descend(cut, direction, lead, blocks)
            emptied = (cut.point > 0).sum() < (start.point > 0).sum()
            if cut is not start and (cut.value < start.value or emptied):
                slopes = blocks.slopes(cut.subgradient)
            elif nearest is None or promised <= start.error + nearest.error + EPS * abs(start.value):
                return
            else:
                cut = start
                shorter = _shortest(cut, slopes, blocks.slopes(nearest.subgradient), lead)
                if shorter is None:
                    return
                slopes = shorter

    def _descend(
        self, cut: ObjectiveCut, direction: Vector, lead: int, blocks: SimplexBlocks
    ) -> Generator[Vector, ObjectiveCut, tuple[ObjectiveCut, ObjectiveCut | None]]:
        """Follow the direction to the boundary while the function falls, then search; return as `_golden_section`."""
        while direction.any():
            weights = blocks.weights(cut.point)
            longest, arriving = _to_boundary(weights, direction)
            edge = weights + longest * direction
            edge[arriving] = 0.0
            trial = yield _scaled(edge, cut, blocks)
            if trial.value >= cut.value + trial.error + cut.error and trial.value > cut.value:
                return (yield from self._golden_section(cut, direction, longest, blocks))
            self.center = cut = trial
            if arriving[lead]:  # nothing is left to take up the rest: a new lead is needed
                break
            direction = np.where(arriving, 0.0, direction)
            direction[lead] = 0.0
            direction[lead] = -direction.sum()
        return cut, None

    def _golden_section(
        self, cut: ObjectiveCut, direction: Vector, longest: float, blocks: SimplexBlocks
    ) -> Generator[Vector, ObjectiveCut, tuple[ObjectiveCut, ObjectiveCut]]:
        """Return the best cut on ``weights + [0, longest] * direction``, and the one asked nearest to its start."""
        ratio = 0.5 * (np.sqrt(5.0) - 1.0)
        low, high = 0.0, longest
        best, weights = cut, blocks.weights(cut.point)
        inner, outer = high - ratio * (high - low), low + ratio * (high - low)
        nearest = at_inner = yield _scaled(weights + inner * direction, cut, blocks)
        at_outer = yield _scaled(weights + outer * direction, cut, blocks)
        while True:
            for trial in (at_inner, at_outer):
                if trial.value < best.value:
                    self.center = best = trial
            if low == 0.0:
                nearest = at_inner
            if high - low <= self.line_tolerance * longest and best is not cut:
                return best, nearest
            noise = at_inner.error + at_outer.error
            if high - low <= 1e-12 * longest or abs(at_inner.value - at_outer.value) <= noise:
                return best, nearest
            if at_inner.value <= at_outer.value:
                high, outer, at_outer = outer, inner, at_inner
                inner = high - ratio * (high - low)
                at_inner = yield _scaled(weights + inner * direction, cut, blocks)
            else:
                low, inner, at_inner = inner, outer, at_outer
                outer = low + ratio * (high - low)
                at_outer = yield _scaled(weights + outer * direction, cut, blocks)


def _scaled(weights: Vector, cut: ObjectiveCut, blocks: SimplexBlocks) -> Vector:
    """Point of these weights, less the rounding in their sum and below zero; unlike a projection it keeps the zeros."""
    weights = np.maximum(weights, 0.0)
    return blocks.point(weights * (blocks.weights(cut.point).sum() / weights.sum()))


def _reduced_direction(cut: ObjectiveCut, slopes: Vector, lead: int) -> Vector:
    """(12): minus the reduced gradient, zero where a zero weight would become negative; adds up to zero."""
    reduced = slopes - slopes[lead]
    direction = np.where((cut.point <= 0) & (reduced > 0), 0.0, -reduced)
    direction[lead] = 0.0
    direction[lead] = -direction.sum()
    return direction


def _shortest(cut: ObjectiveCut, slopes: Vector, others: Vector, lead: int) -> Vector | None:
    """The shortest combination of two slopes, the lead's entry apart, by bisection; `None` if it is the first."""
    first, second = slopes - slopes[lead], others - others[lead]
    zero = cut.point <= 0

    def derivative(share: float) -> float:
        reduced = first + share * (second - first)
        return float(np.where(zero, np.minimum(reduced, 0.0), reduced) @ (second - first))

    low, high = 0.0, 1.0
    if derivative(low) >= 0:
        return None
    while high - low > 1e-15:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if derivative(middle) < 0 else (low, middle)
    combined: Vector = (1.0 - high) * slopes + high * others
    return combined


def _to_boundary(weights: Vector, direction: Vector) -> tuple[float, NDArray[np.bool_]]:
    """Longest step that keeps every weight nonnegative, and which weights arrive at zero, up to rounding."""
    falling = direction < 0
    lengths = np.full(len(weights), np.inf)
    lengths[falling] = -weights[falling] / direction[falling]
    longest = float(lengths.min())
    return longest, falling & (weights + longest * direction <= 1e-10 * weights.max())
