"""Pictures of runs in the plane: the sets against other ways to compute them, and what is drawn."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from localization_pictures import plot_localization, trace_localization
from localization_pictures.convex_polygons import area, clip, inside, line_in_window, promised_polygon
from PIL import Image
from provers import PROVERS
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

from oracle_opt import FeasibilityCut, FunctionOracle, InvalidArgument, minimize
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Polyhedron, Simplex
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle, Subgradient

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
SLOPES = np.array([[1.0, 0.2], [-0.3, 1.0], [-1.0, -0.4], [0.5, -1.0], [-0.6, 0.9]])
CONSTANTS = np.array([0.1, -0.2, 0.15, 0.05, 0.3])


def worst(z):
    """Largest of five paraboloids."""
    away = z - SLOPES
    values = SLOPES @ z + CONSTANTS + 0.2 * (away**2).sum(axis=1)
    i = values.argmax()
    return values[i], SLOPES[i] + 0.4 * away[i]


DOMAINS = {
    "box": Box([-2, -2], [3, 2]),
    "ball": Ball(2, 1.5, [0.5, 0.5]),
    "free": FreeSpace(2, radius=4.0),
    "polyhedron": Polyhedron([[1.0, 1.0], [-1.0, 2.0]], [1.5, 2.0], lower=[-2, -1.5], upper=2.0),
    "orthant": NonnegativeOrthant(2, radius=2.0),
}


def test_clipping_by_hand():
    one = np.array([1.0, 0.0])
    assert clip(SQUARE, one, 0.25).tolist() == [[0, 0], [0.25, 0], [0.25, 1], [0, 1]]
    assert clip(SQUARE, np.array([1.0, 1.0]), 0.5).tolist() == [[0, 0], [0.5, 0], [0, 0.5]]
    assert clip(SQUARE, one, 2.0).tolist() == SQUARE.tolist()
    assert clip(SQUARE, one, -0.1).shape == (0, 2)
    assert clip(SQUARE, one, 0.0).tolist() == [[0, 0], [0, 1]]  # a side
    assert clip(clip(SQUARE, one, 0.0), np.array([0.0, 1.0]), 0.5).tolist() == [[0, 0], [0, 0.5]]  # of a segment
    assert clip(np.array([[2.0, 1.0]]), one, 1.0).shape == (0, 2)
    assert area(SQUARE) == 1.0
    assert area(SQUARE[:2]) == 0.0
    assert area(np.array([[0, 0], [2, 0], [0, 3.0]])) == 3.0
    assert inside(SQUARE[::-1], np.array([[0.5, 0.5], [1.5, 0.5], [0.0, 1.0]])).tolist() == [True, False, True]


def test_edges_of_cuts_in_a_window():
    window = (-1.0, 1.0, -2.0, 2.0)
    ends = line_in_window(np.array([1.0, 0.0]), 0.5, window)
    assert sorted(np.round(ends, 12).tolist()) == [[0.5, -2.0], [0.5, 2.0]]
    ends = line_in_window(np.array([1.0, 1.0]), 0.0, window)
    assert sorted(np.round(ends, 12).tolist()) == [[-1.0, 1.0], [1.0, -1.0]]
    assert line_in_window(np.array([1.0, 0.0]), 1.5, window).shape == (0, 2)
    assert line_in_window(np.array([1.0, 0.0]), 150.0, window).shape == (0, 2)


def test_edges_of_random_cuts_in_random_windows():
    """The ends satisfy the equation, and points of the line lie in the window if and only if between them."""
    rng = np.random.default_rng(0)
    shown = 0
    for _ in range(200):
        (left, bottom), (width, height) = rng.normal(scale=5, size=2), rng.uniform(0.5, 3, 2)
        window = (left, left + width, bottom, bottom + height)
        normal = rng.normal(size=2)
        offset = float(normal @ (rng.uniform([left - 1, bottom - 1], [left + width + 1, bottom + height + 1])))
        ends = line_in_window(normal, offset, window)
        along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
        points = offset * normal / (normal @ normal) + np.linspace(-40, 40, 4001)[:, None] * along
        held = (points >= window[::2]).all(axis=1) & (points <= window[1::2]).all(axis=1)
        if len(ends):
            shown += 1
            np.testing.assert_allclose(ends @ normal, offset, atol=1e-12 * 40)
            low, high = sorted(ends @ along)
            between = (points @ along >= low) & (points @ along <= high)
            unsure = np.minimum(abs(points @ along - low), abs(points @ along - high)) < 1e-9
            assert (held == between)[~unsure].all()
        else:
            assert not held.any()
    assert 100 < shown < 200


@pytest.mark.parametrize("seed", range(20))
def test_clipping_against_qhull(seed):
    """Area and corners of random intersections by Qhull's dual hull, from an interior point that HiGHS finds."""
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(12, 2))
    offsets = normals @ rng.uniform(0.3, 0.7, 2) + rng.uniform(0.02, 0.5, 12)
    box = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    rows, rhs = np.vstack([normals, box]), np.r_[offsets, 1, 0, 1, 0]
    polygon = SQUARE
    for normal, offset in zip(normals, offsets, strict=True):
        polygon = clip(polygon, normal, offset)
    lengths = np.linalg.norm(rows, axis=1)
    found = linprog([0, 0, -1], np.column_stack([rows, lengths]), rhs, bounds=[(None, None)] * 2 + [(0, None)])
    corners = HalfspaceIntersection(np.column_stack([rows, -rhs]), found.x[:2]).intersections
    hull = ConvexHull(corners)
    assert area(polygon) == pytest.approx(hull.volume, rel=1e-9)
    assert len(polygon) == len(hull.vertices)
    nearest = np.linalg.norm(polygon[:, None] - corners[None], axis=2).min(axis=1)
    assert nearest.max() < 1e-9


