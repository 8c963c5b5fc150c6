"""The documentation as a site: built with warnings as errors, whole, and readable without a network."""

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path
from urllib.parse import unquote

import pytest
from headless import PROGRAM, Browser
from test_docs import PAGES, ROOT, anchors, api_sections

for package in ("sphinx", "pydata_sphinx_theme", "myst_parser", "numpydoc", "jupytext"):
    pytest.importorskip(package, reason="needs the packages of the extra: pip install 'oracle-opt[site]'")

DOCS = ROOT / "docs"
WRITTEN = [page for page in PAGES if page.is_relative_to(DOCS)]
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"([^\"]*)\"")

pytestmark = pytest.mark.campaign(inf)  # building it takes a minute; `make site` does the same
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt-get install chromium")
# What reaches over the right edge of the window, or a word of it does, but for what scrolls in a box of its own.
OUTSIDE = """
[...document.querySelectorAll('article *')].filter((one) => !one.closest('pre, .pst-scrollable-table-container')
  && (one.getBoundingClientRect().right > innerWidth + 1
    || one.matches('p, li, dd, dt, h1, h2, h3') && one.scrollWidth > one.clientWidth + 1))
  .map((one) => one.outerHTML.slice(0, 200))
"""
LOOKED_AT = (
    *("index", "ten_minutes", "compare_strategies", "own_oracle", "plug_in", "how_to_choose", "api", "performance"),
    *("gallery/index", "gallery/mkl", "reference/oracle_opt.minimize", "reference/oracle_opt.oracles.MKLOracle"),
    *("reference/oracle_opt.learn.MKLClassifier", "reference/oracle_opt.generators"),
)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site in a new folder, which no warning came with."""
    folder = tmp_path_factory.mktemp("site")
    # -P: the folders of the sources in the working directory are not what is installed
    command = [sys.executable, "-P", "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(folder / "trees"), str(DOCS), str(folder / "html")],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},  # those of Sphinx are counted, not those of Python in it
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "html"


def pages_of(site: Path) -> list[Path]:
    """Pages of the documentation: not the report of the archive, which has a test of its own."""
    every = site.resolve().rglob("*.html")
    return [path for path in every if "_static" not in path.parts and not path.name.startswith("archive-")]


def html_of(site: Path, page: Path) -> Path:
    return site / page.relative_to(DOCS).with_suffix(".html")


def side_bar(site: Path, page: str) -> str:
    text = (site / page).read_text(encoding="utf-8")
    text = text[text.index('<nav class="bd-docs-nav') :]
    return text[: text.index("</nav>")]


def test_the_side_bar_leads_to_every_page(site: Path) -> None:
    """In the order of the index: a reader who begins at the top meets the tasks first."""
    start = side_bar(site, "index.html")
    index = (DOCS / "index.md").read_text()
    headings = re.findall(r"^## (.+)$", index, re.MULTILINE)
    assert re.findall(r'<span class="caption-text">(.*?)</span>', start) == headings
    assert re.findall(r"^\| page \|", index, re.MULTILINE) == ["| page |"] * len(headings)
    rows = index[index.index("| page |") :]
    order = re.findall(r"^\| \[[^]]+\]\(([\w/.-]+)\.md\)", rows, re.MULTILINE)
    order = [name.replace("../", "reference/") for name in order]  # files at the top of the repository
    assert re.findall(r'href="(?!#|http)([^"]+)\.html"', start) == order
    assert {page for page in WRITTEN if page.parent == DOCS} <= {DOCS / f"{name}.md" for name in ("index", *order)}
    below = side_bar(site, "gallery/index.html")
    for page in DOCS.glob("gallery/*.md"):
        assert page.name == "index.md" or f'href="{page.stem}.html"' in below, page


def test_anchors_are_those_of_github(site: Path) -> None:
    for page in WRITTEN:
        ids = set(re.findall(r'\bid="([^"]+)"', html_of(site, page).read_text(encoding="utf-8")))
        assert anchors(page) <= ids, page


def test_links_within_the_site_lead_somewhere(site: Path) -> None:
    ids = {path: set(re.findall(r'\bid="([^"]+)"', path.read_text(encoding="utf-8"))) for path in pages_of(site)}
    for path in ids:
        for link in set(re.findall(r'\b(?:href|src)="([^"]+)"', path.read_text(encoding="utf-8"))):
            if re.match(r"(https?|data|mailto):", link) or link == "#":
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            assert target.exists(), f"{link} in {path.name}"
            if anchor and target in ids:
                assert anchor in ids[target], f"{link} in {path.name}"


def test_it_needs_no_network_and_names_no_machine(site: Path) -> None:
    for path in pages_of(site):
        text = path.read_text(encoding="utf-8")
        fetched = [link for link in LOADED.findall(text) if re.match(r"(https?:)?//", link)]
        assert fetched == [], path.name
        assert str(ROOT) not in text, path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text(encoding="utf-8")), path.name


def test_every_public_name_has_its_page(site: Path) -> None:
    """To which the tables of the two API pages lead; constants stand on the page of their module."""
    table = "".join((site / page).read_text(encoding="utf-8") for page in ("api.html", "api_parts.html"))
    for module, names in api_sections().items():
        found = importlib.import_module(module)
        for name in names:
            link = re.search(rf'href="(reference/[^"#]+)#{re.escape(f"{module}.{name}")}"', table)
            assert link, f"no link to {module}.{name}"
            page = (site / link[1]).read_text(encoding="utf-8")
            assert f'id="{module}.{name}"' in page
            if callable(getattr(found, name)) and name != "Cut":  # a union of two classes
                assert link[1] != f"reference/{module}.html"


def test_names_in_docstrings_and_pages_are_links(site: Path) -> None:
    page = (site / "reference" / "oracle_opt.minimize.html").read_text(encoding="utf-8")
    assert 'href="oracle_opt.Result.html#oracle_opt.Result"' in page
    assert 'href="../theory.html"' in page  # written as docs/theory.md
    assert "`" not in re.sub(r"<pre>.*?</pre>", "", page[page.index("<article") : page.index("</article>")])
    page = (site / "gallery" / "mkl.html").read_text(encoding="utf-8")
    assert 'href="../reference/oracle_opt.oracles.MKLOracle.html#oracle_opt.oracles.MKLOracle"' in page


def test_a_member_that_does_not_exist_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The build warns of `Result.gaps` on a page; fields, methods and what constructors set are known."""
    monkeypatch.syspath_prepend(DOCS)
    has_member = importlib.import_module("_site.code_links").has_member
    known = ["Result.gap", "Result.plot", "Status.CONVERGED", "Query.point", "FunctionOracle.domain", "Oracle.convex"]
    for name in known:
        assert has_member(f"oracle_opt.{name}"), name
    for name in ("Result.gaps", "Status.DONE", "FunctionOracle.functions"):
        assert not has_member(f"oracle_opt.{name}"), name


