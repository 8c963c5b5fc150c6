"""Checks of a domain's answers besides projection and linear minimum: each must be true of its points."""

from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import Domain
from oracle_opt.testing.conformance import ConformanceError, ruled

LEAVE_OUT = "leave the method out, and the default asks `minimize_linear`"


@dataclass(frozen=True, eq=False)
class FurtherAnswers:
    """Checks of a domain's optional answers."""

    domain: Domain
    subject: str
    points: list[Vector]
    tolerance: float
    rng: np.random.Generator

    def check(self) -> None:
        """Check them all; a `ConformanceError` names the first that is wrong."""
        for check in (self._polyhedron, self._box_and_ball, self._ellipsoid_and_cuts, self._simplices):
            with ruled(self.subject, f"its further answers ({check.__name__[1:]}) can be asked", "see the traceback"):
                check()

    def _fail(self, rule: str, seen: str, advice: str, **at: Vector) -> ConformanceError:
        return ConformanceError(self.subject, rule=rule, seen=seen, advice=advice, at=at)

    def _polyhedron(self) -> None:
        """Query points of polyhedral methods lie in the promised polyhedron, and have to lie in the set."""
        domain, polyhedron = self.domain, self.domain.promised_polyhedron()
        if polyhedron is None:
            return
        rule = "`promised_polyhedron` is a part of the set that holds all points in which a minimizer is promised"
        advice = "give a Box or Polyhedron around the promised set, within the set itself"
        if polyhedron.linear_constraints() is None or polyhedron.promised_polyhedron() is not polyhedron:
            raise self._fail(rule, f"{polyhedron!r} has no linear constraints, or promises of its own", advice)
        for z in self.points:
            if not polyhedron.contains(z, 10 * self.tolerance):
                raise self._fail(rule, "a point of the promised set is outside", advice, z=z)
            corner = polyhedron.minimize_linear(self.rng.normal(size=domain.dimension))[1]
            if np.isfinite(corner).all() and not domain.contains(corner, 10 * self.tolerance):
                raise self._fail(rule, "a vertex of it is not in the set", advice, vertex=corner)

    def _box_and_ball(self) -> None:
        lower, upper = self.domain.bounding_box()
        center, radius = self.domain.enclosing_ball()
        for z in self.points:
            allowed = 10 * self.tolerance * max(1.0, float(np.abs(z).max()))
            if not ((z >= lower - allowed).all() and (z <= upper + allowed).all()):
                rule = "`bounding_box` holds every point in which a minimizer is promised"
                raise self._fail(rule, f"the bounds are {lower} and {upper}", LEAVE_OUT, z=z)
            if not float(np.linalg.norm(z - center)) <= radius + allowed:
                rule = "`enclosing_ball` holds every point in which a minimizer is promised"
                away = float(np.linalg.norm(z - center))
                raise self._fail(rule, f"the radius is {radius:.6g}, and a point is {away:.6g} away", LEAVE_OUT, z=z)

    def _ellipsoid_and_cuts(self) -> None:
        """The ellipsoid around a bounded set holds its points, and so do half-spaces that cut off what is outside."""
        domain = self.domain
        if not np.isfinite(domain.bounding_box()).all():
            return
        center, axes = domain.enclosing_ellipsoid()
        size = max(1.0, float(np.abs(center).max()), float(np.abs(axes).max(initial=0.0)))
        for z in self.points:
            inside = np.linalg.lstsq(axes, z - center, rcond=None)[0] if axes.size else np.zeros(axes.shape[1])
            missed = float(np.abs(center + axes @ inside - z).max())
            if float(np.linalg.norm(inside)) > 1 + 10 * self.tolerance or missed > 100 * self.tolerance * size:
                rule = "`enclosing_ellipsoid` holds every point in which a minimizer is promised"
                seen = f"a point is {float(np.linalg.norm(inside)):.6g} half axes from the center"
                raise self._fail(rule, seen, LEAVE_OUT, z=z)
            if domain.deepest_cut(z, axes, 100 * self.tolerance * size) is not None:
                rule = "`deepest_cut` is None at points in which a minimizer is promised"
                raise self._fail(rule, "it cuts one of them off", "compare it with `minimize_linear`", z=z)
            self._check_cut(center + axes @ (self.rng.uniform(1, 4) * inside), axes, size)

    def _check_cut(self, outside: Vector, axes: Vector, size: float) -> None:
        rule = "`deepest_cut` gives the unit normal and the violation of a half-space that holds the promised set"
        found = self.domain.deepest_cut(outside, axes, 1e-12 * size)
        if found is None:
            return
        normal, violation = found
        if not (violation > 0 and abs(float(np.linalg.norm(normal)) - 1.0) <= 1e-9):
            seen = f"a violation of {violation!r}, a normal of length {float(np.linalg.norm(normal)):.6g}"
            raise self._fail(rule, seen, "divide normal and violation by its length", point=outside)
        for z in self.points:
            excess = violation + float(normal @ (z - outside))
            if excess > 100 * self.tolerance * size:
                raise self._fail(rule, f"it cuts a point z off by {excess:.3g}", LEAVE_OUT, point=outside, z=z)

    def _simplices(self) -> None:
        blocks = self.domain.simplices()
        if blocks is None:
            return
        rule = "`simplices` describes the set: scale * z adds up to radius in each block, and z >= 0"
        advice = "return `None`, the default, where the set is no product of simplices"
        scale = np.ones(self.domain.dimension) if blocks.scale is None else blocks.scale
        if sum(blocks.sizes) != self.domain.dimension or not (blocks.radius > 0 and (scale > 0).all()):
            raise self._fail(rule, f"{blocks!r}", "give as many variables as `dimension`, positive radius and scale")
        for z in self.points:
            sums = np.add.reduceat(blocks.weights(z), blocks.starts)
            if float(np.abs(sums - blocks.radius).max()) > 10 * self.tolerance * blocks.radius:
                raise self._fail(rule, f"the weights of the blocks add up to {sums}", advice, z=z)
            weights = self.rng.exponential(size=len(z))
            sizes = np.asarray(blocks.sizes)
            weights *= np.repeat(blocks.radius / np.add.reduceat(weights, blocks.starts), sizes)
            if not self.domain.contains(blocks.point(weights), 10 * self.tolerance):
                raise self._fail(rule, "a point of such weights is not in the set", advice, z=blocks.point(weights))