@pytest.mark.parametrize("name", DOMAINS)
def test_the_set_is_what_its_definition_says(name):
    """Random points, classified by the cuts and the domain, lie in the polygon if and only if they belong to it."""
    domain = DOMAINS[name]
    oracle = FunctionOracle(worst, domain)
    rng = np.random.default_rng(1)
    promised = Ball(2, 4.0) if name == "free" else Box([0, 0], [2, 2]) if name == "orthant" else domain
    lower, upper = domain.bounding_box()
    result = minimize(oracle, Ellipsoid(), domain.project(np.array([1.3, 0.1])), keep_cuts=True, max_calls=9)
    points = np.vstack([rng.uniform(lower - 0.1, upper + 0.1, (400, 2)), rng.normal(result.point, 0.2, (400, 2))])
    shown = np.array([promised.contains(z, 0.0) for z in points])
    data = trace_localization(result, domain)
    near = 2e-3 if name in ("ball", "free") else 1e-9  # a ball is shown by its tangents
    for step in data.steps:
        upper_bound = result.history.upper_bound[step.call - 1]
        excess = np.full(len(points), -np.inf)
        for cut in result.history.cuts[: step.call]:
            excess = np.maximum(excess, cut.value + (points - cut.point) @ cut.subgradient - upper_bound)
        held = inside(np.array(step.polygon), points)
        wanted = shown & (excess <= 0)
        unsure = np.array([np.linalg.norm(promised.project(z) - z) < near for z in points]) & ~shown
        assert (held == wanted)[~unsure].all()
        assert wanted.any()
    shares = [step.share for step in data.steps]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.3


@pytest.mark.parametrize("generator", PROVERS, ids=lambda one: type(one).__name__)
def test_the_minimizer_stays_to_the_end(generator):
    oracle = FunctionOracle(worst, DOMAINS["box"])
    best = minimize(oracle, LevelSet(), rtol=1e-10).point
    result = minimize(oracle, generator, [2.5, 1.5], keep_cuts=True, rtol=1e-7)
    data = trace_localization(result, oracle.domain)
    assert len(data.steps) == result.n_calls
    for step in data.steps:
        polygon = np.array(step.polygon)
        middle = polygon.mean(axis=0)
        assert inside(middle + (1 + 1e-4) * (polygon - middle), best[None])[0] or step.share < 1e-12
        assert step.lower_bound <= worst(best)[0] + 1e-9 <= step.upper_bound + 1e-8
    assert data.steps[-1].share < 1e-4


