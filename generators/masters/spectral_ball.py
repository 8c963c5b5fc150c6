"""Steps of a spectral bundle in the ball in which a minimizer is promised."""

from dataclasses import dataclass, replace

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.spectral_master import Model, SpectralPoint, minimize_spectral
from oracle_opt.generators.masters.spectral_models import StructuredModel

INSIDE = 1.0 - 1e-12  # of the radius: as far out as a point may be
SURFACE = 1e-7  # distance from the surface, in radii, that counts as none
SEARCHES = 12
LOSS = 1e6  # of the bound, in units of the accuracy of the master, that ends the search for a multiplier


@dataclass(frozen=True)
class PromisedBall:
    """The ball around `center`, of this radius, which may be infinite."""

    center: Vector
    radius: float

    def holds(self, point: Vector) -> bool:
        """Whether a point is inside."""
        return bool(np.linalg.norm(point - self.center) <= self.radius)


def step_within(ball: PromisedBall, y: Vector, done: SpectralPoint) -> tuple[Vector, float]:
    """Return the point of the master's step, or where it leaves the ball, and its share of the decrease."""
    if ball.holds(y + done.s) or not ball.holds(y):
        return y + done.s, done.decrease
    start, step = y - ball.center, float(done.s @ done.s)
    half, rest = float(start @ done.s), float(start @ start) - (ball.radius * INSIDE) ** 2
    share = max(0.0, (-half + np.sqrt(max(half**2 - step * rest, 0.0))) / step)
    return y + share * done.s, share * done.decrease


def minimize_within(
    ball: PromisedBall, y: Vector, model: StructuredModel, weight: float, multiplier: float, floor: float
) -> tuple[SpectralPoint, float]:
    """Minimize a model plus ``weight / 2 norm(s)^2`` over the steps from y that stay in the ball: its multiplier, too.

    See docs/theory_cones.md, "The matrix whole", for the `multiplier` of a step that would leave it.
    """
    m, away, told = len(y), y - ball.center, model.told
    found: tuple[SpectralPoint, float] | None = None
    lower, upper, last = 0.0, np.inf, (0.0, 0.0)
    for _ in range(SEARCHES):
        pull = multiplier * away
        turned = replace(model, told=replace(told, b=told.b + pull), slopes=model.slopes + pull)
        done = minimize_spectral(turned, (weight + multiplier) * np.eye(m), floor=floor)
        far = float(np.linalg.norm(away + done.s)) / ball.radius
        if abs(far - 1.0) <= SURFACE:
            z = away + done.s
            s = z * (INSIDE / max(far, INSIDE)) - away
            decrease = -_height(model, s) - 0.5 * weight * float(s @ s)
            return replace(done, s=s, decrease=decrease), multiplier
        if far <= INSIDE:
            decrease = -_height(model, done.s) - 0.5 * weight * float(done.s @ done.s)
            found, upper = (replace(done, decrease=decrease), multiplier), multiplier
            # over the ball the minorant is lower than here by the multiplier times the way to the surface
            loss = multiplier * far * (1.0 - far) * ball.radius**2 if multiplier else 0.0
            if loss <= LOSS * floor:
                break
        else:
            lower = multiplier
        # norms fall like a power of the multiplier, estimated from the last two
        power = 3.0
        if last[0] > 0.0 and last[0] != multiplier and last[1] != far:
            power = float(np.clip(-np.log(multiplier / last[0]) / np.log(far / last[1]), 1.0, 20.0))
        last = multiplier, far
        multiplier = max(multiplier, weight) * far**power
        if not lower < multiplier < upper:
            multiplier = np.sqrt(max(lower, 1e-3 * upper) * upper) if np.isfinite(upper) else 10.0 * lower
    return found or (replace(done, decrease=0.0), multiplier)


def _height(model: Model, s: Vector) -> float:
    """The model at a step."""
    F, affine = model.at(s)
    return float(np.r_[np.linalg.eigvalsh(F), affine].max())
