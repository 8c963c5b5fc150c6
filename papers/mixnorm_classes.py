"""Nath et al. (2009): classes told apart one against one by a sum of kernels, learned under three norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import process_time

import numpy as np
from numpy.typing import NDArray

from oracle_opt import minimize
from oracle_opt.arrays import Vector
from oracle_opt.datasets import KernelData
from oracle_opt.errors import InvalidData
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import FixedPoint, LevelSet, MirrorDescent, ReducedGradient
from oracle_opt.history import Record
from oracle_opt.optional import require
from oracle_opt.oracles import GramBank, MixedNormOracle, MKLOracle
from oracle_opt.problems.mkl import VANISHING_WEIGHT

CONSTANTS = (1.0, 10.0, 100.0)
FOLDS = 2
RTOL, TIGHT = 1e-2, 1e-4
MAX_CALLS = 5000

Groups = Sequence[Sequence[int]]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class NormMethod:
    """A column of the tables.

    Attributes
    ----------
    norm : str
        The formulation, for which C is chosen: a key of `CHOOSERS`.
    oracle : callable
        Makes the oracle of kernels, labels, C and groups.
    generator : QueryPointGenerator
    rtol : float
        Proven relative gap at which a run ends.
    """

    norm: str
    oracle: Callable[[GramBank, Vector, float, Groups], MixedNormOracle | MKLOracle]
    generator: QueryPointGenerator
    rtol: float


def _mixed(bank: GramBank, y: Vector, C: float, groups: Groups) -> MixedNormOracle:
    return MixedNormOracle(bank, y, C, groups=groups)


def _alternating(bank: GramBank, y: Vector, C: float, groups: Groups) -> MixedNormOracle:
    """One SVM a call: steps in the weights of kernels and of groups alternate, Algorithm 1."""
    return MixedNormOracle(bank, y, C, groups=groups, max_solves=1)


def _one_group(bank: GramBank, y: Vector, C: float, groups: Groups) -> MKLOracle:
    return MKLOracle(bank, y, C=C)


def _total(bank: GramBank, y: Vector, C: float, groups: Groups) -> MKLOracle:
    """The SVM on the sum of the kernels: on their mean, with C times their number."""
    return MKLOracle(bank, y, C=C * bank.n_kernels)


CHOOSERS: dict[str, NormMethod] = {
    "MixNorm-MKL": NormMethod("MixNorm-MKL", _mixed, LevelSet(), RTOL),
    "L1-MKL": NormMethod("L1-MKL", _one_group, LevelSet(), RTOL),
    "L2-MKL": NormMethod("L2-MKL", _total, FixedPoint(), RTOL),
}
METHODS: dict[str, NormMethod] = {
    "MixNorm-MKL": NormMethod("MixNorm-MKL", _alternating, MirrorDescent(), RTOL),
    "L1-MKL": NormMethod("L1-MKL", _one_group, ReducedGradient(), RTOL),
    "L2-MKL": CHOOSERS["L2-MKL"],
    "MixNorm-MKL by LevelSet": NormMethod("MixNorm-MKL", _mixed, LevelSet(), TIGHT),
    "L1-MKL by LevelSet": NormMethod("L1-MKL", _one_group, LevelSet(), TIGHT),
}


@dataclass(frozen=True)
class Pair:
    """The machine of a pair of classes.

    Attributes
    ----------
    decisions : ndarray of shape (m,)
        Of the test points; positive for the first class.
    zero : float
        Share of the kernels whose weight is below 1e-3 of the largest.
    groups : int
        Groups of which another kernel is left.
    n_svms : int
        SVMs that were solved.
    converged : bool
        Whether the gap was reached.
    """

    decisions: Vector
    zero: float
    groups: int
    n_svms: int
    converged: bool


def solve_pair(data: KernelData, train: Rows, y: Vector, test: Rows, method: NormMethod, C: float) -> Pair:
    """Learn the weights for two classes, with kernels of unit trace on their training points.

    Parameters
    ----------
    data : KernelData
    train, test : ndarray of int
        Points.
    y : ndarray
        Labels of the training points, -1 and 1.
    method : NormMethod
    C : float

    Returns
    -------
    Pair
    """
    kernels = data.kernels[:, train[:, None], train]
    scales = 1.0 / np.trace(kernels, axis1=1, axis2=2)
    oracle = method.oracle(GramBank(kernels * scales[:, None, None], check=False), y, C, data.groups)
    svms = []

    def count(record: Record) -> None:
        svms.append(record.cut.extras.get("n_solves", 1))

    run = minimize(oracle, method.generator, rtol=method.rtol, max_calls=MAX_CALLS, callback=count)
    if run.cut is None:
        raise InvalidData(f"no weights were found: {run.message}")
    weights = run.cut.extras["kernel_weights"] if isinstance(oracle, MixedNormOracle) else run.cut.point
    used = weights >= VANISHING_WEIGHT * weights.max()
    shares = np.where(weights > 0, weights * scales, 0.0)
    cross = np.tensordot(shares, data.kernels[:, test[:, None], train], 1)
    return Pair(
        decisions=cross @ run.cut.extras["signed_dual"] + run.cut.extras["bias"],
        zero=1.0 - float(used.mean()),
        groups=sum(bool(used[list(group)].any()) for group in data.groups),
        n_svms=sum(svms),
        converged=run.relative_gap <= method.rtol or method.norm == "L2-MKL",
    )


@dataclass(frozen=True)
class Votes:
    """All pairs of classes on one split: class by class the accuracy, and means over the pairs.

    Attributes
    ----------
    C : float
    accuracies : list of float
        Share of the test points of each class that were told right.
    zero, groups, few, n_svms, converged, seconds : float
        Of the pairs: mean share of zero weights, mean number of groups, share with at most two groups, mean number of
        SVMs, share that reached the gap; seconds of the processor for all.
    """

    C: float
    accuracies: list[float]
    zero: float
    groups: float
    few: float
    n_svms: float
    converged: float
    seconds: float


def one_against_one(data: KernelData, train: Rows, test: Rows, method: NormMethod, C: float) -> Votes:
    """Tell the classes of test points by the votes of the machines of all pairs; of equals the first.

    Parameters
    ----------
    data : KernelData
    train, test : ndarray of int
        Points; every class has some in both.
    method : NormMethod
    C : float

    Returns
    -------
    Votes
    """
    classes = np.array(data.classes)
    votes = np.zeros((len(test), len(classes)), dtype=int)
    begin, pairs = process_time(), []
    for first, second in combinations(range(len(classes)), 2):
        rows = train[np.isin(data.y[train], classes[[first, second]])]
        y = np.where(data.y[rows] == classes[first], 1.0, -1.0)
        pair = solve_pair(data, rows, y, test, method, C)
        votes[:, first] += pair.decisions >= 0
        votes[:, second] += pair.decisions < 0
        pairs.append(pair)
    right = classes[votes.argmax(axis=1)] == data.y[test]
    return Votes(
        C=C,
        accuracies=[float(right[data.y[test] == name].mean()) for name in classes],
        zero=float(np.mean([pair.zero for pair in pairs])),
        groups=float(np.mean([pair.groups for pair in pairs])),
        few=float(np.mean([pair.groups <= 2 for pair in pairs])),
        n_svms=float(np.mean([pair.n_svms for pair in pairs])),
        converged=float(np.mean([pair.converged for pair in pairs])),
        seconds=process_time() - begin,
    )


def draw(data: KernelData, n_train: int, n_test: int | None, seed: int) -> tuple[Rows, Rows]:
    """Draw as many training points of every class, and as many test points, or all others.

    Raises
    ------
    InvalidData
        A class has too few points.
    """
    rng = np.random.default_rng(seed)
    train, test = [], []
    for name in data.classes:
        rows = rng.permutation(np.flatnonzero(data.y == name))
        last = len(rows) if n_test is None else n_train + n_test
        if not n_train < last <= len(rows):
            raise InvalidData(
                f"class {name} of {data.name!r} has {len(rows)} points, too few for {n_train} that train and "
                f"{1 if n_test is None else n_test} to test"
            )
        train.append(rows[:n_train])
        test.append(rows[n_train:last])
    return np.concatenate(train), np.concatenate(test)


def chosen(data: KernelData, train: Rows, norm: str, seed: int) -> float:
    """C by cross-validation on the training points, as `CHOOSERS` solves the pairs; the smallest of equals."""
    StratifiedKFold = require("sklearn.model_selection", "learn", "the folds of an experiment").StratifiedKFold
    parts = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(train, data.y[train]))

    def right(C: float) -> float:
        outcomes = (one_against_one(data, train[fit], train[held], CHOOSERS[norm], C) for fit, held in parts)
        return round(float(np.mean([np.mean(outcome.accuracies) for outcome in outcomes])), 9)

    return CONSTANTS[int(np.argmax([right(C) for C in CONSTANTS]))]
