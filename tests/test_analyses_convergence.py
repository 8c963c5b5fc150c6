"""When a run counts as having reached an accuracy, and what it cost, on histories written down by hand."""

from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from hand_results import hand_results, to
from small_results import small_results

from oracle_opt import InvalidArgument
from oracle_opt.study.analyses.convergence import run_paths
from oracle_opt.study.analyses.problem_costs import problem_costs
from oracle_opt.study.results import Results

A, B = ("p", "a", 0), ("p", "b", 0)


def costs(results: Results, tau: float = 1e-2, test: str = "certified", cost: str = "calls") -> dict[str, float]:
    """Costs of the generators on the only problem."""
    table = problem_costs(results, cost=cost, tau=tau, test=test, seeds="each").table
    assert len(table) == 1
    return table.iloc[0].to_dict()


def test_the_first_cost_counts_though_the_gap_grows_again() -> None:
    """The relative gap may grow, where the best value comes closer to 0."""
    results = hand_results({A: [1.0, 0.009, 0.02, 1e-4], B: [0.5, 0.5, 0.5]})
    assert costs(results) == {"a": 2, "b": inf}
    assert costs(results, 0.009) == {"a": 2, "b": inf}
    assert costs(results, 0.0089) == {"a": 4, "b": inf}


def test_costs_in_seconds() -> None:
    results = hand_results({A: [1.0, 0.1, 1e-4]}, oracle={A: [1.0, 2.0, 4.0]}, generator={A: [0.25, 0.5, 1.0]})
    assert costs(results, 0.1, cost="calls") == {"a": 2}
    assert costs(results, 0.1, cost="oracle seconds") == {"a": 3.0}
    assert costs(results, 0.1, cost="total seconds") == {"a": 3.75}
    assert costs(results, 1e-4, cost="total seconds") == {"a": 8.75}


def test_rows_of_the_history_may_be_in_any_order() -> None:
    results = hand_results({A: [1.0, 0.1, 1e-3, 1e-4], B: [1.0, 1.0, 1e-4]})
    mixed = Results(results.runs, results.history.sample(frac=1, random_state=3), results.tau)
    assert costs(mixed) == costs(results) == {"a": 3, "b": 3}
    assert costs(mixed, cost="oracle seconds") == {"a": 3.0, "b": 3.0}


def test_converged_counts_though_the_gap_is_a_hair_above() -> None:
    """The driver closes a gap that is only rounding, and goes by the decrease where the optimum is near 0."""
    gaps = {A: [1.0, 0.1, 1.3e-4, 1.2e-4]}
    converged = hand_results(gaps, runs={A: {"status": "CONVERGED", "n_calls": 3}})
    assert costs(converged, 1e-4) == {"a": 3}
    assert costs(converged, 1e-3) == {"a": 3}
    stopped = hand_results(gaps, runs={A: {"status": "MAX_CALLS", "n_calls": 4}})
    assert costs(stopped, 1e-4) == {"a": inf}
    with pytest.raises(InvalidArgument, match="`tau` must be at least 1e-4, got 1e-5: runs were stopped"):
        costs(converged, 1e-5)
    assert costs(converged, 1e-4, test="single-cut") == {"a": inf}, "the rule is that of the certified gap alone"


def test_calls_after_the_certified_gap_has_closed_count_for_the_other_tests_alone() -> None:
    gaps = {A: [1.0, 0.1, 1e-4, 1e-5, 1e-6]}
    results = hand_results(gaps, single={A: [1.0, 1.0, 1.0, 0.1, 1e-4]}, runs={A: {"n_calls": 3}})
    (certified,) = run_paths(results, cost="calls", test="certified", finest=1e-4)
    assert (certified.spent.tolist(), certified.gap.tolist()) == ([1, 2, 3], [1.0, 0.1, 1e-4])
    assert results.curves().data["x"].max() == 3
    assert costs(results, 1e-4, test="single-cut") == {"a": 5}
    for test, total in (("certified", 3), ("single-cut", 5)):
        assert run_paths(results, cost="calls", test=test, finest=1e-4)[0].total == total


@pytest.mark.parametrize("status", ["CONTRADICTION", "OUTSIDE", "DOUBTFUL"])
def test_bounds_that_contradict_each_other_prove_nothing(status: str) -> None:
    """Where the upper bound lies below the lower one, the gap of the history is 0."""
    upper = {A: [5.0, 1.0], B: [5.0, 1.1]}
    results = hand_results({A: [1.0, 0.0], B: [1.0, 0.5]}, upper=upper, runs={A: {"status": status}})
    for test in ("certified", "single-cut"):
        assert costs(results, 0.5, test=test) == {"a": inf, "b": 2}
    assert costs(results, 0.5, test="more-wild") == {"a": 2, "b": 2}, "its values are values"


