"""The figure of an experiment that has none of its own: our figures against the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.optional import require
from oracle_opt.study.reproduce.paper import NOT_CONVERGED, Printed
from oracle_opt.study.reproduce.repetitions import Row

if TYPE_CHECKING:
    from oracle_opt.study.analyses import Curves

WIDE = 20  # largest over least value, from which axes are logarithmic


def against_paper(name: str, rows: tuple[Row, ...], printed: Mapping[tuple[str, str], Printed]) -> Curves:
    """Put ours against the paper's, a panel a kind of quantity, a marker a method; equal figures lie on the line.

    Parameters
    ----------
    name : str
        Of the experiment.
    rows : tuple of Row
        Our figures.
    printed : mapping
        (set, quantity) to what the paper prints; where it has none of the sets, ours stand alone, one after the other.

    Returns
    -------
    Curves
    """
    pd = require("pandas", "study", "the tables of a study")

    from oracle_opt.study.analyses.curves import Curves

    points: list[tuple[str, str, float, float]] = []
    for row in rows:
        figure = printed.get((row.set, row.quantity))
        if figure is None or figure.value == NOT_CONVERGED or not np.isfinite(row.ours):
            continue
        kind, _, method = row.quantity.partition(", ")
        points.append((kind, method, float(figure.value), row.ours))
    alone = not points
    if alone:
        points = [
            ("ours", row.quantity, place + 1.0, row.ours) for place, row in enumerate(rows) if np.isfinite(row.ours)
        ]
    data = pd.DataFrame(points, columns=["panel", "name", "x", "y"])
    data[["low", "high"]] = np.nan
    values = data[["y"] if alone else ["x", "y"]].to_numpy()
    spreads = [
        part[["x", "y"]].to_numpy().max() / part[["x", "y"]].to_numpy().min()
        for _, part in data.groupby("panel")
        if (values > 0).all()
    ]
    wide = bool(spreads) and max(spreads) > WIDE
    return Curves(
        data,
        f"{name}: ours against the paper's",
        "row of the table" if alone else "the paper's figure",
        "our figure",
        "Our figures, none of which the paper prints."
        if alone
        else "Our figures against the paper's, a point a row of "
        "its table and a marker a method; on the line both are equal.",
        log_x=wide and not alone,
        log_y=wide,
        kind="points",
        diagonal=not alone,
    )
