"""The hinge loss of all pairs of a positive and a negative row, by sorting: the area under the ROC curve."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.oracles.risk.row_risk import Risk, ScoreTangent, total_of
from oracle_opt.proof.claim import Bound
from oracle_opt.proof.enclosed_products import MOST_WHOLE, whole
from oracle_opt.proof.exact_sums import rounded_up
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.plain import Plain
from oracle_opt.proof.rationals import Fractions
from oracle_opt.proof.witness_numbers import whole_numbers


class PairRisk(Risk):
    """Mean of ``max(0, 1 - s_p + s_n)`` over all pairs.

    The witness counts in how many pairs of positive loss a row is, with a minus sign for positive rows. A positive row
    of count k is paired with the k negative rows of the largest counts. So any counts tell a set of pairs, and the sum
    of ``1 - s_p + s_n`` over any set of pairs lies below the risk.
    """

    labels, polyhedral = 2, True

    def __init__(self, y: Vector, sample_weight: Vector, **parameters: float) -> None:
        super().__init__(y, sample_weight, **parameters)
        self.positive, self.negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
        self.of_positive, self.of_negative = sample_weight[self.positive], sample_weight[self.negative]
        self.total = float(self.of_positive.sum() * self.of_negative.sum())
        self.even = bool((sample_weight == 1.0).all())

    def counts(self, scores: NDArray[Any]) -> NDArray[np.int32]:
        """The witness at some scores, floats or fractions."""
        least, level = scores[self.positive] - 1, scores[self.negative]
        found = np.zeros(len(scores), dtype=np.int32)
        found[self.positive] = np.searchsorted(np.sort(level), least, side="right") - len(level)
        found[self.negative] = np.searchsorted(np.sort(least), level, side="left")
        return found

    def size(self, sizes: Vector) -> float:
        """Of both scores of a pair, and of 1."""
        means = [np.average(sizes[one], weights=self.sample_weight[one]) for one in (self.positive, self.negative)]
        return 1.0 + float(sum(means))

    def at(self, scores: Vector) -> tuple[float, NDArray[Any], Vector]:
        """The pairs' affine function has the value of the risk where they were counted."""
        counts = self.counts(scores)
        if self.even:
            constant, weights = -float(counts[self.positive].sum()), counts.astype(float)
        else:
            proven = self.tangent(counts, Plain)
            constant, weights = proven.constant.x, proven.weights.x
        return (constant + float(weights @ scores)) / self.total, counts, weights / self.total

    def tangent(self, witness: NDArray[Any], kind: type[Numbers]) -> ScoreTangent:
        """See `Risk.tangent`."""
        name, (P, N) = "`row_weights` of the witness", (len(self.positive), len(self.negative))
        of_positive = whole_numbers(name, -witness[self.positive], N + 1, P)
        of_negative = whole_numbers(name, witness[self.negative], P + 1, N)
        first, firm = np.argsort(-of_negative, kind="stable"), np.argsort(-of_positive, kind="stable")
        partners = np.empty(N, dtype=np.intp)  # so many of the positive rows of the largest counts
        partners[first] = P - np.searchsorted(of_positive[firm[::-1]], np.arange(N), side="right")
        up = _running_sums(self.of_negative[first], kind)[of_positive] * self.of_positive
        down = _running_sums(self.of_positive[firm], kind)[partners] * self.of_negative
        weights = kind.joined([-up, down])[np.argsort(np.r_[self.positive, self.negative])]
        return ScoreTangent(
            total_of(up), weights, total_of(kind.of(self.of_positive)) * total_of(kind.of(self.of_negative))
        )

    def above(self, scores: Numbers) -> Bound:
        """The risk falls in scores of positive rows and rises in the others; then in fractions."""
        worst = Fractions.of(np.where(self.y > 0, scores.below(), scores.above()))
        pairs = self.tangent(self.counts(worst.x), Fractions)
        upper = ((pairs.constant + pairs.weights.dot(worst)) / pairs.total).x
        return upper if scores.exact else rounded_up(upper)


def _running_sums(values: Vector, kind: type[Numbers]) -> Numbers:
    """Sums of none, one, two and more of the first of some numbers that are not negative."""
    plain = kind is Plain or (whole(values) and values.sum() < MOST_WHOLE)
    return kind.of(np.r_[0, np.cumsum(values if plain else Fractions.of(values).x)])
