"""Domains as a user writes them, with every generator whose needs they answer; none is asked for its class."""

import ast
from functools import cache
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from affine_pieces import largest
from own_domains import (
    AXES,
    BUDGET,
    CENTER,
    LOWER,
    OWN,
    PRICES,
    SCALE,
    UPPER,
    BudgetBox,
    Ellipsoidal,
    Everywhere,
    N,
    ScaledSimplex,
    each_domain,
)
from table import classes, serving

import oracle_opt.domains
from oracle_opt import Curvature, FunctionOracle, NonnegativeOrthant, Oracle, QueryPointGenerator, Status, minimize
from oracle_opt import generators as shipped
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut
from oracle_opt.domains import Ball, Box, Domain, FreeSpace, Polyhedron, ProductOfSimplices, Simplex, SimplexBlocks
from oracle_opt.oracles import ConicOracle, MaxEigenvalueOracle, Nonnegative
from oracle_opt.testing import ConformanceError, check_domain

GENERATORS: list[QueryPointGenerator] = [entry.make() for entry in classes().values()]


def quadratic(domain, seed):
    """``1/2 |R (z - target)|^2`` with its curvature, and as an expression."""
    rng = np.random.default_rng(seed)
    root, target = np.eye(N) + 0.3 * rng.normal(size=(N, N)), 2.0 * rng.normal(size=N)

    def function(z):
        away = root @ (z - target)
        return ObjectiveCut(z, 0.5 * float(away @ away), root.T @ away, answers=(Curvature(root),))

    return FunctionOracle(function, domain, gives={Curvature}), lambda z: 0.5 * cp.sum_squares(root @ (z - target))


def maximum(domain, seed):
    """The largest of 20 affine functions, bounded below everywhere."""
    rng = np.random.default_rng(seed)
    slopes, constants = rng.normal(size=(20, N)), rng.normal(size=20)
    slopes[-1] = -slopes[:-1].sum(axis=0) / 19

    return FunctionOracle(largest(slopes, constants), domain), lambda z: cp.max(slopes @ z + constants)


def optimum(expression, constraints) -> float:
    z = cp.Variable(N)
    problem = cp.Problem(cp.Minimize(expression(z)), constraints(z))
    return float(problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9))


@each_domain
def test_a_domain_serves_where_its_methods_suffice(name: str) -> None:
    domain, _, met = OWN[name]
    assert {type(one).__name__ for one in GENERATORS if one.refusal(domain) is None} == serving(*met)


PAIRS = [
    (name, one)
    for name, (_, _, met) in OWN.items()
    for one in GENERATORS
    if type(one).__name__ in serving(*met) and one.needs <= {Curvature}  # answers that the functions below give
]
CERTIFIES = ("AnalyticCenter", "Ellipsoid", "Kelley", "LevelSet", "NewtonBundle", "ProximalBundle", "TrustRegion")
DESCENDS = ("FrankWolfe", "LBFGS", "ProjectedGradient", "QuasiNewton", "ReducedGradient", "SPG")


@cache
def minimum(name: str, make, seed: int) -> float:
    """Optimum of one of the functions on one of the domains, with which all generators are compared."""
    domain, constraints, _ = OWN[name]
    return optimum(make(domain, seed)[1], constraints)


@pytest.mark.campaign(3)
@pytest.mark.parametrize(("make", "seed"), [(quadratic, 0), (maximum, 1)])
@pytest.mark.parametrize(
    ("name", "generator"), PAIRS, ids=lambda part: part if isinstance(part, str) else type(part).__name__
)
def test_own_domains_reach_the_optimum(make, seed: int, name: str, generator: QueryPointGenerator) -> None:
    kind = type(generator).__name__
    domain = OWN[name][0]
    oracle, _ = make(domain, seed)
    truth = minimum(name, make, seed)
    calls = 1500 if kind in CERTIFIES or kind in DESCENDS else 200
    result = minimize(oracle, generator, rtol=1e-6, max_calls=calls, keep_cuts=True)
    rounding = 1e-7 * max(1.0, abs(truth))
    history = result.history
    assert (history.lower_bound <= truth + rounding).all()
    assert (history.upper_bound >= truth - rounding).all()
    assert all(domain.contains(cut.point, 1e-8) for cut in history.cuts)
    if kind in CERTIFIES:
        assert result.status is Status.CONVERGED, result.message
    elif kind in DESCENDS and make is quadratic:
        assert result.upper_bound <= truth + 1e-4 * max(1.0, abs(truth)), result.message


