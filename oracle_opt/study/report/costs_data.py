"""What every run spent until it reached every accuracy, by every test that can be applied."""

from __future__ import annotations

from functools import partial
from math import inf, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import COSTS, GAPS, TESTS, run_paths
from oracle_opt.study.records import KEY
from oracle_opt.study.report.curve_text import digits

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.runs import Runs

NEVER, LEFT_OUT = 0, 1  # what stands for the cost of a run that never passes a test, or to which it cannot be applied
WIDTH, LEVELS = (
    2e-4,
    60_002,
)  # decades a level of seconds, 0.023 % off at most; added to levels, which 1e-9 s makes -45,000


def costs_data(results: Runs) -> dict[str, Any]:
    """Find the costs of all runs.

    Parameters
    ----------
    results : Results
        The runs.

    Returns
    -------
    dict
        Tests to their words, what they hold against the accuracy, and for every accuracy of the study a dictionary of
        costs: `digits`, a number a run. Calls are 2 more than they are, seconds a level. Tests that no run passes are
        left out, but for 'certified'.
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
