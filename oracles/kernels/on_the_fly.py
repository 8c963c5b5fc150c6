"""The base of banks whose kernels are computed from the points whenever they are needed."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import (
    checked_indices,
    checked_kernels,
    checked_vector,
)
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.kernels.family_points import FamilyPoints, SharedPoints
from oracle_opt.oracles.kernels.family_sums import KernelFamily, SumTerm, TableTerm, add_terms
from oracle_opt.oracles.kernels.joined_bank import Numbering, entries_array, kernels_of
from oracle_opt.oracles.kernels.kept_kernels import KeptPart
from oracle_opt.oracles.kernels.points import (
    Points,
    checked_new,
    checked_points,
    columns_in_words,
    mirror,
    of_features,
    parts,
)
from oracle_opt.words import shown

# Points of a block of a sum that are copied at a time.
POINTS_AT_ONCE = 2048


F = TypeVar("F", bound=KernelFamily)


class OnTheFlyBank(KernelBank, Generic[F]):
    """A bank of families of kernels, each a function of the distances or products of points on some features."""

    _families: Sequence[F]
    _numbering: Numbering
    # One factor of all kernels, or one for each: shape (p,).
    _scales: float | Vector

    def _placed(
        self,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        given: tuple[str, Sequence[ArrayLike], str, Sequence[ArrayLike]],
        single: bool,
        block_bytes: int,
    ) -> list[FamilyPoints]:
        """Take the points up, and return what each family sees of them; families on the same features share it."""
        points = checked_points(X, "X")
        self.n_points, self._n_columns = points.shape
        for name, value in (given[:2], given[2:]):
            if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
                raise InvalidArgument(f"`{name}` must be a sequence, one entry per family, got {shown(value)}")
        sizes = len(given[1]), len(given[3])
        if sizes[0] == 0 or sizes[0] != sizes[1]:
            raise InvalidArgument(
                f"`{given[0]}` and `{given[2]}` must have one entry per family, got {sizes[0]} and {sizes[1]}"
            )
        subsets = [checked_features(f, self._n_columns) for f in given[1]]
        self._block_size = max(whole("block_bytes", block_bytes) // 8, 1)
        self._shared = SharedPoints(points, single)
        by_column = points.tocsc() if sparse.issparse(points) else points
        misplaced = np.zeros(len(subsets))
        if single and not sparse.issparse(points):
            misplaced = self._shared.misplaced(subsets)
        seen: dict[bytes, FamilyPoints] = {}
        for f, off in zip(subsets, misplaced.tolist(), strict=True):
            if f.tobytes() not in seen:
                seen[f.tobytes()] = FamilyPoints(self._shared, by_column, f, off)
        return [seen[f.tobytes()] for f in subsets]

    def _take(self, families: Sequence[F], numbering: Numbering, scales: float | Vector) -> None:
        """Become the bank of these families."""
        self._families, self._numbering, self._scales = families, numbering, scales
        self.n_kernels = numbering.n_kernels
        self.features = tuple(family.points.features for family in families)
        self.exactness = max(family.exactness for family in families)

    def subset(self, kernels: ArrayLike) -> Self:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`; it shares the points.

        Its `features` and parameters are those of the families that have such kernels.
        """
        which = checked_kernels(kernels, self.n_kernels)
        numbering, chosen = self._numbering.subset(which)
        families: list[F] = [self._families[i].chosen(at) for i, at in chosen]  # type: ignore[misc]
        bank = type(self).__new__(type(self))
        of_all = ("sizes", "_unscaled", "_precise")  # what was computed of all kernels
        vars(bank).update({name: value for name, value in vars(self).items() if name not in of_all})
        bank._take(families, numbering, self._scales if isinstance(self._scales, float) else self._scales[which])
        return bank

    def _combine(self, d: Vector, K: Matrix) -> None:
        every = np.arange(self.n_points)
        K[:] = 0.0
        self._add(every, every, self._scales * d, K, lower=True)
        mirror(K)

    def _block(self, d: Vector, rows: Indices, columns: Indices) -> Matrix:
        found, same = np.zeros((rows.size, columns.size)), np.array_equal(rows, columns)
        self._add(rows, columns, self._scales * d, found, lower=same)
        if same:
            mirror(found)
        return found

    def _forms(self, x: Vector) -> Vector:
        forms = np.zeros(self.n_kernels)
        for family, part in self._one_by_one():
            forms[part] = family.forms(x)
        forms *= self._scales
        return forms

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        products = np.zeros((rows.size, self.n_kernels))  # those that a subclass adds are scaled, too
        for family, part in self._one_by_one():
            products[:, part] = family.products(rows, x, self._block_size)
        products *= self._scales
        return products

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        which = checked_indices(rows, self.n_points, "rows")
        others = checked_indices(columns, self.n_points, "columns")
        found = entries_array(which.size, others.size, self.n_kernels, len(self._families))
        scale = self._scales if isinstance(self._scales, float) else 1.0
        for family, part in self._one_by_one():
            with kernels_of(found, part) as out:
                family.entries(which, others, scale, out)
        if not isinstance(self._scales, float):
            found *= self._scales
        return found

    def cross(self, new: ArrayLike | sparse.spmatrix | sparse.sparray, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points, shape (m, columns), and these, see `KernelBank.cross`."""
        d = self._scales * checked_vector(weights, self.n_kernels, "weights")
        points = checked_new(new, self._n_columns)
        if sparse.issparse(self._shared.rows):
            points = sparse.csr_array(points)
        elif sparse.issparse(points):
            points = points.toarray()
        placed, total = self._shared.placed(points), np.zeros((points.shape[0], self.n_points))
        for family, part in self._all():
            if d[part].any():
                family.sums.add_new(placed, *family.at_nodes(d[part]), total)
        return total

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptPart:
        """Some kernels between new points and some points, see `KernelBank.kept`; in the same precision.

        Held are these points, as they were given, on the columns that the kernels look at.
        """
        some = self.subset(kernels)
        which = checked_indices(points, self.n_points, "points")
        columns = np.unique(np.concatenate(some.features))
        features = [np.searchsorted(columns, f) for f in some.features]
        build = some._alone(self._shared.given(which, columns), features)
        prepare = SomeColumns(columns, self._n_columns)
        return KeptPart(build, some.n_kernels, which.size, order=some._numbering.order, prepare=prepare)

    @abstractmethod
    def _alone(self, points: Points, features: list[Indices]) -> Callable[[], KernelBank]:
        """What makes these kernels on other points, whose columns the families look at, one family after the other."""

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group, which are its columns, see `KernelBank.label`."""
        part, number = self._numbering.place(k)
        family = self._families[part]
        group = columns_in_words(family.points.features, self._n_columns)
        return f"{family.label(number)} of {group}", group

    def _all(self) -> Iterator[tuple[F, slice | Indices]]:
        """The families, and which kernels are theirs."""
        return zip(self._families, self._numbering.parts, strict=True)

    def _one_by_one(self) -> Iterator[tuple[F, slice | Indices]]:
        """The families that are asked one by one where all kernels are wanted."""
        return self._all()

    def _add(self, rows: Indices, columns: Indices, d: Vector, out: Matrix, lower: bool) -> None:
        """Add a weighted sum, or what is on and below the diagonal of it; points are copied block by block."""
        used = [(family, d[part]) for family, part in self._all() if d[part].any()]
        wanted = [(family, *family.at_nodes(weights), weights) for family, weights in used]
        size = max(min(self._block_size // self._n_columns, POINTS_AT_ONCE), 1)
        for top in parts(rows.size, size):
            for left in parts(columns.size, size):
                if lower and left.start >= top.stop:
                    continue
                terms: list[SumTerm | TableTerm] = []
                for family, speeds, at_nodes, weights in wanted:
                    a, b = family.points.index[rows[top]], family.points.index[columns[left]]
                    if family.table is None:
                        terms.append(SumTerm(family.sums, a, b, speeds, at_nodes))
                    else:
                        u = family.points.n_distinct
                        terms.append(TableTerm((family.table @ weights).reshape(u, u), a, b))
                add_terms(terms, out[top, left], top.start, left.start if lower else None)


def checked_features(features: ArrayLike, n_columns: int) -> Indices:
    """Return the features of a family, or raise `InvalidArgument` unless they are columns."""
    which = checked_indices(features, n_columns, "features")
    if which.size == 0:
        raise InvalidArgument("`features` must have a column in each entry, got an empty one")
    return which


class SomeColumns:
    """Some columns of new points."""

    def __init__(self, columns: Indices, n_columns: int) -> None:
        self.columns, self.n_columns = columns, n_columns

    def __call__(self, new: Any) -> Any:
        """These columns, of points that have all of them."""
        points = checked_new(new, self.n_columns)
        return of_features(points.tocsc() if sparse.issparse(points) else points, self.columns)
