"""What passes between a generator and an oracle: a query and its answer, a cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, nextafter
from typing import Any

import numpy as np

from oracle_opt.answers.eigenpairs import SpectralPart
from oracle_opt.arrays import Vector
from oracle_opt.words import one_line


@dataclass(frozen=True, eq=False)
class Query:
    """A query point plus wishes the oracle may ignore; a subclass may tell an oracle more.

    Parameters
    ----------
    point : ndarray of shape (n,)
        Where the oracle is asked.
    accuracy : float, optional
        Relative error wanted in the value; `None` asks for the oracle's own best.
    curvature : bool
        Whether second-order information is wanted.
    """

    __repr__ = one_line

    point: Vector
    accuracy: float | None = None
    curvature: bool = False

    def repeats(self, previous: Query) -> bool:
        """Whether this asks what was asked before: the point and all wishes are the same."""
        wishes = (self.accuracy, self.curvature) == (previous.accuracy, previous.curvature)
        return wishes and bool((self.point == previous.point).all())


@dataclass(frozen=True, eq=False)
class ObjectiveCut:
    """Value and subgradient at a point of the domain.

    Every z of the domain has ``f(z) >= value + subgradient @ (z - point)``.

    Parameters
    ----------
    point : ndarray of shape (n,)
        The query point answered.
    value : float
        A lower estimate of f(point), exact when `error` is 0.
    subgradient : ndarray of shape (n,)
        Slope of the minorant.
    error : float
        f(point) lies in [value, value + error]. The minorant stays valid whatever the error.
    lower_bound : float
        A bound on the minimum of f that the oracle proves by itself.
    summands : tuple of ObjectiveCut
        Cuts of the summands of f, which add up to this one (multicut): as many, in the same order, in every answer.
    further : tuple of ObjectiveCut
        More minorants of f that the same call found at the same point, each valid by itself; say one an eigenvector.
    spectral : SpectralPart, optional
        Second-order information of a largest eigenvalue: eigenpairs and the matrix function they belong to.
    curvature : ndarray of shape (r, n), optional
        A factor R with Hessian ``R.T @ R`` at the point.
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
    curvature: Vector | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    further: tuple[ObjectiveCut, ...] = ()
    spectral: SpectralPart | None = field(default=None, repr=False)

    @property
    def upper(self) -> float:
        """Proven upper estimate of f(point): value + error, rounded up."""
        if not self.error:
            return self.value
        total = self.value + self.error
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
        More half-spaces of this kind that the same call found at the same point, each valid by itself.
    extras : mapping
        Names to arrays or numbers.
    error : float
        By how much points that the oracle calls feasible, within its tolerance, may violate the half-space.
    """

    __repr__ = one_line

    point: Vector
    violation: float
    normal: Vector
    further: tuple[FeasibilityCut, ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)
    error: float = 0.0


Cut = ObjectiveCut | FeasibilityCut


def owned(cut: Cut) -> Cut:
    """Return the same cut with arrays of its own, which nobody else can change; its extras are not copied."""
    further: Any = tuple(owned(one) for one in cut.further)
    if isinstance(cut, FeasibilityCut):
        return replace(cut, point=np.array(cut.point), normal=np.array(cut.normal), further=further)
    summands: Any = tuple(owned(one) for one in cut.summands)
    curvature = None if cut.curvature is None else np.array(cut.curvature)
    point, subgradient = np.array(cut.point), np.array(cut.subgradient)
    return replace(cut, point=point, subgradient=subgradient, summands=summands, further=further, curvature=curvature)


@dataclass(frozen=True, eq=False)
class Minorant:
    """The affine function ``constant + slope @ z - error``, proven to lie below f on the feasible set.

    Parameters
    ----------
    constant : float
    slope : ndarray of shape (n,)
    error : float
        How far ``constant + slope @ z`` may exceed f on the domain because its numbers are rounded.
    tolerance : float
        How far it may exceed f, besides, at points that an oracle calls feasible within its tolerance: feasibility
        cuts times their errors.
    """

    __repr__ = one_line

    constant: float
    slope: Vector
    error: float = 0.0
    tolerance: float = 0.0
