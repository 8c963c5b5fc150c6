"""The loop: stopping, misuse, what is kept when something goes wrong."""

import numpy as np
import pytest

from oracle_opt import Curvature, FunctionOracle, Oracle, QueryPointGenerator, Status, Step, minimize
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Simplex
from oracle_opt.errors import CapabilityMismatch, InvalidArgument, InvalidCut
from oracle_opt.generators import SPG, AnalyticCenter, FixedPoint, Kelley, LevelSet, ReducedGradient, Subgradient
from oracle_opt.study import generator_of

TARGET = np.array([0.2, 0.3, 0.5])


def quadratic(z):
    return float((z - TARGET) @ (z - TARGET)), 2 * (z - TARGET)


@pytest.fixture
def oracle():
    return FunctionOracle(quadratic, Simplex(3))


class Broken(Oracle):
    """Answers well until a given call, then as told."""

    domain = Simplex(3)
    gives = frozenset({Curvature})

    def __init__(self, at, then):
        self.at, self.then, self.calls = at, then, 0

    def query(self, query):
        self.calls += 1
        if self.calls == self.at:
            return self.then(query.point)
        return ObjectiveCut(query.point, *quadratic(query.point))


class Asks(QueryPointGenerator):
    """Asks a fixed list of points."""

    def __init__(self, points=()):
        self.points = points

    def reset(self, domain, point):
        self.left = list(self.points)

    def ask(self):
        return self.left[0]

    def tell(self, cut):
        self.left.pop(0)
        return Step.SERIOUS


def test_converges_and_reports(oracle) -> None:
    result = minimize(oracle, LevelSet(), rtol=0, atol=1e-8)
    assert result.success
    assert result.status is Status.CONVERGED
    assert result.message.startswith(Status.CONVERGED.value)
    assert f"The gap is {result.gap:.3g}" in result.message
    assert "1e-08 was wanted" in result.message
    np.testing.assert_allclose(result.point, TARGET, atol=1e-3)
    assert result.gap == result.upper_bound - result.lower_bound <= 1e-8
    assert result.n_calls == len(result.history)
    assert result.cut.value == result.upper_bound
    assert result.oracle_seconds == pytest.approx(result.history.oracle_seconds.sum())
    assert result.generator_seconds == pytest.approx(result.history.generator_seconds.sum())


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"max_calls": 3}, Status.MAX_CALLS),
        ({"max_calls": 0}, Status.MAX_CALLS),
        ({"max_seconds": 0.0}, Status.MAX_SECONDS),
        ({"callback": lambda record: record.call == 4}, Status.STOPPED),
        ({"gtol": 1e-2}, Status.GRADIENT),
    ],
)
def test_limits_return_the_result_so_far(oracle, options, status) -> None:
    result = minimize(oracle, Kelley(), rtol=1e-12, **options)
    assert result.status is status
    assert result.success == (status is Status.GRADIENT)
    assert result.n_calls == {"max_calls": options.get("max_calls"), "max_seconds": 0, "callback": 4}.get(
        next(iter(options)), result.n_calls
    )
    assert (result.point is None) == (result.n_calls == 0)


def test_exhausted_and_stalled() -> None:
    oracle = FunctionOracle(quadratic, Simplex(3))
    assert minimize(oracle, FixedPoint()).status is Status.EXHAUSTED
    here = np.array([1.0, 0.0, 0.0])
    result = minimize(oracle, Asks(10 * [here]))
    assert result.status is Status.STALLED
    assert result.n_calls == 1


@pytest.mark.parametrize("make", [Kelley, LevelSet, AnalyticCenter, lambda: Kelley(chebyshev=True)])
def test_contradicting_feasibility_cuts_empty_the_set(make) -> None:
    def nowhere(z):
        return FeasibilityCut(z, 1.0, np.array([1.0, 0.0]) if z[0] > 0 else np.array([-1.0, 0.0]))

    oracle = FunctionOracle(nowhere, Box(-np.ones(2), np.ones(2)), gives={FeasibilityCut})
    result = minimize(oracle, make(), max_calls=50)
    assert result.status is Status.EMPTY
    assert result.point is None
    assert result.cut is None
    assert "No feasible point" in result.message


def test_cuts_that_contradict_each_other_are_noticed() -> None:
    concave = FunctionOracle(lambda z: (float(-z @ z), -2 * z), Box([-1.0], [2.0]))
    result = minimize(concave, Kelley(), [0.5])
    assert result.status is Status.CONTRADICTION
    assert not result.success


def test_an_oracle_that_raises_at_call_7_keeps_the_run() -> None:
    def boom(point):
        raise ZeroDivisionError("inside the oracle")

    with pytest.raises(ZeroDivisionError, match="inside the oracle") as caught:
        minimize(Broken(7, boom), Kelley(), rtol=1e-12)
    result = caught.value.result
    assert result.status is Status.FAILED
    assert result.n_calls == 6
    assert np.isfinite(result.gap)
    assert "during oracle call 7, at [" in caught.value.__notes__[0]


