"""Products of a matrix with numbers between two ends, and sums of some of them."""

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.exact_sums import SMALLEST

EXACT = 2.0**53  # whole numbers up to this size are floats


def transposed_times(A: Any, y: Enclosure) -> Enclosure:
    """``A.T @ y``, A dense or sparse: what `EnclosedProduct` does, for a single product."""
    return EnclosedProduct(A)(y)


class EnclosedProduct:
    """Products ``A.T @ y`` in fractions, or in floats with a bound on what these round.

    With m the middles of y, r half its widths: ``abs(A.T) @ r + (k + 4) EPS abs(A.T) @ abs(m)``, k entries a column.
    """

    def __init__(self, A: Any) -> None:
        self._A, self._turned, self._count = A, A.T, A.shape[0]

    @cached_property
    def _sizes(self) -> Any:
        return abs(self._turned)

    @cached_property
    def _terms(self) -> NDArray[np.intp]:
        """How many terms each sum has: zeros are not rounded."""
        return np.asarray((self._A != 0).sum(axis=0)).ravel()

    def __call__(self, y: Enclosure) -> Enclosure:
        """Multiply."""
        if y.exact:
            return _in_fractions(self._A, y)
        middle = 0.5 * (y.lower + y.upper)
        radius = np.nextafter(np.maximum(y.upper - middle, middle - y.lower), np.inf)
        if y.lower is y.upper:
            middle, radius = y.lower, np.zeros_like(middle)
        pull = self._turned @ middle
        if self._count == 1 and y.lower is y.upper:  # a single row: one product an entry
            wrong = EPS * np.abs(pull) + SMALLEST * (pull != 0)
        else:
            sizes = self._sizes
            wrong = 1.01 * (EPS * (self._terms + 4) * (sizes @ np.abs(middle)) + sizes @ radius)
            wrong = np.where(wrong > 0, wrong + SMALLEST * (self._count + 1), 0.0)
        return Enclosure(pull - wrong, pull + wrong)


def _in_fractions(A: Any, y: Enclosure) -> Enclosure:
    if isinstance(A, np.ndarray):
        rows = [i for i in range(len(A)) if y.lower[i] or y.upper[i]]
        return (Enclosure.of(A[rows], exact=True) * y[rows][:, None]).sum(axis=0)
    stored = A.tocoo()
    used = np.array([bool(low or high) for low, high in zip(y.lower, y.upper, strict=True)])[stored.row]
    row, column, data = stored.row[used], stored.col[used], stored.data[used]
    return scattered(Enclosure.of(data, exact=True) * y[row], column, A.shape[1])


def whole(values: NDArray[np.float64]) -> bool:
    """Whether these are whole numbers, of which sums up to `EXACT` are."""
    return bool((values == np.rint(values)).all())


def scattered(terms: Enclosure, places: NDArray[np.intp], count: int) -> Enclosure:
    """Sums of the terms that belong to each of some places."""
    sides = (terms.lower,) if terms.lower is terms.upper else (terms.lower, terms.upper)
    if terms.exact:
        sums = [np.full(count, Fraction(0), dtype=object) for _ in sides]
        for made, side in zip(sums, sides, strict=True):
            for place, term in zip(places.tolist(), side.tolist(), strict=True):
                made[place] += term
        return Enclosure(sums[0], sums[-1])
    sums, size = [np.bincount(places, side, count) for side in sides], np.bincount(places, terms.size(), count)
    if len(sides) == 1 and whole(terms.lower) and size.max(initial=0.0) < EXACT:
        return Enclosure(sums[0], sums[0])
    met = np.bincount(places, minlength=count)
    wrong = np.where(met > 1, np.nextafter(EPS * (met + 4) * size, np.inf), 0.0)
    return Enclosure(sums[0] - wrong, sums[-1] + wrong)
