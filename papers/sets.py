"""What several experiments share: the sets, folds, and banks of RBF kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.datasets import Dataset, load
from oracle_opt.errors import DataUnavailable
from oracle_opt.optional import require
from oracle_opt.oracles import GramBank, RBFBank
from oracle_opt.oracles.kernels.points import Standardization
from papers.repetitions import Options

Read = TypeVar("Read")

FOLDS = 5
QUICK_POINTS, QUICK_FEATURES = 120, 4
QUICK = (
    f"--quick: {QUICK_POINTS} points and {QUICK_FEATURES} features of wdbc alone, whose figures say nothing about the "
    "paper's"
)
HARDWARE = (
    "seconds are the processor's for the run, oracle, generator and bounds, with one thread, on the machine at hand; "
    "the paper's are its authors' (2009 to 2014): ratios within a column compare, columns do not"
)


@dataclass(frozen=True)
class Sets:
    """The sets of an experiment.

    Attributes
    ----------
    found : list of (str, Dataset)
        What the paper calls them, and those at hand.
    notes : list of str
        Which were left out, and why; of each call its own.
    absent : tuple of str
        What the paper calls those.
    """

    found: list[tuple[str, Dataset]]
    notes: list[str]
    absent: tuple[str, ...] = ()


def sets_of(names: Mapping[str, str], options: Options) -> Sets:
    """Load the sets of an experiment.

    Parameters
    ----------
    names : mapping
        What the paper calls them, to what `load` does.
    options : Options
        A quick run takes a part of wdbc in place of all.

    Returns
    -------
    Sets
        Those at hand, and which are not.

    Raises
    ------
    DataUnavailable
        None is at hand.
    """
    if options.quick:
        whole = load("wdbc")
        X = np.asarray(whole.X)[:QUICK_POINTS, :QUICK_FEATURES]
        part = Dataset("wdbc", X, whole.y[:QUICK_POINTS], whole.feature_names[:QUICK_FEATURES], QUICK, whole.source)
        return Sets([("wdbc", part)], [QUICK])
    return Sets(*read_each(names, load, options))


def read_each(
    names: Mapping[str, str], read: Callable[[str], Read], options: Options
) -> tuple[list[tuple[str, Read]], list[str], tuple[str, ...]]:
    """Read what is at hand of some sets: labels with what was read, why others were not, and their labels.

    Raises
    ------
    DataUnavailable
        None is at hand.
    """
    found, notes, absent = [], [], []
    for label, name in names.items():
        try:
            found.append((label, read(name)))
        except DataUnavailable as problem:
            notes.append(f"{label} was left out: {str(problem).splitlines()[0]}")
            absent.append(label)
            options.say(notes[-1])
    if not found:
        raise DataUnavailable(
            f"none of the sets {', '.join(names.values())} is here: set ORACLE_OPT_DATA to their folder"
        )
    return found, notes, tuple(absent)


def fold(y: Vector, number: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and test rows of one of five shuffled stratified folds, 0 to 4."""
    StratifiedKFold = require("sklearn.model_selection", "learn", "the folds of an experiment").StratifiedKFold
    train, test = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y[:, None], y))[number]
    return train, test


def standardized(X: Matrix, *others: Matrix) -> list[Matrix]:
    """Drop the constant columns of X and scale the rest to mean 0 and deviation 1; the others by the same numbers."""
    learned, Z = Standardization.of(X)
    return [Z, *map(learned, others)]


def rbf_bank(Z: Matrix, n_kernels: int) -> GramBank:
    """Make RBF kernels of unit trace in memory: on all features, then on each alone, evenly many."""
    points = np.arange(len(Z))
    kernels = RBFBank.from_quantiles(Z, n_kernels).entries(points, points)
    return GramBank(kernels.transpose(2, 0, 1), check=False)
