"""Two-stage stochastic linear programs: the data, and the scenarios they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats, instances, real, sparse_matrix, text
from oracle_opt.arrays import Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.proof import multiplier_bounds
from oracle_opt.words import one_line, shown


@dataclass(frozen=True, eq=False)
class RandomBlock:
    """Entries of the second stage that vary together; different blocks are independent.

    Parameters
    ----------
    probabilities : ndarray of shape (k,)
        Probabilities of the outcomes.
    rows, rhs : ndarray of int, shape (r,), and ndarray of shape (k, r)
        Second-stage rows and their right-hand sides, an outcome per line.
    cost_columns, cost : ndarray of int, shape (s,), and ndarray of shape (k, s)
        Second-stage columns and their costs.
    technology_entries, technology : ndarray of int, shape (t, 2), and ndarray of shape (k, t)
        Entries (row, first-stage column) of T.
    recourse_entries, recourse : ndarray of int, shape (w, 2), and ndarray of shape (k, w)
        Entries (row, second-stage column) of W.
    name : str
        Name of the block in error messages.

    Raises
    ------
    InvalidArgument
        Probabilities that are not positive or do not add up to 1 within 1e-4, arrays that do not fit.
    """

    __repr__ = one_line

    probabilities: Vector
    rows: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    rhs: NDArray[np.float64] | None = None
    cost_columns: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    cost: NDArray[np.float64] | None = None
    technology_entries: NDArray[np.intp] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.intp))
    technology: NDArray[np.float64] | None = None
    recourse_entries: NDArray[np.intp] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.intp))
    recourse: NDArray[np.float64] | None = None
    name: str = "block"

    def __post_init__(self) -> None:
        text("name", self.name)
        probabilities = floats("probabilities", self.probabilities)
        object.__setattr__(self, "probabilities", probabilities)
        if probabilities.ndim != 1:
            raise InvalidArgument(f"`probabilities` of {self.name} must have shape (k,), got {probabilities.shape}")
        if not (probabilities > 0).all():
            raise InvalidArgument(
                f"`probabilities` of {self.name} must be positive, got {probabilities.tolist()[:10]}; "
                "drop impossible outcomes"
            )
        total = float(probabilities.sum())
        if abs(total - 1.0) > 1e-4:
            raise InvalidArgument(f"`probabilities` of {self.name} must add up to 1, got {total:.6g}")
        for places, values in (
            ("rows", "rhs"),
            ("cost_columns", "cost"),
            ("technology_entries", "technology"),
            ("recourse_entries", "recourse"),
        ):
            where = _places(places, getattr(self, places))
            object.__setattr__(self, places, where)
            shape = (len(probabilities), len(where))
            given = getattr(self, values)
            array = np.zeros(shape) if given is None else floats(values, given)
            if array.shape != shape or not np.isfinite(array).all():
                raise InvalidArgument(
                    f"`{values}` of {self.name} must be finite, of shape {shape}, got shape {array.shape}"
                )
            object.__setattr__(self, values, array)

    def digest(self) -> str:
        """16 hexadecimal digits that tell this block from others, its name apart."""
        costs = self.cost_columns, self.cost, self.recourse_entries, self.recourse
        return digest(self.probabilities, self.rows, self.rhs, self.technology_entries, self.technology, *costs)


class TwoStageProblem:
    """``min c @ x + E[min q @ y : row_lower <= T @ x + W @ y <= row_upper, y_lower <= y <= y_upper]`` over x.

    The first stage is ``first_lower <= A @ x <= first_upper``, ``x_lower <= x <= x_upper``. The right-hand side of a
    row is its upper side, or its lower side where the upper is infinite; a random one moves both sides.

    Parameters
    ----------
    c : array_like of shape (n,)
        First-stage costs.
    q : array_like of shape (k,)
        Second-stage costs.
    T, W : array_like or sparse matrix of shape (m, n) and (m, k)
        Technology and recourse matrix.
    row_lower, row_upper : array_like of shape (m,)
        Sides of the second-stage rows; infinite where there is none.
    blocks : sequence of RandomBlock
        The entries that are random; none for a plain linear program.
    A : array_like or sparse matrix of shape (r, n), optional
        First-stage rows.
    first_lower, first_upper : array_like of shape (r,), optional
        Sides of the first-stage rows.
    x_lower, x_upper, y_lower, y_upper : float or array_like
        Bounds; default 0 and infinity.
    offset : float
        Constant of the objective.
    names : sequence of str, optional
        Names of the first-stage variables.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, NaN.
    """

    def __init__(
        self,
        c: ArrayLike,
        q: ArrayLike,
        T: Any,
        W: Any,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        blocks: Sequence[RandomBlock] = (),
        *,
        A: Any = None,
        first_lower: ArrayLike | None = None,
        first_upper: ArrayLike | None = None,
        x_lower: ArrayLike = 0.0,
        x_upper: ArrayLike = np.inf,
        y_lower: ArrayLike = 0.0,
        y_upper: ArrayLike = np.inf,
        offset: float = 0.0,
        names: Sequence[str] | None = None,
    ) -> None:
        self.c, self.q = _vector("c", c, None), _vector("q", q, None)
        n, k = self.c.size, self.q.size
        self.T, self.W = sparse_matrix("T", T), sparse_matrix("W", W)
        m = self.T.shape[0]
        self.A = sparse.csr_array((0, n)) if A is None else sparse_matrix("A", A)
        r = self.A.shape[0]
        for name, matrix, shape in (("T", self.T, (m, n)), ("W", self.W, (m, k)), ("A", self.A, (r, n))):
            if matrix.shape != shape or not np.isfinite(matrix.data).all():
                raise InvalidArgument(f"`{name}` must be finite, of shape {shape}, got shape {matrix.shape}")
        self.row_lower, self.row_upper = _vector("row_lower", row_lower, m), _vector("row_upper", row_upper, m)
        self.first_lower = _vector("first_lower", -np.inf if first_lower is None else first_lower, r)
        self.first_upper = _vector("first_upper", np.inf if first_upper is None else first_upper, r)
        self.x_lower, self.x_upper = _vector("x_lower", x_lower, n), _vector("x_upper", x_upper, n)
        self.y_lower, self.y_upper = _vector("y_lower", y_lower, k), _vector("y_upper", y_upper, k)
        self.offset = real("offset", offset)
        self.names = tuple(f"x{j}" for j in range(n)) if names is None else instances("names", names, str, "a str")
        if len(self.names) != n:
            raise InvalidArgument(f"`names` must be {n}, one per first-stage variable, got {len(self.names)}")
        self.blocks = instances("blocks", blocks, RandomBlock, "a RandomBlock")
        for block in self.blocks:
            for name, places, limits in (
                ("rows", block.rows[:, None], (m,)),
                ("cost_columns", block.cost_columns[:, None], (k,)),
                ("technology_entries", block.technology_entries, (m, n)),
                ("recourse_entries", block.recourse_entries, (m, k)),
            ):
                if places.size and ((places < 0).any() or (places >= np.array(limits)).any()):
                    raise InvalidArgument(f"`{name}` of {block.name} must lie below {limits}, got {places.max(axis=0)}")

    def __repr__(self) -> str:
        n, (m, k) = self.c.size, self.W.shape
        return (
            f"TwoStageProblem({n} + {k} variables, {self.A.shape[0]} + {m} rows, {len(self.blocks)} random blocks, "
            f"{shown(self.n_scenarios)} scenarios)"
        )

    def digest(self) -> str:
        """16 hexadecimal digits that tell this program from others, names apart."""
        first = self.c, self.A, self.first_lower, self.first_upper, self.x_lower, self.x_upper, self.offset
        second = self.q, self.T, self.W, self.row_lower, self.row_upper, self.y_lower, self.y_upper
        return digest(*first, *second, [block.digest() for block in self.blocks])

    @property
    def n_scenarios(self) -> int:
        """Number of joint outcomes, a Python int of any size."""
        return int(np.prod([len(block.probabilities) for block in self.blocks], dtype=object)) if self.blocks else 1

    @property
    def rhs(self) -> Vector:
        """Right-hand sides: the upper side, or the lower one where that is infinite."""
        return np.where(np.isfinite(self.row_upper), self.row_upper, self.row_lower)

    @property
    def only_rows_vary(self) -> bool:
        """Whether costs and recourse matrix are the same in all scenarios."""
        return not any(len(block.cost_columns) or len(block.recourse_entries) for block in self.blocks)

    def multiplier_boxes(self) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
        """Two boxes for the second stage's multipliers: that of the sides of its rows, and one of all feasible ones."""
        signs = (
            np.where(np.isfinite(self.row_upper), -np.inf, 0.0),
            np.where(np.isfinite(self.row_lower), np.inf, 0.0),
        )
        least, most, steady = self.q.copy(), self.q.copy(), np.ones(self.q.size)
        for block in self.blocks:
            if block.cost is not None and len(block.cost_columns):
                np.minimum.at(least, block.cost_columns, block.cost.min(axis=0))
                np.maximum.at(most, block.cost_columns, block.cost.max(axis=0))
            steady[block.recourse_entries[:, 1]] = 0.0
        W = sparse.csr_array(self.W @ sparse.diags_array(steady))
        return signs, multiplier_bounds(W, self.y_lower, self.y_upper, least, most, signs)

    def all_scenarios(self) -> tuple[NDArray[np.intp], Vector]:
        """Outcome of each block in each scenario, shape (n_scenarios, n_blocks), and the probabilities."""
        sizes = [len(block.probabilities) for block in self.blocks]
        outcomes = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), dtype=np.intp)
        probability = np.ones(len(outcomes))
        for block, chosen in zip(self.blocks, outcomes.T, strict=True):
            probability *= block.probabilities[chosen]
        return outcomes, probability

    def sample(self, count: int, seed: int) -> tuple[NDArray[np.intp], Vector]:
        """Draw scenarios independently, each of probability 1 / count; equal for an equal `seed`."""
        rng = np.random.default_rng(seed)
        draws = [
            rng.choice(len(block.probabilities), size=count, p=block.probabilities / block.probabilities.sum())
            for block in self.blocks
        ]
        outcomes = np.array(draws, dtype=np.intp).reshape(len(draws), count).T
        return outcomes, np.full(count, 1.0 / count)


def _places(name: str, given: ArrayLike) -> NDArray[np.intp]:
    places = floats(name, given, "an array of whole numbers")
    if not (places == np.rint(places)).all():
        raise InvalidArgument(f"`{name}` must be whole numbers, got {shown(places)}")
    return places.astype(np.intp)


def _vector(name: str, given: ArrayLike, size: int | None) -> Vector:
    array = floats(name, given)
    if np.isnan(array).any():
        raise InvalidArgument(f"`{name}` must be numbers, got NaN")
    if size is not None and array.ndim == 0:
        array = np.full(size, float(array))
    if array.ndim != 1 or (size is not None and array.size != size):
        raise InvalidArgument(f"`{name}` must have shape ({'n' if size is None else size},), got shape {array.shape}")
    return array
