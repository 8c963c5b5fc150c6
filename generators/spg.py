"""Spectral projected gradient (SPG)."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from oracle_opt import Domain, InvalidArgument, ObjectiveCut, Query, SequentialGenerator
from oracle_opt.cuts import Vector


class SPG(SequentialGenerator):
    """Spectral projected gradient with an averaged non-monotone line search.

    Parameters
    ----------
    max_length : float
        Largest spectral step length, in units of ``size / norm(first subgradient)``, size being the distance to the
        first cut's minimiser over the domain. The paper clips to [1e-30, 10] in its own units.
    sufficient_decrease : float
        gamma of the line search, (10).
    tune_accuracy : bool
        Ask the oracle for low precision far from the minimum, after (13). The relative error wanted is then at most a
        tenth of the relative gap proven by the current cut, between 1e-1 and 1e-9.

    Notes
    -----
    The forgetting factor eta of (11), (12) starts at 0.85 and moves by 0.025 within [0.1, 1]: up where the accepted
    step gained at least half of what the slope foretold, down where it gained less than a tenth. The method stops
    asking when the projected gradient vanishes, or when the line search can no longer tell a step from none.

    References
    ----------
    Jain, Vishwanathan & Varma (2012), "SPG-GMKL", Algorithm 1, (6)-(13); Birgin, Martinez & Raydan (2000),
    "Nonmonotone spectral projected gradient methods on convex sets"; Zhang & Hager (2004), "A nonmonotone line search
    technique", for the average.
    """

    def __init__(self, max_length: float = 1e3, sufficient_decrease: float = 1e-4, tune_accuracy: bool = False) -> None:
        self.max_length = max_length
        self.sufficient_decrease = sufficient_decrease
        self.tune_accuracy = tune_accuracy

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector | Query, ObjectiveCut, None]:
        """Run Algorithm 1."""
        if not (self.max_length > 0 and 0 < self.sufficient_decrease < 1):
            raise InvalidArgument(
                "`max_length` must be positive and `sufficient_decrease` in (0, 1), "
                f"got {self.max_length!r} and {self.sufficient_decrease!r}"
            )
        accuracy = 1e-1 if self.tune_accuracy else None
        cut = yield Query(point, accuracy)
        self.center = cut
        unit = _first_length(domain, cut)
        length = unit
        reference, total, eta = cut.value, 1.0, 0.85
        while True:
            direction = domain.project(cut.point - length * cut.subgradient) - cut.point
            slope = float(cut.subgradient @ direction)
            if slope >= 0:
                return
            step, trial = 1.0, cut
            while True:
                candidate = cut.point + step * direction
                if (candidate == cut.point).all() or step < 1e-12:
                    return
                trial = yield Query(candidate, accuracy)
                # (10), up to the error the oracle states
                if trial.value <= reference + self.sufficient_decrease * step * slope + trial.error + cut.error:
                    break
                step *= 0.5
                if accuracy is not None:
                    accuracy = max(0.1 * accuracy, 1e-9)
            gained = (cut.value - trial.value) / (-step * slope)
            eta = float(np.clip(eta + 0.025 * ((gained >= 0.5) - int(gained < 0.1)), 0.1, 1.0))
            total, weight = eta * total + 1.0, eta * total
            reference = (weight * reference + trial.value) / total
            length = _spectral_length(cut, trial, 1e-30, self.max_length * unit)
            self.center = cut = trial
            if accuracy is not None:
                accuracy = min(accuracy, _wanted(domain, cut))


def _first_length(domain: Domain, cut: ObjectiveCut) -> float:
    """Return the length that moves as far as the first cut's minimiser lies."""
    norm = float(np.linalg.norm(cut.subgradient))
    size = float(np.linalg.norm(domain.minimize_linear(cut.subgradient)[1] - cut.point))
    return (size if np.isfinite(size) and size > 0 else 1.0) / norm if norm > 0 else 1.0


def _spectral_length(old: ObjectiveCut, new: ObjectiveCut, shortest: float, longest: float) -> float:
    """Barzilai and Borwein's ``|dz|^2 / (dz @ dg)``, (6); the longest where the curvature is not positive."""
    moved, turned = new.point - old.point, new.subgradient - old.subgradient
    curvature = float(moved @ turned)
    return float(np.clip(moved @ moved / curvature, shortest, longest)) if curvature > 0 else longest


def _wanted(domain: Domain, cut: ObjectiveCut) -> float:
    """A tenth of the relative gap the cut itself proves."""
    constant = cut.value - float(cut.subgradient @ cut.point)
    lower = constant + domain.minimize_linear(cut.subgradient)[0]
    gap = (cut.upper - lower) / max(1e-12, abs(cut.upper))
    return float(np.clip(0.1 * gap, 1e-9, 1e-1)) if np.isfinite(gap) else 1e-3
