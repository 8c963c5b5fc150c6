"""Shares of targets reached, over all problems, targets and runs at once, and the expected cost of one target."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import TESTS, accuracy, cost_in_words, run_paths
from oracle_opt.study.analyses.curves import SHARES, Curves, points, together
from oracle_opt.study.analyses.problem_costs import check_accuracy, run_counts, shares, unsolved_in_words
from oracle_opt.study.analyses.table import Table
from oracle_opt.study.plot_style import rounded
from oracle_opt.words import number

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs

STEP = 0.2  # decades between two targets, as COCO has them


def ecdf(
    results: Runs, *, targets: Iterable[float] | None = None, cost: str = "calls", test: str = "certified"
) -> Curves:
    """Draw the empirical distribution of the costs to many targets, as COCO does.

    The curve of a generator is the share of triples (problem, target, run) whose target is reached within a cost: it
    has the whole way of all runs in one curve, not one accuracy alone. The `targets` are accuracies; default is five a
    decade from 1 to the finest of the study. `cost` and `test` are as in `Results.profile`.

    References
    ----------
    N. Hansen et al., COCO: performance assessment, arXiv:1605.03560.
    """
    if targets is None:
        finest = min(results.tau)
        wanted = [*10.0 ** -np.arange(0.0, -np.log10(finest) - 1e-9, STEP), finest]
    else:
        wanted = [accuracy(results, float(value), "targets") for value in targets]
    if not wanted:
        raise InvalidArgument("`targets` must be at least one accuracy, got none")
    paths = run_paths(results, cost=cost, test=test, finest=min(wanted))
    check_accuracy(results, paths, min(wanted), "targets")
    order = [name for name in results.order if any(path.generator == name for path in paths)]
    problems = {(path.instance, path.seed) for path in paths}
    costs = {
        name: np.array([path.cost_to(tau) for path in paths if path.generator == name for tau in wanted])
        for name in order
    }
    finite = np.concatenate(list(costs.values()))
    finite = finite[np.isfinite(finite)]
    least = 1.0 if cost == "calls" else 0.9 * finite.min() if len(finite) else 1.0
    right = 1.1 * max(finite.max(initial=least), 1.8 * least)
    total = len(problems) * len(wanted)
    parts = []
    for name, values in costs.items():
        filled = np.concatenate((values, np.full(total - len(values), inf)))  # runs that are missing
        parts.append(points("", name, *shares(filled, least, right)))
    last = [path.cost_to(min(wanted)) for path in paths]
    counts = run_counts(paths, last, order, len(problems))
    return Curves(
        together(parts),
        f"Targets reached, test '{test}'",
        cost_in_words(cost, results.runs["clock"]),
        "share of problems, targets and runs",
        f"The share of all pairs of a run and a target that are reached within a cost: "
        f"{number(len(problems), 'problem')} (instances and seeds) times {number(len(wanted), 'target')} tau from "
        f"{rounded(max(wanted))} to {rounded(min(wanted))}. Test '{test}': {TESTS[test].format(tau='tau')}. "
        f"{unsolved_in_words(counts, test, paths, last)}".strip(),
        log_x=True,
        kind="steps",
        order=results.order,
        y_limits=SHARES,
    )


def expected_cost(results: Runs, *, cost: str = "calls", tau: float | None = None, test: str = "certified") -> Table:
    """Make the table of expected costs (ERT, or aRT): a row an instance, a column a generator.

    It is the cost of all runs over the number of runs that reach the accuracy, where a run that does is charged up to
    there, and one that does not in full: what it costs to reach the accuracy if one starts again after a failure. For
    a method without randomness, on instances without it, starting again is of no use, and one run says all. The cost is
    infinite where no run reaches the accuracy. Runs that were refused are not counted.

    `cost`, `tau` and `test` are as in `Results.profile`, with one accuracy.
    """
    pd = require("pandas", "study", "the tables of a study")

    tau = accuracy(results, tau)
    paths = run_paths(results, cost=cost, test=test, finest=tau)
    check_accuracy(results, paths, tau)
    order = [name for name in results.order if any(path.generator == name for path in paths)]
    spent: dict[tuple[str, str], float] = {}
    reached: dict[tuple[str, str], int] = {}
    for path in paths:
        key, first = (path.instance, path.generator), path.cost_to(tau)
        spent[key] = spent.get(key, 0.0) + (first if first < inf else path.total)
        reached[key] = reached.get(key, 0) + (first < inf)
    instances = list(dict.fromkeys(path.instance for path in paths))
    rows = [
        {"instance": instance}
        | {
            name: spent[instance, name] / reached[instance, name] if reached.get((instance, name)) else inf
            for name in order
        }
        for instance in instances
    ]
    counts = run_counts(
        paths, [path.cost_to(tau) for path in paths], order, len({(path.instance, path.seed) for path in paths})
    )
    solved = ", ".join(f"{name} {row.solved} of {row.runs}" for name, row in counts.iterrows())
    what = cost_in_words(cost, results.runs["clock"])
    return Table(
        pd.DataFrame(rows, columns=["instance", *order]),
        f"Expected {what} to {rounded(tau)} (ERT), test '{test}'",
        f"Cost of all runs over the number of those that reach it. Test '{test}': "
        f"{TESTS[test].format(tau=rounded(tau))}. Runs that were refused or are missing are charged nothing. "
        f"Runs solved: {solved}.",
        compared=tuple(order),
    )
