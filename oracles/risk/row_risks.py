"""Risks: the mean of the losses of one row each, and what slopes by the scores prove of it."""

# ruff: noqa: D102 - each method of a loss is documented once, in `RowRisk`

from abc import ABC, abstractmethod
from functools import reduce
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted
from oracle_opt.proof.claim import Bound
from oracle_opt.proof.exact_sums import exact, rounded_up
from oracle_opt.proof.number import Numbers


class ScoreTangent(NamedTuple):
    """``(constant + (weights * scores).sum()) / total`` lies below the risk, whatever the scores."""

    constant: Numbers
    weights: Numbers
    total: Numbers


class RowRisk(ABC):
    """The weighted mean of a loss of each row, at least 0: the witness holds the slopes of the losses by the scores."""

    labels = 0  # how many classes y has: 0 for real targets, 2, or 3 for two and more
    takes: tuple[str, ...] = ()  # its parameters
    polyhedral = False

    def __init__(self, y: NDArray[Any], sample_weight: Vector, **parameters: float) -> None:
        self.y, self.sample_weight, self.parameters = y, sample_weight, parameters
        self.total = float(sample_weight.sum())

    @abstractmethod
    def rows(self, scores: NDArray[np.float64]) -> tuple[Vector, NDArray[Any]]:
        """Losses, and their slopes by the scores, which must be allowed to the last bit."""

    def allowed(self, slopes: NDArray[np.float64]) -> bool:
        """Whether all of these are slopes of affine functions below the loss."""
        return True

    def constants(self, slopes: Numbers) -> Numbers:
        """Minus the conjugate: the most that affine functions of these slopes may be at a score of 0, or less."""
        return -slopes * self.y

    @abstractmethod
    def losses(self, scores: Numbers) -> Numbers:
        """The losses, or more."""

    @property
    def shares(self) -> Vector:
        """How much a change of each score changes the risk at most, but for the loss' own slope."""
        return self.sample_weight / self.total

    @property
    def unit(self) -> float:
        """Mean size of the targets, or 1."""
        return 1.0 if self.labels else float(self.sample_weight @ np.abs(self.y)) / self.total

    def at(self, scores: NDArray[np.float64]) -> tuple[float, NDArray[Any], NDArray[np.float64]]:
        """Value, witness and subgradient by the scores."""
        losses, slopes = self.rows(scores)
        weights = (slopes.T * (self.sample_weight / self.total)).T
        return float(losses @ self.sample_weight) / self.total, slopes, weights

    def tangent(self, witness: NDArray[np.float64], kind: type[Numbers]) -> ScoreTangent:
        """What a witness proves; one that proves nothing is refused."""
        if not self.allowed(witness):
            raise Refuted("`row_weights` of the witness are no slopes of the loss")
        slopes, mass = kind.of(witness), kind.of(self.sample_weight)
        columns = mass if witness.ndim == 1 else kind.of(self.sample_weight[:, None])
        return ScoreTangent(total_of(self.constants(slopes) * mass), slopes * columns, total_of(mass))

    def above(self, scores: Numbers) -> Bound:
        """An upper bound of the value."""
        mass = scores.of(self.sample_weight)
        upper: Bound = (total_of(self.losses(scores) * mass) / total_of(mass)).above()
        return upper


class HingeRisk(RowRisk):
    """``max(0, 1 - y s)``."""

    labels, polyhedral = 2, True

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        short = 1.0 - self.y * scores
        return np.maximum(short, 0.0), -self.y.astype(np.int8) * (short > 0)

    def allowed(self, slopes: Vector) -> bool:
        shares = -self.y * slopes
        return bool(((shares >= 0) & (shares <= 1)).all())

    def losses(self, scores: Numbers) -> Numbers:
        return (1.0 - scores * self.y).maximum(0.0)


class LogisticRisk(RowRisk):
    """``log(1 + exp(-y s))``; minus its conjugate is the entropy of ``-y`` times the slope."""

    labels = 2

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        signed = -self.y * scores
        return np.logaddexp(0.0, signed), -self.y * expit(signed)

    allowed = HingeRisk.allowed

    def constants(self, slopes: Numbers) -> Numbers:
        share = -slopes * self.y
        return 1.0 - (share - 1.0).divergence() - (-share).divergence()

    def losses(self, scores: Numbers) -> Numbers:
        """By ``u = exp(-abs(s))``."""
        signed = scores * -self.y
        u = (-abs(signed)).expm1() + 1.0
        return signed.maximum(0.0) + (u.divergence() + u) / (u + 1.0)


