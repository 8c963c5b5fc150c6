"""Solvers that call the function themselves, under the driver's counts: nothing of theirs is changed, nothing leaks."""

import gc
import pickle
import runpy
import threading
import time
from pathlib import Path

import foreign_solvers
import numpy as np
import pytest
from affine_pieces import least_of_pieces
from foreign_solvers import steps, steps_by_cuts
from scipy import optimize

from oracle_opt import Ball, Box, FeasibilityCut, FunctionOracle, ObjectiveCut, Polyhedron, Simplex, Status, minimize
from oracle_opt.errors import CapabilityMismatch, InvalidArgument, InvalidCut, StudyWarning
from oracle_opt.generators import ForeignSolver, Kelley
from oracle_opt.problems import find
from oracle_opt.study import Limits, Study
from oracle_opt.testing import KnownProblem, check_generator, check_run

DOCS = Path(__file__).parents[1] / "docs"
SQUARE = Box([-2, -2], [2, 2])


def rosenbrock(z):
    return optimize.rosen(z), optimize.rosen_der(z)


def once(function, start, domain):
    return f"{function(start)[0]:g} is enough"


def bowl(domain=SQUARE, **options):
    return FunctionOracle(lambda z: ((z - 1) @ (z - 1) + 1, 2 * (z - 1)), domain, **options)


def threads():
    return [one for one in threading.enumerate() if one.name == "foreign solver"]


@pytest.fixture(autouse=True)
def no_threads_are_left():
    yield
    gc.collect()  # of objects that were driven by hand
    for one in threads():
        one.join(2.0)
    assert threads() == []


@pytest.mark.parametrize(
    "generator",
    [
        ForeignSolver(steps),
        ForeignSolver(steps_by_cuts, cuts=True),
        ForeignSolver(steps_by_cuts, cuts=True, prove=True),
    ],
    ids=["values", "cuts", "model"],
)
def test_it_keeps_the_contract(generator):
    assert len(check_generator(generator, calls=12)) > 20


@pytest.mark.to_the_bit
@pytest.mark.parametrize(
    ("method", "domain"), [("L-BFGS-B", SQUARE), ("SLSQP", SQUARE), ("L-BFGS-B", Box([0.5, 0.5], [0.9, 2]))]
)
def test_a_solver_does_what_it_does_alone(method, domain):
    """The same points in the same order, and as many as it counts itself."""
    own, asked = [], []
    bounds, start = optimize.Bounds(*domain.bounding_box()), domain.project(np.array([-1.0, 1.5]))

    def solve(function, start, domain):
        own.append(optimize.minimize(function, start, jac=True, method=method, bounds=bounds))

    def watched(z):
        asked.append(z.copy())
        return rosenbrock(z)

    alone = optimize.minimize(watched, start, jac=True, method=method, bounds=bounds)
    oracle = FunctionOracle(rosenbrock, domain, convex=False)
    result = minimize(oracle, ForeignSolver(solve), start, keep_cuts=True)
    assert result.status is Status.EXHAUSTED
    assert result.message.startswith("The generator has nothing left to ask. Its reason: the solver has returned.")
    assert np.array_equal([cut.point for cut in result.history.cuts], asked)
    assert result.n_calls == own[0].nfev == alone.nfev
    assert np.array_equal(own[0].x, alone.x)
    assert result.upper_bound == pytest.approx(alone.fun, abs=1e-12)
    best = np.minimum.accumulate(result.history.value)
    assert (result.history.step == "serious").tolist() == [True, *(np.diff(best) < 0)]


def test_the_solver_works_while_the_oracle_waits_and_not_beside_it():
    """Neither before the run's first question nor after its last answer, nor while the oracle works."""
    seen, busy = [], []

    def solve(function, start, domain):
        seen.append("started")
        for k in range(9):
            function(start - 0.01 * k)
            seen.append(k)

    def function(z):
        before = list(seen)
        time.sleep(0.02)
        busy.append(seen != before)
        return z @ z, 2 * z

    generator = ForeignSolver(solve)
    generator.reset(SQUARE, np.zeros(2))
    assert (seen, threads()) == ([], [])
    minimize(FunctionOracle(function, SQUARE), generator, [1.0, 1.0], max_calls=3)
    assert not any(busy)
    assert seen == ["started", 0, 1]
    assert threads() == []


