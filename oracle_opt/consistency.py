"""Whether the answers of an oracle can all be those of one convex problem: each is held against a few others."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut

Support = NDArray[np.intp] | slice

MANY = 10_000  # variables from which on points with few nonzero entries are multiplied entry by entry
REMEMBERED = 8  # objective cuts, the best one among them, and as many feasibility cuts
OBJECTIVE = 1e-7  # share of the largest term that rounding and honest tolerances may come to
FEASIBILITY = 1e-6
NOTHING = 1e-16  # a probe accuses nobody of less: slopes of a constant may be rounding alone


ALL = slice(None)


class AnswerMemory:
    """The best and the last answers, and what they say of a new one, see docs/theory.md, "Answers that contradict".

    With many variables those count alone that are not 0 at a point.
    """

    def __init__(self, dimension: int) -> None:
        # empty places claim -inf and state an error of inf, so that they contradict nothing
        self._points, self._slopes, self._normals = np.zeros((3, REMEMBERED, dimension))
        none = np.zeros(0, dtype=np.intp)
        self._steepest = np.zeros(dimension)  # of all objective cuts
        self._supports: list[Support] = [none if dimension >= MANY else slice(None)] * REMEMBERED
        self._uppers = np.full(REMEMBERED, np.inf)
        self._values = np.full(REMEMBERED, -np.inf)
        self._constants, self._depths = np.full((2, REMEMBERED), -np.inf)
        self._answers = [0] * REMEMBERED  # the number of each objective cut's answer
        self._excluders = [0] * REMEMBERED  # the number of each feasibility cut's answer
        self._best = self._next = self._next_excluding = 0

    def conflict(self, cut: Cut, number: int) -> str:
        """Say which earlier answer a new one contradicts, and remember it; no words if none."""
        return self._of_objective(cut, number) if isinstance(cut, ObjectiveCut) else self._of_excluder(cut, number)

    def _of_objective(self, cut: ObjectiveCut, number: int) -> str:
        z, upper, constant = cut.point, cut.upper, cut.constant
        words = self._excluded(z, number) if self._excluders[0] else ""
        used, support = (self._used(), _support(z)) if z.size >= MANY else (ALL, ALL)
        points = self._points[:, used]
        claims = points.dot(cut.subgradient[used]) + (constant - self._uppers)
        if claims[claims.argmax()] > OBJECTIVE:
            words = words or self._exceeded(claims, cut, number)
        for one in cut.further:
            claims = points.dot(one.subgradient[used]) + (one.constant - self._uppers)
            words = words or self._exceeded(claims, one, number)
        claims = self._slopes[:, support].dot(z[support]) + (self._constants - upper)
        if claims[claims.argmax()] > OBJECTIVE:
            words = words or self._exceeding(claims, cut, number)
        i = self._next
        if upper <= self._uppers[self._best]:
            self._best = i
        self._points[i, self._supports[i]] = 0.0
        self._points[i, support], self._slopes[i], self._supports[i] = z[support], cut.subgradient, support
        self._uppers[i], self._constants[i], self._answers[i] = upper, constant, number
        self._values[i] = cut.value
        np.maximum(self._steepest, np.abs(cut.subgradient), out=self._steepest)
        self._next = (i + 1) % REMEMBERED
        if self._next == self._best:  # the best one stays; otherwise the oldest is replaced
            self._next = (self._next + 1) % REMEMBERED
        return words

    def _used(self) -> Support:
        """The variables that are not 0 at some point remembered."""
        some = [support for support in self._supports if not isinstance(support, slice)]
        return np.unique(np.concatenate(some)) if len(some) == REMEMBERED else slice(None)

    def _of_excluder(self, cut: FeasibilityCut, number: int) -> str:
        words, known = "", np.flatnonzero(self._uppers < np.inf)
        normals = np.array([one.normal for one in (cut, *cut.further)])
        depths = np.array([one.violation - one.error for one in (cut, *cut.further)]) - normals @ cut.point
        claims = normals @ self._points[known].T + depths[:, None]
        for k, j in np.argwhere(claims > FEASIBILITY):
            if _beyond(float(claims[k, j]), normals[k], float(depths[k]), self._points[known[j]]):
                words = _excluded_words(number, self._answers[known[j]], float(claims[k, j]))
                break
        i = self._next_excluding
        self._normals[i], self._excluders[i] = cut.normal, number
        self._depths[i] = depths[0]
        self._next_excluding = (i + 1) % REMEMBERED
        return words

    def _excluded(self, z: Vector, number: int) -> str:
        """Whether a feasibility cut excludes the point of a new objective cut."""
        claims = self._normals.dot(z) + self._depths
        for i in np.flatnonzero(claims > FEASIBILITY):
            if _beyond(float(claims[i]), self._normals[i], float(self._depths[i]), z):
                return _excluded_words(self._excluders[i], number, float(claims[i]))
        return ""

    def _exceeded(self, claims: Vector, cut: ObjectiveCut, number: int) -> str:
        """Whether a new objective cut exceeds what was stated, by claims that are large in themselves."""
        for j in np.flatnonzero(claims > OBJECTIVE):
            away, stated = self._points[j] - cut.point, float(self._uppers[j])
            terms = float(np.abs(cut.subgradient) @ np.abs(away))
            # computed again, as the constant of the claim may be rounding
            excess = cut.value - stated + float(cut.subgradient @ away)
            allowed = OBJECTIVE * max(abs(cut.value), abs(stated), terms) + self._noise(j, cut)
            if min(excess, float(claims[j])) > allowed:
                return _exceeded_words(number, self._answers[j], excess, stated)
        return ""

    def _exceeding(self, claims: Vector, cut: ObjectiveCut, number: int) -> str:
        """Whether an earlier objective cut exceeds what is stated now."""
        z, upper = cut.point, float(cut.upper)
        for i in np.flatnonzero(claims > OBJECTIVE):
            away, value = z - self._points[i], float(self._values[i])
            terms = float(np.abs(self._slopes[i]) @ np.abs(away))
            excess = value - upper + float(self._slopes[i] @ away)
            allowed = OBJECTIVE * max(abs(value), abs(upper), terms) + self._noise(i, cut)
            if min(excess, float(claims[i])) > allowed:
                return _exceeded_words(self._answers[i], number, excess, upper)
        return ""

    def _noise(self, i: np.intp, cut: ObjectiveCut) -> float:
        """The largest rounding error of two objective cuts' values, of terms that are large where slopes cancel."""
        steepest = np.maximum(self._steepest, np.abs(cut.subgradient))
        return _noise(
            abs(float(self._values[i])) + abs(cut.value), steepest, np.abs(self._points[i]) + np.abs(cut.point)
        )


