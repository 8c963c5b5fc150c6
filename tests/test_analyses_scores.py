"""Targets, areas, means, correlations and weights, on numbers computed by hand."""

from math import exp, inf, log, log10, nan

import numpy as np
import pandas as pd
import pytest
from hand_results import hand_results, to
from hypothesis import given, settings
from hypothesis import strategies as st
from small_results import small_results

from oracle_opt import InvalidArgument
from oracle_opt.study.analyses.convergence import TESTS
from oracle_opt.study.results import Results

A, B = ("p", "a", 0), ("p", "b", 0)


def test_ecdf_by_hand() -> None:
    """Targets 1, 0.1, 0.01: a reaches them at 1, 3, 3 and, with the other seed, 2, never, never; b failed."""
    gaps = {A: [1.0, 0.5, 1e-2], ("p", "a", 1): [2.0, 0.9, 0.8], B: [1e-4], ("p", "b", 1): [1.0, 0.1, 1e-2]}
    results = hand_results(gaps, runs={B: {"status": "FAILED"}})
    curves = results.ecdf(targets=(1.0, 0.1, 0.01))
    at = {
        name: [part.loc[part["x"] <= x, "y"].iloc[-1] for x in (1, 2, 3)] for name, part in curves.data.groupby("name")
    }
    assert at["a"] == pytest.approx([1 / 6, 2 / 6, 4 / 6])
    assert at["b"] == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert "2 problems (instances and seeds) times 3 targets tau from 1 to 0.01" in curves.caption
    assert "1 run ended by an exception" in curves.caption
    assert "31 targets tau from 1 to 1e-6" in hand_results({A: [1.0]}, tau=(1e-6,)).ecdf().caption
    missing = results.filter(where=lambda runs: (runs["generator"] != "a") | (runs["seed"] == 0)).ecdf(targets=[1.0])
    assert missing.data.groupby("name")["y"].max().to_dict() == {"a": 0.5, "b": 0.5}


def test_ecdf_of_one_target_is_the_data_profile() -> None:
    results = small_results(max_calls=30)
    pd.testing.assert_frame_equal(
        results.ecdf(targets=[1e-4]).data.drop(columns="panel"),
        results.data_profile(tau=1e-4).data.drop(columns="panel"),
    )


def test_targets_that_cannot_be_used() -> None:
    results = hand_results({A: [1.0, 1e-4]})
    with pytest.raises(InvalidArgument, match="`targets` must be at least one accuracy, got none"):
        results.ecdf(targets=[])
    with pytest.raises(InvalidArgument, match="`targets` must be at least 1e-4, got 1e-5: runs were stopped"):
        results.ecdf(targets=[1e-2, 1e-5])
    with pytest.raises(InvalidArgument, match="`targets` must be positive"):
        results.ecdf(targets=[-1.0])


def test_expected_cost_by_hand() -> None:
    """a: 10 calls, and 50 in vain, and 20: 80 calls for two successes. b: 5 in vain before it failed, and never."""
    gaps = {A: to(10), ("p", "a", 1): to(inf), ("p", "a", 2): to(20)}
    gaps |= {B: [1.0] * 5, ("p", "b", 1): to(inf), ("p", "b", 2): []}
    results = hand_results(gaps, runs={B: {"status": "FAILED"}, ("p", "b", 2): {"status": "REFUSED"}})
    table = results.expected_cost(tau=1e-4)
    assert table.data.to_dict("records") == [{"instance": "p", "a": 40.0, "b": inf}]
    assert "Runs solved: a 2 of 3, b 0 of 3" in table.caption
    assert results.expected_cost(tau=1e-4, cost="total seconds").data["a"].tolist() == [60.0]
    solved = hand_results({**gaps, ("p", "b", 2): to(7)}, runs={B: {"status": "FAILED"}})
    assert solved.expected_cost(tau=1e-4).data["b"].tolist() == [5 + 50 + 7]


def test_area_by_hand() -> None:
    """Limit 16 calls, least gap 1e-4. a: 1 until call 4, then 1e-2: half the height over half of the way, 1/4.

    b is at the least gap from call 2: 3/4. c never comes below 1, d is at 1e-6 from the first call.
    """
    gaps = {A: [5.0, 1.0, 1.0, 1e-2], B: [1.0, 1e-4], ("p", "c", 0): [inf, 3.0], ("p", "d", 0): [1e-6]}
    table = hand_results(gaps, max_calls=16).area()
    assert table.data.to_dict("records") == [
        {"instance": "p", "seed": 0, "a": pytest.approx(0.25), "b": pytest.approx(0.75), "c": 0.0, "d": 1.0}
    ]
    assert table.largest_is_best
    assert "**1**" in table.to_markdown()
    finer = hand_results(gaps, max_calls=16).area(least=1e-8).data
    assert finer["b"].tolist() == pytest.approx([0.375])
    assert finer["d"].tolist() == pytest.approx([0.75])