def test_methods_of_private_bases_are_shown(site: Path) -> None:
    """A user of `MKLOracle` predicts with it, whichever class has the method."""
    page = (site / "reference" / "oracle_opt.oracles.MKLOracle.html").read_text(encoding="utf-8")
    assert 'id="oracle_opt.oracles.MKLOracle.predict"' in page
    assert "SVMOracle" not in page


def test_pages_use_no_markup_of_the_site_alone() -> None:
    """They read as well where Markdown is all that is understood."""
    for page in WRITTEN:
        assert not re.search(r"^:::|^```\{|\{(?:ref|doc|func|class|obj)\}`", page.read_text(), re.MULTILINE), page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_window(site: Path, browser: Browser, width: int) -> None:
    """Wide tables and long lines of listings scroll in a box of their own, on a telephone, too."""
    browser.requests.clear()
    for page in LOOKED_AT:
        browser.open(site / f"{page}.html", width)
        assert browser.run("document.documentElement.scrollWidth") == width, page
        assert browser.run(OUTSIDE) == [], page
        assert browser.run("[...document.images].every((one) => one.complete && one.naturalWidth > 0)"), page
    assert {url.partition(":")[0] for url in browser.requests} <= {"file", "about", "data"}


@needs_browser
def test_wide_tables_scroll(site: Path, browser: Browser) -> None:
    """The test above would see a table that does not."""
    browser.open(site / "performance.html", 390)
    boxes = "[...document.querySelectorAll('.pst-scrollable-table-container')]"
    assert browser.run(f"{boxes}.some((one) => one.scrollWidth > one.clientWidth)")
    browser.run(f"{boxes}.forEach((one) => {{ one.className = ''; one.style.overflow = 'visible'; }})")
    assert browser.run(OUTSIDE) != []


@needs_browser
def test_search_finds_names_and_words(site: Path, browser: Browser) -> None:
    for words, page in (
        ("AnalyticCenter", "reference/oracle_opt.generators.AnalyticCenter"),
        ("minimize", "reference/oracle_opt.minimize"),
        ("convergence+curves", "compare_strategies"),
        ("certificate", "certificate_files"),
        ("certificate", "certificates"),
        ("estimator", "estimators"),
    ):
        browser.open(site / "search.html", tail=f"?q={words}")
        browser.until(f"document.querySelector('#search-results li a[href^=\"{page}.html\"]') !== null")


@needs_browser
def test_it_follows_a_dark_system(site: Path, browser: Browser) -> None:
    shade = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    browser.open(site / "index.html")
    light = browser.run(shade)
    browser.open(site / "index.html", dark=True)
    assert light > 700
    assert browser.run(shade) < 150


@needs_browser
def test_the_archive_is_a_page_with_its_tables_and_curves(site: Path, tmp_path: Path) -> None:
    page = site / "archive-2026.1.html"
    assert page.name in (site / "archive.html").read_text(encoding="utf-8")
    assert page.stat().st_size < 1_000_000
    with Browser(tmp_path) as browser:
        browser.open(page)
        assert browser.run("document.querySelectorAll('#profile .curve').length") >= 12
        assert "nonsmooth/CB2" in browser.run("document.querySelector('main').textContent")
        assert browser.console == []