def suspects(cuts: Sequence[Cut], first: int) -> list[tuple[int, int]]:
    """The pairs i < j, j at least `first`, that may contradict each other: by half of what `contradiction` allows."""
    points = np.array([cut.point for cut in cuts])
    uppers = np.array([cut.value + cut.error if isinstance(cut, ObjectiveCut) else np.inf for cut in cuts])
    claims = [
        (i, half.value, half.subgradient, True)
        if isinstance(half, ObjectiveCut)
        else (i, half.violation - half.error, half.normal, False)
        for i, cut in enumerate(cuts)
        for half in (cut, *cut.further)
    ]
    owners, values, slopes, objective = (np.array(column) for column in zip(*claims, strict=True))
    constants = values - (slopes * points[owners]).sum(axis=1)
    stated = np.where(objective[:, None] | np.isinf(uppers), uppers, 0.0)
    share = OBJECTIVE * np.maximum(np.abs(values)[:, None], np.abs(uppers))
    allowed = 0.5 * np.where(objective[:, None], share, FEASIBILITY)
    beyond = np.argwhere(~(constants[:, None] + slopes @ points.T - stated <= allowed))
    pairs = {(min(i, j), max(i, j)) for i, j in zip(owners[beyond[:, 0]].tolist(), beyond[:, 1].tolist(), strict=True)}
    return sorted((i, j) for i, j in pairs if i < j and j >= first)


def contradiction(one: Cut, other: Cut, first: int, second: int) -> str:
    """Say how two answers, of these numbers, contradict each other; no words if they do not."""
    if isinstance(one, ObjectiveCut) and isinstance(other, ObjectiveCut):
        return _too_high(one, other, first, second) or _too_high(other, one, second, first)
    if isinstance(one, ObjectiveCut):
        one, other, first, second = other, one, second, first
    if isinstance(one, FeasibilityCut) and isinstance(other, ObjectiveCut):
        for half in (one, *one.further):
            depth = half.violation - half.error - float(half.normal @ half.point)
            excess = depth + float(half.normal @ other.point)
            if _beyond(excess, half.normal, depth, other.point):
                return _excluded_words(first, second, excess)
    return ""


def _too_high(claiming: ObjectiveCut, stated: ObjectiveCut, first: int, second: int) -> str:
    """Whether a cut exceeds what is stated at the point of another."""
    for cut in (claiming, *claiming.further):
        away = stated.point - cut.point
        excess = cut.value - stated.upper + float(cut.subgradient @ away)
        terms = float(np.abs(cut.subgradient) @ np.abs(away))
        noise = sum(_noise(one.value, one.subgradient, one.point) for one in (cut, stated))
        if excess > OBJECTIVE * max(abs(cut.value), abs(stated.upper), terms) + noise + NOTHING:
            return _exceeded_words(first, second, excess, stated.upper)
    return ""


def _noise(value: float, slope: Vector, point: Vector) -> float:
    """The largest rounding error of a value, a sum of terms as large as the terms of its cut at its point."""
    size = abs(value) + float(np.abs(slope) @ np.abs(point))
    return 4.0 * EPS * (len(point) + 4) * size


def _support(z: Vector) -> Support:
    """The variables that are not 0, if these are few; else all."""
    support = np.flatnonzero(z)
    return support if 8 * support.size <= z.size else slice(None)


def _beyond(excess: float, normal: Vector, depth: float, point: Vector) -> bool:
    """Whether a half-space excludes a point by more than tolerances, in its own unit and in that of the distance."""
    terms = float(np.abs(normal) @ np.abs(point))
    return excess > FEASIBILITY * max(1.0, abs(depth), terms, float(np.linalg.norm(normal)))


def _exceeded_words(claims: int, stated: int, excess: float, upper: float) -> str:
    return (
        f"By the cut of answer {claims} the function is at least {excess + upper:.10g} at the point of answer "
        f"{stated}, where it was said to be at most {upper:.10g}."
    )


def _excluded_words(claims: int, stated: int, excess: float) -> str:
    return (
        f"By the feasibility cut of answer {claims} the point of answer {stated} is infeasible, by {excess:.3g} in the "
        "cut's unit, where a value was given."
    )
