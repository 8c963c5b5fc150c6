"""Losses of one row each, and of its target."""

from functools import reduce
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from oracle_opt.arrays import Vector
from oracle_opt.oracles.risk.row_risk import RowRisk
from oracle_opt.proof.exact_sums import exact, rounded_up
from oracle_opt.proof.number import Numbers


class HingeRisk(RowRisk):
    """``max(0, 1 - y s)``."""

    labels, polyhedral = 2, True

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        """See `RowRisk.rows`."""
        short = 1.0 - self.y * scores
        return np.maximum(short, 0.0), -self.y.astype(np.int8) * (short > 0)

    def allowed(self, slopes: Vector) -> bool:
        """See `RowRisk.allowed`."""
        shares = -self.y * slopes
        return bool(((shares >= 0) & (shares <= 1)).all())

    def constants(self, slopes: Numbers) -> Numbers:
        """See `RowRisk.constants`."""
        return -slopes * self.y

    def losses(self, scores: Numbers) -> Numbers:
        """See `RowRisk.losses`."""
        return (1.0 - scores * self.y).maximum(0.0)


class LogisticRisk(RowRisk):
    """``log(1 + exp(-y s))``; minus its conjugate is the entropy of ``-y`` times the slope."""

    labels = 2

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        """See `RowRisk.rows`."""
        signed = -self.y * scores
        return np.logaddexp(0.0, signed), -self.y * expit(signed)

    allowed = HingeRisk.allowed

    def constants(self, slopes: Numbers) -> Numbers:
        """See `RowRisk.constants`."""
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
        """See `RowRisk.allowed`."""
        level = self.parameters["level"]
        return bool(((slopes >= -level) & (slopes <= -rounded_up(exact(level) - 1))).all())

    def constants(self, slopes: Numbers) -> Numbers:
        """See `RowRisk.constants`."""
        return -slopes * self.y

    def losses(self, scores: Numbers) -> Numbers:
        """See `RowRisk.losses`."""
        residuals, level = scores.of(self.y) - scores, scores.of(self.parameters["level"])
        return (residuals * level).maximum(residuals * (level - 1.0))


class ExpectileRisk(RowRisk):
    """``level r**2`` of positive residuals ``r = y - s``, and ``(1 - level) r**2`` of negative ones."""

    takes = ("level",)

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        """See `RowRisk.rows`."""
        residuals, level = self.y - scores, self.parameters["level"]
        scaled = np.where(residuals > 0, level, 1.0 - level) * residuals
        return scaled * residuals, -2.0 * scaled

    def allowed(self, slopes: Vector) -> bool:
        """See `RowRisk.allowed`."""
        return True

    def constants(self, slopes: Numbers) -> Numbers:
        """See `RowRisk.constants`."""
        level, up, down = slopes.of(self.parameters["level"]), (-slopes).maximum(0.0), slopes.maximum(0.0)
        return -slopes * self.y - up * up / (level * 4.0) - down * down / ((1.0 - level) * 4.0)

    def losses(self, scores: Numbers) -> Numbers:
        """See `RowRisk.losses`."""
        residuals, level = scores.of(self.y) - scores, scores.of(self.parameters["level"])
        up, down = residuals.maximum(0.0), (-residuals).maximum(0.0)
        return up * up * level + down * down * (1.0 - level)


class HuberRisk(RowRisk):
    """``r**2 / 2`` of residuals ``r = y - s`` up to the width, then linear."""

    takes = ("width",)

    def rows(self, scores: Vector) -> tuple[Vector, NDArray[Any]]:
        """See `RowRisk.rows`."""
        residuals, width = self.y - scores, self.parameters["width"]
        inside = np.clip(residuals, -width, width)
        return inside * (residuals - 0.5 * inside), -inside

    def allowed(self, slopes: Vector) -> bool:
        """See `RowRisk.allowed`."""
        return bool((np.abs(slopes) <= self.parameters["width"]).all())

    def constants(self, slopes: Numbers) -> Numbers:
        """See `RowRisk.constants`."""
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
        """See `RowRisk.rows`."""
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
        """See `RowRisk.losses`."""
        raised = [scores[:, k] + (self.y != k) for k in range(scores.x.shape[1])]
        best: Numbers = reduce(lambda one, two: one.maximum(two), raised)
        return best - scores[np.arange(len(self.y)), self.y]
