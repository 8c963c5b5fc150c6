"""Second derivatives at the query point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
from oracle_opt.answers.exact_slopes import check_coordinates, places
from oracle_opt.arrays import Matrix
from oracle_opt.errors import InvalidCut

if TYPE_CHECKING:
    from oracle_opt.cuts import ObjectiveCut


@dataclass(frozen=True, eq=False, repr=False)
class Curvature(Answer):
    """A factor R of the Hessian ``R.T @ R`` at the point of a cut.

    Parameters
    ----------
    factor : ndarray of shape (r, n)
        R. With fewer rows than variables it costs less than the Hessian.
    coordinates : ndarray of int, shape (k,), optional
        The variables that the columns of R belong to, in increasing order: then R has shape (r, k) and is told of these
        variables alone, for a `PartialQuery`. Default: all.
    """

    words = "second derivatives"

    factor: Matrix
    coordinates: NDArray[np.intp] | None = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """R, and the coordinates if it is told of some alone."""
        told = {"factor": self.factor}
        return told if self.coordinates is None else {**told, "coordinates": self.coordinates}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Curvature:
        """The answer of this R."""
        return cls(arrays["factor"], arrays.get("coordinates"))

    def check(self, cut: ObjectiveCut) -> None:
        """Refuse what is not a finite matrix with a column per variable that it is told of."""
        factor, n = self.factor, len(cut.point)
        if self.coordinates is not None:
            check_coordinates(self.coordinates, n, "a Curvature")
            n = len(self.coordinates)
        fits = type(factor) is np.ndarray and factor.ndim == 2 and factor.shape[1] == n
        if not (fits and factor.dtype.kind == "f" and isfinite(float(np.vdot(factor, factor)))):
            raise InvalidCut(f"`factor` of a Curvature must be a finite array of shape (r, {n}), got {factor!r}")

    def on_face(self, coordinates: NDArray[np.intp]) -> Curvature | None:
        """Its columns of these variables; `None` if it is not told of all of them."""
        if self.coordinates is None:
            return Curvature(self.factor[:, coordinates])
        if np.array_equal(self.coordinates, coordinates):
            return Curvature(self.factor)
        where = places(coordinates, self.coordinates)
        return None if where is None else Curvature(self.factor[:, where])
