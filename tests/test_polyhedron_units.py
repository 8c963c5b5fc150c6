"""Polyhedra in any units, thin ones among them, against fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from oracle_opt import FunctionOracle, Polyhedron, Status, minimize
from oracle_opt.generators import Kelley, LevelSet, ProximalBundle


def determinant(rows):
    if len(rows) == 1:
        return rows[0][0]
    rest = [[row[:j] + row[j + 1 :] for row in rows[1:]] for j in range(len(rows))]
    return sum((-1) ** j * rows[0][j] * determinant(rest[j]) for j in range(len(rows)))


def vertices(A, b, lower, upper):
    """All vertices, by Cramer's rule in fractions."""
    n = len(lower)
    eye = np.eye(n)
    matrix, sides = np.vstack([A, eye, -eye]), np.r_[b, upper, -lower]
    rows = [([Fraction(float(x)) for x in row], Fraction(float(t))) for row, t in zip(matrix, sides, strict=True)]
    for chosen in combinations(rows, n):
        whole = determinant([list(row) for row, _ in chosen])
        if whole:
            parts = [[[*row[:j], t, *row[j + 1 :]] for row, t in chosen] for j in range(n)]
            point = [determinant(part) / whole for part in parts]
            if all(sum(a * x for a, x in zip(row, point, strict=True)) <= t for row, t in rows):
                yield point


def drawn(seed, decades):
    """Rows around a point, some of them strips, with rows, variables and the cost counted in any units."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    A, middle = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.8), rng.normal(size=n) * (rng.random(n) < 0.7)
    A[np.arange(m), rng.integers(n, size=m)] = 1.0
    strip = rng.random(m) < 0.4
    width = 10.0 ** rng.uniform(-9, 0, m)
    A = np.vstack([A, -A[strip]])
    slack = np.r_[np.where(strip, width * rng.random(m), rng.random(m)), (width * rng.random(m))[strip]]
    columns, rows = 10.0 ** rng.uniform(-decades, decades, n), 10.0 ** rng.uniform(-decades, decades, len(A))
    room = 10.0 ** rng.uniform(-2, 2, n)
    A, b = rows[:, None] * A / columns, rows * (A @ middle + slack)
    c = rng.normal(size=n) / columns
    return A, b, columns * (middle - room), columns * (middle + room), c, float(rng.normal())


@pytest.mark.campaign(32)
@pytest.mark.parametrize("decades", [0, 3, 5])
@pytest.mark.parametrize("seed", range(100))
def test_bounds_are_true_in_any_unit(seed, decades):
    """None is false, no point misses a row, and the oracle, a linear function, is never accused."""
    A, b, lower, upper, c, shift = drawn(seed, decades)
    ends = list(vertices(A, b, lower, upper))
    if not ends:
        return  # rounding of the sides left no point
    true, best = min((sum(Fraction(float(k)) * x for k, x in zip(c, end, strict=True)), end) for end in ends)
    true = float(true + Fraction(shift))
    domain = Polyhedron(A, b, lower=lower, upper=upper)
    size = abs(shift) + float(np.abs(c) @ np.array([float(abs(x)) for x in best]))
    for generator in (None, Kelley(), LevelSet(), ProximalBundle()):
        result = minimize(
            FunctionOracle(lambda z: (float(c @ z) + shift, c), domain), generator, rtol=1e-6, max_calls=60
        )
        assert result.status != Status.CONTRADICTION
        assert result.lower_bound <= true + 1e-7 * size
        assert result.upper_bound >= true - 1e-7 * size
        assert domain.contains(result.point)
        # steps of one length in all variables may take long where their units differ, and say so
        steps = decades and (generator is None or isinstance(generator, ProximalBundle))
        assert result.success or (steps and result.relative_gap > 1e-6)
