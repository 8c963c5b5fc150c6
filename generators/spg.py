"""Spectral projected gradient (SPG)."""

from collections.abc import Generator

import numpy as np

from oracle_opt import Domain, ObjectiveCut, Query, SequentialGenerator
from oracle_opt.arguments import flag, real
from oracle_opt.arrays import Vector
from oracle_opt.bounds import relative_gap
from oracle_opt.errors import InvalidArgument
from oracle_opt.words import shown

FINEST = 1e-12  # the least relative error that an oracle is asked for
DROWNED = 10  # after so many steps in a row that only the stated errors let pass the method gives up


class SPG(SequentialGenerator):
    """Spectral projected gradient with an averaged non-monotone line search.

    Each of the three parts of SPG-GMKL can be switched off; without all three what remains is projected gradient
    descent along the feasible direction.

    Parameters
    ----------
    max_length : float
        Largest step length, in units of the length that moves as far as the cut's minimizer over the domain lies, or,
        on an unbounded domain, as the point is long. Not used with `length_limits`.
    sufficient_decrease : float
        gamma of the line search, (10).
    spectral : bool
        Barzilai and Borwein's length, (6). Else twice the length of the last step taken.
    nonmonotone : bool
        Compare with the average (10)-(12) of the values so far. Else with the last one: Armijo's rule.
    tune_accuracy : bool
        Ask the oracle for low precision far from the minimum, (13). Default: its own best.
    entropic : bool, optional
        Measure lengths and project in the domain's entropic metric at the current point; default is to do so where
        the domain has one. The paper's method is ``entropic=False``.
    length_limits : (float, float), optional
        Clip (6) to these limits as it stands, in units of point over gradient; where the curvature is not positive the
        length is the upper one. Those of the paper are ``(1e-30, 10.0)``. Default: `max_length`, in its units.

    Notes
    -----
    *The paper's method* is ``SPG(tune_accuracy=True, entropic=False, length_limits=(1e-30, 10.0))``. Two lengths are
    not printed: with `length_limits` the first is ``1 / max(abs(g))``, and without the spectral length each is 1,
    where a search begins with (5).

    *eta* of (11), (12) starts at 0.85 and moves by 0.025 within [0.1, 1]. It goes up where the accepted step gained at
    least half of what the slope foretold, and down where the step gained less than a tenth.

    *Precision.* (13) asks for 1e-1, 1e-2 or 1e-3 by the decade of the duality gap u, or of the projected gradient norm
    v where there is no gap. It never asks for less than before, and it asks for ten times more where the steps become
    too small. Here u is the relative gap by the oracle's own lower bound. The decades go on to 1e-12, as gaps far below
    the paper's are to be proven. A step that is lost in the errors stated by the oracle counts as too small.

    *The end.* The method stops asking when the projected gradient vanishes, when a step can no longer be told from
    none, or when 10 steps in a row were lost in the oracle's errors. An oracle that cannot be as precise as asked
    stalls the method there.

    *The metric.* On weights that range over many decades, as those of kernels under an lp norm with p near 1, no single
    length suits all. In the metric r the step is ``project(z - length * g / r)`` and (6) is taken in it.

    References
    ----------
    Jain, Vishwanathan & Varma (2012), "SPG-GMKL", Algorithm 1, (6)-(13), Tables 7 and 11 for the parts; Birgin,
    Martinez & Raydan (2000), "Nonmonotone spectral projected gradient methods on convex sets"; Zhang & Hager (2004),
    "A nonmonotone line search technique", for the average; Bonettini, Zanella & Zanni (2009), "A scaled gradient
    projection method", for the metric.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import FunctionOracle, Simplex, minimize
    >>> from oracle_opt.generators import SPG
    >>> target = np.array([0.2, 0.3, 0.5])
    >>> oracle = FunctionOracle(lambda z: ((z - target) @ (z - target), 2 * (z - target)), Simplex(3))
    >>> minimize(oracle, SPG(), gtol=1e-8).point.round(6).tolist()
    [0.2, 0.3, 0.5]
    """

    def __init__(
        self,
        max_length: float = 1e3,
        sufficient_decrease: float = 1e-4,
        spectral: bool = True,
        nonmonotone: bool = True,
        tune_accuracy: bool = False,
        entropic: bool | None = None,
        length_limits: tuple[float, float] | None = None,
    ) -> None:
        self.max_length = real("max_length", max_length, above=0.0, infinite=True)
        self.sufficient_decrease = real("sufficient_decrease", sufficient_decrease, above=0.0, below=1.0)
        self.spectral = flag("spectral", spectral)
        self.nonmonotone = flag("nonmonotone", nonmonotone)
        self.tune_accuracy = flag("tune_accuracy", tune_accuracy)
        self.entropic = None if entropic is None else flag("entropic", entropic)
        self.length_limits = None if length_limits is None else _limits(length_limits)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without entropy where it is asked for."""
        if self.entropic and _metric(domain, domain.interior_point()) is None:
            return "its entropic metric needs a domain that has one and projects in it"
        return None

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector | Query, ObjectiveCut, None]:
        """Run Algorithm 1."""
        accuracy = 1e-1 if self.tune_accuracy else None
        cut = yield Query(point, accuracy)
        self.center = cut
        lower, drowned = -np.inf, 0
        reference, total, eta = cut.value, 1.0, 0.85 if self.nonmonotone else 0.0
        metric = None if self.entropic is False else _metric(domain, cut.point)
        length = self._first_length(domain, cut, metric)
        while True:
            direction = _project(domain, cut, length, metric) - cut.point  # (8)
            slope = float(cut.subgradient @ direction)
            if accuracy is not None:
                lower = max(lower, cut.lower_bound)
                accuracy = _tuned(accuracy, relative_gap(cut.upper, lower), domain, cut)
            found = None
            if slope < 0:
                found = yield from self._search(cut, direction, slope, reference, accuracy)
            if found is None:
                # (13), last line: ask again, more precisely
                if accuracy is None or accuracy <= FINEST:
                    return
                accuracy = max(0.1 * accuracy, FINEST)
                self.center = cut = yield Query(cut.point, accuracy)
                continue
            trial, step, excess = found
            drowned = drowned + 1 if excess > 0 else 0
            if drowned > DROWNED:
                return
            if drowned and accuracy is not None:
                accuracy = max(0.1 * accuracy, FINEST)
            if self.nonmonotone:
                gained = (cut.value - trial.value) / (-step * slope)
                eta = float(np.clip(eta + 0.025 * (int(gained >= 0.5) - int(gained < 0.1)), 0.1, 1.0))
            total, weight = eta * total + 1.0, eta * total  # (11)
            reference = (weight * reference + trial.value) / total  # (12)
            length = self._next_length(domain, cut, trial, metric, step * length)
            self.center = cut = trial
            if metric is not None:
                metric = domain.entropic_metric(cut.point)

    def _first_length(self, domain: Domain, cut: ObjectiveCut, metric: Vector | None) -> float:
        """The length of the first step, which no spectral step precedes."""
        if self.length_limits is None:
            return _unit(domain, cut, metric)
        steepest = float(np.abs(cut.subgradient).max())
        length = 1.0 / steepest if self.spectral and steepest > 0 else 1.0
        return float(np.clip(length, *self.length_limits))

    def _next_length(
        self, domain: Domain, old: ObjectiveCut, new: ObjectiveCut, metric: Vector | None, taken: float
    ) -> float:
        """(6) within the limits; without the spectral length, where the next search begins."""
        if self.length_limits is None:
            longest = self.max_length * _unit(domain, new, metric)
            return _spectral_length(old, new, metric, 1e-30, longest) if self.spectral else min(2.0 * taken, longest)
        if self.spectral:
            return _spectral_length(old, new, metric, *self.length_limits)
        return float(np.clip(1.0, *self.length_limits))

    def _search(
        self, cut: ObjectiveCut, direction: Vector, slope: float, reference: float, accuracy: float | None
    ) -> Generator[Query, ObjectiveCut, tuple[ObjectiveCut, float, float] | None]:
        """Return the first trial that (10) accepts up to the errors stated, its step and what it owes to those."""
        step = 1.0
        while step > 1e-8:
            candidate = cut.point + step * direction
            if (candidate == cut.point).all():
                return None
            trial = yield Query(candidate, accuracy)
            excess = trial.value - reference - self.sufficient_decrease * step * slope
            if excess <= trial.error + cut.error:
                return trial, step, excess
            step *= 0.5
        return None


def _metric(domain: Domain, point: Vector) -> Vector | None:
    """The entropic metric, if the domain has one and projects in it."""
    return None if domain.euclidean_only else domain.entropic_metric(point)


def _project(domain: Domain, cut: ObjectiveCut, length: float, metric: Vector | None) -> Vector:
    if metric is None:
        return domain.project(cut.point - length * cut.subgradient)
    return domain.project(cut.point - length * cut.subgradient / metric, metric)


def _unit(domain: Domain, cut: ObjectiveCut, metric: Vector | None) -> float:
    """Return the length that moves as far as the cut's minimizer lies, or as the point is long, or by 1."""
    r = np.ones_like(cut.point) if metric is None else metric
    norm = float(np.sqrt(cut.subgradient @ (cut.subgradient / r)))
    away = domain.minimize_linear(cut.subgradient)[1] - cut.point
    if not np.isfinite(away).all():
        away = cut.point
    size = float(np.sqrt(away @ (r * away)))
    return (size if size > 0 else 1.0) / norm if norm > 0 else 1.0