def test_an_rtol_of_zero_proves_nothing() -> None:
    results = hand_results({A: [1.0, 0.1]}, runs={A: {"status": "CONVERGED", "rtol": 0.0}})
    assert costs(results) == {"a": inf}


def test_refused_and_failed_runs_never_reach_anything() -> None:
    gaps = {A: [1.0, 1e-4], B: [1.0, 1e-4], ("p", "c", 0): [], ("q", "a", 0): [1.0, 1e-4]}
    results = hand_results(gaps, runs={B: {"status": "FAILED"}, ("p", "c", 0): {"status": "REFUSED"}})
    found = problem_costs(results, cost="calls", tau=1e-2, test="certified", seeds="each")
    assert found.table.loc[("p", 0)].to_dict() == {"a": 2, "b": inf, "c": inf}
    assert found.counts.loc["a"].to_dict() == {
        "runs": 2,
        "solved": 2,
        "unsolved": 0,
        "failed": 0,
        "refused": 0,
        "missing": 0,
    }
    assert found.counts.loc["b", ["failed", "missing"]].tolist() == [1, 1]
    assert found.counts.loc["c", ["refused", "missing"]].tolist() == [1, 1]
    assert "1 run ended by an exception, 1 run refused, 2 runs missing" in found.sentences


def test_single_cut_has_its_own_gap() -> None:
    results = hand_results({A: [1.0, 1e-4]}, single={A: [inf, 0.01]})
    assert costs(results, test="single-cut") == {"a": 2}
    found = problem_costs(results, cost="calls", tau=1e-3, test="single-cut", seeds="each")
    assert found.table.iloc[0].to_dict() == {"a": inf}
    assert "1 run ended because the certified gap had closed, before this test held" in found.sentences


@pytest.mark.parametrize(("optimum", "first"), [(10.0, 2), (0.5, 3)])
def test_reference(optimum: float, first: int) -> None:
    """(u - f*) / max(1, |f*|): at f* = 10 a distance of 0.1 is 1 %, at f* = 0.5 it is 10 %."""
    upper = {A: [optimum + 1.0, optimum + 0.0999, optimum + 0.0099]}
    known = {A: {"optimum": optimum, "optimum_error": 1e-4}}
    results = hand_results({A: [1.0, 1.0, 1.0]}, upper=upper, runs=known)
    assert costs(results, test="reference") == {"a": first}


@pytest.mark.parametrize(
    ("optimum", "error", "reason"),
    [(nan, nan, "no minimum is known"), (1.0, 1.01e-3, "not ten times as exact as 0.01"), (1.0, nan, "not ten times")],
)
def test_reference_is_refused_with_the_reason(optimum: float, error: float, reason: str) -> None:
    results = hand_results({A: [1.0, 1e-4]}, runs={A: {"optimum": optimum, "optimum_error": error}})
    with pytest.raises(InvalidArgument, match=rf"`test` 'reference' cannot be held against p: .*{reason}"):
        costs(results, test="reference")


@pytest.mark.parametrize(("optimum", "error"), [(1.0, 1e-3), (100.0, 0.1), (-100.0, 0.1), (0.0, 1e-3)])
def test_reference_allows_an_error_of_a_tenth(optimum: float, error: float) -> None:
    def made(error: float) -> Results:
        upper = {A: [optimum + 50.0, optimum]}
        return hand_results({A: [1.0, 1e-4]}, upper=upper, runs={A: {"optimum": optimum, "optimum_error": error}})

    assert costs(made(error), test="reference") == {"a": 2}
    with pytest.raises(InvalidArgument, match="not ten times as exact"):
        costs(made(1.01 * error), test="reference")


def test_refused_runs_need_no_known_minimum() -> None:
    refused = hand_results(
        {A: [1.0, 1e-4], B: []}, runs={A: {"optimum": 1.0, "optimum_error": 0.0}, B: {"status": "REFUSED"}}
    )
    assert costs(refused, test="reference") == {"a": 2, "b": inf}


def test_more_wild() -> None:
    """f_0 = 10 and f_L = 2, found by b: tau = 0.25 needs a value of at most 2 + 0.25 * 8 = 4."""
    upper = {A: [10.0, 5.0, 4.0, 3.0], B: [10.0, 4.1, 2.0]}
    results = hand_results({A: [1.0] * 4, B: [1.0] * 3}, upper=upper)
    assert costs(results, 0.25, test="more-wild") == {"a": 3, "b": 3}
    assert costs(results, 0.27, test="more-wild") == {"a": 3, "b": 2}
    assert costs(results, 0.01, test="more-wild") == {"a": inf, "b": 3}
    alone = results.filter(generator="a")
    assert costs(alone, 0.01, test="more-wild") == {"a": 4}, "the best value is that of the generators that are there"


