"""Profiles on cases computed by hand, against an independent implementation, and by their properties."""

from math import inf, log2

import numpy as np
import pandas as pd
import pytest
from hand_results import hand_results, to
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle_opt import InvalidArgument
from oracle_opt.study.analyses.curves import Curves
from oracle_opt.study.results import Results

# Calls of three generators on four problems; nobody solves the last one.
CALLS = {"p": (10, 20, 40), "q": (30, 10, 10), "r": (5, inf, 6), "s": (inf, inf, inf)}
NAMES = ("a", "b", "c")


def results_of(calls: dict[str, tuple[float, ...]], longest: int = 50) -> Results:
    return hand_results(
        {(p, NAMES[i], 0): to(value, longest) for p, row in calls.items() for i, value in enumerate(row)}
    )


def height(curves: Curves, name: str, x: float, panel: str | None = None) -> float:
    """Value of a step curve at x."""
    part = curves.data[(curves.data["name"] == name) & (curves.data["panel"] == (panel or curves.panels[0]))]
    return float(part.loc[part["x"] <= x, "y"].iloc[-1])


def test_performance_profile_by_hand() -> None:
    """Ratios: a 1, 3, 1, inf; b 2, 1, inf, inf; c 4, 1, 1.2, inf; of 4 problems each."""
    profile = results_of(CALLS).profile(tau=1e-4)
    for name, wanted in {
        "a": {1: 0.5, 2.9: 0.5, 3: 0.75, 4: 0.75},
        "b": {1: 0.25, 1.9: 0.25, 2: 0.5, 4: 0.5},
        "c": {1: 0.25, 1.19: 0.25, 1.2: 0.5, 3.9: 0.5, 4: 0.75},
    }.items():
        for x, share in wanted.items():
            assert height(profile, name, x) == share, (name, x)
    assert (profile.log_x, profile.kind, profile.y) == (True, "steps", "share of problems")
    assert "test 'certified'" in profile.title
    assert "oracle calls until the proven relative gap is at most" in profile.caption
    assert "may change when a third generator is taken away" in profile.caption
    assert "third" not in results_of(CALLS).filter(generator=["a", "b"]).profile().caption


def test_several_accuracies_are_panels() -> None:
    results = hand_results({("p", "a", 0): [1.0, 1e-2, 1e-4], ("p", "b", 0): [1.0, 1.0, 1e-4]})
    profile = results.profile(tau=(1e-4, 1e-2))
    assert profile.panels == ("tau = 0.01", "tau = 1e-4")
    assert height(profile, "b", 1.0, "tau = 0.01") == 0.0
    assert height(profile, "b", 1.5, "tau = 0.01") == 1.0
    assert height(profile, "b", 1.0, "tau = 1e-4") == 1.0
    assert "at most tau" in profile.caption


def test_pairwise_profiles_are_those_of_two_alone() -> None:
    """Only b has a ratio of 2 on p in both; on q, a against b, the least is 10; r is solved by a alone."""
    pairs = results_of(CALLS).pairs(tau=1e-4)
    assert pairs.panels == ("a | b", "a | c", "b | c")
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        alone = results_of(CALLS).filter(generator=[first, second]).profile(tau=1e-4).data.drop(columns="panel")
        panel = pairs.data[pairs.data["panel"] == f"{first} | {second}"].drop(columns="panel")
        pd.testing.assert_frame_equal(alone, panel.reset_index(drop=True))
    assert results_of(CALLS).pairs(against="c").panels == ("a | c", "b | c")


def test_the_order_may_switch_with_a_third() -> None:
    """a wins more often than b among three, b more often than a among two: what the caption warns of."""
    calls = {"p": (11.0, 10.0, 40.0), "q": (11.0, 10.0, 40.0), "r": (11.0, 10.0, 5.0)}
    calls |= {"s": (20.0, 30.0, 40.0), "t": (11.0, 10.0, 5.0)}
    all_three, two = results_of(calls).profile(), results_of(calls).filter(generator=["a", "b"]).profile()
    assert height(two, "b", 1.0) > height(two, "a", 1.0)
    calls |= {name: (*calls[name][:2], 9.0) for name in "pq"}
    switched = results_of(calls).profile()
    assert height(switched, "b", 1.0) < height(switched, "a", 1.0)
    assert height(all_three, "b", 1.0) == 0.4


def test_log_ratios_by_hand() -> None:
    """a over b: log2 of 10 / 20 and 30 / 10, r by a alone, s by nobody."""
    ratio = results_of(CALLS).log_ratio("a", "b", tau=1e-4)
    data = ratio.data.sort_values("x")
    end = 1.1 * log2(3)
    assert data["y"].tolist() == pytest.approx([-end, -1.0, log2(3)])
    assert data["name"].tolist() == ["a", "a", "b"]
    assert data["x"].tolist() == [1, 2, 3]
    assert "1 problem that neither solves left out" in ratio.caption
    assert results_of(CALLS).log_ratio("b", "c", tau=1e-4).data["name"].tolist() == ["b", "c", "equal"]


