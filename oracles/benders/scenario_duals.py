"""Which dual vector proves the value of which scenario: referred to while a run goes on, compact when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

Indices = NDArray[np.intp]
Piece = tuple[Matrix, NDArray[Any]]  # dual vectors, a row each, and the row of each of successive scenarios
MOST_NUMBERS = 1 << 24  # numbers in the dual vectors of one answer, 128 MiB, beyond which they are not kept
VERTICES, VERTEX_OF = "vertices", "vertex_of"
RAY, RAY_OF, SECTION = "ray", "ray_of", "section"


class DualTable:
    """Dual vectors, a row each. Rows are added and never changed, so that a view of the first ones holds for good."""

    def __init__(self, units: Vector) -> None:
        self._units = units
        self._rows = np.zeros((0, len(units)))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Matrix:
        """All of them, a view."""
        return self._rows[: self._count]

    def add(self, duals: Matrix) -> Indices:
        """Take up dual vectors; return the numbers of their rows."""
        first, end = self._count, self._count + len(duals)
        if end > len(self._rows):
            # a new array: what refers to the old one keeps it
            larger = np.empty((max(end, 3 * len(self._rows) // 2), self._rows.shape[1]))
            larger[:first] = self.rows
            self._rows = larger
        self._rows[first:end] = duals * self._units
        self._count = end
        return np.arange(first, end)


class ScenarioDuals(Mapping[str, NDArray[Any]]):
    """The `extras` that prove a cut of some scenarios, put together when asked for from the table all cuts share."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = tuple(pieces)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in (VERTICES, VERTEX_OF):
            raise KeyError(name)
        vertices, vertex_of = self.compact()
        return vertices if name == VERTICES else vertex_of

    def __iter__(self) -> Iterator[str]:
        return iter((VERTICES, VERTEX_OF))

    def __len__(self) -> int:
        return 2

    def __repr__(self) -> str:
        return f"ScenarioDuals(of {sum(len(index) for _, index in self._pieces)} scenarios)"

    def __getstate__(self) -> dict[str, Any]:
        return {"_pieces": (self.compact(),)}

    def compact(self) -> Piece:
        """The distinct dual vectors, and the row of each scenario, as the smallest whole numbers that suffice."""
        tables, numbers, count = [], [], 0
        for table, index in self._pieces:
            used, number = np.unique(index, return_inverse=True)
            tables.append(table[used])
            numbers.append(number.ravel() + count)
            count += len(used)
        vertex_of = np.concatenate(numbers)
        return np.concatenate(tables), vertex_of.astype(np.min_scalar_type(max(count - 1, 0)))

    def of_scenarios(self, first: int, last: int) -> ScenarioDuals:
        """The duals of the scenarios `first` to `last` - 1, counted from the first one here."""
        pieces, start = [], 0
        for table, index in self._pieces:
            part = index[max(first - start, 0) : max(last - start, 0)]
            if len(part):
                pieces.append((table, part))
            start += len(index)
        return ScenarioDuals(pieces)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The tables of dual vectors and the rows of the scenarios, as given."""
        return self._pieces
