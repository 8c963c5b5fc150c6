"""Listings of the command for programs: JSON, one of them in full, names for the completion of a shell."""

import json
from math import inf, nan

import pytest
from typer.testing import CliRunner

from oracle_opt import minimize
from oracle_opt.cli import main
from oracle_opt.cli_listings import as_json, dataset_names, family_names, generator_names
from oracle_opt.problems import find


def told(*words):
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def test_what_is_known_is_listed_for_programs():
    assert "Kelley" in {row["class"] for row in json.loads(told("generators", "--json"))}
    assert {row["name"] for row in json.loads(told("datasets", "--json"))} >= {"wdbc", "ionosphere"}
    rows = json.loads(told("problems", "max-affine", "--json"))
    assert all(row["name"].startswith("max-affine(") for row in rows)


def test_one_is_told_in_full():
    assert json.loads(told("generators", "kelley", "--json"))["parameters"]["chebyshev"] is False
    assert told("generators", "kelley").startswith("Kelley(chebyshev=False")
    assert "name: wdbc" in told("datasets", "wdbc")
    for words, near in (
        (("generators", "kelly"), "kelley"),
        (("datasets", "wdbx"), "wdbc"),
        (("datasets", "zzz"), "known are"),
    ):
        done = CliRunner().invoke(main, list(words))
        assert done.exit_code == 2
        assert near in done.output


def test_what_is_infinite_is_null(capsys):
    as_json({"lower": -inf, "rows": [(nan, 1.5)], "n": 3})
    assert json.loads(capsys.readouterr().out) == {"lower": None, "rows": [[None, 1.5]], "n": 3}


def test_verdict_and_health_are_told_for_programs(tmp_path):
    (problem,) = find("two-stage(n=3, rows=4, scenarios=10, seed=0)")
    oracle = problem(0).oracle
    file = tmp_path / "run.jsonl"
    minimize(oracle).certificate().save(file)
    verdict = json.loads(told("verify", str(file), "--problem", problem.name, "--json"))
    assert verdict["proven"] is True
    assert verdict["lower"] <= verdict["upper"]
    assert json.loads(told("doctor", "--json"))["healthy"] is True


@pytest.mark.parametrize(
    ("names", "begin", "one"),
    [(generator_names, "kel", "kelley"), (dataset_names, "wd", "wdbc"), (family_names, "max-c", "max-cut")],
)
def test_names_are_completed(names, begin, one):
    assert one in names(begin)
    assert names("nobody") == []