def test_an_eigenvalue_on_all_of_space_with_a_promise_of_its_own() -> None:
    """The relaxed max-cut of a ring of five, whose value is known."""
    ring = np.roll(np.eye(5), 1, axis=0)
    laplacian, rows = 2 * np.eye(5) - ring - ring.T, [np.diag(row) for row in np.eye(5)]
    oracle: Oracle = MaxEigenvalueOracle(laplacian / 4, rows, np.ones(5), trace=5, domain=Everywhere(5, 10.0))
    truth = 5 * (5 + np.sqrt(5)) / 8
    result = minimize(oracle, shipped.SpectralBundle(), rtol=1e-8, max_calls=40)
    assert result.success
    assert (result.history.lower_bound <= truth + 1e-9).all()
    assert (result.history.upper_bound >= truth - 1e-9).all()


def test_a_conic_oracle_takes_rows_into_a_space_of_the_users_own() -> None:
    """min x + y where x >= 1, y >= 2 x, as it does on `FreeSpace`."""
    A, b = [[-1.0, 0.0], [2.0, -1.0]], [-1.0, 0.0]
    oracle = ConicOracle([1.0, 1.0], A, b, [Nonnegative(2)], domain=Everywhere(2, 50.0), hold_rows=True)
    assert FeasibilityCut not in oracle.gives
    result = minimize(oracle, shipped.Kelley())
    assert result.lower_bound - 1e-7 <= 3.0 <= result.upper_bound + 1e-7
    assert result.success


@each_domain
def test_own_domains_pass_the_check(name: str) -> None:
    check_domain(OWN[name][0])


SHIPPED = [
    Simplex(6, 3.5),
    ProductOfSimplices([1, 3, 2]),
    Box(LOWER, UPPER),
    Box([0.0, 1.0, 2.0], [0.0, 3.0, 2.0]),
    Box([1.0, 2.0], [1.0, 2.0]),
    NonnegativeOrthant(4, 200.0),
    NonnegativeOrthant(4),
    Ball(4, 2.0, np.arange(4.0)),
    FreeSpace(4, 100.0, np.arange(4.0)),
    FreeSpace(4, np.inf),
    Polyhedron(np.eye(3)[:2] + 1.0, [1.0, 1.0], lower=0.0, upper=1.0),
]


@pytest.mark.parametrize("domain", SHIPPED, ids=repr)
def test_shipped_domains_pass_the_check(domain: Domain) -> None:
    check_domain(domain)


class Wrong(ScaledSimplex):
    """A domain with one false answer."""

    def __init__(self, name, answer):
        super().__init__(SCALE, 3.0)
        setattr(self, name, lambda *given: answer)


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("bounding_box", (np.zeros(N), np.ones(N)), "`bounding_box` holds every point"),
        ("enclosing_ball", (np.zeros(N), 1.0), "`enclosing_ball` holds every point"),
        ("enclosing_ellipsoid", (np.ones(N), np.eye(N)), "`enclosing_ellipsoid` holds every point"),
        ("deepest_cut", (np.eye(N)[0], 1.0), "`deepest_cut` is None at points"),
        ("simplices", SimplexBlocks((N,), 3.0), "linear_constraints|`simplices` describes the set"),
        ("promised_polyhedron", Box(-np.ones(N), 20 * np.ones(N)), "`promised_polyhedron` is a part of the set"),
    ],
)
def test_false_answers_are_named(name: str, answer, words: str) -> None:
    with pytest.raises(ConformanceError, match=words):
        check_domain(Wrong(name, answer))


def test_a_projection_that_takes_no_metric_has_to_say_so() -> None:
    class Silent(Ellipsoidal):
        euclidean_only = False

    with pytest.raises(ConformanceError, match="say `euclidean_only = True`"):
        check_domain(Silent(CENTER, AXES))


@each_domain
@pytest.mark.parametrize("seed", range(5))
def test_defaults_are_true_of_the_set(name: str, seed: int) -> None:
    """Box, ball and ellipsoid hold what the set holds; a cut holds it, too, and cuts its point off."""
    domain, rng = OWN[name][0], np.random.default_rng(seed)
    lower, upper = domain.bounding_box()
    center, radius = domain.enclosing_ball()
    middle, axes = domain.enclosing_ellipsoid()
    for _ in range(20):
        point = domain.minimize_linear(rng.normal(size=N))[1]
        assert (point >= lower - 1e-9).all()
        assert (point <= upper + 1e-9).all()
        assert np.linalg.norm(point - center) <= radius + 1e-9
        inside = np.linalg.lstsq(axes, point - middle, rcond=None)[0]
        assert np.linalg.norm(inside) <= 1 + 1e-9
        np.testing.assert_allclose(middle + axes @ inside, point, atol=1e-8)
        outside = middle + axes @ (3.0 * inside)
        cut = domain.deepest_cut(outside, axes, 1e-12)
        if domain.contains(outside) and not (name in ("above", "everywhere") and cut):
            assert cut is None
            continue
        normal, depth = cut
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        assert depth > 0
        assert depth + domain.minimize_linear(-normal)[0] * -1.0 - normal @ outside <= 1e-8


