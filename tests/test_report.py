"""The report of a study as a file: what is in it, how small it is, that names and numbers of any kind do no harm."""

import base64
import hashlib
import importlib
import json
import re
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from big_results import big_results
from small_results import small_results

from oracle_opt.errors import InvalidArgument
from oracle_opt.study.analyses import Curves, Table
from oracle_opt.study.report.analyses_data import LEVELS, WIDTH
from oracle_opt.study.report.curve_text import ALPHABET, BASE, INFINITE, UNKNOWN, ZERO, curve_text, levels, widths
from oracle_opt.study.report.extra_data import curves_data, table_data
from oracle_opt.study.report.histories import kept_points, shortened
from oracle_opt.study.report.write_report import to_json
from oracle_opt.study.results import Results


def data_of(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def read_digits(code: str) -> list[int]:
    """The inverse of `digits`, written from its docstring."""
    numbers, value, unit = [], 0, 1
    for character in code:
        digit = ALPHABET.index(character)
        value += (digit % BASE) * unit
        unit *= BASE
        if digit < BASE:
            numbers.append(value)
            value, unit = 0, 1
    return numbers


def read_levels(count: int, code: str) -> np.ndarray:
    """The inverse of `curve_text`, likewise."""
    numbers = read_digits(code)
    signed = [number // 2 if number % 2 == 0 else -(number + 1) // 2 for number in numbers]
    return np.cumsum(np.reshape(signed, (-1, count)), axis=1)


def value_of(level: int, width: float) -> float:
    return {ZERO: 0.0, INFINITE: np.inf, UNKNOWN: np.nan}.get(level, 10.0 ** (level * width))


@pytest.fixture(scope="module")
def results() -> Results:
    return small_results()


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "study.html"
    assert results.report(path) == path
    return path.read_text(encoding="utf-8")


def test_one_file_that_names_no_other(page: str) -> None:
    assert page.startswith("<!DOCTYPE html>")
    outside = set(re.findall(r"https?://[^\s\"'<>)]+", page)) - {"http://www.w3.org/2000/svg"}  # the name of SVG
    assert outside == set()
    assert not re.search(r"\b(src|href)\s*=\s*[\"'](?!#|data:)", page)
    assert "@import" not in page
    assert "url(" not in page


def test_the_policy_lets_these_texts_work_and_nothing_else(page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_the_script_never_makes_markup_of_text(page: str) -> None:
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    words = "innerHTML outerHTML insertAdjacentHTML document.write eval( Function( fetch( XMLHttpRequest import("
    for word in words.split():
        assert word not in script


def test_every_run_is_there_with_its_numbers(page: str, results: Results) -> None:
    data = data_of(page)
    assert data["count"] == len(results)
    runs = data["runs"]
    for name in ("instance", "generator", "status", "message", "method"):
        words, at = runs[name]["words"], runs[name]["at"]
        at = [at] * len(results) if isinstance(at, int) else at
        assert [words[i] for i in at] == results.runs[name].fillna("").to_list(), name
    np.testing.assert_allclose(
        np.array(runs["upper_bound"], dtype=float), results.runs["upper_bound"].to_numpy(), rtol=1e-8
    )
    assert data["measures"][0][0] == "accuracy"
    assert [generator["name"] for generator in data["generators"]] == list(results.order)
    assert len({(generator["color"], generator["dash"]) for generator in data["generators"]}) == 5


def test_curves_are_read_back(page: str, results: Results) -> None:
    data = data_of(page)
    fine, coarse = data["code"]["fine"], data["code"]["coarse"]
    assert (fine, coarse) == widths(0.005)
    for i, run in results.runs.iterrows():
        own = results.history[
            (results.history["instance"] == run["instance"])
            & (results.history["generator"] == run["generator"])
            & (results.history["seed"] == run["seed"])
        ]
        if not len(own):
            assert data["curves"][i] is None
            continue
        count, code, *ends = data["curves"][i]
        upper, lower = ends or (run["upper_bound"], run["lower_bound"])
        calls, gap, above, below, oracle, total = read_levels(count, code)
        assert calls[0] == 1
        assert calls[-1] == len(own)
        kept = own.iloc[calls - 1]
        np.testing.assert_allclose([value_of(v, fine) for v in gap], kept["relative_gap"], rtol=0.0024)
        np.testing.assert_allclose([upper + value_of(v, coarse) for v in above], kept["upper_bound"], rtol=1e-2)
        np.testing.assert_allclose(
            [lower - value_of(v, coarse) for v in below], kept["lower_bound"], rtol=1e-1, atol=0.1
        )
        spent = own[["oracle_seconds", "generator_seconds"]].cumsum()
        np.testing.assert_allclose(
            [value_of(v, coarse) for v in oracle], spent["oracle_seconds"].iloc[calls - 1], rtol=0.012
        )
        np.testing.assert_allclose([value_of(v, coarse) for v in total], spent.sum(axis=1).iloc[calls - 1], rtol=0.012)
        # what was left out lies within half a percent of the point before
        shown = kept["relative_gap"].to_numpy()[np.searchsorted(calls, own["call"], side="right") - 1]
        np.testing.assert_allclose(shown, own["relative_gap"], rtol=0.0051)


@pytest.mark.parametrize("tau", [0, 1, 2])
def test_costs_are_the_first_calls_that_pass(page: str, results: Results, tau: int) -> None:
    costs = data_of(page)["tests"]["certified"]["tau"][tau]
    keys = ["instance", "generator", "seed"]
    passing = results.history[results.history["relative_gap"] <= results.tau[tau]]
    first = passing.groupby(keys)["call"].min()
    wanted = [first.get(tuple(run), -2) + 2 for run in results.runs[keys].itertuples(index=False)]
    assert read_digits(costs["calls"]) == wanted
    ends = passing.groupby(keys).head(1)
    total = results.history.groupby(keys)[["oracle_seconds", "generator_seconds"]].cumsum().sum(axis=1)
    seconds = {tuple(row[keys]): total[i] for i, row in ends.iterrows()}
    for run, number in zip(
        results.runs[keys].itertuples(index=False), read_digits(costs["total seconds"]), strict=True
    ):
        if number:
            assert 10 ** ((number - LEVELS) * WIDTH) == pytest.approx(seconds[tuple(run)], rel=2.4e-4)
        else:
            assert tuple(run) not in seconds


@pytest.mark.campaign(inf)
def test_a_big_study_stays_small_and_says_what_it_left_out(tmp_path: Path) -> None:
    """2,000 runs of 500 calls."""
    study = big_results(instances=50, seeds=5, generators=8, calls=500)
    path = study.report(tmp_path / "big.html", title="Big")
    page = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 1_000_000
    data = data_of(page)
    assert data["count"] == 2000
    note = " ".join(data["notes"])
    kept = int(re.search(r"([\d,]+) are kept", note)[1].replace(",", ""))
    assert kept == sum(curve[0] for curve in data["curves"])
    assert kept > 30 * 2000
    assert "Messages of runs that converged or reached a limit are left out." in note


def test_a_study_of_too_many_runs_is_larger_and_says_so(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its curves are thinned no more than so far that they still show something."""
    module = importlib.import_module("oracle_opt.study.report.write_report")
    monkeypatch.setattr(module, "LARGEST", 80_000)
    path = results.report(tmp_path / "study.html")
    assert path.stat().st_size > 80_000
    first, second, third = data_of(path.read_text(encoding="utf-8"))["notes"]
    assert "had improved by 70 %" in first
    assert second.startswith("In curves gaps are rounded to")
    assert third == "With 25 runs this page has more than 1 MB."


HOSTILE = "</script><img src=x onerror=alert(1)><!-- \u2028 & \" ' ü $&"


def test_names_are_text(results: Results, tmp_path: Path) -> None:
    runs = results.runs.replace({"instance": {"pieces/2": HOSTILE}, "generator": {"kelley": HOSTILE}})
    history = results.history.replace({"instance": {"pieces/2": HOSTILE}, "generator": {"kelley": HOSTILE}})
    path = Results(runs, history, results.tau).report(tmp_path / "study.html", title=HOSTILE + "\ud800")
    page = path.read_bytes().decode("utf-8")
    assert "<img" not in page
    assert page.count("</script>") == 2
    assert "\u2028" not in page.split('id="data"')[1]
    data = data_of(page)
    assert data["title"] == HOSTILE + "\ud800"
    assert data["runs"]["instance"]["words"][0] == HOSTILE


def test_json_of_odd_numbers() -> None:
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 1e-300, 12345678901, np.float64(0.1), np.int64(3), True]
    text = to_json(values)
    assert text == "[null,1e999,-1e999,-0,1e-300,12345678901,0.1,3,true]"
    assert json.loads(text)[1] == float("inf")
    with pytest.raises(TypeError, match="holds no object"):
        to_json(object())


def test_studies_without_histories_or_numbers(results: Results, tmp_path: Path) -> None:
    refused = results.filter(generator="spectral-bundle")
    data = data_of(refused.report(tmp_path / "one.html").read_text(encoding="utf-8"))
    assert data["title"] == "1 generator on 1 instance"
    assert data["curves"] == [None]
    assert data["runs"]["upper_bound"] is None
    with pytest.raises(InvalidArgument, match="at least one run"):
        results.filter(where=lambda runs: runs["seed"] < 0).report(tmp_path / "none.html")
    with pytest.raises(InvalidArgument, match="`title`"):
        results.report(tmp_path / "none.html", title=3)  # type: ignore[arg-type]
    assert not (tmp_path / "none.html").exists()


def test_infinite_and_unknown_numbers_of_a_history(results: Results, tmp_path: Path) -> None:
    one = results.filter(generator="kelley", instance="pieces/2", seed=0)
    history = one.history.copy()
    history.loc[history.index[:3], ["lower_bound", "relative_gap"]] = [-np.inf, np.inf]
    history.loc[history.index[4], "relative_gap"] = np.nan
    history.loc[history.index[-1], "relative_gap"] = 0.0
    path = Results(one.runs, history, one.tau).report(tmp_path / "odd.html")
    data = data_of(path.read_text(encoding="utf-8"))
    calls, gap, _, below, *_ = read_levels(*data["curves"][0][:2])
    assert gap[0] == INFINITE
    assert below[0] == INFINITE
    assert gap[calls == 5] == [UNKNOWN]
    assert gap[-1] == ZERO


def test_kept_points_on_a_case_by_hand() -> None:
    gap = np.array([np.inf, np.inf, 1.0, 0.9, 0.6, 0.45, 0.0, 0.0, np.nan, np.nan, 3.0])
    first = np.zeros(len(gap), dtype=bool)
    first[[0, 10]] = True
    # intervals (1/2, 1] and (1/4, 1/2]: 0.9 and 0.6 lie in that of 1
    assert np.flatnonzero(kept_points(gap, first, 0.5)).tolist() == [0, 2, 5, 6, 8, 9, 10]
    assert kept_points(np.zeros(0), np.zeros(0, dtype=bool), 0.5).shape == (0,)


def test_long_texts_keep_their_ends() -> None:
    texts = ["a" * 500 + "end", "short", "b" * 90, "a" * 500 + "end"]
    assert shortened(texts, 700) == (texts, 0)
    found, longest = shortened(texts, 300)
    assert longest == 160
    assert found == ["... " + "a" * 157 + "end", "short", "b" * 90, "... " + "a" * 157 + "end"]


def test_tracebacks_of_many_failures_are_shortened(tmp_path: Path) -> None:
    study = big_results(instances=20, seeds=5, generators=2, calls=3)
    runs = study.runs.assign(status="FAILED", traceback=[f"{i} " + "line\n" * 2000 for i in range(200)])
    data = data_of(Results(runs, study.history, study.tau).report(tmp_path / "failed.html").read_text(encoding="utf-8"))
    assert "Of every traceback the last 320 characters are kept." in data["notes"]
    assert len(json.dumps(data["runs"]["traceback"])) < 130_000


def test_levels_round_logarithms() -> None:
    found = levels(np.array([1.0, 10.0, 1e-3, 0.0, np.inf, np.nan, -1.0]), 0.5)
    assert found.tolist() == [0, 2, -6, ZERO, INFINITE, UNKNOWN, UNKNOWN]
    columns = [np.array([3, 1, -70_000]), np.array([5, 5, 2_000_000])]
    np.testing.assert_array_equal(read_levels(3, curve_text(columns)), columns)
    assert curve_text([]) == ""


def test_seeds_and_columns_of_other_types(results: Results, tmp_path: Path) -> None:
    """Columns that were read back as objects, or hold booleans, are numbers all the same."""
    runs = results.runs.astype({"n": object, "max_calls": "Int64"}).assign(good=True, words="so")
    data = data_of(Results(runs, results.history, results.tau).report(tmp_path / "a.html").read_text(encoding="utf-8"))
    assert data["runs"]["max_calls"] == 60
    assert ["good", 1] in data["measures"]
    assert "words" not in dict(data["measures"])
    assert isinstance(pd.Series(data["runs"]["n"]).max(), int | np.integer)


def test_figures_and_tables_are_added(results: Results, tmp_path: Path) -> None:
    extra = {"Pairs": results.pairs(), "Costs": results.table()}
    data = data_of(results.report(tmp_path / "extra.html", extra=extra).read_text(encoding="utf-8"))
    scatter, correlations, pairs, costs = data["extra"]  # two of the trace that the histories have
    assert [one["heading"] for one in data["extra"][2:]] == list(extra)
    assert (scatter["kind"], scatter["heading"]) == ("points", "Accuracy and gap")
    assert [panel["title"] for panel in scatter["panels"]] == ["pieces/2", "pieces/4", "pieces/6"]
    wanted = results.correlations().data["correlation"]
    assert correlations["columns"][2]["values"] == pytest.approx(wanted.to_list(), rel=1e-4, nan_ok=True)
    wanted = extra["Pairs"].data
    assert [panel["title"] for panel in pairs["panels"]] == list(dict.fromkeys(wanted["panel"]))
    points = sum(len(series["x"]) for panel in pairs["panels"] for series in panel["series"])
    assert points == len(wanted)
    assert [column["title"] for column in costs["columns"]] == list(extra["Costs"].data.columns)
    assert [column["compared"] for column in costs["columns"]] == [False] + [True] * 5
    for bad, words in (({"a": 3}, "`extra` must hold"), ([3], "`extra` must be a mapping")):
        with pytest.raises(InvalidArgument, match=words):
            results.report(tmp_path / "bad.html", extra=bad)  # type: ignore[arg-type]


def test_long_curves_and_tables_are_thinned_and_say_so() -> None:
    x = np.arange(2000.0)
    frame = pd.DataFrame({"panel": "", "name": "a", "x": x, "y": x, "low": np.nan, "high": np.nan})
    data = curves_data(Curves(frame, "t", "x", "y", "Words."))
    (series,) = data["panels"][0]["series"]
    assert len(series["x"]) == 500
    assert series["x"][0] == 0
    assert series["x"][-1] == 1999
    assert "low" not in series
    assert data["caption"] == "Words. Of curves with more than 500 points only 500 are drawn."
    data = table_data(Table(pd.DataFrame({"a": x}), "t", "Words."))
    assert len(data["columns"][0]["values"]) == 500
    assert data["caption"] == "Words. Of 2000 rows the first 500 are shown."
