"""Value functions of cvxpy problems against direct solves."""

import warnings
from contextlib import suppress

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, FreeSpace, InvalidArgument, ObjectiveCut, Query, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, TrustRegion
from oracle_opt.oracles import CvxpyOracle
from oracle_opt.testing import check_oracle


def direct(problem, parameters, point):
    """Value of the user's own problem, parameters set by hand; infinite if infeasible."""
    pieces = np.split(np.asarray(point, dtype=float), np.cumsum([p.size for p in parameters])[:-1])
    for parameter, piece in zip(parameters, pieces, strict=True):
        parameter.value = piece.reshape(parameter.shape)
    problem.solve(solver=cp.CLARABEL)
    return np.inf if problem.status == "infeasible" else problem.value


def projection():
    """Distance of a matrix of parameters to a simplex, by rows, plus a linear term."""
    x, p = cp.Variable((2, 3), name="x"), cp.Parameter((2, 3), name="p")
    rng = np.random.default_rng(1)
    c = rng.normal(size=(2, 3))
    return cp.Problem(cp.Minimize(cp.sum_squares(x - p) + cp.sum(cp.multiply(c, x))), [x >= 0, cp.sum(x, axis=1) == 1])


def transport():
    """Linear program: supplies are the parameters, demand must be met, else infeasible."""
    rng = np.random.default_rng(2)
    flow, supply, price = cp.Variable((3, 2), name="flow"), cp.Parameter(3, name="supply"), cp.Parameter(3, name="rent")
    price.value = rng.uniform(1, 2, 3)
    cost = cp.sum(cp.multiply(rng.uniform(1, 3, (3, 2)), flow)) + cp.sum_squares(supply - 1) + price.value @ supply
    return cp.Problem(
        cp.Minimize(cost), [flow >= 0, cp.sum(flow, axis=1) <= supply, cp.sum(flow, axis=0) == [1.0, 1.5]]
    )


def entropy():
    """A maximization with a scalar and a vector parameter, exponential cones, and a domain of its objective."""
    x, budget, shift = cp.Variable(3, name="x"), cp.Parameter(name="budget"), cp.Parameter(3, name="shift")
    value = cp.sum(cp.log(x + shift)) - 0.2 * cp.square(budget)
    return cp.Problem(cp.Maximize(value), [x >= 0, cp.sum(x) <= budget])


CASES = [(projection, 1.0), (transport, 0.3), (entropy, 0.3)]


@pytest.mark.parametrize(("make", "spread"), CASES)
def test_values_slopes_and_half_spaces(make, spread):
    problem = make()
    oracle = CvxpyOracle(problem)
    parameters, sign = problem.parameters(), -1 if make is entropy else 1
    rng = np.random.default_rng(0)
    points = 1.0 + spread * rng.normal(size=(12, oracle.domain.dimension))
    values = [sign * direct(problem, parameters, point) for point in points]
    for point, value in zip(points, values, strict=True):
        cut = oracle.query(Query(point))
        if np.isinf(value):
            assert isinstance(cut, FeasibilityCut)
            assert cut.violation > 0
            continue
        assert isinstance(cut, ObjectiveCut)
        assert cut.value <= value + 1e-8 * abs(value)
        assert value <= cut.upper + 1e-7 * abs(value)
        assert cut.error <= 3e-7 * max(1, abs(value))
        for other, at in zip(points, values, strict=True):
            assert at >= cut.value + cut.subgradient @ (other - point) - 1e-6
    assert any(np.isfinite(values))


@pytest.mark.parametrize(("make", "low"), [(projection, -1.0), (transport, 1.0), (entropy, 0.5)])
def test_conforms(make, low):
    oracle = CvxpyOracle(make())
    points = np.random.default_rng(5).uniform(low, low + 1, (4, oracle.domain.dimension))
    check_oracle(oracle, list(points), tolerance=1e-6, step=1e-2, accuracies=(1e-2, 1e-10))


