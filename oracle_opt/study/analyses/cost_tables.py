"""Tables of costs, of shifted geometric means, and of areas over the convergence curve."""

from __future__ import annotations

from math import inf, isfinite, log, log10
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import one_of, real
from oracle_opt.arrays import Matrix
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import GAPS, WITHOUT, RunPath, accuracy, cost_in_words, run_paths
from oracle_opt.study.analyses.problem_costs import SEEDS, problem_costs, problems_in_words
from oracle_opt.study.analyses.table import Table
from oracle_opt.study.plot_style import rounded
from oracle_opt.words import number

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs


DRAWS = 1000


def means(
    results: Runs,
    *,
    shift: float = 10.0,
    limit: float | None = None,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "each",
) -> Table:
    """Make the table of shifted geometric means: ``exp(mean(log(max(1, t + shift)))) - shift``, a row a generator.

    Without the `shift`, calls or seconds, the easiest problems would decide. A problem that is not solved costs
    `limit`; default is the limit of its runs, `max_calls` or `max_seconds`, and without one the table is refused.
    `cost`, `tau`, `test` and `seeds` are as in `Results.profile`, with one accuracy.

    Beside the mean stand its ratio to the best mean, where 95 % of such ratios lie if the problems are drawn again
    (bootstrap), and the numbers of problems, and of runs solved, unsolved, ended
    by an exception, refused and missing: the mean of a generator that solves little says little.

    References
    ----------
    H. Mittelmann, Benchmarks for optimization software, plato.asu.edu/bench.html.
    """
    shift = real("shift", shift, least=0.0)
    tau = accuracy(results, tau)
    costs = problem_costs(results, cost=cost, tau=tau, test=test, seeds=seeds)
    times = costs.table.to_numpy(copy=True)
    unsolved = ~np.isfinite(times)
    if limit is not None:
        limits = np.full(len(times), real("limit", limit, above=0.0))
    else:
        keys = ["instance", "seed"] if seeds == "each" else ["instance"]
        column = "max_calls" if cost == "calls" else "max_seconds"
        known = results.runs.assign(limit=results.runs[column].astype(float)).groupby(keys)["limit"].max()
        limits = known.reindex(costs.table.index).to_numpy()
        if not all(isfinite(value) for value in limits[unsolved.any(axis=1)]):
            raise InvalidArgument(
                f"`limit` must say what a problem costs that is not solved: the runs had no {column}, and not all "
                "problems are solved"
            )
    times = np.where(unsolved, limits[:, None], times)
    logs = np.log(np.maximum(1.0, times + shift))
    values = np.exp(logs.mean(axis=0)) - shift
    frame = costs.counts.rename_axis("generator").reset_index()
    frame.insert(1, "mean", values)
    best = float(values.min())
    frame.insert(2, "over the best", values / best if best > 0 else np.nan)
    for place, end in enumerate(_intervals(logs, shift, int(values.argmin()))):
        frame.insert(3 + place, ("from", "to")[place], end)
    frame.insert(5, "problems", len(times))
    charged = "its limit" if limit is None else f"{limit:g}"
    return Table(
        frame,
        f"Shifted geometric means of {cost_in_words(cost, results.runs['clock'])} to {rounded(tau)}, test '{test}'",
        f"The shift is {shift:g}; a problem that is not solved is charged {charged}, and counted apart. "
        f"From and to: 95 % of the ratios over the best, {DRAWS} times over problems drawn again. "
        f"{costs.sentences} The counts are of runs.",
    )


def _intervals(logs: Matrix, shift: float, best: int) -> Matrix:
    """Ends of 95 % of the ratios to the best mean, over problems that are drawn again (bootstrap)."""
    drawn = np.random.default_rng(0).integers(0, len(logs), (DRAWS, len(logs)))
    means = np.exp(logs[drawn].mean(axis=1)) - shift
    with np.errstate(all="ignore"):
        ends: Matrix = np.quantile(means / means[:, [best]], (0.025, 0.975), axis=0)
    return ends


def table(
    results: Runs,
    *,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "median",
) -> Table:
    """Make the table of costs to an accuracy: a row an instance, a column a generator.

    `cost`, `tau` and `test` are as in `Results.profile`, with one accuracy. A row is an instance with the median cost
    of its seeds, or with ``seeds='each'`` an instance and a seed. A cost is infinite, which is written as a dash, where
    the test never holds. The best of a row is in bold.
    """
    tau = accuracy(results, tau)
    costs = problem_costs(results, cost=cost, tau=tau, test=test, seeds=seeds)
    solved = (f"{row.solved} of {row.runs}" for row in costs.counts.itertuples())
    what = cost_in_words(cost, results.runs["clock"])
    return Table(
        costs.table.reset_index(),
        f"{what[0].upper()}{what[1:]} to {rounded(tau)}, test '{test}'",
        f"{costs.sentences} A dash: accuracy not reached.{_known_minimum(results, tau)}",
        compared=tuple(costs.table),
        last=("runs solved", *[""] * (seeds == "each"), *solved),
    )