@pytest.mark.campaign(3)
@pytest.mark.parametrize("how", ["limit", "converged", "oracle", "callback", "interrupt", "returned", "solver"])
def test_its_thread_ends_with_the_run(how):
    def failing(z):
        if how == "oracle":
            raise OSError("no oracle")
        return z @ z + 1, 2 * z

    def stop(record):
        assert len(threads()) == 1
        if how == "interrupt":
            raise KeyboardInterrupt
        return how == "callback"

    def raising(function, start, domain):
        function(start)
        raise ArithmeticError("no digits left")

    generator = ForeignSolver({"returned": once, "solver": raising}.get(how, steps))
    limits = {"max_calls": 5, "atol": 9.0 if how == "converged" else 0.0, "callback": stop}
    oracle = FunctionOracle(failing, SQUARE)
    if how in ("oracle", "solver"):
        kind, words = {"oracle": (OSError, "no oracle"), "solver": (ArithmeticError, "no digits left")}[how]
        with pytest.raises(kind, match=words) as raised:
            minimize(oracle, generator, [1.0, 1.5], **limits)
        assert raised.value.result.status is Status.FAILED
        assert raised.value.result.n_calls == (how == "solver")
        assert how == "oracle" or any(entry.name == "raising" for entry in raised.traceback)
    else:
        status = {"limit": "MAX_CALLS", "callback": "STOPPED", "interrupt": "INTERRUPTED", "returned": "EXHAUSTED"}
        assert minimize(oracle, generator, [1.0, 1.5], **limits).status.name == status.get(how, "CONVERGED")
    for one in threads():
        one.join(0.5)
    assert threads() == []


def test_a_new_run_and_an_abandoned_object_end_the_thread():
    generator = ForeignSolver(steps)
    for _ in range(3):
        generator.reset(SQUARE, np.ones(2))
        assert np.array_equal(generator.ask(), [1, 1])
        assert len(threads()) == 1
    del generator
    gc.collect()
    for one in threads():
        one.join(2.0)
    assert threads() == []


def test_time_is_limited_inside_the_solver():
    def slow(function, start, domain):
        function(start)
        time.sleep(0.6)
        function(start + 0.1)

    begun = time.perf_counter()
    result = minimize(bowl(), ForeignSolver(slow), [0.0, 0.0], max_seconds=0.2)
    assert result.status is Status.MAX_SECONDS
    assert result.n_calls == 1
    assert time.perf_counter() - begun < 2.0


def test_what_it_returns_is_the_reason():
    result = minimize(bowl(), ForeignSolver(once), [0.0, 0.0])
    assert "Its reason: 3 is enough." in result.message
    again = minimize(bowl(), ForeignSolver(lambda function, start, domain: None), [0.0, 0.0])
    assert (again.status, again.n_calls, again.point) == (Status.EXHAUSTED, 0, None)


def test_points_outside_are_refused_with_the_reason_and_rounding_is_projected():
    def away(function, start, domain):
        function(start)
        function(start + 3.0)

    with pytest.raises(InvalidArgument, match=r"`x` must lie in Box.* is 1.41 away .*`domain.project`") as raised:
        minimize(bowl(), ForeignSolver(away), [0.0, 0.0])
    assert raised.value.result.n_calls == 1

    def caught(function, start, domain):
        try:
            function(start + 9.0)
        except InvalidArgument:
            return f"value {function(start)[0]:g} then"
        return "not caught"

    assert "Its reason: value 3 then." in minimize(bowl(), ForeignSolver(caught), [0.0, 0.0]).message

    def barely(function, start, domain):
        function(np.array([2.0, 2.0 + 1e-12]))

    result = minimize(bowl(), ForeignSolver(barely), [1.0, 1.0], keep_cuts=True)
    assert result.history.cuts[0].point.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([1.0], "2 finite numbers"),
        ([np.nan, 0.0], "2 finite numbers"),
        (["a", "b"], "real numbers"),
        (None, "2 finite numbers"),
    ],
    ids=["short", "nan", "words", "none"],
)
def test_questions_that_are_no_points(x, words):
    with pytest.raises(InvalidArgument, match=f"`x` must be .*{words}"):
        minimize(bowl(), ForeignSolver(lambda function, start, domain: function(x)), [0.0, 0.0])


