"""Checks of a run before it states success: its value from the data, and a few points that nobody asked for."""

from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np

from oracle_opt._deadline import Deadline
from oracle_opt.arrays import Vector
from oracle_opt.bounds import BoundTracker
from oracle_opt.checks import check_cut
from oracle_opt.consistency import contradiction, suspects
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query, is_infinite
from oracle_opt.domains import Domain
from oracle_opt.errors import OutOfTime, Refuted
from oracle_opt.oracle import Oracle
from oracle_opt.proof.claim import OF_VALUES, UNDERFLOW, ValueClaim
from oracle_opt.result import Status

HELD, MOST_HELD = 2**18, 64  # numbers and cuts of a run that are held for probes
FEWEST, MOST = 4, 8  # probes; between these a quarter of the calls
STEPS = (1.0, 0.5, 0.1, 0.01)  # distances of probes from the best point, over that of the farthest point asked
SEED = 20  # of the probes' directions


class Confirmation:
    """The last look at a run that is about to state success: its value from the data, and probes.

    Probes are points asked besides where a cut has no witness. They find maxima taken for minima and values that no
    convex function has; they prove nothing.
    """

    def __init__(self, oracle: Oracle, check: bool, probes: int | str) -> None:
        self._oracle, self._check = oracle, check and oracle.convex
        useful = oracle.convex and not oracle.adaptive and (probes != "auto" or not oracle.witness)
        self._probes = probes if useful else 0
        self._held: list[tuple[int, Cut]] = []
        self._stride, self._n_answers = 1, 0
        self.checks: list[str] = []
        self.n_probes = 0

    def hold(self, cut: Cut) -> None:
        """Keep an answer for the probes; of many each second, fourth and so on."""
        self._n_answers += 1
        room = min(MOST_HELD, HELD // cut.point.size)
        if self._probes == 0 or room < FEWEST or self._n_answers % self._stride or is_infinite(cut):
            return
        self._held.append((self._n_answers, _bare(cut)))
        if len(self._held) > room:
            self._held, self._stride = self._held[1::2], 2 * self._stride

    def of(self, status: Status, bounds: BoundTracker, max_calls: int, n_calls: int, ends: float) -> tuple[Status, str]:
        """Return the status to end with, and why it is another one if it is."""
        best = bounds.incumbent
        if not status.success or best is None:
            return status, ""
        count = min(MOST, max(FEWEST, n_calls // 4)) if self._probes == "auto" else int(self._probes)
        try:
            with Deadline(ends):
                if self._check and (words := self._disproved(best, bounds)):
                    return Status.REFUTED, words
                if words := self._contradicted(best, bounds, min(count, max_calls - n_calls)):
                    return Status.CONTRADICTION, words
        except OutOfTime:
            return Status.MAX_SECONDS, "the gap is closed, and no time was left to check that"
        return status, ""

    def _disproved(self, best: ObjectiveCut, bounds: BoundTracker) -> str:
        """In how far the value at the best point is not what was stated, by the data; no words if it is."""
        names = [name for name in self._oracle.witness if name in best.extras]
        try:
            proven = self._oracle.prove_value(
                ValueClaim(best.point, bounds.upper, {name: best.extras[name] for name in names})
            )
        except Refuted as problem:
            return f"the value at the best point does not hold: {problem}"
        if proven is None:
            return ""
        value = float(proven)
        size = max(abs(bounds.upper), abs(bounds.lower) if isfinite(bounds.lower) else 0.0, UNDERFLOW)
        size = max(size, self._oracle.size_of_terms(best.point))
        if not value - bounds.upper <= OF_VALUES * size:  # the size of terms on the domain may take programs
            size = max(size, abs(best.constant) + self._oracle.domain.extent(best.subgradient))
        if not value - bounds.upper <= OF_VALUES * size:
            return f"the value at the best point is {value!r} by the data, and {bounds.upper!r} was stated"
        self.checks.append(f"The value at the best point was recomputed from the data: it is at most {value!r}.")
        return ""

    def _contradicted(self, best: ObjectiveCut, bounds: BoundTracker, count: int) -> str:
        """The contradiction that a probe found, in words; no words if it found none."""
        if count <= 0:
            return ""
        away = max((float(np.linalg.norm(cut.point - best.point)) for _, cut in self._held), default=0.0)
        answers, silent = [*self._held, (self._n_answers, best)], 0
        n_known = len(answers)
        for point in _around(best.point, away, self._oracle.domain, count):
            self.n_probes += 1
            try:
                cut = check_cut(self._oracle.query(Query(point.copy())), point, self._oracle)
            except OutOfTime:
                raise
            except Exception:  # where the method did not go a function need not be defined: that is said below
                silent += 1
                continue
            if is_infinite(cut):
                continue
            if words := bounds.exceeded(cut):
                return words
            answers.append((self._n_answers + self.n_probes, _bare(cut, cut.further)))
        for i, j in suspects([cut for _, cut in answers], n_known):
            (first, one), (second, other) = answers[i], answers[j]
            if words := contradiction(one, other, first, second):
                return words
        heard = f", of which {silent} gave no answer" if silent else ""
        self.checks.append(
            f"{self.n_probes} further points were asked{heard}, and none contradicts an answer or a bound."
        )
        return ""


def _bare(cut: Cut, further: tuple[Any, ...] = ()) -> Cut:
    """The cut, with such further ones, without all else that came with it, which may be large."""
    if isinstance(cut, ObjectiveCut):
        return ObjectiveCut(cut.point, cut.value, cut.subgradient, cut.error, further=further)
    return FeasibilityCut(cut.point, cut.violation, cut.normal, further, error=cut.error)


def _around(best: Vector, away: float, domain: Domain, count: int) -> Iterator[Vector]:
    """Points of the domain around the best one, about as far away as others were asked, or as the domain is wide."""
    if away == 0:
        lower, upper = domain.bounding_box()
        width = float(np.linalg.norm(np.where(np.isfinite(upper - lower), upper - lower, 1.0)))
        away = 0.5 * width if width > 0 else 1.0
    rng = np.random.default_rng(SEED)
    for k in range(count):
        direction = rng.normal(size=best.size)
        yield domain.project(best + STEPS[k % len(STEPS)] * away / float(np.linalg.norm(direction)) * direction)
