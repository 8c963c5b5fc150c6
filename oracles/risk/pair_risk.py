"""The hinge loss of all pairs of a positive and a negative row, by sorting: the area under the ROC curve."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.risk.row_risks import ScoreTangent, total_of
from oracle_opt.proof.claim import Bound
from oracle_opt.proof.enclosed_products import MOST_WHOLE, whole
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.plain import Plain
from oracle_opt.proof.witness_numbers import whole_numbers


class PairRisk:
    """Mean of ``max(0, 1 - s_p + s_n)`` over all pairs.

    The witness counts in how many pairs of positive loss a row is, with a minus sign for positive rows. A positive row
    of count k is paired with the k negative rows of the largest counts. So any counts tell a set of pairs, and the sum
    of ``1 - s_p + s_n`` over any set of pairs lies below the risk.
    """

    labels, polyhedral = 2, True
    takes: tuple[str, ...] = ()

    def __init__(self, y: NDArray[Any], sample_weight: Vector) -> None:
        self.y, self.sample_weight, self.parameters = y, sample_weight, dict[str, float]()
        self.positive, self.negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
        self.of_positive, self.of_negative = sample_weight[self.positive], sample_weight[self.negative]
        self.total = float(self.of_positive.sum() * self.of_negative.sum())
        self.places = np.argsort(np.r_[self.positive, self.negative])
        self.ones = (y > 0) * 1.0
        self.even = bool((sample_weight == 1.0).all())

    def counts(self, short: NDArray[Any]) -> NDArray[np.int32]:
        """The witness at some scores, floats or fractions, less 1 those of positive rows."""
        p, n = (rows[np.argsort(short[rows])] for rows in (self.positive, self.negative))
        found = np.zeros(len(short), dtype=np.int32)
        found[p] = np.searchsorted(short[n], short[p], side="right") - len(n)
        found[n] = np.searchsorted(short[p], short[n], side="left")
        return found

    unit = 1.0

    @property
    def shares(self) -> Vector:
        """Those of each class add up to 1."""
        shares = self.sample_weight.copy()
        for one in (self.positive, self.negative):
            shares[one] /= shares[one].sum()
        return shares

    def at(self, scores: Vector) -> tuple[float, NDArray[Any], Vector]:
        """The pairs' affine function has the value of the risk where they were counted."""
        short = scores - self.ones
        counts = self.counts(short)
        weights = counts.astype(float) if self.even else self.tangent(counts, Plain).weights.x
        return float(weights @ short) / self.total, counts, weights / self.total

    def tangent(self, witness: NDArray[Any], kind: type[Numbers]) -> ScoreTangent:
        """See `RowRisk.tangent`."""
        name, (P, N) = "`row_weights` of the witness", (len(self.positive), len(self.negative))
        of_positive = whole_numbers(name, -witness[self.positive], N + 1, P)
        of_negative = whole_numbers(name, witness[self.negative], P + 1, N)
        first, firm = np.argsort(np.arange(N) - N * of_negative), np.argsort(np.arange(P) - P * of_positive)
        partners = np.empty(N, dtype=np.intp)  # so many of the positive rows of the largest counts
        partners[first] = P - np.cumsum(np.bincount(of_positive, minlength=N))[:N]
        up = _running_sums(self.of_negative[first], kind)[of_positive] * self.of_positive
        down = _running_sums(self.of_positive[firm], kind)[partners] * self.of_negative
        weights = kind.joined([-up, down])[self.places]
        return ScoreTangent(
            total_of(up), weights, total_of(kind.of(self.of_positive)) * total_of(kind.of(self.of_negative))
        )

    def above(self, scores: Numbers) -> Bound:
        """The risk falls in scores of positive rows and rises in the others; the pairs where it is more than 0."""
        short = scores - self.ones
        worst = np.where(self.y > 0, short.below(), short.above())
        pairs = self.tangent(self.counts(worst), type(scores))
        upper: Bound = (total_of(pairs.weights * worst) / pairs.total).above()
        return upper


def _running_sums(values: Vector, kind: type[Numbers]) -> Numbers:
    """Sums of none, one, two and more of the first of some numbers that are not negative."""
    sums = np.r_[0.0, np.cumsum(values)]
    if kind is Plain or (whole(values) and sums[-1] < MOST_WHOLE):
        return kind.of(sums)
    if kind.exact:
        return kind.of(np.r_[0, np.cumsum(kind.of(values).x)])
    added = np.diff(sums)
    lost = np.r_[0.0, (sums[:-1] - (sums[1:] - added)) + (values - added)]  # to the last bit: Knuth's sum of two
    return kind.of(sums) + Floats(np.cumsum(lost), EPS * len(lost) * np.cumsum(np.abs(lost)))