def test_half_spaces_hold_every_feasible_point():
    problem = transport()
    oracle = CvxpyOracle(problem)
    supply, rng = problem.parameters()[0], np.random.default_rng(3)
    feasible = rng.uniform(0, 2, (200, 3))
    feasible = feasible[feasible.sum(axis=1) >= 2.5]
    for point in rng.uniform(-2, 1, (8, 3)):
        if point.sum() >= 2.5 and point.min() >= 0:
            continue
        assert direct(problem, [supply], point) == np.inf
        cut = oracle.query(Query(point))
        assert isinstance(cut, FeasibilityCut)
        assert np.linalg.norm(cut.normal) == pytest.approx(1)
        assert (cut.violation + (feasible - point) @ cut.normal <= 0).all()
    # one supply is missing: the nearest feasible one is reached through the half-space
    cut = oracle.query(Query(np.array([-1.0, 2.0, 2.0])))
    np.testing.assert_allclose(cut.normal, [-1, 0, 0], atol=1e-6)
    assert cut.violation == pytest.approx(1, abs=1e-5)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("generator", [AnalyticCenter(), Kelley(), LevelSet(), ProximalBundle()], ids=repr)
@pytest.mark.parametrize(("make", "box"), [(projection, (-2, 3)), (transport, (0, 3)), (entropy, (0.1, 4))])
def test_minimum_over_the_parameters(make, box, generator):
    problem = make()
    n = sum(p.size for p in problem.parameters())
    oracle = CvxpyOracle(problem, domain=Box(np.full(n, box[0]), np.full(n, box[1])))
    result = minimize(oracle, generator, rtol=1e-5, max_calls=500)
    assert result.success, result.message
    copies = {id(p): cp.Variable(p.shape) for p in problem.parameters()}
    objective = problem.objective.args[0].tree_copy(copies) * (-1 if make is entropy else 1)
    constraints = [constraint.tree_copy(copies) for constraint in problem.constraints]
    constraints += [side for copy in copies.values() for side in (copy >= box[0], copy <= box[1])]
    truth = cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)
    assert result.lower_bound - 1e-6 <= truth <= result.upper_bound + 1e-6
    assert set(result.cut.extras) == {"flow" if make is transport else "x"}


def test_half_spaces_of_points_that_just_miss():
    """Multipliers have no bound on the edge of the feasible parameters; the cuts there stay true."""
    oracle = CvxpyOracle(transport())
    rng = np.random.default_rng(4)
    inside = rng.dirichlet(np.ones(3), 50) * rng.uniform(2.5, 4, (50, 1))
    edge = np.array([0.9, 1.0, 0.6])
    for short in (0.0, 1e-9, 1e-7, 1e-5, 1e-3):
        cut = oracle.query(Query(edge - short / 3))
        if isinstance(cut, FeasibilityCut):
            assert short >= 1e-7
            assert (cut.violation + (inside - cut.point) @ cut.normal <= 1e-8).all()
        else:
            assert short <= 1e-7
            assert cut.error <= 1e-5
            for point in inside[:10]:
                other = oracle.query(Query(point))
                assert other.upper >= cut.value + cut.subgradient @ (point - cut.point) - 1e-7


def test_linear_programs_have_exact_cuts_by_highs():
    x, p = cp.Variable(2, name="x"), cp.Parameter(2, name="p")
    problem = cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [x >= 0, x[0] + x[1] >= p[0], x[0] <= p[1]])
    oracle = CvxpyOracle(problem, domain=Box([0, 0], [5, 5]), solver="HIGHS")
    cut = oracle.query(Query(np.array([3.0, 1.0])))  # x = (1, 2): value 2 p0 - p1
    assert cut.value == pytest.approx(5)
    np.testing.assert_allclose(cut.subgradient, [2, -1], atol=1e-9)
    np.testing.assert_allclose(cut.extras["x"], [1, 2])
    missing = oracle.query(Query(np.array([1.0, -2.0])))
    assert isinstance(missing, FeasibilityCut)
    assert missing.violation == pytest.approx(2, abs=1e-6)
    np.testing.assert_allclose(missing.normal, [0, -1], atol=1e-9)