def test_area_over_seconds() -> None:
    """From the shortest first call, 1 second, to the longest run, 16: b begins at 4 and is at 1e-4 at once, 1/2."""
    gaps = {A: [1.0, 1.0], B: [1e-4]}
    results = hand_results(gaps, oracle={A: [1.0, 15.0], B: [4.0]})
    assert results.area(cost="oracle seconds").data[["a", "b"]].to_numpy().tolist() == [[0.0, pytest.approx(0.5)]]


def test_area_of_what_did_not_run_is_zero() -> None:
    gaps = {A: [1e-4], B: [1e-4], ("q", "a", 0): [1e-4]}
    results = hand_results(gaps, runs={B: {"status": "FAILED"}})
    table = results.area()
    assert table.data["b"].tolist() == [0.0, 0.0]
    assert table.data["a"].tolist() == [1.0, 1.0]
    assert "Means: a 1.000, b 0.000" in table.caption
    assert "1 run refused or ended by an exception: their area is 0" in table.caption
    with pytest.raises(InvalidArgument, match="`least` must lie strictly between 0 and 1"):
        results.area(least=0.0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1e-9, 10.0), min_size=1, max_size=12))
def test_area_is_that_under_the_attainment_function(gaps: list[float]) -> None:
    """The mean over many targets of the share of the logarithm of the way that is left when the target is reached."""
    results = hand_results({A: gaps}, tau=(1e-6,), max_calls=20)
    area = results.area().data["a"].iloc[0]
    least = np.minimum.accumulate(gaps)
    left = []
    for target in 10.0 ** -((np.arange(3000) + 0.5) * 6 / 3000):
        reached = np.flatnonzero(least <= target)
        left.append(1 - log(reached[0] + 1) / log(20) if len(reached) else 0.0)
    assert area == pytest.approx(np.mean(left), abs=1e-3)


def test_area_ends_at_the_coarsest_rtol() -> None:
    """Of one run nothing is known below 1e-2: what the other has below it is no merit."""
    gaps = {A: [1e-2], B: [1e-4]}
    results = hand_results(gaps, runs={A: {"rtol": 1e-2, "status": "CONVERGED"}})
    assert results.area().data[["a", "b"]].to_numpy().tolist() == [[1.0, 1.0]]
    assert "at most 0.01 from the first call" in results.area().caption
    refused = hand_results(gaps, runs={A: {"rtol": 1e-2, "status": "REFUSED"}})
    assert "at most 1e-4 from the first call" in refused.area().caption


def test_area_of_seeds() -> None:
    results = hand_results({A: [1e-4], ("p", "a", 1): [1e-2], ("p", "a", 2): [1.0]})
    assert results.area().data["a"].tolist() == pytest.approx([1.0, 0.5, 0.0])
    median = results.area(seeds="median")
    assert median.data.to_dict("records") == [{"instance": "p", "a": pytest.approx(0.5)}]
    assert "median area over 3 seeds" in median.caption


def test_shifted_means_by_hand() -> None:
    """a: 10 and 30 calls; b: 90, and a failure at the limit of 100; the shift is 10."""
    gaps = {A: to(10), B: to(90, 100), ("q", "a", 0): to(30), ("q", "b", 0): to(inf)}
    results = hand_results(gaps)
    table = results.means(tau=1e-4).data.set_index("generator")
    assert table.loc["a", "mean"] == pytest.approx((20 * 40) ** 0.5 - 10)
    assert table.loc["b", "mean"] == pytest.approx((100 * 110) ** 0.5 - 10)
    assert table.loc["b", "over the best"] == pytest.approx(table.loc["b", "mean"] / table.loc["a", "mean"])
    assert table.loc["b", ["problems", "solved", "unsolved", "failed"]].tolist() == [2, 1, 1, 0]
    assert results.means(limit=1000).data["mean"].iloc[1] == pytest.approx((100 * 1010) ** 0.5 - 10)
    assert results.means(shift=0).data["mean"].iloc[0] == pytest.approx(300**0.5)
    seconds = results.filter(generator="a").means(cost="total seconds", shift=1).data["mean"]
    assert seconds.tolist() == pytest.approx([(16 * 46) ** 0.5 - 1])


def test_shifted_means_below_one_are_one() -> None:
    results = hand_results({A: to(1)}, oracle={A: [0.01]})
    assert results.means(cost="oracle seconds", shift=0).data["mean"].tolist() == [1.0]
    assert results.means(cost="oracle seconds", shift=0.5).data["mean"].tolist() == [0.5]


def test_shifted_means_need_a_limit() -> None:
    results = hand_results({A: to(10), B: to(inf)})
    with pytest.raises(InvalidArgument, match=r"`limit` must say what a problem costs .* had no max_seconds"):
        results.means(cost="oracle seconds")
    assert results.means(cost="oracle seconds", limit=60.0).data["mean"].tolist() == pytest.approx([10.0, 60.0])
    assert results.filter(generator="a").means(cost="oracle seconds").data["mean"].tolist() == pytest.approx([10.0])
    for wrong, name in (({"shift": -1.0}, "shift"), ({"limit": 0.0}, "limit")):
        with pytest.raises(InvalidArgument, match=f"`{name}` must"):
            results.means(**wrong)