def test_ctrl_c_returns_the_run() -> None:
    def interrupt(point):
        raise KeyboardInterrupt

    result = minimize(Broken(5, interrupt), Kelley(), rtol=1e-12)
    assert result.status is Status.INTERRUPTED
    assert result.n_calls == 4


@pytest.mark.to_the_bit
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda z: ObjectiveCut(z, np.nan, z), "a cut must be finite, got nan"),
        (lambda z: ObjectiveCut(z, 1.0, z[:2]), r"`subgradient` must have the shape of the point, \(3,\), got \(2,\)"),
        (lambda z: ObjectiveCut(z, 1.0, z, error=-1.0), "`error` must be >= 0"),
        (lambda z: ObjectiveCut(z, 1.0, z, error=np.nan), "`error` must be >= 0"),
        (lambda z: ObjectiveCut(z, 1.0, 1j * z), "real numbers"),
        (lambda z: ObjectiveCut(z, "1.0", z), "real numbers"),
        (lambda z: ObjectiveCut(z, None, z), "finite"),
        (lambda z: ObjectiveCut(z, 1.0, z, summands=(3.0,)), "`summands` must hold"),
        (lambda z: ObjectiveCut(z, 1.0, z, answers=(Curvature(np.full((2, 3), np.nan)),)), "`factor`"),
        (lambda z: ObjectiveCut(z, 1.0, z, answers=(Curvature(np.ones((2, 2))),)), "`factor`"),
        (lambda z: ObjectiveCut(z, 1.0, z, answers=(Curvature(np.ma.ones((2, 3))),)), "`factor`"),
        (lambda z: ObjectiveCut(z + 1, 1.0, z), "`point` of the cut must be the query point"),
        (lambda z: (1.0, z), "must return an ObjectiveCut or a FeasibilityCut"),
        (lambda z: FeasibilityCut(z, 1.0, z), "feasibility cuts, which it does not have in `gives`"),
    ],
)
def test_answers_that_are_no_cuts_are_refused(answer, message) -> None:
    with pytest.raises(InvalidCut, match=message) as caught:
        minimize(Broken(3, answer), Kelley(), rtol=1e-12)
    assert caught.value.result.n_calls == 2


@pytest.mark.parametrize("cut", [lambda z: FeasibilityCut(z, 0.0, z), lambda z: FeasibilityCut(z, 1.0, 0 * z)])
def test_a_feasibility_cut_that_does_not_cut_is_refused(cut) -> None:
    oracle = FunctionOracle(cut, Simplex(3), gives={FeasibilityCut})
    with pytest.raises(InvalidCut, match="must cut off its point"):
        minimize(oracle, Kelley())


def test_a_function_must_return_a_pair() -> None:
    with pytest.raises(InvalidCut, match="`function` must return"):
        minimize(FunctionOracle(lambda z: 1.0, Simplex(3)), Kelley())


def test_a_function_may_spoil_its_point_and_use_its_arrays_again() -> None:
    slope = np.zeros(3)

    def spoils(z):
        value, slope[:] = quadratic(z)
        z[:] = 7
        return value, slope

    def spoils_a_cut(z):
        at = z.copy()
        return ObjectiveCut(at, *spoils(z))

    honest = minimize(FunctionOracle(quadratic, Simplex(3)), LevelSet(), keep_cuts=True)
    for function in (spoils, spoils_a_cut):
        result = minimize(FunctionOracle(function, Simplex(3)), LevelSet(), keep_cuts=True)
        assert (result.history.lower_bound == honest.history.lower_bound).all()
        for one, other in zip(result.history.cuts, honest.history.cuts, strict=True):
            assert (one.subgradient == other.subgradient).all()


def test_an_oracle_that_spoils_the_point_of_its_own_cut_is_refused() -> None:
    def spoil(point):
        value = quadratic(point)
        point[:] = 7
        return ObjectiveCut(point, *value)

    with pytest.raises(InvalidCut, match="must be the query point"):
        minimize(Broken(1, spoil), Kelley())


@pytest.mark.parametrize("kind", [list, lambda g: g.astype(np.longdouble), lambda g: np.rint(g).astype(int)])
def test_numbers_of_other_kinds_become_floats(kind) -> None:
    oracle = Broken(1, lambda z: ObjectiveCut(z, np.array(1), kind(2 * z), error=0))
    cut = minimize(oracle, Kelley(), max_calls=1, keep_cuts=True).history.cuts[0]
    assert isinstance(cut.value, float)
    assert isinstance(cut.error, float)
    assert cut.subgradient.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"point": [0.5, 0.5]}, r"`point` must have shape \(3,\)"),
        ({"point": [2.0, 0.0, 0.0]}, "`point` must lie in Simplex"),
        ({"point": [np.nan, 0.0, 0.0]}, "`point` must be finite"),
        ({"rtol": -1.0}, "`rtol` must be at least 0"),
        ({"rtol": np.nan}, "`rtol` must be at least 0"),
        ({"max_calls": -1}, "`max_calls` must be a whole number of at least 0"),
        ({"max_seconds": -1}, "`max_seconds` must be at least 0"),
    ],
)
def test_bad_arguments_are_named_before_the_first_call(arguments, message) -> None:
    oracle = Broken(1, lambda z: pytest.fail("the oracle was called"))
    with pytest.raises(InvalidArgument, match=message):
        minimize(oracle, Kelley(), **arguments)