def test_the_programs_are_compiled_once_and_the_users_problem_is_left_alone(monkeypatch):
    problem = transport()
    oracle = CvxpyOracle(problem)
    compiled = []
    chain = cp.Problem._construct_chain
    monkeypatch.setattr(
        cp.Problem, "_construct_chain", lambda self, *a, **k: compiled.append(self) or chain(self, *a, **k)
    )
    for point in np.random.default_rng(0).uniform(-1, 2, (20, 3)):
        oracle.query(Query(point))
    assert len({id(one) for one in compiled}) == len(compiled) <= 3
    assert problem.parameters()[0].value is None
    assert problem.status is None


def test_parameters_in_parts():
    """A fixed parameter may multiply variables; the point's order is that of `parameters`; matrices go row by row."""
    x = cp.Variable(2)
    price, need, more = cp.Parameter(2, name="price"), cp.Parameter(name="need"), cp.Parameter((1, 2), name="more")
    problem = cp.Problem(cp.Minimize(price @ x), [x >= more[0], cp.sum(x) >= need])
    with pytest.raises(InvalidArgument, match=r"`problem` must have values.*price"):
        CvxpyOracle(problem, [more, need])
    price.value = np.array([1.0, 3.0])
    oracle = CvxpyOracle(problem, [more, need])
    price.value = np.array([100.0, 100.0])  # taken up at the start, not now
    point = np.array([0.5, 1.0, 4.0])
    assert {name: piece.tolist() for name, piece in oracle.split(point).items()} == {"more": [[0.5, 1.0]], "need": 4.0}
    cut = oracle.query(Query(point))
    assert cut.value == pytest.approx(6, abs=1e-6)
    np.testing.assert_allclose(cut.subgradient, [0, 2, 1], atol=1e-6)


def test_domains_by_default():
    free, positive, negative = cp.Parameter(name="a"), cp.Parameter(2, nonneg=True, name="b"), cp.Parameter(neg=True)
    x = cp.Variable()
    assert repr(CvxpyOracle(cp.Problem(cp.Minimize(x), [x >= free])).domain) == repr(FreeSpace(1, 1e4))
    mixed = CvxpyOracle(cp.Problem(cp.Minimize(x), [x >= free, x >= positive, x >= negative]), radius=7).domain
    assert mixed.lower.tolist() == [-7, 0, 0, -7]
    assert mixed.upper.tolist() == [7, 7, 7, 0]


def test_a_declared_sign_that_the_rules_need():
    x, p = cp.Variable(name="x"), cp.Parameter(pos=True, name="p")
    oracle = CvxpyOracle(cp.Problem(cp.Minimize(cp.power(p, 3) + cp.quad_over_lin(x, p)), [x >= 2]))
    cut = oracle.query(Query(np.array([2.0])))
    assert cut.value == pytest.approx(10, abs=1e-5)
    assert cut.subgradient[0] == pytest.approx(11, abs=1e-3)


def test_outcomes_without_a_cut():
    x, p = cp.Variable(), cp.Parameter(name="p")
    nowhere = CvxpyOracle(cp.Problem(cp.Minimize(x), [x >= p, x >= 1, x <= 0]))
    assert minimize(nowhere, Kelley()).status is Status.EMPTY
    falling = CvxpyOracle(cp.Problem(cp.Minimize(x), [x <= p]))
    with pytest.raises(RuntimeError, match="unbounded below"):
        minimize(falling, Kelley())


