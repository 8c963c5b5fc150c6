"""The data of conic solvers: signs, cones and orders against Clarabel and SCS, from matrices and from cvxpy."""

import clarabel
import cvxpy as cp
import numpy as np
import pytest
import scs
from scipy import sparse

from oracle_opt import Box, InvalidArgument, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley
from oracle_opt.oracles import PositiveSemidefinite
from oracle_opt.oracles.conic import ConicOracle, ConicProblem, Exponential, Nonnegative, Power, SecondOrder, Zero

CLARABEL_CONES = {
    Zero: lambda cone: clarabel.ZeroConeT(cone.dimension),
    Nonnegative: lambda cone: clarabel.NonnegativeConeT(cone.dimension),
    SecondOrder: lambda cone: clarabel.SecondOrderConeT(cone.dimension),
    PositiveSemidefinite: lambda cone: clarabel.PSDTriangleConeT(cone.order),
    Exponential: lambda cone: clarabel.ExponentialConeT(),
    Power: lambda cone: clarabel.PowerConeT(cone.exponent),
}
CONES = [Zero(2), Nonnegative(3), SecondOrder(4), PositiveSemidefinite(3), Exponential(), Power(0.3), Power(0.8)]


def clarabel_value(problem):
    """Optimum of a conic problem by Clarabel, from the same matrices."""
    n = problem.c.size
    P = sparse.csc_matrix((n, n)) if problem.P is None else sparse.csc_matrix(sparse.triu(problem.P))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [CLARABEL_CONES[type(cone)](cone) for cone in problem.cones]
    solved = clarabel.DefaultSolver(P, problem.c, sparse.csc_matrix(problem.A), problem.b, cones, settings).solve()
    assert str(solved.status) == "Solved"
    return solved.obj_val + problem.offset


def inner(cone, rng):
    """A point inside a cone; of `Zero` the only one."""
    match cone:
        case Zero():
            return np.zeros(cone.dimension)
        case Nonnegative():
            return rng.uniform(0.1, 1.0, cone.dimension)
        case SecondOrder():
            u = rng.normal(size=cone.dimension - 1)
            return np.r_[np.linalg.norm(u) + 0.3, u]
        case PositiveSemidefinite():
            factor = rng.normal(size=(cone.order, cone.order))
            return cone.vector(factor @ factor.T)
        case Exponential():
            return np.array([rng.normal(), 1.0, np.exp(1.5)])
        case _:
            return np.array([1.0, 1.2, rng.uniform(-0.5, 0.5)])


def random_problem(cones, rng, quadratic=False):
    """Feasible, and bounded by ``-1 <= x <= 1`` as rows of its own."""
    n = 4
    inside = rng.uniform(-0.5, 0.5, n)
    A = rng.normal(size=(sum(cone.dimension for cone in cones), n))
    s = np.concatenate([inner(cone, rng) for cone in cones])
    rows, sides = np.vstack([A, np.eye(n), -np.eye(n)]), np.r_[A @ inside + s, np.ones(2 * n)]
    R = rng.normal(size=(2, n))
    P = R.T @ R if quadratic else None
    return ConicProblem(rng.normal(size=n), rows, sides, [*cones, Nonnegative(2 * n)], P, rng.normal())


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_every_cone_means_what_it_means_to_clarabel(cone, quadratic):
    rng = np.random.default_rng(CONES.index(cone))
    for _ in range(3):
        problem = random_problem([cone], rng, quadratic)
        known = clarabel_value(problem)
        run = minimize(ConicOracle.from_problem(problem), Kelley(), rtol=1e-6, atol=1e-6, max_calls=400)
        assert run.success
        assert run.lower_bound - 1e-6 <= known <= run.upper_bound + 1e-6
        s = problem.b - problem.A @ run.point
        assert cone.distance(s[: cone.dimension]) <= 1e-7


def test_cones_may_stand_in_any_order():
    rng = np.random.default_rng(9)
    problem = random_problem([CONES[i] for i in (4, 3, 1, 5, 2)], rng, quadratic=True)
    known = clarabel_value(problem)
    run = minimize(ConicOracle.from_problem(problem), AnalyticCenter(), rtol=1e-6, atol=1e-6, max_calls=600)
    assert run.success
    assert run.lower_bound - 1e-6 <= known <= run.upper_bound + 1e-6


