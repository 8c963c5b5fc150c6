"""Where a run ends and what it reports, computed again from the cuts it kept; each kind of wrong cut is refused."""

import types
from dataclasses import replace

import numpy as np
import pytest
from affine_pieces import largest

from oracle_opt import Curvature, FunctionOracle, InvalidCut, Oracle, QueryPointGenerator, Status, Step, minimize
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Ball, Box, FreeSpace, ProductOfSimplices, Simplex
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProjectedGradient, Subgradient


class Asks(QueryPointGenerator):
    """Asks random points for ever; minorants and weights as given."""

    takes = frozenset({FeasibilityCut})

    def __init__(self, weights=(0.0,)):
        self.weights = weights

    def reset(self, domain, point):
        self.count, rng = 0, np.random.default_rng(0)
        self.points = [point, *(domain.project(rng.normal(size=domain.dimension)) for _ in range(50))]

    def ask(self):
        return self.points[self.count]

    def tell(self, cut):
        self.count += 1
        return Step.SERIOUS

    def weight(self):
        return self.weights[(self.count - 1) % len(self.weights)]


@pytest.mark.parametrize(("limit", "calls"), [(0.5, 1), (1.0, 1), (4.5, 5), (5.0, 5), (7.25, 8)])
def test_max_seconds_are_seconds(monkeypatch, limit, calls):
    """On a clock that each answer of the oracle moves on by a second, the run ends at the first call beyond."""
    clock = types.SimpleNamespace(now=100.0)

    def function(z):
        clock.now += 1.0
        return float(z @ z + z[0]), 2 * z + np.eye(3)[0]

    monkeypatch.setattr("oracle_opt.run.perf_counter", lambda: clock.now)
    monkeypatch.setattr("oracle_opt.run.clock_of", lambda name: lambda: clock.now)
    result = minimize(FunctionOracle(function, Simplex(3)), Asks(), rtol=0.0, max_seconds=limit)
    assert result.status is Status.MAX_SECONDS
    assert result.n_calls == calls
    assert result.oracle_seconds == calls
    assert result.generator_seconds == 0.0
    assert result.history.oracle_seconds.tolist() == [1.0] * calls


@pytest.mark.parametrize("domain", [FreeSpace(3, 50.0), Box(-np.ones(3), 2 * np.ones(3)), Simplex(3)], ids=repr)
@pytest.mark.parametrize("gtol", [1e-1, 1e-4])
def test_gtol_is_the_length_of_the_projected_step(domain, gtol):
    """``norm(project(z - g) - z)``, whole: no earlier point of the run had it, the last one has."""
    scales, target = np.array([0.2, 1.0, 4.0]), np.array([0.4, 3.0, -0.7])
    oracle = FunctionOracle(
        lambda z: (0.5 * float(scales @ (z - target) ** 2), scales * (z - target)), domain, convex=False
    )
    result = minimize(oracle, ProjectedGradient(), gtol=gtol, keep_cuts=True, max_calls=3000)
    assert result.status is Status.GRADIENT
    lengths = []
    for cut in result.history.cuts:
        moved = cut.point - cut.subgradient
        if isinstance(domain, Box):
            moved = np.clip(moved, -1, 2)
        elif isinstance(domain, Simplex):
            moved = domain.project(moved)
        lengths.append(np.linalg.norm(moved - cut.point))
    assert lengths[-1] <= gtol < min(lengths[:-1])


def test_a_limit_on_the_gap_is_met_at_the_first_call_that_meets_it():
    rng = np.random.default_rng(0)
    slopes, constants = rng.normal(size=(12, 5)), rng.normal(size=12)

    for domain in (Simplex(5), Box(-np.ones(5), np.ones(5))):
        for options in ({"rtol": 1e-2}, {"rtol": 1e-5}, {"rtol": 0.0, "atol": 3e-3}, {"rtol": 1e-9, "atol": 1e-2}):
            result = minimize(FunctionOracle(largest(slopes, constants), domain), LevelSet(), **options)
            gaps = result.history.upper_bound - result.history.lower_bound
            allowed = np.maximum(options.get("atol", 0.0), options["rtol"] * np.abs(result.history.upper_bound))
            assert result.status is Status.CONVERGED
            assert gaps[-1] <= allowed[-1]
            assert (gaps[:-1] > allowed[:-1]).all()


