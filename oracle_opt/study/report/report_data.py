"""The data of the page of a study, as plain data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

import oracle_opt
from oracle_opt.clocks import kind_of_seconds
from oracle_opt.line_styles import N_LOOKS, look
from oracle_opt.optional import require
from oracle_opt.study.records import KEY, RUN_COLUMNS
from oracle_opt.study.report.analyses_data import LEVELS, WIDTH
from oracle_opt.study.report.curve_text import ALPHABET, BASE, INFINITE, UNKNOWN, ZERO, widths
from oracle_opt.study.report.histories import STEPS, Histories, shortened

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.runs import Runs

# Columns of the runs: as text that repeats, and as numbers with their digits.
ENDS = ("family", "status", "certificate", "message", "traceback")
TEXTS = (*KEY[:2], *ENDS, "recipe", "oracle", "method", "version", "machine")
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
        "version": oracle_opt.__version__,
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
