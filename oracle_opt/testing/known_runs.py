"""Runs on problems with a known optimum: every bound has to hold in every row, and every count has to be honest."""

from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, Query
from oracle_opt.domains import Domain
from oracle_opt.driver import minimize
from oracle_opt.errors import CapabilityMismatch, InvalidCertificate
from oracle_opt.generator import QueryPointGenerator, Step
from oracle_opt.history import History
from oracle_opt.oracle import Oracle
from oracle_opt.proof.claim import Bound, CutClaim, ValueClaim
from oracle_opt.result import Result, Status
from oracle_opt.testing.conformance import ConformanceError, copied, difference, ruled
from oracle_opt.testing.known_problems import KnownProblem

PROOFS = ("oracle_bound", "cut_bound", "model_bound", "average_bound")
FALSE = (Status.EMPTY, Status.FAILED, *(status for status in Status if status.disproved))


class Watched(Oracle):
    """The same oracle, counted independently of the driver."""

    def __init__(self, inner: Oracle) -> None:
        self.inner, self.domain, self.convex = inner, inner.domain, inner.convex
        self.gives, self.witness = inner.gives, inner.witness
        self.asked: list[Vector] = []
        self.given: list[tuple[Cut, dict[str, Any]]] = []

    def reset(self) -> None:
        """Let the inner oracle forget."""
        self.inner.reset()

    def query(self, query: Query) -> Cut:
        """Ask the inner oracle, and remember point and answer."""
        self.asked.append(query.point.copy())
        cut = self.inner.query(query)
        self.given.append((cut, copied(cut)))
        return cut

    def resume(self, cut: Cut) -> None:
        """Let the inner oracle resume."""
        self.inner.resume(cut)

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """As the inner oracle does."""
        return self.inner.prove_cut(claim, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """As the inner oracle does."""
        return self.inner.prove_value(claim, exact)

    def identity(self) -> str:
        """The identity of the inner oracle."""
        return self.inner.identity()

    def problem_identity(self) -> str:
        """The identity of the inner oracle."""
        return self.inner.problem_identity()


def leave_alone(subject: str, cut: Cut, before: dict[str, Any]) -> None:
    """Raise `ConformanceError` if a cut no longer holds what it did."""
    if words := difference(before, copied(cut)):
        raise ConformanceError(
            subject,
            rule="`tell` leaves the cut alone",
            seen=f"before and after {words}",
            advice="work on a copy; the driver, the history and the journal keep the same cut",
            at={"point": before["point"]},
        )


def named(generator: QueryPointGenerator, problem: KnownProblem) -> str:
    """How messages call a run."""
    return f"The generator {generator!r}, on the problem '{problem.name}',"


def check_run(
    generator: QueryPointGenerator, problem: KnownProblem, *, calls: int = 40, atol: float | None = None
) -> Result:
    """Run a generator on a problem with known optimum, and hold every row of the history against it.

    Parameters
    ----------
    generator : QueryPointGenerator
        The generator to check.
    problem : KnownProblem
        The problem.
    calls : int
        Limit on oracle calls.
    atol : float, optional
        Gap that has to be proven within the limit; by default none has to, and the run ends at `problem.resolution`.

    Returns
    -------
    Result
        The run, with its cuts kept.

    Raises
    ------
    ConformanceError
        A query point outside the domain, a count that is wrong, a bound that is false, or that its certificate does
        not prove, a step that was not said as the contract has it, or a gap that was not proven.
    CapabilityMismatch
        The generator cannot serve this oracle, as the driver found before the first call.
    """
    oracle, subject = Watched(problem.oracle), named(generator, problem)
    start = None if problem.start is None else np.array(problem.start, dtype=float)
    wanted = problem.resolution if atol is None else atol
    try:
        result = minimize(oracle, generator, start, rtol=0, atol=wanted, max_calls=calls, keep_cuts=True, probes=0)
    except CapabilityMismatch:
        if not oracle.asked:
            raise
        with ruled(subject, "a generator refuses before the first call", "refuse in `refusal(domain)`"):
            raise
    except Exception as raised:
        raise ConformanceError(
            subject,
            rule="a run ends with a `Status`, not with an exception",
            seen=f"{type(raised).__name__} was raised: {raised}",
            advice="see the traceback above",
            at={"last query point": oracle.asked[-1]} if oracle.asked else {},
        ) from raised
    for cut, before in oracle.given:
        leave_alone(subject, cut, before)
    _check_points(subject, oracle, result, start)
    if np.isfinite(problem.optimum):
        _check_bounds(subject, problem, result)
    _check_steps(subject, result)
    if oracle.convex:
        _check_certificate(subject, oracle.domain, result)
    if atol is not None and result.status not in (Status.CONVERGED, Status.EDGE):
        raise ConformanceError(
            subject,
            rule=f"the gap is proven to be at most {atol:.3g} within {calls} calls",
            seen=f"{result.message} The gap is {result.gap:.3g} after {result.n_calls} calls",
            advice="give the driver a proof by `minorant` or `weight`; it knows no other than the last cut's",
        )
    return result


def _check_points(subject: str, oracle: Watched, result: Result, start: Vector | None) -> None:
    if not result.n_calls == len(oracle.asked) == len(result.history):
        raise ConformanceError(
            subject,
            rule="the driver alone asks the oracle",
            seen=f"{len(oracle.asked)} queries, and the driver made {result.n_calls}",
            advice="hand query points out by `ask`, and keep no oracle in a generator",
        )
    if start is not None and oracle.asked and not (oracle.asked[0] == start).all():
        raise ConformanceError(
            subject,
            rule="the first query point is the point given to `reset`",
            seen="it is another one",
            advice="ask at `point` first; it is the user's",
            at={"first query point": oracle.asked[0], "point": start},
        )


def _check_bounds(subject: str, problem: KnownProblem, result: Result) -> None:
    history, optimum = result.history, problem.optimum
    largest = float(np.nanmax(np.abs(history.value), initial=max(1.0, abs(optimum))))
    allowed = problem.accuracy * largest
    for name in (*PROOFS, "lower_bound"):
        wrong = np.flatnonzero(getattr(history, name) > optimum + allowed)
        if len(wrong):
            k = int(wrong[0])
            advice = {
                "model_bound": "`minorant` must be a convex combination of objective cuts plus nonnegative multiples "
                "of feasibility cuts; `CutPool.minorant` makes it of any multipliers",
                "average_bound": "`weight` must be at least 0, and belong to the last cut told",
            }.get(name, "see whether the oracle or the optimum of the problem is wrong")
            raise ConformanceError(
                subject,
                rule="a lower bound is at most the optimum, in every row of the history",
                seen=f"`history.{name}` is {getattr(history, name)[k]:.12g} after call {k + 1}, and the optimum is "
                f"{optimum:.12g}",
                advice=advice,
            )
    wrong = np.flatnonzero(history.upper_bound < optimum - allowed)
    if len(wrong):
        k = int(wrong[0])
        raise ConformanceError(
            subject,
            rule="an upper bound is at least the optimum, in every row of the history",
            seen=f"it is {history.upper_bound[k]:.12g} after call {k + 1}, and the optimum is {optimum:.12g}",
            advice="see whether the oracle or the optimum of the problem is wrong",
        )
    if result.status in FALSE:
        raise ConformanceError(
            subject,
            rule="a run on a problem with a solution is not said to contradict itself",
            seen=f"{result.status.name}: {result.message}",
            advice="raise `EmptyLocalizationSet` only with a proof, and see that `minorant` lies below the function",
        )


def _check_certificate(subject: str, domain: Domain, result: Result) -> None:
    """The claims that the lower bound is said to be made of prove it in exact arithmetic."""
    if result.cut is None or not np.isfinite(result.gap):
        return
    try:
        domain.described(np.zeros(domain.dimension))
    except InvalidCertificate:  # a set of a user's own, of which no certificate is
        return
    rule = "the claims that a lower bound is said to be made of prove it, as `Result.certificate` finds"
    advice = "let `parts` of a minorant be those of `CutPool.minorant`, or leave them out: then it is a claim by itself"
    with ruled(subject, rule, advice):
        result.certificate()


def _check_steps(subject: str, result: Result) -> None:
    history: History = result.history
    steps = list(history.step)
    for k, (step, value) in enumerate(zip(steps, history.value, strict=True)):
        if (step == Step.FEASIBILITY.value) != np.isnan(value):
            raise ConformanceError(
                subject,
                rule="`tell` returns `Step.FEASIBILITY` for feasibility cuts, and for these alone",
                seen=f"`{step}` after call {k + 1}, whose cut has {'no' if np.isnan(value) else 'a'} value",
                advice="look at the class of the cut: FeasibilityCut or ObjectiveCut",
            )
    objective = [step for step in steps if step != Step.FEASIBILITY.value]
    if objective and objective[0] != Step.SERIOUS.value:
        raise ConformanceError(
            subject,
            rule="the first objective cut is a serious step",
            seen=f"`{objective[0]}`",
            advice="return `Step.SERIOUS` where there was no value before",
        )
    for name, sign in (("upper_bound", -1.0), ("lower_bound", 1.0)):
        column = getattr(history, name)
        if (sign * np.diff(column[np.isfinite(column)]) < 0).any():
            raise ConformanceError(
                subject, rule=f"`history.{name}` is monotone", seen="it is not", advice="report it: it is the driver's"
            )