def test_shifted_mean_is_the_formula_of_mittelmann() -> None:
    results = small_results(max_calls=30)
    costs = results.table(tau=1e-4, seeds="each").data
    for row in results.means(tau=1e-4).data.itertuples():
        times = [30 if t == inf else t for t in costs[row.generator]]
        assert row.mean == pytest.approx(exp(np.mean([log(max(1, t + 10)) for t in times])) - 10)


def test_accuracy_and_its_correlation() -> None:
    """Values 4, 2, 1.25 above the bound 1: gaps of the points asked 0.75, 0.5, 0.2."""
    values = {A: [4.0, 2.0, 1.25], ("p", "a", 1): [4.0, 2.0, 1.25], ("p", "a", 2): [4.0, 2.0, nan]}
    percent = {A: [60.0, 70.0, 82.0], ("p", "a", 1): [80.0, 80.0, 80.0], ("p", "a", 2): [60.0, 50.0, 40.0]}
    gaps = {key: [1.0] * 3 for key in values}
    results = hand_results(
        gaps, upper=values, columns={"accuracy": percent, "cut_bound": {k: [0.0] * 3 for k in values}}
    )
    scatter = results.accuracy()
    assert scatter.kind == "points"
    assert sorted(scatter.data["x"]) == pytest.approx([0.2, 0.2, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75])
    table = results.correlations().data
    first = -1.0 * np.corrcoef([0.75, 0.5, 0.2], [-60, -70, -82])[0, 1]
    assert first < -0.99
    assert table["correlation"].tolist() == pytest.approx([(first + 1.0) / 2])
    assert table["runs"].tolist() == [2], "a constant accuracy has no correlation"
    assert f"p: a {(first + 1.0) / 2:.2f}" in scatter.caption
    assert (results.accuracy(test="single-cut").data["x"] == 1.0).all()
    scatter.plot()


def test_accuracy_needs_its_column() -> None:
    results = hand_results({A: [1.0]}, columns={"blank": {A: [nan]}})
    with pytest.raises(InvalidArgument, match=r"`trace` must be a column .* there is no 'accuracy'"):
        results.accuracy()
    with pytest.raises(InvalidArgument, match="`trace` 'blank' must be known at a call"):
        results.accuracy(trace="blank")
    with pytest.raises(InvalidArgument, match="`test` must be one of 'certified', 'single-cut'"):
        results.accuracy(trace="blank", test="reference")


def test_weight_paths() -> None:
    path = {A: [[0.5, 0.25, 0.25], [0.1, 0.7, 0.2]], ("p", "a", 1): [[1.0, 0.0, 0.0]] * 2, B: [None, [0.0, 0.1, 0.9]]}
    results = hand_results({key: [1.0, 0.5] for key in path}, columns={"point": path})
    curves = results.weights(largest=2)
    assert curves.panels == ("p, a", "p, b")
    assert curves.names == ("z[1]", "z[2]")
    part = curves.data[curves.data["panel"] == "p, a"]
    assert part.loc[part["name"] == "z[1]", "y"].tolist() == [0.25, 0.7]
    assert part.loc[part["name"] == "z[2]", "y"].tolist() == [0.25, 0.2]
    assert curves.data.loc[curves.data["panel"] == "p, b", "x"].tolist() == [2.0, 2.0]
    assert len(results.weights().names) == 3
    curves.plot()
    with pytest.raises(InvalidArgument, match=r"`history` must have the points .* keep_points=True"):
        hand_results({A: [1.0]}).weights()
    with pytest.raises(InvalidArgument, match="`largest` must be a whole number"):
        results.weights(largest=0)


EVERY = ("curves", "profile", "data_profile", "ecdf", "expected_cost", "area", "means", "table")


@pytest.mark.campaign(3)
@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize("test", ["certified", "single-cut", "more-wild"])
@pytest.mark.parametrize("cost", ["calls", "oracle seconds", "total seconds"])
def test_every_analysis_names_its_test(method: str, test: str, cost: str) -> None:
    results = small_results(max_calls=12, instances=2)
    options: dict[str, object] = {"test": test, "cost": cost}
    if method == "data_profile":
        options = {"test": test, "scale": cost if cost != "total seconds" else "seconds"}
    if method == "means":
        options["limit"] = 100.0
    found = getattr(results, method)(**options)
    assert f"test '{test}'" in found.title
    words = TESTS[test].partition("{tau}")[0]
    assert words in found.caption or f"est '{test}'" in found.caption or method == "area"
    assert len(found.data)
    assert found.caption.endswith(".")


@pytest.mark.parametrize("method", [*EVERY, "pairs", "ranks", "correlations", "accuracy", "weights"])
def test_no_runs_are_refused(method: str) -> None:
    results = small_results(max_calls=3, instances=1)
    none = Results(results.runs.iloc[:0], results.history.iloc[:0], results.tau)
    with pytest.raises(InvalidArgument):
        getattr(none, method)()


def test_log10_is_of_the_height() -> None:
    """A quarter of the decades over all of the way."""
    assert hand_results({A: [1e-2]}, tau=(1e-8,), max_calls=50).area().data["a"].iloc[0] == pytest.approx(
        log10(1e-2) / log10(1e-8)
    )
