"""Random blocks of a two-stage program: entries that vary together, and their probabilities."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import floats, instances, real, text
from oracle_opt.arrays import Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.mps import INFINITE
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
    labels : sequence of k objects
        What the outcomes are called, as the index of a DataFrame; default: they have numbers alone.
    total : float
        What the probabilities add up to, default 1. Of a published program that has them rounded they are weights.

    Raises
    ------
    InvalidArgument
        Probabilities that are not positive or do not add up to the total within 1e-9, arrays that do not fit.
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
    labels: Sequence[Hashable] = ()
    total: float = 1.0

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
        total = real("total", self.total, above=0.0)
        if abs(probabilities.sum() - total) > 1e-9:
            raise InvalidArgument(
                f"`probabilities` of {self.name} must add up to {total:.9g}, got {probabilities.sum():.9g}; divide "
                "them by their sum, as `rescale=True` does in files"
            )
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
            if array.shape != shape or not (np.abs(array) < INFINITE).all():
                raise InvalidArgument(
                    f"`{values}` of {self.name} must be finite, below {INFINITE:g} in size and of shape {shape}, got "
                    f"shape {array.shape}, up to {np.abs(array).max(initial=0.0):g}"
                )
            object.__setattr__(self, values, array)
        labels = instances("labels", self.labels, Hashable, "a word or number")
        object.__setattr__(self, "labels", labels)
        if len(labels) not in (0, len(probabilities)):
            raise InvalidArgument(
                f"`labels` of {self.name} must be {len(probabilities)}, one an outcome, got {len(labels)}"
            )

    def digest(self) -> str:
        """16 hexadecimal digits that tell this block from others, its name and labels apart."""
        costs = self.cost_columns, self.cost, self.recourse_entries, self.recourse
        return digest(self.probabilities, self.rows, self.rhs, self.technology_entries, self.technology, *costs)


def _places(name: str, given: ArrayLike) -> NDArray[np.intp]:
    places = floats(name, given, "an array of whole numbers")
    if not (places == np.rint(places)).all():
        raise InvalidArgument(f"`{name}` must be whole numbers, got {shown(places)}")
    return places.astype(np.intp)
