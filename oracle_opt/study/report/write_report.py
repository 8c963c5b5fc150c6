"""The report of a study as one file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracle_opt.errors import InvalidArgument
from oracle_opt.files import atomic_file
from oracle_opt.study.report.analyses_data import areas_data, ranks_data, traces_data
from oracle_opt.study.report.costs_data import costs_data
from oracle_opt.study.report.embedding import make_page, to_json
from oracle_opt.study.report.extra_data import extra_data
from oracle_opt.study.report.histories import Histories
from oracle_opt.study.report.report_data import report_data
from oracle_opt.study.report.thinning import STEPS
from oracle_opt.words import shown

if TYPE_CHECKING:
    from oracle_opt.study.analyses import Curves, Table
    from oracle_opt.study.localization_data import Localization
    from oracle_opt.study.results import Results

LARGEST = 1_000_000  # bytes that the page shall have at most
PER_POINT = 5.0  # bytes that a point of a history takes at least


def write_report(
    results: Results,
    path: os.PathLike[str] | str,
    *,
    title: str | None = None,
    extra: Mapping[str, Curves | Table | Localization] | None = None,
) -> Path:
    """Write a study as one HTML file: figures, tables, filters and every run.

    It opens in any browser of 2022 or later without a network, fetches nothing, and can be mailed or published.

    Parameters
    ----------
    results : Results
        The runs.
    path : path-like
        File to write; one that is there is replaced.
    title : str, optional
        Heading of the page; default says how many generators ran on how many instances.
    extra : mapping, optional
        Headings to further sections: figures and tables that analyses of results return, and runs in two variables of
        `trace_localization`, which the reader moves through call by call.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InvalidArgument
        There are no runs, or something in `extra` cannot be shown.
    OSError
        The file cannot be written.

    Notes
    -----
    The page has less than 1 MB: of long histories fewer points are kept, and the page says how many. Only some 3000
    runs and more make a larger one: steps of half a decade are left of every history.
    """
    if not len(results):
        raise InvalidArgument("`results` must have at least one run, got none")
    if title is None:
        generators, instances = results.runs["generator"].nunique(), results.runs["instance"].nunique()
        title = f"{_number_of(generators, 'generator')} on {_number_of(instances, 'instance')}"
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


def _number_of(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
