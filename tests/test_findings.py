"""The tables of docs/findings.md are what the runs say."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from small_results import GENERATORS, small_results

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def maker() -> dict:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        return runpy.run_path(str(ROOT / "docs" / "make_findings.py"))


@pytest.fixture(scope="module")
def results():
    return small_results(instances=3, seeds=1)


def calls(results, tau: float) -> dict[str, dict[str, float]]:
    """Calls to an accuracy from the histories alone."""
    found: dict[str, dict[str, float]] = {}
    for (instance, generator), rows in results.history.groupby(["instance", "generator"]):
        scale = np.maximum(rows["upper_bound"].abs(), 1e-3 * (rows["upper_bound"].iloc[0] - rows["upper_bound"]))
        reached = np.flatnonzero(rows["upper_bound"] - rows["lower_bound"] <= tau * scale)
        found.setdefault(instance, {})[generator] = float(reached[0]) + 1 if len(reached) else np.inf
    return found


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_counts_of_generators_and_families(maker, results) -> None:
    rows = {row[0]: row[1:] for row in cells(maker["of_generators"](results))}
    known = calls(results, 1e-4)
    best = {name: min(one.values()) for name, one in known.items()}
    for name in GENERATORS:
        serves, *solved, wins, close, area = rows[maker["class_name"](name)]
        assert int(serves) == 3
        for tau, count in zip(maker["TAU"], solved, strict=True):
            assert int(count) == sum(np.isfinite(one[name]) for one in calls(results, tau).values())
        assert int(wins) == sum(np.isfinite(best[i]) and known[i][name] == best[i] for i in known)
        assert int(close) == sum(np.isfinite(best[i]) and known[i][name] <= 1.5 * best[i] for i in known)
        assert 0 < float(area) < 1
    assert rows["`SpectralBundle()`"][:4] == ["0", "0", "0", "0"]  # its only run was refused
    ((family, instances, solved, _, _),) = cells(maker["of_families"](results))
    assert (family, int(instances), int(solved)) == ("pieces", 3, sum(np.isfinite(list(best.values()))))


def test_the_pages_have_what_the_script_writes(maker, tmp_path) -> None:
    findings = (ROOT / "docs" / "findings.md").read_text()
    for name in ("run", "generators", "families"):
        (section,) = re.findall(rf"<!-- begin {name} -->\n(.*?)<!-- end {name} -->", findings, re.DOTALL)
        assert "|" in section or name == "run"
    for name in maker["METHODS"]:
        assert f"| {maker['class_name'](name)} |" in findings
    (tmp_path / "page.md").write_text("a\n<!-- begin one -->\nold\n<!-- end one -->\nb\n")
    maker["splice"](tmp_path / "page.md", {"one": "new"})
    assert (tmp_path / "page.md").read_text() == "a\n<!-- begin one -->\n\nnew\n\n<!-- end one -->\nb\n"
    with pytest.raises(ValueError, match="marks of two once, got 0"):
        maker["splice"](tmp_path / "page.md", {"two": ""})
