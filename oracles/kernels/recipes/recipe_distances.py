"""The Gaussian kernels of a list as distances: a product of them, whose widths are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.distances import GivenDistances
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_recipe import Table
from oracle_opt.oracles.kernels.recipes.list_plan import Plan
from oracle_opt.oracles.kernels.recipes.points_table import points_of
from oracle_opt.oracles.kernels.recipes.recipe_cross import Layout, Scaling
from oracle_opt.oracles.kernels.recipes.weighted import squared_distances


@dataclass(frozen=True, eq=False)
class DistanceTerm:
    """Squared distances of points on some columns, in units of their mean over the training points.

    Attributes
    ----------
    group : str
    columns : ndarray of int
    scaling : Scaling
    unit : float
        Weighted mean of the squared distances of all pairs of training points.
    points : ndarray or csr_array of shape (n, columns)
        Standardized.
    """

    group: str
    columns: Indices
    scaling: Scaling
    unit: float
    points: Table


class KeptRecipeDistances:
    """Distances between new points and some of the training points.

    Parameters
    ----------
    terms : sequence of DistanceTerm
        One for each distance.
    layout : Layout
        Columns of the training points.
    """

    def __init__(self, terms: Sequence[DistanceTerm], layout: Layout) -> None:
        self.terms, self.layout = tuple(terms), layout
        self.shape = len(self.terms), int(self.terms[0].points.shape[0])

    def cross(self, new: Any, d: Vector) -> Matrix:
        """``sum(d_k D_k)`` between new points and those kept, ndarray of shape (m, n)."""
        points = points_of(new, "new")
        total = np.zeros((points.shape[0], self.shape[1]))
        for k in np.flatnonzero(d).tolist():
            of = self.terms[k]
            seen = of.scaling(self.layout.table(points, of.columns))
            total += squared_distances(seen, of.points) * (d[k] / of.unit)
        return total

    def kept(self, which: Indices, points: Indices) -> KeptRecipeDistances:
        """Some of the distances, to some of the points, and nothing else."""
        terms = [replace(self.terms[k], points=self.terms[k].points[points]) for k in which.tolist()]
        return KeptRecipeDistances(terms, self.layout)


class RecipeDistances(GivenDistances):
    """Distances of all pairs of training points on each of several sets of columns, kept as condensed vectors.

    Parameters
    ----------
    between : KeptRecipeDistances
        Of all training points.
    """

    def __init__(self, between: KeptRecipeDistances) -> None:
        self._between = between
        distances = []
        for of in between.terms:
            D = squared_distances(of.points, of.points) / of.unit
            np.fill_diagonal(D, 0.0)
            distances.append(0.5 * (D + D.T))
        super().__init__(distances, False)

    @classmethod
    def of_plan(cls, plan: Plan) -> RecipeDistances:
        """Those of the columns of the Gaussian kernels of a list; widths are not looked at, as they are learned.

        Raises
        ------
        InvalidArgument
            A kernel is not Gaussian.
        """
        terms: dict[bytes, DistanceTerm] = {}
        share = plan.weights / plan.weights.sum()
        for place in plan.places:
            if not isinstance(place.recipe, GaussianKernels):
                raise InvalidArgument(
                    f"`kernels` of a product must be GaussianKernels, got {place.recipe!r}: "
                    "a product learns the widths of distances, one for each group of columns"
                )
            key = place.columns.tobytes()
            if key not in terms:
                scaling, Z = plan.table(place)
                unit = float(share @ squared_distances(Z, Z) @ share)
                terms[key] = DistanceTerm(place.group, place.columns, scaling, unit, Z)
        return cls(KeptRecipeDistances(list(terms.values()), plan.layout))

    def cross(self, new: Any, d: Vector) -> Matrix:
        """``sum(d_k D_k)`` between new points and those of the bank, ndarray of shape (m, n)."""
        return self._between.cross(new, d)

    def label(self, k: int) -> tuple[str, str]:
        """Name of a distance, and of its group."""
        group = self._between.terms[k].group
        return f"squared distance of {group}", group

    def kept(self, which: Indices, points: Indices) -> KeptRecipeDistances:
        """Some of the distances, between new points and some of the points, and nothing else."""
        return self._between.kept(which, points)

    def on(self, points: Indices) -> RecipeDistances:
        """All distances on some of the training points, in the same units."""
        return RecipeDistances(self._between.kept(np.arange(self.shape[0]), points))
