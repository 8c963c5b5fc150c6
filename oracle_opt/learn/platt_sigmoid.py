"""Probabilities from decision values: Platt's sigmoid, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from oracle_opt.arrays import Vector

# The gradient at the end, over the sum of the weights; and what keeps equal decision values from a singular system.
TOLERANCE, RIDGE = 1e-12, 1e-14
MOST_STEPS, ARMIJO = 200, 1e-4


@dataclass(frozen=True)
class PlattSigmoid:
    """``1 / (1 + exp(-(slope * f + offset)))``, the probability of the positive class at a decision value f.

    Platt (1999), "Probabilistic outputs for support vector machines"; Lin, Lin, Weng (2007), "A note on Platt's
    probabilistic outputs for support vector machines", for Newton's method with a line search.
    """

    slope: float
    offset: float

    def __call__(self, decisions: Vector) -> Vector:
        """Probabilities of the positive class, ndarray of shape (m,)."""
        found: Vector = expit(self.slope * decisions + self.offset)
        return found

    @classmethod
    def of(cls, decisions: Vector, positive: NDArray[np.bool_], weights: Vector) -> PlattSigmoid:
        """Fit the sigmoid to decision values of points that did not train them, by weighted likelihood.

        Targets are ``(N + 1) / (N + 2)`` and ``1 / (N + 2)``, N the weights of the class: without them the slope of
        separated classes would be infinite.
        """
        n_positive, n_all = float(weights[positive].sum()), float(weights.sum())
        targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_all - n_positive + 2))
        constant = float(logit(weights @ targets / n_all))
        scale = float(np.abs(decisions).max())
        if scale == 0.0:
            return cls(0.0, constant)
        f, w = decisions / scale, weights / n_all

        def loss(parameters: Vector) -> float:
            z = parameters[0] * f + parameters[1]
            return float(w @ (np.logaddexp(0.0, z) - targets * z))

        at = np.array([0.0, constant])
        value = loss(at)
        for _ in range(MOST_STEPS):
            p = expit(at[0] * f + at[1])
            rest, spread = w * (p - targets), w * p * (1 - p)
            gradient = np.array([rest @ f, rest.sum()])
            if np.abs(gradient).max() <= TOLERANCE:
                break
            mixed = spread @ f
            hessian = np.array([[spread @ (f * f) + RIDGE, mixed], [mixed, spread.sum() + RIDGE]])
            step = -np.linalg.solve(hessian, gradient)
            length, slope = 1.0, float(gradient @ step)
            while (new := loss(at + length * step)) > value + ARMIJO * length * slope and length > 1e-10:
                length *= 0.5
            if length <= 1e-10:
                break  # no step decreases the loss by more than rounding
            at, value = at + length * step, new
        if at[0] <= 0.0:  # of a convex function the least value over slopes of at least 0 is then at 0
            return cls(0.0, constant)
        return cls(float(at[0]) / scale, float(at[1]))
