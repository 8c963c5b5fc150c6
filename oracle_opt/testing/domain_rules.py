"""Checks of a domain: its projection, linear minima and description must be of one convex set."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate_file import hexadecimal, set_words
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidCertificate
from oracle_opt.testing.conformance import ConformanceError, changed, check_class, ruled
from oracle_opt.testing.exams import DomainExam, points_of, size_of
from oracle_opt.testing.linear_rules import check_linear_constraints, check_linear_minimum
from oracle_opt.testing.projection_rules import check_membership, check_metric, check_projection

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


ADVICE = "leave `described` out, and the default makes it of `simplices` or `linear_constraints`"


def check_domain(
    domain: Domain, *, other: Domain | None = None, tolerance: float = 1e-8, n_points: int = 24, seed: int = 0
) -> None:
    """Check that a domain keeps what generators and bounds rely on.

    Its points are convex combinations of what `minimize_linear` gives and of the interior point. Checked are: shapes;
    that the interior point, every projection and every minimizer are contained; that the projection is the nearest
    point, by the variational inequality ``(point - nearest) @ (z - nearest) <= 0`` at the points z of the set, in the
    Euclidean norm and, unless `euclidean_only`, a diagonal one; that no point z of the set has ``slope @ z`` below
    the stated minimum, and the stated minimizer attains it; that `linear_constraints` hold at points of the set, and
    points that satisfy them are contained; that `promised_polyhedron`, `bounding_box`, `enclosing_ball`,
    `enclosing_ellipsoid`, `deepest_cut` and `simplices` are true of the same points; that `extent` and
    `minimum_rounding` are large enough, `entropic_metric` positive; that `described` holds the same
    points; that answers belong to the caller; `identity` and `reset`.

    Parameters
    ----------
    domain : Domain
        The domain to check.
    other : Domain, optional
        One that differs, in its data: then its `identity` must differ, too.
    tolerance : float
        Relative error allowed of projections and minima.
    n_points : int
        Number of points that each rule is tried at.
    seed : int
        Seed of the random points.

    Raises
    ------
    ConformanceError
        A rule is broken; the message names it, what was seen, where, and what to do.

    Examples
    --------
    >>> from oracle_opt import Simplex
    >>> from oracle_opt.testing import check_domain
    >>> check_domain(Simplex(4))
    """
    subject = f"The domain {domain!r}"
    check_class(domain, Domain, "a domain", "derive the class from `Domain`, and pass an object, not the class")
    rng = np.random.default_rng(seed)
    _check_interior(domain, subject)
    with ruled(subject, "`minimize_linear` answers every slope", "see the traceback above"):
        points, size = points_of(domain, n_points, rng), size_of(domain, rng)
    exam = DomainExam(domain, subject, points, size, tolerance, rng)
    for check in (
        check_membership,
        check_projection,
        check_metric,
        check_linear_minimum,
        check_linear_constraints,
        _check_rounding,
        _check_entropy,
        _check_ownership,
        _check_reset,
    ):
        check(exam)
        if check is check_projection and not _promises(domain):  # then these, too, are points that bounds are about
            exam.points.extend(domain.project(z) for z in exam.around())
    FurtherAnswers(domain, subject, points, tolerance, rng).check()
    check_description(exam)
    _check_identity(domain, other, subject)


def _promises(domain: Domain) -> bool:
    """Whether a minimizer is promised in a part of the set alone: there are words of doubt then, or a polyhedron."""
    return type(domain).doubt is not Domain.doubt or domain.promised_polyhedron() not in (None, domain)


def _check_interior(domain: Domain, subject: str) -> None:
    rule = "`interior_point()` gives a point of the set, `dimension` finite numbers"
    advice = "give an array of shape (dimension,) of a point in the relative interior; it is where runs start"
    with ruled(subject, rule, advice):
        middle = domain.interior_point()
        shape = np.shape(middle)
        if shape != (domain.dimension,) or not np.isfinite(middle).all():
            raise ConformanceError(
                subject, rule=rule, seen=f"{middle!r} with `dimension` {domain.dimension!r}", advice=advice
            )
        if not domain.contains(middle):
            seen = "`contains(interior_point())` is False"
            raise ConformanceError(subject, rule=rule, seen=seen, advice=advice, at={"interior point": middle})


def _check_rounding(exam: DomainExam) -> None:
    """Bounds are lowered by multiples of the extent: it must not be less than what affine functions reach."""
    domain = exam.domain
    # a variable without end counts as far as its finite side
    ends = np.array([[domain.minimize_linear(side)[0] for side in (row, -row)] for row in np.eye(domain.dimension)])
    bounded = np.isfinite(ends).all(axis=1)
    for slope in (slope * bounded for slope in exam.slopes()):
        extent, rounding = float(domain.extent(slope)), float(domain.minimum_rounding(slope))
        reached = [float(np.abs(slope) @ np.abs(z)) for z in exam.points]
        if not extent >= (1 - exam.tolerance) * max(reached):
            raise exam.fail(
                "`extent(slope)` is at least sum(abs(slope * z)) at the points z in which a minimizer is promised",
                f"the extent is {extent:.6g}, and the sum is {max(reached):.6g} at z",
                "leave `extent` out, and the default asks `minimize_linear` for the range of each variable",
                slope=slope,
                z=exam.points[int(np.argmax(reached))],
            )
        if not 0 <= rounding <= 1e-9 * max(extent, 1e-300):
            raise exam.fail(
                "`minimum_rounding(slope)` is a rounding error: at least 0, and a tiny share of `extent(slope)`",
                f"it is {rounding:.3g}, and the extent is {extent:.3g}",
                "leave it out, and the default is that of a sum of products",
                slope=slope,
            )


def _check_entropy(exam: DomainExam) -> None:
    for z in exam.points:
        metric = exam.domain.entropic_metric(z)
        if metric is None:
            return
        if np.shape(metric) != z.shape or not (np.isfinite(metric).all() and (metric > 0).all()):
            raise exam.fail(
                "`entropic_metric` is positive and finite at every point, those of the boundary included",
                f"{metric!r}",
                "keep the variables away from 0, as ProductOfSimplices does, or return `None`",
                z=z,
            )


def _check_ownership(exam: DomainExam) -> None:
    """A caller that changes an answer in place changes no later one."""
    domain, inside = exam.domain, exam.points[1]
    asked: dict[str, Callable[[], Vector]] = {
        "interior_point()": domain.interior_point,
        "project(point)": lambda: domain.project(inside),
        "minimize_linear(slope)[1]": lambda: domain.minimize_linear(np.ones(domain.dimension))[1],
    }
    for name, ask in asked.items():
        kept = ask().copy()
        ask()[:] = 1e3
        if changed(kept, ask()):
            raise exam.fail(
                "answers belong to the caller, who may change them",
                f"after the answer of `{name}` was overwritten, it answers otherwise",
                "return a copy of what the domain keeps",
            )


def _check_reset(exam: DomainExam) -> None:
    """After `reset` the answers are those of a new object."""
    slopes = exam.slopes()
    answers = []
    for _ in range(2):
        with ruled(exam.subject, "`reset()` forgets warm starts", "see the traceback above"):
            exam.domain.reset()
        answers.append([exam.domain.minimize_linear(slope) for slope in slopes])
    for slope, (value, at), (again, there) in zip(slopes, *answers, strict=True):
        if value != again or changed(at, there):
            raise exam.fail(
                "after `reset()` the same questions have the same answers",
                f"`minimize_linear` gave {value!r}, and after `reset()` {again!r}, at another point perhaps",
                "forget in `reset` whatever an answer leaves behind; runs are repeated and journals replayed",
                slope=slope,
            )


def _check_identity(domain: Domain, other: Domain | None, subject: str) -> None:
    words = domain.identity()
    rule = "`identity()` tells this set from others and stays the same while it is used"
    if not isinstance(words, str) or words != domain.identity():
        seen = f"{words!r}, then {domain.identity()!r}"
        advice = "make it of the data alone, with `oracle_opt.arrays.digest`"
        raise ConformanceError(subject, rule=rule, seen=seen, advice=advice)
    if other is not None and words == other.identity():
        seen = f"another set, {other!r}, has the same identity, {words!r}"
        advice = "put all the data into it, with `oracle_opt.arrays.digest`"
        raise ConformanceError(subject, rule=rule, seen=seen, advice=advice)


def check_description(exam: DomainExam) -> None:
    """No point of the promised set is below the exact minimum of its description, and all are in the set's."""
    rule = "`described(slope)` gives sets in the words of a certificate"
    for k, slope in enumerate(exam.slopes()):
        with ruled(exam.subject, rule, ADVICE):
            try:
                sets = exam.domain.described(slope)
            except InvalidCertificate:  # runs on it have no certificate, which is no mistake
                return
            words = {name: set_words(one) for name, one in sets.items()}
            exact = verify.minimum(words.get("promised", words["set"]), _units(slope), verify.ONE)
        least = None if exact is None else float(exact / verify.ONE)
        values = [float(slope @ z) for z in exam.points]
        lowest = exam.points[values.index(min(values))]
        if least is not None and least > min(values) + exam.tolerance * exam.domain.extent(slope):
            raise exam.fail(
                "the set that `described(slope)` gives holds that in which a minimizer is promised",
                f"slope @ z is {min(values):.10g} at z, and by the description it is at least {least:.10g}",
                ADVICE,
                slope=slope,
                z=lowest,
            )
        point = exam.domain.project(exam.points[k % len(exam.points)])
        try:
            verify.violations(words["set"], [], _units(point))
        except verify.FalseLine as problem:
            raise exam.fail(
                'the "set" that `described(slope)` gives holds all points of the domain',
                f"by the description {problem}",
                ADVICE,
                z=point,
            ) from problem


def _units(values: Vector) -> list[int]:
    return [verify.units(hexadecimal(value)) for value in values.tolist()]
