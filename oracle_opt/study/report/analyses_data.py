"""Areas and ranks of the whole study, which the page shows as the library computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.study.analyses.convergence import COSTS
from oracle_opt.study.report.curve_text import digits

if TYPE_CHECKING:
    from oracle_opt.study.results import Results

AREAS = 10_000  # levels between 0 and 1


def areas_data(results: Results) -> dict[str, Any]:
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
            table = results.area(cost=cost)
        except InvalidArgument as problem:
            found[cost] = {"refusal": str(problem)}
            continue
        values = table.data.set_index(["instance", "seed"])
        rows = values.index.get_indexer(runs.set_index(["instance", "seed"]).index)
        columns = values.columns.get_indexer(runs["generator"])
        numbers = np.rint(AREAS * values.to_numpy()[rows, columns]).astype(int)
        found[cost] = {"areas": digits(numbers.tolist()), "caption": table.caption.split(" Cost: ")[0]}
    return found


def ranks_data(results: Results) -> dict[str, list[dict[str, Any]]]:
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


def _ranks(results: Results, cost: str, tau: float) -> dict[str, Any]:
    try:
        ranks = results.ranks(cost=cost, tau=tau)
    except InvalidArgument as problem:
        return {"refusal": str(problem)}
    means = [round(mean, 4) for mean in ranks.data["mean_rank"].tolist()]
    pairs = ranks.pairs
    return {
        "n": ranks.n,
        "title": ranks.title,
        "caption": ranks.caption,
        "names": ranks.data["generator"].tolist(),
        "means": means,
        "solved": [round(share, 4) for share in ranks.data["share_solved"].tolist()],
        "cliques": ranks.cliques,
        "pairs": [
            [*names, float(f"{p:.3g}"), float(f"{corrected:.3g}")]
            for *names, p, corrected in pairs[["first", "second", "p", "p_holm"]].itertuples(index=False)
        ],
    }
