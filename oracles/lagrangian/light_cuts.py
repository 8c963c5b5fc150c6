"""The cuts of a run without the relaxed solutions that came with them."""

from __future__ import annotations

from dataclasses import replace

from oracle_opt.cuts import FeasibilityCut, ObjectiveCut
from oracle_opt.history import Record


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
