"""The documentation is true: docstrings run, quotations are the source, the API page is complete, links hold."""

import doctest
import importlib
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import needs_sources

import oracle_opt

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("papers/**/*.md"))]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"<!-- source: [^\n]* -->\n\Z")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
REQUIRED = ("oracle_opt", "oracle_opt.generators", "oracle_opt.oracles")


def examples(page):
    """Python blocks of a page but for quotations of source files, each with the number of its first line."""
    text = page.read_text()
    return [
        (text.count("\n", 0, block.start(1)) + 1, block[1])
        for block in BLOCK.finditer(text)
        if not QUOTED.search(text, 0, block.start())
    ]


MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(oracle_opt.__path__, "oracle_opt.")
    if not name.startswith(("oracle_opt.cli", "oracle_opt.oracles.avx"))
]


@pytest.mark.to_the_bit
@pytest.mark.parametrize("name", ["oracle_opt", *MODULES])
def test_docstrings(name):
    """The examples in the docstrings of the installed modules."""
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0


def test_the_installed_modules_are_found():
    assert {f"oracle_opt.{name}" for name in ("driver", "generators.level_set", "oracles.mkl")} <= set(MODULES)


@pytest.fixture(scope="module")
def quotes():
    return runpy.run_path(str(ROOT / "docs" / "update_quotes.py"))


@needs_sources
@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_quotations_are_the_source(page, quotes):
    text = page.read_text()
    assert quotes["with_quotes"](text) == text, "run: python docs/update_quotes.py"


def api_sections():
    """Names on the two API pages, by the module in whose section they stand."""
    sections = {}
    for line in "".join((ROOT / "docs" / page).read_text() for page in ("api.md", "api_parts.md")).splitlines():
        if heading := re.fullmatch(r"## `([\w.]+)`", line):
            names = sections.setdefault(heading[1], [])
        elif row := re.match(r"\| `(\w+)` \|", line):
            names.append(row[1])
    return sections


def test_api_page_has_every_section():
    assert set(REQUIRED) <= set(api_sections())


@pytest.mark.parametrize("module", sorted(api_sections()))
def test_api_page_is_complete(module):
    names = api_sections()[module]
    assert len(names) == len(set(names))
    assert set(names) == set(importlib.import_module(module).__all__)


def anchors(page):
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page):
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = page if not path else (page.parent / path).resolve()
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_captions_name_commits_that_led_here():
    """What a caption names can be checked out, where there is a whole history to look in."""
    known = shutil.which("git") and (ROOT / ".git").exists()
    if not known or printed("git", "rev-parse", "--is-shallow-repository") != "false\n":
        pytest.skip("there is no whole history")
    history = "\n" + printed("git", "rev-list", "HEAD")
    named = re.findall(r"\bcommit\s+`?([0-9a-f]{7,40})\b", "".join(page.read_text() for page in PAGES))
    assert named
    assert [name for name in named if f"\n{name}" not in history] == []


def test_the_tour_names_files_that_exist():
    """Ten changes and the files to touch for each."""
    page = (ROOT / "docs" / "tour.md").read_text().partition("| change | touch |")[2]
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 11))
    for _, touched in rows:
        names = re.findall(r"`([^`]+)`", touched)
        assert names
        assert [name for name in names if not (ROOT / name).is_file()] == []


@needs_sources
def test_the_tour_counts_what_a_process_loads():
    """To a tenth, so that a file more does not make the page false."""
    page = (ROOT / "docs" / "tour.md").read_text()
    rows = re.findall(r"^\| a process that imports `([\w.]+)` loads \| (\d+),", page, re.MULTILINE)
    assert len(rows) == 3
    for module, told in rows:
        code = f"import sys, {module}; print(sum(name.startswith('oracle_opt') for name in sys.modules))"
        assert int(told) == pytest.approx(int(printed(sys.executable, "-P", "-c", code)), rel=0.1)


@pytest.mark.parametrize("folder", ["docs", "docs/gallery"])
def test_index_leads_to_every_page(folder):
    index = (ROOT / folder / "index.md").read_text()
    for page in ROOT.glob(f"{folder}/*.md"):
        assert page.name == "index.md" or f"]({page.name})" in index


def test_the_list_for_programs_is_up_to_date():
    pytest.importorskip("numpydoc", reason="needs the extra: pip install 'oracle-opt[site]'")
    listing = runpy.run_path(str(ROOT / "docs" / "make_llms.py"))["listing"]()
    assert (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8") == listing, "run: python docs/make_llms.py"
    named = set(re.findall(r"^- \[.*?\]\(([\w/]+\.md)\): .+[.?]$", listing, re.MULTILINE))
    assert named == {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")} - {"index.md"}


@pytest.fixture(scope="module")
def gallery():
    """What makes the pictures and tables of the gallery."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        return runpy.run_path(str(ROOT / "docs" / "make_gallery.py"))


def test_gallery_is_measured(gallery, tmp_path):
    """Every page has its picture, and a table of exactly the methods that the script runs on it."""
    assert {f"{page}.md" for page in gallery["PAGES"]} | {"index.md"} == {
        p.name for p in ROOT.glob("docs/gallery/*.md")
    }
    chosen = (ROOT / "docs" / "how_to_choose.md").read_text()
    for name, page in gallery["PAGES"].items():
        text = (ROOT / "docs" / "gallery" / f"{name}.md").read_text()
        assert f"]({name}.png)" in text
        assert (ROOT / "docs" / "gallery" / f"{name}.png").stat().st_size < 60_000
        measured = text.partition("<!-- begin measured -->")[2].partition("<!-- end measured -->")[0]
        assert re.findall(r"^\| `(.*?)` \|", measured, re.MULTILINE) == list(page.names)
        assert f"](gallery/{name}.md) | {gallery['power'](page.tolerance)} | `{page.names[0]}` |" in chosen


def test_gallery_makes_a_page(gallery, tmp_path):
    name = "multicommodity_flow"
    convex, runs = gallery["measure"](name)
    assert convex
    assert all(run.result.success for run in runs.values())
    gallery["draw"](convex, runs, 1e-6, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    marked = "a\n<!-- begin measured -->\n{}\n<!-- end measured -->\nb\n"
    (tmp_path / "page.md").write_text(marked.format("old"))
    gallery["splice"](tmp_path / "page.md", "measured", table := gallery["table"](convex, runs, 1e-6))
    assert (tmp_path / "page.md").read_text() == marked.format(f"\n{table}\n")
    assert f"| `ProximalBundle()` | {runs['ProximalBundle()'].result.n_calls} |" in table
    with pytest.raises(ValueError, match="marks of other once, got 0"):
        gallery["splice"](tmp_path / "page.md", "other", "")
