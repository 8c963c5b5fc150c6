"""Links from names of the library, wherever a page or a docstring writes them as code, to the page of the name."""

import importlib
import inspect
import re

from docutils import nodes
from sphinx.addnodes import pending_xref

from _site.api_pages import names, public_names

SHORT = 18  # characters of a cell of a table that are kept on one line
ROLE = "name_or_code"  # of text between single backticks in docstrings
CALL = re.compile(r"((?:\w+\.)*\w+)(?:\(.*\))?", re.DOTALL)
PAGE = re.compile(r"docs/([\w/]+)\.md")
LOOKS_LIKE_A_NAME = re.compile(r"[A-Z]\w+|\w+_\w+|minimize")  # `names` or `find` may be a parameter as well


def code(role, rawtext, text, lineno, inliner, options=None, content=()):
    """Show text between single backticks as code."""
    return [nodes.literal(rawtext, text.replace("\x00", ""))], []


def full_name(text: str, public: dict[str, str], module: str = "") -> str:
    """Return the public name that code speaks of, or an empty text."""
    match = CALL.fullmatch(text)
    if match is None:
        return ""
    name = match[1]
    if name in public.values():
        return name
    if name in public:
        if module:
            return f"{module}.{name}"
        return public[name] if LOOKS_LIKE_A_NAME.fullmatch(name) else ""
    owner, _, member = name.rpartition(".")
    if owner in public and LOOKS_LIKE_A_NAME.fullmatch(owner):
        return f"{public[owner]}.{member}"
    return ""


def add_links(app, doctree) -> None:
    """Make links of the names on a page: all on API pages, elsewhere the first of each."""
    page = app.env.docname
    if page.startswith("reference/CHANGELOG"):  # it tells of names that are no more
        return
    public = public_names()
    everywhere = page in ("api", "api_parts") or page.startswith("reference/oracle_opt")
    modules = set(names())
    seen = set()
    for formula in list(doctree.findall(nodes.math)):  # in what scikit-learn wrote; drawing it would need the network
        formula.replace_self(nodes.literal("", formula.astext()))
    for literal in list(doctree.findall(nodes.literal)):
        if inside(literal, (nodes.reference, nodes.title, pending_xref, nodes.term)):
            continue
        target = full_name(
            literal.astext(), public, section_module(literal, modules) if page in ("api", "api_parts") else ""
        )
        if not target or target in seen or target == page.removeprefix("reference/"):
            continue
        if not everywhere:
            seen.add(target)
        link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refexplicit=True, is_code=True)
        link["refdoc"] = page
        literal.replace_self(link)
        link += literal


def mark_short_cells(app, doctree) -> None:
    """Mark the cells of tables that hold a figure or a name, which the style keeps on one line."""
    for cell in doctree.findall(nodes.entry):
        if len(cell.astext()) <= SHORT and not inside(cell, (nodes.thead,)):
            cell["classes"].append("short")


def inside(node, kinds) -> bool:
    """Whether a node stands in another of these kinds."""
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


def section_module(node, modules: set[str]) -> str:
    """Return the module that is the heading of the first column of the table of names in which a node stands."""
    row = node
    while row is not None and not isinstance(row, nodes.row):
        row = row.parent
    if row is None or node not in list(row.children[0].findall(nodes.literal)):
        return ""
    section = row
    while section is not None and not isinstance(section, nodes.section):
        section = section.parent
    title = section.next_node(nodes.title).astext() if section is not None else ""
    return title if title in modules else ""


def resolve(app, env, node, content):
    """Find a name that Sphinx does not: one of a private module, or a member without a page of its own."""
    if node.get("refdomain") != "py":
        return content if is_inherited(node) else None
    target, public = node["reftarget"], public_names()
    domain = env.get_domain("py")
    for name in (public.get(target.rpartition(".")[2], ""), public.get(target.rpartition(".")[0].rpartition(".")[2])):
        known = has_member(target) if node.get("is_code") else target.startswith("oracle_opt.")
        if name and name in domain.objects and known:
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)
    if node.get("is_code"):
        return None  # a warning: no such name
    outside = not target.startswith("oracle_opt")
    return content if outside or is_inherited(node) else None


def has_member(target: str) -> bool:
    """Whether the class of ``module.Class.member`` has such a member: a method, a field, or what a method sets."""
    path, _, member = target.rpartition(".")
    module, _, name = path.rpartition(".")
    if module not in names() or name not in names()[module]:
        return True  # not a member
    owner = getattr(importlib.import_module(module), name)
    sources = [inspect.getsource(one) for one in owner.__mro__ if one.__module__.startswith("oracle_opt")]
    return hasattr(owner, member) or any(re.search(rf"\bself\.{member}\b|^ +{member}:", text, re.M) for text in sources)


def is_inherited(node) -> bool:
    """Whether a reference is to the manual of scikit-learn, in a docstring that an estimator takes from there."""
    while node is not None and not node.source:
        node = node.parent
    return node is not None and "docstring of sklearn." in node.source


def link_pages(app, what, name, thing, options, lines: list[str]) -> None:
    """Make links of the pages that a docstring names as docs/page.md."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]


def setup(app) -> None:
    """Connect this file with Sphinx."""
    app.add_role(ROLE, code)
    app.connect("doctree-read", add_links)
    app.connect("doctree-read", mark_short_cells)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", link_pages)