def test_a_solver_that_gives_up_proves_nothing():
    x, p = cp.Variable(3), cp.Parameter(3, name="p")
    oracle = CvxpyOracle(cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= p]), options={"max_iter": 1})
    with pytest.raises(RuntimeError, match=r"CLARABEL.*\[0\. 0\. 0\.\].*`solver`") as caught:
        minimize(oracle, Kelley())
    assert caught.value.result.lower_bound == -np.inf
    assert caught.value.result.point is None


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("optimal_inaccurate", "with the status optimal_inaccurate"),
        ("infeasible_inaccurate", "with the status infeasible_inaccurate"),
        ("user_limit", "with the status user_limit"),
        (cp.SolverError("out of luck"), "failed at the parameters .*out of luck"),
        (ZeroDivisionError("inside the solver"), "failed at the parameters .*inside the solver"),
    ],
    ids=str,
)
@pytest.mark.parametrize("program", ["all", "value"])
def test_a_solve_that_fails_in_the_middle_is_named_and_the_result_kept(monkeypatch, status, words, program):
    """The third query on: of all programs, or of the value alone, which the exact penalty can stand in for."""
    target = np.array([0.3, -0.2])
    x, p = cp.Variable(2, name="x"), cp.Parameter(2, name="p")
    problem = cp.Problem(cp.Minimize(cp.norm1(x - target) + cp.sum_squares(x - p)), [x <= 1])
    oracle = CvxpyOracle(problem, domain=Box([-1, -1], [1, 1]))
    queries, solve, query = [], cp.Problem.solve, CvxpyOracle.query

    def counted(self, asked):
        queries.append(asked.point)
        return query(self, asked)

    def failing(self, *args, **kwargs):
        value = solve(self, *args, **kwargs)
        if len(queries) >= 3 and (program == "all" or self is oracle._value.problem):
            if isinstance(status, Exception):
                raise status
            self._status = status
        return value

    monkeypatch.setattr(CvxpyOracle, "query", counted)
    monkeypatch.setattr(cp.Problem, "solve", failing)
    if program == "value" and isinstance(status, str):  # never taken for exact: the penalty's own cut is
        run = minimize(oracle, Kelley(), atol=1e-5, max_calls=60)
        assert run.success
        assert run.lower_bound <= 1e-9
        assert run.upper_bound >= -1e-9
        return
    with pytest.raises(RuntimeError, match=words) as caught:
        minimize(oracle, Kelley(), max_calls=60)
    assert str(caught.value).count("CLARABEL") == 1
    assert np.array2string(queries[2], precision=6, threshold=10) in str(caught.value)
    assert caught.value.result.n_calls == 2
    assert np.isfinite(caught.value.result.upper_bound)


def test_identities_differ():
    made = [CvxpyOracle(transport()), CvxpyOracle(transport(), accuracy=1e-6), CvxpyOracle(projection())]
    x, p = cp.Variable(2, name="x"), cp.Parameter(2, name="p")
    made += [CvxpyOracle(cp.Problem(cp.Minimize(cp.sum(x)), [x >= p, x >= np.array([1.0, c])])) for c in (1.0, 2.0)]
    assert len({oracle.identity() for oracle in made}) == len(made)
    assert CvxpyOracle(transport()).identity() == CvxpyOracle(transport()).identity()


def refusals():
    x, p, q = cp.Variable(2, name="x"), cp.Parameter(2, name="p"), cp.Parameter(name="q")
    s = cp.Parameter((2, 2), symmetric=True, name="s")
    good = cp.Problem(cp.Minimize(cp.sum(x)), [x >= p])
    cut = cp.Minimize(cp.sum(x))
    return [
        ("no problem", lambda: CvxpyOracle(3), "`problem` must be a cvxpy.Problem"),
        ("not convex", lambda: CvxpyOracle(cp.Problem(cp.Minimize(cp.sqrt(x[0])), [x >= p])), r"\(DCP\).*x\[0\]"),
        ("product", lambda: CvxpyOracle(cp.Problem(cp.Minimize(p @ x), [x >= 0])), "variables and parameters .*p @ x"),
        ("not DPP", lambda: CvxpyOracle(cp.Problem(cp.Minimize(cp.sum(x)), [x >= p * q])), r"not at .*\(DPP\) either"),
        (
            "concave",
            lambda: CvxpyOracle(cp.Problem(cp.Minimize(-cp.square(q) + x[0]), [x >= 0])),
            r"not at minimize -\(?[Pp]ower",
        ),
        ("integer", lambda: CvxpyOracle(cp.Problem(cut, [cp.Variable(2, integer=True) >= p])), "continuous"),
        ("none", lambda: CvxpyOracle(cp.Problem(cut, [x >= 0])), "must have parameters"),
        ("symmetric", lambda: CvxpyOracle(cp.Problem(cut, [cp.diag(s) <= x])), "s declares symmetric"),
        ("foreign", lambda: CvxpyOracle(good, [q]), "`parameters` must be parameters of the problem"),
        ("twice", lambda: CvxpyOracle(good, [p, p]), "each once"),
        ("dimension", lambda: CvxpyOracle(good, domain=Box([0], [1])), "`domain` must have dimension 2"),
        ("solver", lambda: CvxpyOracle(good, solver="NONE"), "`solver` must be one of"),
        ("accuracy", lambda: CvxpyOracle(good, accuracy=0), "`accuracy` must lie"),
        ("radius", lambda: CvxpyOracle(good, radius=-1), "`radius` must be positive"),
    ]


