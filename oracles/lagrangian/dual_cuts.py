"""Cuts of a Lagrangian dual function, made of relaxed solutions, and cuts kept without these."""

from dataclasses import replace
from typing import Any

import numpy as np

from oracle_opt.arguments import floats, real
from oracle_opt.arrays import EPS, Vector
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument, InvalidCut
from oracle_opt.history import Record
from oracle_opt.oracles.lagrangian.relaxed_solution import RelaxedSolution


class DualCuts:
    """The minorant ``-sign c(x) + u @ (rhs - a(x))`` of a relaxed solution x, with its value at u and all rounding."""

    def __init__(self, domain: Domain, rhs: Vector, sign: float, keeps: bool) -> None:
        self._domain, self._rhs, self._sign, self._keeps = domain, rhs, sign, keeps

    def cut(
        self,
        u: Vector,
        cost: float,
        activity: Vector,
        rhs: Vector,
        missed: float,
        costs: float,
        count: int = 1,
        off: float | Vector = 0.0,
    ) -> tuple[float, Vector, float]:
        """Value, slope and error of ``-sign cost + u @ (rhs - activity)``, all rounding off the value and in the error.

        `missed` is what the solution may fall short of the optimum, `costs` the sizes of the `count` costs added, `off`
        what the activity may be wrong by.
        """
        slope = rhs - activity
        # what rounding took off the difference, exactly (Knuth's two-sum)
        shadow = slope - rhs
        lost: Vector = np.abs((rhs - (slope - shadow)) - (activity + shadow)) + off
        lift = self._domain.extent(lost) + float(lost @ np.abs(u)) if lost.any() else 0.0
        size = costs + float(np.abs(u) @ (np.abs(rhs) + np.abs(activity)))
        rounding = EPS * (len(u) + count + 3) * size
        value = -self._sign * cost + float(u @ slope)
        least = value - (rounding + lift) * (1.0 + 4.0 * EPS)
        return least, slope, (missed + 2.0 * rounding + 2.0 * lift) * (1.0 + 8.0 * EPS) + 2.0 * EPS * abs(least)

    def summand(self, u: Vector, one: Any, k: int, count: int) -> tuple[ObjectiveCut, float]:
        """Cut of one summand, ``-sign c_k - u @ a_k`` plus its share of ``u @ rhs``; what its solution may miss."""
        if not isinstance(one, RelaxedSolution):
            raise InvalidCut(f"`solve` must return a RelaxedSolution or a sequence of them, got {one!r}")
        try:
            cost, activity = real("cost", one.cost, infinite=True), floats("activity", one.activity)
        except InvalidArgument as problem:
            raise InvalidCut(f"summand {k} of the relaxed solution: {problem}") from problem
        if activity.shape != self._rhs.shape:
            raise InvalidCut(f"`activity` of summand {k} must have the shape of `rhs`, {u.shape}, got {activity.shape}")
        if not (np.isfinite(cost) and np.isfinite(activity).all()):
            raise InvalidCut(f"`cost` and `activity` of summand {k} must be finite, got {cost} and {activity}")
        pull = float(u @ activity)
        relaxed = cost + self._sign * pull
        error = 0.0
        if one.bound is not None:
            error = self._sign * (relaxed - float(one.bound))
            if not error >= -_rounding(cost, pull):
                raise InvalidCut(
                    f"`bound` of summand {k} must be at {'least' if self._sign < 0 else 'most'} the value of its "
                    f"solution, c(x) {'-' if self._sign < 0 else '+'} u @ a(x) = {relaxed}, got {one.bound}"
                )
        extras: dict[str, Any] = {"cost": cost, "activity": activity}
        if one.solution is not None:
            extras["solution"] = np.array(one.solution, dtype=float)
        if one.compact is not None:
            extras["compact"] = np.array(one.compact)
        elif self._keeps and one.solution is not None:
            extras["compact"] = extras["solution"]
        missed = max(error, 0.0) + EPS * (2 * len(u) + 4) * (abs(cost) + float(np.abs(u) @ abs(activity)))
        share = self._rhs / count
        # the shares add up to the right-hand sides, but for rounding
        off = EPS * np.abs(share) if count & (count - 1) else 0.0
        value, slope, error = self.cut(u, cost, activity, share, missed, abs(cost), off=off)
        return ObjectiveCut(u, value, slope, error, extras=extras), missed


def _rounding(*terms: float) -> float:
    return 1e-12 * max(1.0, *(abs(term) for term in terms))


class LightCuts:
    """A callback of `minimize` that keeps the cuts of a Lagrangian oracle without their relaxed solutions.

    ``keep_cuts=True`` keeps all that an answer held: for location of n customers at m places m * n numbers a call. This
    keeps three numbers a multiplier and the `compact` form of the solution, which proves the cut. `recover` of the
    shipped relaxations solves the few relaxed problems again whose solutions have a weight.

    Attributes
    ----------
    cuts : list of ObjectiveCut
        Those seen so far.

    Examples
    --------
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import LevelSet
    >>> from oracle_opt.oracles import FacilityLocationOracle, LightCuts
    >>> oracle, light = FacilityLocationOracle([2, 2], [[1, 1, 5], [5, 2, 1]]), LightCuts()
    >>> result = minimize(oracle, LevelSet(), callback=light)
    >>> primal = oracle.recover(light.cuts)
    >>> round(primal.cost, 4), primal.arrays["open"].round(4).tolist()
    (7.0, [1.0, 1.0])
    """

    def __init__(self) -> None:
        self.cuts: list[ObjectiveCut] = []

    def __call__(self, record: Record) -> None:
        """Keep the cut of a call."""
        if not isinstance(record.cut, FeasibilityCut):
            self.cuts.append(_without_solution(record.cut))

    def __repr__(self) -> str:
        """How many it holds."""
        return f"LightCuts({len(self.cuts)} cuts)"


def _without_solution(cut: ObjectiveCut) -> ObjectiveCut:
    solution = cut.extras.get("solution")
    extras = {name: value for name, value in cut.extras.items() if solution is None or value is not solution}
    return replace(cut, extras=extras, summands=tuple(_without_solution(one) for one in cut.summands))
