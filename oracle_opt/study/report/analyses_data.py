"""Costs, areas, ranks and traces of the whole study, which the page shows as the library computes them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.errors import InvalidArgument
from oracle_opt.history import COLUMNS
from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import COSTS, GAPS, TESTS, run_paths
from oracle_opt.study.analyses.cost_tables import area
from oracle_opt.study.analyses.gap_accuracy import accuracy, correlations
from oracle_opt.study.analyses.mean_ranks import ranks
from oracle_opt.study.records import KEY
from oracle_opt.study.report.curve_text import digits
from oracle_opt.study.report.extra_data import curves_data, table_data

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.runs import Runs


NEVER, LEFT_OUT = 0, 1  # what stands for the cost of a run that never passes a test, or to which it cannot be applied
WIDTH, LEVELS = (
    2e-4,
    60_002,
)  # decades a level of seconds, 0.023 % off at most; added to levels, which 1e-9 s makes -45,000


def costs_data(results: Runs) -> dict[str, Any]:
    """Map tests to their words, what they hold against the accuracy, and for every accuracy of the study the costs.

    Costs are `digits`, a number a run: calls plus 2, or levels of seconds. A test that no run passes goes, 'certified'
    not.
    """
    found = {}
    results = _coded(results)
    for test in TESTS:
        if test == "single-cut" and "single_cut_gap" not in results.history.columns:
            continue
        columns = _reference_costs(results) if test == "reference" else _costs(results, test)
        if test == "certified" or any(max(costs["calls"]) > LEFT_OUT for costs in columns):
            texts = [{cost: digits(numbers) for cost, numbers in costs.items()} for costs in columns]
            found[test] = {"words": TESTS[test], "gap": GAPS[test], "tau": texts}
    return found


def _coded(results: Runs) -> Runs:
    """The same with numbers for names, which are sorted many times."""
    pd = require("pandas", "study", "the tables of a study")

    runs, history = results.runs.copy(), results.history.copy()
    for name in KEY:
        both = pd.concat([runs[name], history[name]]).astype(str)
        codes = pd.factorize(both)[0]
        runs[name], history[name] = codes[: len(runs)], codes[len(runs) :]
    return type(results)(runs, history, results.tau)


def _costs(results: Runs, test: str) -> list[dict[str, list[int]]]:
    """A dictionary an accuracy."""
    columns: list[dict[str, list[int]]] = [{} for _ in results.tau]
    for cost in COSTS:
        paths = run_paths(results, cost=cost, test=test, finest=min(results.tau))
        for place, tau in enumerate(results.tau):
            columns[place][cost] = [_number(path.cost_to(tau), cost) for path in paths]
    return columns


def _reference_costs(results: Runs) -> list[dict[str, list[int]]]:
    """The same with the known minima, of the problems where one is known ten times as exactly as the accuracy."""
    runs = results.runs
    share = (runs["optimum_error"] / np.maximum(1.0, runs["optimum"].abs())).astype(float)
    exact = share.fillna(inf).groupby([runs["instance"], runs["seed"]]).transform("min").to_numpy()
    columns = [{cost: [LEFT_OUT] * len(runs) for cost in COSTS} for _ in results.tau]
    finest: dict[bytes, float] = {}  # accuracies at which the same problems can be used need one look at their runs
    for tau in results.tau:
        finest[(exact <= 0.1 * tau).tobytes()] = tau
    for key, least in finest.items():
        usable = exact <= 0.1 * least
        if not usable.any():
            continue
        kept = results if usable.all() else results.filter(where=partial(_these, usable))
        for cost in COSTS:
            paths = run_paths(kept, cost=cost, test="reference", finest=least)
            for tau, column in zip(results.tau, columns, strict=True):
                if (exact <= 0.1 * tau).tobytes() == key:
                    for run, path in zip(np.flatnonzero(usable).tolist(), paths, strict=True):
                        column[cost][run] = _number(path.cost_to(tau), cost)
    return columns


def _these(wanted: NDArray[np.bool_], _: pd.DataFrame) -> NDArray[np.bool_]:
    return wanted


def _number(value: float, cost: str) -> int:
    if value == inf:
        return NEVER
    return int(value) + 2 if cost == "calls" else max(2, round(log10(value) / WIDTH) + LEVELS)


AREAS = 10_000  # levels between 0 and 1
MOST_TRACES, POINTS = 3, 6000  # traces shown, points of the figure of each


def areas_data(results: Runs) -> dict[str, Any]:
    """Map costs to `digits` of the area over each run's curve in ten-thousandths and its words, or to the `refusal`."""
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
    """Rank the generators, with tests of which are told apart."""
    return {cost: [_ranks(results, cost, tau) for tau in results.tau] for cost in COSTS}


def traces_data(results: Runs) -> list[dict[str, Any]]:
    """Make a figure and a table of each trace of the instances, such as an accuracy at every point asked."""
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
