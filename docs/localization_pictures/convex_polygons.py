"""Convex polygons in the plane, cut by half-planes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument

Window = tuple[float, float, float, float]  # left, right, bottom, top
TANGENTS = 256  # of a set that is no polygon
HalfPlane = tuple[Vector, float]  # normal and offset: the points with normal @ z <= offset


def clip(polygon: Matrix, normal: Vector, offset: float) -> Matrix:
    """Cut a convex polygon by a half-plane (Sutherland & Hodgman 1974, "Reentrant polygon clipping", one side)."""
    if not len(polygon):
        return polygon
    excess = polygon @ normal - offset
    slack = 8 * EPS * (np.abs(polygon) @ np.abs(normal) + abs(offset))
    inside = excess <= slack
    if inside.all():
        return polygon
    corners = []
    for here in range(len(polygon)):
        after = (here + 1) % len(polygon)
        if inside[here]:
            corners.append(polygon[here])
        if inside[here] != inside[after]:
            kept, lost = (here, after) if inside[here] else (after, here)
            share = min(1.0, max(0.0, -excess[kept]) / (excess[lost] - excess[kept]))
            corners.append(polygon[kept] + share * (polygon[lost] - polygon[kept]))
    return _without_repeats(np.array(corners).reshape(-1, 2))


def clip_all(polygon: Matrix, half_planes: Iterable[HalfPlane]) -> Matrix:
    """Cut a convex polygon by several half-planes."""
    planes = list(half_planes)
    if not planes or not len(polygon):
        return polygon
    excess = polygon @ np.array([normal for normal, _ in planes]).T - np.array([offset for _, offset in planes])
    for k in np.flatnonzero((excess > 0).any(axis=0)):  # the others cut nothing off
        polygon = clip(polygon, *planes[k])
    return polygon


def area(polygon: Matrix) -> float:
    """Area of a polygon: half the sum of the cross products of its corners, taken from the first one."""
    if len(polygon) < 3:
        return 0.0
    x, y = (polygon - polygon[0]).T
    return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def line_in_window(normal: Vector, offset: float, window: Window) -> Matrix:
    """Ends of the part of the line ``normal @ z == offset`` in a window (left, right, bottom, top)."""
    left, right, bottom, top = window
    across, up = float(normal[0]), float(normal[1])
    x, y = 0.5 * (left + right), 0.5 * (bottom + top)
    share = (offset - across * x - up * y) / (across * across + up * up)
    x, y = x + share * across, y + share * up  # nearest to the middle of the window
    low, high = -np.inf, np.inf  # of t, the point being (x, y) + t * (-up, across)
    for start, speed, least, most in ((x, -up, left, right), (y, across, bottom, top)):
        if speed:
            ends = sorted(((least - start) / speed, (most - start) / speed))
            low, high = max(low, ends[0]), min(high, ends[1])
        elif not least <= start <= most:
            return np.zeros((0, 2))
    if not low < high:
        return np.zeros((0, 2))
    return np.array([[x - t * up, y + t * across] for t in (low, high)])


def promised_polygon(domain: Domain, points: Matrix) -> Matrix:
    """Corners of the set in which a domain of two variables promises a minimizer.

    Those of a set with linear constraints are exact. Any other set, a ball say, is shown by its tangents in 256
    directions, which hold all of it. Sides at infinity are drawn in at ten times the extent of the points.
    """
    spread = 10 * max(1e-9, float(np.ptp(points, axis=0).max(initial=0.0))) if len(points) > 1 else 10.0
    lower, upper = domain.bounding_box()
    lower = np.where(np.isfinite(lower), lower, np.minimum(points.min(axis=0), upper) - spread)
    upper = np.where(np.isfinite(upper), upper, np.maximum(points.max(axis=0), lower) + spread)
    polygon = np.array([lower, [upper[0], lower[1]], upper, [lower[0], upper[1]]])
    polyhedron = domain.promised_polyhedron()
    constraints = None if polyhedron is None else polyhedron.linear_constraints()
    if constraints is not None:
        matrix, rhs = constraints.inequalities
        equations = zip(constraints.equality_matrix, constraints.equality_rhs, strict=True)
        polygon = clip_all(polygon, zip(matrix, rhs, strict=True))
        for row, number in equations:
            polygon = clip(clip(polygon, row, number), -row, -number)
    if polyhedron is not domain:
        angles = 2 * np.pi * np.arange(TANGENTS) / TANGENTS
        for direction in np.column_stack([np.cos(angles), np.sin(angles)]):
            farthest = -domain.minimize_linear(-direction)[0]
            if np.isfinite(farthest):
                polygon = clip(polygon, direction, farthest)
    if not len(polygon):
        raise InvalidArgument(f"`domain` must hold a point, got {domain!r}, of which nothing is left to draw")
    return _without_repeats(polygon)


def inside(polygon: Matrix, points: Matrix) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which points lie in a polygon of positive area, given by its corners in either order."""
    ahead = np.roll(polygon, -1, axis=0) - polygon
    away = points[:, None] - polygon[None]
    cross = ahead[None, :, 0] * away[:, :, 1] - ahead[None, :, 1] * away[:, :, 0]
    return np.asarray((cross >= 0).all(axis=1) | (cross <= 0).all(axis=1))


def _without_repeats(polygon: Matrix) -> Matrix:
    """Leave out corners that equal the one before but for rounding."""
    if len(polygon) < 2:
        return polygon
    size = 4 * EPS * np.abs(polygon).max()
    new = np.abs(polygon - np.roll(polygon, 1, axis=0)).max(axis=1) > size
    return polygon[new] if new.any() else polygon[:1]
