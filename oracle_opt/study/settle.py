"""Call a conic problem optimal, infeasible or unbounded, each with its proof."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from oracle_opt.arguments import instance, instances, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.driver import minimize
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import Kelley
from oracle_opt.oracles import ConicOracle, Infeasibility
from oracle_opt.result import Result, Status
from oracle_opt.words import one_line


class Outcome(Enum):
    """What became of a conic problem; the value is the sentence to print."""

    OPTIMAL = "A point within the tolerance of the proven bound was found, well inside the radius."
    INFEASIBLE = "No point is feasible within the largest radius: a vector of the dual cone proves it."
    UNBOUNDED = "The objective falls without end: a feasible point and a direction of recession were found."
    UNDECIDED = "None of these was proven."


@dataclass(frozen=True, eq=False)
class Verdict:
    """An outcome and what proves it.

    Attributes
    ----------
    outcome : Outcome
    result : Result
        Result of the last run.
    radius : float
        Radius of that run.
    message : str
        What was proven, and how far.
    infeasibility : Infeasibility or None
        The proof, where infeasible; where undecided, that of a smaller distance, if there is one.
    direction : ndarray or None
        A direction d of recession, where the problem is unbounded: up to the oracle's tolerance ``-A @ d`` is in K, and
        ``c @ d < 0``.
    """

    __repr__ = one_line

    outcome: Outcome
    result: Result
    radius: float
    message: str
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
    """Minimize within growing radii until one of the outcomes is proven.

    A minimizer well inside a ball is one without it, and so is one well inside the bounds that the radius stands in
    for; bounds of the problem itself do not matter. For a point z at distance D from the best point x, with that
    surface at distance R from x, convexity gives ``f(z) >= upper - gap * D / R``. An empty localization set is turned
    into one vector of the dual cone, whose reach (`Infeasibility.reach`) must cover the points of the largest radius;
    if it does not, the next radius is tried, and after the last one the problem is undecided and the message says how
    far the proof reaches. Where the minimizer lies at the surface, `Kelley` searches the directions of recession. A
    run that ends at a limit leaves the problem undecided.

    Parameters
    ----------
    oracle : ConicOracle
        On `FreeSpace`; its radius is replaced.
    generator : QueryPointGenerator
        That takes feasibility cuts.
    radii : sequence of float
        Growing.
    rtol : float
        Gap relative to ``max(abs(upper bound), abs(c) @ abs(x))``, also of the decrease along a direction of recession.
        A gap of ten times the oracle's tolerance times ``sum(abs(c))`` counts as closed, too.
    max_calls, max_seconds
        As for `minimize`: limits of each run.

    Returns
    -------
    Verdict
        The outcome, and what proves it.

    Raises
    ------
    InvalidArgument
        The oracle is not on `FreeSpace`.

    Examples
    --------
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import ConicOracle, Nonnegative
    >>> from oracle_opt.study import settle
    >>> settle(ConicOracle([1.0], [[-1.0], [1.0]], [-2.0, 1.0], [Nonnegative(2)]), Kelley()).outcome.name
    'INFEASIBLE'
    >>> settle(ConicOracle([-1.0], [[-1.0]], [0.0], [Nonnegative(1)]), Kelley()).outcome.name
    'UNBOUNDED'
    """
    instance("oracle", oracle, ConicOracle, "a ConicOracle; ConicOracle.from_cvxpy makes one of a cvxpy.Problem")
    instance("generator", generator, QueryPointGenerator, "a generator object such as Kelley()")
    rtol, max_calls = real("rtol", rtol, least=0.0), whole("max_calls", max_calls, 0)
    radii = [real("radii", radius, above=0.0) for radius in instances("radii", radii, object, "a number")]
    if oracle.free is None:
        raise InvalidArgument(f"`oracle` must be on FreeSpace, whose radius is to grow, got {oracle.domain!r}")
    if not len(radii):
        raise InvalidArgument("`radii` must name at least one radius, got none")
    center, n = float(np.linalg.norm(oracle.free.center)), len(oracle.problem.c)
    # the domain is a ball or, where it has taken up rows, a part of the box around it
    farthest = center + float(np.sqrt(n)) * max(radii)
    best, message = None, ""
    for radius in radii:
        trial = oracle.within(radius)
        result = minimize(trial, generator, rtol=rtol, max_calls=max_calls, max_seconds=max_seconds, keep_cuts=True)
        message = f"Within a radius of {radius:g}: {result.message}"
        if result.status is Status.EMPTY and result.point is None:
            proof = _proof(trial, result)
            if proof is not None and (best is None or proof.reach > best.reach):
                best = proof
            reach = 0.0 if best is None else best.reach
            bounds: Vector = np.abs(trial.domain.bounding_box()).max(axis=0)  # those of the user may lie farther out
            if reach >= max(farthest, float(np.linalg.norm(bounds))):
                where = "" if np.isinf(reach) else f" of a norm below {reach:.3g}"
                message = f"No point{where} is feasible: a vector of the dual cone proves it."
                return Verdict(Outcome.INFEASIBLE, result, radius, message, infeasibility=best)
            message = (
                f"No feasible point was found within a radius of {radius:g}, and a vector of the dual cone proves that "
                f"there is none of a norm below {reach:.3g}; farther out nothing is proven."
            )
            continue
        if result.point is None:
            break
        inside = trial.room(result.point) > 0.5 * radius
        wanted = _wanted(trial, result, rtol)
        if result.success and inside and result.gap > wanted:
            # values of points as far away as the radius count in the driver's scale, and not here
            again = minimize(
                trial,
                generator,
                result.point,
                rtol=0.0,
                atol=wanted,
                max_calls=max_calls - result.n_calls,
                max_seconds=max_seconds,
                cuts=result.history.cuts or (),
                keep_cuts=True,
            )
            if again.point is None:
                break
            result = replace(again, n_calls=result.n_calls + again.n_calls)
            message = f"Within a radius of {radius:g}: {result.message}"
            inside = trial.room(again.point) > 0.5 * radius
        if result.success and inside:
            return Verdict(Outcome.OPTIMAL, result, radius, Outcome.OPTIMAL.value)
        # these two come about where a minimizer lies beyond the radius
        if inside and result.status not in (Status.OUTSIDE, Status.CONTRADICTION):
            break
        if not inside:
            message = f"The best point within a radius of {radius:g} is near its surface; nothing is proven of others."
            away = minimize(
                trial.recession(), Kelley(), rtol=rtol, atol=1e-9, max_calls=max_calls, max_seconds=max_seconds
            )
            if away.point is not None and float(trial.problem.c @ away.point) < -1e-6 * float(
                np.abs(trial.problem.c).max()
            ):
                return Verdict(Outcome.UNBOUNDED, result, radius, Outcome.UNBOUNDED.value, direction=away.point)
    return Verdict(Outcome.UNDECIDED, result, radius, message, infeasibility=best)


def _wanted(oracle: ConicOracle, result: Result, rtol: float) -> float:
    """Gap that counts as closed, relative to the terms of the objective or to what the tolerance does to them."""
    assert result.point is not None
    sizes: Vector = np.abs(oracle.problem.c)
    terms = max(abs(result.upper_bound), float(sizes @ np.abs(result.point)))
    return max(rtol * terms, 10.0 * float(oracle.tolerance) * float(sizes.sum()))


def _proof(oracle: ConicOracle, result: Result) -> Infeasibility | None:
    """The verdict that the cuts of a run without a feasible point prove, if they prove one."""
    try:
        proof = oracle.infeasibility(result.history.cuts or ())
    except InvalidArgument:
        return None
    return proof if proof.reach > 0 else None  # a vector outside the dual cone has hardly any reach
