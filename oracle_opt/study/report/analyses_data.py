"""Areas, ranks and traces of the whole study, which the page shows as the library computes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.history import COLUMNS
from oracle_opt.study.analyses.convergence import COSTS
from oracle_opt.study.analyses.curve_area import area
from oracle_opt.study.analyses.gap_accuracy import accuracy, correlations
from oracle_opt.study.analyses.mean_ranks import ranks
from oracle_opt.study.records import KEY
from oracle_opt.study.report.curve_text import digits
from oracle_opt.study.report.extra_data import curves_data, table_data

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs

AREAS = 10_000  # levels between 0 and 1
MOST_TRACES, POINTS = 3, 6000  # traces shown, points of the figure of each


def areas_data(results: Runs) -> dict[str, Any]:
    """Compute the areas over the curves of all runs.

    Parameters
    ----------
    results : Results
        The runs.

    Returns
    -------
    dict
        Costs to `digits` of the area in ten-thousandths, a number a run, and to what an area is; or to the
        `refusal`, if there are none.
    """
    found: dict[str, Any] = {}
    runs = results.runs
    for cost in COSTS:
        try:
            table = area(results, cost=cost)
        except InvalidArgument as problem:
            found[cost] = {"refusal": str(problem)}
            continue
        values = table.data.set_index(["instance", "seed"])
        rows = values.index.get_indexer(runs.set_index(["instance", "seed"]).index)
        columns = values.columns.get_indexer(runs["generator"])
        numbers = np.rint(AREAS * values.to_numpy()[rows, columns]).astype(int)
        found[cost] = {"areas": digits(numbers.tolist()), "caption": table.caption.split(" Cost: ")[0]}
    return found


def ranks_data(results: Runs) -> dict[str, list[dict[str, Any]]]:
    """Rank the generators, with tests of which are told apart.

    Parameters
    ----------
    results : Results
        The runs.

    Returns
    -------
    dict
        Costs to a dictionary for every accuracy: what `Results.ranks` says, or its `refusal`.
    """
    return {cost: [_ranks(results, cost, tau) for tau in results.tau] for cost in COSTS}


def traces_data(results: Runs) -> list[dict[str, Any]]:
    """Make a figure and a table of each trace of the instances, such as an accuracy at every point asked.

    Parameters
    ----------
    results : Results
        The runs.

    Returns
    -------
    list of dict
        As of `extra_data`; of the first three traces that are known anywhere.
    """
    own = {*KEY, *COLUMNS, "relative_gap", "single_cut_gap"}
    names = [name for name in results.history.columns if name not in own]
    numbers = [
        name for name in names if results.history[name].dtype.kind in "fiu" and results.history[name].notna().any()
    ]
    found: list[dict[str, Any]] = []
    for name in numbers[:MOST_TRACES]:
        try:
            curves = accuracy(results, trace=name)
            table = correlations(results, trace=name)
        except InvalidArgument:  # known only where there is no finite gap: nothing to draw
            continue
        curves = replace(curves, caption=curves.caption.split(" Pearson's")[0])  # the table has the correlations
        n_curves = len(curves.data[["panel", "name"]].drop_duplicates())
        heading = f"{name[:1].upper()}{name[1:]} and gap"
        found.append(curves_data(curves, max(10, POINTS // n_curves)) | {"heading": heading})
        found.append(table_data(table) | {"heading": f"{heading}: correlations"})
    return found


def _ranks(results: Runs, cost: str, tau: float) -> dict[str, Any]:
    try:
        found = ranks(results, cost=cost, tau=tau)
    except InvalidArgument as problem:
        return {"refusal": str(problem).replace("`results`", "the study")}
    means = [round(mean, 4) for mean in found.data["mean_rank"].tolist()]
    pairs = found.pairs
    return {
        "n": found.n,
        "title": found.title,
        "caption": found.caption,
        "names": found.data["generator"].tolist(),
        "means": means,
        "solved": [round(share, 4) for share in found.data["share_solved"].tolist()],
        "cliques": found.cliques,
        "pairs": [
            [*names, float(f"{p:.3g}"), float(f"{corrected:.3g}")]
            for *names, p, corrected in pairs[["first", "second", "p", "p_holm"]].itertuples(index=False)
        ],
    }
