"""Changes of variables ``x = T w``: points, slopes and domains, from the old variables to the new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import (
    Ball,
    Box,
    Domain,
    FreeSpace,
    NonnegativeOrthant,
    Polyhedron,
    ProductOfSimplices,
)
from oracle_opt.errors import InvalidArgument
from oracle_opt.proof.enclosed_products import transposed_times
from oracle_opt.proof.enclosure import Enclosure

LARGEST = 2000  # variables that a dense matrix may turn


class ChangeOfVariables(ABC):
    """``x = T w`` with an invertible T; x are the old variables, w the new ones."""

    @abstractmethod
    def old(self, w: Vector) -> Vector:
        """``T w``."""

    @abstractmethod
    def new(self, x: Vector) -> Vector:
        """The w with ``T w = x``."""

    @abstractmethod
    def new_slope(self, g: Matrix) -> Matrix:
        """``g T``, the slope in w of a function with the slope g in x; also of the rows of a matrix."""

    @abstractmethod
    def old_slope(self, g: Vector) -> Vector:
        """The g of which `new_slope` made this."""

    @abstractmethod
    def new_domain(self, domain: Domain) -> Domain:
        """The w for which ``T w`` is in a domain."""

    is_exact: bool = True  # whether nothing is rounded

    def grows(self, domain: Domain) -> bool:
        """Whether `new_domain` promises a minimizer in a larger set than a domain does; by default not."""
        return False

    def slope_error(self, g: Vector) -> Vector | None:
        """How far each entry of `new_slope` may be off; `None`, the default, if it is exact."""
        return None

    def enclosed_slope(self, g: Vector, exact: bool) -> Enclosure:
        """``g T`` between two ends, by default that of `new_slope`, which is exact."""
        return Enclosure.of(self.new_slope(g), exact)


class Permutation(ChangeOfVariables):
    """The variables in another order, within its block where the domain is a product of simplices."""

    def __init__(self, domain: Domain, rng: np.random.Generator) -> None:
        sizes = domain.sizes if isinstance(domain, ProductOfSimplices) else (domain.dimension,)
        starts = np.cumsum((0, *sizes[:-1]))
        blocks = [start + rng.permutation(size) for start, size in zip(starts, sizes, strict=True)]
        self.order: NDArray[np.intp] = np.concatenate(blocks)
        self.place = np.argsort(self.order)

    def old(self, w: Vector) -> Vector:
        """Each where it was."""
        return w[self.place]

    def new(self, x: Vector) -> Vector:
        """In the new order."""
        return x[self.order]

    def new_slope(self, g: Matrix) -> Matrix:
        """The columns in the new order."""
        return np.ascontiguousarray(g[..., self.order])

    def old_slope(self, g: Vector) -> Vector:
        """The inverse is the transpose."""
        return g[self.place]

    def new_domain(self, domain: Domain) -> Domain:
        """Bounds, centers and columns in the new order; simplices and the orthant stay."""
        if isinstance(domain, ProductOfSimplices | NonnegativeOrthant):
            return domain
        if isinstance(domain, Box):
            return Box(domain.lower[self.order], domain.upper[self.order], promised=domain.promised[:, self.order])
        return _round_or_linear(self, domain, domain.dimension, "permuted")


class Rotation(ChangeOfVariables):
    """A turn about the origin by a random orthogonal matrix."""

    def __init__(self, domain: Domain, rng: np.random.Generator) -> None:
        n = domain.dimension
        if n > LARGEST:
            raise InvalidArgument(f"`problem` must have at most {LARGEST} variables to be rotated, got {n}")
        Q, R = np.linalg.qr(rng.normal(size=(n, n)))
        self.Q: Matrix = Q * np.sign(np.diag(R))

    def old(self, w: Vector) -> Vector:
        """``Q w``."""
        return np.asarray(self.Q @ w)

    def new(self, x: Vector) -> Vector:
        """``Q' x``."""
        return np.asarray(x @ self.Q)

    def new_slope(self, g: Matrix) -> Matrix:
        """``g Q``."""
        return np.asarray(g @ self.Q)

    def old_slope(self, g: Vector) -> Vector:
        """``Q g``."""
        return np.asarray(self.Q @ g)

    is_exact = False

    def enclosed_slope(self, g: Vector, exact: bool) -> Enclosure:
        """``g Q``, with what rounding may do."""
        return transposed_times(self.Q, Enclosure.of(g, exact))

    def slope_error(self, g: Vector) -> Vector:
        """Rounding of n products and their sum."""
        return np.asarray(EPS * (0.5 * len(g) + 1.0) * (np.abs(g) @ np.abs(self.Q)))

    def new_domain(self, domain: Domain) -> Domain:
        """Balls keep their shape; boxes and polyhedra become polyhedra."""
        return _round_or_linear(self, domain, LARGEST, "rotated")


