"""Studies on the command line: files, own oracles and generators, the report."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oracle_opt import InvalidArgument
from oracle_opt.cli import main
from oracle_opt.study import Limits, Results, read_study

FILE = """
instances = ["max-affine(n=5, seed=1)", "study_parts:pieces"]
generators = ["level-set", "kelley(chebyshev=True)", "study_parts:Slow(level=0.6)", "newton-bundle"]
seeds = 2
tau = [1e-1, 1e-3]
limits = {calls = 100, seconds = 30}
"""


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_study_and_report(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    first = run("study", file, "--jobs", 2)
    assert first.exit_code == 0, first.output
    assert "16 runs to do" in first.stderr
    assert "refused: study_parts:pieces, newton-bundle, seed 1: NewtonBundle cannot serve" in first.stderr
    assert "study_parts:Slow(level=0.6)" in first.stdout
    page = tmp_path / "mine" / "report.html"
    assert re.search(r"<title>[^<]*mine", page.read_text(encoding="utf-8"))
    results = Results.read(tmp_path / "mine")
    assert results.runs["status"].value_counts().to_dict() == {"CONVERGED": 12, "REFUSED": 4}
    again = run("study", file)
    assert "16 runs found finished, 0 to do" in again.stderr
    page.unlink()
    assert run("report", tmp_path / "mine", "--title", "Other words").exit_code == 0
    assert "Other words" in page.read_text(encoding="utf-8")
    other = tmp_path / "other.html"
    assert run("report", tmp_path / "mine", "--out", other).exit_code == 0
    assert other.exists()


@pytest.mark.parametrize("parts", [2, 3, 20])
def test_parts_share_out_the_runs_and_the_whole_makes_the_report(tmp_path: Path, parts: int) -> None:
    file, page = tmp_path / "mine.toml", tmp_path / "mine" / "report.html"
    file.write_text(FILE)
    for part in range(parts, 0, -1):
        done = run("study", file, "--jobs", 1, "--part", f"{part}/{parts}")
        assert done.exit_code == 0, done.output
        assert f"{len(range(part - 1, 16, parts))} run" in done.stderr
        assert "found" not in done.stderr
    assert len(Results.read(tmp_path / "mine")) == 16
    assert not page.exists()
    assert "16 runs found finished, 0 to do" in run("study", file, "--jobs", 1).stderr
    assert page.exists()


@pytest.mark.parametrize("part", ["5/4", "0/4", "0/0", "x", "-1/4", "1/4/2", "1", "", "1.0/4", "1 / 4"])
def test_a_part_that_is_none_is_refused_before_the_folder_is_made(tmp_path: Path, part: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    found = run("study", file, f"--part={part}")
    assert found.exit_code == 2
    assert '`part` must be one of "1/n"' in found.stderr
    assert part in found.stderr
    assert not (tmp_path / "mine").exists()
    with pytest.raises(InvalidArgument, match="`part` must be one of"):
        read_study(file).run(tmp_path / "mine", part=1)


def test_a_failed_run_gives_exit_code_1(tmp_path: Path) -> None:
    file = tmp_path / "flawed.toml"
    file.write_text(
        'generators = ["kelley"]\n[instances]\nfine = "study_parts:pieces"\nbad = "study_parts:with_a_flaw"'
    )
    found = run("study", file, "--jobs", 1, "--out", tmp_path / "out")
    assert found.exit_code == 1
    assert "failed: bad, kelley, seed 0: ZeroDivisionError" in found.stderr
    assert "ZeroDivisionError" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_file_says_what_the_arguments_say(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE + 'until = ["certified", "single-cut"]\nkeep_points = true\n')
    study = read_study(file)
    assert [instance.name for instance in study.instances] == ["max-affine(n=5, seed=1)", "study_parts:pieces"]
    assert study.settings.limits == Limits(calls=100, seconds=30)
    assert study.settings.tau == (1e-1, 1e-3)
    assert study.settings.until == ("certified", "single-cut")
    assert study.settings.keep_points
    assert study.seeds == (0, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("instnces = []", r"the unknown key instnces: did you mean instances\?"),
        ("xyz = 1", "the unknown key xyz: known are instances, generators"),
        ('instances = ["study_parts:pieces"]', "must have the key generators"),
        ("limits = {cals = 3}", r"the unknown key limits.cals: did you mean limits.calls\?"),
        ("limits = 3", "`limits` must be a table"),
        ("tau = ", "is no file of a study"),
        ("tau = 2.0", "`tau` must be accuracies between 0 and 1"),
        ("seeds = -1", "`seeds` must be"),
        ("jobs = 3", "the unknown key jobs"),
        ('generators = ["levelset"]', r"there is no generator 'levelset': did you mean level-set"),
        ('instances = ["nonsmoth"]', "nonsmooth"),
        ('instances = ["study_parts:nothing"]', "'study_parts:nothing' names nothing"),
        ('instances = ["study_parts:nope"]', "names nothing: .*has no attribute 'nope'$"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, words: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    lines = {"instances": '["study_parts:pieces"]', "generators": '["kelley"]'}
    if not words.startswith("instances = ["):
        words += "".join(f"\n{key} = {value}" for key, value in lines.items() if f"{key} =" not in words)
    if "must have the key" not in message and "generators" not in words:
        words += f"\ngenerators = {lines['generators']}"
    file.write_text(words)
    with pytest.raises(InvalidArgument, match=message) as raised:
        read_study(file)
    assert str(file) in str(raised.value)
    found = run("study", file)
    assert found.exit_code == 2
    assert "Traceback" not in found.output


def test_files_that_are_not_there(tmp_path: Path) -> None:
    found = run("study", tmp_path / "nothing.toml")
    assert found.exit_code == 2
    assert "is no file of a study" in found.stderr
    found = run("report", tmp_path)
    assert found.exit_code == 2
    assert "holds no study" in found.stderr
    assert "there is no folder" in run("report", tmp_path / "none").stderr


def test_own_things_are_found_where_the_command_runs(tmp_path: Path) -> None:
    """A real process, in a folder with a module of the user's."""
    (tmp_path / "my_things.py").write_text(
        "import numpy as np\n"
        "from oracle_opt import Box, FunctionOracle\n"
        "from oracle_opt.generators import LevelSet\n"
        "class Mine(LevelSet):\n    pass\n"
        "bowl = FunctionOracle(lambda z: (z @ z, 2 * z), Box(-np.ones(3), np.full(3, 2.0)), name='bowl')\n"
    )
    (tmp_path / "s.toml").write_text(
        'instances = ["my_things:bowl"]\ngenerators = ["my_things:Mine", "spg"]\ntau = 1e-2'
    )
    command = [sys.executable, "-c", "from oracle_opt.cli import main; main()", "study", "s.toml", "--jobs", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert set(Results.read(tmp_path / "s").runs["generator"]) == {"my_things:Mine", "spg"}


def test_doubts_are_said(tmp_path: Path) -> None:
    file = tmp_path / "edge.toml"
    file.write_text('instances = ["study_parts:at_the_edge"]\ngenerators = ["level-set"]\ntau = 1e-6')
    found = run("study", file, "--jobs", 1)
    assert found.exit_code == 0
    assert "doubtful: study_parts:at_the_edge, level-set, seed 0: " in found.stderr
    assert "at the edge of what is promised" in found.stderr
