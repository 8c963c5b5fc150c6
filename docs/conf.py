"""How Sphinx makes the site of the documentation: `make site`, or `sphinx-build -W docs build/site`.

The pages are those of this folder, as they also read in a plain viewer of Markdown. Five things are added while the
site is built, none of which a page has to write: the order of the pages (`_site/navigation.py`), a page for each public
name (`_site/api_pages.py`), links from names to these pages (`_site/code_links.py`), the files at the top of the
repository (`_site/project_pages.py`), and notebooks and Markdown to take along (`_site/downloads.py`).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from _site import api_pages, code_links, downloads, navigation, project_pages

import oracle_opt

project = "oracle_opt"
author = "The oracle_opt developers"
copyright = author
version = release = oracle_opt.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "myst_parser", "numpydoc"]
source_suffix = {".md": "markdown", ".markdown": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_site", "_static", "_templates"]
templates_path = ["_templates"]
nitpicky = True
highlight_language = "none"  # blocks without a language are formulas, commands and drawings

# Anchors of headings as GitHub makes them, so that `page.md#heading` leads to the same place here and there.
myst_heading_anchors = 6
myst_heading_slug_func = "github"
myst_enable_extensions = ["html_image"]  # a width of a picture, as GitHub takes it
suppress_warnings = ["myst.header"]  # a heading may be two levels below the one before it

autosummary_generate = api_pages.write_pages(Path(__file__).parent)
autosummary_context = {"inherited_from": api_pages.inherited_from()}
autosummary_filename_map = api_pages.distinct_files()
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the section on parameters has them in words
autoclass_content = "class"
numpydoc_show_class_members = False  # autodoc shows them
numpydoc_xref_param_type = True
numpydoc_xref_aliases = api_pages.parameter_links()
numpydoc_xref_ignore = "all"
default_role = code_links.ROLE
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "oracle_opt"
html_static_path = ["_static"]
html_scaled_image_link = False  # a small picture leads where its page says, not to the large one
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_favicon = "_static/logo.svg"
html_use_index = html_domain_indices = False  # the API page lists the names, the search finds the rest
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_sidebars = {"**": ["all_pages"]}
html_theme_options = {
    "logo": {"text": "oracle_opt", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "navbar_persistent": ["search-button-field"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "search_bar_text": "Search",
    "navigation_with_keys": False,
}


def setup(app):
    """Add what the files of `_site` do."""
    project_pages.setup(app)
    navigation.setup(app)
    code_links.setup(app)
    downloads.setup(app)
    app.connect("autodoc-process-bases", api_pages.public_bases)
