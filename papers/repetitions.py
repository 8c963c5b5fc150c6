"""What goes into an experiment and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.errors import InvalidArgument

if TYPE_CHECKING:
    from oracle_opt.study.analyses import Curves


NOT_RUN = "not run"
NOT_AT_HAND = "data not at hand"


@dataclass(frozen=True)
class Options:
    """How an experiment is run.

    Parameters
    ----------
    folder : Path
        Where figures and kept runs go.
    quick : bool
        A small generated part of one set: seconds, to see that it runs.
    splits : int, optional
        Random splits, or folds; default: those of the experiment.
    seed : int
        Seed of the random splits.
    jobs : int
        Processes; -1 stands for one per core.
    say : callable
        Takes a line about what goes on.
    progress : bool
        Show a bar over the runs on the terminal.

    Raises
    ------
    InvalidArgument
        A value cannot be used.
    """

    folder: Path
    quick: bool = False
    splits: int | None = None
    seed: int = 0
    jobs: int = 1
    say: Callable[[str], object] = lambda line: None
    progress: bool = False

    def __post_init__(self) -> None:
        if self.splits is not None and self.splits < 1:
            raise InvalidArgument(f"`splits` must be at least 1, got {self.splits!r}")
        if self.seed < 0:
            raise InvalidArgument(f"`seed` must be at least 0, got {self.seed!r}")
        if self.jobs < 1 and self.jobs != -1:
            raise InvalidArgument(f"`jobs` must be at least 1, or -1 for one per core, got {self.jobs!r}")

    def repeats(self, default: int) -> int:
        """Number of splits: what was asked for; 1 for a quick run; else the default."""
        return self.splits if self.splits is not None else 1 if self.quick else default


@dataclass(frozen=True)
class Row:
    """One figure of ours.

    Attributes
    ----------
    set, quantity : str
        As in the file of the papers' figures, where the paper has the same.
    ours, deviation : float
        Mean and standard deviation over the splits that reached the end; NaN if none did.
    reached, runs : int
        How many splits did, and all. No runs: the paper has this figure and we did not run it.
    words : str
        Why not, if there were no runs.
    """

    set: str
    quantity: str
    ours: float
    deviation: float
    reached: int
    runs: int
    words: str = NOT_RUN


@dataclass(frozen=True)
class Reproduced:
    """What an experiment gives back.

    Attributes
    ----------
    rows : tuple of Row
        At least one.
    notes : tuple of str
        What was cut, what differs from the paper and why.
    figure : Curves, optional
        The experiment's own figure. Default: ours against the paper's.
    caption : str
        What each column is, and the limits of a run: whole sentences, which stand above the tables.
    findings : tuple of str
        Whole sentences that quote our figures, made of the rows.
    absent : tuple of str
        Labels of the sets that are not at hand. What the paper prints of them gets a row that says so: the figures of a
        set that is called so, or so with a space or a comma behind it.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    figure: Curves | None = None
    caption: str = ""
    findings: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass
class Tally:
    """Collects the figures of the splits."""

    values: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, name: str, quantity: str, value: float) -> None:
        """Count a split; NaN or infinity for one that did not reach the end."""
        self.values.setdefault((name, quantity), []).append(value)

    def mean(self, name: str, quantity: str) -> float:
        """Mean over the splits that reached the end."""
        return self._row(name, quantity).ours

    def rows(self) -> tuple[Row, ...]:
        """Mean and deviation of everything, in the order first met."""
        return tuple(self._row(*key) for key in self.values)

    def _row(self, name: str, quantity: str) -> Row:
        values = self.values[name, quantity]
        good = [value for value in values if np.isfinite(value)]
        mean, deviation = (float(np.mean(good)), float(np.std(good))) if good else (np.nan, np.nan)
        return Row(name, quantity, mean, deviation, len(good), len(values))
