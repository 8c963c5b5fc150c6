"""The report of a study as one file: data, script and style in one page that fetches nothing and runs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping
from importlib.resources import files
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.files import atomic_file
from oracle_opt.study.report.analyses_data import areas_data, costs_data, ranks_data, traces_data
from oracle_opt.study.report.extra_data import extra_data
from oracle_opt.study.report.histories import STEPS, Histories
from oracle_opt.study.report.report_data import report_data
from oracle_opt.words import number, shown

if TYPE_CHECKING:
    from oracle_opt.study.analyses import Curves, Table
    from oracle_opt.study.runs import Runs

LARGEST = 1_000_000  # bytes that the page shall have at most
PER_POINT = 5.0  # bytes that a point of a history takes at least
# In this order: later files use names of earlier ones.
SCRIPTS = (
    "core.js",
    "shares.js",
    "figure.js",
    "pointer.js",
    "controls.js",
    "overview.js",
    "comparison.js",
    "ranks.js",
    "runs.js",
    "start.js",
)


def write_report(
    results: Runs,
    path: os.PathLike[str] | str,
    *,
    title: str | None = None,
    extra: Mapping[str, Curves | Table] | None = None,
) -> Path:
    """Write a study as one HTML file: figures, tables, filters and every run.

    It opens in any browser of 2022 or later without a network, fetches nothing, and can be mailed or published.

    Parameters
    ----------
    results : Results
        The runs.
    path, title, extra
        As for `Results.report`; default of the title says how many generators ran on how many instances.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    The page has less than 1 MB: of long histories fewer points are kept, and the page says how many. Only some 3000
    runs and more make a larger one: steps of half a decade are left of every history.
    """
    if not len(results):
        raise InvalidArgument("`results` must have at least one run, got none")
    if title is None:
        generators, instances = results.runs["generator"].nunique(), results.runs["instance"].nunique()
        title = f"{number(generators, 'generator')} on {number(instances, 'instance')}"
    elif not isinstance(title, str):
        raise InvalidArgument(f"`title` must be a str, got {shown(title)}")
    fixed = {
        "extra": [*traces_data(results), *extra_data({} if extra is None else extra)],
        "tests": costs_data(results),
        "areas": areas_data(results),
        "ranks": ranks_data(results),
    }
    histories = Histories(results)
    room = LARGEST - len(make_page(to_json(report_data(results, histories, fixed, title, None)), title))
    data: dict[str, Any] = {}
    page = b""
    for step in STEPS:
        if step < STEPS[-1] and histories.n_kept(step) * PER_POINT > room:
            continue
        data = report_data(results, histories, fixed, title, step)
        page = make_page(to_json(data), title)
        if len(page) < LARGEST:
            break
    else:
        data["notes"].append(f"With {len(results):,} runs this page has more than 1 MB.")
        page = make_page(to_json(data), title)
    target = Path(path)
    atomic_file(target, lambda temporary: temporary.write_bytes(page))
    return target


def to_json(value: object) -> str:
    r"""Write JSON that may stand inside an HTML page."""
    if value is None:
        return "null"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        text = json.dumps(str(value))
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        real = float(value)
        if isfinite(real):
            return f"{real:.10g}"
        return "null" if isnan(real) else "1e999" if real > 0 else "-1e999"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{to_json(str(key))}:{to_json(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(to_json, value)) + "]"
    raise TypeError(f"a report holds no {type(value).__name__}")


def make_page(data: str, title: str) -> bytes:
    """Put the data into the page."""
    folder = files(__package__)
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    parts = [folder.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = folder.joinpath("page.html").read_text(encoding="utf-8")
    filled = {"policy": policy, "title": html.escape(title), "style": style, "script": script, "data": data}
    pieces = page.split("%%")  # text and names of what goes between, in turn
    pieces[1::2] = [filled[name] for name in pieces[1::2]]
    return "".join(pieces).encode("utf-8", "replace")


def _digest(text: str) -> str:
    """The hash by which a content security policy names an inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