def test_objects_not_names() -> None:
    with pytest.raises(InvalidArgument, match="must be a QueryPointGenerator object"):
        minimize(FunctionOracle(quadratic, Simplex(3)), LevelSet)
    with pytest.raises(InvalidArgument, match="wrap a function in FunctionOracle"):
        minimize(quadratic, Kelley())


@pytest.mark.parametrize(
    ("generator", "domain", "message"),
    [
        (Kelley(), Ball(3), "Kelley cannot serve .* it needs a domain with linear constraints"),
        (LevelSet(), NonnegativeOrthant(3), "it needs a bounded domain; state a finite radius"),
        (AnalyticCenter(), FreeSpace(3, radius=np.inf), "it needs a bounded domain"),
        (LevelSet(entropic=True), Box(-np.ones(3), np.ones(3)), "entropic metric needs a domain that has one"),
        (ReducedGradient(), Box(-np.ones(3), np.ones(3)), "it needs a domain that is one simplex"),
    ],
)
def test_domains_a_generator_cannot_serve(generator, domain, message) -> None:
    with pytest.raises(CapabilityMismatch, match=message):
        minimize(FunctionOracle(quadratic, domain), generator)


def test_convexity_and_feasibility_cuts_are_checked_before_the_run() -> None:
    bumpy = FunctionOracle(quadratic, Simplex(3), convex=False)
    with pytest.raises(CapabilityMismatch, match=r"Kelley cannot serve FunctionOracle.*needs a convex function"):
        minimize(bumpy, Kelley())
    result = minimize(bumpy, SPG(), gtol=1e-6)
    assert result.status is Status.GRADIENT
    assert result.lower_bound == -np.inf  # without convexity nothing is proven
    cutting = FunctionOracle(quadratic, Simplex(3), gives={FeasibilityCut})
    with pytest.raises(CapabilityMismatch, match=r"SPG cannot serve FunctionOracle.*takes no feasibility cuts"):
        minimize(cutting, SPG())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LevelSet(level=1.0), "`level` must lie strictly between 0 and 1"),
        (lambda: AnalyticCenter(domain_weight=0.0), "`domain_weight` must be positive"),
        (lambda: AnalyticCenter(proximal=-1.0), "`proximal` must be at least 0"),
        (lambda: Subgradient(scale=0.0), "`scale` must be positive"),
        (lambda: SPG(max_length=-1.0), "`max_length` must be positive"),
    ],
)
def test_generator_parameters_are_checked_at_once(make, message) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make()


def test_inexact_values_widen_the_upper_bound_only() -> None:
    class Loose(Oracle):
        domain = Simplex(3)

        def query(self, query: Query) -> ObjectiveCut:
            value, slope = quadratic(query.point)
            return ObjectiveCut(query.point, value - 0.01, slope, error=0.02)

    result = minimize(Loose(), LevelSet(), max_calls=40, rtol=0)
    assert result.lower_bound <= 0 <= result.upper_bound
    assert result.gap >= 0.02 - 1e-9


def test_an_oracles_own_bound_counts() -> None:
    class Knows(Oracle):
        domain = Simplex(3)

        def query(self, query: Query) -> ObjectiveCut:
            return ObjectiveCut(query.point, *quadratic(query.point), lower_bound=-1e-9)

    result = minimize(Knows(), FixedPoint())
    assert result.lower_bound == -1e-9
    assert list(result.history.bound_source) == ["oracle"]


def test_history_frame_plot_and_notebook(oracle) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    result = minimize(oracle, Kelley(), rtol=0, atol=1e-6, keep_cuts=True)
    frame = result.history.to_frame()
    assert len(frame) == result.n_calls == len(result.history.cuts)
    assert list(frame["call"]) == list(range(1, result.n_calls + 1))
    assert result.history.calls_to(0.0) is None or result.gap <= 0
    assert result.history.calls_to(np.inf) == 1
    ax = result.plot(label="Kelley")
    assert ax.get_ylabel() == "proven relative gap"
    pyplot.close(ax.figure)
    assert "CONVERGED" in result._repr_html_()


def test_progress_is_silent_without_a_terminal(oracle, capfd) -> None:
    minimize(oracle, Kelley(), max_calls=5, progress=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("elsewhere", "here"), [("x0", "point"), ("tol", "rtol"), ("max_iter", "max_calls"), ("timeout", "max_seconds")]
)
def test_arguments_of_other_libraries_are_told_their_name_here(oracle, elsewhere, here):
    with pytest.raises(TypeError, match=f"`{elsewhere}`.*`{here}`"):
        minimize(oracle, **{elsewhere: 1})


@pytest.mark.parametrize("words", ["level-set", "kelley(chebyshev=True)"])
def test_words_name_a_generator(oracle, words):
    made, named = minimize(oracle, generator_of(words)), minimize(oracle, words)
    assert (named.generator, named.status, named.choice) == (made.generator, made.status, "")
    assert (named.point == made.point).all()
