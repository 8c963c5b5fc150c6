"""The benchmark of scale: its generated points, its rows in processes of their own, kills, and what is missing."""

import json
import runpy
import sys
from math import inf
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "wait4"), reason="this system has no wait4")


@pytest.fixture
def scale(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return runpy.run_path(str(FOLDER / "scale.py"))


@pytest.fixture
def forest(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return runpy.run_path(str(FOLDER / "_forest.py"))


def run(scale, monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["scale.py", *words])
    scale["main"]()
    return capsys.readouterr().out.splitlines()


def cells_of(lines):
    headings, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|")
    return [dict(zip(headings, row, strict=True)) for row in rows]


def test_points_of_the_forest_have_the_shape_of_covertype(forest):
    X, y = forest["forest"](70_000)
    assert X.shape == (70_000, 54)
    assert X.dtype == np.float32
    numbers, area, soil = X[:, :10], X[:, 10:14], X[:, 14:]
    for bits in (area, soil):
        np.testing.assert_array_equal(np.unique(bits), [0, 1])
        np.testing.assert_array_equal(bits.sum(axis=1), 1)
    assert np.abs(numbers.mean(axis=0)).max() < 0.1
    assert np.abs(numbers.std(axis=0) - 1).max() < 0.1
    assert np.all(X.max(axis=0) > X.min(axis=0))  # no constant column
    assert set(np.unique(y)) == {-1.0, 1.0}
    assert 0.4 < (y > 0).mean() < 0.6
    # Lights and soils go with aspect and elevation, as they do there.
    assert np.corrcoef(numbers[:, 6], numbers[:, 8])[0, 1] < -0.3
    assert np.corrcoef(numbers[:, 0], soil @ np.arange(40))[0, 1] > 0.7


def test_points_of_the_forest_do_not_depend_on_their_number(forest):
    X, y = forest["forest"](66_000)
    for n in (10, 65_536):
        fewer, labels = forest["forest"](n)
        np.testing.assert_array_equal(fewer, X[:n])
        np.testing.assert_array_equal(labels, y[:n])
    other, _ = forest["forest"](10, seed=1)
    assert not np.array_equal(other, X[:10])
    assert not np.array_equal(X[65_536:65_600], X[:64])  # chunks are not copies of each other


def test_labels_of_the_forest_can_be_learned_up_to_the_noise(forest):
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = forest["forest"](10_000)
    right = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X[:7_000], y[:7_000])
    assert 0.85 < right.score(X[7_000:], y[7_000:]) < 0.96


def test_a_row_is_measured_in_a_process_of_its_own(scale, monkeypatch, capsys):
    (row,) = cells_of(run(scale, monkeypatch, capsys, "covertype", "--n", "300"))
    assert row["row"] == "covertype"
    assert "300 points" in row["problem"]
    assert 0 <= float(row["gap"]) <= 1e-3
    assert 0 < float(row["s"]) <= float(row["process, s"])
    assert 0.05 < float(row["peak, GiB"]) < 2.0
    assert int(row["calls"]) >= 1
    assert row["goal"] == row["prototype"] == row["paper"] == ""  # they are those of all points


def test_a_journal_takes_up_the_run(scale, monkeypatch, capsys, tmp_path):
    words = ("covertype", "--n", "300", "--journal", str(tmp_path / "run.journal"))
    first = cells_of(run(scale, monkeypatch, capsys, *words))
    size = (tmp_path / "run.journal").stat().st_size
    again = cells_of(run(scale, monkeypatch, capsys, *words))
    assert (tmp_path / "run.journal").stat().st_size == size > 0
    assert [row["calls"] for row in first] == [row["calls"] for row in again]


@pytest.mark.campaign(inf)
def test_a_process_that_is_killed_is_started_once_more(scale, tmp_path):
    """The first start sleeps and is killed, the second finds what it left and prints."""
    mark = tmp_path / "mark"
    command = ["sh", "-c", f"if [ -e '{mark}' ]; then echo '{{}}'; else touch '{mark}'; sleep 60; fi"]
    done = scale["watched"](command, kill_after=2.0)
    assert (done.found, done.starts) == ({}, 2)
    assert done.peak > 0
    assert scale["watched"](command, kill_after=60.0).starts == 1
    with pytest.raises(SystemExit, match="ended with 3"):
        scale["watched"]([sys.executable, "-c", "raise SystemExit(3)"])


def test_memory_is_that_of_the_child(scale):
    """Of a parent, too, that has had much more."""
    held = np.ones(1 << 27)  # 1 GiB
    done = scale["watched"]([sys.executable, "-c", "x = bytearray(b'1') * (1 << 28); print('{}')"])
    assert held[-1] == 1.0
    assert 0.25 <= done.peak < 0.35
    assert done.seconds > 0


def test_what_is_missing_is_left_out_with_the_reason(scale, monkeypatch, capsys, tmp_path):
    for variable in ("ORACLE_OPT_DATA", "ORACLE_OPT_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path))
    assert run(scale, monkeypatch, capsys, "w8a") == ["Left out: w8a, as the data set 'w8a' is not here", ""]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a9a",), "there is no row 'a9a'"),
        (("a9a-same", "w8a", "--journal", "x"), "a journal belongs to one row"),
        (("growth-n", "--journal", "x"), "a journal belongs to one row"),
        (("covertype", "--kill-after", "1"), "goes on from its --journal"),
    ],
)
def test_options_that_cannot_be_used(scale, monkeypatch, capsys, words, message):
    monkeypatch.setattr("sys.argv", ["scale.py", *words])
    with pytest.raises(SystemExit):
        scale["main"]()
    assert message in capsys.readouterr().err


def test_rows_name_problems_that_can_be_sent_to_a_process(scale):
    from dataclasses import asdict

    rows = scale["_scale_rows"]
    for words in rows.ROWS.values():
        assert rows.Problem(**json.loads(json.dumps(asdict(words.problem)))) == words.problem
    for problem, field, sizes in rows.GROWTH.values():
        assert list(sizes) == sorted(sizes)
        assert hasattr(problem, field)
    assert rows.small(rows.ROWS["widths-1e6"].problem).p == 600
    assert rows.exponent([1, 10], [2.0, 200.0]) == pytest.approx(2.0)


def test_the_figure_of_growth(scale, tmp_path):
    curves = [("p", "sonar", (1000, 10_000), [0.1, 0.3]), ("n", "a9a", (1000, 4000), [0.2, 0.9])]
    scale["_scale_rows"].draw(curves, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")


def test_features_are_held_to_the_exact_problem(monkeypatch, capsys):
    """The quick run: no answer from features beats the exact optimum, and each is certified for its own problem."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr("sys.argv", ["features.py", "--quick"])
    runpy.run_path(str(FOLDER / "features.py"))["main"]()
    rows = cells_of(capsys.readouterr().out.splitlines())
    assert [row["method"] for row in rows] == ["exact", "Nystroem", "Fourier"]
    for row in rows:
        assert 0 <= float(row["own gap"]) <= 1e-3
        assert float(row["primal above"]) >= -1e-3
        assert float(row["dual below"]) >= -1e-3
        assert 0 <= float(row["true gap"]) < 0.05
