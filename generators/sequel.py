"""What `minimize` runs where it chose: that generator, and others after it where the answers call for them."""

from collections import deque
from math import inf

import numpy as np

from oracle_opt import (
    CapabilityMismatch,
    Domain,
    EmptyLocalizationSet,
    Exhausted,
    FeasibilityCut,
    Minorant,
    ObjectiveCut,
    Oracle,
    Query,
    QueryPointGenerator,
    SequentialGenerator,
    Step,
)
from oracle_opt._questions import REPEATS
from oracle_opt.arrays import Vector
from oracle_opt.bounds import cut_rounding
from oracle_opt.checks import check_pair
from oracle_opt.cuts import Cut, Kind, bearing, is_infinite
from oracle_opt.generators.analytic_center import AnalyticCenter
from oracle_opt.generators.choose import choose_generator, explain_choice
from oracle_opt.generators.lbfgs import LBFGS
from oracle_opt.generators.level_set import LevelSet
from oracle_opt.generators.proximal_bundle import ProximalBundle
from oracle_opt.known import KnownTerm

MOST, LEAST, NUMBERS = 1000, 10, 5_000_000  # answers that are kept for the next generator, and variables of them all
SOON = 40  # answers in which a function is seen to be smooth, or never
NEAR = 3  # answers among which the nearest to a new one is sought
PAIRS, EACH, MEAN = 5, 0.05, 0.02  # so many pairs out of balance by at most this show a smooth function, more kinks
FEW, EXACT = 3, 0.01  # or so many, by that
PATIENCE, ENOUGH = 30, 0.5  # in so many answers a smooth method brings the gap that its own cuts prove to this share
COARSE = 0.1  # share of the gap from which errors of answers count
ROUNDING = 1e-12  # share of the values below which two linearization errors are rounding


