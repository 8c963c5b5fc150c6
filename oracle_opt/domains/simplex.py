"""Nonnegative variables of a given sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import whole
from oracle_opt.arrays import Vector
from oracle_opt.domains.product_of_simplices import FAR, ProductOfSimplices


class Simplex(ProductOfSimplices):
    """``{z >= 0 : sum(z) == radius}``.

    Parameters
    ----------
    dimension : int
        Number of variables.
    radius : float
        Sum of the variables, default 1.

    Examples
    --------
    >>> import numpy as np
    >>> Simplex(2).project(np.array([2.0, 0.0])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, dimension: int, radius: float = 1.0) -> None:
        super().__init__([whole("dimension", dimension)], radius)

    def __repr__(self) -> str:
        return f"Simplex({self.dimension}, radius={self.radius:g})"

    def face(self, coordinates: NDArray[np.intp]) -> Simplex | None:
        """Return the simplex of these coordinates; `None` if there are none."""
        return Simplex(len(coordinates), self.radius) if len(coordinates) else None

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Put all on the smallest slope; bounds need this several times a call, and one block needs no search."""
        best = int(slope.argmin())
        point = np.zeros(self.dimension)
        point[best] = self.radius
        return self.radius * float(slope[best]), point

    def extent(self, slope: Vector) -> float:
        """All on the largest slope."""
        sizes = np.abs(slope)
        return self.radius * float(sizes[sizes.argmax()])

    def minimum_rounding(self, slope: Vector) -> float:
        """Return 0: one product is rounded as any minimum is, which is counted for all domains."""
        return 0.0

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Nearest point, exact by sorting; as for a product, without its padding."""
        inverse = np.ones(self.dimension) if metric is None else 1.0 / metric
        breakpoints = point if metric is None else point * metric
        order = np.argsort(-breakpoints)
        nu = (np.cumsum(point[order]) - self.radius) / np.cumsum(inverse[order])
        last = max(int(np.count_nonzero(breakpoints[order] > nu)) - 1, 0)
        top = breakpoints[order[0]]
        if abs(nu[last]) > FAR * (top - nu[last]):
            return self.project(point - top * inverse, metric)
        result: Vector = np.maximum(point - nu[last] * inverse, 0.0)
        return result
