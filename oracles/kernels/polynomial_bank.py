"""Polynomial kernels computed from the points whenever they are needed; those on the same features share products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arguments import floats, real
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.family_points import FamilyPoints
from oracle_opt.oracles.kernels.family_sums import FamilySums, KernelFamily
from oracle_opt.oracles.kernels.joined_bank import Numbering
from oracle_opt.oracles.kernels.on_the_fly import OnTheFlyBank
from oracle_opt.oracles.kernels.points import Points
from oracle_opt.words import shown

# The largest degree.
MOST = 64


class PolynomialFamily(KernelFamily):
    """Kernels ``(1 + x @ y)**t`` on some features: see docs/theory_smooth_mkl.md, "Polynomial kernels", for errors."""

    def __init__(self, points: FamilyPoints, degrees: Vector) -> None:
        self.degrees = degrees
        super().__init__(points, FamilySums(points, single=False, precise=True, polynomial=True), degrees)
        self.exactness = 0.5 * EPS * float(degrees.max()) * (points.most_entries + 5.0)

    def label(self, k: int) -> str:
        """The name of a kernel, without its features."""
        return f"polynomial(degree={self.degrees[k]:.0f})"

    def chosen(self, kernels: Indices) -> PolynomialFamily:
        """Some of the kernels on the same points."""
        return PolynomialFamily(self.points, self.degrees[kernels])

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, w)."""
        with np.errstate(over="ignore"):
            powers: Matrix = (1.0 + self.points.norms()[:, None]) ** self.degrees
        return powers[self.points.index]


class PolynomialBank(OnTheFlyBank[PolynomialFamily]):
    """Kernels ``scale * (1 + x @ y)**t`` of the points on some features, computed on the fly.

    As `RBFBank`: nothing of size ``p * n**2`` is kept, and nothing of size ``n**2`` but what `combine` returns.

    Parameters
    ----------
    X, features
        As for `RBFBank`.
    degrees : sequence of array_like of int
        Degrees t of each family, from 1 to 64. The kernels are ordered by family, then as their degrees.
    scale : float or array_like of shape (p,), optional
        Factor of all kernels, or of each. Default: one over its trace for each, for unit trace.
    block_bytes
        As for `RBFBank`.

    Attributes
    ----------
    n_kernels, n_points : int
        p and n.
    features : tuple of ndarray of int
        As given.
    degrees : tuple of ndarray of float
        As given.
    scales : ndarray of shape (p,)
        Factors of the kernels.

    Raises
    ------
    InvalidArgument
        Points, features or degrees that cannot be used; kernels too large for floating-point numbers.

    Examples
    --------
    >>> import numpy as np
    >>> bank = PolynomialBank(np.array([[0.0, 1.0], [1.0, 1.0]]), [[0, 1], [1]], [[1, 2], [1]], scale=1.0)
    >>> bank.entries([0], [1]).tolist()
    [[[2.0, 4.0, 2.0]]]
    """

    def __init__(
        self,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        features: Sequence[ArrayLike],
        degrees: Sequence[ArrayLike],
        *,
        scale: float | ArrayLike | None = None,
        block_bytes: int = 1 << 26,
    ) -> None:
        points = self._placed(X, ("features", features, "degrees", degrees), False, block_bytes)
        checked = [checked_degrees(t) for t in degrees]
        families = [PolynomialFamily(of, t) for of, t in zip(points, checked, strict=True)]
        scales = np.ones(sum(t.size for t in checked))
        factors = None if scale is None else _checked_scales(scale, scales.size)
        self._take(families, Numbering([t.size for t in checked]), scales)
        traces = self._unscaled[1]
        if not np.isfinite(traces).all():
            k = int(np.flatnonzero(~np.isfinite(traces))[0])
            raise InvalidArgument(f"kernel {k} has entries beyond floating-point numbers; standardize `X` first")
        self._scales = self.scales = 1.0 / traces if factors is None else factors

    def _take(self, families: Sequence[PolynomialFamily], numbering: Numbering, scales: float | Vector) -> None:
        super()._take(families, numbering, scales)
        assert not isinstance(scales, float)
        self.scales = scales
        self.degrees = tuple(family.degrees for family in families)

    def _alone(self, points: Points, features: list[Indices]) -> Callable[[], PolynomialBank]:
        scales, order = self.scales, self._numbering.order
        if order is not None:
            scales = np.empty_like(scales)
            scales[order] = self.scales
        return partial(PolynomialBank, points, features, self.degrees, scale=scales, block_bytes=8 * self._block_size)

    def __repr__(self) -> str:
        families = f"{len(self._families)} families"
        return f"PolynomialBank(n_kernels={self.n_kernels}, n_points={self.n_points}, {families})"

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        diagonal = np.empty((self.n_points, self.n_kernels))
        for family, part in self._all():
            diagonal[:, part] = family.diagonal()
        diagonal *= self.scales
        return diagonal

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        largest, traces = self._unscaled
        # A diagonal entry is as wrong as any other, and so is what is made of them.
        up = self.scales * (1.0 + 2.0 * self.exactness + EPS * (self.n_points + 4))
        return up * largest, up * traces

    @cached_property
    def _unscaled(self) -> tuple[Vector, Vector]:
        largest, traces = np.empty(self.n_kernels), np.empty(self.n_kernels)
        for family, part in self._all():
            diagonal = family.diagonal()
            with np.errstate(over="ignore"):
                largest[part], traces[part] = diagonal.max(axis=0), diagonal.sum(axis=0)
        return largest, traces

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        shared = self._shared.rows, self._numbering.order
        return digest("polynomial", self.n_points, self.scales, self.features, self.degrees, shared)


def checked_degrees(degrees: ArrayLike) -> Vector:
    """Return the degrees of a family, or raise `InvalidArgument` unless they are whole numbers from 1 on."""
    t = floats("degrees", degrees).reshape(-1)
    if t.size == 0 or not ((t >= 1) & (t <= MOST) & (t == np.floor(t))).all():
        raise InvalidArgument(f"`degrees` must be whole numbers from 1 to {MOST} in each entry, got {degrees!r}")
    return t


def _checked_scales(scale: float | ArrayLike, n_kernels: int) -> Vector:
    """Return the factor of each kernel, or refuse what is none."""
    if not isinstance(scale, Sequence | np.ndarray) or np.ndim(scale) == 0:
        return np.full(n_kernels, real("scale", scale, above=0.0))
    factors = floats("scale", scale)
    if factors.shape != (n_kernels,) or not (np.isfinite(factors) & (factors > 0)).all():
        raise InvalidArgument(f"`scale` must be a positive number, or {n_kernels} of them, got {shown(scale)}")
    return factors
