"""The level method: how its level adapts, and that the query point is in the level set."""

from dataclasses import replace

import numpy as np
import pytest
from affine_pieces import largest

from oracle_opt import FunctionOracle, InvalidArgument, ObjectiveCut, Status, minimize
from oracle_opt.domains import Box, FreeSpace, Polyhedron, Simplex
from oracle_opt.generators import LevelSet


def cut_at(x: float, value: float, slope: float) -> ObjectiveCut:
    return ObjectiveCut(np.array([x]), value, np.array([slope]))


def after(*cuts: ObjectiveCut, adaptive: bool = True) -> float:
    """Query point on [-1, 1] after some cuts; a point asked for up to rounding is the one asked for."""
    generator = LevelSet(adaptive=adaptive)
    generator.reset(Box([-1.0], [1.0]), np.ones(1))
    for cut in cuts:
        asked = generator.ask()
        generator.tell(replace(cut, point=asked) if np.allclose(asked, cut.point, rtol=0, atol=1e-9) else cut)
    return float(generator.ask()[0])


RIGHT = cut_at(0.6, 0.6, 1.0)  # what the model of the first cut says
WRONG = cut_at(-0.68, 0.3, -1.0)


def test_level_falls_where_the_model_was_right_and_comes_back_where_it_was_wrong() -> None:
    first = cut_at(1.0, 1.0, 1.0)
    assert after(first) == pytest.approx(0.6)  # U = 1, L = -1: -1 + 0.8 * 2
    assert after(first, RIGHT) == pytest.approx(-0.68)  # U = 0.6, L = -1: -1 + 0.2 * 1.6
    # max(x, -x - 0.38) is least at -0.19, U = 0.3: below -0.19 + 0.8 * 0.49 from -0.582 on
    assert after(first, RIGHT, WRONG) == pytest.approx(-0.582)
    assert after(first, RIGHT, adaptive=False) == pytest.approx(0.28)  # -1 + 0.8 * 1.6


def test_an_error_of_more_than_a_few_percent_of_the_predicted_decrease_is_wrong() -> None:
    first = cut_at(1.0, 1.0, 1.0)
    for error, level in ((0.01, 0.2), (0.02, 0.8)):  # of a decrease of 0.4; the cut at -1 stays that of the first
        upper = 0.6 + error
        inexact = ObjectiveCut(np.array([0.6]), 0.6, np.ones(1), error=error)
        assert after(first, inexact) == pytest.approx(-1.0 + level * (upper + 1.0))


def test_cuts_of_an_earlier_run_do_not_lower_the_level() -> None:
    assert after(cut_at(1.0, 1.0, 1.0), cut_at(0.5, 0.5, 1.0)) == pytest.approx(0.2)  # U = 0.5: -1 + 0.8 * 1.5


def test_level_never_falls_below_a_hundredth() -> None:
    generator = LevelSet()
    generator.reset(Box([-1.0], [1.0]), np.ones(1))
    for _ in range(6):
        x = float(generator.ask()[0])
        generator.tell(cut_at(x, x, 1.0))
    upper = x
    assert generator.ask()[0] == pytest.approx(-1.0 + 0.01 * (upper + 1.0), abs=1e-12)


def largest_of(slopes: np.ndarray, constants: np.ndarray, domain) -> FunctionOracle:

    return FunctionOracle(largest(slopes, constants), domain)


@pytest.mark.parametrize("seed", range(4))
def test_a_piecewise_linear_function_takes_half_the_calls_of_the_classic_level(seed) -> None:
    rng = np.random.default_rng(seed)
    oracle = largest_of(rng.normal(size=(20, 10)), rng.normal(size=20), Box(-np.ones(10), np.ones(10)))
    new, classic = (minimize(oracle, LevelSet(adaptive=adaptive), rtol=0.0, atol=1e-7) for adaptive in (True, False))
    assert new.success
    assert classic.success
    assert 2 * new.n_calls <= classic.n_calls
    assert new.upper_bound == pytest.approx(classic.upper_bound, abs=1e-7)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_badly_scaled_equations_do_not_throw_the_point_out_of_the_level_set(seed) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(10, 30)) * 10.0 ** rng.uniform(-2, 2, size=(10, 1)) * 10.0 ** rng.uniform(-1, 1, size=30)
    allowed = rng.exponential(size=30) * (rng.uniform(size=30) < 0.6)
    among = {"equality_matrix": rows, "equality_rhs": rows @ allowed}
    domain = Polyhedron(-np.eye(30)[:1], np.zeros(1), lower=0, upper=1e6, **among)
    slopes = rng.normal(size=(40, 30)) * 10.0 ** rng.uniform(-1, 2, size=(40, 1)) + np.abs(rng.normal(size=30))
    oracle = largest_of(slopes, rng.normal(size=40), domain)
    classic = LevelSet(adaptive=False)
    shares = []

    def watch(record) -> None:
        model = classic._model
        shares.append((model.pool.value(classic.ask()) - model.lower) / model.gap)

    assert minimize(oracle, classic, rtol=5e-7, callback=watch).success
    assert max(shares) <= 0.82
    assert minimize(oracle, LevelSet(), rtol=5e-7, max_calls=60).success


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_level_outside_is_refused(level) -> None:
    oracle = largest_of(np.ones((1, 1)), np.zeros(1), Box([-1.0], [1.0]))
    with pytest.raises(InvalidArgument, match="`level`"):
        minimize(oracle, LevelSet(level))


