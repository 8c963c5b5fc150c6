"""The report of a study as one file: data, script and style in one page that fetches nothing and runs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.clocks import kind_of_seconds
from oracle_opt.errors import InvalidArgument
from oracle_opt.files import atomic_file
from oracle_opt.line_styles import N_LOOKS, look
from oracle_opt.optional import require
from oracle_opt.study.machine import own_version
from oracle_opt.study.records import KEY, RUN_COLUMNS
from oracle_opt.study.report.analyses_data import LEVELS, WIDTH, areas_data, costs_data, ranks_data, traces_data
from oracle_opt.study.report.curve_text import ALPHABET, BASE, INFINITE, UNKNOWN, ZERO, widths
from oracle_opt.study.report.extra_data import extra_data
from oracle_opt.study.report.histories import STEPS, Histories, shortened
from oracle_opt.words import number, shown

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.analyses import Curves, Table
    from oracle_opt.study.runs import Runs


# Columns of the runs: as text that repeats, and as numbers with their digits.
ENDS = ("family", "status", "certificate", "message", "traceback")
TEXTS = (*KEY[:2], *ENDS, "recipe", "oracle", "method", "module", "version", "machine")
NUMBERS = {
    "n": 10,
    "n_calls": 10,
    "oracle_seconds": 4,
    "generator_seconds": 4,
    "seconds": 4,
    "upper_bound": 9,
    "lower_bound": 9,
    "relative_gap": 3,
    "optimum": 9,
    "optimum_error": 3,
    "rtol": 4,
    "max_calls": 10,
    "max_seconds": 6,
}
BUDGETS = {"message": 40_000, "traceback": 100_000, "recipe": 40_000, "oracle": 40_000, "method": 40_000}  # characters
PLAIN = ("CONVERGED", "MAX_CALLS", "MAX_SECONDS")  # ends that say everything


def report_data(
    results: Runs, histories: Histories, fixed: dict[str, Any], title: str, step: float | None
) -> dict[str, Any]:
    """Gather what the page shows."""
    runs = results.runs
    columns, notes = {}, []
    for name in TEXTS:
        words = ["" if missing else str(word) for word, missing in zip(runs[name], runs[name].isna(), strict=True)]
        if name == "message" and sum(map(len, words)) > BUDGETS["message"]:
            words = ["" if end in PLAIN else word for word, end in zip(words, runs["status"], strict=True)]
            notes.append("Messages of runs that converged or reached a limit are left out.")
        if name in BUDGETS:
            words, longest = shortened(words, BUDGETS[name])
            if longest:
                notes.append(f"Of every {name} the last {longest} characters are kept.")
        columns[name] = _text_column(words)
    columns["seed"] = _text_column([str(seed) for seed in runs["seed"]])
    for name, digits in NUMBERS.items():
        columns[name] = _number_column(runs[name], digits)
    measures = [
        [str(name), _number_column(runs[name], 4)]
        for name in runs.columns
        if name not in RUN_COLUMNS and runs[name].dtype.kind in "fiub"
    ]
    curves, thinned, widths_used = _curves(histories, step, notes)
    return {
        "title": title,
        "written": datetime.now(UTC).strftime("%d %B %Y"),
        "version": own_version(),
        "tau": list(results.tau),
        "seconds": kind_of_seconds(runs["clock"]),
        "interrupted": results.interrupted,
        "count": len(runs),
        "runs": columns,
        "measures": measures,
        "generators": [{"name": name} | _look(place) for place, name in enumerate(results.order)],
        "palette": [_look(place) for place in range(N_LOOKS)],
        "curves": curves,
        "code": {
            "alphabet": ALPHABET,
            "base": BASE,
            "fine": widths_used[0],
            "coarse": widths_used[1],
            "zero": ZERO,
            "infinite": INFINITE,
            "unknown": UNKNOWN,
            "cost width": WIDTH,
            "cost levels": LEVELS,
        },
        "thinned": thinned,
        "notes": notes,
    } | fixed


def _curves(histories: Histories, step: float | None, notes: list[str]) -> tuple[list[Any], bool, tuple[float, float]]:
    """The curves, whether points are left out, and the widths of the levels; what the reader must know is noted."""
    if step is None:
        return [], False, widths(STEPS[0])
    kept, total, curves = histories.curves(step)
    fine, coarse = widths(step)
    if kept < total:
        notes.append(
            f"Of {total:,} points of the histories {kept:,} are kept: the first, the last, and each by which the "
            f"relative gap had improved by {100 * step:.3g} %. Final values and costs are of all points."
        )
    rounding = 100 * (10 ** (fine / 2) - 1), 100 * (10 ** (coarse / 2) - 1)
    notes.append("In curves gaps are rounded to {:.2g} %, bounds and seconds to {:.2g} %.".format(*rounding))
    return curves, kept < total, (fine, coarse)


def _text_column(words: list[str]) -> dict[str, Any]:
    """Different words in order of appearance, and which of them stands where; a number if all are the same."""
    different = list(dict.fromkeys(words))
    place = {word: i for i, word in enumerate(different)}
    found = [place[word] for word in words]
    return {"words": different, "at": 0 if len(different) == 1 else found}


def _number_column(column: pd.Series, digits: int) -> Any:
    """Rounded numbers; a single one if all are the same."""
    pd = require("pandas", "study", "the tables of a study")

    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    rounded = [float(f"{value:.{digits}g}") for value in values]
    return rounded[0] if len({repr(value) for value in rounded}) == 1 else rounded


def _look(place: int) -> dict[str, str]:
    """Color and dashes of a line, the ones it has in the figures for print."""
    color, dashes = look(place)
    return {"color": color, "dash": " ".join(f"{1.8 * length:.3g}" for length in dashes)}


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
