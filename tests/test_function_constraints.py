"""Constraints that are functions: every point called feasible is, bounds bracket what Clarabel finds."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, EmptyLocalizationSet, FunctionOracle, InvalidArgument, InvalidCut, Polyhedron, minimize
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle


def _random_program(seed):
    """A quadratic over two ellipsoids and a half-space, as an oracle and for cvxpy."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    target, a = rng.normal(0, 2, n), rng.normal(size=n)
    factors = rng.normal(size=(2, n, n)) + 2 * np.eye(n)
    scale = 10.0 ** rng.integers(-3, 4)  # constraints in odd units

    def ellipsoid(factor):
        return lambda z: (scale * (np.linalg.norm(factor @ z) - 2), scale * _slope(factor, z))

    constraints = [ellipsoid(factors[0]), ellipsoid(factors[1]), lambda z: (a @ z - 0.1, a)]
    oracle = FunctionOracle(
        lambda z: ((z - target) @ (z - target), 2 * (z - target)),
        Box(np.full(n, -5.0), np.full(n, 5.0)),
        constraints=constraints,
    )
    z = cp.Variable(n)
    held = [*(cp.norm(factor @ z) <= 2 for factor in factors), a @ z <= 0.1, cp.abs(z) <= 5]
    known = cp.Problem(cp.Minimize(cp.sum_squares(z - target)), held).solve(solver=cp.CLARABEL)
    return oracle, known


def _slope(factor, z):
    norm = np.linalg.norm(factor @ z)
    return factor.T @ (factor @ z) / norm if norm else np.zeros(len(z))


@pytest.mark.campaign(5)
@pytest.mark.parametrize(
    "generator", [None, Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle(), Ellipsoid()], ids=repr
)
@pytest.mark.parametrize("seed", range(4))
def test_constrained_functions_match_clarabel(seed, generator):
    oracle, known = _random_program(seed)
    result = minimize(oracle, generator, rtol=1e-5, max_calls=2000)
    assert result.success, result
    slack = 1e-6 * max(1.0, abs(known))
    assert result.lower_bound - slack <= known <= result.upper_bound + slack
    assert all(value <= most for value, most in oracle.missed(result.point))


@pytest.mark.to_the_bit
@pytest.mark.parametrize("seed", range(20))
def test_no_point_that_counts_as_feasible_is_cut_off_by_more_than_the_error(seed):
    oracle, _ = _random_program(seed)
    rng = np.random.default_rng(seed)
    n = oracle.domain.dimension
    asked = rng.uniform(-5, 5, (20, n))
    inside = [z for z in rng.normal(0, 0.5, (200, n)) if all(value <= most for value, most in oracle.missed(z))]
    for point in asked:
        cut = oracle.query(Query(point))
        if isinstance(cut, ObjectiveCut):
            continue
        violated = [(value, most) for value, most in oracle.missed(point) if value > most]
        violated.sort(key=lambda one: -one[0] / one[1])
        assert [(one.violation, one.error) for one in (cut, *cut.further)] == violated
        for one in (cut, *cut.further):
            rounding = 1e-12 * (abs(one.violation) + abs(one.normal).sum() * 10)
            assert all(one.violation + one.normal @ (z - point) <= one.error + rounding for z in inside)


def test_the_function_is_not_asked_where_a_constraint_is_violated():
    asked = []

    def root(z):
        asked.append(z[0])
        return -np.sqrt(z[0]), -0.5 / np.sqrt(z)

    minimize(
        FunctionOracle(root, Box([-1.0], [1.0]), constraints=[lambda z: (0.01 - z[0], np.array([-1.0]))]), Kelley()
    )
    assert asked
    assert min(asked) >= 0.01 - 1e-9


def test_a_constraint_that_is_nowhere_satisfied_ends_the_run():
    oracle = FunctionOracle(lambda z: (z @ z, 2 * z), Box([-1.0], [1.0]), constraints=[lambda z: (z @ z + 1, 2 * z)])
    with pytest.raises(EmptyLocalizationSet, match=r"constraints\[0\]"):
        oracle.query(Query(np.zeros(1)))
    assert minimize(oracle, Kelley()).status.name == "EMPTY"