class Rescaling(ChangeOfVariables):
    """Each variable in another unit: powers of two, so that nothing is rounded."""

    def __init__(self, domain: Domain, rng: np.random.Generator, decades: float) -> None:
        self.units: Vector = 2.0 ** np.round(rng.uniform(-0.5, 0.5, domain.dimension) * decades * np.log2(10.0))

    def old(self, w: Vector) -> Vector:
        """Times the units."""
        return w * self.units

    def new(self, x: Vector) -> Vector:
        """In the units."""
        return x / self.units

    def new_slope(self, g: Matrix) -> Matrix:
        """Times the units."""
        return g * self.units

    def old_slope(self, g: Vector) -> Vector:
        """In the units."""
        return g / self.units

    def grows(self, domain: Domain) -> bool:
        """Where a radius is promised, as that is the only one in all directions."""
        return isinstance(domain, FreeSpace | NonnegativeOrthant)

    def new_domain(self, domain: Domain) -> Domain:
        """Bounds and columns in the units; where a radius is promised, that of a ball that holds the ellipsoid."""
        if isinstance(domain, Box):
            return Box(domain.lower / self.units, domain.upper / self.units, promised=domain.promised)
        if isinstance(domain, NonnegativeOrthant):
            return NonnegativeOrthant(domain.dimension, domain.radius / float(self.units.min()))
        if isinstance(domain, FreeSpace):
            return FreeSpace(domain.dimension, domain.radius / float(self.units.min()), domain.center / self.units)
        if isinstance(domain, Polyhedron):
            return Polyhedron(
                self.new_slope(domain.A),
                domain.b,
                equality_matrix=self.new_slope(domain.equality_matrix),
                equality_rhs=domain.equality_rhs,
                lower=domain.lower / self.units,
                upper=domain.upper / self.units,
            )
        raise _no_such(domain, "rescaled", "a Box, a Polyhedron, FreeSpace or NonnegativeOrthant")


def _round_or_linear(change: ChangeOfVariables, domain: Domain, most: int, word: str) -> Domain:
    """The image, by an orthogonal change, of a ball, a box or a polyhedron."""
    n = domain.dimension
    if isinstance(domain, FreeSpace):
        return FreeSpace(n, domain.radius * (1.0 + 1e-12), change.new(domain.center))
    if isinstance(domain, Ball):
        return Ball(n, domain.radius, change.new(domain.center))
    promised = isinstance(domain, Box) and bool(domain.promised.any())
    described = domain.linear_constraints() if isinstance(domain, Box | Polyhedron) and not promised else None
    if described is None or not np.isfinite([described.lower, described.upper]).all():
        raise _no_such(domain, word, "a bounded Box without promises, a Polyhedron, a Ball or FreeSpace")
    if isinstance(change, Permutation):
        lower, upper = change.new(described.lower), change.new(described.upper)
        rows, rhs = np.zeros((0, n)), np.zeros(0)
    else:  # the old bounds become rows; new ones are those of the turned box
        middle, half = 0.5 * (described.lower + described.upper), 0.5 * (described.upper - described.lower)
        reach = half @ np.abs(change.new_slope(np.eye(n)))
        lower, upper = change.new(middle) - reach, change.new(middle) + reach
        T = change.new_slope(np.eye(n))
        rows, rhs = np.concatenate([T, -T]), np.concatenate([described.upper, -described.lower])
    inequalities, sides = described.inequalities
    return Polyhedron(
        np.concatenate([change.new_slope(inequalities), rows]),
        np.concatenate([sides, rhs]),
        equality_matrix=change.new_slope(described.equality_matrix),
        equality_rhs=described.equality_rhs,
        lower=lower,
        upper=upper,
    )


def _no_such(domain: Domain, word: str, wanted: str) -> InvalidArgument:
    return InvalidArgument(f"`problem` must have as its domain {wanted} to be {word}, got {domain!r}")
