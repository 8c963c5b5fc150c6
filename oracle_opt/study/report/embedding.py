"""Data, script and style in one page that fetches nothing and runs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from math import isfinite, isnan

import numpy as np

# In this order: later files use names of earlier ones.
SCRIPTS = (
    "core.js",
    "shares.js",
    "axes.js",
    "figure.js",
    "pointer.js",
    "table.js",
    "controls.js",
    "overview.js",
    "comparison.js",
    "ranks.js",
    "runs.js",
    "plane.js",
    "extra.js",
    "start.js",
)


def to_json(value: object) -> str:
    r"""Write JSON that may stand inside an HTML page.

    Parameters
    ----------
    value : None, bool, int, float, str, list, tuple, ndarray or mapping
        Floats are written with at most ten digits. NaN becomes null, an infinite number 1e999, which JavaScript reads
        as infinite.

    Returns
    -------
    str
        ASCII without the characters that begin or end something in HTML.

    Examples
    --------
    >>> from oracle_opt.study.report.embedding import to_json
    >>> to_json({"a": [1, 0.1, float("inf"), float("nan")]}), to_json("</script>")
    ('{"a":[1,0.1,1e999,null]}', '"\\u003c/script\\u003e"')
    """
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
        number = float(value)
        if isfinite(number):
            return f"{number:.10g}"
        return "null" if isnan(number) else "1e999" if number > 0 else "-1e999"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{to_json(str(key))}:{to_json(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(to_json, value)) + "]"
    raise TypeError(f"a report holds no {type(value).__name__}")


def make_page(data: str, title: str) -> bytes:
    """Put the data into the page.

    Parameters
    ----------
    data : str
        From `to_json`.
    title : str
        Any text.

    Returns
    -------
    bytes
        UTF-8. Its content security policy lets this script and this style work and nothing else, by their digests.
    """
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
    """What a content security policy calls an inline text by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
