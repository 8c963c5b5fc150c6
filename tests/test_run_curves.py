"""Pictures of runs: calls beside seconds, bands, and looks that differ."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot
from small_results import largest_of_pieces, small_results

from oracle_opt import Box, FunctionOracle, InvalidArgument, Result, minimize
from oracle_opt.generators import FixedPoint, Kelley, LevelSet, Subgradient
from oracle_opt.line_styles import SMALLEST_GAP
from oracle_opt.study import Results, plot_runs
from oracle_opt.study.run_curves import curves_of_runs


def result_of(gaps: list[float], oracle: list[float], generator: list[float]) -> Result:
    """A result with these gaps below an upper bound of 1, and these seconds."""
    run = minimize(largest_of_pieces(3, 0), Subgradient(), rtol=0.0, max_calls=len(gaps))
    columns = {"upper_bound": np.ones(len(gaps)), "lower_bound": 1.0 - np.array(gaps)}
    columns |= {"oracle_seconds": np.array(oracle), "generator_seconds": np.array(generator)}
    return replace(run, history=replace(run.history, **columns))


@pytest.fixture(scope="module")
def runs() -> dict[str, list[Result]]:
    return {
        str(one): [minimize(largest_of_pieces(3, seed), one, max_calls=40) for seed in range(3)]
        for one in (Kelley(), LevelSet(), Subgradient(), FixedPoint())
    }


def test_curves_by_hand() -> None:
    """Gaps 1, 1e-2 and 1, 1e-1, 1e-4: means 1, 10^-1.5 and 10^-3, as the first keeps its last gap."""
    several = [result_of([1.0, 1e-2], [1, 1], [0, 1]), result_of([1.0, 1e-1, 1e-4], [2, 0, 1], [1, 1, 2])]
    calls, seconds = (curves_of_runs({"a": several}, cost).data for cost in ("calls", "total seconds"))
    assert calls["x"].tolist() == [1, 2, 3]
    assert calls["y"].tolist() == pytest.approx([1.0, 10**-1.5, 1e-3])
    assert calls["low"].iloc[2] == pytest.approx(np.quantile([1e-2, 1e-4], 0.1))
    assert calls["high"].iloc[2] == pytest.approx(np.quantile([1e-2, 1e-4], 0.9))
    # the first has its answers at 1 and 3 seconds, the other at 3, 4 and 7
    assert seconds["x"].tolist() == [3, 4, 7]
    assert seconds["y"].tolist() == pytest.approx([1e-1, 10**-1.5, 1e-3])


def test_above_a_known_minimum() -> None:
    """The upper bound is 1 throughout, and the best value that is known is 0.5."""
    curves = curves_of_runs({"a": result_of([1.0, 0.1], [1, 1], [0, 0])}, minimum=0.5)
    assert curves.data["y"].tolist() == [0.5, 0.5]
    assert curves.y == "value above the minimum, relative"


def test_a_run_that_has_converged_is_at_its_accuracy() -> None:
    """Also at a minimum of 0, where the gap over the upper bound itself never gets there, and in every call before."""
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Box(-np.ones(3), 2 * np.ones(3)))
    run = minimize(oracle, Kelley(), np.ones(3), rtol=1e-4, max_calls=2000)
    assert run.success
    assert run.gap > 1e-4 * abs(run.upper_bound)
    curve = curves_of_runs({"a": run}).data["y"]
    assert curve.iloc[-1] <= 1e-4
    assert run.history.calls_to(1e-4) == run.history.call[np.argmax(run.history.stopping_gap <= 1e-4)]


def test_calls_beside_seconds_with_bands(runs) -> None:
    figure = plot_runs(runs)
    calls, seconds = figure.axes
    assert [calls.get_xlabel(), seconds.get_xlabel()] == ["oracle calls", "elapsed seconds in oracle and generator"]
    assert calls.get_ylabel() == "proven relative gap"
    assert calls.get_ylim() == seconds.get_ylim()
    for axes in figure.axes:
        assert axes.get_xscale() == axes.get_yscale() == "log"
        names = [line.get_label() for line in axes.lines]
        assert names == [name for name, several in runs.items() if np.isfinite([r.gap for r in several]).all()]
        assert len(axes.collections) >= len([line for line in axes.lines if len(line.get_xdata()) > 1])
    for left, right in zip(calls.lines, seconds.lines, strict=True):
        assert (left.get_color(), left.get_marker()) == (right.get_color(), right.get_marker())
    assert {text.get_text() for text in figure.legends[0].texts} == set(names)
    assert max(calls.lines[0].get_xdata()) == max(one.n_calls for one in runs[str(Kelley())])


def test_an_accuracy_is_a_line_and_the_axis_ends_a_decade_below() -> None:
    figure = plot_runs({"a": result_of([0.5, 1e-2, 0.0], [1] * 3, [0] * 3)}, tau=1e-3)
    for axes in figure.axes:
        assert axes.get_ylim() == pytest.approx((1e-4, 1.0))
        assert axes.lines[-1].get_ydata()[0] == 1e-3
    assert [text.get_text() for text in figure.legends[0].texts] == ["a", "threshold 0.001"]


def test_a_method_looks_the_same_in_several_pictures(runs) -> None:
    names = list(runs)
    few = plot_runs({name: runs[name] for name in (names[2], names[0])}, order=names)
    looks = {line.get_label(): line.get_color() for axes in (*plot_runs(runs).axes,) for line in axes.lines}
    assert {line.get_label(): line.get_color() for line in few.axes[0].lines}.items() <= looks.items()
    assert [line.get_label() for line in few.axes[0].lines] == [names[0], names[2]]


def test_one_run_has_no_band(runs) -> None:
    figure = plot_runs({name: several[0] for name, several in runs.items()}, width=6.9)
    assert figure.get_figwidth() == 6.9
    assert all(len(axes.collections) == 0 for axes in figure.axes)


def test_a_study_has_a_row_for_each_instance() -> None:
    results = small_results(max_calls=25)
    assert isinstance(results, Results)
    figure = plot_runs(results)
    panels = results.curves().panels
    assert len(figure.axes) == 2 * len(panels)
    assert [axes.get_title() for axes in figure.axes] == [name for name in panels for _ in range(2)]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (({},), {}, "`runs` must be Results, or a mapping of names to results of minimize, got {}"),
        (([1],), {}, "`runs` must be Results, or a mapping"),
        (({"a": 3},), {}, r"`runs\['a'\]` must be"),
        (({"a": [3]},), {}, r"`runs\['a'\]"),
        (({"a": []},), {}, r"`runs\['a'\]` must be at least one result, got none"),
        (({"a": result_of([0.1], [1], [1])},), {"minimum": "low"}, "`minimum` must be"),
        (({"a": result_of([0.1], [1], [1])},), {"width": 0}, "`width` must be positive"),
        (({"a": result_of([0.1], [1], [1])},), {"tau": 1}, "`tau` must lie strictly between 0 and 1"),
        (({"a": result_of([np.inf], [1], [1])},), {}, "`runs` must have gaps to draw, got none"),
    ],
)
def test_refusals(arguments, options, words) -> None:
    with pytest.raises(InvalidArgument, match=words):
        plot_runs(*arguments, **options)


@pytest.mark.parametrize("options", [{"minimum": 0.0}, {"tau": 1e-2}, {"order": ["kelley"]}])
def test_a_study_has_its_own_settings(options) -> None:
    with pytest.raises(InvalidArgument, match="must be left out for a study, which has its own"):
        plot_runs(small_results(max_calls=25), **options)


@pytest.mark.parametrize(("x", "ends"), [("calls", 3.0), ("seconds", 7.0)])
def test_a_result_draws_itself(x, ends) -> None:
    run = result_of([np.inf, 1e-1, 0.0], [2, 0, 1], [1, 1, 2])
    axes = run.plot(label="a $b", x=x)
    try:
        (line,) = axes.lines
        assert line.get_xdata()[-1] == ends
        assert line.get_ydata().tolist() == pytest.approx([1e-1, SMALLEST_GAP])
        assert axes.get_legend().texts[0].get_text() == r"a \$b"
        for other in range(1, 6):
            assert run.plot(axes, str(other), x=x) is axes
        looks = {(one.get_color(), one.get_marker(), str(one._unscaled_dash_pattern)) for one in axes.lines}
        assert len(looks) == 6
        axes.figure.canvas.draw()
    finally:
        pyplot.close(axes.figure)


def test_a_long_run_has_few_markers_and_one_without_bounds_has_no_curve() -> None:
    axes = result_of([1.0 / k for k in range(1, 301)], [1] * 300, [0] * 300).plot(x="seconds")
    try:
        assert axes.lines[0].get_markevery() is not None
        result_of([np.inf], [1], [0]).plot(axes)
        axes.figure.canvas.draw()
        assert len(axes.lines[1].get_xdata()) == 0
    finally:
        pyplot.close(axes.figure)


@pytest.mark.parametrize("x", ["hours", None, ("calls",)])
def test_an_axis_of_another_kind_is_refused(x) -> None:
    with pytest.raises(InvalidArgument, match="`x` must be 'calls' or 'seconds'"):
        result_of([0.1], [1], [0]).plot(x=x)
