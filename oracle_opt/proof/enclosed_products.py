"""Products of a matrix with numbers between two ends, and sums of some of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.rationals import Fractions

MOST_WHOLE = 2.0**53  # whole numbers up to this size are floats


def transposed_times(A: Any, y: Enclosure) -> Enclosure:
    """``A.T @ y``, A dense or sparse: in fractions, or in floats with a bound on what these round."""
    return y.mapped(A.T)


def whole(values: NDArray[np.float64]) -> bool:
    """Whether these are whole numbers, of which sums up to `MOST_WHOLE` are."""
    return bool((values == np.rint(values)).all())


def scattered(terms: Enclosure, places: NDArray[np.intp], count: int) -> Enclosure:
    """Sums of the terms that belong to each of some places."""
    sides = (terms.lower,) if terms.lower is terms.upper else (terms.lower, terms.upper)
    if terms.exact:
        entries = np.ones(len(places)), (places, np.arange(len(places)))
        summing = sparse.csr_array(entries, shape=(count, len(places)))
        sums = [Fractions(side).mapped(summing).x for side in sides]
        return Enclosure(sums[0], sums[-1])
    sums, size = [np.bincount(places, side, count) for side in sides], np.bincount(places, terms.size(), count)
    if len(sides) == 1 and whole(terms.lower) and size.max(initial=0.0) < MOST_WHOLE:
        return Enclosure(sums[0], sums[0])
    met = np.bincount(places, minlength=count)
    wrong = np.where(met > 1, np.nextafter(EPS * (met + 4) * size, np.inf), 0.0)
    return Enclosure(sums[0] - wrong, sums[-1] + wrong)
