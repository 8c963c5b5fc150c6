"""The pages on the papers: a section an experiment, and prose that quotes no figure but those of its own tables."""

import re
import runpy
from pathlib import Path

import pytest

from papers.experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "papers_pages.py"))
PAGES = sorted((ROOT / "papers" / "pages").glob("*.md"))
WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|dozens?|hundreds?|thousands?|"
    "millions?|half|twice|double|quarter"
)
FIGURE = re.compile(rf"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?!\w)|\b(?:{WORDS})\b", re.I)
# Numbers that are names: of places in a paper, of a year; and code, and the targets of links.
NAMES = re.compile(
    r"`[^`]*`|\b[A-Za-z]+-\d+\b|\]\([^)]*\)|https?://\S+|"
    r"\b(?:Tables?|Figures?|Algorithms?|Sections?|sections?|Eqs?\.|equations?|footnote)\s+\(?\d[\d.]*\)?[a-f]?"
    r"(?:(?:,| and| to)\s+\(?\d[\d.]*\)?[a-f]?)*|\(\d{1,2}\)|\b(?:19|20)\d\d\b|\bl[12]\b"
)


def sections(page):
    """Name, block and prose of each section of a page."""
    text = page.read_text(encoding="utf-8")
    parts = re.split(r"^### ", text, flags=re.M)
    head = parts[0].partition("\n")[2]
    found = [(page.stem, head, "")]
    for part in parts[1:]:
        name, _, rest = part.partition("\n")
        block, end, prose = rest.partition(TOOL["LAST"])
        assert end, f"{page.name}: {name} has no end of its figures"
        assert block.strip().startswith(TOOL["FIRST"]), f"{page.name}: {name} has no figures"
        found.append((name, block, prose))
    return found


def quoted(prose):
    """The figures that prose quotes."""
    return {figure.rstrip(",").lower() for figure in FIGURE.findall(NAMES.sub(" ", prose))}


def test_every_experiment_has_one_section_with_its_figures():
    names = [name for page in PAGES for name, *_ in sections(page)[1:]]
    assert sorted(names) == sorted(EXPERIMENTS)
    for page in PAGES:
        for name, block, _ in sections(page)[1:]:
            assert f"python -m papers {name}\n" in block
            assert re.search(r"^\|---", block, re.M), f"{name} has no table"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_prose_quotes_no_figure_that_is_not_in_the_tables_of_its_section(page):
    for name, block, prose in sections(page)[1:]:
        known = {figure.rstrip(",").lower() for figure in FIGURE.findall(block)}
        unknown = quoted(prose) - known
        assert not unknown, f"{name} quotes {sorted(unknown)}: let the experiment make the sentence, as a finding"


def test_figures_in_prose_are_found():
    assert quoted("It needs 1,000 SVMs, half of 2.5e-3, and twice -0.7 (20 splits).") == {
        *("1,000", "half", "2.5e-3", "twice", "-0.7", "20"),
    }
    named = "Table 2, Tables 3 and 6, section 4.3.1, (11), `SPG(5)`, [page](x5.md), 2014, l1, Adult-9, Figure 1c"
    assert not quoted(named)


def test_blocks_are_exchanged_and_prose_stays():
    page = (
        f"# Page\n\n### a-table1\n\n{TOOL['FIRST']}\n\nold\n\n{TOOL['LAST']}\n\nProse.\n"
        f"\n### a-figure2\n\n{TOOL['FIRST']}\n\nkept\n\n{TOOL['LAST']}\n"
    )
    new = TOOL["with_figures"](page, {"a-table1": "new\n", "other": "x"})
    assert new == page.replace("old", "new")
    assert "\n\ndrawn\n\n![a-figure2](a-figure2.png)\n" in TOOL["with_figures"](page, {"a-figure2": "drawn"})
