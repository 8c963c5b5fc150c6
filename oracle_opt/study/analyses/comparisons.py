"""What a ranking is worth: halves of its problems, a budget in place of a target, an older study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import instance, real, whole
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import accuracy, cost_in_words, run_paths
from oracle_opt.study.analyses.gap_curves import gap_at
from oracle_opt.study.analyses.problem_costs import at_least_two, problem_costs
from oracle_opt.study.analyses.rank_tests import log_ratios, ranks_of
from oracle_opt.study.analyses.table import Table
from oracle_opt.study.plot_style import rounded

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs

FEWEST = 6  # problems that halves are drawn from


def rank_stability(
    results: Runs,
    *,
    halves: int = 200,
    seed: int = 0,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "median",
) -> Table:
    """Rank the generators on random halves of the problems, to see what another choice of problems would have said.

    So many `halves` are drawn by the `seed`. A row a generator: its mean rank on all problems, the 10 % and 90 %
    quantiles of its place by the mean ranks of a half, and the share of halves in which it stands first. The caption
    has the mean of Kendall's tau between the orders by a half and by the rest, 1 where they agree. `cost`, `tau`,
    `test` and `seeds` are as in `Results.profile`, with one accuracy. Two generators and 6 problems are needed.
    """
    pd = require("pandas", "study", "the tables of a study")
    from scipy.stats import kendalltau

    halves, seed, tau = whole("halves", halves), whole("seed", seed, 0), accuracy(results, tau)
    costs = problem_costs(results, cost=cost, tau=tau, test=test, seeds=seeds)
    at_least_two(costs.table, "ranks")
    if len(costs.table) < FEWEST:
        raise InvalidArgument(f"`results` must hold at least {FEWEST} problems for halves, got {len(costs.table)}")
    table, rng = ranks_of(costs.table.to_numpy()), np.random.default_rng(seed)
    places, agree = [], []
    for _ in range(halves):
        order = rng.permutation(len(table))
        first, rest = table[order[: len(table) // 2]], table[order[len(table) // 2 :]]
        places.append(ranks_of(first.mean(axis=0)[None])[0])
        agree.append(float(kendalltau(first.mean(axis=0), rest.mean(axis=0)).statistic))
    found = np.array(places)
    low, high = np.quantile(found, [0.1, 0.9], axis=0)
    frame = pd.DataFrame(
        {
            "generator": list(costs.table),
            "mean rank": table.mean(axis=0),
            "place, 10 %": low,
            "place, 90 %": high,
            "first": (found == found.min(axis=1)[:, None]).mean(axis=0),
        }
    ).sort_values("mean rank", kind="stable", ignore_index=True)
    what = cost_in_words(cost, results.runs["clock"])
    return Table(
        frame,
        f"Places on {halves} random halves of {len(table)} problems, by {what} to {rounded(tau)}, test '{test}'",
        f"Kendall's tau between the orders by a half and by the rest is {np.mean(agree):.2f} on average; 1 says that "
        f"they agree. {costs.sentences}",
    )


def gaps(results: Runs, budget: float, *, cost: str = "calls", test: str = "certified") -> Table:
    """Make the table of what a `budget` buys: the gap that is left when it is spent, a row an instance.

    The gap of the `test`, the median over the seeds, infinite, which is written as a dash, where there is none yet.
    The budget is in the unit of `cost`; both are as in `Results.profile`. A run that has ended keeps its last gap, so
    runs that were stopped earlier, by their limits, are not charged with what they might have done.
    """
    pd = require("pandas", "study", "the tables of a study")
    budget = real("budget", budget, above=0.0)
    paths = run_paths(results, cost=cost, test=test, finest=min(results.tau))
    left = [float(gap_at(path, np.array([budget]))[0]) for path in paths]
    keys = {"instance": [path.instance for path in paths], "generator": [path.generator for path in paths]}
    frame = pd.DataFrame({**keys, "gap": left}).groupby(["instance", "generator"], sort=False)["gap"].median().unstack()
    frame = frame.reindex(columns=[name for name in results.order if name in frame.columns]).fillna(np.inf)
    frame.columns.name = None
    what = cost_in_words(cost, results.runs["clock"])
    return Table(
        frame.reset_index(),
        f"Gap after {budget:g} {what}, test '{test}'",
        "The median over the seeds; a dash: no gap yet, or no run.",
        compared=tuple(frame),
    )


def against(
    results: Runs,
    older: Runs,
    *,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "each",
) -> Table:
    """Compare with an `older` study: the same generators on the same problems, by their names.

    A row a generator that both have: on how many problems it costs less, the same and more than before, how many it
    solves now and did not, and the other way round, the geometric mean of the ratios of costs where both solve, and
    the problem with the largest. `cost`, `tau`, `test` and `seeds` are as in `Results.profile`, with one accuracy.
    """
    pd = require("pandas", "study", "the tables of a study")
    older, tau = instance("older", older, type(results), "the Results of another study"), accuracy(results, tau)
    now, then = (problem_costs(one, cost=cost, tau=tau, test=test, seeds=seeds).table for one in (results, older))
    common, names = now.index.intersection(then.index, sort=False), [name for name in now if name in then]
    if not len(common) or not names:
        raise InvalidArgument("`older` must have a generator and a problem of the same names as these results")
    rows = []
    for name in names:
        new, old = now.loc[common, name].to_numpy(), then.loc[common, name].to_numpy()
        both = np.isfinite(new) & np.isfinite(old)
        ratios = np.exp(log_ratios(new[both], old[both]))
        most = int(ratios.argmax()) if len(ratios) else -1
        place = common[both][most] if most >= 0 else ""
        rows.append(
            {
                "generator": name,
                "problems": len(common),
                "less": int((new[both] < old[both]).sum()),
                "equal": int((new[both] == old[both]).sum()),
                "more": int((new[both] > old[both]).sum()),
                "solved now alone": int((np.isfinite(new) & ~np.isfinite(old)).sum()),
                "solved then alone": int((~np.isfinite(new) & np.isfinite(old)).sum()),
                "ratio": float(np.exp(np.log(ratios).mean())) if len(ratios) else np.nan,
                "largest ratio": float(ratios[most]) if most >= 0 else np.nan,
                "at": place if isinstance(place, str) else ", seed ".join(map(str, place)),
            }
        )
    what = cost_in_words(cost, results.runs["clock"])
    return Table(
        pd.DataFrame(rows),
        f"{what[0].upper()}{what[1:]} to {rounded(tau)} over those of an older study, test '{test}'",
        f"{len(common)} problems are in both. Ratios are of problems that both solve.",
    )
