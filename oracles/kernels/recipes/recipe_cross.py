"""Fitted recipes with the points they were fitted on: kernels between new points and those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector, digest, fingerprint
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import checked_vector
from oracle_opt.oracles.kernels.base import Indices, KeptKernels
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, Table
from oracle_opt.oracles.kernels.recipes.points_table import placed_columns, points_of, table_of
from oracle_opt.oracles.kernels.source import Source
from oracle_opt.words import shown


@dataclass(frozen=True, eq=False)
class Scaling:
    """Standardizes columns: less a center, of sparse points none, and over a spread, infinite where one is constant."""

    center: Vector | None = None
    spread: Vector | None = None

    def __call__(self, Z: Table) -> Table:
        """The columns, standardized."""
        if self.spread is None:
            return Z
        if sparse.issparse(Z):
            scaled = sparse.csr_array(Z.multiply(1.0 / self.spread))
            scaled.eliminate_zeros()
            return scaled
        return (Z - self.center) / self.spread


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns that training points had."""

    n_columns: int
    names: tuple[str, ...] | None

    def label(self, column: int) -> str:
        """Name of a column; x0, x1, ... where there are none."""
        return f"x{column}" if self.names is None else self.names[column]

    def table(self, new: Any, columns: Indices) -> Table:
        """Columns of new points, see `points_of`, that are these of the training points."""
        return table_of(new, placed_columns(new, columns, self.names, self.n_columns, "new"), "new")


@dataclass(frozen=True, eq=False)
class KernelTerm:
    """The kernels of one fitted recipe on some columns."""

    group: str
    columns: Indices
    scaling: Scaling
    fitted: FittedKernels
    points: Table

    @property
    def numbers(self) -> range:
        """Numbers of its kernels."""
        return range(len(self.fitted.labels))

    def matrices(self, A: Table, B: Table, numbers: Sequence[int]) -> Iterator[Matrix]:
        """Yield kernels as `FittedKernels.matrices` does, or refuse what is no matrix of theirs."""
        made, wanted = iter(self.fitted.matrices(A, B, numbers)), (A.shape[0], B.shape[0])
        for number in numbers:
            matrix = next(made, None)
            if not isinstance(matrix, np.ndarray) or matrix.shape != wanted or matrix.dtype.kind not in "fiub":
                name = f"{self.fitted.labels[number]} of {self.group}"
                raise InvalidArgument(
                    f"the kernel {name!r} must be an array of real numbers of shape {wanted}, one for each number that "
                    f"{type(self.fitted).__name__}.matrices is asked for, got {shown(matrix)}"
                )
            yield matrix if matrix.dtype == np.float64 else matrix.astype(float)

    def kept(self, numbers: Sequence[int], some: Indices, points: Table | None = None) -> KernelTerm:
        """Some of the kernels on some of the points, which may be at hand already, and nothing else."""
        Z = self.points[some] if points is None else points
        return replace(self, points=Z, fitted=self.fitted.kept(numbers, Z))


