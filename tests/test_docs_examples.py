"""The examples of the pages and of README run, with warnings as errors."""

import tomllib

import matplotlib as mpl
import pytest
from test_docs import IDS, LINK, PAGES, ROOT, examples

MAKE = "make demo", "make test"
README = [source for _, source in examples(ROOT / "README.md")]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name)
        for page, name in zip(PAGES, IDS, strict=True)
        # those of README are run one by one, and those of ten minutes by test_ten_minutes.py
        if name != "docs/ten_minutes.md" and any(source not in README for _, source in examples(page))
    ],
)
def test_examples_run(page, tmp_path, monkeypatch):
    """The blocks of a page run one after the other in one namespace, with warnings as errors."""
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    namespace = {"__name__": "example"}
    for line, source in examples(page):
        # empty lines before the block make line numbers of a traceback those of the page
        exec(compile("\n" * (line - 1) + source, str(page), "exec"), namespace)


@pytest.mark.parametrize("listing", range(len(README)))
def test_each_listing_of_readme_runs_alone(listing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    exec(README[listing], {"__name__": "example"})


def test_readme_begins_with_a_short_listing_and_its_picture(tmp_path, monkeypatch):
    assert len([line for line in README[0].splitlines() if line.strip()]) <= 15
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index(README[0]) < text.index("docs/images/readme.png") < text.index(README[1])
    assert "onvergence curves" in text[: text.index(README[1])]


def test_readme_begins_with_the_two_commands_of_a_fresh_machine():
    """Clone, `make demo`, `make test`, each with what it does and how long it takes; then what pip takes."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    screen = text.splitlines()[:30]
    clone, demo, test = (next(i for i, s in enumerate(screen) if s.startswith(w)) for w in ("git clone", *MAKE))
    assert clone < demo < test < next(i for i, line in enumerate(screen) if "pip install" in line)
    assert all("minute" in screen[i] for i in (demo, test))
    assert "report" in screen[demo]
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{words.removeprefix('make ')}: " in targets for words in MAKE)


def test_the_page_of_the_package_index_stands_alone():
    """It is shown where neither this folder nor its images are: no relative link, and the listing of README."""
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / package["readme"]).read_text(encoding="utf-8")
    assert all(link.startswith("https://") for link in LINK.findall(text))
    assert README[0] in text
