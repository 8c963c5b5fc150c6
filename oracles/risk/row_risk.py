"""What a risk is to its oracle: a mean of losses of scores, and what slopes by the scores prove of it."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted
from oracle_opt.proof.claim import Bound
from oracle_opt.proof.number import Numbers


class ScoreTangent(NamedTuple):
    """``(constant + (weights * scores).sum()) / total`` lies below the risk, whatever the scores."""

    constant: Numbers
    weights: Numbers
    total: Numbers


class Risk(ABC):
    """A convex function of the scores of all rows, at least 0, with the targets and sample weights of its data."""

    labels = 0  # how many classes y has: 0 for real targets, 2, or 3 for two and more
    takes: tuple[str, ...] = ()  # its parameters
    polyhedral = False

    def __init__(self, y: NDArray[Any], sample_weight: Vector, **parameters: float) -> None:
        self.y, self.sample_weight, self.parameters = y, sample_weight, parameters
        self.total = float(sample_weight.sum())

    def size(self, sizes: Vector) -> float:
        """Mean size of the terms of the losses, of scores whose terms add up to these sizes."""
        return float(self.sample_weight @ (sizes + (1.0 if self.labels else np.abs(self.y)))) / self.total

    @abstractmethod
    def at(self, scores: NDArray[np.float64]) -> tuple[float, NDArray[Any], NDArray[np.float64]]:
        """Value, witness and subgradient by the scores."""

    @abstractmethod
    def tangent(self, witness: NDArray[np.float64], kind: type[Numbers]) -> ScoreTangent:
        """What a witness proves; one that proves nothing is refused."""

    @abstractmethod
    def above(self, scores: Numbers) -> Bound:
        """An upper bound of the value."""


class RowRisk(Risk):
    """The weighted mean of a loss of each row: the witness holds the slopes of the losses, before any weights."""

    @abstractmethod
    def rows(self, scores: NDArray[np.float64]) -> tuple[Vector, NDArray[Any]]:
        """Losses, and their slopes by the scores, which must be allowed to the last bit."""

    @abstractmethod
    def allowed(self, slopes: NDArray[np.float64]) -> bool:
        """Whether all of these are slopes of affine functions below the loss."""

    @abstractmethod
    def constants(self, slopes: Numbers) -> Numbers:
        """Minus the conjugate: the most that affine functions of these slopes may be at a score of 0, or less."""

    @abstractmethod
    def losses(self, scores: Numbers) -> Numbers:
        """The losses, or more."""

    def at(self, scores: NDArray[np.float64]) -> tuple[float, NDArray[Any], NDArray[np.float64]]:
        """See `Risk.at`."""
        losses, slopes = self.rows(scores)
        weights = (slopes.T * (self.sample_weight / self.total)).T
        return float(losses @ self.sample_weight) / self.total, slopes, weights

    def tangent(self, witness: NDArray[np.float64], kind: type[Numbers]) -> ScoreTangent:
        """See `Risk.tangent`."""
        if not self.allowed(witness):
            raise Refuted("`row_weights` of the witness are no slopes of the loss")
        slopes, mass = kind.of(witness), kind.of(self.sample_weight)
        columns = kind.of(self.sample_weight.reshape(-1, *(1,) * (witness.ndim - 1)))
        return ScoreTangent(total_of(self.constants(slopes) * mass), slopes * columns, total_of(mass))

    def above(self, scores: Numbers) -> Bound:
        """See `Risk.above`."""
        mass = scores.of(self.sample_weight)
        upper: Bound = (total_of(self.losses(scores) * mass) / total_of(mass)).above()
        return upper


def total_of(x: Numbers) -> Numbers:
    """Sum of an array, rounded once in floats."""
    made: Numbers = x.sums([0, len(x.x)])[0]
    return made