def _known_minimum(results: Runs, tau: float) -> str:
    """How many runs have come as near to the known minimum, proven or not."""
    runs = results.runs
    unit = np.maximum(1.0, runs["optimum"].abs())
    known = runs[runs["optimum_error"] <= 0.1 * tau * unit]
    if not len(known):
        return ""
    near = known["upper_bound"] - known["optimum"] <= tau * unit[known.index]
    found = near.groupby(known["generator"]).agg(["sum", "size"])
    words = ", ".join(
        f"{name} {found.loc[name, 'sum']} of {found.loc[name, 'size']}" for name in results.order if name in found.index
    )
    return f" Runs that reached the known minimum, proven or not: {words}."


LEAST = 1e-8


def area(
    results: Runs,
    *,
    cost: str = "calls",
    test: str = "certified",
    least: float | None = None,
    seeds: str = "each",
) -> Table:
    """Make the table of mean areas over the convergence curve (AOCC): a row a problem, a column a generator.

    With the gap g clipped to ``[least, 1]`` and written as ``h = log10 g / log10 least``, which is 0 at the gap 1 and 1
    at the least gap, the area is the mean of h over the logarithm of the cost, from one call to the limit. It lies
    between 0 and 1; more is better. The same number is the area under the empirical attainment function, the mean over
    all targets, evenly spread in the logarithm, of the share of the way that is left when the target is reached.

    `cost`, `test` and `seeds` are as in `Results.profile`. Default of `least`, the gap below which nothing counts, is
    1e-8, or the coarsest `rtol` of the runs if that is larger: runs that were stopped there differ below it by luck
    alone. Runs that were refused, failed or are missing have 0.

    Notes
    -----
    The limit of calls is the largest `max_calls` of the runs on the problem. That of seconds is the longest run on it,
    and the way begins with the shortest first call: so areas over seconds change with the generators that are there.

    References
    ----------
    M. López-Ibáñez, D. Vermetten, J. Dreo, C. Doerr, Using the empirical attainment function for analyzing
    single-objective black-box optimization algorithms, IEEE Trans. Evol. Comput. (2024), arXiv:2404.02031.
    """
    pd = require("pandas", "study", "the tables of a study")

    one_of("seeds", seeds, SEEDS)
    if least is None:
        rtols = results.runs.loc[~results.runs["status"].isin(WITHOUT), "rtol"].astype(float)
        least = max(LEAST, rtols.max()) if len(rtols) else LEAST
    floor = real("least", least, above=0.0, below=1.0)
    paths = run_paths(results, cost=cost, test=test, finest=floor)
    ways: dict[tuple[str, int], tuple[float, float]] = {}
    for path, limit in zip(paths, results.runs["max_calls"].astype(float), strict=True):
        start, end = ways.get((path.instance, path.seed), (inf, 0.0))
        if len(path.spent):
            start, end = min(start, float(path.spent[0])), max(end, float(path.spent[-1]))
        if cost == "calls":
            start, end = 1.0, max(end, limit if isfinite(limit) else 0.0)
        ways[path.instance, path.seed] = start, end
    order = [name for name in results.order if any(path.generator == name for path in paths)]
    frame = pd.DataFrame(
        {
            "instance": [path.instance for path in paths],
            "seed": [path.seed for path in paths],
            "generator": [path.generator for path in paths],
            "area": [_area(path, *ways[path.instance, path.seed], floor) for path in paths],
        }
    )
    index = ["instance", "seed"]
    problems = pd.MultiIndex.from_frame(frame[index].drop_duplicates())
    table = frame.pivot(index=index, columns="generator", values="area").reindex(index=problems, columns=order)
    table.columns.name = None
    table = table.fillna(0.0)
    if seeds == "median":
        table = table.groupby(level="instance", sort=False).median()
    what = cost_in_words(cost, results.runs["clock"])
    means = ", ".join(f"{name} {value:.3f}" for name, value in table.mean().items())
    without = sum(path.status in WITHOUT for path in paths)
    zero = f" {number(without, 'run')} refused or ended by an exception: their area is 0." if without else ""
    return Table(
        table.reset_index(),
        f"Mean area over the curve of the {GAPS[test]}, test '{test}'",
        f"Between 0 (the gap never falls below 1) and 1 (it is at most {rounded(floor)} from the first call); "
        f"logarithmic in gap and cost. Cost: {what}. {problems_in_words(paths, seeds, 'area')}{zero} "
        f"Means: {means}.",
        compared=tuple(order),
        largest_is_best=True,
    )


def _area(path: RunPath, start: float, end: float, floor: float) -> float:
    """The mean of h over the logarithm of the cost from `start` to `end`; h is 0 before the first call."""
    if not len(path.spent):
        return 0.0
    heights = np.log10(np.clip(path.gap, floor, 1.0)) / log10(floor)
    if not end > start:
        return float(heights[-1])
    ends = np.clip(np.append(path.spent[1:], end), start, end)
    lengths = np.log(ends) - np.log(np.clip(path.spent, start, end))
    return float(heights @ lengths) / log(end / start)
