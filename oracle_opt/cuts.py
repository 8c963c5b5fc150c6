"""What passes between a generator and an oracle: a query and its answer, a cut."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, nextafter
from operator import is_
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
from oracle_opt.arrays import Vector, every
from oracle_opt.words import one_line

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, eq=False)
class Query:
    """A query point plus wishes the oracle may ignore; a subclass may tell an oracle more.

    Parameters
    ----------
    point : ndarray of shape (n,)
        Where the oracle is asked.
    accuracy : float, optional
        Relative error wanted in the value; `None` asks for the oracle's own best.
    wishes : frozenset of kinds of Answer
        What is wanted besides value and subgradient: classes such as `Curvature`. Those that the oracle does not have
        in its `gives` are left out of its answer.
    """

    __repr__ = one_line

    point: Vector
    accuracy: float | None = None
    wishes: frozenset[type[Answer]] = frozenset()

    def copy(self) -> Query:
        """Return the same query with a point of its own."""
        if type(self) is Query:  # as `replace` does, in half the time
            return Query(self.point.copy(), self.accuracy, self.wishes)
        return replace(self, point=self.point.copy())

    def repeats(self, previous: Query) -> bool:
        """Whether this asks what `previous` asked: the kind of query, the point and all wishes are the same."""
        wishes = (self.accuracy, self.wishes) == (previous.accuracy, previous.wishes)
        return type(self) is type(previous) and wishes and every(self.point == previous.point)


@dataclass(frozen=True, eq=False, kw_only=True)
class PartialQuery(Query):
    """A point with few nonzero coordinates of a domain in ``z >= 0``, and on which coordinates slopes have to be exact.

    Where a slope on another coordinate takes work, an oracle may answer any number below it: as the variables are not
    negative, the cut stays valid. It then says so by the answer `ExactSlopes`. Second derivatives are wanted on the
    coordinates alone. Other oracles take it as a query like others.

    Attributes
    ----------
    coordinates : ndarray of int, shape (k,)
        In increasing order; all nonzero coordinates of the point are among them.
    """

    coordinates: NDArray[np.intp]

    def repeats(self, previous: Query) -> bool:
        """Slopes on other coordinates are another question, at the same point, too."""
        return (
            super().repeats(previous)
            and isinstance(previous, PartialQuery)
            and np.array_equal(self.coordinates, previous.coordinates)
        )


@dataclass(frozen=True, eq=False)
class ObjectiveCut:
    """Value and subgradient at a point of the domain.

    Every z of the domain has ``f(z) >= value + subgradient @ (z - point)``.

    Parameters
    ----------
    point : ndarray of shape (n,)
        The query point answered.
    value : float
        A lower estimate of f(point), exact when `error` is 0. +inf says "not here": the run goes on nearer to the best
        point.
    subgradient : ndarray of shape (n,)
        Slope of the minorant.
    error : float
        f(point) lies in [value, value + error]. The minorant stays valid whatever the error.
    lower_bound : float
        A bound on the minimum of f that the oracle proves by itself.
    summands : tuple of ObjectiveCut
        Cuts of the summands of f, which add up to this one (multicut): as many, in the same order, in every answer.
    further : tuple of ObjectiveCut
        More cuts of f that the same call found at the same point, for example one for each eigenvector; each is valid
        by itself.
    answers : tuple of Answer
        What else the oracle tells of f at the point, for example its `Curvature`; at most one answer of each kind.
    extras : mapping
        What the user wants back at the best point: names to arrays or numbers.
    """

    __repr__ = one_line

    point: Vector
    value: float
    subgradient: Vector
    error: float = 0.0
    lower_bound: float = -np.inf
    summands: tuple[ObjectiveCut, ...] = ()
    further: tuple[ObjectiveCut, ...] = ()
    answers: tuple[Answer, ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def constant(self) -> float:
        """Value of the minorant at the origin: ``value - subgradient @ point``."""
        return self.value - float(self.subgradient.dot(self.point))

    def answer(self, kind: type[A]) -> A | None:
        """Return the answer whose class is `kind`; `None` if this cut carries none."""
        for one in self.answers:
            if type(one) is kind:
                return one
        return None

    @cached_property
    def upper(self) -> float:
        """Proven upper estimate of f(point): value + error, rounded up."""
        if not self.error:
            return self.value
        total = self.value + self.error
        if total == inf:
            return inf
        # what rounding took off the sum, exactly (Knuth's two-sum)
        shadow = total - self.value
        lost = (self.value - (total - shadow)) + (self.error - shadow)
        return nextafter(total, inf) if lost > 0 else total


@dataclass(frozen=True, eq=False)
class FeasibilityCut:
    """A half-space that holds every feasible point and not the query point.

    Every feasible z has ``violation + normal @ (z - point) <= 0``.

    Parameters
    ----------
    point : ndarray of shape (n,)
        The query point answered, infeasible.
    violation : float
        By how much the constraint is violated at the point, > 0.
    normal : ndarray of shape (n,)
        Normal of the half-space, not zero.
    further : tuple of FeasibilityCut
        More feasibility cuts that the same call found at the same point, each valid by itself.
    extras : mapping
        Names to arrays or numbers.
    error : float
        By how much points that the oracle calls feasible, within its tolerance, may violate the half-space.

    Attributes
    ----------
    words, optional
        As those of a kind of `Answer`: the class stands in `Oracle.gives` and `QueryPointGenerator.takes`, too, and a
        generator that does not take feasibility cuts cannot serve an oracle that gives them.
    """

    __repr__ = one_line
    words: ClassVar[str] = "feasibility cuts"
    optional: ClassVar[bool] = False

    point: Vector
    violation: float
    normal: Vector
    further: tuple[FeasibilityCut, ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)
    error: float = 0.0

    @property
    def constant(self) -> float:
        """What the half-space says of the origin: ``violation - normal @ point``."""
        return self.violation - float(self.normal.dot(self.point))


Cut = ObjectiveCut | FeasibilityCut
Kind = type[Answer] | type[FeasibilityCut]
C = TypeVar("C", bound=ObjectiveCut | FeasibilityCut)


def is_infinite(cut: Cut) -> bool:
    """Whether an oracle says that f is +inf at the point: then this is no cut, and its subgradient means nothing."""
    return isinstance(cut, ObjectiveCut) and cut.value == inf


def owned(cut: Cut) -> Cut:
    """Return the same cut with arrays of its own, which nobody else can change; its extras are not copied."""
    further: Any = tuple(owned(one) for one in cut.further)
    if isinstance(cut, FeasibilityCut):
        return replace(cut, point=np.array(cut.point), normal=np.array(cut.normal), further=further)
    summands: Any = tuple(owned(one) for one in cut.summands)
    answers = tuple(one.owned() for one in cut.answers)
    point, subgradient = np.array(cut.point), np.array(cut.subgradient)
    return replace(cut, point=point, subgradient=subgradient, summands=summands, further=further, answers=answers)


def bearing(cut: C, names: Collection[str]) -> C:
    """Return the same cut without other extras than these: who keeps many cuts keeps what proves them and no more."""
    several: Any = (cut.summands if isinstance(cut, ObjectiveCut) else ()) or ()
    if not (cut.extras or cut.further or several):
        return cut
    further: Any = tuple(bearing(one, names) for one in cut.further)
    summands: Any = tuple(bearing(one, names) for one in several)
    extras = cut.extras  # as they are, if all are kept: a mapping may make its arrays when they are asked for
    if all(name in names for name in extras):
        if all(map(is_, (*further, *summands), (*cut.further, *several))):
            return cut
    else:
        extras = {name: value for name, value in extras.items() if name in names}
    if isinstance(cut, FeasibilityCut):
        return replace(cut, further=further, extras=extras)
    return replace(cut, summands=summands, further=further, extras=extras)
