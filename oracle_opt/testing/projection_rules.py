"""Whether projection, membership and linear minima of a domain are those of one set."""

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.testing.conformance import changed, ruled
from oracle_opt.testing.exams import DomainExam


def check_membership(exam: DomainExam) -> None:
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


def _projected(exam: DomainExam, point: Vector, metric: Vector | None) -> Vector:
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


def check_projection(exam: DomainExam) -> None:
    """The Euclidean projection is the nearest point, and its own projection."""
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


def check_metric(exam: DomainExam) -> None:
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


def _check_nearest(exam: DomainExam, point: Vector, nearest: Vector, metric: Vector, words: str) -> None:
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
