"""A query that needs exact slopes on some coordinates only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle_opt.cuts import Query


@dataclass(frozen=True, eq=False, kw_only=True)
class PartialQuery(Query):
    """A point with few nonzero coordinates of a domain in ``z >= 0``, and on which coordinates slopes have to be exact.

    Where a slope on another coordinate takes work, an oracle may answer any number below it: as the variables are not
    negative, the cut stays valid. It then says so by the answer `ExactSlopes`. Second derivatives are wanted on the
    coordinates alone. Other oracles take it as a query like others.

    Attributes
    ----------
    coordinates : ndarray of int, shape (k,)
        In increasing order; all nonzero coordinates of the point are among them.
    """

    coordinates: NDArray[np.intp]

    def repeats(self, previous: Query) -> bool:
        """Slopes on other coordinates are another question, at the same point, too."""
        return (
            super().repeats(previous)
            and isinstance(previous, PartialQuery)
            and np.array_equal(self.coordinates, previous.coordinates)
        )