def test_generators_ask_no_domain_for_its_class() -> None:
    """A domain's answers decide, so that a user's own is as good as any."""
    folder, known = Path(__file__).parent.parent / "generators", set(oracle_opt.domains.__all__)
    asked = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
            if called in ("isinstance", "issubclass"):
                names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
                asked += [f"{path.name}:{node.lineno} {name}" for name in names & known]
            elif isinstance(node, ast.Compare | ast.MatchClass):
                parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.cls]
                names = {one.id for part in parts for one in [part] if isinstance(one, ast.Name)}
                asked += [f"{path.name}: {name}" for name in names & known]
    assert asked == []


class Only(Domain):
    """The three methods of another domain, and those of its further answers that are named."""

    def __init__(self, of: Domain, *names: str, euclidean_only: bool = False):
        self.of, self.dimension, self.euclidean_only = of, of.dimension, euclidean_only
        for name in names:
            setattr(self, name, getattr(of, name))

    def project(self, point, metric=None):
        return self.of.project(point, metric)

    def minimize_linear(self, slope):
        return self.of.minimize_linear(slope)

    def interior_point(self):
        return self.of.interior_point()


DIAGONAL, DESCRIBED, ENDS = "and projects in diagonal metrics", "`linear_constraints`", "and is bounded"
BOUNDS, FREE = f"{DESCRIBED} that are bounds alone", f"{DESCRIBED} without any constraint"
TABLE = [
    (Only(Ellipsoidal(CENTER, AXES), euclidean_only=True), {ENDS}),
    (Only(BudgetBox(LOWER, UPPER, PRICES, BUDGET)), {ENDS, DIAGONAL}),
    (Only(FreeSpace(N, np.inf)), {DIAGONAL}),
    (BudgetBox(LOWER, UPPER, PRICES, BUDGET), {ENDS, DIAGONAL, DESCRIBED, f"{DESCRIBED}, {ENDS}"}),
    (Only(NonnegativeOrthant(N), "linear_constraints"), {DIAGONAL, DESCRIBED, BOUNDS}),
    (FreeSpace(N, np.inf), {DIAGONAL, DESCRIBED, BOUNDS, FREE}),
    (Only(ProductOfSimplices([2, 4]), "simplices"), {ENDS, DIAGONAL, DESCRIBED, f"{DESCRIBED}, {ENDS}", "`simplices`"}),
    (
        Only(Simplex(N), "simplices", euclidean_only=True),
        {ENDS, DESCRIBED, f"{DESCRIBED}, {ENDS}", "`simplices`", "`simplices` of one block"},
    ),
]


def test_the_table_of_the_page_is_true() -> None:
    """Each domain serves the generators of the rows that it answers, and no others."""
    page = (Path(__file__).parent.parent / "docs" / "write_a_domain.md").read_text()
    lines = page.split("|---|---|\n")[1].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    served = {answer: set(names.replace("`", "").split(", ")) for answer, names in rows}
    told = set().union(*served.values())
    assert sum(map(len, served.values())) == len(told)
    assert told <= set(classes())
    for domain, answers in TABLE:
        expected = set().union(*(served[answer] for answer in ("the three methods", *answers)))
        assert {type(one).__name__ for one in GENERATORS if one.refusal(domain) is None} & told == expected, domain


@each_domain
def test_the_ball_by_default_reaches_to_the_farthest_corner(name: str) -> None:
    """Of the bounding box, from the interior point: by all its corners."""
    domain = OWN[name][0]
    center, radius = Domain.enclosing_ball(domain)
    lower, upper = domain.bounding_box()
    np.testing.assert_array_equal(center, domain.interior_point())
    corners = np.where((np.arange(2**N)[:, None] >> np.arange(N)) & 1, upper, lower)
    assert radius == pytest.approx(np.linalg.norm(corners - center, axis=1).max())