@pytest.mark.to_the_bit
def test_a_run_by_hand():
    """The sum of absolute values: two cuts on a square of area 16 leave 8 and then 7 of it."""
    oracle = FunctionOracle(lambda z: (np.abs(z).sum(), np.sign(z)), Box([-1, -1], [3, 3]))
    data = trace_localization(minimize(oracle, Kelley(), keep_cuts=True), oracle, window=(-2, 4, -2, 4))
    assert data.domain == ((-1, -1), (3, -1), (3, 3), (-1, 3))
    first = data.steps[0]
    assert (first.point, first.center, first.best, first.step) == ((1, 1), (1, 1), (1, 1), "serious")
    assert (first.upper_bound, first.lower_bound, first.share) == (2, pytest.approx(-2), 0.5)
    assert first.polygon == ((-1, -1), (3, -1), (-1, 3))
    (line,) = first.lines
    assert (line.call, line.kind, line.normal, line.offset) == (1, "objective", (1, 1), 2)
    np.testing.assert_allclose(sorted(line.ends), [(-2, 4), (4, -2)])
    assert first.next_point == data.steps[1].point == data.points[1]
    assert data.steps[-1].next_point is None
    assert [len(step.lines) for step in data.steps[:3]] == [1, 2, 3]
    assert data.steps[-1].lines[0].offset == 0  # of the same cut, with the upper bound at the end
    chosen = trace_localization(minimize(oracle, Kelley(), keep_cuts=True), oracle, [3, 1])
    assert [step.call for step in chosen.steps] == [1, 3]
    assert chosen.steps[1].polygon == data.steps[2].polygon


@pytest.mark.to_the_bit
def test_feasibility_cuts_are_kept_with_their_tolerance():
    def function(z):
        if z[0] > 1:
            further = (FeasibilityCut(z, z.sum() - 1.5, np.ones(2)),) if z.sum() > 1.5 else ()
            return FeasibilityCut(z, z[0] - 1, np.array([1.0, 0.0]), further, error=0.25)
        return z @ z, 2 * z

    oracle = FunctionOracle(function, Box([-2, -2], [2, 2]), gives={FeasibilityCut})
    result = minimize(oracle, Kelley(), [2.0, 1.0], keep_cuts=True)
    data = trace_localization(result, oracle)
    first = data.steps[0]
    assert (first.step, first.best, first.upper_bound, first.lower_bound) == ("feasibility", None, None, None)
    assert [(line.kind, line.normal, line.offset) for line in first.lines] == [
        ("feasibility", (1.0, 0.0), 1.25),
        ("feasibility", (1.0, 1.0), 1.5),
    ]
    assert first.share == pytest.approx((13.0 - 0.5 * 1.75**2) / 16)
    heights = [level for level, _ in data.contours]
    assert heights
    assert all(x <= 1.05 for _, line in data.contours for x, _ in line)  # no values where it is infeasible
    plot_localization(result, oracle)


def test_a_segment_is_a_set_too():
    oracle = FunctionOracle(lambda z: ((z @ z), 2 * z), Simplex(2))
    result = minimize(oracle, Kelley(), [0.9, 0.1], keep_cuts=True, max_calls=4)
    data = trace_localization(result, oracle)
    np.testing.assert_allclose(sorted(data.domain), [[0, 1], [1, 0]], atol=1e-12)
    first = np.array(sorted(data.steps[0].polygon))  # 0.82 + 2 (0.9, 0.1) (z - (0.9, 0.1)) <= 0.82
    np.testing.assert_allclose(first, [[0, 1], [0.9, 0.1]], atol=1e-12)
    assert data.contours == ()
    plot_localization(result, oracle)


def test_sets_without_end_are_drawn_in():
    for domain in (Box([-np.inf, 0], np.inf), FreeSpace(2, np.inf), FreeSpace(2, 1e5)):
        oracle = FunctionOracle(lambda z: (z @ z, 2 * z), domain)
        method = ProximalBundle() if domain.bounding_box()[0][0] > -np.inf else Subgradient()
        result = minimize(oracle, method, [1.0, 2.0], keep_cuts=True, max_calls=5)
        data = trace_localization(result, oracle)
        left, right, bottom, top = data.window
        assert all(left < x < right and bottom < y < top for x, y in data.points)
        assert np.isfinite(np.array(data.domain)).all()
    assert right - left < 4e4  # of 2e5


def test_contour_lines_are_those_of_the_function_or_of_the_model():
    oracle = FunctionOracle(lambda z: (z @ z, 2 * z), Box([-2, -2], [2, 2]))
    result = minimize(oracle, Kelley(), [1.0, 0.0], keep_cuts=True, max_calls=1)
    real, model = trace_localization(result, oracle), trace_localization(result, oracle.domain)
    assert (real.of_model, model.of_model) == (False, True)
    for level, line in real.contours:
        np.testing.assert_allclose((np.array(line) ** 2).sum(axis=1), level, atol=0.01)
    for level, line in model.contours:
        np.testing.assert_allclose(1 + 2 * (np.array(line)[:, 0] - 1), level, atol=1e-9)
    assert len({level for level, _ in model.contours}) >= 9


