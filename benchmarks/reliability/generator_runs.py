"""Random convex problems by every generator that does not refuse: bounds on the right side, no exception, no overrun.

The optimum is that of HiGHS or Clarabel. A lower bound is held, besides, against the least value of the function at
any point that a run asked about and that satisfies all constraints: that comparison owes nothing to a solver.
"""

import warnings
from time import process_time

import numpy as np
from _convex import random_problem
from _guard import Abandoned, guarded
from _methods import METHODS
from _tally import refusal

from oracle_opt import CapabilityMismatch, ObjectiveCut, Status, minimize

UNIT = "runs of generators on random convex problems"
FULL = 20_000
SMALL = 60

LIMIT = 60.0  # seconds until a run is called endless
ROUNDING = 1e-12  # of the largest term of a cut: what a bound may be off
SOLVER = 1e-5  # what the other solver's optimum may be off, in the same unit: Clarabel is no more precise on cones
SLOW = 7.5  # seconds of processor time that no run needs; the limit of 10, on a busy machine, says nothing
OVERRUN = 1.0  # seconds of processor time beyond `max_seconds`
WRONG = (
    Status.EMPTY,
    Status.CONTRADICTION,
    Status.OUTSIDE,
    Status.REFUTED,
    Status.FAILED,
)  # never on an honest oracle with a feasible point


def run(count, seed, tally):
    """Try `count` runs, from problem to problem."""
    count_runs(problem_runs, count, seed, tally)


def count_runs(runs, count, seed, tally):
    """Count what `runs` says of one problem after another, until `count` runs were tried."""
    for item, message in guarded(runs, [(seed, index) for index in range(count)], LIMIT):
        if tally.tried == count:
            break
        if isinstance(message, Abandoned):
            tally.trial(f"problem {list(item)}, last heard of {message.last}: {message.words}")
        elif isinstance(message, dict):
            tally.trial(message["failures"])
            tally.count(message["status"])
            if "certificate" in message:
                tally.count(f"certificate: {message['certificate']}")
            for name, size in message["errors"].items():
                tally.error(name, size)


def problem_runs(item):
    """One message before each run, its name; and one after all runs of a problem, what each came to."""
    rng = np.random.default_rng(item)
    problem = random_problem(rng)
    if problem is None:
        return
    outcomes = []
    for name, make in METHODS.items():
        limits = {
            "rtol": float(rng.choice([0.0, 1e-9, 1e-6, 1e-3])),
            "max_calls": int(rng.choice([10, 30, 60])),
            "max_seconds": 10.0 ** float(rng.uniform(-4, -2)) if rng.random() < 0.05 else 10.0,
        }
        words = f"problem {list(item)}, {problem.words}; {name} with {limits}"
        yield words
        outcome = attempt(problem, make(), limits)
        if outcome is not None:
            outcomes.append((words, limits, *outcome))
    known = [
        problem.value(cut.point)
        for _, _, result, _ in outcomes
        if not isinstance(result, Exception)
        for cut in result.history.cuts
        if isinstance(cut, ObjectiveCut) and problem.violation(cut.point) <= 0
    ]
    best = min(known, default=np.inf)
    for words, limits, result, seconds in outcomes:
        yield judged(problem, best, words, limits, result, seconds)


def attempt(problem, generator, limits):
    """Result or exception of one run, and its processor time; `None` if the generator refuses."""
    began = process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = minimize(problem.oracle, generator, keep_cuts=True, **limits)
    except CapabilityMismatch:
        return None
    except Exception as problem_found:
        result = problem_found
    return result, process_time() - began


def scale_of(result, cuts):
    """The largest gap that may count as closed, over rtol: of the size of the optimum or of the values seen."""
    spread = max(cut.upper for cut in cuts) - result.upper_bound
    return max(1e-12, abs(result.upper_bound), 2.0 * spread)


def place_of(error):
    """File and line that raised."""
    where = error.__traceback__
    while where.tb_next is not None:
        where = where.tb_next
    return f"{where.tb_frame.f_code.co_filename.rpartition('/')[2]}:{where.tb_lineno}"


def judged(problem, best, words, limits, result, seconds):
    """What failed in a run, its status and its errors."""
    if isinstance(result, Exception):
        return {"failures": [f"{words}: {result!r:.200} in {place_of(result)}"], "status": "exception", "errors": {}}
    cuts = [cut for cut in result.history.cuts if isinstance(cut, ObjectiveCut)]
    size = max((abs(cut.value) + float(np.abs(cut.subgradient) @ np.abs(cut.point)) for cut in cuts), default=1.0)
    size = max(size, 1e-300)
    errors = {
        "lower bound above a value": max(0.0, result.lower_bound - best) / size,
        "lower bound above the other solver's optimum": max(0.0, result.lower_bound - problem.optimum) / size,
        "upper bound below the other solver's optimum": max(0.0, problem.optimum - result.upper_bound) / size,
    }
    failures = []
    if errors["lower bound above a value"] > ROUNDING:
        failures.append(f"lower bound {result.lower_bound!r} above the value {best!r}")
    if max(errors.values()) > SOLVER:
        failures.append(f"bounds {result.lower_bound!r}, {result.upper_bound!r}, optimum {problem.optimum!r}")
    if cuts:
        value = problem.value(result.point)
        errors["stated value against the function"] = away = max(0.0, value - result.upper_bound) / size
        if away > ROUNDING:
            failures.append(f"states {result.upper_bound!r} at a point of value {value!r}")
        if not problem.oracle.domain.contains(result.point, 1e-8):
            failures.append("the point is not in the domain")
    if result.status in WRONG:
        failures.append(f"ends {result.status.name}: {result.message}")
    if result.status is Status.MAX_SECONDS and min(seconds, limits["max_seconds"]) >= SLOW:
        failures.append(f"took {seconds:.1f} s for {result.n_calls} calls")
    if result.status is Status.CONVERGED and not result.gap <= limits["rtol"] * scale_of(result, cuts):
        failures.append(f"converged with a gap of {result.gap!r}")
    if seconds > limits["max_seconds"] + OVERRUN:
        failures.append(f"took {seconds:.1f} s")
    standing, refused = refusal(result, problem.oracle)
    failures += refused
    if failures:
        failures[0] = f"{words}: {failures[0]}"
    return {"failures": failures, "status": result.status.name, "errors": errors, "certificate": standing}
