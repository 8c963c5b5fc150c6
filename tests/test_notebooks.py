"""The pages of the gallery as notebooks: whole, valid, and three of them run as a reader would run them."""

import pytest
from test_docs import ROOT, examples

downloads = pytest.importorskip("_site.downloads", reason="needs the extra: pip install 'oracle-opt[site]'")
PAGES = [page for page in sorted(ROOT.glob("docs/gallery/*.md")) if page.name != "index.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_notebooks_hold_the_listings_and_lead_nowhere(page):
    made = downloads.notebook(page)
    downloads.nbformat.validate(made)
    listings = [cell.source for cell in made.cells if cell.cell_type == "code"]
    assert listings == [source.strip() for _, source in examples(page)]
    words = "".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert f"](attachment:{page.stem}.png)" in words
    assert ".md" not in words


@pytest.mark.parametrize("name", ["benders", "held_karp", "facility_location"])
def test_notebooks_run(name, tmp_path):
    client = pytest.importorskip("nbclient").NotebookClient
    made = downloads.notebook(ROOT / "docs" / "gallery" / f"{name}.md")
    client(made, timeout=100, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output.output_type for cell in made.cells for output in cell.get("outputs", [])]
    assert outputs == ["stream"]  # what the listing prints, and no warning
