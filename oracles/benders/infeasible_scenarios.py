"""Scenarios that no first-stage decision serves: rays of their duals that prove it."""

from fractions import Fraction

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import FeasibilityCut
from oracle_opt.errors import EmptyLocalizationSet, OracleOptError, Refuted
from oracle_opt.oracles.benders.dual_bound import check_signs
from oracle_opt.oracles.benders.scenario_data import ScenarioData
from oracle_opt.oracles.benders.scenario_duals import RAY, RAY_OF
from oracle_opt.oracles.benders.scenario_proof import Subject, proven
from oracle_opt.oracles.benders.scenario_sums import Frame, accepted
from oracle_opt.proof.rationals import Fractions

FLAT = 1e-6  # of its depth: a half-space whose depth varies by less over the bounds of x hardly depends on it


def depends_on_x(cut: FeasibilityCut, data: ScenarioData, frame: Frame, where: str) -> bool:
    """Whether the half-space depends on x; where it excludes every x instead, `EmptyLocalizationSet` is raised."""
    member = int(cut.extras[RAY_OF])
    if float(np.abs(cut.normal) @ (frame.upper - frame.lower)) > FLAT * cut.violation:
        return True
    name, ray = data.name(member), np.asarray(cut.extras[RAY])
    which = unserved(data, (frame.lower, frame.upper), ray, member)
    if data.ambiguous and not cut.normal.any() and cut.error <= accepted(ray / frame.units.rows):
        which = "whatever x is"  # an entry that varies twice has no fractions, but floats prove it
    if which:
        raise EmptyLocalizationSet(f"{name} has no second stage {which}: a ray of its dual proves it")
    if not cut.normal.any():
        row = data.problem.row_names[int(np.abs(ray).argmax())]
        raise OracleOptError(
            f"HiGHS calls {name}{where} infeasible, whatever x is, and no ray proves it; look at row {row!r}"
        )
    return True


def unserved(data: ScenarioData, bounds: tuple[Vector, Vector], ray: Vector, member: int) -> str:
    """For which x a ray proves, in fractions, that a scenario has no second stage: words for all x, or none at all.

    It proves ``0 >= constant + slope @ x`` for the others: for none where the least over the finite bounds is positive.
    """
    if data.ambiguous:
        return ""
    one = np.zeros(1, dtype=np.intp)
    subject = Subject(np.array([member]), np.ones(1), ray[None], one, Fraction(0), False)
    try:
        check_signs(subject.vertices, data.problem.row_lower, data.problem.row_upper)
        found = proven(data, subject, Fractions)
    except Refuted:
        return ""
    if found is None:
        return ""
    least, slope = (one.x for one in found)
    for rate, low, high in zip(slope, *(side.tolist() for side in bounds), strict=True):
        if rate:
            least += rate * Fraction(low if rate > 0 else high)
    if least <= 0:
        return ""
    return "at any x within the bounds" if slope.any() else "whatever x is"
