"""What a domain answers: a simple known set, and where in it a minimizer is promised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import NamedArguments, instance
from oracle_opt.arrays import EPS, Matrix, Vector, fingerprint
from oracle_opt.domains.described_sets import Described, described_blocks, described_polyhedron
from oracle_opt.domains.linear_constraints import LinearConstraints, ellipsoid_around
from oracle_opt.domains.simplex_blocks import SimplexBlocks
from oracle_opt.errors import InvalidArgument, InvalidCertificate


def checked_domain(domain: Domain, dimension: int, whose: str) -> Domain:
    """Return a domain, or refuse what is none or has not the dimension of `whose`, "that of `c`" say."""
    instance("domain", domain, Domain, "a Domain such as Box(lower, upper)")
    if domain.dimension != dimension:
        raise InvalidArgument(f"`domain` must have dimension {dimension}, {whose}, got {domain!r}")
    return domain


class Domain(NamedArguments, ABC):
    """A closed convex set of points, ndarrays of shape (dimension,), and where in it a minimizer is promised.

    A subclass sets `dimension` and defines `project`, `minimize_linear` and `interior_point`: with these the methods of
    projection and `Ellipsoid` run. Each further answer makes more methods run; docs/write_a_domain.md has the table.

    Its answers are about two sets. *The set itself* holds all query points: `project`, `contains`,
    `linear_constraints`, `simplices`, `face` and `entropic_metric` describe it. *The promised set* is a part of it in
    which some minimizer is stated to lie, and over which bounds are proven: `minimize_linear`, `interior_point`,
    `extent`, `minimum_rounding`, `doubt`, `promise`, `promised_polyhedron`, `bounding_box`, `enclosing_ball`,
    `enclosing_ellipsoid` and `deepest_cut` describe that. By default both are the same. They differ for sets without
    end: `FreeSpace` projects on R^n and promises a ball, `NonnegativeOrthant` projects on ``z >= 0`` and promises a
    box.

    Attributes
    ----------
    dimension : int
        Number of variables.
    euclidean_only : bool
        Whether `project` takes no metric. Default: it takes any positive diagonal one.
    """

    dimension: int
    euclidean_only: bool = False

    @abstractmethod
    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Return the nearest point of the set.

        Parameters
        ----------
        point : ndarray of shape (n,)
            Any point.
        metric : ndarray of shape (n,), optional
            Positive: near is meant in the norm ``sum(metric * z**2)``; default is all ones.

        Returns
        -------
        ndarray of shape (n,)
            A point that `contains` accepts.
        """

    @abstractmethod
    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Minimize a linear function over the promised set.

        Parameters
        ----------
        slope : ndarray of shape (n,)
            The function is ``slope @ z``.

        Returns
        -------
        minimum : float
            Its least value; -inf if there is none.
        point : ndarray of shape (n,)
            A point that attains it, with infinite entries where there is none.
        """

    @abstractmethod
    def interior_point(self) -> Vector:
        """Return a point of the promised set's relative interior: the default starting point.

        Returns
        -------
        ndarray of shape (n,)
            The same at every call.
        """

    @np.errstate(over="ignore")  # a point far out is in the set by its relative distance
    def contains(self, point: Vector, tolerance: float = 1e-9) -> bool:
        """Tell whether a point is in the set.

        Parameters
        ----------
        point : ndarray of shape (n,)
            Any point.
        tolerance : float
            It may be as far outside as ``tolerance * max(1, norm(point))``.

        Returns
        -------
        bool
            By default from the distance to its projection.
        """
        return bool(np.linalg.norm(self.project(point) - point) <= tolerance * max(1.0, float(np.linalg.norm(point))))

    def linear_constraints(self) -> LinearConstraints | None:
        """Return the linear description of the set, or `None` if it has none; by default that of its `simplices`.

        Bounds that are only promised are infinite here.

        Returns
        -------
        LinearConstraints or None
            Equations, bounds and inequalities.
        """
        blocks = self.simplices()
        return None if blocks is None else blocks.linear_constraints()

    def stated_constraints(self) -> LinearConstraints | None:
        """Return `linear_constraints`, or rows as they were given where it would take programs to look for equations.

        Returns
        -------
        LinearConstraints or None
            A description of the same set.
        """
        return self.linear_constraints()

    def simplices(self) -> SimplexBlocks | None:
        """Return the blocks of a product of simplices, scaled or not.

        Returns
        -------
        SimplexBlocks or None
            `None`, the default, if the set is no such product.
        """
        return None

    def face(self, coordinates: NDArray[np.intp]) -> Domain | None:
        """Return the points whose other coordinates are 0, as a domain in these coordinates; `None`, the default.

        Asked by methods that work on some variables at a time. A domain answers if such points are still in it: if it
        is `None`, or these coordinates are too few for a point, such methods cannot serve it.

        Parameters
        ----------
        coordinates : ndarray of int, shape (k,)
            In increasing order.

        Returns
        -------
        Domain or None
            A set of dimension k.
        """
        return None

    def entropic_metric(self, point: Vector) -> Vector | None:
        """Return the diagonal Hessian of the entropy at a point, kept bounded.

        Parameters
        ----------
        point : ndarray of shape (n,)
            In the set.

        Returns
        -------
        ndarray of shape (n,) or None
            Positive; `None`, the default, where entropy makes no sense.
        """
        return None

    def promised_polyhedron(self) -> Domain | None:
        """Return a polyhedron that holds the promised set, as a domain without promises: polyhedral methods search it.

        Returns
        -------
        Domain or None
            By default the set itself, or `None` if it has no linear constraints.
        """
        return None if self.stated_constraints() is None else self

    def bounding_box(self) -> tuple[Vector, Vector]:
        """Return bounds of the variables on the promised set.

        They need not be the tightest. By default each variable's range is asked of `minimize_linear`, once.

        Returns
        -------
        lower : ndarray of shape (n,)
            The lower bounds, -inf where the set has no end.
        upper : ndarray of shape (n,)
            The upper ones.
        """
        return self._ranges[0].copy(), self._ranges[1].copy()

    @cached_property
    def _ranges(self) -> Matrix:
        """Least and largest value of each variable."""
        unit = np.eye(self.dimension)
        lower = [self.minimize_linear(row)[0] for row in unit]
        return np.array([lower, [-self.minimize_linear(-row)[0] for row in unit]])

    def enclosing_ball(self) -> tuple[Vector, float]:
        """Return a ball that holds the promised set, the smallest if it is known.

        By default that around the bounding box, about `interior_point`; infinite where it is.

        Returns
        -------
        center : ndarray of shape (n,)
            Its center.
        radius : float
            Its radius.
        """
        center = self.interior_point()
        lower, upper = self._ranges
        return center, float(np.linalg.norm(np.maximum(upper - center, center - lower)))

    def enclosing_ellipsoid(self) -> tuple[Vector, Matrix]:
        """Return an ellipsoid ``{c + M @ w : norm(w) <= 1}`` that holds the promised set.

        Asked of bounded sets alone. By default the smallest ellipsoid around the bounding box or, where there are
        equations, the part of `enclosing_ball` that satisfies them.

        Returns
        -------
        center : ndarray of shape (n,)
            The center c.
        axes : ndarray of shape (n, d)
            The axes, columns of M; they span the affine hull.
        """
        constraints = self.linear_constraints()
        if constraints is None or not len(constraints.equality_rhs):
            return ellipsoid_around(*self._ranges)
        import scipy.linalg  # only here: the import takes time

        center, radius = self.enclosing_ball()
        return center, radius * scipy.linalg.null_space(constraints.equality_matrix)

    def deepest_cut(self, point: Vector, axes: Matrix, tolerance: float) -> tuple[Vector, float] | None:
        """Half-space that cuts off a point outside the promised set; `None` if that is no farther than `tolerance`.

        By default the bound or inequality that cuts deepest into an ellipsoid or, where there are none, that of the
        projection.

        Parameters
        ----------
        point : ndarray of shape (n,)
            A point that satisfies the equations.
        axes : ndarray of shape (n, d)
            Axes of the ellipsoid ``{point + axes @ w : norm(w) <= 1}`` that is to be cut.
        tolerance : float
            Distance outside that does not count.

        Returns
        -------
        normal : ndarray of shape (n,)
            Its normal, of length 1.
        violation : float
            All z of the promised set have ``violation + normal @ (z - point) <= 0``.
        """
        polyhedron = self.promised_polyhedron()
        constraints = None if polyhedron is None else polyhedron.linear_constraints()
        if constraints is not None:
            return constraints.deepest_cut(point, axes, tolerance)
        away = point - self.project(point)
        distance = float(np.linalg.norm(away))
        return None if distance <= tolerance else (away / distance, distance)

    def described(self, slope: Vector) -> Mapping[str, Described]:
        """Describe both sets in the words of a certificate, so that others can minimize a linear function over them.

        By default from `simplices` or `linear_constraints`, and `promised_polyhedron` where that is another domain.

        Parameters
        ----------
        slope : ndarray of shape (n,)
            The function is ``slope @ z``.

        Returns
        -------
        mapping
            "set", and "promised" where a minimizer is only promised in a part of it. Each is a ball, ``{"center": c,
            "radius": r}``, or a polyhedron, ``{"lower": l, "upper": u, "rows": rows}``. A row is ``(a, rhs, equation,
            multiplier)``: ``a @ z == rhs`` if `equation` is true, else ``a @ z <= rhs``; a may be a pair of its places
            that are not 0, in increasing order, and the entries there. With the multipliers, not
            negative where the row is no equation, ``slope @ z`` is at least ``(slope + sum(multiplier * a)) @ z -
            sum(multiplier * rhs)``, which is minimized over the bounds.

        Raises
        ------
        InvalidCertificate
            The domain has none of these descriptions.
        """
        blocks, constraints, promised = self.simplices(), self.linear_constraints(), self.promised_polyhedron()
        if constraints is None or promised is None:
            raise InvalidCertificate(
                f"{self!r} has no description that can be checked: define `linear_constraints` or `described`"
            )
        if promised is not self:
            inner = promised.described(slope)
            known = described_polyhedron(constraints, self.bounding_box(), None)
            return {"set": known, "promised": inner.get("promised", inner["set"])}
        if blocks is not None:
            return {"set": described_blocks(blocks, slope)}
        return {"set": described_polyhedron(constraints, self.bounding_box(), slope)}

    def extent(self, slope: Vector) -> float:
        """Bound the size of a linear function on the promised set.

        Rounding errors of an affine function on the set are multiples of it, and proven bounds are lowered by them. In
        a direction without end the set counts as far as its finite side. By default each variable's range is asked of
        `minimize_linear`, once.

        Parameters
        ----------
        slope : ndarray of shape (n,)
            The function is ``slope @ z``.

        Returns
        -------
        float
            The largest ``sum(abs(slope * z))``, or more.
        """
        return float(np.abs(slope).dot(self._reach))

    @cached_property
    def _reach(self) -> Vector:
        """Largest size of each variable, as far as it is finite."""
        ends = np.abs(self._ranges)
        reach: Vector = np.where(np.isfinite(ends), ends, 0.0).max(axis=0)
        return reach

    def minimum_rounding(self, slope: Vector) -> float:
        """Return by how much the minimum that `minimize_linear` gives may exceed the true one.

        Besides the rounding of one sum or product, 4 units of roundoff of the minimum, which is counted anyway. By
        default what a sum of products may, ``(n + 6) / 2 * 2**-52 * extent(slope)``; 0 if it is rounded down.

        Parameters
        ----------
        slope : ndarray of shape (n,)
            The function is ``slope @ z``.

        Returns
        -------
        float
            Not negative.
        """
        return EPS * (0.5 * self.dimension + 3) * self.extent(slope)

    def doubt(self, point: Vector) -> str:
        """Say in a sentence that a point lies at the edge of a set that is only stated to hold a minimizer.

        Where it does, the statement may be false, and with it the lower bounds.

        Parameters
        ----------
        point : ndarray of shape (n,)
            The best point of a run.

        Returns
        -------
        str
            The sentence; no words, the default, if the point does not lie there.
        """
        return ""

    def promise(self) -> str:
        """Say what is only promised of a minimizer; a run that finds the set empty names it.

        Returns
        -------
        str
            A clause, "that it lies within 10 of the center" say. No words, the default, if nothing is promised.
        """
        return ""

    def reset(self) -> None:
        """Forget warm starts: the next answers are those of a new object."""

    def __repr__(self) -> str:
        """Class and dimension, in one line."""
        return f"{type(self).__name__}(dimension={getattr(self, 'dimension', None)})"

    def identity(self) -> str:
        """Return words that tell this set from others, to the last bit of its data: part of a problem's identity.

        The default is made of all attributes. A set whose attributes change while it is used returns its data instead.

        Returns
        -------
        str
            Equal for equal sets, in every process.
        """
        return f"{self!r}, {fingerprint(self)}"