class Sequel(QueryPointGenerator):
    """One generator after the other on the same answers; which is next is decided by these answers alone, no clock.

    For two points let ``e = f(z) - f(y) - g(y) @ (z - y)``, and d the same the other way round. Then
    ``e + d = (g(z) - g(y)) @ (z - y)`` for every function, and e = d for a quadratic one. The balance
    ``|e - d| / (e + d)`` is anything up to 1 at kinks, and falls to 0 as points of a smooth function come together. It
    has no unit. Where several pairs in a row are in balance, a method for smooth functions goes on from the best point.

    Parameters
    ----------
    oracle : Oracle
        What is to be minimized. The first generator is that of `choose_generator`.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.chosen = oracle, choose_generator(oracle)
        self.needs_convexity, self.reads_extras = self.chosen.needs_convexity, self.chosen.reads_extras
        self._changes: list[str] = []  # in words: what went on, when and why
        self._now = self._home = self.chosen
        self._used: list[QueryPointGenerator] = []

    def __repr__(self) -> str:
        return repr(self._now)

    def story(self) -> str:
        """What was chosen, which generators went on after it, when, and why."""
        return " ".join([explain_choice(self.oracle), *self._changes])

    @property
    def takes(self) -> frozenset[Kind]:
        """As the first one."""
        return self.chosen.takes

    @property
    def needs(self) -> frozenset[type]:
        """As the first one."""
        return self.chosen.needs

    @property
    def understands_infinity(self) -> bool:  # type: ignore[override]
        """As the present one."""
        return self._now.understands_infinity

    def parameters(self) -> dict[str, object]:
        """Those of the first one, which the journal of a run names."""
        return self.chosen.parameters()

    def know(self, term: KnownTerm | None) -> None:
        """Tell the first generator; the others are told when they go on."""
        self.chosen.know(term)
        self.known = self.chosen.known

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start with the first generator."""
        self._domain, self._changes = domain, []
        self._now = self._home = self.chosen
        self._used = [self.chosen]
        self._after = self._served([AnalyticCenter(), LevelSet(center="best"), ProximalBundle()])
        self._after = [one for one in self._after if type(one) is not type(self.chosen)]
        curved = isinstance(self.chosen, ProximalBundle) and not self.oracle.polyhedral
        bounded = bool(np.isfinite(domain.bounding_box()).all())
        self._smooth = self._served([LBFGS()]) if curved and bounded else []
        most = min(MOST, max(NUMBERS // domain.dimension, LEAST)) if self._after or self._smooth else 0
        self._answers: deque[Cut] = deque(maxlen=most)
        self._n = 0  # answers so far
        self._last: Cut | None = None
        self._best: ObjectiveCut | None = None
        self._balances: deque[float] = deque(maxlen=PAIRS)
        self._gaps: deque[float] = deque(maxlen=PATIENCE + 1)  # that the cuts of a smooth method prove
        self._due: tuple[QueryPointGenerator, str] | None = None
        self._ended = ""  # why the present generator has nothing left to ask
        self._asked: Vector | None = None
        self._n_same = 0  # times that it was asked and answered before
        self.chosen.reset(domain, point)

    def _served(self, generators: list[QueryPointGenerator]) -> list[QueryPointGenerator]:
        """Those that can serve the oracle."""
        able = []
        for one in generators:
            try:
                check_pair(self.oracle, one)
            except CapabilityMismatch:
                continue
            able.append(one)
        return able

    def ask(self) -> Vector | Query:
        """The question of the present generator, or of the next where that is due or this one has ended."""
        while True:
            try:
                if self._due is not None:
                    self._go_on()
                if self._ended:
                    raise Exhausted(self._ended)
                query = self._now.ask()
            except EmptyLocalizationSet:
                raise
            except Exhausted as end:
                if not self._find_next(str(end)):
                    raise
                continue
            point = query.point if isinstance(query, Query) else query
            same = self._asked is not None and bool((point == self._asked).all())
            if not same or self._n_same <= REPEATS or not self._find_next("it asks the same question again and again"):
                self._n_same, self._asked = self._n_same if same else 0, point
                return query

    def tell(self, cut: Cut) -> Step:
        """Tell the present generator, and see what the answer shows."""
        better = isinstance(cut, ObjectiveCut) and (self._best is None or cut.upper < self._best.upper)
        self._n_same += 1
        try:
            step = self._now.tell(cut)
        except EmptyLocalizationSet:
            raise
        except Exhausted as end:
            if not self._after and self._now is self._home:
                raise
            self._ended = str(end)
            step = Step.FEASIBILITY if isinstance(cut, FeasibilityCut) else Step.SERIOUS if better else Step.NULL
        if not is_infinite(cut) and self._answers.maxlen and cut is not self._last:
            self._last = cut
            self._hear(cut)
            if isinstance(cut, ObjectiveCut):
                self._best = cut if better else self._best
                self._look(cut)
        return step

    def _hear(self, cut: Cut) -> None:
        """Keep an answer, and how well it is in balance with the nearest of the last ones."""
        away = self._now is not self._home
        if self._smooth and (away or self._n < SOON) and isinstance(cut, ObjectiveCut):
            balance = self._balance(cut)
            if balance < inf or not away:  # at rounding nothing is seen of kinks
                self._balances.append(min(balance, 1.0))
        self._answers.append(bearing(cut, self.oracle.witness) if self.reads_extras else cut)
        self._n += 1

    def _look(self, cut: ObjectiveCut) -> None:
        """Decide whether another generator is due."""
        if self._now is not self._home:
            slope = cut.subgradient
            proven = float(slope @ cut.point) - self._domain.minimize_linear(slope)[0]
            self._gaps.append(min(proven, self._gaps[-1]) if self._gaps else proven)
            if sum(one > EACH for one in self._balances) > PAIRS // 2:
                self._due = self._home, "kinks were met"
            elif len(self._gaps) > PATIENCE and not self._gaps[-1] <= ENOUGH * self._gaps[0]:
                self._due = [*self._after, self._home][0], "the gap fell too slowly"
        elif isinstance(self._home, ProximalBundle) and cut.error > 0 and cut.error > COARSE * self._gap():
            level = next((one for one in self._after if isinstance(one, LevelSet)), None)
            if level is not None:
                self._due = level, "errors of the answers are no longer small"
        elif self._smooth and self._n <= SOON and self._is_smooth():
            self._due = self._smooth[0], "the function looks smooth"

    def _find_next(self, reason: str) -> bool:
        """Whether another generator can go on where the present one has ended with a gap that is worth it."""
        if self._now is not self._home:
            self._due = self._home, reason
        elif self._after and self._best is not None:
            worth = 2.0 * max(
                self._best.error, cut_rounding(self._best.point, self._best.value, self._best.subgradient)[0]
            )
            self._due = (self._after[0], reason) if self._gap() > worth else None
        return self._due is not None

    def _go_on(self) -> None:
        """Let the generator that is due go on from the best point, with all answers."""
        assert self._due is not None
        assert self._best is not None
        (generator, reason), self._due, self._ended = self._due, None, ""
        self._changes.append(f"After {self._n} answers {type(generator).__name__}() went on: {reason}.")
        self._asked, self._now, best = None, generator, self._best
        self._smooth = [one for one in self._smooth if one is generator]  # it goes on once
        if not self._smooth:
            self._home = generator
            self._after = [one for one in self._after if one is not generator]
        if generator not in self._used:
            self._used.append(generator)
        generator.know(self.oracle.known)
        generator.reset(self._domain, best.point.copy())
        if isinstance(generator, SequentialGenerator):
            generator.ask()
        known = list(self._answers)
        if generator in self._smooth:
            known.sort(key=lambda cut: -float(np.linalg.norm(cut.point - best.point)))
        for cut in known:
            if cut is not best or self._smooth:
                generator.learn(cut)
        generator.tell(best)

    def _gap(self) -> float:
        """What the present generator has proven."""
        proven = self._now.minorant()
        return inf if proven is None or self._best is None else self._best.upper - proven.minimum(self._domain)

    def _is_smooth(self) -> bool:
        """Whether the last pairs are in balance: a few nearly exactly, or more of them nearly."""
        last = list(self._balances)
        if len(last) >= FEW and max(last[-FEW:]) <= EXACT:
            return True
        return len(last) == PAIRS and max(last) <= EACH and sum(last) <= MEAN * PAIRS

    def _balance(self, cut: ObjectiveCut) -> float:
        """How far the two linearization errors at the nearest of the last points are from equal; inf at rounding."""
        near, nearest = inf, None
        for k in range(1, min(NEAR, len(self._answers)) + 1):
            other = self._answers[-k]
            if isinstance(other, ObjectiveCut):
                away = cut.point - other.point
                square = float(away @ away)
                if 0.0 < square < near:
                    near, nearest = square, other
        if nearest is None:
            return inf
        away = cut.point - nearest.point
        both = float((cut.subgradient - nearest.subgradient) @ away)
        one = cut.value - nearest.value - float(nearest.subgradient @ away)
        rounding = ROUNDING * (abs(cut.value) + abs(nearest.value))
        return min(abs(2.0 * one - both) / both, 1.0) if both > rounding else inf

    def minorant(self) -> Minorant | None:
        """That of the present generator."""
        return self._now.minorant()

    def weight(self) -> float:
        """That of the present generator."""
        return self._now.weight()

    def inner_steps(self) -> int:
        """Of all generators together."""
        return sum(one.inner_steps() for one in self._used)

    def finish(self) -> None:
        """Let go of what all generators hold."""
        for one in self._used:
            one.finish()
