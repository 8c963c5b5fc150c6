"""The small wrong changes of tools/mutants.py: in their place, one at a time, nothing that only reads."""

import ast
import importlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from checkout import ROOT, needs_sources

pytestmark = needs_sources

TEXT = '''"""Words > 0."""

LIMIT = 10


class Some:
    """A class."""

    def larger(self, a: int, b: float = 0.5) -> float:
        """Not a < b."""
        if not a or (a < b and b > 1.5):
            raise ValueError(f"{a} must be < {b + 1}")
        total = max(a, -b) + sum([a], start=b)
        self.kept[0] = total
        return total, b

    def __repr__(self) -> str:
        return "a" * 3
'''


@pytest.fixture
def mutations(monkeypatch):
    path = Path(__file__).resolve().parents[1] / "tools" / "_mutations.py"
    spec = importlib.util.spec_from_file_location("_mutations", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "_mutations", module)
    spec.loader.exec_module(module)
    return module


def test_each_change_is_one_place_and_parses(mutations):
    found = mutations.mutants_of("some.py", TEXT)
    for mutant in found:
        changed = mutant.applied(TEXT)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(TEXT))
        begin, end = mutant.place
        assert (TEXT[:begin], TEXT[end:]) == (changed[:begin], changed[len(changed) - len(TEXT) + end :])
        assert TEXT[begin:end] == mutant.old
        assert TEXT.splitlines()[mutant.line - 1].strip() == mutant.context
    assert len({mutant.key for mutant in found}) == len(found)
    assert {(mutant.old, mutant.new) for mutant in found} == {
        ("10", "11"),
        ("not a or (a < b and b > 1.5)", "(not a and (a < b and b > 1.5))"),
        ("not a or (a < b and b > 1.5)", "(not a)"),
        ("not a", "(a)"),
        ("a < b and b > 1.5", "(a < b or b > 1.5)"),
        ("a < b and b > 1.5", "(a < b)"),
        ("a < b", "(a <= b)"),
        ("a < b", "(a >= b)"),
        ("b > 1.5", "(b >= 1.5)"),
        ("b > 1.5", "(b <= 1.5)"),
        ("1.5", "15.0"),
        ('raise ValueError(f"{a} must be < {b + 1}")', "pass"),
        ("max(a, -b) + sum([a], start=b)", "(max(a, -b) - sum([a], start=b))"),
        ("max(a, -b) + sum([a], start=b)", "(max(a, -b))"),
        ("max(a, -b)", "(min(a, -b))"),
        ("max(a, -b)", "(a)"),
        ("max(a, -b)", "(max(-b, a))"),
        ("-b", "(b)"),
        ("sum([a], start=b)", "(sum([a]))"),
        ("self.kept[0] = total", "pass"),
        ("0", "1"),
        ("return total, b", "return (b, total)"),
    }
    assert {mutant.function for mutant in found} == {"", "Some.larger"}


@pytest.fixture
def tool(mutations, monkeypatch):
    """The program itself."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("mutants")


def test_every_file_of_the_library_is_a_target_or_left_out_for_a_reason(tool):
    paths = {path.relative_to(ROOT).as_posix() for folder in tool.FOLDERS for path in (ROOT / folder).rglob("*.py")}
    targets = tool.targets([])
    assert set(targets) <= paths
    assert len(targets) == len(set(targets)) > 400
    left = paths - set(targets)
    assert {path for path in left if not path.endswith("/__init__.py")} == {
        one for one in tool.LEFT_OUT if "*" not in one
    }
    assert all(len(reason) > 4 for reason in tool.LEFT_OUT.values())
    wings = {tool.wing(path) for path in targets}
    assert {
        "core",
        "certificates",
        "domains",
        "learn",
        "answers",
        "problems",
        "generators",
        "oracles",
        "study",
    } <= wings
    assert any("/masters/" in path for path in targets)


def test_a_name_or_pattern_that_fits_no_file_is_refused(tool, monkeypatch):
    assert tool.targets(["bounds.py"])
    with pytest.raises(SystemExit, match=r"fits moved_away\.py"):
        tool.targets(["bounds.py", "moved_away.py"])
    monkeypatch.setitem(tool.LEFT_OUT, "oracle_opt/gone/*.py", "it was there")
    with pytest.raises(SystemExit, match=r"fits oracle_opt/gone/\*\.py"):
        tool.targets([])


def test_the_copy_has_each_folder_that_a_test_names(tool):
    """By an import, or as ROOT / "folder": without it tests cannot be collected in the copy, or fail there."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    named = set(re.findall(r'^ *(?:from|import) (\w+)|(?:ROOT|parents\[1\]) / "([\w.]+)"', text, re.MULTILINE))
    folders = {name for pair in named for name in pair if name and (ROOT / name).is_dir()} - {"build", ".git"}
    assert {"papers", "docs", "oracle_opt"} <= folders <= {*tool.BESIDE, *tool.FOLDERS}


@pytest.mark.parametrize("known", [False, True])
def test_a_recording_without_a_test_says_so(tool, monkeypatch, tmp_path, known):
    if known:
        (tmp_path / "reach.json").write_text("[]")
    monkeypatch.setattr(tool, "Tracer", lambda tree, out: None)
    monkeypatch.setattr(tool, "run_tests", lambda arguments, seconds, out, plugin: "failed")
    with pytest.raises(SystemExit, match=r"no test ran and passed.*output\.txt"):
        tool.record(["tests/test_none.py"], tmp_path, tmp_path / "reach.json")


def test_every_target_can_be_changed(tool, mutations):
    """Each file is read as Python, and nearly each has a place where a change can be made."""
    counts = {
        path: len(mutations.mutants_of(path, (ROOT / path).read_text(encoding="utf-8"))) for path in tool.targets([])
    }
    assert sum(count == 0 for count in counts.values()) < 30
    assert sum(counts.values()) > 20_000
