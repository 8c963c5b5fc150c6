"""What a domain has to keep: its projection, its linear minima and its description must be of one convex set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import Domain, LinearConstraints
from oracle_opt.testing.conformance import ConformanceError, changed, ruled
from oracle_opt.testing.further_answers import FurtherAnswers
from oracle_opt.testing.samples import points_of, size_of


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
    `minimum_rounding` are large enough, `entropic_metric` positive; that answers belong to the caller; `identity` and
    `reset`.

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
        Of the random points.

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
    if not isinstance(domain, Domain):
        raise ConformanceError(
            f"{domain!r}",
            rule="a domain is an object of a subclass of `oracle_opt.Domain`",
            seen=f"an object of the class {type(domain).__name__}",
            advice="derive the class from `Domain`, and pass an object, not the class",
        )
    rng = np.random.default_rng(seed)
    _check_interior(domain, subject)
    with ruled(subject, "`minimize_linear` answers every slope", "see the traceback above"):
        points, size = points_of(domain, n_points, rng), size_of(domain, rng)
    exam = _Exam(domain, subject, points, size, tolerance, rng)
    for check in (
        _check_membership,
        _check_projection,
        _check_metric,
        _check_linear_minimum,
        _check_linear_constraints,
        _check_rounding,
        _check_entropy,
        _check_ownership,
        _check_reset,
    ):
        check(exam)
        if check is _check_projection and not _promises(domain):  # then these, too, are points that bounds are about
            exam.points.extend(domain.project(z) for z in exam.around())
    FurtherAnswers(domain, subject, points, tolerance, rng).check()
    _check_identity(domain, other, subject)


def _promises(domain: Domain) -> bool:
    """Whether a minimizer is promised in a part of the set alone: there are words of doubt then, or a polyhedron."""
    return type(domain).doubt is not Domain.doubt or domain.promised_polyhedron() not in (None, domain)


@dataclass(frozen=True, eq=False)
class _Exam:
    """A domain, some of its points, the distance of a vertex from its interior point, and what is allowed."""

    domain: Domain
    subject: str
    points: list[Vector]
    size: float
    tolerance: float
    rng: np.random.Generator

    def fail(self, rule: str, seen: str, advice: str, **at: Vector) -> ConformanceError:
        return ConformanceError(self.subject, rule=rule, seen=seen, advice=advice, at=at)

    def around(self) -> list[Vector]:
        """Points anywhere, most of them outside."""
        reach = self.size * 10.0 ** self.rng.uniform(-1, 1, size=len(self.points))
        noise = self.rng.normal(size=(len(self.points), self.domain.dimension))
        return [z + r * e for z, r, e in zip(self.points, reach, noise, strict=True)]

    def slopes(self) -> list[Vector]:
        """Slopes of several sizes; some with zeros and ties, as those of sparse problems."""
        n, slopes = self.domain.dimension, []
        for k in range(len(self.points)):
            slope = self.rng.normal(size=n) if k % 2 else self.rng.integers(-1, 2, size=n).astype(float)
            slopes.append(slope * 10.0 ** self.rng.uniform(-2, 2))
        return [np.eye(n)[0], *slopes, np.ones(n), -np.ones(n)]


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


def _check_membership(exam: _Exam) -> None:
    """Minimizers are contained, and so are convex combinations; what is far away is not."""
    domain = exam.domain
    for z in exam.points:
        if not domain.contains(z, exam.tolerance):
            raise exam.fail(
                "the set is convex and `contains` its points, those that `minimize_linear` gives among them",
                "`contains` is False at a convex combination of the interior point and a minimizer",
                "compare `contains` and `minimize_linear`; one of them is of another set",
                z=z,
            )
    for z in exam.around():
        away = float(np.linalg.norm(domain.project(z) - z))
        allowed = 10 * exam.tolerance * max(1.0, float(np.linalg.norm(z)))
        if away > allowed and domain.contains(z):
            raise exam.fail(
                "`contains` is False at points whose projection is elsewhere",
                f"`contains` is True, and the projection is {away:.3g} away",
                "compare `contains` and `project`; one of them is of another set",
                point=z,
            )


def _projected(exam: _Exam, point: Vector, metric: Vector | None) -> Vector:
    """The projection, its shape, that it is contained, and that it left its arguments alone."""
    given = point.copy()
    with ruled(exam.subject, "`project` answers every point", "see the traceback above", {"point": point}):
        nearest = exam.domain.project(given) if metric is None else exam.domain.project(given, metric)
    if changed(point, given):
        raise exam.fail("`project` leaves its argument alone", "it changed the point", "work on a copy", point=point)
    if np.shape(nearest) != point.shape or not np.isfinite(nearest).all():
        raise exam.fail(
            "`project` gives `dimension` finite numbers",
            f"{nearest!r}",
            "give an array of the point's shape",
            point=point,
        )
    if not exam.domain.contains(nearest, exam.tolerance):
        raise exam.fail(
            "`project` gives a point of the set",
            "`contains(project(point))` is False",
            "a projection that is found step by step must end within the set",
            point=point,
            nearest=nearest,
        )
    return nearest


def _check_projection(exam: _Exam) -> None:
    for point in exam.around():
        nearest = _projected(exam, point, None)
        again = _projected(exam, nearest, None)
        moved = float(np.linalg.norm(again - nearest))
        if moved > exam.tolerance * max(1.0, float(np.linalg.norm(nearest))):
            raise exam.fail(
                "a projection is its own projection",
                f"projected again it moves by {moved:.3g}",
                "see whether `project` gives a point of the set",
                point=point,
                nearest=nearest,
            )
        _check_nearest(exam, point, nearest, np.ones(len(point)), "")
    for z in exam.points:
        moved = float(np.linalg.norm(_projected(exam, z, None) - z))
        if moved > exam.tolerance * max(1.0, float(np.linalg.norm(z))):
            raise exam.fail(
                "a point of the set is its own projection",
                f"it moves by {moved:.3g}",
                "compare `project` and `minimize_linear`; one of them is of another set",
                z=z,
            )


def _check_metric(exam: _Exam) -> None:
    """In a diagonal metric likewise, unless the domain says that its projection is Euclidean only."""
    if exam.domain.euclidean_only:
        return
    for point in exam.around():
        metric = np.exp(exam.rng.uniform(-3, 3, size=len(point)))
        try:
            exam.domain.project(point, metric)
        except Exception as problem:
            raise exam.fail(
                "`project(point, metric)` projects in a diagonal metric, unless the class says `euclidean_only = True`",
                f"{type(problem).__name__} was raised: {problem}",
                "say `euclidean_only = True` in the class where the projection takes no metric",
                point=point,
                metric=metric,
            ) from problem
        _check_nearest(exam, point, _projected(exam, point, metric), metric, " in the metric")


def _check_nearest(exam: _Exam, point: Vector, nearest: Vector, metric: Vector, words: str) -> None:
    """The variational inequality against every point of the set (Kolmogorov's criterion)."""
    pull = metric * (point - nearest)
    size = max(exam.size, float(np.abs(point).max()), float(np.abs(nearest).max()))
    for z in exam.points:
        excess = float(pull @ (z - nearest))
        if excess > 100 * exam.tolerance * float(np.linalg.norm(pull)) * size + 1e-13 * float(metric.max()) * size**2:
            distances = [float(np.sqrt(metric @ (point - end) ** 2)) for end in (nearest, z)]
            share = f"its distance is {distances[0]:.6g}, that of z is {distances[1]:.6g}; "
            raise exam.fail(
                f"`project` gives the nearest point{words}: metric * (point - nearest) @ (z - nearest) <= 0",
                f"{share}the product is {excess:.3g} at a point z of the set",
                "the segment from `nearest` to `z` holds points nearer to `point`; a point of the set is not enough",
                point=point,
                nearest=nearest,
                z=z,
                **({"metric": metric} if words else {}),
            )


def _check_linear_minimum(exam: _Exam) -> None:
    domain = exam.domain
    for slope in exam.slopes():
        given = slope.copy()
        with ruled(exam.subject, "`minimize_linear` answers every slope", "see the traceback above", {"slope": slope}):
            value, at = domain.minimize_linear(given)
        if changed(slope, given):
            raise exam.fail("`minimize_linear` leaves its argument alone", "it changed the slope", "copy", slope=slope)
        if value == -np.inf:
            continue
        if not np.isfinite(value) or np.shape(at) != slope.shape or not np.isfinite(at).all():
            raise exam.fail(
                "`minimize_linear` gives a number, or -inf, and a point that attains it",
                f"{value!r} and {at!r}",
                "give a float and an array of shape (dimension,)",
                slope=slope,
            )
        terms = float(np.abs(slope) @ np.maximum(np.abs(at), exam.size))
        if abs(float(slope @ at) - value) > exam.tolerance * terms:
            raise exam.fail(
                "the point of `minimize_linear` attains its minimum",
                f"the minimum is {value:.10g}, and slope @ point is {float(slope @ at):.10g}",
                "give value and point of the same minimizer",
                slope=slope,
                point=at,
            )
        if not domain.contains(at, exam.tolerance):
            raise exam.fail(
                "the point of `minimize_linear` lies in the set",
                "`contains` is False",
                "compare `contains` and `minimize_linear`; one of them is of another set",
                slope=slope,
                point=at,
            )
        for z in exam.points:
            if float(slope @ z) < value - exam.tolerance * terms:
                raise exam.fail(
                    "`minimize_linear` gives the minimum of slope @ z over the set",
                    f"the minimum is said to be {value:.10g}, and slope @ z is {float(slope @ z):.10g}",
                    "every proven lower bound rests on it; look for a wrong sign or a corner that was overlooked",
                    slope=slope,
                    z=z,
                )


def _check_linear_constraints(exam: _Exam) -> None:
    domain = exam.domain
    rows = domain.linear_constraints()
    if rows is None:
        return
    n = domain.dimension
    shapes = (np.shape(rows.equality_matrix), np.shape(rows.lower), np.shape(rows.upper))
    wanted = ((len(rows.equality_rhs), n), (n,), (n,))
    if shapes != wanted or (rows.inequality_matrix is None) != (rows.inequality_rhs is None):
        raise exam.fail(
            f"`linear_constraints` has a column a variable, here {n}, and a bound per variable",
            f"`equality_matrix`, `lower` and `upper` of the shapes {shapes}",
            "give an equality matrix of shape (0, dimension) where there are no equations",
        )
    for z in exam.points:
        name, excess = _most_violated(rows, z)
        if excess > 10 * exam.tolerance * max(exam.size, float(np.abs(z).max())):
            raise exam.fail(
                "every point of the set satisfies `linear_constraints`",
                f"`{name}` is violated by {excess:.3g}, in units of its row",
                "compare the rows with `minimize_linear`; one of them is of another set",
                z=z,
            )
    # from the interior point to the end of the rows along a direction in the equations
    middle = domain.interior_point()
    for _ in exam.points:
        ahead = exam.rng.normal(size=n)
        if len(rows.equality_rhs):
            ahead -= np.linalg.pinv(rows.equality_matrix) @ (rows.equality_matrix @ ahead)
        ahead *= rows.lower < rows.upper
        far = min(_room(rows, middle, ahead), 1e3 * exam.size / (float(np.linalg.norm(ahead)) or 1.0))
        z = middle + 0.999 * far * ahead
        if _most_violated(rows, z)[1] <= 1e-12 * max(1.0, float(np.abs(z).max())) and not domain.contains(z, 1e-6):
            raise exam.fail(
                "a point that satisfies `linear_constraints` lies in the set; else give `None`",
                "it satisfies all rows and bounds, and `contains` is False",
                "add the rows that are missing, or return `None` where the set is no polyhedron",
                z=z,
            )


def _most_violated(rows: LinearConstraints, z: Vector) -> tuple[str, float]:
    """Which constraint is violated most, and by what distance."""
    found = [
        ("equality_matrix", _distances(rows.equality_matrix, np.abs(rows.equality_matrix @ z - rows.equality_rhs))),
        ("lower", rows.lower - z),
        ("upper", z - rows.upper),
    ]
    if rows.inequality_matrix is not None and rows.inequality_rhs is not None:
        found.append(
            ("inequality_matrix", _distances(rows.inequality_matrix, rows.inequality_matrix @ z - rows.inequality_rhs))
        )
    return max(((name, float(np.max(excess, initial=0.0))) for name, excess in found), key=lambda pair: pair[1])


def _distances(matrix: Vector, excess: Vector) -> Vector:
    norms = np.linalg.norm(matrix, axis=1)
    distances: Vector = excess / np.where(norms > 0, norms, 1.0)
    return distances


def _room(rows: LinearConstraints, z: Vector, ahead: Vector) -> float:
    """How far a ray goes until it meets a bound or an inequality."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [(rows.upper - z)[ahead > 0] / ahead[ahead > 0], (rows.lower - z)[ahead < 0] / ahead[ahead < 0]]
        if rows.inequality_matrix is not None and rows.inequality_rhs is not None:
            speed = rows.inequality_matrix @ ahead
            ends.append((rows.inequality_rhs - rows.inequality_matrix @ z)[speed > 0] / speed[speed > 0])
    return float(np.concatenate(ends).min(initial=np.inf))


def _check_rounding(exam: _Exam) -> None:
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


def _check_entropy(exam: _Exam) -> None:
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


def _check_ownership(exam: _Exam) -> None:
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


def _check_reset(exam: _Exam) -> None:
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
