"""Terms of a function that are known in closed form: a master takes them as they are, and no cut linearizes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import NamedArguments, floats, instance, real
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.words import one_line

if TYPE_CHECKING:  # proofs alone need what computes them
    from oracle_opt.proof.enclosure import Enclosure

KNOWN_POINT, KNOWN_SLOPE = "known_point", "known_slope"  # of a tangent: where it touches, and its slopes of the norm
NOUGHT = 1e-9  # share of the largest variable
A_TERM = "a known term such as QuadraticTerm(1e-3) or L1Term(0.1), or their sum"


@dataclass(frozen=True, eq=False)
class Tangent:
    """The affine function ``constant + slope @ z - error``, below a known term everywhere on a domain.

    Parameters
    ----------
    constant, slope, error : float, ndarray of shape (n,), float
        Its numbers; the error is what rounding may have done to them.
    witness : mapping
        The point at which it touches the quadratic, and its slopes of the norm.
    """

    __repr__ = one_line

    constant: float
    slope: Vector
    error: float
    witness: Mapping[str, Vector]


class KnownTerm(NamedArguments, ABC):
    """A convex function, at least 0, that is known everywhere: a `QuadraticTerm`, an `L1Term`, or one of each added up.

    ``Composite(oracle, term)`` adds it to what an oracle answers.
    """

    quadratic: QuadraticTerm | None = None
    norm: L1Term | None = None

    def __add__(self, other: KnownTerm) -> KnownTerm:
        """Add a term of the other kind."""
        instance("other", other, KnownTerm, A_TERM)
        if (self.quadratic and other.quadratic) or (self.norm and other.norm):
            raise InvalidArgument(f"a sum has one QuadraticTerm and one L1Term; put {self} and {other} into one")
        made = _Sum()
        made.quadratic, made.norm = self.quadratic or other.quadratic, self.norm or other.norm
        return made

    def check(self, dimension: int) -> None:
        """Refuse arrays that are not those of a function of so many variables."""
        for name, given, axis in self._arrays():
            if given is not None and given.ndim and given.shape[axis] != dimension:
                raise InvalidArgument(f"`{name}` must be of {dimension} variables, as the oracle, got {given.shape}")

    def _arrays(self) -> list[tuple[str, Any, int]]:
        """The arrays that have an entry for each variable, with the axis of these."""
        quadratic, norm = self.quadratic, self.norm
        given: list[tuple[str, Any, int]] = []
        if quadratic is not None:
            given += [("center", quadratic.center, 0), ("diagonal", quadratic.diagonal, 0)]
            given += [("factor", quadratic.factor, 1)]
        return given + ([] if norm is None else [("weight", np.asarray(norm.weight), 0)])

    def value(self, point: Vector) -> float:
        """Value at a point."""
        total = 0.0
        if self.quadratic is not None:
            away = self.quadratic.away(point)
            total += 0.5 * float(away.dot(self.quadratic.steep(away)))
        return total if self.norm is None else total + float((self.norm.weight * np.abs(point)).sum())

    def subgradient(self, point: Vector) -> Vector:
        """A subgradient at a point."""
        return self._slope(point, self._signs(point))

    def _signs(self, point: Vector) -> Vector | None:
        return None if self.norm is None else self.norm.weight * np.sign(point)

    def _slope(self, point: Vector, signs: Vector | None) -> Vector:
        slope = np.zeros(len(point)) if signs is None else signs
        return slope if self.quadratic is None else slope + self.quadratic.steep(self.quadratic.away(point))

    @property
    def curvature(self) -> float:
        """The term bends by at least this in every direction."""
        quadratic = self.quadratic
        return 0.0 if quadratic is None else quadratic.weight * float(np.min(quadratic.entries))

    def touching(self, point: Vector, domain: Domain, signs: Vector | None = None) -> Tangent:
        """The tangent at a point, with these slopes of the norm or those that it has there."""
        signs = self._signs(point) if signs is None else signs
        n, slope, size, constant, n_terms = len(point), self._slope(point, signs), np.zeros(len(point)), 0.0, 0
        witness = {} if signs is None else {KNOWN_SLOPE: signs}
        if self.quadratic is not None:
            away = self.quadratic.away(point)
            bend = self.quadratic.steep(away)
            constant = float((0.5 * away - point).dot(bend))
            size = self.quadratic.steep(np.abs(away), size=True)
            n_terms = 0 if self.quadratic.factor is None else n + len(self.quadratic.factor)
            witness[KNOWN_POINT] = point
        of_constant = (1.5 * n + n_terms + 8.0) * float(size.dot(np.abs(point)))
        error = EPS * (of_constant + (n_terms + 8.0) * domain.extent(np.abs(slope) + size))
        return Tangent(constant, slope, error, witness)

    def tangent(self, slope: Vector, domain: Domain, near: Vector) -> Tangent:
        """The tangent at the minimizer of ``slope @ z`` plus this over a domain; or `near` it, if that is not easy.

        Any point gives a tangent. That at the minimizer gives the highest minimum of ``slope @ z + tangent``.
        """
        point, signs, constraints = near, None, domain.stated_constraints()
        quadratic, norm = self.quadratic, self.norm
        weight = None if norm is None else np.broadcast_to(norm.weight, near.shape)
        if quadratic is not None and quadratic.factor is None:
            steep, middle = quadratic.weight * quadratic.entries, 0.0 if quadratic.center is None else quadratic.center
            if constraints is not None and constraints.has_bounds_alone:
                pull = steep * middle - slope
                pull = pull if weight is None else np.sign(pull) * np.maximum(np.abs(pull) - weight, 0.0)
                best = np.divide(pull, steep, out=np.array(near), where=np.broadcast_to(steep > 0, near.shape))
                point = np.clip(best, constraints.lower, constraints.upper)
            elif norm is None and np.ndim(steep) == 0:
                point = domain.project(middle - slope / steep)
        elif quadratic is not None and constraints is not None and constraints.has_bounds_alone:
            free = (near > constraints.lower) & (near < constraints.upper)
            if weight is not None:
                free &= (weight == 0) | ~_nought(near)
            signed = slope if weight is None else slope + weight * np.sign(near)
            point = _toward(quadratic, signed, near, free)
        if weight is not None:
            bend = 0.0 if quadratic is None else quadratic.steep(quadratic.away(point))
            at_nought = np.clip(-(slope + bend), -weight, weight)
            if constraints is not None:  # beyond a bound at 0 there is nothing
                at_nought = np.where(constraints.lower >= 0, weight, at_nought)
                at_nought = np.where(constraints.upper <= 0, -weight, at_nought)
            signs = np.where(_nought(point), at_nought, weight * np.sign(point))
        return self.touching(point, domain, signs)

    def proven(self, witness: Mapping[str, Any], dimension: int, exact: bool) -> tuple[Enclosure, Enclosure]:
        """Constant and slope of the tangent that a witness tells, computed for a proof; `Refuted` where it is none."""
        from oracle_opt.proof.enclosure import Enclosure
        from oracle_opt.proof.witness_numbers import numbers

        slope = Enclosure.of(np.zeros(dimension), exact)
        constant = Enclosure.of(0.0, exact)
        if self.quadratic is not None:
            point = Enclosure.of(numbers(KNOWN_POINT, witness.get(KNOWN_POINT), dimension), exact)
            away = self.quadratic.away(point)
            slope = self.quadratic.steep(away)
            constant = ((away * 0.5 if not exact else away / 2) * slope).sum() - (point * slope).sum()
        if self.norm is not None:
            signs = numbers(KNOWN_SLOPE, witness.get(KNOWN_SLOPE), dimension)
            if (np.abs(signs) > self.norm.weight).any():
                raise Refuted(f"the {KNOWN_SLOPE} is no slope of the norm: an entry exceeds its weight")
            slope = slope + Enclosure.of(signs, exact)
        return constant, slope

    def enclosed(self, point: Vector, exact: bool) -> Enclosure:
        """The value at a point, computed for a proof."""
        from oracle_opt.proof.enclosure import Enclosure

        at, total = Enclosure.of(point, exact), Enclosure.of(0.0, exact)
        if self.quadratic is not None:
            away = self.quadratic.away(at)
            total = total + ((away * 0.5 if not exact else away / 2) * self.quadratic.steep(away)).sum()
        if self.norm is not None:
            weight = Enclosure.of(np.broadcast_to(self.norm.weight, point.shape), exact)
            total = total + (weight * Enclosure.of(np.abs(point), exact)).sum()
        return total

    @abstractmethod
    def identity(self) -> str:
        """Words that tell this term from others."""


class _Quadratic(KnownTerm):
    """What a quadratic computes, of floats and of numbers of a proof alike."""

    weight: float
    center: Vector | None
    diagonal: Vector | None
    factor: Matrix | None

    @property
    def entries(self) -> Any:
        """The diagonal, or the number that is each entry of it."""
        return (1.0 if self.factor is None else 0.0) if self.diagonal is None else self.diagonal

    def away(self, point: Any) -> Any:
        """The point, seen from the center."""
        return point if self.center is None else point - self.center

    def steep(self, away: Any, size: bool = False) -> Any:
        """The gradient so far from the center, as numbers of the same kind; or the size of its terms."""
        slope = away * self.entries
        if self.factor is not None:
            factor = np.abs(self.factor) if size else self.factor
            slope = slope + _mapped(factor.T, _mapped(factor, away))
        return slope * self.weight


class QuadraticTerm(_Quadratic):
    """``weight / 2 * (z - center)' (diag(diagonal) + R' R) (z - center)``.

    Parameters
    ----------
    weight : float
        Positive, default 1.
    center : array_like of shape (n,), optional
        Default: the origin.
    diagonal : array_like of shape (n,), optional
        At least 0; 0 for a free variable, such as an intercept. Default: ones, or zeros where a factor is given.
    factor : array_like of shape (k, n), optional
        R: few rows for a quadratic of low rank, a root of the matrix for a full one. Masters have k variables more.

    Raises
    ------
    InvalidArgument
        A weight that is not positive, entries that are negative or not finite, or shapes that do not fit.

    Examples
    --------
    >>> from oracle_opt import QuadraticTerm
    >>> QuadraticTerm(2.0).value(np.array([1.0, 2.0]))
    5.0
    """

    def __init__(
        self,
        weight: float = 1.0,
        center: ArrayLike | None = None,
        diagonal: ArrayLike | None = None,
        factor: ArrayLike | None = None,
    ) -> None:
        self.weight = real("weight", weight, above=0.0)
        self.center = None if center is None else _finite("center", center, 1)
        self.diagonal = None if diagonal is None else _finite("diagonal", diagonal, 1, least=0.0)
        self.factor: Matrix | None = None if factor is None else _finite("factor", factor, 2)
        self.quadratic = self

    def __repr__(self) -> str:
        parts = {"center": self.center, "diagonal": self.diagonal, "factor": self.factor}
        shapes = "".join(f", {name} of shape {one.shape}" for name, one in parts.items() if one is not None)
        return f"QuadraticTerm({self.weight:g}{shapes})"

    def identity(self) -> str:
        """The weight, and a digest of the arrays."""
        arrays = (self.center, self.diagonal, self.factor)
        return f"quadratic {self.weight!r} {digest(*arrays) if any(one is not None for one in arrays) else ''}".strip()


class L1Term(KnownTerm):
    """``sum_j weight_j * |z_j|``.

    Parameters
    ----------
    weight : float or array_like of shape (n,)
        At least 0; 0 for a variable that is free, such as an intercept.

    Raises
    ------
    InvalidArgument
        Weights that are negative or not finite.

    Examples
    --------
    >>> from oracle_opt import L1Term
    >>> L1Term(0.5).value(np.array([1.0, -2.0]))
    1.5
    """

    def __init__(self, weight: float | ArrayLike) -> None:
        self.weight = _finite("weight", weight, min(np.ndim(weight), 1), least=0.0)
        self.norm = self

    def __repr__(self) -> str:
        return f"L1Term({float(self.weight):g})" if self.weight.ndim == 0 else f"L1Term({len(self.weight)} weights)"

    def identity(self) -> str:
        """A digest of the weights."""
        return f"l1 {float(self.weight)!r}" if self.weight.ndim == 0 else f"l1 {digest(self.weight)}"


class _Sum(KnownTerm):
    """A quadratic and a norm."""

    def __repr__(self) -> str:
        return f"{self.quadratic} + {self.norm}"

    def identity(self) -> str:
        """Of both."""
        assert self.quadratic is not None
        assert self.norm is not None
        return f"{self.quadratic.identity()} + {self.norm.identity()}"


def _toward(quadratic: QuadraticTerm, slope: Vector, near: Vector, free: NDArray[np.bool_]) -> Vector:
    """The minimizer of a term plus ``slope @ z`` over the free variables, the others as they are; by least squares."""
    assert quadratic.factor is not None
    roots = np.concatenate([quadratic.factor, np.diag(np.sqrt(np.broadcast_to(quadratic.entries, near.shape)))])
    roots = roots[roots.any(axis=1)][:, free]
    rest = (slope + quadratic.steep(quadratic.away(near)))[free] / quadratic.weight
    point = near.copy()
    point[free] -= np.linalg.lstsq(roots, np.linalg.lstsq(roots.T, rest)[0])[0]
    return point


def _nought(point: Vector) -> NDArray[np.bool_]:
    """Which variables a master leaves at 0, but for rounding."""
    sizes = np.abs(point)
    nought: NDArray[np.bool_] = sizes <= NOUGHT * sizes.max(initial=0.0)
    return nought


def _mapped(matrix: Matrix, x: Any) -> Any:
    """``matrix @ x`` of floats, or of numbers of a proof."""
    return matrix @ x if isinstance(x, np.ndarray) else x.mapped(matrix)


def _finite(name: str, values: ArrayLike, ndim: int, least: float = -np.inf) -> Vector:
    """A new array of finite floats of so many dimensions, none below a limit, or a refusal."""
    given = floats(name, values)
    if given.ndim != ndim:
        raise InvalidArgument(f"`{name}` must have {ndim} dimensions, got shape {given.shape}")
    if not np.isfinite(given).all() or (given < least).any():
        worst = given[~(np.isfinite(given) & (given >= least))].flat[0]
        raise InvalidArgument(f"`{name}` must be finite{' and at least 0' if least == 0 else ''}, got {worst}")
    return given