def test_data_profile_by_hand() -> None:
    """On problems of 4 variables: shares within x calls, and within x times five calls."""
    results = results_of(CALLS)
    data = results.data_profile(tau=1e-4)
    for name, wanted in {
        "a": {1: 0, 4: 0, 5: 0.25, 10: 0.5, 29: 0.5, 30: 0.75},
        "b": {9: 0, 10: 0.25, 20: 0.5, 44: 0.5},
        "c": {6: 0.25, 10: 0.5, 40: 0.75},
    }.items():
        for x, share in wanted.items():
            assert height(data, name, x) == share, (name, x)
    scaled = results.data_profile(tau=1e-4, scale="calls/(n+1)")
    assert height(scaled, "a", 0.99) == 0.0
    assert scaled.data["x"].min() == 0.2, "one call"
    sizes = hand_results({("p", "a", 0): to(9), ("q", "a", 0): to(9)}, runs={("p", "a", 0): {"n": 8}})
    curve = sizes.data_profile(scale="calls/(n+1)").data
    assert curve["x"].iloc[:3].tolist() == pytest.approx([1 / 9, 9 / 9, 9 / 5])
    assert curve["y"].iloc[:3].tolist() == [0.0, 0.5, 1.0]
    assert height(scaled, "a", 1.0) == 0.25
    assert height(scaled, "a", 2.0) == 0.5
    assert height(scaled, "a", 5.9) == 0.5
    assert height(scaled, "a", 6.0) == 0.75
    seconds = results.data_profile(tau=1e-4, scale="seconds")
    assert height(seconds, "a", 44.9) == 0.5
    assert height(seconds, "a", 45.0) == 0.75, "30 calls of a second in the oracle and half of one in the generator"


def test_other_generators_do_not_change_a_data_profile() -> None:
    whole, part = results_of(CALLS).data_profile(), results_of(CALLS).filter(generator="a").data_profile()
    for x in range(1, 33):
        assert height(whole, "a", x) == height(part, "a", x)


def test_one_generator_and_all_failed() -> None:
    alone = results_of(CALLS).filter(generator="a")
    assert height(alone.profile(), "a", 1.0) == 0.75
    with pytest.raises(InvalidArgument, match="at least two generators for pairs, got 1"):
        alone.pairs()
    nobody = results_of({"p": (inf, inf, inf)})
    for curves in (nobody.profile(), nobody.data_profile(), nobody.data_profile(scale="seconds"), nobody.pairs()):
        assert (curves.data["y"] == 0.0).all()
        assert np.isfinite(curves.data["x"]).all()
        curves.plot()
    with pytest.raises(InvalidArgument, match="`data` must have points to draw, got none for 'a against b"):
        nobody.log_ratio("a", "b").plot()


def test_refusals() -> None:
    results = results_of(CALLS)
    with pytest.raises(InvalidArgument, match="`against` must be one of 'a', 'b', 'c', got 'd'"):
        results.pairs(against="d")
    with pytest.raises(InvalidArgument, match="`second` must be one of"):
        results.log_ratio("a", "d")
    with pytest.raises(InvalidArgument, match="`second` must be another generator"):
        results.log_ratio("a", "a")
    with pytest.raises(InvalidArgument, match="`scale` must be one of"):
        results.data_profile(scale="hours")


COSTS = st.one_of(st.integers(1, 40), st.just(inf))
GRIDS = st.lists(st.tuples(COSTS, COSTS, COSTS), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(rows=GRIDS)
def test_properties_of_profiles(rows: list[tuple[float, ...]]) -> None:
    results = results_of({f"p{i}": row for i, row in enumerate(rows)})
    table = np.array(rows, dtype=float)
    solved = np.isfinite(table)
    profile, data = results.profile(), results.data_profile()
    wins = 0.0
    for i, name in enumerate(NAMES):
        for curves in (profile, data):
            part = curves.data[curves.data["name"] == name]
            assert (np.diff(part["x"]) > 0).all()
            assert (np.diff(part["y"]) >= 0).all()
            assert part["y"].between(0, 1).all()
            assert part["y"].iloc[-1] == solved[:, i].mean(), "the right end is the share of problems solved"
        wins += height(profile, name, 1.0)
    assert wins >= solved.any(axis=1).mean() - 1e-12, "every problem that is solved is won by somebody"


@pytest.mark.campaign(inf)
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(*[st.one_of(st.integers(2, 40), st.just(inf))] * 3), min_size=1, max_size=6))
def test_profiles_agree_with_optimagic(rows: list[tuple[float, ...]]) -> None:
    """Its `profile_plot`; it calls the one with normalized times a data profile, which is the performance profile.

    It counts evaluations from 0, and knows nothing of certified gaps: our gaps go in as values over the solution's.
    """
    pytest.importorskip("optimagic", reason="optimagic is not installed: pip install optimagic")
    from optimagic.benchmarking.process_benchmark_results import process_benchmark_results
    from optimagic.visualization.profile_plot import create_solution_times

    problems, histories = {}, {}
    for i, row in enumerate(rows):
        problems[f"p{i}"] = {
            "solution": {"value": 0.0, "params": np.zeros(1)},
            "start_criterion": 1.0,
            "inputs": {"params": np.ones(1)},
        }
        for name, value in zip(NAMES, row, strict=True):
            values = to(value, 50)
            histories[f"p{i}", name] = {
                "params_history": pd.DataFrame(np.ones((len(values), 1))),
                "criterion_history": pd.Series(values),
                "time_history": pd.Series(np.arange(len(values), dtype=float)),
                "batches_history": pd.Series(np.arange(len(values))),
            }
    frame, converged = process_benchmark_results(problems, histories, stopping_criterion="y", y_precision=1e-4)
    times = create_solution_times(frame, "n_evaluations", converged)
    results = results_of({f"p{i}": row for i, row in enumerate(rows)})
    data, profile = results.data_profile(tau=1e-4), results.profile(tau=1e-4)
    for x in range(1, 45):
        for name in NAMES:
            assert height(data, name, x) == pytest.approx((times[name] + 1 <= x).mean())
    least = (times + 1).min(axis=1)
    for name in NAMES:
        ratios = (times[name] + 1) / least
        for x in (1.0, 1.3, 2.0, 5.0, 19.0):
            wanted = (ratios.where(np.isfinite(times[name]), inf) <= x).mean()
            assert height(profile, name, x) == pytest.approx(wanted)
