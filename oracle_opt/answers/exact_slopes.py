"""On which coordinates the slopes of a cut are exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
from oracle_opt.errors import InvalidCut

if TYPE_CHECKING:
    from oracle_opt.cuts import ObjectiveCut


@dataclass(frozen=True, eq=False, repr=False)
class ExactSlopes(Answer):
    """The slopes on these coordinates are those of a subgradient, those on the others at most that: the cut is valid.

    It answers a `PartialQuery`, on a domain of variables that are not negative. A cut without this answer has a
    subgradient on all coordinates.

    Parameters
    ----------
    coordinates : ndarray of int, shape (k,)
        In increasing order.
    """

    words = "slopes that are exact on some coordinates alone"
    wished = False

    coordinates: NDArray[np.intp]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The coordinates."""
        return {"coordinates": self.coordinates}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ExactSlopes:
        """The answer of these coordinates."""
        return cls(arrays["coordinates"])

    def check(self, cut: ObjectiveCut) -> None:
        """Refuse what are not coordinates of the cut's point, in increasing order."""
        check_coordinates(self.coordinates, cut.point.size, "ExactSlopes")

    def on_face(self, coordinates: NDArray[np.intp]) -> ExactSlopes | None:
        """Which of these variables have an exact slope; `None` if all have."""
        exact = np.flatnonzero(np.isin(coordinates, self.coordinates, assume_unique=True))
        return None if exact.size == coordinates.size else ExactSlopes(exact)


def check_coordinates(coordinates: NDArray[np.intp], dimension: int, whose: str) -> None:
    """Raise `InvalidCut` unless these are coordinates of a point of so many, in increasing order."""
    fits = type(coordinates) is np.ndarray and coordinates.ndim == 1 and coordinates.dtype.kind == "i"
    if not (fits and (np.diff(coordinates, prepend=-1, append=dimension) > 0).all()):
        raise InvalidCut(
            f"`coordinates` of {whose} must be whole numbers from 0 to {dimension - 1} in increasing order, "
            f"got {coordinates!r}"
        )


def places(some: NDArray[np.intp], among: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Where numbers stand among others, both in increasing order; `None` if not all of them do."""
    where = np.searchsorted(among, some)
    found = where.size == 0 or (where[-1] < among.size and np.array_equal(among[where], some))
    return where if found else None
