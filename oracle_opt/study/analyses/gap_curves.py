"""Convergence call by call: the gap against cost, as in the figure of Wulff & Ong (2014), and the paths of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import whole
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.study.analyses.convergence import GAPS, WITHOUT, RunPath, cost_in_words, run_paths
from oracle_opt.study.analyses.curves import Curves, points, together
from oracle_opt.study.plots import spread_of
from oracle_opt.words import number

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.runs import Runs

MOST_POINTS = 300  # of a curve over seconds


def curves(results: Runs, *, cost: str = "calls", test: str = "certified") -> Curves:
    """Draw the gap against the cost: a panel an instance, a curve a generator.

    A curve is the geometric mean over the seeds, its band the range from the 10 % to the 90 % quantile. It begins where
    all runs have a finite gap, and a run that has ended keeps its last gap.

    `cost` and `test` are as in `Results.profile`. The gap is that to the proven bound, 'certified', to the bound by the
    best 'single-cut', to the known minimum, 'reference', or to the best value of any generator in these results,
    'more-wild'.
    """
    finest = min(results.tau)
    groups: dict[tuple[str, str], list[RunPath]] = {}
    left_out = never = 0
    for path in run_paths(results, cost=cost, test=test, finest=finest):
        if path.status in WITHOUT:
            left_out += 1
        else:
            never += not np.isfinite(path.gap).any()
            groups.setdefault((path.instance, path.generator), []).append(path)
    parts = []
    seeds = {path.seed for paths in groups.values() for path in paths}
    for paths in groups.values():
        parts.append(curve_of(paths, cost))
    words = [f"{GAPS[test].capitalize()} (test '{test}') against {cost_in_words(cost, results.runs['clock'])}."]
    if len(seeds) > 1:
        words.append(
            f"Curves are geometric means over {len(seeds)} seeds, bands reach from their 10 % to their 90 % quantile."
        )
    words.append("A run that has ended keeps its last gap.")
    if never:
        words.append(f"{number(never, 'run')} never had a finite gap; such a generator has no curve there.")
    if left_out:
        words.append(f"{number(left_out, 'run')} left out: refused or ended by an exception.")
    data = together(parts)
    return Curves(
        data,
        f"Convergence: {GAPS[test]} (test '{test}')",
        cost_in_words(cost, results.runs["clock"]),
        GAPS[test],
        " ".join(words),
        log_x=True,
        log_y=True,
        kind="line" if cost == "calls" else "steps",
        threshold=finest,
        order=results.order,
        # runs are stopped at the finest accuracy: a gap far below it is luck, and would squeeze all others
        y_limits=(finest / 10, 2 * float(data[["y", "high"]].max().max())) if len(data) else None,
    )


def curve_of(paths: list[RunPath], cost: str) -> pd.DataFrame:
    """Rows of the curve of some runs of one generator on one instance, from where all of them have a gap."""
    x = _costs(paths, cost)
    gaps = np.array([gap_at(path, x) for path in paths])
    known = np.isfinite(gaps).all(axis=0)
    mean, low, high = spread_of(gaps[:, known]) if known.any() else (np.zeros(0),) * 3
    band = (low, high) if len(paths) > 1 else ()
    return points(paths[0].instance, paths[0].generator, x[known], mean, *band)


def _costs(paths: list[RunPath], cost: str) -> Vector:
    """Costs at which a curve has points: all of calls, of seconds at most 300, evenly spread in the logarithm."""
    every: Vector = np.unique(np.concatenate([path.spent for path in paths]))
    if cost == "calls" or len(every) <= MOST_POINTS:
        return every
    wanted = np.geomspace(every[0], every[-1], MOST_POINTS)
    chosen: Vector = every[np.unique(np.minimum(np.searchsorted(every, wanted), len(every) - 1))]
    return chosen


def gap_at(path: RunPath, costs: Vector) -> Vector:
    """The gap of a run when these costs are spent; infinite before its first call."""
    gaps: Vector = np.concatenate(([np.inf], path.gap))[np.searchsorted(path.spent, costs, side="right")]
    return gaps


def weights(results: Runs, *, largest: int = 7) -> Curves:
    """Draw the paths of weights: a panel an instance and a generator, a curve an entry of the point asked.

    The `largest` so many entries are drawn, by their magnitude at the last call, of the first seed of each instance
    that has points: run the study with ``keep_points=True``. Entries are named ``z[0]``, ``z[1]``, ...
    """
    largest = whole("largest", largest)
    history = results.history
    if "point" not in history.columns or not history["point"].notna().any():
        raise InvalidArgument(
            "`history` must have the points that were asked in a column 'point': run the study with keep_points=True"
        )
    known = history[history["point"].notna()]
    parts, taken, seeds = [], dict[tuple[str, str], int](), set()
    for (instance, generator, seed), rows in known.groupby(["instance", "generator", "seed"], sort=False):
        if taken.setdefault((instance, generator), seed) != seed:
            continue
        seeds.add(seed)
        rows = rows.sort_values("call")
        path = np.array([np.asarray(point, dtype=float) for point in rows["point"]])
        chosen = np.argsort(-np.abs(path[-1]), kind="stable")[:largest]
        parts += [
            points(f"{instance}, {generator}", f"z[{i}]", rows["call"].to_numpy(dtype=float), path[:, i])
            for i in np.sort(chosen)
        ]
    data = together(parts)
    names = sorted(set(data["name"]), key=lambda name: int(name[2:-1]))
    return Curves(
        data,
        "Weights of the points asked",
        "oracle calls",
        "weight",
        f"The {largest} entries of the point asked that are largest at the last call, of one run a panel "
        f"(seed {', '.join(map(str, sorted(seeds)))}).",
        order=tuple(names),
    )