def modeled(kind, seed):
    """A cvxpy problem whose conic form has the cone, between others."""
    rng = np.random.default_rng(seed)
    x = cp.Variable(3)
    rows = [x <= 2, x >= -2, cp.sum(x) == 0.5]
    if kind == "second order":
        rows += [cp.norm(rng.normal(size=(4, 3)) @ x - 0.1) <= 1.5 - x[0], cp.norm(x) <= 1.5]
    elif kind == "semidefinite":
        F = rng.normal(size=(3, 4, 4))
        M = 3 * np.eye(4) + sum(x[i] * (F[i] + F[i].T) for i in range(3))
        G = rng.normal(size=(3, 3, 3))
        rows += [M >> 0, 2 * np.eye(3) + sum(x[i] * (G[i] + G[i].T) for i in range(3)) >> 0]
    elif kind == "exponential":
        rows += [cp.log_sum_exp(rng.normal(size=(3, 3)) @ x) <= 2, cp.entr(x[0] + 2.5) >= -3]
    elif kind == "power":
        rows += [cp.PowCone3D(x[0] + 2.5, 3 - x[1], x[2], 0.3), cp.PowCone3D(2.5 + x[1], 1.5, x[0], 0.7)]
    elif kind == "all":
        F = rng.normal(size=(3, 3, 3))
        rows += [3 * np.eye(3) + sum(x[i] * (F[i] + F[i].T) for i in range(3)) >> 0]
        rows += [cp.norm(x) <= 1.5, cp.log_sum_exp(x) <= 2, cp.PowCone3D(x[0] + 2.5, 3 - x[1], x[2], 0.3)]
    return cp.Problem(cp.Minimize(rng.normal(size=3) @ x + (0.3 * cp.sum_squares(x) if seed % 2 else 0)), rows)


@pytest.mark.parametrize("solver", [cp.CLARABEL, cp.SCS])
@pytest.mark.parametrize("kind", ["linear", "second order", "semidefinite", "exponential", "power", "all"])
@pytest.mark.parametrize("seed", range(2))
def test_data_of_solvers_agree_with_their_answers(kind, solver, seed):
    problem = modeled(kind, seed)
    data = problem.get_problem_data(solver, solver_opts={"use_quad_obj": True})[0]
    conic = ConicProblem.from_data(data)
    known = problem.solve(solver=cp.CLARABEL)
    by_scs = problem.solve(solver=cp.SCS, eps=1e-7)
    assert by_scs == pytest.approx(known, abs=1e-4)
    assert clarabel_value(conic) == pytest.approx(known, abs=1e-6)
    if seed == 0:
        run = minimize(ConicOracle.from_problem(conic), Kelley(), rtol=1e-5, atol=1e-5, max_calls=500)
        assert run.success
        assert run.lower_bound - 1e-5 <= known <= run.upper_bound + 1e-5


def test_the_triangle_of_semidefinite_rows_is_found_or_asked_for():
    problem = modeled("semidefinite", 0)
    upper, lower = (problem.get_problem_data(solver)[0] for solver in (cp.CLARABEL, cp.SCS))
    known = problem.solve(solver=cp.CLARABEL)
    bare = [{name: data[name] for name in ("A", "b", "c", "dims")} for data in (upper, lower)]
    for data, triangle in zip(bare, ("upper", "lower"), strict=True):
        with pytest.raises(InvalidArgument, match=r"`triangle` must be said"):
            ConicProblem.from_data(data)
        assert clarabel_value(ConicProblem.from_data(data, triangle=triangle)) == pytest.approx(known, abs=1e-6)
    wrong = ConicProblem.from_data(bare[1], triangle="upper")  # the rows are in another order
    right = ConicProblem.from_data(bare[1], triangle="lower")
    assert abs(wrong.A - right.A).max() > 0.1
    # below order three both triangles are the same
    X = cp.Variable((2, 2), symmetric=True)
    small = cp.Problem(cp.Minimize(cp.trace(X)), [X >> np.array([[1.0, 0.5], [0.5, 2.0]])])
    data = small.get_problem_data(cp.SCS)[0]
    conic = ConicProblem.from_data({name: data[name] for name in ("A", "b", "c", "dims")}, offset=1.0)
    assert clarabel_value(conic) == pytest.approx(4.0, abs=1e-6)