def _limits(length_limits: tuple[float, float]) -> tuple[float, float]:
    """Two lengths, the first not longer than the second."""
    try:
        first, second = length_limits
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"`length_limits` must be two lengths such as (1e-30, 10.0), got {shown(length_limits)}"
        ) from None
    shortest = real("length_limits[0]", first, above=0.0)
    return shortest, real("length_limits[1]", second, least=shortest, infinite=True)


def _spectral_length(
    old: ObjectiveCut, new: ObjectiveCut, metric: Vector | None, shortest: float, longest: float
) -> float:
    """Barzilai and Borwein's ``|dz|^2 / (dz @ dg)``, (6); the longest where the curvature is not positive."""
    moved, turned = new.point - old.point, new.subgradient - old.subgradient
    curvature = float(moved @ turned)
    squared = float(moved @ moved) if metric is None else float(moved @ (metric * moved))
    return float(np.clip(squared / curvature, shortest, longest)) if curvature > 0 else longest


def _tuned(accuracy: float, gap: float, domain: Domain, cut: ObjectiveCut) -> float:
    """(13): a tenth of the decade of u, the relative gap; without one, of v, the norm of the projected gradient."""
    if np.isfinite(gap):
        decade = gap
    else:
        decade = float(np.linalg.norm(domain.project(cut.point - cut.subgradient) - cut.point))
        decade = 1.0 if decade >= 5.0 else 0.1 * decade
    wanted = 10.0 ** (np.floor(np.log10(max(decade, 1e-300))) - 1.0)
    return float(min(accuracy, np.clip(wanted, FINEST, 1e-1)))