@pytest.mark.to_the_bit
def test_a_call_at_the_same_point_is_no_query():
    got = []

    def twice(function, start, domain):
        for _ in range(3):
            value, slope = function(start)
            got.append((value, slope.tolist()))
            slope[:] = np.nan  # its own
            start[:] = start  # a solver may write to what it was given
        function(list(start + 0.5))
        function(start)

    result = minimize(bowl(), ForeignSolver(twice), [0.0, 0.0])
    assert result.n_calls == 3
    assert got == [(3.0, [-2.0, -2.0])] * 3
    stuck = minimize(bowl(), ForeignSolver(lambda f, start, domain: [f(start) for _ in range(10**9)]), [0.0, 0.0])
    assert (stuck.status, stuck.n_calls) == (Status.EXHAUSTED, 1)
    assert "the solver has asked at [0, 0] 1000 times in a row" in stuck.message


def test_the_start_is_a_copy_of_its_own():
    def writes(function, start, domain):
        function(start)
        start += 0.25
        function(start)

    given = np.zeros(2)
    result = minimize(bowl(), ForeignSolver(writes), given, keep_cuts=True)
    assert [cut.point.tolist() for cut in result.history.cuts] == [[0, 0], [0.25, 0.25]]
    assert given.tolist() == [0, 0]


def test_feasibility_cuts_go_to_solvers_that_take_cuts():
    def function(z):
        return (z @ z, 2 * z) if z.sum() >= 1 else FeasibilityCut(z, 1 - z.sum(), -np.ones(2))

    oracle = FunctionOracle(function, SQUARE, gives={FeasibilityCut})
    with pytest.raises(CapabilityMismatch, match="takes no feasibility cuts"):
        minimize(oracle, ForeignSolver(steps))
    kinds = []

    def solve(function, start, domain):
        kinds.extend(type(function(z)) for z in (start, np.array([1.0, 0.5]), start))

    result = minimize(oracle, ForeignSolver(solve, cuts=True), [0.0, 0.0])
    assert kinds == [FeasibilityCut, ObjectiveCut, FeasibilityCut]
    assert result.history.step.tolist() == ["feasibility", "serious", "feasibility"]
    known = KnownProblem("a half-plane", oracle, 0.5)
    assert check_run(ForeignSolver(steps_by_cuts, cuts=True, prove=True), known, calls=60, atol=1e-2).success


def test_the_model_proves_what_the_cuts_can():
    """The bound of each call is that of a linear program by scipy on the same cuts, and at least every other proof."""
    oracle = find("max-affine(n=5, seed=1)")[0]().oracle
    runs = [
        minimize(oracle, ForeignSolver(steps, prove=prove), max_calls=25, keep_cuts=True) for prove in (False, True)
    ]
    assert np.array_equal(runs[0].history.value, runs[1].history.value)
    cuts = runs[1].history.cuts
    for k in (1, 7, 25):
        slopes, constants = zip(*((cut.subgradient, cut.constant) for cut in cuts[:k]), strict=True)
        least = least_of_pieces(oracle.domain, slopes, constants)
        assert runs[1].history.model_bound[k - 1] == pytest.approx(least, abs=1e-7)
        assert runs[0].history.lower_bound[k - 1] <= least + 1e-9
    assert (runs[0].history.model_bound == -np.inf).all()
    assert runs[0].lower_bound < runs[1].lower_bound
    with pytest.raises(CapabilityMismatch, match="linear constraints"):
        minimize(bowl(Ball(2, 1.0)), ForeignSolver(steps, prove=True))


def test_the_average_forgets_early_cuts():
    generator = ForeignSolver(steps)
    generator.reset(SQUARE, np.ones(2))
    weights = []
    for _ in range(4):
        z = generator.ask()
        generator.tell(ObjectiveCut(z, float(z @ z), 2 * z))
        weights.append(generator.weight())
    assert weights == [1, 2, 3, 4]


def test_it_can_be_sent_to_other_processes():
    generator = ForeignSolver(steps, prove=True)
    assert repr(generator) == "ForeignSolver(solve=foreign_solvers.steps, cuts=False, prove=True)"
    for _ in range(2):
        assert repr(pickle.loads(pickle.dumps(generator))) == repr(generator)
        minimize(bowl(), generator, max_calls=3)
    generator.reset(SQUARE, np.ones(2))
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(generator)
    generator.finish()
    generator.finish()
    pickle.dumps(generator)


def test_the_error_state_of_numpy_is_taken_over():
    def solve(function, start, domain):
        function(start)
        return str(np.geterr()["over"])

    with np.errstate(over="raise"):
        assert "Its reason: raise." in minimize(bowl(), ForeignSolver(solve), [0.0, 0.0]).message


