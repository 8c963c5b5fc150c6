"""Probabilities of several classes from their decision values: a softmax with one slope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from oracle_opt.arrays import Matrix, Vector

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
