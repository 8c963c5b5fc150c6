"""Figures and tables as plain data for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.study.analyses.curves import Curves
from oracle_opt.study.analyses.table import Table
from oracle_opt.words import shown

if TYPE_CHECKING:
    import pandas as pd

MOST = 500  # points of a curve, and rows of a table


def extra_data(extra: Mapping[str, Curves | Table]) -> list[dict[str, Any]]:
    """Make data of what a user adds to a report."""
    if not isinstance(extra, Mapping):
        raise InvalidArgument(f"`extra` must be a mapping of headings to figures and tables, got {shown(extra)}")
    found = []
    for heading, thing in extra.items():
        if isinstance(thing, Curves):
            data = curves_data(thing)
        elif isinstance(thing, Table):
            data = table_data(thing)
        else:
            raise InvalidArgument(
                f"`extra` must hold what analyses of results return, got {shown(thing)} as {shown(heading)}"
            )
        found.append(data | {"heading": str(heading)})
    return found


def curves_data(curves: Curves, most: int = MOST) -> dict[str, Any]:
    """Make data of a figure; of a curve with more than `most` points that many, evenly spread, are kept."""
    panels, thinned = [], False
    for panel in curves.panels:
        rows = curves.data[curves.data["panel"] == panel]
        series = []
        for name in (name for name in curves.names if (rows["name"] == name).any()):
            own = rows[rows["name"] == name]
            if len(own) > most:
                own, thinned = own.iloc[np.unique(np.linspace(0, len(own) - 1, most).astype(int))], True
            one: dict[str, Any] = {"name": str(name)} | {axis: _rounded(own[axis]) for axis in ("x", "y")}
            if own["low"].notna().any():
                one |= {axis: _rounded(own[axis]) for axis in ("low", "high")}
            series.append(one)
        panels.append({"title": str(panel), "series": series})
    more = f" Of curves with more than {most} points only {most} are drawn." if thinned else ""
    return {
        "type": "curves",
        "title": curves.title,
        "caption": curves.caption + more,
        "x": curves.x,
        "y": curves.y,
        "log_x": curves.log_x,
        "log_y": curves.log_y,
        "kind": curves.kind,
        "threshold": curves.threshold,
        "diagonal": curves.diagonal,
        "range": None if curves.y_limits is None else list(curves.y_limits),
        "order": list(curves.order),
        "panels": panels,
    }


def table_data(table: Table) -> dict[str, Any]:
    """Make data of a table; of more than 500 rows the first are kept."""
    frame = table.data.iloc[:MOST]
    more = f" Of {len(table.data)} rows the first {MOST} are shown." if len(table.data) > MOST else ""
    columns = []
    for name in frame.columns:
        number = frame[name].dtype.kind in "fiu"
        values = _rounded(frame[name]) if number else [str(value) for value in frame[name]]
        columns.append({"title": str(name), "number": number, "values": values, "compared": name in table.compared})
    return {
        "type": "table",
        "title": table.title,
        "caption": table.caption + more,
        "largest": table.largest_is_best,
        "columns": columns,
    }


def _rounded(column: pd.Series) -> list[float]:
    return [float(f"{value:.5g}") for value in column.to_numpy(dtype=float, na_value=np.nan)]
