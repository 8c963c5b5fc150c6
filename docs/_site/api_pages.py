"""A page for each public module and for each public name, from docstrings; docs/api.md and api_parts.md say which."""

import importlib
import inspect
import re
from abc import ABC
from collections import Counter
from pathlib import Path
from typing import Generic, get_origin

from numpydoc.xref import DEFAULT_LINKS

PAGES = [Path(__file__).resolve().parents[1] / name for name in ("api.md", "api_parts.md")]
FOLDER = "reference"
HEADING = re.compile(r"## `([\w.]+)`")
ROW = re.compile(r"\| `(\w+)` \| (.*) \|")
WHOLE = {"KernelWeightsOracle"}  # bases whose methods are what users of a subclass call: they stand on its page, too


def sections() -> dict[str, dict[str, dict[str, str]]]:
    """Return what both pages list: by module, by group, what each name is."""
    modules: dict[str, dict[str, dict[str, str]]] = {}
    group: dict[str, str] = {}
    for line in "\n".join(page.read_text(encoding="utf-8") for page in PAGES).splitlines():
        if heading := HEADING.fullmatch(line):
            module = heading[1]
            group = modules.setdefault(module, {}).setdefault(
                "What the others return, and parts" if module in modules else "", {}
            )
        elif modules and (row := ROW.fullmatch(line)):
            group[row[1]] = row[2]
        elif modules and re.fullmatch(r"[A-Z][^|\[]*:", line):
            group = modules[module].setdefault(line[:-1], {})
    return modules


def names() -> dict[str, dict[str, str]]:
    """Return by module what each of its names is."""
    return {
        module: {name: text for group in groups.values() for name, text in group.items()}
        for module, groups in sections().items()
    }


def public_names() -> dict[str, str]:
    """Return the full public name for each short one."""
    return {name: f"{module}.{name}" for module, group in reversed(names().items()) for name in group}


def parameter_links() -> dict[str, str]:
    """Return what numpydoc makes of words in the types of parameters: links of public names, and of nothing else."""
    return {**{word: word for word in DEFAULT_LINKS}, **public_names()}


def inherited_from() -> str:
    """Return the classes whose members stand on pages of their own, or in the manual of Python."""
    things = [getattr(importlib.import_module(module), name) for module, group in names().items() for name in group]
    known = [c.__name__ for c in things if inspect.isclass(c)]
    return ",".join(["object", "tuple", "Enum", "Exception", *(name for name in known if name not in WHOLE)])


def public_bases(app: object, name: str, thing: type, options: object, bases: list[type]) -> None:
    """Name the nearest public classes in place of bases that are private."""
    public = {*inherited_from().split(","), *WHOLE}
    found: list[type] = []
    while bases:
        base = bases.pop(0)
        base = get_origin(base) or base  # a generic class, with its parameter
        if base.__name__ in public or not base.__module__.startswith("oracle_opt"):
            found.append(base)
        else:
            bases[:0] = base.__bases__
    bases[:] = [base for base in dict.fromkeys(found) if base not in (object, ABC, Generic)] or [object]


def is_page(thing: object) -> bool:
    """Whether a page is made of it: a class or a function, for constants have no docstring."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def distinct_files() -> dict[str, str]:
    """Return other file names where two pages would differ in their capitals alone."""
    full = [f"{module}.{name}" for module, group in names().items() for name in group]
    counts = Counter(name.lower() for name in full)
    return {name: f"{name}_function" for name in full if counts[name.lower()] > 1 and name.rpartition(".")[2].islower()}


def module_page(module: str, groups: dict[str, dict[str, str]]) -> str:
    """Return the page of a module: its docstring, its names by group, its constants."""
    found = importlib.import_module(module)
    title = module.replace("_", r"\_")
    lines = [title, "=" * len(title), "", f".. automodule:: {module}", ""]
    for heading, group in groups.items():
        lines += [f".. rubric:: {heading}", ""] if heading and group else []
        linked = [name for name in group if is_page(getattr(found, name))]
        if linked:
            lines += [".. autosummary::", "   :toctree: .", "   :nosignatures:", "", *(f"   {n}" for n in linked), ""]
        for name in group:
            if name not in linked:
                text = group[name].replace("`", "``")
                lines += [f".. py:data:: {name}", "", f"   {text[0].upper()}{text[1:]}.", ""]
    return "\n".join(lines)


def write_pages(docs: Path) -> list[str]:
    """Write the pages of the modules, from which autosummary makes those of names; drop those of names that went.

    Returns the files, for autosummary, which would not find those that came since the last build.
    """
    folder = docs / FOLDER
    folder.mkdir(exist_ok=True)
    renamed = distinct_files()
    texts = {f"{module}.rst": module_page(module, groups) for module, groups in sections().items()}
    kept = set(texts) | {f"{renamed.get(name, name)}.rst" for name in public_names().values()}
    for path in folder.glob("*.rst"):
        if path.name not in kept:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # an unchanged page is not built again
            path.write_text(text, encoding="utf-8")
    return [f"{FOLDER}/{name}" for name in texts]