def largest_of_affine(n: int, seed: int) -> tuple[FunctionOracle, np.ndarray]:
    """On R^n, with a minimizer, where the function is 1, in the promised ball: its slopes mix to 0."""
    rng = np.random.default_rng(seed)
    slopes, minimizer = rng.normal(size=(n + 1, n)), rng.uniform(-0.3, 0.3, n)
    slopes[-1] = -rng.dirichlet(np.ones(n)) @ slopes[:-1]

    def largest(z):
        values = slopes @ (z - minimizer) + 1.0
        i = int(values.argmax())
        return float(values[i]), slopes[i]

    return FunctionOracle(largest, FreeSpace(n, radius=2 * np.sqrt(n))), minimizer


@pytest.mark.parametrize("seed", range(30))
def test_with_the_minimum_known_no_query_moves_away_from_a_minimizer(seed) -> None:
    """Nor is any asked where another was, also where only the proof is left."""
    oracle, minimizer = largest_of_affine(4 + 3 * (seed % 6), seed)
    result = minimize(oracle, LevelSet(target=1.0), rtol=1e-6, max_calls=300, keep_cuts=True)
    points = np.array([cut.point for cut in result.history.cuts])
    away = np.linalg.norm(points - minimizer, axis=1)
    assert result.success
    assert np.diff(away).max() <= 1e-6 * away[0]
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).min() > 1e-12


@pytest.mark.parametrize("target", [-np.inf, -5.0, 1.05, 50.0])
def test_a_target_that_is_no_minimum_costs_calls_and_no_proof(target) -> None:
    oracle, _ = largest_of_affine(6, 0)
    if target == -np.inf:
        with pytest.raises(InvalidArgument, match="`target`"):
            LevelSet(target=target)
        return
    result = minimize(oracle, LevelSet(target=target), rtol=1e-6, max_calls=200)
    assert result.lower_bound <= 1.0 <= result.upper_bound + 1e-9
    assert result.status in (Status.CONVERGED, Status.MAX_CALLS, Status.STALLED)


def test_which_point_is_projected_does_not_matter_in_the_entropic_metric() -> None:
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=(30, 12))
    oracle = FunctionOracle(lambda z: ((v := slopes @ z).max(), slopes[v.argmax()]), Simplex(12))
    best, last, euclidean = (
        minimize(oracle, one, rtol=1e-6, keep_cuts=True)
        for one in (LevelSet(), LevelSet(center="last"), LevelSet(entropic=False))
    )
    points = [[cut.point.tolist() for cut in one.history.cuts] for one in (best, last, euclidean)]
    assert points[0] == points[1] != points[2]


@pytest.mark.parametrize("seed", range(4))
def test_in_a_promised_ball_the_projection_proves_what_the_box_around_it_does_not(seed) -> None:
    """The largest entry, each of them named by a query: a mix of m cuts is at least -R / sqrt(m) in the ball."""
    n, calls = 20 + seed, 8
    oracle = FunctionOracle(lambda z: (z.max(), np.eye(n)[z.argmax()]), FreeSpace(n, radius=1.0))
    result = minimize(oracle, LevelSet(), max_calls=calls, probes=0)
    assert -1.0 / np.sqrt(n) >= result.lower_bound >= -1.5 / np.sqrt(calls)


@pytest.mark.parametrize(
    "wrong",
    [{"center": "beste"}, {"center": None}, {"target": 1.0, "interior": True}, {"target": 1.0, "entropic": True}],
)
def test_what_does_not_go_together_is_refused(wrong) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        LevelSet(**wrong)
