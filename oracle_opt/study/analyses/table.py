"""What an analysis gives back: the data of a table first, then their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle_opt.words import one_line

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Table:
    """A table as data.

    Attributes
    ----------
    data : DataFrame
        As it is to be shown: numbers as numbers, the row names its first columns.
    title : str
        What it is.
    caption : str
        Says in whole sentences what the columns are and of how many runs.
    """

    __repr__ = one_line

    data: pd.DataFrame
    title: str
    caption: str