@pytest.mark.parametrize(("make", "words"), [pytest.param(*case[1:], id=case[0]) for case in refusals()])
def test_refusals(make, words):
    with pytest.raises(InvalidArgument, match=words):
        make()


@pytest.mark.parametrize("generator", [LevelSet(), LevelSet(center="last"), TrustRegion()], ids=repr)
@pytest.mark.parametrize("steepness", [1e4, 3e4, 1e5])
def test_a_solver_that_is_not_exact_at_a_steep_kink_is_named_and_no_problem_accused(steepness, generator) -> None:
    """The value is ``steepness * norm(p - a) - 2``, as the distance of x from its bound shows: least at p = a."""
    a = np.array([1.3, -0.4, 0.7])
    x, p = cp.Variable(1, name="x"), cp.Parameter(3, name="p")
    rows = [cp.norm(x) <= 3, x + cp.sum(p) >= a.sum() - 2]
    problem = cp.Problem(cp.Minimize(cp.sum(x) + steepness * cp.norm(p - a)), rows)
    oracle = CvxpyOracle(problem, domain=Box(np.full(3, -20.0), np.full(3, 20.0)))
    blamed = ""
    try:
        result = minimize(oracle, generator, rtol=1e-6, max_calls=60)
    except RuntimeError as failure:
        result, blamed = failure.result, str(failure)
    assert "CLARABEL" in blamed or not blamed
    assert result.status is not Status.CONTRADICTION
    assert not result.success or result.lower_bound <= -2 + 4e-6 <= result.upper_bound + 8e-6


@pytest.mark.campaign(10)
@pytest.mark.parametrize("seed", range(40))
def test_a_proven_bound_is_below_the_joint_minimum(seed) -> None:
    """Steep value functions over wide boxes, where a slope that is a little wrong lifts a cut far away."""
    rng = np.random.default_rng(seed)
    n, k, m = (int(one) for one in rng.integers(1, 5, 3))
    A, B, h = rng.normal(size=(m, n)), rng.normal(size=(m, k)), rng.normal(size=m)
    steep, wide = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(0, 4)
    center = rng.normal(size=k) * min(wide / 3, 10)

    def problem(p, rows=()):
        x = cp.Variable(n)
        missed = A @ x - B @ (p - center) - h
        objective = [steep * cp.norm1(missed) + 0.1 * cp.norm1(x), steep * cp.norm(missed) + cp.norm(x - 2)][seed % 2]
        return cp.Problem(cp.Minimize(objective), [cp.abs(x) <= 5, *rows])

    v, tolerances = cp.Variable(k), dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where it does not get there
        joint = problem(v, [cp.abs(v) <= wide])
        right = joint.solve(solver=cp.CLARABEL, **tolerances)
    oracle = CvxpyOracle(problem(cp.Parameter(k)), domain=Box(np.full(k, -wide), np.full(k, wide)))
    for generator in (None, Kelley()):
        with suppress(RuntimeError):  # of the solver, which the message names
            result = minimize(oracle, generator, max_calls=60)
            excess = result.lower_bound - right if joint.status == "optimal" else 0.0
            assert not result.success or excess <= 2e-6 * abs(right) + 1e-8