def test_constraints_are_part_of_the_identity():
    def domain():
        return Box([-1.0], [1.0])

    def f(z):
        return z @ z, 2 * z

    free, held = FunctionOracle(f, domain()), FunctionOracle(f, domain(), constraints=[f])
    looser = FunctionOracle(f, domain(), constraints=[f], tolerance=1e-6)
    assert len({free.identity(), held.identity(), looser.identity()}) == 3
    assert held.gives == {FeasibilityCut}
    assert not free.gives


@pytest.mark.parametrize(
    ("constraints", "named"),
    [(lambda z: (0, z), "constraints"), ([1], r"constraints\[0\]"), (5, "constraints"), ("no", "constraints")],
    ids=["a function", "a number in a list", "a number", "a text"],
)
def test_what_is_no_list_of_functions_is_refused(constraints, named):
    with pytest.raises(InvalidArgument, match=named):
        FunctionOracle(lambda z: (z @ z, 2 * z), Box([-1.0], [1.0]), constraints=constraints)


@pytest.mark.parametrize(
    "answer", [None, 1.0, (1.0,), (np.inf, np.ones(1)), (np.nan, np.ones(1)), (1.0, [np.nan])], ids=repr
)
def test_a_constraint_that_answers_no_numbers_is_refused_by_its_number(answer):
    oracle = FunctionOracle(lambda z: (z @ z, 2 * z), Box([-1.0], [1.0]), constraints=[lambda z: answer])
    with pytest.raises(InvalidCut, match=r"constraints\[0\]"):
        oracle.query(Query(np.zeros(1)))


@pytest.mark.campaign(4)
@pytest.mark.parametrize("seed", range(12))
def test_a_constraint_is_held_in_the_unit_of_its_own_terms(seed):
    """Balls and slabs of random sizes, in domains up to 1e6 times as wide: the minimum is known by hand."""
    rng = np.random.default_rng(seed)
    size, reach, unit = 10.0 ** rng.uniform([-4, 1, -8], [4, 6, 8])
    n = int(rng.integers(1, 4))
    a = rng.normal(size=n)
    a /= np.linalg.norm(a)

    def ball(z):
        return unit * (z @ z / size**2 - 1.0), unit * 2.0 * z / size**2

    def slab(z):
        height = a @ z / size
        return unit * (height**4 - 1.0), unit * 4.0 * height**3 * a / size

    constraint = (ball, slab)[seed % 2]
    domain = Box(np.full(n, -reach * size), np.full(n, 3.0 * reach * size))
    oracle = FunctionOracle(lambda z: (-(a @ z) / size, -a / size), domain, constraints=[constraint])
    for generator in (None, Kelley(), LevelSet()):
        result = minimize(oracle, generator, rtol=1e-6, max_calls=500)
        # the slab has no end across: far out its terms are large, and what the best point misses may be worth more
        assert result.success or constraint is slab, result.message
        assert result.lower_bound <= -1.0 + 1e-6
        assert result.upper_bound >= -1.0 - 1e-6 or not result.success


def test_what_the_best_point_misses_has_a_price_and_is_repaired():
    """With a coarse tolerance the best value lies below the minimum: the point moves inside, or the run says so."""
    target, n_repaired = np.array([2.0, 1.0]), 0
    for tolerance in (1e-12, 1e-6, 1e-4, 1e-2):
        oracle = FunctionOracle(
            lambda z: (float((z - target) @ (z - target)), 2 * (z - target)),
            Box([-3.0, -3.0], [3.0, 3.0]),
            constraints=[lambda z: (z @ z - 1.0, 2 * z)],
            tolerance=tolerance,
        )
        true = (np.sqrt(5.0) - 1.0) ** 2
        for generator in (Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()):
            result = minimize(oracle, generator, rtol=1e-6, max_calls=300)
            if result.success:
                assert result.upper_bound >= true * (1 - 1e-6)
                assert result.upper_bound + result.price >= true * (1 - 1e-9)
            else:
                assert "may be" in result.message or "was wanted" in result.message
            if result.point @ result.point > 1.0 + 1e-12:
                assert result.success or result.price > 0
                assert result.violation > 0
            n_repaired += tolerance >= 1e-4 and bool(result.point @ result.point <= 1.0 + 1e-12)
    assert n_repaired > 0


