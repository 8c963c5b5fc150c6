"""How far a method goes: its first step, and how strongly a proximal master is held at its center after each answer."""

import numpy as np

from oracle_opt import Domain, ObjectiveCut
from oracle_opt.arrays import Vector

TEN = 10.0  # largest factor by which the weight changes after one answer
PATIENCE = 3  # null steps, or serious ones, in a row before a weight that proved itself is changed
ALIKE = 100.0  # ratio of the widths of a domain up to which they scale its variables
LAG = 0.01  # share of the proven gap: a smaller predicted decrease says that the proof lags behind the steps


class ProximityControl:
    """The weight w of ``w / 2 * |z - center|^2``, and the rules by which it changes.

    Three things are known after an answer: what the model predicted, what it gained, and how far the center's value is
    proven to be from the minimum. The weight at which a parabola through both values, with the predicted slope at the
    center, has its minimum at the query point,

        ``fitted = 2 w (1 - gain / predicted)``,

    is a secant's estimate of the curvature on the way there. It is taken after a good serious step, and after a few
    null steps whose last value lies above that of the center, or whose linearization error is large. Before the first
    serious step it is taken at once, as the first weight is a guess. From a good starting point a step sized by the
    domain goes too far, and each such answer says by how much. Several serious steps in a row without a change halve
    it. So does a predicted decrease below a hundredth of the proven gap, where the steps gain less than the proof
    lacks.

    References
    ----------
    Kiwiel (1990), "Proximity control in bundle methods for convex nondifferentiable minimization", procedure 2.2;
    Lemarechal & Sagastizabal (1997), "Variable metric bundle methods", on secants; Helmberg & Kiwiel (2002), "A
    spectral bundle method with bounds"; de Oliveira & Solodov (2016), "A doubly stabilized bundle method for nonsmooth
    convex optimization", on the known gap.
    """

    def __init__(self) -> None:
        self.weight = self.least = 0.0
        self._age = 0  # serious steps in a row since the weight changed, null steps counted down
        self._typical = float("inf")  # Kiwiel's variation estimate: linearization errors above it are large
        self._guessed = True  # whether no step proved the weight yet

    def start(self, weight: float) -> None:
        """Set the first weight."""
        self.weight, self.least = weight, 1e-10 * weight

    def serious(self, gain: float, predicted: float) -> None:
        """After a step that became the center: its gain, and what the model predicted, both positive."""
        before = self.weight
        weight = before
        if gain >= 0.5 * predicted and self._age > 0:
            weight = self._fitted(gain, predicted)
        elif self._age > PATIENCE:
            weight = 0.5 * before
        self.weight = max(weight, before / TEN, self.least)
        self._typical = max(self._typical, 2.0 * predicted)
        self._age = max(self._age + 1, 1) if self.weight == before else 1
        self._guessed = False

    def null(self, gain: float, predicted: float, error: float, variation: float) -> None:
        """After a step that did not become the center.

        The value fell by `gain`, where the model `predicted` more, a positive number. `error` is the linearization
        error of the new cut at the center, and `variation` Kiwiel's: the norm of the aggregate subgradient plus the
        aggregate's own linearization error.
        """
        before = self.weight
        self._typical = min(self._typical, variation)
        worse = gain < 0 and (self._guessed or self._age <= -PATIENCE)
        if worse or (error > max(self._typical, 10.0 * predicted) and self._age < -PATIENCE):
            self.weight = min(max(self._fitted(gain, predicted), before), TEN * before)
        self._age = min(self._age - 1, -1) if self.weight == before else -1

    def catch_up(self, predicted: float, gap: float) -> None:
        """Halve the weight where the proof is far behind: the `gap` large beside what is `predicted` of a step."""
        if predicted < LAG * gap < float("inf"):
            self.weight = max(0.5 * self.weight, self.least)

    def stiffen(self) -> None:
        """Ten times the weight, as the master failed."""
        self.weight *= TEN

    def loosen(self) -> bool:
        """A tenth of the weight, as nothing is left to gain with it; whether that is possible."""
        loose = self.weight > self.least
        if loose:
            self.weight /= TEN
        return loose

    def _fitted(self, gain: float, predicted: float) -> float:
        return 2.0 * self.weight * (1.0 - gain / predicted)


def first_step(domain: Domain, cut: ObjectiveCut, share: float = 1.0, scale: Vector | None = None) -> float:
    """Return a share of the distance, in the metric `scale`, to a cut's minimizer on the domain; 1 if inf or 0."""
    away = domain.minimize_linear(cut.subgradient)[1] - cut.point
    if scale is not None:
        away = np.sqrt(scale) * away
    length = share * float(np.linalg.norm(away))
    return length if np.isfinite(length) and length > 0 else 1.0


def scale_of(domain: Domain) -> Vector:
    """Diagonal of the norm, of size 1: 1 over squared widths, unless they differ by more than a factor of `ALIKE`."""
    constraints = domain.linear_constraints()
    assert constraints is not None  # `refusal` refuses all other domains
    width = constraints.upper - constraints.lower
    if not np.isfinite(width).all() or not (width > 0).any():
        return np.ones(len(width))
    width = np.where(width > 0, width, width.max())
    if width.max() > ALIKE * width.min():
        return np.ones(len(width))
    mean = float(np.sqrt((width**2).mean()))
    scale: Vector = (mean / width) ** 2
    return scale