def test_the_data_of_scs_are_what_scs_solves():
    """The lower triangle, as SCS itself reads it: a check of the test above, without cvxpy's way back."""
    data = modeled("semidefinite", 0).get_problem_data(cp.SCS)[0]
    dims = data["dims"]
    cone = {"z": dims.zero, "l": dims.nonneg, "q": list(dims.soc), "s": list(dims.psd)}
    given = {name: data[name] for name in ("b", "c")} | {"A": sparse.csc_matrix(data["A"])}
    solved = scs.SCS(given, cone, verbose=False, eps_abs=1e-8, eps_rel=1e-8).solve()
    assert clarabel_value(ConicProblem.from_data(data)) == pytest.approx(solved["info"]["pobj"], abs=1e-5)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((1, 2, 3), "`data` must be the first of what problem.get_problem_data"),
        ({"A": 1}, "`data` must be the first of what problem.get_problem_data"),
        (cp.Problem(cp.Minimize(cp.Variable())), "`data` must be the first"),
    ],
)
def test_other_data_are_refused(data, words):
    with pytest.raises(InvalidArgument, match=words):
        ConicProblem.from_data(data)


def test_what_from_data_cannot_use_is_refused():
    x = cp.Variable(4, nonneg=True)
    means = cp.Problem(cp.Maximize(cp.geo_mean(x, [1, 2, 3, 4], approx=False)), [cp.sum(x) <= 1])
    data = means.get_problem_data(cp.CLARABEL)[0]
    with pytest.raises(InvalidArgument, match="more than three entries"):
        ConicProblem.from_data(data)
    data = cp.Problem(cp.Minimize(cp.sum(x))).get_problem_data(cp.SCS)[0]
    with pytest.raises(InvalidArgument, match="`triangle` must be 'upper', 'lower' or None"):
        ConicProblem.from_data(data, triangle="left")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"A": np.eye(2)}, "`A` must have shape"),
        ({"A": "matrix"}, "`A` must be a matrix of real numbers"),
        ({"b": [1.0]}, "`b` must have shape"),
        ({"b": None}, "`b` must be an array of real numbers"),
        ({"c": [np.nan, 0.0]}, "`c` must be finite"),
        ({"c": [[1.0, 0.0]]}, r"`c` must have shape \(n,\)"),
        ({"A": [[np.inf, 0.0]] * 3}, "`A` must be finite"),
        ({"cones": SecondOrder(3)}, "`cones` must be a sequence, each a Cone"),
        ({"cones": [SecondOrder]}, r"`cones\[0\]` must be a Cone .* the class SecondOrder; call it"),
        ({"cones": {"q": [3]}}, r"`cones` must be a sequence, each a Cone"),
        ({"offset": "0"}, "`offset` must be a number"),
        ({"P": np.eye(3)}, r"`P` must have shape \(2, 2\)"),
        ({"P": [[1.0, 1.0], [0.0, 1.0]]}, "`P` must be symmetric"),
    ],
)
def test_bad_data_are_named(change, words):
    good = {"c": [1.0, 0.0], "A": np.ones((3, 2)), "b": np.ones(3), "cones": [SecondOrder(3)]}
    for make in (ConicProblem, ConicOracle):
        with pytest.raises(InvalidArgument, match=words):
            make(**(good | change))


def test_it_keeps_its_own_data_and_cannot_be_changed():
    A, b = np.ones((1, 2)), np.ones(1)
    problem = ConicProblem([1, 0], A, b, [Nonnegative(1)])
    A[:], b[:] = 0.0, 0.0
    assert problem.A.tolist() == [[1.0, 1.0]]
    assert problem.b.tolist() == [1.0]
    with pytest.raises(AttributeError):
        problem.c = np.zeros(2)


def test_a_cvxpy_problem_in_place_of_matrices_is_led_to_from_cvxpy():
    problem = modeled("linear", 0)
    with pytest.raises(InvalidArgument, match=r"ConicOracle\.from_cvxpy"):
        ConicOracle(problem, None, None, None)
    with pytest.raises(InvalidArgument, match=r"ConicOracle\.from_cvxpy"):
        ConicOracle.from_problem(problem)
    with pytest.raises(InvalidArgument, match="`domain` must be a Domain such as"):
        ConicOracle.from_cvxpy(problem, domain=3.0)
    assert ConicOracle.from_cvxpy(problem, domain=Box(-9 * np.ones(3), 9 * np.ones(3))).problem.c.size == 3