def test_more_wild_where_the_start_is_best_or_nothing_is_known() -> None:
    upper = {A: [2.0, 2.0], B: [inf, inf]}
    results = hand_results({A: [1.0] * 2, B: [inf] * 2}, upper=upper, runs={B: {"start_value": nan}})
    assert costs(results, test="more-wild") == {"a": 1, "b": inf}
    assert costs(results.filter(generator="b"), test="more-wild") == {"b": inf}


def test_feasibility_cuts_and_missing_numbers_are_no_gaps() -> None:
    results = hand_results({A: [nan, inf, 0.5, 1e-4]}, upper={A: [inf, inf, 2.0, 1.0]}, runs={A: {"start_value": nan}})
    (path,) = run_paths(results, cost="calls", test="certified", finest=1e-4)
    assert path.gap.tolist() == [inf, inf, 0.5, 1e-4]
    assert costs(results, 0.5, test="more-wild") == {"a": 4}, "the start is the first point with a value"


def test_seeds() -> None:
    calls = {0: 10, 1: 20, 2: inf}
    results = hand_results({("p", "a", seed): to(value) for seed, value in calls.items()})
    each = problem_costs(results, cost="calls", tau=1e-4, test="certified", seeds="each")
    assert each.table["a"].tolist() == [10, 20, inf]
    assert "3 problems: each seed of 1 instance counts as one" in each.sentences
    median = problem_costs(results, cost="calls", tau=1e-4, test="certified", seeds="median")
    assert median.table["a"].tolist() == [20]
    assert "median" in median.sentences
    two = problem_costs(results.filter(seed=[0, 2]), cost="calls", tau=1e-4, test="certified", seeds="median")
    assert two.table["a"].tolist() == [inf], "half of the runs failed"


def test_a_history_without_any_call() -> None:
    results = hand_results({A: [1.0], B: []}, runs={B: {"status": "REFUSED"}})
    refused = results.filter(generator="b")
    assert len(refused.history) == 0
    assert costs(refused) == {"b": inf}
    bare = Results(refused.runs, pd.DataFrame({"instance": [], "generator": [], "seed": []}), refused.tau)
    assert costs(bare) == {"b": inf}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cost": "iterations"}, "`cost` must be one of 'calls', 'oracle seconds', 'total seconds', got 'iterations'"),
        ({"test": 3}, "`test` must be one of 'certified', .* got 3"),
        ({"seeds": "mean"}, "`seeds` must be one of 'each', 'median', got 'mean'"),
        ({"tau": 0.0}, "`tau` must be positive, got 0.0"),
        ({"tau": "fine"}, "`tau` must be a number, got 'fine'"),
        ({"tau": []}, "`tau` must be an accuracy, or several, got none"),
        ({"tau": 1e-9}, "`tau` must be at least 1e-4"),
    ],
)
def test_arguments_that_cannot_be_used(wrong: dict[str, object], message: str) -> None:
    results = hand_results({A: [1.0, 1e-4]})
    with pytest.raises(InvalidArgument, match=message):
        results.profile(**wrong)  # type: ignore[arg-type]


def test_results_that_cannot_be_used() -> None:
    results = hand_results({A: [1.0, 1e-4]})
    with pytest.raises(InvalidArgument, match="`results` must hold at least one run, got none"):
        Results(results.runs.iloc[:0], results.history.iloc[:0], results.tau).profile()
    with pytest.raises(InvalidArgument, match="`history` must have the columns single_cut_gap for the test"):
        Results(results.runs, results.history.drop(columns="single_cut_gap"), results.tau).profile(test="single-cut")


def test_default_accuracy_is_the_study_s_nearest_to_a_ten_thousandth() -> None:
    gaps = {A: [1.0, 1e-9]}
    for tau, chosen in (((1e-2, 1e-4, 1e-6), "1e-4"), ((5e-3,), "0.005"), ((1e-2, 1e-3, 1e-9), "0.001")):
        assert set(hand_results(gaps, tau).profile().data["panel"]) == {f"tau = {chosen}"}


def test_costs_agree_with_the_history_of_real_runs() -> None:
    results = small_results(max_calls=25)
    for tau in results.tau:
        table = problem_costs(results, cost="calls", tau=tau, test="certified", seeds="each").table
        for run in results.runs.itertuples():
            rows = results.history.merge(results.runs.loc[[run.Index], ["instance", "generator", "seed"]])
            first = rows.loc[rows["relative_gap"] <= tau, "call"].min()
            wanted = run.n_calls if np.isnan(first) and run.status == "CONVERGED" else first
            found = table.loc[(run.instance, run.seed), run.generator]
            assert found == (inf if np.isnan(wanted) else wanted)
