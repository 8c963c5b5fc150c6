"""Tables as data, Markdown and CSV."""

import csv
import io
import re
from math import inf, nan
from pathlib import Path

import pandas as pd
import pytest
from hand_results import hand_results, to

from oracle_opt.study.analyses.table import Table, plain_number

AWKWARD = r"50%_of{x}~^\ & $a$ #1 <b> |c| [d] *e* `f`"


def test_calls_to_accuracy_by_hand() -> None:
    gaps = {
        ("p", "kelley", 0): to(10),
        ("p", "kelley", 1): to(13),
        ("p", "own_one", 0): to(12),
        ("p", "own_one", 1): to(8),
    }
    gaps |= {
        ("q", "kelley", 0): to(inf),
        ("q", "kelley", 1): to(9),
        ("q", "own_one", 0): to(7),
        ("q", "own_one", 1): to(9),
    }
    results = hand_results(gaps)
    table = results.table(tau=1e-4)
    assert table.data.to_dict("list") == {"instance": ["p", "q"], "kelley": [11.5, inf], "own_one": [10.0, 8.0]}
    assert table.title == "Oracle calls to 1e-4, test 'certified'"
    assert table.last == ("runs solved", "3 of 4", "4 of 4")
    assert table.to_markdown().split("\n")[-4] == "| runs solved | 3 of 4 | 4 of 4 |"
    assert "median" in table.caption
    each = results.table(seeds="each")
    assert each.data.to_dict("list") == {
        "instance": ["p", "p", "q", "q"],
        "seed": [0, 1, 0, 1],
        "kelley": [10, 13, inf, 9],
        "own_one": [12, 8, 7, 9],
    }
    assert each.to_markdown().splitlines()[:4] == [
        r"| instance | seed | kelley | own\_one |",
        "| --- | ---: | ---: | ---: |",
        "| p | 0 | **10** | 12 |",
        "| p | 1 | 13 | **8** |",
    ]
    seconds = results.table(cost="total seconds", seeds="each").data["kelley"].tolist()
    assert seconds == [15.0, 19.5, inf, 13.5]


def test_markdown_and_csv(tmp_path: Path) -> None:
    data = pd.DataFrame({"name": [AWKWARD, 'a,"b"'], "x": [1 / 3, inf], "n": [3, 4]})
    table = Table(data, "T", "C.", compared=("x", "n"), largest_is_best=True)
    lines = table.to_markdown(tmp_path / "a.md").splitlines()
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in lines[:4])
    assert lines[2].endswith("| 0.333 | **3** |")
    assert lines[-1] == "T. C."
    rows = list(csv.reader(io.StringIO(table.to_csv(tmp_path / "a.csv"))))
    assert rows == [["name", "x", "n"], [AWKWARD, "0.3333333333333333", "3"], ['a,"b"', "inf", "4"]]
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "a.csv"), data)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (12, "12"),
        (12.0, "12"),
        (12.3456, "12.3"),
        (-0.5, "-0.5"),
        (123456.0, "123456"),
        (1e9, "1e+09"),
        (1.234e-5, "1.23e-05"),
        (inf, "-"),
        (nan, "-"),
    ],
)
def test_numbers(value: float, plain: str) -> None:
    assert plain_number(value) == plain


def test_a_table_without_rows() -> None:
    table = Table(pd.DataFrame({"instance": [], "a": []}), "T", "C.", compared=("a",))
    assert table.to_markdown().startswith("| instance | a |")
    assert table.to_csv() == "instance,a\n"


def test_runs_at_the_known_minimum_are_counted_whether_proven_or_not() -> None:
    gaps = {("p", "a", 0): [1.0, 1e-6], ("p", "b", 0): [1.0, 0.5], ("q", "a", 0): [1.0], ("q", "b", 0): [1.0]}
    known: dict[tuple[str, str, int], dict[str, float]]
    known = {key: {"optimum": 1.0, "optimum_error": 0.0, "upper_bound": 1.0 + 1e-5} for key in gaps}
    known["q", "b", 0]["upper_bound"] = 1.1
    results = hand_results(gaps, runs=known)
    assert "known minimum, proven or not: a 2 of 2, b 1 of 2" in results.table(tau=1e-4).caption
    unknown = hand_results(gaps, runs={key: {"optimum": nan, "optimum_error": nan} for key in gaps})
    assert "known minimum" not in unknown.table(tau=1e-4).caption