class RecipeCross(KeptKernels):
    """Kernels of fitted recipes between new points and the recipes' points, before any scaling."""

    by_rows = True

    def __init__(
        self, terms: Sequence[KernelTerm], chosen: Sequence[tuple[int, int]], names: Sequence[str], layout: Layout
    ) -> None:
        self.terms, self.chosen, self.names, self.layout = tuple(terms), tuple(chosen), tuple(names), layout
        self.n_kernels, self.n_points = len(self.chosen), int(self.terms[0].points.shape[0])

    def label(self, k: int) -> tuple[str, str]:
        """Name and group of kernel k."""
        return self.names[k], self.terms[self.chosen[k][0]].group

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of kernels between new points and the recipes' points, shape (m, n)."""
        points, total = points_of(new, "new"), None
        for matrix, weight in self._matrices(points, checked_vector(weights, self.n_kernels, "weights")):
            matrix *= weight
            total = matrix if total is None else np.add(total, matrix, out=total)
        return np.zeros((points.shape[0], self.n_points)) if total is None else total

    def subset(self, which: Indices) -> RecipeCross:
        """Some of the kernels, on all points."""
        kernels = which.tolist()
        chosen, names = [self.chosen[k] for k in kernels], [self.names[k] for k in kernels]
        return RecipeCross(self.terms, chosen, names, self.layout)

    def kept(self, which: Indices, points: Indices) -> RecipeCross:
        """Some of the kernels on some of the points, and nothing else; terms that share points go on sharing them."""
        chosen = [self.chosen[k] for k in which.tolist()]
        used = sorted({term for term, _ in chosen})
        tables: dict[int, Table] = {}
        terms = []
        for t in used:
            of = self.terms[t]
            if id(of.points) not in tables:
                tables[id(of.points)] = of.points[points]
            numbers = [number for term, number in chosen if term == t]
            terms.append(of.kept(numbers, points, tables[id(of.points)]))
        places = [(used.index(term), number) for term, number in chosen]
        return RecipeCross(terms, places, [self.names[k] for k in which.tolist()], self.layout)

    def _matrices(self, new: Any, weights: Vector) -> Iterator[tuple[Matrix, float]]:
        by_term: dict[int, list[tuple[int, float]]] = {}
        for k in np.flatnonzero(weights).tolist():
            term, number = self.chosen[k]
            by_term.setdefault(term, []).append((number, float(weights[k])))
        tables: dict[int, Table] = {}
        for term, pairs in by_term.items():
            of = self.terms[term]
            if id(of.points) not in tables:
                tables[id(of.points)] = of.scaling(self.layout.table(new, of.columns))
            matrices = of.matrices(tables[id(of.points)], of.points, [number for number, _ in pairs])
            for matrix, (_, weight) in zip(matrices, pairs, strict=True):
                yield matrix, weight


class RecipeKernels(Source):
    """The kernels of a fitted recipe, which state how exact they are, as a source."""

    def __init__(self, term: KernelTerm, scales: Vector, rounding: float = 0.0) -> None:
        self.term, self.scales, self.rounding = term, np.asarray(scales, dtype=float), rounding
        self.points, self.n_kernels = term.points, len(term.numbers)
        assert term.fitted.exactness is not None
        # A factor rounds once more.
        self.entry_error = float(term.fitted.exactness) + EPS

    def entries(self, left: Table, right: Table, kernels: Indices) -> NDArray[np.float64]:
        """Entries of some kernels, see `Source.entries`."""
        found = np.empty((left.shape[0], right.shape[0], kernels.size))
        for i, matrix in enumerate(self.term.matrices(left, right, kernels.tolist())):
            np.multiply(matrix, self.scales[kernels[i]], out=found[:, :, i])
        return found

    def weighted(self, left: Table, right: Table, kernels: Indices, weights: Vector) -> Matrix:
        """Weighted sum of some kernels, see `Source.weighted`: one matrix after the other."""
        total, d = np.zeros((left.shape[0], right.shape[0])), (self.scales[kernels] * weights).tolist()
        for weight, matrix in zip(d, self.term.matrices(left, right, kernels.tolist()), strict=True):
            matrix *= weight
            total += matrix
        return total

    def products(self, left: Table, right: Table, kernels: Indices, v: Vector) -> Matrix:
        """Entries of some kernels times a vector, see `Source.products`: one matrix after the other."""
        found = np.empty((kernels.size, left.shape[0]))
        for i, matrix in enumerate(self.term.matrices(left, right, kernels.tolist())):
            np.matmul(matrix, v, out=found[i])
        found *= self.scales[kernels, None]
        return found.T

    def label(self, k: int) -> tuple[str, str]:
        """Name and group of a kernel."""
        return f"{self.term.fitted.labels[k]} of {self.term.group}", self.term.group

    def digest(self, kernels: Indices) -> str:
        """16 hexadecimal digits that tell these kernels from others; functions of users count by their names."""
        fitted = fingerprint(self.term.fitted)
        return digest("evaluated", self.points, fitted, kernels.tolist(), self.scales[kernels])

    def kept(self, kernels: Indices, points: Indices) -> RecipeKernels:
        """The same for some points and some kernels, with no other data."""
        return RecipeKernels(self.term.kept(kernels.tolist(), points), self.scales, self.rounding)
