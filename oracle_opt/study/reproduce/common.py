"""What several experiments share: the sets, splits, folds, banks of RBF kernels, and a run with its seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.datasets import Dataset, load
from oracle_opt.driver import minimize
from oracle_opt.errors import DataUnavailable
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.oracle import Oracle
from oracle_opt.oracles import GramBank, RBFBank
from oracle_opt.result import Result
from oracle_opt.study.reproduce.repetitions import Options

QUICK_POINTS, QUICK_FEATURES = 120, 4
QUICK = (
    f"--quick: {QUICK_POINTS} points and {QUICK_FEATURES} features of wdbc alone, whose figures say nothing about the "
    "paper's"
)
HARDWARE = (
    "seconds are processor seconds of one thread on the machine at hand, the paper's are its authors' (2009 to 2014): "
    "ratios within a column compare, columns do not"
)


def sets_of(names: Mapping[str, str], options: Options) -> tuple[list[tuple[str, Dataset]], list[str]]:
    """Load the sets of an experiment.

    Parameters
    ----------
    names : mapping
        What the paper calls them, to what `load` does.
    options : Options
        A quick run takes a part of wdbc in place of all.

    Returns
    -------
    sets : list of (str, Dataset)
        Those at hand.
    notes : list of str
        Which were left out, and why.
    """
    if options.quick:
        whole = load("wdbc")
        X = np.asarray(whole.X)[:QUICK_POINTS, :QUICK_FEATURES]
        part = Dataset("wdbc", X, whole.y[:QUICK_POINTS], whole.feature_names[:QUICK_FEATURES], QUICK, whole.source)
        return [("wdbc", part)], [QUICK]
    found, notes = [], []
    for label, name in names.items():
        try:
            found.append((label, load(name)))
        except DataUnavailable as problem:
            notes.append(f"{label} was left out: {str(problem).splitlines()[0]}")
            options.say(notes[-1])
    if not found:
        raise DataUnavailable(
            f"none of the sets {', '.join(names.values())} is here: set ORACLE_OPT_DATA to their folder"
        )
    return found, notes


def folds(y: Vector, count: int, seed: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield training and test rows of the first `count` of five shuffled stratified folds."""
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(5, shuffle=True, random_state=seed)
    for _, (train, test) in zip(range(count), splitter.split(y[:, None], y), strict=False):
        yield train, test


def standardized(X: Matrix, *others: Matrix) -> list[Matrix]:
    """Drop the constant columns of X and scale the rest to mean 0 and deviation 1; the others by the same numbers."""
    kept = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    center, spread = X[:, kept].mean(axis=0), X[:, kept].std(axis=0)
    return [(Z[:, kept] - center) / spread for Z in (X, *others)]


def rbf_bank(Z: Matrix, n_kernels: int) -> GramBank:
    """Make RBF kernels of unit trace in memory: on all features, then on each alone, evenly many."""
    points = np.arange(len(Z))
    kernels = RBFBank.from_quantiles(Z, n_kernels).entries(points, points)
    return GramBank(kernels.transpose(2, 0, 1), check=False)


def timed_run(oracle: Oracle, generator: QueryPointGenerator, **limits: Any) -> tuple[Result, float]:
    """Minimize; give the result and the processor seconds of this thread."""
    oracle.reset()
    began = thread_time()
    result = minimize(oracle, generator, **limits)
    if result.status.name == "INTERRUPTED":
        raise KeyboardInterrupt
    return result, thread_time() - began


def growth(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Exponent of the power law through the points, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