class QuantileRisk(RowRisk):
    """``max(level r, (level - 1) r)`` of the residual ``r = y - s``."""

    polyhedral, takes = True, ("level",)

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        """The slope ``1 - level`` is rounded down."""
        level = self.parameters["level"]
        slopes = np.where(self.y > scores, -level, -rounded_up(exact(level) - 1))
        return slopes * (scores - self.y), slopes

    def allowed(self, slopes: Vector) -> bool:
        level = self.parameters["level"]
        return bool(((slopes >= -level) & (slopes <= -rounded_up(exact(level) - 1))).all())

    def losses(self, scores: Numbers) -> Numbers:
        residuals, level = scores.of(self.y) - scores, scores.of(self.parameters["level"])
        return (residuals * level).maximum(residuals * (level - 1.0))


class ExpectileRisk(RowRisk):
    """``level r**2`` of positive residuals ``r = y - s``, and ``(1 - level) r**2`` of negative ones."""

    takes = ("level",)

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        residuals, level = self.y - scores, self.parameters["level"]
        scaled = np.where(residuals > 0, level, 1.0 - level) * residuals
        return scaled * residuals, -2.0 * scaled

    def constants(self, slopes: Numbers) -> Numbers:
        level, up, down = slopes.of(self.parameters["level"]), (-slopes).maximum(0.0), slopes.maximum(0.0)
        return -slopes * self.y - up * up / (level * 4.0) - down * down / ((1.0 - level) * 4.0)

    def losses(self, scores: Numbers) -> Numbers:
        residuals, level = scores.of(self.y) - scores, scores.of(self.parameters["level"])
        up, down = residuals.maximum(0.0), (-residuals).maximum(0.0)
        return up * up * level + down * down * (1.0 - level)


class HuberRisk(RowRisk):
    """``r**2 / 2`` of residuals ``r = y - s`` up to the width, then linear."""

    takes = ("width",)

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        residuals, width = self.y - scores, self.parameters["width"]
        inside = np.clip(residuals, -width, width)
        return inside * (residuals - 0.5 * inside), -inside

    def allowed(self, slopes: Vector) -> bool:
        return bool((np.abs(slopes) <= self.parameters["width"]).all())

    def constants(self, slopes: Numbers) -> Numbers:
        return -slopes * (slopes * 0.5 + self.y)

    def losses(self, scores: Numbers) -> Numbers:
        """They rise with the sizes of the residuals, of which the upper ends are taken."""
        sizes = scores.of(abs(scores.of(self.y) - scores).above())
        inside = sizes.minimum(self.parameters["width"])
        return inside * (sizes - inside * 0.5)


class MulticlassRisk(RowRisk):
    """``max_k (1{k != y} + s_k) - s_y``, of one score for each class."""

    labels, polyhedral = 3, True

    def rows(self, scores: NDArray[np.float64]) -> tuple[Vector, NDArray[Any]]:
        row, own, raised = np.arange(len(scores)), self.y, scores + 1.0
        raised[row, own] = scores[row, own]
        best, slopes = raised.argmax(axis=1), np.zeros(scores.shape, dtype=np.int8)
        slopes[row, best] += 1
        slopes[row, own] -= 1
        return raised[row, best] - scores[row, own], slopes

    def allowed(self, slopes: NDArray[np.float64]) -> bool:
        """Shares of the classes less 1 at one's own."""
        own = np.arange(slopes.shape[1]) == self.y[:, None]
        return bool((slopes >= -1.0 * own).all()) and not any(map(fsum, slopes.tolist()))

    def constants(self, slopes: Numbers) -> Numbers:
        """The shares of the other classes."""
        return -slopes[np.arange(len(self.y)), self.y]

    def losses(self, scores: Numbers) -> Numbers:
        raised = [scores[:, k] + (self.y != k) for k in range(scores.x.shape[1])]
        best: Numbers = reduce(lambda one, two: one.maximum(two), raised)
        return best - scores[np.arange(len(self.y)), self.y]


def total_of(x: Numbers) -> Numbers:
    """Sum of an array, rounded once in floats."""
    made: Numbers = x.sums([0, len(x.x)])[0]
    return made
