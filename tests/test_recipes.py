"""What CONTRIBUTING says a new thing costs: its own file, and so many lines of the library elsewhere."""

import ast
import re
from pathlib import Path

import pytest
from checkout import ROOT, needs_sources

RECIPES = re.findall(
    r"^\| (?P<kind>[^|]+?) \| `(?P<file>[^`]+)`, `(?P<name>\w+)` \| (?P<lines>\d) \|",
    (ROOT / "CONTRIBUTING.md").read_text(),
    re.M,
)
# what compares, reproduces, checks and fits names plug-ins on purpose; plug-ins do not depend on it
OUTER = ("learn", "study", "problems", "testing", "cli.py")

pytestmark = needs_sources


def lines_that_name(name: str, path: Path) -> int:
    """Lines of code that use a name, or export it; docstrings do not count."""
    lines = set()
    for node in ast.walk(ast.parse(path.read_text())):
        imported = isinstance(node, ast.alias) and node.name == name
        exported = isinstance(node, ast.Constant) and node.value == name
        if imported or exported or (isinstance(node, ast.Name) and node.id == name):
            lines.add(node.lineno)
    return len(lines)


def test_every_kind_has_a_recipe() -> None:
    kinds = {kind for kind, *_ in RECIPES}
    assert kinds == {"a generator", "an oracle", "a domain", "a loss", "a bank", "a kind of answer"}


@pytest.mark.parametrize(("kind", "file", "name", "lines"), RECIPES, ids=[recipe[0] for recipe in RECIPES])
def test_a_new_thing_costs_what_is_said(kind: str, file: str, name: str, lines: str) -> None:
    assert f"class {name}" in (ROOT / file).read_text()
    elsewhere = {
        str(path.relative_to(ROOT)): count
        for folder in ("oracle_opt", "oracles", "generators")
        for path in (ROOT / folder).rglob("*.py")
        if path != ROOT / file and path.relative_to(ROOT / folder).parts[0] not in OUTER
        if (count := lines_that_name(name, path))
    }
    if kind != "a kind of answer":  # which an oracle gives and a generator takes, of course
        assert all(place.endswith("__init__.py") for place in elsewhere), elsewhere
        assert sum(elsewhere.values()) == int(lines), elsewhere
    else:
        core = [place for place in elsewhere if place.startswith("oracle_opt") and not place.endswith("__init__.py")]
        assert core == []
        assert sum(count for place, count in elsewhere.items() if place.endswith("__init__.py")) == int(lines)