def pieces(domain, error):
    """A maximum of affine pieces whose oracle answers with some error and a global bound of its own."""
    rng = np.random.default_rng(1)
    slopes, constants = rng.normal(size=(9, domain.dimension)), rng.normal(size=9)
    noise = np.random.default_rng(2)

    def function(z):
        values = slopes @ z + constants
        i = int(values.argmax())
        low, away = noise.uniform(0, error), noise.uniform(0, 5)
        return ObjectiveCut(
            z, float(values[i]) - low, slopes[i], error=low, lower_bound=float(values[i]) - low - 9 - away
        )

    return FunctionOracle(function, domain)


def least(domain, constant, slope):
    """Minimum of an affine function on a domain, by its formula."""
    if isinstance(domain, ProductOfSimplices):
        blocks = np.split(slope, np.cumsum(domain.sizes)[:-1])
        return constant + domain.radius * sum(block.min() for block in blocks)
    if isinstance(domain, Box):
        return constant + np.minimum(slope * domain.lower, slope * domain.upper).sum()
    return constant + slope @ domain.center - domain.radius * np.linalg.norm(slope)


DOMAINS = [
    Simplex(4, 2.0),
    ProductOfSimplices([1, 3]),
    Box(-np.ones(4), np.arange(1.0, 5.0)),
    Ball(4, 2.0, np.ones(4)),
    FreeSpace(4, 3.0, -np.ones(4)),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("error", [0.0, 0.3])
@pytest.mark.parametrize(
    "generator",
    [Asks((1.0, 0.0, 3.0)), Asks(), Subgradient(), Kelley(), AnalyticCenter(), Ellipsoid()],
    ids=["weights", "no weights", "Subgradient()", "Kelley()", "AnalyticCenter()", "Ellipsoid()"],
)
def test_bounds_are_those_of_the_cuts_and_weights(domain, error, generator):
    """Each proof of a history, from the kept cuts alone."""
    if generator.refusal(domain):
        assert isinstance(domain, Ball)
        return
    weights, minorants = [], []

    def watch(_):
        weights.append(generator.weight())
        minorants.append(generator.minorant())

    oracle = pieces(domain, error)
    run = minimize(oracle, generator, rtol=0.0, max_calls=15, keep_cuts=True, callback=watch)
    history, cuts = run.history, run.history.cuts
    upper, best = np.inf, dict.fromkeys(("oracle_bound", "cut_bound", "model_bound", "average_bound"), -np.inf)
    total, constant, slope = 0.0, 0.0, np.zeros(4)
    for k, (cut, weight, minorant) in enumerate(zip(cuts, weights, minorants, strict=True)):
        one = cut.value - cut.subgradient @ cut.point
        upper = min(upper, cut.value + cut.error)
        total += weight
        constant, slope = constant + weight * one, slope + weight * cut.subgradient
        found = {"oracle_bound": cut.lower_bound, "cut_bound": least(domain, one, cut.subgradient)}
        if weight > 0:
            found["average_bound"] = least(domain, constant / total, slope / total)
        if minorant is not None:
            found["model_bound"] = least(domain, minorant.constant, minorant.slope)
        for name, bound in found.items():
            best[name] = max(best[name], bound)
        for name, bound in best.items():
            stated = getattr(history, name)[k]
            assert stated == bound or stated == pytest.approx(bound, abs=1e-10), name
            assert stated <= bound + 1e-12
        assert upper <= history.upper_bound[k] <= upper + 1e-14 * max(1.0, abs(upper))  # rounded upward
        assert history.lower_bound[k] == max(getattr(history, name)[k] for name in best)
        assert history.value[k] == cut.value
        assert history.error[k] == cut.error
    assert np.isfinite(history.average_bound[-1]) == (total > 0)
    first = int(np.argmin([cut.upper for cut in cuts]))
    assert run.cut is cuts[first]
    assert (run.upper_bound, run.lower_bound) == (history.upper_bound[-1], history.lower_bound[-1])
    source = max(best, key=lambda name: getattr(history, name)[-1])
    assert history.bound_source[-1] == source.removesuffix("_bound")


class Changing(Asks):
    """Writes into everything it was given."""

    def reset(self, domain, point):
        super().reset(domain, point.copy())
        point[:] = 7.0


class Writing(Oracle):
    """Writes into its query after it has answered."""

    domain = Simplex(3)

    def query(self, query):
        point = query.point.copy()
        query.point[:] = 99.0
        return ObjectiveCut(point, float(point @ point), 2 * point)


@pytest.mark.parametrize("generator", [Asks(), Changing(), Kelley(), LevelSet(), ProjectedGradient()], ids=repr)
def test_what_generators_and_oracles_write_into_their_arguments_changes_no_run(generator):
    start = np.array([0.5, 0.25, 0.25])
    honest = FunctionOracle(lambda z: (float(z @ z), 2 * z), Simplex(3))
    twin = Asks() if isinstance(generator, Changing) else generator
    plain = minimize(honest, twin, start, rtol=0.0, max_calls=5, keep_cuts=True)
    changed = minimize(Writing(), generator, start, rtol=0.0, max_calls=5, keep_cuts=True)
    np.testing.assert_array_equal(start, [0.5, 0.25, 0.25])
    for one, other in zip(plain.history.cuts, changed.history.cuts, strict=True):
        np.testing.assert_array_equal(one.point, other.point)


def test_a_generator_that_writes_into_its_start_moves_no_domain():
    ball = Ball(3, 1.0, np.ones(3))
    minimize(FunctionOracle(lambda z: (float(z @ z), 2 * z), ball), Changing(), rtol=0.0, max_calls=2)
    np.testing.assert_array_equal(ball.center, np.ones(3))


GOOD = ObjectiveCut(np.full(3, 1 / 3), 1.0, np.array([1.0, 2.0, 3.0]))
SPLIT = replace(GOOD, summands=(replace(GOOD, value=0.25), replace(GOOD, value=0.75, subgradient=np.zeros(3))))
FACTOR = "`factor` of a Curvature must be a finite array of shape"
EXCLUDES = FeasibilityCut(np.full(3, 1 / 3), 0.1, np.array([1.0, 0.0, 0.0]))
ELSEWHERE = np.array([1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (replace(GOOD, value=np.nan), "must be finite"),
        (replace(GOOD, value=-np.inf), "must be finite"),
        (replace(GOOD, subgradient=np.array([1.0, np.nan, 0.0])), "must be finite"),
        (replace(GOOD, subgradient=np.ones(2)), "`subgradient` must have the shape"),
        (replace(GOOD, point=ELSEWHERE), "`point` of the cut must be the query point"),
        (replace(GOOD, error=-1e-9), "`error` must be >= 0"),
        (replace(GOOD, error=np.nan), "`error` must be >= 0"),
        (replace(GOOD, lower_bound=np.nan), "`lower_bound` no NaN"),
        (replace(GOOD, further=(GOOD, replace(GOOD, value=np.nan))), r"`further\[1\]` must be finite"),
        (replace(GOOD, further=(replace(GOOD, subgradient=np.ones(4)),)), r"`further\[0\]` must be finite and of"),
        (replace(GOOD, further=(replace(GOOD, point=ELSEWHERE),)), r"`further\[0\].point` must be the query point"),
        (replace(SPLIT, summands=(SPLIT.summands[0], replace(GOOD, value=np.inf))), r"`summands\[1\]` must be finite"),
        (replace(SPLIT, value=1.0 + 1e-8), "`summands` must add up to the cut"),
        (replace(SPLIT, subgradient=GOOD.subgradient + 1e-7), "`summands` must add up to the cut"),
        (replace(EXCLUDES, violation=0.0), "must cut off its point"),
        (replace(EXCLUDES, violation=-1.0), "must cut off its point"),
        (replace(EXCLUDES, violation=np.nan), "must be finite"),
        (replace(EXCLUDES, normal=np.zeros(3)), "must cut off its point"),
        (replace(EXCLUDES, normal=np.ones(2)), "`normal` must have the shape"),
        (replace(EXCLUDES, error=-1.0), "`error` of a feasibility cut must be >= 0"),
        (replace(EXCLUDES, error=np.nan), "`error` of a feasibility cut must be >= 0"),
        (replace(EXCLUDES, further=(replace(EXCLUDES, error=-1.0),)), "`error` of a feasibility cut must be >= 0"),
        (
            replace(EXCLUDES, further=(replace(EXCLUDES, normal=np.zeros(3)),)),
            "`further` of a feasibility cut must have",
        ),
        (replace(EXCLUDES, further=(replace(EXCLUDES, violation=np.inf),)), r"`further\[0\]` must be finite"),
        (replace(EXCLUDES, further=(replace(EXCLUDES, point=ELSEWHERE),)), r"`further\[0\].point` must be"),
        (replace(GOOD, answers=(Curvature(np.ones((2, 2))),)), FACTOR),
        (replace(GOOD, answers=(Curvature(np.ones(3)),)), FACTOR),
        (replace(GOOD, answers=(Curvature(np.full((1, 3), np.nan)),)), FACTOR),
        (replace(GOOD, answers=(Curvature(np.ones((2, 3), dtype=complex)),)), FACTOR),
        ((1.0, 2.0, 3.0), "must return"),
    ],
)
def test_wrong_cuts_are_refused_at_their_call_and_among_earlier_ones(cut, words):
    calls = []

    def function(z):
        calls.append(z)
        return GOOD if len(calls) == 1 else cut

    class Same(Asks):
        def ask(self):
            return Query(self.points[0], accuracy=1e-3 / (1 + self.count))

    oracle = FunctionOracle(function, Simplex(3), gives={Curvature, FeasibilityCut})
    with pytest.raises(InvalidCut, match=words) as refused:
        minimize(oracle, Same(), rtol=0.0)
    assert len(calls) == 2
    assert refused.value.result.status is Status.FAILED
    assert refused.value.result.n_calls == 1
    assert "during oracle call 2" in refused.value.__notes__[0]
    if isinstance(cut, ObjectiveCut | FeasibilityCut) and "query point" not in words and "point` of" not in words:
        with pytest.raises(InvalidCut, match=words):
            minimize(oracle, Same(), rtol=0.0, cuts=[cut])


@pytest.mark.to_the_bit
@pytest.mark.parametrize(
    "cut",
    [
        GOOD,
        SPLIT,
        replace(SPLIT, value=1.0 + 1e-11),
        replace(GOOD, lower_bound=-np.inf),
        replace(GOOD, answers=(Curvature(np.ones((5, 3))),)),
        replace(GOOD, error=0.5, lower_bound=0.25, further=(GOOD,)),
        replace(EXCLUDES, error=0.01, further=(EXCLUDES,)),
    ],
)
def test_right_cuts_are_taken(cut):
    oracle = FunctionOracle(lambda z: cut, Simplex(3), gives={Curvature, FeasibilityCut})
    result = minimize(oracle, Asks(), GOOD.point, rtol=0.0, max_calls=1, keep_cuts=True)
    assert result.n_calls == 1
    taken = result.history.cuts[0]  # a copy: the function may change its arrays
    for name in ("value", "error", "lower_bound") if isinstance(cut, ObjectiveCut) else ("violation", "error"):
        assert getattr(taken, name) == getattr(cut, name)
    name = "subgradient" if isinstance(cut, ObjectiveCut) else "normal"
    assert (getattr(taken, name) == getattr(cut, name)).all()
    assert len(taken.further) == len(cut.further)


def test_a_feasibility_cut_that_was_not_announced_is_refused():
    with pytest.raises(InvalidCut, match="add FeasibilityCut there"):
        minimize(FunctionOracle(lambda z: EXCLUDES, Simplex(3)), Kelley(), GOOD.point)


@pytest.mark.parametrize("stateless", [True, False])
def test_an_oracle_without_state_may_serve_a_run_within_a_run(stateless):
    inner = []
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Simplex(3)) if stateless else Writing()

    def watch(_):
        inner.append(minimize(oracle, LevelSet(), rtol=1e-6))

    if stateless:
        result = minimize(oracle, Kelley(), rtol=1e-6, max_calls=3, callback=watch)
        assert len(inner) == result.n_calls
        assert all(one.success for one in inner)
    else:
        with pytest.raises(Exception, match="`oracle`"):
            minimize(oracle, Kelley(), rtol=1e-6, callback=watch)


@pytest.mark.parametrize("error", [0.0, 1e-3, 0.1])
def test_an_oracle_that_is_less_exact_than_what_is_wanted_is_named(error) -> None:
    """The gap cannot fall below the error that the oracle states at the best point."""
    oracle = FunctionOracle(lambda z: ObjectiveCut(z, float(z @ z), 2 * z, error=error), Box([-1, -1], [1, 2]))
    result = minimize(oracle, Kelley(), rtol=0.0, atol=1e-2, max_calls=60)
    assert result.success == (error < 1e-2)
    assert ("a more exact oracle" in result.message) == (error > 1e-2)
    assert f"to {error:.3g} only" in result.message or result.success
