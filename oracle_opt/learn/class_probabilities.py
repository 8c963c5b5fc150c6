"""Probabilities of classes from decision values of machines that did not see the points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.utils import _safe_indexing

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.learn.platt_sigmoid import PlattSigmoid

# Derivative of the loss at the end, over the spread of the decision values; halvings and doublings of the slope.
TOLERANCE, MOST_STEPS = 1e-12, 200
STEP = 2.0**-40


@dataclass(frozen=True)
class ClassSoftmax:
    """``exp(slope * f_c) / sum over classes of exp(slope * f)``: the class of the largest value is the most probable.

    Guo, Pleiss, Sun, Weinberger (2017), "On calibration of modern neural networks", section 4.2, with temperature
    1/slope.
    """

    slope: float

    def __call__(self, decisions: Matrix) -> Matrix:
        """Probabilities, a column a class, of logarithms rounded to `STEP`, far below what calibration can tell.

        Values that differ by rounding alone are equally probable, and logarithms order the classes alike.
        """
        found: Matrix = np.exp(np.round(log_softmax(self.slope * decisions, axis=1) / STEP) * STEP)
        return found

    @classmethod
    def of(cls, decisions: Matrix, numbers: NDArray[np.intp], weights: Vector) -> ClassSoftmax:
        """Fit the slope to decision values of points that did not train them, by weighted likelihood.

        Targets are smoothed as Platt's: ``(N + 1) / (N + K)`` for the class, ``1 / (N + K)`` for the others.
        """
        n_classes, n_all = decisions.shape[1], float(weights.sum())
        of_class = np.bincount(numbers, weights, n_classes)[numbers]
        targets = np.repeat((1 / (of_class + n_classes))[:, None], n_classes, axis=1)
        targets[np.arange(numbers.size), numbers] *= of_class + 1
        f, w = decisions - decisions.mean(axis=1, keepdims=True), weights / n_all
        scale = float(np.abs(f).max())
        if scale == 0.0:
            return cls(0.0)
        f = f / scale
        wanted = float(w @ (targets * f).sum(axis=1))

        def derivative(slope: float) -> float:
            """Of the convex loss in the slope; it increases."""
            return float(w @ (softmax(slope * f, axis=1) * f).sum(axis=1)) - wanted

        if derivative(0.0) >= 0.0:
            return cls(0.0)
        low, high = 0.0, 1.0
        for _ in range(MOST_STEPS):
            if derivative(high) >= 0.0:
                break
            low, high = high, 2.0 * high
        for _ in range(MOST_STEPS):
            middle = 0.5 * (low + high)
            at = derivative(middle)
            if abs(at) <= TOLERANCE or high - low <= TOLERANCE * high:
                break
            low, high = (low, middle) if at > 0 else (middle, high)
        return cls(middle / scale)


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
