"""Second derivatives at the query point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
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
    """

    words = "second derivatives"

    factor: Matrix

    def arrays(self) -> dict[str, NDArray[Any]]:
        """R."""
        return {"factor": self.factor}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Curvature:
        """The answer of this R."""
        return cls(arrays["factor"])

    def check(self, cut: ObjectiveCut) -> None:
        """Refuse what is not a finite matrix with a column per variable."""
        factor, n = self.factor, len(cut.point)
        fits = type(factor) is np.ndarray and factor.ndim == 2 and factor.shape[1] == n
        if not (fits and factor.dtype.kind == "f" and isfinite(float(np.vdot(factor, factor)))):
            raise InvalidCut(f"`factor` of a Curvature must be a finite array of shape (r, {n}), got {factor!r}")