@pytest.mark.parametrize("seed", range(6))
def test_an_equality_as_two_constraints_is_refused_with_the_way_into_the_domain(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    scales = 10.0 ** rng.integers(-6, 7, size=2)  # of the two, and of the others
    a, inside = rng.normal(size=n), rng.uniform(-0.5, 0.5, n)
    side, target = a @ inside, rng.normal(size=n)
    pair = [
        lambda z: (scales[0] * (a @ z - side), scales[0] * a),
        lambda z: (scales[1] * (side - a @ z), -scales[1] * a),
    ]
    others = [lambda z: (z @ z - 4.0 * n, 2 * z)]
    box = np.full(n, -2.0), np.full(n, 2.0)

    def answer(z):
        return (z - target) @ (z - target), 2 * (z - target)

    with pytest.raises(
        InvalidArgument, match=r"`constraints\[.\]` are opposite: both hold where .* domain=Polyhedron"
    ) as refused:
        minimize(FunctionOracle(answer, Box(*box), constraints=[pair[0], *others, pair[1]]), point=np.full(n, 1.0))
    assert refused.value.result.n_calls <= 10
    domain = Polyhedron(equality_matrix=[a], equality_rhs=[side], lower=box[0], upper=box[1])
    assert minimize(FunctionOracle(answer, domain, constraints=others), rtol=1e-4).success
    slab = [pair[0], lambda z: (scales[1] * (side - 0.1 - a @ z), -scales[1] * a)]
    assert minimize(FunctionOracle(answer, Box(*box), constraints=[*others, *slab]), rtol=1e-2).success


def _opposite(seed, kind):
    """Two constraints of opposite normals in a box of any width, and points to ask: corners, in and beside."""
    rng = np.random.default_rng(seed)
    n, unit = int(rng.integers(1, 6)), 10.0 ** rng.integers(-6, 7)
    unit = unit * 10.0 ** rng.integers(-2, 3, n)
    a = rng.normal(size=n) * (rng.random(n) < 0.7) / unit
    a[rng.integers(n)] += 1.0 / unit.max()
    upper = 10.0 ** rng.integers(0, 14) * unit * rng.uniform(0.1, 1, (2, n))
    lower, upper = -upper[0], upper[1]
    inside = rng.uniform(lower, upper) * rng.choice([0.0, 1e-3, 1.0])
    away = inside if kind == "written from inside" else np.zeros(n)  # its terms are large, and it may be thin
    side = a @ (inside - away) + rng.choice([0.0, 1.0, rng.normal()]) * 10.0 ** rng.integers(-2, 3)
    width = 0.0 if kind == "equation" else max(10.0 ** rng.integers(-13, 1), 1e-12 * abs(side))

    def constraint(sign, scale):
        def answer(z):
            height = sign * (a @ (z - away) - side) - width * (sign > 0)
            steep = np.exp(min(height, 600.0)) if kind == "curved" else 1.0
            return scale * (steep - 1.0 if kind == "curved" else height), scale * sign * steep * a

        return answer

    pair = [constraint(sign, 10.0 ** rng.integers(-6, 7)) for sign in (1.0, -1.0)]
    beside = inside + np.array([0.0, 1e-15, -1e-9, 1e-3])[:, None] * max(abs(side), 1.0) * a / (a @ a)
    corners = np.where(rng.random((4, n)) < 0.5, lower, upper)
    oracle = FunctionOracle(lambda z: (z @ z, 2 * z), Box(lower, upper), constraints=pair)
    return oracle, np.clip([*corners, *beside], lower, upper)


@pytest.mark.campaign(8)
@pytest.mark.parametrize("seed", range(0, 400, 10))
@pytest.mark.parametrize("kind", ["slab", "written from inside", "curved", "equation"])
def test_a_slab_of_any_width_in_any_box_is_no_equation(kind, seed):
    refused = []
    for oracle, points in (_opposite(one, kind) for one in range(seed, seed + 10)):
        refused.append(oracle.domain.dimension == 1 and kind == "equation")
        for point in points:
            try:
                oracle.query(Query(point))
            except InvalidArgument:
                refused[-1] = True
    assert sum(refused) >= 7 if kind == "equation" else not any(refused)


@pytest.mark.parametrize("n", [1, 3])
def test_a_swapped_pair_is_asked_about(n):
    def swapped(z):
        return 2 * z, z @ z

    for options in ({"constraints": [swapped]}, {}):
        function = (lambda z: (z @ z, 2 * z)) if options else swapped
        with pytest.raises(InvalidCut, match="did you swap them"):
            minimize(FunctionOracle(function, Box(-np.ones(n), np.ones(n)), **options))