def test_solvers_that_catch_everything_are_ended_too():
    calls = []

    def deaf(function, start, domain):
        for k in range(10**9):
            try:
                function(start + 1e-3 * k)
            except Exception:
                calls.append(k)

    minimize(bowl(), ForeignSolver(deaf), [0.0, 0.0], max_calls=3)
    assert (calls, threads()) == ([], [])


def test_answers_that_are_no_cuts_end_the_run():
    oracle = FunctionOracle(lambda z: (np.nan, z), SQUARE)
    with pytest.raises(InvalidCut):
        minimize(oracle, ForeignSolver(steps))
    assert threads() == []


def test_bad_input():
    for arguments, match in [((3,), "`solve`"), ((steps, 1), "`cuts`"), ((steps, False, "yes"), "`prove`")]:
        with pytest.raises(InvalidArgument, match=match):
            ForeignSolver(*arguments)


@pytest.fixture(scope="module")
def examples():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        return runpy.run_path(str(DOCS / "make_foreign_solvers.py"))


WORKED = {
    "scipy_lbfgsb": "scipy",
    "scipy_slsqp": "scipy",
    "ellalgo_ellipsoid": "ellalgo",
    "nsopy_subgradient": "nsopy",
    "nsopy_universal": "nsopy",
}


@pytest.mark.campaign(2)
@pytest.mark.parametrize("name", WORKED)
def test_worked_examples_keep_every_bound(examples, name):
    pytest.importorskip(WORKED[name], reason=f"{WORKED[name]} is not installed: pip install 'oracle-opt[peers]'")
    problem = find("max-quadratic(n=10, seed=0)")[0]()
    known = KnownProblem("max-quadratic", problem.oracle, problem.optimum)
    first = minimize(problem.oracle, ForeignSolver(examples[name], prove=True), max_calls=1)
    result = check_run(ForeignSolver(examples[name], prove=True), known, calls=120)
    assert result.relative_gap < 0.3 * first.relative_gap


def test_slsqp_gets_equations_and_inequalities(examples):
    target = np.array([0.7, 0.5, 0.1])
    for domain in (Simplex(3), Polyhedron([[1.0, 1.0, 1.0]], [1.0], lower=np.zeros(3), upper=np.ones(3))):
        oracle = FunctionOracle(lambda z: ((z - target) @ (z - target), 2 * (z - target)), domain)
        result = minimize(
            oracle, ForeignSolver(examples["scipy_slsqp"], prove=True), np.array([0.1, 0.1, 0.8]), rtol=1e-3
        )
        np.testing.assert_allclose(result.point, [0.6, 0.4, 0.0], atol=1e-3)


def test_nothing_is_left_of_kelley():
    """The hook that ends threads does nothing to other methods."""
    generator = Kelley()
    minimize(bowl(), generator)
    assert generator.ask() is not None


@pytest.mark.to_the_bit
def test_it_stands_in_studies_of_several_processes(tmp_path):
    """A solver that fails is a row with its traceback, and runs in worker processes are those of this one."""
    generators = {
        "steps": ForeignSolver(foreign_solvers.steps),
        "proven": ForeignSolver(foreign_solvers.steps, prove=True),
        "failing": ForeignSolver(foreign_solvers.failing),
        "by cuts": ForeignSolver(foreign_solvers.steps_by_cuts, cuts=True),
    }
    problems = ["max-affine(n=5, seed=1)", "nonsmooth/CB2"]
    study = Study(problems, generators, tau=1e-3, limits=Limits(calls=20))
    with pytest.warns(StudyWarning, match="failing.* ArithmeticError: no digits left"):
        here = study.run(tmp_path / "here", jobs=1, progress=False)
    with pytest.warns(StudyWarning, match="failing.* ArithmeticError: no digits left"):
        there = study.run(tmp_path / "there", jobs=2, progress=False)
    columns = ["instance", "generator", "status", "n_calls", "upper_bound", "lower_bound"]
    assert here.runs[columns].equals(there.runs[columns])
    of_failing = there.runs[there.runs["generator"] == "failing"]
    assert of_failing["status"].tolist() == ["FAILED"] * 2
    assert "ArithmeticError: no digits left" in of_failing["traceback"].iloc[0]
    assert (there.runs["generator"] == "steps").sum() == 2
