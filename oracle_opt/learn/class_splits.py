"""Several classes by machines of two: each against the rest, or each against each."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ClassSplit:
    """The classes that one machine has to tell apart, and its points."""

    positive: int
    negative: int | None
    points: Numbers
    y: Vector


def class_splits(numbers: Numbers, n_classes: int, multiclass: str) -> list[ClassSplit]:
    """Split classes into pairs: of two classes the second against the first."""
    if n_classes == 2 or multiclass == "ovo":
        pairs = [(second, first) for first, second in combinations(range(n_classes), 2)]
        found = [np.flatnonzero((numbers == one) | (numbers == other)) for one, other in pairs]
        return [
            ClassSplit(one, other, points, np.where(numbers[points] == one, 1.0, -1.0))
            for (one, other), points in zip(pairs, found, strict=True)
        ]
    every = np.arange(numbers.size)
    return [ClassSplit(c, None, every, np.where(numbers == c, 1.0, -1.0)) for c in range(n_classes)]


def votes(values: Matrix, splits: list[tuple[int, int | None]], n_classes: int) -> Matrix:
    """Votes of the pairs of classes, plus ``s / (3 (abs(s) + 1))``, s the sum of the decision values for the class."""
    counted, sums = np.zeros((2, values.shape[0], n_classes))
    for k, (one, other) in enumerate(splits):
        assert other is not None
        counted[:, one] += values[:, k] >= 0
        counted[:, other] += values[:, k] < 0
        sums[:, one] += values[:, k]
        sums[:, other] -= values[:, k]
    total: Matrix = counted + sums / (3.0 * (np.abs(sums) + 1.0))
    return total
