"""The reduced gradient method of SimpleMKL."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from oracle_opt import Domain, ObjectiveCut, SequentialGenerator, SimplexBlocks
from oracle_opt.arguments import real
from oracle_opt.arrays import Vector


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

    Notes
    -----
    Algorithm 1 of the paper updates the direction at the boundary without the sign rule, so that a weight already
    zero can be pushed below zero (its line 9). Here the longest step keeps all weights nonnegative, the direction of
    a weight that arrived at zero is set to zero and that of mu is restored from the sum, and the line search runs
    inside. Values are compared up to the errors the oracle states. A step that neither gains nor empties a weight ends
    the run: the method has nothing left to ask, which happens where the function has a kink.

    References
    ----------
    Rakotomamonjy, Bach, Canu & Grandvalet (2008), "SimpleMKL", Algorithm 1 and (12).
    """

    def __init__(self, line_tolerance: float = 1e-2) -> None:
        self.line_tolerance = real("line_tolerance", line_tolerance, above=0.0, below=1.0)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse everything but a simplex, scaled or not."""
        blocks = domain.simplices()
        return "it needs a domain that is one simplex" if blocks is None or len(blocks.sizes) > 1 else None

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector, ObjectiveCut, None]:
        """Run Algorithm 1."""
        blocks = domain.simplices()
        assert blocks is not None  # `refusal` refuses all other domains
        cut = yield point
        self.center = cut
        while True:
            start, lead = cut, int(np.argmax(blocks.weights(cut.point)))
            direction = _reduced_direction(cut, lead, blocks)
            if not direction.any():
                return
            # Follow the direction to the boundary while the function falls.
            longest = 0.0
            while direction.any():
                weights = blocks.weights(cut.point)
                longest, arriving = _to_boundary(weights, direction)
                edge = weights + longest * direction
                edge[arriving] = 0.0
                trial = yield _scaled(edge, cut, blocks)
                if trial.value >= cut.value + trial.error + cut.error and trial.value > cut.value:
                    break
                self.center = cut = trial
                longest = 0.0
                if arriving[lead]:  # nothing is left to take up the rest: a new lead is needed
                    break
                direction = np.where(arriving, 0.0, direction)
                direction[lead] = 0.0
                direction[lead] = -direction.sum()
            if longest > 0:
                cut = yield from self._golden_section(cut, direction, longest, blocks)
            emptied = (cut.point > 0).sum() < (start.point > 0).sum()
            if cut is start or not (cut.value < start.value or emptied):
                return

    def _golden_section(
        self, cut: ObjectiveCut, direction: Vector, longest: float, blocks: SimplexBlocks
    ) -> Generator[Vector, ObjectiveCut, ObjectiveCut]:
        """Return the best cut found on ``weights + [0, longest] * direction``, from those of the cut's point."""
        ratio = 0.5 * (np.sqrt(5.0) - 1.0)
        low, high = 0.0, longest
        best, weights = cut, blocks.weights(cut.point)
        inner, outer = high - ratio * (high - low), low + ratio * (high - low)
        at_inner = yield _scaled(weights + inner * direction, cut, blocks)
        at_outer = yield _scaled(weights + outer * direction, cut, blocks)
        while True:
            for trial in (at_inner, at_outer):
                if trial.value < best.value:
                    self.center = best = trial
            if high - low <= self.line_tolerance * longest and best is not cut:
                return best
            noise = at_inner.error + at_outer.error
            if high - low <= 1e-12 * longest or abs(at_inner.value - at_outer.value) <= noise:
                return best
            if at_inner.value <= at_outer.value:
                high, outer, at_outer = outer, inner, at_inner
                inner = high - ratio * (high - low)
                at_inner = yield _scaled(weights + inner * direction, cut, blocks)
            else:
                low, inner, at_inner = inner, outer, at_outer
                outer = low + ratio * (high - low)
                at_outer = yield _scaled(weights + outer * direction, cut, blocks)


def _scaled(weights: Vector, cut: ObjectiveCut, blocks: SimplexBlocks) -> Vector:
    """Point of these weights, less the rounding in their sum and below zero.

    Weights that are zero stay zero, which a projection would not keep.
    """
    weights = np.maximum(weights, 0.0)
    return blocks.point(weights * (blocks.weights(cut.point).sum() / weights.sum()))


def _reduced_direction(cut: ObjectiveCut, lead: int, blocks: SimplexBlocks) -> Vector:
    """(12): minus the reduced gradient, zero where a zero weight would become negative; adds up to zero."""
    slopes = blocks.slopes(cut.subgradient)
    reduced = slopes - slopes[lead]
    direction = np.where((cut.point <= 0) & (reduced > 0), 0.0, -reduced)
    direction[lead] = 0.0
    direction[lead] = -direction.sum()
    return direction


def _to_boundary(weights: Vector, direction: Vector) -> tuple[float, Vector]:
    """Longest step that keeps every weight nonnegative, and which weights arrive at zero, up to rounding."""
    falling = direction < 0
    lengths = np.full(len(weights), np.inf)
    lengths[falling] = -weights[falling] / direction[falling]
    longest = float(lengths.min())
    return longest, falling & (weights + longest * direction <= 1e-10 * weights.max())