def test_problems_without_variables_are_their_constants():
    rng = np.random.default_rng(0)
    for _ in range(6):
        value, side = rng.normal(size=2)
        parameter = cp.Parameter(value=value)
        for sense, sign in ((cp.Minimize, 1.0), (cp.Maximize, -1.0)):
            for objective in (value, parameter, cp.Constant([value, 0.0])[0]):
                for rows in ([], [cp.Constant(side) <= side + 1.0], [cp.Constant(side) == side, parameter <= value]):
                    oracle = ConicOracle.from_cvxpy(cp.Problem(sense(objective), rows))
                    run = minimize(oracle, rtol=1e-9)
                    assert run.success
                    assert [run.lower_bound, run.upper_bound] == pytest.approx([sign * value] * 2, abs=1e-8)
                    assert oracle.variables(run.point) == {}
            for row in (
                cp.Constant(side) <= side - 1.0,
                parameter == value + 1.0,
                cp.norm(cp.Constant([3.0, 4.0])) <= 4.9,
            ):
                assert minimize(ConicOracle.from_cvxpy(cp.Problem(sense(value), [row]))).status is Status.EMPTY


@pytest.mark.campaign(2)
@pytest.mark.parametrize("seed", range(4))
def test_infinite_sides_are_absent(seed):
    """The truth is the same problem with these sides left out."""
    rng, inf = np.random.default_rng(seed), np.inf
    x, sides = cp.Variable(4, name="x"), rng.uniform(1, 3, 4)
    infinite = rng.random(4) < 0.5
    high, low = np.where(infinite, inf, sides), np.where(infinite, -inf, -sides)
    c, within = rng.normal(size=4), cp.norm(x - 0.1) <= 5.0
    free = cp.Parameter(4, value=high)
    kept, some = ~infinite, sides[~infinite]
    for rows, left in (
        ([x <= high, x >= -sides], [x[kept] <= some, x >= -sides]),
        ([3.0 * x <= 3.0 * free, low <= x], [cp.abs(x[kept]) <= some]),
        ([cp.abs(x) <= free, cp.norm(x) <= inf], [cp.abs(x[kept]) <= some]),
        (
            [-x <= high, cp.sum(x) <= inf, cp.exp(x) <= high, cp.Constant(2.0) <= inf],
            [-x[kept] <= some, cp.exp(x[kept]) <= some],
        ),
        ([cp.sum_squares(x[:2]) <= inf, x[2] - inf <= x[3], x <= sides], [x <= sides]),
    ):
        problem, truth = (cp.Problem(cp.Minimize(c @ x), [within, *each]) for each in (rows, left))
        run = minimize(ConicOracle.from_cvxpy(problem), rtol=1e-6)
        known = truth.solve(solver="CLARABEL")
        assert run.lower_bound - 1e-5 <= known <= run.upper_bound + 1e-5
        assert run.upper_bound - run.lower_bound <= 1e-4


def test_numbers_that_are_not_finite_are_refused_in_the_words_of_the_model():
    x, inf = cp.Variable(2, name="x"), np.inf
    infinite = cp.Parameter(2, value=[inf, 1.0], name="far")
    for row, word in (
        (x <= -inf, "x <= -inf"),
        (x >= inf, "inf <= x"),
        (x == infinite, "x == far"),
        (cp.multiply(infinite, x) <= 1, "far [*] x <= 1"),
        (cp.norm(x - infinite) <= 1, "far"),
        (x <= np.nan, "x <= nan"),
        (cp.SOC(cp.Constant(inf), x), "SOC"),
    ):
        with pytest.raises(InvalidArgument, match=f"^`problem` must have finite numbers .*; look at .*{word}"):
            ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0, row]))
    with pytest.raises(InvalidArgument, match=r"^`problem` must have finite numbers .*; look at minimize"):
        ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(x) + inf), [x >= 0]))


def test_what_breaks_the_rules_is_named():
    x, on = cp.Variable(name="x"), cp.Variable(2, boolean=True, name="on")
    count = cp.Variable(integer=True, name="count")
    for problem, words in (
        (
            cp.Problem(cp.Minimize(x), [x >= 1, cp.sqrt(x + 1) <= 2]),
            ("not at PowerApprox(x + 1.0, 0.5) <= 2.0", "DQCP"),
        ),
        (cp.Problem(cp.Minimize(x + cp.ceil(x)), [x >= 1]), ("not at ceil(x)",)),
        (cp.Problem(cp.Minimize(x + on[0] + count), [x >= 1]), ("these are whole: ", "on", "count")),
    ):
        with pytest.raises(InvalidArgument) as refusal:
            ConicOracle.from_cvxpy(problem)
        assert all(word in str(refusal.value) for word in words)
