"""The costs of all generators on all problems, which profiles, tables and ranks are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import one_of
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import TESTS, RunPath, cost_in_words, run_paths
from oracle_opt.study.plot_style import rounded
from oracle_opt.words import number, one_line

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.runs import Runs

SEEDS = ("each", "median")


@dataclass(frozen=True, eq=False)
class ProblemCosts:
    """Costs to an accuracy."""

    __repr__ = one_line

    # One row a problem (an instance, or an instance and a seed), one column a generator: the first cost at which the
    # test holds, infinite if it never does.
    table: pd.DataFrame
    n: pd.Series  # number of variables of each problem
    # For every generator the numbers of runs: 'runs' that were wanted; of them 'solved', 'unsolved' (they ended
    # before the test held), 'failed', 'refused' and 'missing' from the results.
    counts: pd.DataFrame
    sentences: str  # the cost, the test, the problems and what counts as unsolved, for a caption
    in_general: str  # the same for figures of several accuracies: the test is worded for any tau


def problem_costs(results: Runs, *, cost: str, tau: float, test: str, seeds: str) -> ProblemCosts:
    """Collect the costs of all generators on all problems."""
    pd = require("pandas", "study", "the tables of a study")

    one_of("seeds", seeds, SEEDS)
    paths = run_paths(results, cost=cost, test=test, finest=tau)
    costs = [path.cost_to(tau) for path in paths]
    check_accuracy(results, paths, tau)
    index = ["instance", "seed"]
    frame = pd.DataFrame(
        {
            "instance": [path.instance for path in paths],
            "seed": [path.seed for path in paths],
            "generator": [path.generator for path in paths],
            "n": [path.n for path in paths],
            "cost": costs,
        }
    )
    order = [name for name in results.order if name in set(frame["generator"])]
    problems = pd.MultiIndex.from_frame(frame[index].drop_duplicates())
    table = frame.pivot(index=index, columns="generator", values="cost").reindex(index=problems, columns=order)
    table.columns.name = None
    counts = run_counts(paths, costs, order, len(problems))
    n = frame.drop_duplicates(index).set_index(index)["n"]
    table = table.fillna(inf)  # runs that are missing
    if seeds == "median":
        table = table.groupby(level="instance", sort=False).median()
        n = n.groupby(level="instance", sort=False).first()
    what = cost_in_words(cost, results.runs["clock"])
    problems, rest = problems_in_words(paths, seeds), unsolved_in_words(counts, test, paths, costs)
    sentences, in_general = (
        f"Cost: {what} until {TESTS[test].format(tau=word)}; {problems} {rest}".strip()
        for word in (rounded(tau), "tau")
    )
    return ProblemCosts(table, n, counts, sentences, in_general)


def check_accuracy(results: Runs, paths: Sequence[RunPath], tau: float, name: str = "tau") -> None:
    """Refuse an accuracy that runs had no chance to reach, as they were stopped at a coarser one."""
    stopped = [
        float(rtol)
        for rtol, path in zip(results.runs["rtol"], paths, strict=True)
        if path.status == "CONVERGED" and rtol > tau and path.cost_to(tau) == inf
    ]
    if stopped:
        raise InvalidArgument(
            f"`{name}` must be at least {rounded(max(stopped))}, got {rounded(tau)}: runs were stopped when they had "
            "proven that much. Run the study with finer accuracies"
        )


def run_counts(paths: Sequence[RunPath], costs: Sequence[float], order: Sequence[str], n_problems: int) -> pd.DataFrame:
    """Count how the runs of every generator ended: a row a generator."""
    pd = require("pandas", "study", "the tables of a study")

    counts = pd.DataFrame(0, index=list(order), columns=["runs", "solved", "unsolved", "failed", "refused", "missing"])
    counts["runs"] = n_problems
    for path, value in zip(paths, costs, strict=True):
        end = {"REFUSED": "refused", "FAILED": "failed"}.get(path.status, "solved" if value < inf else "unsolved")
        counts.loc[path.generator, end] += 1
    counts["missing"] = counts["runs"] - counts[["solved", "unsolved", "failed", "refused"]].sum(axis=1)
    return counts


def problems_in_words(paths: Sequence[RunPath], seeds: str, what: str = "cost") -> str:
    """Say how many problems there are, and what is done with seeds."""
    instances = len({path.instance for path in paths})
    problems = len({(path.instance, path.seed) for path in paths})
    if problems == instances:
        return f"{number(instances, 'problem')}."
    if seeds == "median":
        each = {path.seed for path in paths}
        return f"{number(instances, 'problem')}: median {what} over {number(len(each), 'seed')}."
    return f"{number(problems, 'problem')}: each seed of {number(instances, 'instance')} counts as one."


def unsolved_in_words(
    counts: pd.DataFrame, test: str, paths: Sequence[RunPath] = (), costs: Sequence[float] = ()
) -> str:
    """Say which runs count as unsolved without having been tried to the end."""
    reasons = {"failed": "ended by an exception", "refused": "refused", "missing": "missing from these results"}
    ends = [(int(counts[end].sum()), reason) for end, reason in reasons.items()]
    words = [f"{number(total, 'run')} {reason}" for total, reason in ends if total]
    sentences = [f"Counted as unsolved: {', '.join(words)}."] if words else []
    if everywhere := list(counts.index[counts["refused"] == counts["runs"]]):
        sentences.append(f"Refused everywhere: {', '.join(everywhere)}.")
    early = sum(path.status == "CONVERGED" and value == inf for path, value in zip(paths, costs, strict=True))
    if test != "certified" and early:
        sentences.append(
            f"{number(early, 'run')} ended because the certified gap had closed, before this test held: they count as "
            "unsolved, too."
        )
    return " ".join(sentences)


def at_least_two(table: pd.DataFrame, what: str) -> None:
    """Refuse what needs generators to compare."""
    if table.shape[1] < 2:
        raise InvalidArgument(f"`results` must hold runs of at least two generators for {what}, got {table.shape[1]}")


def shares(values: np.ndarray, least: float, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps of the share of values that are at most x, from `least` to `right`."""
    finite = np.sort(values[np.isfinite(values)])
    x = np.unique(np.concatenate(([least], finite[finite > least], [right])))
    return x, np.searchsorted(finite, x, side="right") / len(values)
