"""Each cone against projections in 50 digits: denormals, zeros, faces, the boundary and its neighbors, all scales."""

from decimal import Decimal, localcontext

import numpy as np
from _exact_cones import CONTEXT, decimals, dot, norm, split, within_dual

from oracle_opt.oracles import Exponential, Nonnegative, PositiveSemidefinite, Power, SecondOrder, Zero

UNIT = "points"
FULL, SMALL = 90_000, 270

CONES = [
    Zero(3),
    Nonnegative(4),
    SecondOrder(1),
    SecondOrder(4),
    PositiveSemidefinite(2),
    PositiveSemidefinite(3),
    Exponential(),
    Power(0.3),
    None,  # a power cone of a random exponent
]
NEAR = 1e-13  # of a projection and a distance, relative to the norm of the point
UNIT_LENGTH = Decimal("1e-9")  # a row with a denormal entry, of few digits, is moved into the dual cone by as much


def point(cone, rng):
    """A point to project: of one scale or of entries of all scales, on a face, on the boundary or next to it."""
    n = cone.dimension
    kind = rng.integers(7)
    if kind == 0:
        v = rng.normal(size=n)
    elif kind == 1:
        v = rng.normal(size=n) * 10.0 ** rng.uniform(-20, 20, n)
    elif kind == 2:  # to the ends of what a float holds
        v = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-320, 150, n)
    elif kind == 3:
        v = rng.choice([-1.0, 0.0, 1.0, 5e-324, -5e-324, 1e-310, 300.0, -1e-12, 1e-100], n)
    elif kind == 4:
        v = rng.normal(size=n) * rng.integers(0, 2, n)
    else:
        v = boundary(cone, rng)
        if kind == 6:
            v = v + rng.normal(size=n) * np.abs(v).max() * 10.0 ** rng.uniform(-18, -1)
    return v * 2.0 ** rng.integers(-30, 30) if rng.random() < 0.2 else v


def boundary(cone, rng):
    """A point of the boundary, but for rounding."""
    n = cone.dimension
    match cone:
        case Exponential():
            r, y = rng.normal() * 10.0 ** rng.uniform(-3, 2.5), 10.0 ** rng.uniform(-5, 5)
            return np.array([r * y, y, y * np.exp(min(r, 300.0))])
        case Power():
            x, y = 10.0 ** rng.uniform(-8, 8, 2)
            return np.array([x, y, rng.choice([-1, 1]) * x**cone.exponent * y ** (1 - cone.exponent)])
        case SecondOrder():
            u = rng.normal(size=n - 1)
            return np.r_[rng.choice([-1, 1]) * np.linalg.norm(u), u]
        case PositiveSemidefinite():
            root = rng.normal(size=(cone.order, rng.integers(1, cone.order + 1)))
            return rng.choice([-1, 1]) * cone.vector(root @ root.T)
    return np.maximum(rng.normal(size=n), 0.0)


def check(cone, v, tally):
    """What is wrong at one point, in words."""
    words = []
    p, q = split(cone, v)
    rows, nearest = cone.separate(v), cone.project(v)
    tally.count("cut off" if len(rows) else "kept")
    name = type(cone).__name__
    with localcontext(CONTEXT):
        size, (near, least) = norm(decimals(v)), decimals([NEAR, 2e-323])  # a float is never nearer than the least one
        away = [norm([one - other for one, other in zip(decimals(nearest), p, strict=True)])]
        away.append(abs(norm([dot(decimals(row), decimals(v)) for row in rows]) - norm(q)))
        for what, error in zip(("projection", "distance"), away, strict=True):
            tally.error(f"{what}, {name}", max(error - least, 0) / size if size else error)
            if error > near * size + least:
                words.append(f"{what} off by {float(error / size):.1e} of the norm")
        for row in rows:
            y = decimals(row)
            tally.error("length of a row, less 1", abs(norm(y) - 1))
            if not within_dual(cone, y):
                words.append(f"row {row.tolist()} is outside the dual cone")
            if not dot(y, decimals(v)) < 0:
                words.append(f"row {row.tolist()} cuts nothing off")
            if abs(norm(y) - 1) > UNIT_LENGTH:
                words.append(f"row {row.tolist()} is not of length one")
    return [f"{cone!r} at {v.tolist()}: {', '.join(words)}"] if words else []


def run(count, seed, tally):
    """Project `count` points, the cones in turn."""
    rng = np.random.default_rng([seed, 2])
    for i in range(count):
        cone = CONES[i % len(CONES)] or Power(float(rng.choice([rng.uniform(0.01, 0.99), 0.5, 0.01, 0.99])))
        tally.trial(check(cone, point(cone, rng), tally))