def test_the_data_are_json():
    oracle = FunctionOracle(worst, DOMAINS["ball"])
    data = trace_localization(minimize(oracle, Ellipsoid(), keep_cuts=True, max_calls=5), oracle)
    read = json.loads(json.dumps(data.as_dict(), allow_nan=False))
    assert read["steps"][2]["polygon"] == [list(corner) for corner in data.steps[2].polygon]
    assert read["steps"][2]["lines"][0].keys() == {"call", "kind", "normal", "offset", "ends"}
    assert read["window"] == list(data.window)


def test_pictures(tmp_path):
    oracle = FunctionOracle(worst, DOMAINS["box"])
    result = minimize(oracle, AnalyticCenter(), [2.5, 1.5], keep_cuts=True, rtol=1e-4)
    figure = plot_localization(result, oracle)
    titles = [panel.get_title() for panel in figure.axes]
    assert len(titles) == 6
    assert titles[0].startswith("call 1: ")
    assert titles[-1].startswith(f"call {result.n_calls}: ")
    assert f"{result.upper_bound:.6g}" in titles[-1]
    assert figure.axes[-1].get_xlim() == figure.axes[0].get_xlim()
    near = plot_localization(result, oracle, zoom=True).axes[-1].get_xlim()
    assert near[0] < result.point[0] < near[1] < near[0] + 0.3
    assert [p.get_visible() for p in plot_localization(result, oracle, [1, 2, 3, 4]).axes] == [True] * 4 + [False] * 2
    path = tmp_path / "film.gif"
    plot_localization(result, oracle, film=path, seconds=0.5)
    with Image.open(path) as film:
        assert film.n_frames == result.n_calls
        assert film.info["duration"] == 500
    assert path.stat().st_size < 25_000 * result.n_calls
    figure.savefig(tmp_path / "still.png")


def test_bad_input():
    square = FunctionOracle(lambda z: (z @ z, 2 * z), Box([-2, -2], [2, 2]))
    cube = FunctionOracle(lambda z: (z @ z, 2 * z), Box([-2] * 3, [2] * 3))
    bent = FunctionOracle(lambda z: (-z @ z, -2 * z), Box([-2, -2], [2, 2]), convex=False)
    kept = minimize(square, Kelley(), keep_cuts=True)
    for match, result, domain, further in [
        ("keep_cuts=True", minimize(square, Kelley()), square, {}),
        ("two variables", minimize(cube, Kelley(), keep_cuts=True), cube, {}),
        ("two variables, got 3", minimize(cube, Kelley(), keep_cuts=True), square, {}),
        ("convex", minimize(bent, Subgradient(), keep_cuts=True, max_calls=3), bent, {}),
        ("`domain` must be the domain or the oracle", kept, "box", {}),
        ("`result` must be what", "result", square, {}),
        ("between 1 and", kept, square, {"calls": [0]}),
        ("at least one call", kept, square, {"calls": []}),
        ("`window`", kept, square, {"window": (0, 0, 1, 2)}),
        ("`seconds`", kept, square, {"seconds": 0}),
        ("`zoom`", kept, square, {"zoom": 3}),
    ]:
        with pytest.raises(InvalidArgument, match=match):
            plot_localization(result, domain, **further)


def test_a_polygon_that_is_no_set_is_refused():
    empty = Box([0, 0], [1, 1])
    empty.linear_constraints = lambda: Polyhedron([[1.0, 1.0]], [-1.0], lower=-5, upper=5).linear_constraints()
    with pytest.raises(InvalidArgument, match="nothing is left"):
        promised_polygon(empty, np.zeros((1, 2)))


def test_the_page_has_what_is_measured(monkeypatch):
    docs = Path(__file__).parents[1] / "docs"
    monkeypatch.syspath_prepend(docs)
    maker = runpy.run_path(str(docs / "make_localization.py"))
    page = (docs / "localization.md").read_text()
    oracle, start = maker["problem"](page)
    results = maker["measure"](oracle, start)
    assert maker["table"](oracle, results) in page
    outside = 0
    steps = trace_localization(results["Ellipsoid"], oracle.domain).steps
    for step in steps[:-1]:
        outside += not inside(np.array(step.polygon), np.array([step.next_point]))[0]
    assert (outside, len(steps)) == (7, 27)
    pictures = ("localization.png", "localization_Kelley.gif", "localization_AnalyticCenter.gif")
    assert all(f"](images/{name})" in page for name in pictures)
    assert sum((docs / "images" / name).stat().st_size for name in pictures) < 500_000
