"""Call a conic problem optimal, infeasible or unbounded, each with its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from oracle_opt.cuts import Vector
from oracle_opt.driver import minimize
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import Kelley
from oracle_opt.oracles import ConicOracle, Infeasibility
from oracle_opt.result import Result, Status


class Outcome(Enum):
    """What became of a conic problem; the value is the sentence to print."""

    OPTIMAL = "A point within the tolerance of the proven bound was found, well inside the radius."
    INFEASIBLE = "No point is feasible: a vector of the dual cone proves it far beyond the radius."
    UNBOUNDED = "The objective falls without end: a feasible point and a direction of recession were found."
    UNDECIDED = "Neither was proven within the limits."


@dataclass(frozen=True, eq=False)
class Verdict:
    """An outcome and what proves it.

    Attributes
    ----------
    outcome : Outcome
    result : Result
        Of the last run.
    radius : float
        Of that run.
    infeasibility : Infeasibility or None
        The proof, where infeasible.
    direction : ndarray or None
        Of recession, where unbounded: ``A @ d`` in K up to the oracle's tolerance, ``c @ d < 0``.
    """

    outcome: Outcome
    result: Result
    radius: float
    infeasibility: Infeasibility | None = None
    direction: Vector | None = None


def settle(
    oracle: ConicOracle,
    generator: QueryPointGenerator,
    *,
    radii: Sequence[float] = (1e4, 1e6, 1e8),
    rtol: float = 1e-6,
    max_calls: int = 1000,
    max_seconds: float | None = None,
) -> Verdict:
    """Minimise within growing radii until one of the outcomes is proven.

    A minimiser well inside a ball is one without it: for a point z at distance D from the best point x, with the ball's
    surface at distance R from x, convexity gives ``f(z) >= upper - gap * D / R``. An empty localization set is turned
    into one vector of the dual cone, whose reach (`Infeasibility.reach`) must exceed the radius a thousandfold. Where
    the minimiser lies at the surface, `Kelley` searches the directions of recession. A run that ends at a
    limit leaves the problem undecided.

    Parameters
    ----------
    oracle : ConicOracle
        On `FreeSpace`; its radius is replaced.
    generator : QueryPointGenerator
        That takes feasibility cuts.
    radii : sequence of float
        Growing.
    rtol : float
        Relative gap, also of the decrease along a direction of recession.
    max_calls, max_seconds
        Limits of each run.

    Raises
    ------
    InvalidArgument
        The oracle is not on `FreeSpace`.

    Examples
    --------
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import ConicOracle, Nonnegative
    >>> from oracle_opt.study import settle
    >>> settle(ConicOracle([1.0], [[1.0], [-1.0]], [-2.0, 1.0], [Nonnegative(2)]), Kelley()).outcome.name
    'INFEASIBLE'
    >>> settle(ConicOracle([-1.0], [[1.0]], [0.0], [Nonnegative(1)]), Kelley()).outcome.name
    'UNBOUNDED'
    """
    if oracle.free is None:
        raise InvalidArgument(f"`oracle` must be on FreeSpace, whose radius is to grow, got {oracle.domain!r}")
    for radius in radii:
        trial = oracle.within(radius)
        result = minimize(trial, generator, rtol=rtol, max_calls=max_calls, max_seconds=max_seconds, keep_cuts=True)
        if result.status is Status.EMPTY and result.point is None:
            if not result.n_calls:  # the oracle itself told so at its first query
                return Verdict(Outcome.INFEASIBLE, result, radius)
            proof = trial.infeasibility(result.history.cuts)
            if proof.in_dual_cone and proof.reach >= 1e3 * radius:
                return Verdict(Outcome.INFEASIBLE, result, radius, infeasibility=proof)
            continue
        if result.point is None:
            break
        inside = float(np.abs(result.point - oracle.free.center).max()) < 0.5 * radius
        if result.success and inside:
            return Verdict(Outcome.OPTIMAL, result, radius)
        if inside and result.status is not Status.CONTRADICTION:  # which a minimiser beyond the radius brings about
            break
        if not inside:
            away = minimize(
                trial.recession(), Kelley(), rtol=rtol, atol=1e-9, max_calls=max_calls, max_seconds=max_seconds
            )
            if away.point is not None and float(trial.c @ away.point) < -1e-6 * float(np.abs(trial.c).max()):
                return Verdict(Outcome.UNBOUNDED, result, radius, direction=away.point)
    return Verdict(Outcome.UNDECIDED, result, radius)
