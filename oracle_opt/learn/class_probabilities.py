"""Probabilities of classes from decision values of machines that did not see the points."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.learn.class_softmax import ClassSoftmax
from oracle_opt.learn.platt_sigmoid import PlattSigmoid

N_FOLDS = 5
Numbers = NDArray[np.intp]
Calibration = PlattSigmoid | ClassSoftmax


def calibrated(
    make: Callable[[], Any], rows: Any, numbers: Numbers, labels: NDArray[Any], weights: Vector, seed: int
) -> Calibration:
    """Fit probabilities to decision values of cross-validation with five folds, equal rows being in one fold."""
    n_classes = int(numbers.max()) + 1
    shape = (numbers.size,) if n_classes == 2 else (numbers.size, n_classes)
    values, seen = np.zeros(shape), np.zeros(numbers.size, dtype=bool)
    for train, test in folds(numbers, seed):
        machine = make().fit(_safe_indexing(rows, train), labels[train], sample_weight=weights[train])
        values[test] = machine.decision_function(_safe_indexing(rows, test))
        seen[test] = True
    if not seen.any():  # no class has two points that differ
        values, seen = make().fit(rows, labels, sample_weight=weights).decision_function(rows), ~seen
    if n_classes == 2:
        return PlattSigmoid.of(values[seen], numbers[seen] == 1, weights[seen])
    return ClassSoftmax.of(values[seen], numbers[seen], weights[seen])


def folds(numbers: Numbers, seed: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield training and test points of each fold; points that are alone in their class train only."""
    rng = np.random.default_rng(seed)
    fold, first = np.full(numbers.size, -1), 0
    for c in range(int(numbers.max()) + 1):
        of_class = rng.permutation(np.flatnonzero(numbers == c))
        if of_class.size > 1:
            fold[of_class] = (first + np.arange(of_class.size)) % N_FOLDS
            first += of_class.size
    for k in range(N_FOLDS):
        if (fold == k).any():
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def probabilities(calibration: Calibration, decisions: NDArray[np.float64]) -> Matrix:
    """Probabilities of the classes, ndarray of shape (m, number of classes), rows of sum 1."""
    if isinstance(calibration, ClassSoftmax):
        return calibration(decisions)
    second = calibration(decisions)
    return np.stack([1.0 - second, second], axis=1)
