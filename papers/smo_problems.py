"""Problems of the experiments on what SMO-MKL does besides: divergence, regression, novelty detection."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.datasets import Dataset
from oracle_opt.optional import require
from oracle_opt.oracles import (
    EntropyRegularizer,
    GMKLOracle,
    GramBank,
    KernelBank,
    LpRegularizer,
    Regularizer,
    simplemkl_bank,
)
from oracle_opt.oracles.mkl.solve_mkl import STEPS_A_POINT, SVM_ACCURACY
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, Loss, OneClass
from oracle_opt.problems import Instance
from oracle_opt.problems.instance import Measure, share_of_memory
from oracle_opt.problems.mkl import n_kernels, share_right
from papers.sets import FOLDS, fold

C, EPSILON, NU = 100.0, 0.1, 0.1
# What a column is called: the regularizer and its number, "KL 0.1" or "p = 2", or this.
EQUAL = "equal weights"
POLYNOMIALS = "with polynomials "  # before it: on all kernels, in novelty detection
OF_FAMILY, RBF_OF_FAMILY = 13, 10  # kernels of `simplemkl_bank` on the same features, and the RBF among them, first


def _problem(bank: KernelBank, y: Vector | None, regularizer: Regularizer, loss: Loss) -> GMKLOracle:
    """Make the problem of `solve_mkl`, with its limits of one support vector machine."""
    steps = STEPS_A_POINT * bank.n_points
    return GMKLOracle(bank, y, regularizer, loss=loss, accuracy=SVM_ACCURACY, max_steps=steps)


def _regularized(bank: KernelBank, new: Any, column: str) -> tuple[KernelBank, Any, Regularizer]:
    """The kernels of a column, new points as their `cross` takes them, and the regularizer.

    Equal weights c / M of M kernels are one kernel, the mean, of weight c; half the squared 2-norm of all is then
    c**2 / (2 M).
    """
    p = bank.n_kernels
    if column == EQUAL:
        equal = np.full(p, 1.0 / p)
        return GramBank([bank.combine(equal)], check=False), bank.cross(new, equal)[None], LpRegularizer(2.0, 1.0 / p)
    kind, _, number = column.rpartition(" ")
    if kind == "KL":
        return bank, new, EntropyRegularizer(float(number), 1.0 / p)
    return bank, new, LpRegularizer(float(number))


def of_kl(dataset: Dataset, column: str, split_seed: int, number: int) -> Instance:
    """Classification, the 13 (d + 1) kernels of a fold."""
    X, y = dataset.dense(), dataset.y
    train, test = fold(y, number, split_seed)
    bank, new, regularizer = _regularized(simplemkl_bank(X[train], memory_limit=share_of_memory()), X[test], column)
    oracle = _problem(bank, y[train], regularizer, Hinge(C))
    measures: dict[str, Measure] = {
        "accuracy": partial(share_right, oracle, new, y[test]),
        "steps": _steps,
        "n_kernels": n_kernels,
    }
    return Instance(oracle, measures=measures)


def _steps(cut: ObjectiveCut) -> float:
    """Two-variable steps so far."""
    return float(cut.extras["n_steps"])


def of_regression(dataset: Dataset, column: str, weight: float, split_seed: int, number: int) -> Instance:
    """Regression, the 13 (d + 1) kernels of a fold; targets in standard deviations of those of the training points."""
    KFold = require("sklearn.model_selection", "learn", "the folds of an experiment").KFold
    X, y = dataset.dense(), dataset.y
    train, test = list(KFold(FOLDS, shuffle=True, random_state=split_seed).split(X))[number]
    targets = (y - y[train].mean()) / y[train].std()
    bank, new, regularizer = _regularized(simplemkl_bank(X[train], memory_limit=share_of_memory()), X[test], column)
    oracle = _problem(bank, targets[train], regularizer, EpsilonInsensitive(weight, EPSILON))
    measures: dict[str, Measure] = {
        "squared": partial(_squared, oracle, new, targets[test]),
        "absolute": partial(_absolute, oracle, new, targets[test]),
        "n_kernels": n_kernels,
    }
    return Instance(oracle, measures=measures)


def _squared(oracle: GMKLOracle, new: Any, targets: Vector, cut: ObjectiveCut) -> float:
    """Mean squared error over the variance of the targets."""
    return float(((oracle.decision_function(cut, new) - targets) ** 2).mean() / targets.var())


def _absolute(oracle: GMKLOracle, new: Any, targets: Vector, cut: ObjectiveCut) -> float:
    return float(np.abs(oracle.decision_function(cut, new) - targets).mean())


def of_novelty(dataset: Dataset, column: str, split_seed: int, number: int) -> Instance:
    """One class, the 10 (d + 1) RBF kernels of the points of label 1 of a fold; all others are novelties."""
    X, y = dataset.dense(), dataset.y
    train, test = fold(y, number, split_seed)
    known, held_out = X[train[y[train] > 0]], X[test[y[test] > 0]]
    every = simplemkl_bank(known, memory_limit=share_of_memory())
    rbf = every.subset(np.flatnonzero(np.arange(every.n_kernels) % OF_FAMILY < RBF_OF_FAMILY))
    new = np.vstack([held_out, X[y < 0]])
    chosen = every if column.startswith(POLYNOMIALS) else rbf
    bank, points, regularizer = _regularized(chosen, new, column.removeprefix(POLYNOMIALS))
    oracle = _problem(bank, None, regularizer, OneClass(NU))
    measures: dict[str, Measure] = {
        "found": partial(_negative, oracle, points, slice(len(held_out), None)),
        "alarms": partial(_negative, oracle, points, slice(len(held_out))),
        "area": partial(_area, oracle, points, len(held_out)),
        "n_kernels": n_kernels,
    }
    return Instance(oracle, measures=measures)


def _negative(oracle: GMKLOracle, new: Any, which: slice, cut: ObjectiveCut) -> float:
    """Share of some of the new points that are taken for novelties."""
    return float((oracle.decision_function(cut, new)[which] < 0).mean())


def _area(oracle: GMKLOracle, new: Any, n_known: int, cut: ObjectiveCut) -> float:
    """Area under the curve of receiver operating characteristics, known points being the first."""
    metrics = require("sklearn.metrics", "learn", "the area under a curve")
    values = oracle.decision_function(cut, new)
    return float(metrics.roc_auc_score(np.arange(values.size) < n_known, values))
