"""Semidefinite programs: the reader of SDPA's sparse format, and the same program as a largest eigenvalue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import FreeSpace
from oracle_opt.errors import InvalidArgument, InvalidData
from oracle_opt.reading import number, read_text, shown, whole, wrong

if TYPE_CHECKING:
    from scipy import sparse

    from oracle_opt.oracles import Cone, ConicProblem, MaxEigenvalueOracle

Entry = tuple[int, int, int, int, float]  # number of the matrix, block, row, column, value
SPARSE = "SDPA's sparse format"
ORDER = 1000  # of a block; a larger one has as many entries at least
MOST_ROWS = 1 << 25  # of all blocks, as vectors
_BRACKETS = str.maketrans(",(){}", "     ")


def read_sdpa(path: Path) -> ConicProblem:
    """Return ``min c x`` where ``sum_i x_i F_i - F_0`` is positive semidefinite, from a file in SDPA's sparse format.

    Comments begin with ``"`` or ``*``. Then m, the number of blocks, their orders (negative: diagonal), c, and entries:
    number of F_i, block, row and column from 1, value. Each stands on one side of a diagonal alone.
    """
    return _Reader(path).read()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path, self.at = path, 1
        lines = enumerate(read_text(path).split("\n"), 1)
        self.lines = [(at, text) for at, text in lines if text.strip() and text[0] not in '"*']

    def read(self) -> ConicProblem:
        from oracle_opt.oracles import ConicProblem, Nonnegative, PositiveSemidefinite

        m = self.counts("the number of variables", 1, 1)[0]
        n_blocks = self.counts("the number of blocks", 1, 1)[0]
        orders = self.counts("the orders of the blocks", n_blocks, None)
        at = self.at
        c = self.costs(m)
        entries = self.entries(m, orders)
        counts = np.bincount([block for _, block, *_ in entries], minlength=len(orders))
        for block, (order, held) in enumerate(zip(orders, counts.tolist(), strict=True)):
            if abs(order) > max(ORDER, held):
                raise wrong(self.path, at, f"{SPARSE}: block {block + 1} of order {abs(order)} has {held} entries")
        cones: list[Cone] = [PositiveSemidefinite(order) if order > 0 else Nonnegative(-order) for order in orders]
        if sum(cone.dimension for cone in cones) > MOST_ROWS:
            raise wrong(self.path, at, f"{SPARSE}: blocks of these orders have more than {MOST_ROWS} entries")
        try:
            return ConicProblem(c, *_rows(m, orders, cones, entries), cones)
        except InvalidArgument as problem:
            raise InvalidData(f"{self.path} is no program in {SPARSE} that can be solved: {problem}") from problem

    def words(self, what: str) -> list[str]:
        """The words of the next line."""
        if not self.lines:
            raise InvalidData(f"{self.path} ends before {what} of {SPARSE}: it is cut off")
        self.at, text = self.lines.pop(0)
        return text.translate(_BRACKETS).split()

    def wrong(self, reason: str) -> InvalidData:
        return wrong(self.path, self.at, f"{SPARSE}: {reason}")

    def counts(self, what: str, count: int, least: int | None) -> list[int]:
        """So many whole numbers, not 0, that begin a line; words may follow, and no number."""
        words = self.words(what)
        found = [whole(word) for word in words[:count]]
        if len(found) < count or any(not one or (least is not None and one < least) for one in found):
            raise self.wrong(f"{what} must be {count} whole numbers, not 0, got {shown(' '.join(words))}")
        if any(word[0] in "0123456789+-." for word in words[count:]):
            raise self.wrong(f"{what} must be {count} and no more numbers, got {shown(' '.join(words))}")
        return [one for one in found if one]

    def costs(self, m: int) -> Vector:
        words = self.words("the costs")
        values = [number(word) for word in words]
        if len(values) != m or None in values:
            wrongs = [shown(word) for word, value in zip(words, values, strict=True) if value is None]
            raise self.wrong(f"there must be {m} finite costs, got {wrongs[0] if wrongs else len(words)}")
        return np.array(values, dtype=float)

    def entries(self, m: int, orders: list[int]) -> list[Entry]:
        """Matrix, block, row and column, counted from 0 and in the upper triangle, and value."""
        found: dict[tuple[int, int, int, int], float] = {}
        while self.lines:
            words = self.words("an entry")
            places = [whole(word) for word in words[:4]]
            value = number(words[4]) if len(words) == 5 else None
            if value is None or None in places or not np.isfinite(2.0 * value):
                raise self.wrong(f"an entry is four whole numbers and a finite one, got {shown(' '.join(words))}")
            k, block, *place = (one for one in places if one is not None)
            if not (0 <= k <= m and 1 <= block <= len(orders)):
                raise self.wrong(f"there are matrices 0 to {m} and blocks 1 to {len(orders)}, got {k} and {block}")
            i, j = sorted(place)
            order = orders[block - 1]
            if not 1 <= i <= j <= abs(order) or (order < 0 and i != j):
                words_of = f"diagonal, of order {-order}" if order < 0 else f"of order {order}"
                raise self.wrong(f"block {block} is {words_of}, and the entry is in row {place[0]}, column {place[1]}")
            if (k, block, i, j) in found:
                raise self.wrong(f"row {i}, column {j} of matrix {k}, block {block} stands twice")
            found[k, block, i, j] = value
        if not any(k for k, *_ in found):
            raise InvalidData(f"{self.path} is no program in {SPARSE}: its matrices have no entries")
        return [(k, block - 1, i - 1, j - 1, value) for (k, block, i, j), value in found.items()]


def _rows(m: int, orders: list[int], cones: list[Cone], entries: list[Entry]) -> tuple[sparse.csr_array, Vector]:
    """A and b, the rows being entries of the blocks as vectors: those off a diagonal times the square root of two."""
    from scipy import sparse

    starts = np.cumsum([0, *(cone.dimension for cone in cones)])
    k, block, i, j = np.array([entry[:4] for entry in entries], dtype=np.intp).T
    values = np.array([entry[4] for entry in entries]) * np.where(i != j, np.sqrt(2.0), 1.0)
    rows = starts[block] + np.where(np.array(orders)[block] > 0, j * (j + 1) // 2 + i, i)
    b = np.zeros(starts[-1])
    np.subtract.at(b, rows[k == 0], values[k == 0])
    places = rows[k > 0], k[k > 0] - 1
    return sparse.csr_array((-values[k > 0], places), shape=(len(b), m)), b


def as_largest_eigenvalue(
    program: ConicProblem, radius: float = 1e3, trace: float = 1.0
) -> tuple[MaxEigenvalueOracle, bool]:
    """Return ``min c x + trace * max(0, lambda_max(F_0 - sum_i x_i F_i))``, and whether it needs no promised trace.

    Neither promise nor maximum is needed where ``sum_i y_i F_i = I``: all dual solutions have the trace ``c y``. Units
    of x make the norm of F_i 1. Else blocks of all F_i together then get norms of the roots of their orders, for
    promises.
    """
    from scipy import sparse

    from oracle_opt.oracles import MaxEigenvalueOracle, PositiveSemidefinite

    c, A, b, cones = program.c, -program.A, program.b, program.cones
    norms = sparse.linalg.norm(A, axis=0)
    if not norms.all():
        raise InvalidArgument(f"`program` must have no variable without a matrix, got {int(norms.argmin())} without")
    A, c = A @ sparse.diags_array(1.0 / norms), c / norms
    units = [
        cone.vector(np.eye(cone.order)) if isinstance(cone, PositiveSemidefinite) else np.ones(cone.dimension)
        for cone in cones
    ]
    unit = np.concatenate(units)
    y, normal = np.zeros(len(c)), (A.T @ A).toarray()  # normal equations: the matrices have many entries
    for _ in range(3):  # refined, as these lose half of the digits
        y += np.linalg.lstsq(normal, A.T @ (unit - A @ y))[0]
    constant = bool(np.linalg.norm(A @ y - unit) <= 1e-9 * np.linalg.norm(unit))
    starts = np.cumsum([cone.dimension for cone in cones])[:-1]
    if not constant:
        size = _sizes_of_rows(A, cones, starts)
        A, b = sparse.diags_array(1.0 / size) @ A, b / size

    places = _places(cones, 0 if constant else 1)
    columns = A.tocsc()
    ends = zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    F = [_symmetric(columns.indices[first:last], columns.data[first:last], places) for first, last in ends]
    trace = float(c @ y) if constant else trace
    C = _symmetric(np.flatnonzero(b), -b[b != 0], places)
    return MaxEigenvalueOracle(C, F, c, trace=trace, domain=FreeSpace(len(c), radius)), constant


def _places(cones: tuple[Cone, ...], more: int) -> tuple[int, Matrix]:
    """Order of the block diagonal matrix with so many zeros behind, and for each row of the program its place in it."""
    from oracle_opt.oracles import PositiveSemidefinite

    places, order = [], 0
    for cone in cones:
        if isinstance(cone, PositiveSemidefinite):
            j = np.repeat(np.arange(cone.order), np.arange(1, cone.order + 1))
            i = np.arange(cone.dimension) - j * (j + 1) // 2
            size = cone.order
        else:
            i = j = np.arange(cone.dimension)
            size = cone.dimension
        places.append(order + np.array([i, j]))
        order += size
    return order + more, np.concatenate(places, axis=1)


def _symmetric(rows: NDArray[np.integer], values: Vector, places: tuple[int, Matrix]) -> sparse.csr_array:
    """The matrix of some rows of the program, whose entries off the diagonal are times the square root of two."""
    from scipy import sparse

    order, (i, j) = places[0], places[1][:, rows]
    beside = i != j
    values = np.where(beside, values / np.sqrt(2.0), values)
    entries = np.r_[values, values[beside]], (np.r_[i, j[beside]], np.r_[j, i[beside]])
    return sparse.csr_array(entries, shape=(order, order))


def _sizes_of_rows(A: sparse.csr_array, cones: tuple[Cone, ...], starts: Vector) -> Vector:
    """Square root of the mean, over the order of a block, of all squares in it; of a nonnegative row, its norm."""
    from scipy import sparse

    from oracle_opt.oracles import PositiveSemidefinite

    squares = np.split(sparse.linalg.norm(A, axis=1) ** 2, starts)
    means = [
        np.full(len(square), square.sum() / cone.order) if isinstance(cone, PositiveSemidefinite) else square
        for cone, square in zip(cones, squares, strict=True)
    ]
    size: Vector = np.sqrt(np.concatenate(means))
    size[size == 0] = 1.0
    return size
