"""Whether linear minima and linear constraints of a domain are those of its points."""

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import LinearConstraints
from oracle_opt.testing.conformance import changed, ruled
from oracle_opt.testing.exams import DomainExam


def check_linear_minimum(exam: DomainExam) -> None:
    """The minimum is attained by its point, a point of the set, and no point is below."""
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


def check_linear_constraints(exam: DomainExam) -> None:
    """Points of the set satisfy the rows, and points that satisfy them are in the set."""
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
