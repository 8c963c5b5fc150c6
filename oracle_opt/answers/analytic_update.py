"""The next point of a method that alternates between blocks of variables in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidCut

if TYPE_CHECKING:
    from oracle_opt.cuts import ObjectiveCut


@dataclass(frozen=True, eq=False, repr=False)
class AnalyticUpdate(Answer):
    """Where f is at most what it is here: the variables that are best once the oracle's own are held.

    Parameters
    ----------
    point : ndarray of shape (n,)
        The update; it need not lie in the domain exactly, up to rounding say: project it.
    """

    words = "analytic updates"

    point: Vector

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The point."""
        return {"point": self.point}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> AnalyticUpdate:
        """The answer of this point."""
        return cls(arrays["point"])

    def check(self, cut: ObjectiveCut) -> None:
        """Refuse what is not a finite point of as many variables."""
        point = self.point
        fits = type(point) is np.ndarray and point.shape == cut.point.shape and point.dtype.kind == "f"
        if not (fits and np.isfinite(point).all()):
            raise InvalidCut(
                f"`point` of an AnalyticUpdate must be a finite array of shape {cut.point.shape}, got {point!r}"
            )

    def on_face(self, coordinates: NDArray[np.intp]) -> AnalyticUpdate | None:
        """The update of these variables, if it leaves the others at 0."""
        point = self.point[coordinates]
        return AnalyticUpdate(point) if np.count_nonzero(point) == np.count_nonzero(self.point) else None
