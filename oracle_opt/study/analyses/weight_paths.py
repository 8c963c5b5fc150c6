"""Paths of the largest entries of the points asked: which kernels a method weighs, call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import whole
from oracle_opt.errors import InvalidArgument
from oracle_opt.study.analyses.curves import Curves, points, together

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs


def weights(results: Runs, *, largest: int = 7) -> Curves:
    """Draw the paths of weights: a panel an instance and a generator, a curve an entry of the point asked.

    Parameters
    ----------
    largest : int
        So many entries a panel, those that are largest in magnitude at the last call.

    Returns
    -------
    Curves
        Of the first seed of each instance that has points; entries are named ``z[0]``, ``z[1]``, ...

    Raises
    ------
    InvalidArgument
        The history has no points: run the study with ``keep_points=True``.
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
