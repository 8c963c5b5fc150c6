"""Curves in panels as data: what the plotter draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Panels:
    """The data of `Curves` without its drawing; the attributes are described there."""

    data: pd.DataFrame
    title: str
    x: str
    y: str
    caption: str
    log_x: bool = False
    log_y: bool = False
    kind: str = "line"
    threshold: float | None = None
    order: tuple[str, ...] = ()
    diagonal: bool = False
    y_limits: tuple[float, float] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the curves: first those of `order`, then others."""
        present = list(dict.fromkeys(self.data["name"]))
        return (*(name for name in self.order if name in present), *(n for n in present if n not in self.order))

    @property
    def panels(self) -> tuple[str, ...]:
        """Names of the panels, in the order of the data."""
        return tuple(dict.fromkeys(self.data["panel"]))

    def place(self, name: str) -> int:
        """Place of the curve called `name` in the order, by which it looks."""
        return list(dict.fromkeys((*self.order, *self.data["name"]))).index(name)
