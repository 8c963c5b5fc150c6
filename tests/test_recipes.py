"""What CONTRIBUTING says a new thing costs: its own file, so many lines of the library, and lines of tests and docs."""

import ast
import importlib
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import table
from checkout import ROOT, needs_sources

from oracle_opt import SequentialGenerator, generators
from oracle_opt.arguments import flag, real, whole

RECIPES = re.findall(
    r"^\| (?P<kind>[^|]+?) \| `(?P<file>[^`]+)`, `(?P<name>\w+)` \| (?P<lines>\d) \|",
    (ROOT / "CONTRIBUTING.md").read_text(),
    re.M,
)
# what compares, checks and fits names plug-ins on purpose; plug-ins do not depend on it
OUTER = ("learn", "study", "problems", "testing", "cli.py")

pytestmark = needs_sources


@cache
def lines_of_names(path: Path) -> dict[object, set[int]]:
    """The lines of code that use a name, or export it; docstrings do not count."""
    lines, fields = defaultdict(set), {ast.alias: "name", ast.Constant: "value", ast.Name: "id"}
    for node in ast.walk(ast.parse(path.read_text())):
        if type(node) in fields:
            name = getattr(node, fields[type(node)])
            words = name.split() if isinstance(name, str) else []
            for word in words if all(map(str.isidentifier, words)) else [name]:  # a string of names exports each
                lines[word].add(node.lineno)
    return lines


def lines_that_name(name: str, path: Path) -> int:
    """How many lines of code use a name, or export it."""
    return len(lines_of_names(path).get(name, ()))


def test_every_kind_has_a_recipe() -> None:
    kinds = {kind for kind, *_ in RECIPES}
    assert kinds == {"a generator", "an oracle", "a domain", "a loss", "a bank", "a kind of answer"}


@pytest.mark.campaign(3)
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


class Newcomer(SequentialGenerator):
    """Steps toward the minimizer of the linear function of the last slope: a generator that a contributor brings."""

    needs_convexity = False

    def __init__(self, share: float = 0.5, rounds: int = 3, careful: bool = False) -> None:
        self.share, self.rounds = real("share", share, above=0.0, below=1.0), whole("rounds", rounds)
        self.careful = flag("careful", careful)

    def queries(self, domain, point):
        """Ask with shorter and shorter steps."""
        for k in range(self.rounds):
            cut = yield point
            point = point + self.share / (k + 1) * (domain.minimize_linear(cut.subgradient)[1] - point)


def fresh(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[Any]:
    """Modules of the tests, made anew; the old ones come back at the end."""
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return [importlib.import_module(name) for name in names]


def test_a_generator_in_its_four_places_is_in_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file, a line of `generators`, an entry of `table.py`: what the tables of the tests know, they derive."""
    monkeypatch.syspath_prepend(ROOT / "tests")
    monkeypatch.setattr(generators, "Newcomer", Newcomer, raising=False)
    monkeypatch.setattr(generators, "__all__", [*generators.__all__, "Newcomer"])
    monkeypatch.setattr(table, "GENERATORS", [*table.GENERATORS, table.Entry("newcomer", Newcomer)])
    names = ("own_domains", "refusal_cases", "test_own_domains", "test_fixed_variables", "test_refusals_types")
    own, cases, domains, boxes, refusals = fresh(monkeypatch, *names)
    boxes.test_generators_that_serve_boxes()
    assert any(isinstance(one, Newcomer) for one in boxes.GENERATORS)
    for name in own.OWN:
        domains.test_a_domain_serves_where_its_methods_suffice(name)
        assert (name, Newcomer) in [(where, type(one)) for where, one in domains.PAIRS]
    domains.test_the_table_of_the_page_is_true()
    refusals.test_every_public_constructor_is_in_the_table(generators)
    assert cases.CASES["Newcomer"].takes == {"share": "", "rounds": "", "careful": "bool"}
    for parameter in ("share", "rounds", "careful"):
        refusals.test_wrong_things_are_refused_by_the_name_of_the_argument(cases.CASES["Newcomer"], parameter)


def test_no_table_of_the_tests_but_one_names_every_generator() -> None:
    """Where nearly all generators stand by name there is a table, and a new one would have to be added to it."""
    classes = {name for name in generators.__all__ if isinstance(getattr(generators, name), type)}
    tables = []
    for path in sorted((ROOT / "tests").glob("*.py")):
        named = {name for name in classes if lines_that_name(name, path)}
        if len(named) > 0.8 * len(classes):
            tables.append(path.name)
    assert tables == ["table.py"]


def test_the_places_of_a_generator_are_those_that_are_told() -> None:
    """Of the example: an entry of the table of the tests, a row of the API page, and no other helper of the tests."""
    (row,) = (one for one in RECIPES if one[0] == "a generator")
    _, file, name, _ = row
    assert lines_that_name(name, ROOT / "tests" / "table.py") == 2  # its import and its entry
    api = (ROOT / "docs" / "api.md").read_text()
    assert len(re.findall(rf"^\| `{name}` \|", api, re.M)) == 1
    page = (ROOT / "docs" / "write_a_generator.md").read_text()
    steps = page.split("touches four places:")[1].split("A fifth")[0]
    assert re.findall(r"^(\d)\. ", steps, re.M) == ["1", "2", "3", "4"]
    helpers = [path for path in (ROOT / "tests").glob("*.py") if not path.name.startswith("test_")]
    assert [path.name for path in helpers if lines_that_name(name, path)] == ["table.py"]
    assert (ROOT / file).is_file()
