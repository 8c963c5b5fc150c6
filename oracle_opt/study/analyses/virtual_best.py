"""The virtual best: on each problem, after each call, the least gap of any generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import RunPath, run_paths
from oracle_opt.study.analyses.gap_curves import gap_at
from oracle_opt.words import shown

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs

NAME = "virtual best"
R = TypeVar("R", bound="Runs")


def with_virtual_best(results: R, name: str = NAME) -> R:
    """Add runs of a generator that does not exist: on each problem, after each call, the least gap of any.

    Who chose the right generator for each problem and accuracy would have its calls: profiles, ranks and tables show
    what is left to gain. It is called `name`, and has calls and no seconds.
    """
    pd = require("pandas", "study", "the tables of a study")
    if name in results.order:
        raise InvalidArgument(f"`name` must be of no generator that has runs, got {shown(name)}")
    problems: dict[tuple[str, int], list[RunPath]] = {}
    for path in run_paths(results, cost="calls", test="certified", finest=min(results.tau)):
        if len(path.spent):
            problems.setdefault((path.instance, path.seed), []).append(path)
    first = results.runs.drop_duplicates(["instance", "seed"]).set_index(["instance", "seed"])
    rows, frames = [], []
    for (instance, seed), paths in problems.items():
        calls = np.unique(np.concatenate([path.spent for path in paths]))
        gaps = np.min([gap_at(path, calls) for path in paths], axis=0)
        rtol = float(first.loc[(instance, seed), "rtol"])
        done = np.flatnonzero(gaps <= rtol)
        last = int(done[0]) if len(done) else len(calls) - 1
        key = {"instance": instance, "generator": name, "seed": seed}
        end = {"status": "CONVERGED" if len(done) else "MAX_CALLS", "n_calls": int(calls[last]), "machine": "none"}
        same = f"{name} of {', '.join(sorted(path.generator for path in paths))} on {instance}, {seed}"
        rows.append(first.loc[(instance, seed)].to_dict() | key | end | {"method": name, "digest": same})
        frames.append(pd.DataFrame(key | {"call": calls[: last + 1].astype(int), "relative_gap": gaps[: last + 1]}))
    runs = pd.concat([results.runs, pd.DataFrame(rows)[list(results.runs)]], ignore_index=True)
    history = pd.concat([results.history, *frames], ignore_index=True)
    return type(results)(runs, history, results.tau, interrupted=results.interrupted)
