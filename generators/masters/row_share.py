"""Which rows of a pool a minorant is made of, as long as they stand there and after."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.proof.parts import Combination, Parts, Weighted


class RowShare(Parts):
    """Rows, those `used`, with weights; what a row claims is asked when it is wanted, or when it is dropped."""

    def __init__(self, rows: Rows, used: NDArray[np.intp], weights: Vector) -> None:
        self._rows, self._numbers, self._weights = rows, rows.number[used], weights
        self._dropped: dict[int, Combination] = {}
        rows.shares.add(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._rows.shares.add(self)

    def __repr__(self) -> str:
        return f"RowShare({len(self._numbers)} rows)"

    @property
    def size(self) -> int:
        """About as many numbers as the claims of the rows hold."""
        dropped = sum(claim.most_size for claim in self._dropped.values())
        return dropped + self._rows.held(self._standing())

    @property
    def n_copied(self) -> int:
        """How many numbers are copied when it is gathered: the slopes of rows that were never claimed."""
        return self._rows.copied(self._standing())

    def _standing(self) -> list[int]:
        return [number for number in self._numbers.tolist() if number not in self._dropped]

    def hold(self, numbers: NDArray[np.intp]) -> None:
        """Keep what these rows claim, as far as they are used here: they are about to be dropped."""
        for number in np.intersect1d(numbers, self._numbers).tolist():
            self._dropped[number] = self._rows.claimed(number)

    def members(self) -> Iterable[tuple[float, Combination]]:
        """Return what each row is made of, with its weight."""
        known, rows = self._dropped, self._rows
        for number, weight in zip(self._numbers.tolist(), self._weights.tolist(), strict=True):
            yield weight, known[number] if number in known else rows.claimed(number)

    def weighted(self) -> Sequence[Weighted]:
        """Return the claims of the rows, and of those that rows are mixed of, with their weights."""
        return Combination.of(self.members()).weighted()
