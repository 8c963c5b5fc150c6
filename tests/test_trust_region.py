"""Trust regions: the masters in a ball and in a box, Kelley's points without a region, the end on pieces."""

import cvxpy as cp
import numpy as np
import pytest
from affine_pieces import largest
from scipy.optimize import linprog

from oracle_opt import CapabilityMismatch, FunctionOracle, InvalidArgument, ObjectiveCut, Status, minimize, problems
from oracle_opt.domains import Ball, Box, FreeSpace, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.generators import Kelley, LevelSet, TrustRegion
from oracle_opt.generators.masters import CuttingPlaneModel, LevelProjection
from oracle_opt.testing import check_generator

NORMS = ("ball", "box")


def pieces(n, seed, count=24):
    """Slopes and constants of random affine functions, the last through the origin."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, n)), rng.normal(size=count)


DOMAINS = {
    "box": Box(np.full(6, -2.0), np.full(6, 1.5)),
    "widths": Box(-np.geomspace(1e-3, 1e3, 6), np.geomspace(1e-3, 1e3, 6)),
    "one variable fixed": Box([-1.0, -1, 0.5, -1, -1, -1], [1.0, 1, 0.5, 2, 1, 1]),
    "simplex": Simplex(6),
    "simplices": ProductOfSimplices([2, 4], 3.0),
    "polyhedron": Polyhedron(np.ones((1, 6)), [1.0], lower=-np.ones(6), upper=np.ones(6)),
    "promised ball": FreeSpace(6, 20.0),
}


def least(domain, slopes, constants, ball=None, box=None):
    """Minimum of the largest of affine functions on a domain, in a ball or a box, by Clarabel."""
    known = domain.linear_constraints()
    z, t = cp.Variable(domain.dimension), cp.Variable()
    rows = [slopes @ z + constants <= t]
    rows += [z[k] >= bound for k, bound in enumerate(known.lower) if np.isfinite(bound)]
    rows += [z[k] <= bound for k, bound in enumerate(known.upper) if np.isfinite(bound)]
    if len(known.equality_rhs):
        rows.append(known.equality_matrix @ z == known.equality_rhs)
    matrix, rhs = known.inequalities
    if len(rhs):
        rows.append(matrix @ z <= rhs)
    if ball is not None:
        rows.append(cp.norm(z - ball[0]) <= ball[1])
    if box is not None:
        rows += [z >= box[0], z <= box[1]]
    return float(cp.Problem(cp.Minimize(t), rows).solve(solver="CLARABEL"))


def model_of(domain, seed, calls=12):
    """A model of the largest of random affine functions after some calls."""
    value, rng = largest(*pieces(domain.dimension, seed)), np.random.default_rng(seed)
    model = CuttingPlaneModel(domain)
    for _ in range(calls):
        point = model.domain.project(rng.normal(size=domain.dimension))
        model.add(ObjectiveCut(point, *value(point)))
    return model


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", DOMAINS)
def test_the_point_in_a_ball_has_nine_tenths_of_the_largest_decrease(name, seed) -> None:
    model = model_of(DOMAINS[name], seed)
    levels, center = LevelProjection(model, entropic=False), model.pool.best.point
    far = np.linalg.norm(model.minimum.point - center)
    for share in (2.0, 0.9, 0.3, 0.03, 1e-3, 1e-5):
        point = levels.within(center, share * far)
        rows = model.pool.objective
        found = least(model.domain, rows.matrix, rows.constant, ball=(center, share * far))
        assert np.linalg.norm(point - center) <= share * far * (1 + 1e-9)
        assert model.domain.contains(point, 1e-9)
        # Clarabel's error is about 1e-8 of the values
        assert model.pool.upper - model.pool.value(point) >= 0.89 * (model.pool.upper - found) - 1e-7


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", DOMAINS)
def test_the_minimum_in_a_box_agrees_with_clarabel_and_leaves_the_model_as_it_was(name, seed) -> None:
    model, untouched = model_of(DOMAINS[name], seed), model_of(DOMAINS[name], seed)
    center, width = model.pool.best.point, np.ptp(model.domain.bounding_box(), axis=0)
    rows = model.pool.objective
    for share in (2.0, 0.3, 0.03, 1e-3):
        box = center - share * width, center + share * width
        found = model.minimum_within(*box)
        assert found.value == pytest.approx(least(model.domain, rows.matrix, rows.constant, box=box), abs=1e-6)
        assert (found.point >= box[0] - 1e-9).all()
        assert (found.point <= box[1] + 1e-9).all()
    value = largest(*pieces(model.domain.dimension, seed))
    for each in (model, untouched):
        point = each.domain.project(np.ones(each.domain.dimension))
        each.add(ObjectiveCut(point, *value(point)))
    assert model.minimum.value == pytest.approx(untouched.minimum.value, abs=1e-9)


@pytest.mark.parametrize(("domain", "calls"), [(Simplex(400), 8), (Box(np.zeros(2500), np.ones(2500)), 5)], ids=repr)
def test_boxes_of_many_variables_agree_with_scipy(domain, calls) -> None:
    """A simplex, of whose columns the program holds a part; a box whose model is minimized through its dual."""
    slopes, constants = pieces(domain.dimension, 7)
    model, value = CuttingPlaneModel(domain), largest(slopes, constants)
    for k in range(calls):
        point = domain.project(np.random.default_rng(k).normal(size=domain.dimension))
        model.add(ObjectiveCut(point, *value(point)))
    center, rows = model.pool.best.point, model.pool.objective
    low, high = np.maximum(center - 0.2, 0.0), np.minimum(center + 0.2, 1.0)
    found = model.minimum_within(center - 0.2, center + 0.2)
    known = domain.linear_constraints()
    equations = np.hstack([known.equality_matrix, np.zeros((len(known.equality_rhs), 1))])
    truth = linprog(
        np.eye(domain.dimension + 1)[-1],
        np.hstack([rows.matrix, -np.ones((len(rows), 1))]),
        -rows.constant,
        *((equations, known.equality_rhs) if len(equations) else (None, None)),
        bounds=[*zip(low, high, strict=True), (None, None)],
    )
    # the dual ends at a thousandth of the way to the best value
    assert truth.fun - 1e-7 <= found.value <= truth.fun + 1e-7 + 2e-3 * (model.pool.upper - truth.fun)


def asks_as_kelley(oracle, norm, **options):
    """Without a region, the same points to the last bit."""
    runs = [minimize(oracle, one, **options, keep_cuts=True) for one in (Kelley(), TrustRegion(norm, radius=np.inf))]
    asked = [[cut.point.tobytes() for cut in run.history.cuts] for run in runs]
    assert len(asked[0]) >= 3
    assert asked[0] == asked[1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", DOMAINS)
def test_without_a_region_the_points_are_those_of_kelley_bit_by_bit(name, norm, seed) -> None:
    asks_as_kelley(FunctionOracle(largest(*pieces(6, seed)), DOMAINS[name]), norm, rtol=1e-9, max_calls=60)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("text", ["two-stage(n=20, summands=10, seed=1)", "robust-lp(n=8, seed=1)"])
def test_kelleys_points_where_cuts_have_summands_or_cut_off_points(text, norm) -> None:
    instance = problems.find(text)[0]()
    asks_as_kelley(instance.oracle, norm, point=instance.start, rtol=1e-6, max_calls=40)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", DOMAINS)
def test_on_affine_pieces_the_method_ends_at_the_minimum(name, norm, seed) -> None:
    """Linderoth & Wright (2003), theorem 1: finitely many calls; Marsten, Hogan & Blankenship (1975) for boxes."""
    slopes, constants = pieces(6, seed)
    domain = DOMAINS[name]
    run = minimize(FunctionOracle(largest(slopes, constants), domain), TrustRegion(norm), rtol=1e-9, max_calls=200)
    truth = least(domain.promised_polyhedron(), slopes, constants)
    assert run.status in (Status.CONVERGED, Status.EDGE)
    assert run.lower_bound <= truth + 1e-6 * (1 + abs(truth))
    assert run.upper_bound >= truth - 1e-6 * (1 + abs(truth))


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("norm", NORMS)
def test_the_units_of_values_and_variables_make_no_difference_to_success(norm, unit) -> None:
    for seed in range(3):
        slopes, constants = pieces(8, seed)

        def value(z, slopes=slopes, constants=constants):
            y = z / unit
            values = slopes @ y + constants + 0.5 * y @ y
            i = int(values.argmax())
            return float(values[i]) / unit, (slopes[i] + y) / unit**2

        oracle = FunctionOracle(value, Box(np.full(8, -3 * unit), np.full(8, 3 * unit)))
        assert minimize(oracle, TrustRegion(norm), rtol=1e-6, max_calls=300).success


def test_two_stage_programs_take_no_more_calls_than_level_sets() -> None:
    methods, calls = (LevelSet(), TrustRegion(), TrustRegion("box")), []
    for seed in range(7):
        instance = problems.find(f"two-stage(n={6 + seed}, rows=8, scenarios=15, seed={seed})")[0]()
        runs = [minimize(instance.oracle, one, instance.start, rtol=1e-6, probes=0) for one in methods]
        calls.append([run.n_calls for run in runs])
    level, ball, box = np.median(calls, axis=0)
    assert ball <= level
    assert box <= level


@pytest.mark.parametrize("norm", NORMS)
def test_the_kit_finds_nothing(norm) -> None:
    assert check_generator(TrustRegion(norm))


@pytest.mark.parametrize("domain", [Ball(3), FreeSpace(3, np.inf), Box([0.0, 0.0], [1.0, np.inf])], ids=repr)
def test_domains_without_bounded_rows_are_refused_before_the_first_call(domain) -> None:
    def never(z):
        raise AssertionError

    with pytest.raises(CapabilityMismatch, match="it needs a"):
        minimize(FunctionOracle(never, domain), TrustRegion())


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"norm": "cube"}, "norm"), ({"norm": 2}, "norm"), ({"radius": 0.0}, "radius"), ({"radius": np.nan}, "radius")],
)
def test_wrong_arguments_are_named(wrong, name) -> None:
    with pytest.raises(InvalidArgument, match=f"`{name}` must be"):
        TrustRegion(**wrong)
