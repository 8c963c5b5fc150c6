"""Fitted recipes with the points they were fitted on: kernels between new points and those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.recipes.columns import table_of
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, Table


@dataclass(frozen=True, eq=False)
class Scaling:
    """What standardizes columns: subtracts a center, of sparse points none, and divides by a spread; None: nothing."""

    center: Vector | None = None
    spread: Vector | None = None

    def __call__(self, Z: Table) -> Table:
        """The columns, standardized."""
        if self.spread is None:
            return Z
        return (
            sparse.csr_array(Z.multiply(1.0 / self.spread)) if sparse.issparse(Z) else (Z - self.center) / self.spread
        )


@dataclass(frozen=True, eq=False)
class KernelTerm:
    """The kernels of one fitted recipe on some columns.

    Attributes
    ----------
    group : str
        Name of the group in tables of weights.
    columns : ndarray of int
        Columns of a point that are looked at.
    scaling : Scaling
    fitted : FittedKernels
    points : ndarray or csr_array of shape (n, columns)
        Training points, standardized.
    """

    group: str
    columns: Indices
    scaling: Scaling
    fitted: FittedKernels
    points: Table

    def seen(self, X: Any) -> Table:
        """The columns of points, standardized."""
        return self.scaling(table_of(X, self.columns))


class RecipeCross:
    """`CrossKernels` of fitted recipes.

    Parameters
    ----------
    terms : sequence of KernelTerm
    chosen : sequence of tuple (int, int)
        Of each kernel its term and its number there.
    n_columns : int
        Number of columns of a point.
    """

    def __init__(self, terms: Sequence[KernelTerm], chosen: Sequence[tuple[int, int]], n_columns: int) -> None:
        self.terms, self.chosen, self.n_columns = tuple(terms), tuple(chosen), n_columns

    def label(self, k: int) -> tuple[str, str]:
        """Name and group of kernel k."""
        term, number = self.chosen[k]
        of = self.terms[term]
        return f"{of.fitted.labels[number]} of {of.group}", of.group

    def cross(self, new: Any, which: NDArray[np.intp], weights: Vector) -> Matrix:
        """Weighted sum of kernels between new points and those of the recipes, shape (m, n)."""
        self._check(new)
        total: Matrix | None = None
        for matrix, weight in self._matrices(new, which.tolist(), weights.tolist()):
            matrix *= weight
            total = matrix if total is None else np.add(total, matrix, out=total)
        if total is None:
            raise InvalidArgument("`weights` must not be all zero")
        return total

    def kept(self, which: Indices, points: Indices) -> RecipeCross:
        """Some of the kernels on some of the points, and nothing else."""
        chosen = [self.chosen[k] for k in which.tolist()]
        used = sorted({term for term, _ in chosen})
        terms = [replace(self.terms[term], points=self.terms[term].points[points]) for term in used]
        return RecipeCross(terms, [(used.index(term), number) for term, number in chosen], self.n_columns)

    def _matrices(self, new: Any, which: list[int], weights: list[float]) -> Iterator[tuple[Matrix, float]]:
        by_term: dict[int, list[tuple[int, float]]] = {}
        for k, weight in zip(which, weights, strict=True):
            term, number = self.chosen[k]
            by_term.setdefault(term, []).append((number, weight))
        for term, pairs in by_term.items():
            of = self.terms[term]
            matrices = of.fitted.matrices(of.seen(new), of.points, [number for number, _ in pairs])
            for matrix, (_, weight) in zip(matrices, pairs, strict=True):
                yield matrix, weight

    def _check(self, new: Any) -> None:
        shape = getattr(new, "shape", None) or np.shape(new)
        if len(shape) != 2 or shape[1] != self.n_columns:
            raise InvalidArgument(f"`new` must be points of {self.n_columns} columns, got shape {shape}")
