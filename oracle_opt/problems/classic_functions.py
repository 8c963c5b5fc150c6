"""Classic nonsmooth convex functions: value and a subgradient at a point.

The formulas are those of [1]_ to [3]_, with the indices of the variables counted from 0.

References
----------
.. [1] Luksan, Vlcek (2000), "Test problems for nonsmooth unconstrained and linearly constrained optimization", report
   V-798, Institute of Computer Science, Academy of Sciences of the Czech Republic.
.. [2] Lemarechal, Mifflin, editors (1978), "Nonsmooth optimization", IIASA proceedings, Pergamon Press.
.. [3] Hock, Schittkowski (1981), "Test examples for nonlinear programming codes", Springer; problems 43 and 113.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from oracle_opt.arrays import Vector

Value = tuple[float, Vector]


def largest(values: Sequence[float], slopes: Sequence[Sequence[float] | Vector] | Vector) -> Value:
    """The largest of some values, and the slope that belongs to it."""
    i = int(np.argmax(values))
    return float(values[i]), np.array(slopes[i], dtype=float)


def cb2(x: Vector) -> Value:
    """Charalambous & Conn."""
    e = np.exp(x[1] - x[0])
    return largest(
        [x[0] ** 2 + x[1] ** 4, (2 - x[0]) ** 2 + (2 - x[1]) ** 2, 2 * e],
        [[2 * x[0], 4 * x[1] ** 3], [2 * x[0] - 4, 2 * x[1] - 4], [-2 * e, 2 * e]],
    )


def cb3(x: Vector) -> Value:
    """Charalambous & Conn."""
    e = np.exp(x[1] - x[0])
    return largest(
        [x[0] ** 4 + x[1] ** 2, (2 - x[0]) ** 2 + (2 - x[1]) ** 2, 2 * e],
        [[4 * x[0] ** 3, 2 * x[1]], [2 * x[0] - 4, 2 * x[1] - 4], [-2 * e, 2 * e]],
    )


def dem(x: Vector) -> Value:
    """Demyanov & Malozemov."""
    return largest(
        [5 * x[0] + x[1], -5 * x[0] + x[1], x[0] ** 2 + x[1] ** 2 + 4 * x[1]],
        [[5, 1], [-5, 1], [2 * x[0], 2 * x[1] + 4]],
    )


def ql(x: Vector) -> Value:
    """A quadratic function and two linear ones."""
    q = float(x @ x)
    values = [q, q + 10 * (4 - 4 * x[0] - x[1]), q + 10 * (6 - x[0] - 2 * x[1])]
    return largest(values, 2 * x + np.array([[0, 0], [-40, -10], [-10, -20]]))


def lq(x: Vector) -> Value:
    """A linear function and a quadratic one."""
    linear, bent = -x[0] - x[1], float(x @ x) - 1
    return float(linear + max(0.0, bent)), -np.ones(2) + (2 * x if bent > 0 else 0.0)


def mifflin1(x: Vector) -> Value:
    """A linear function and a penalty of the unit disc."""
    bent = float(x @ x) - 1
    return float(-x[0] + 20 * max(0.0, bent)), np.array([-1.0, 0.0]) + (40 * x if bent > 0 else 0.0)


def wolfe(x: Vector) -> Value:
    """On which steepest descent with exact line search stops where no minimizer is."""
    side = float(np.sign(x[1]))
    if x[0] >= abs(x[1]):
        root = float(np.sqrt(9 * x[0] ** 2 + 16 * x[1] ** 2))
        return 5 * root, np.array([45 * x[0], 80 * x[1]]) / root if root > 0 else np.array([9.0, 0.0])
    power = x[0] ** 8 if x[0] < 0 else 0.0
    return float(9 * x[0] + 16 * abs(x[1]) - x[0] * power), np.array([9 - 9 * power, 16 * side])


def rosen_suzuki(x: Vector) -> Value:
    """Problem 43 of Hock and Schittkowski, its constraints as a penalty."""
    f = x @ (np.array([1, 1, 2, 1]) * x) + np.array([-5, -5, -21, 7]) @ x
    g = [
        (np.ones(4), np.array([1, -1, 1, -1]), -8.0),
        (np.array([1, 2, 1, 2]), np.array([-1, 0, 0, -1]), -10.0),
        (np.array([1, 1, 1, 0]), np.array([2, -1, 0, -1]), -5.0),
    ]
    values = [0.0] + [float(x @ (q * x) + c @ x + d) for q, c, d in g]
    i = int(np.argmax(values))
    slope = 2 * np.array([1, 1, 2, 1]) * x + np.array([-5, -5, -21, 7])
    if i:
        slope = slope + 10 * (2 * g[i - 1][0] * x + g[i - 1][1])
    return float(f + 10 * values[i]), slope


def wong2(x: Vector) -> Value:
    """Problem 113 of Hock and Schittkowski, its eight constraints as a penalty."""
    f, slope = float(_WONG_C @ x + _WONG_D @ (x - _WONG_T) ** 2 + x[0] * x[1] + 45), _WONG_C.copy()
    slope += 2 * _WONG_D * (x - _WONG_T) + np.r_[x[1], x[0], np.zeros(8)]
    a, b, c, d, e, g, h, p, q, r = x
    broken = [
        0.0,
        4 * a + 5 * b - 3 * h + 9 * p - 105,
        10 * a - 8 * b - 17 * h + 2 * p,
        -8 * a + 2 * b + 5 * q - 2 * r - 12,
        3 * (a - 2) ** 2 + 4 * (b - 3) ** 2 + 2 * c**2 - 7 * d - 120,
        5 * a**2 + 8 * b + (c - 6) ** 2 - 2 * d - 40,
        0.5 * (a - 8) ** 2 + 2 * (b - 4) ** 2 + 3 * e**2 - g - 30,
        a**2 + 2 * (b - 2) ** 2 - 2 * a * b + 14 * e - 6 * g,
        -3 * a + 6 * b + 12 * (q - 8) ** 2 - 7 * r,
    ]
    slopes = np.zeros((9, 10))
    slopes[1, [0, 1, 6, 7]] = 4, 5, -3, 9
    slopes[2, [0, 1, 6, 7]] = 10, -8, -17, 2
    slopes[3, [0, 1, 8, 9]] = -8, 2, 5, -2
    slopes[4, :4] = 6 * (a - 2), 8 * (b - 3), 4 * c, -7
    slopes[5, :4] = 10 * a, 8, 2 * (c - 6), -2
    slopes[6, [0, 1, 4, 5]] = a - 8, 4 * (b - 4), 6 * e, -1
    slopes[7, [0, 1, 4, 5]] = 2 * a - 2 * b, 4 * (b - 2) - 2 * a, 14, -6
    slopes[8, [0, 1, 8, 9]] = -3, 6, 24 * (q - 8), -7
    worst, further = largest(broken, slopes)
    return f + 10 * worst, slope + 10 * further


# the objective of `wong2`: c @ x + sum d (x - t)^2 + x_0 x_1 + 45
_WONG_C = np.array([-14.0, -16, 0, 0, 0, 0, 0, 0, 0, 0])
_WONG_D = np.array([1.0, 1, 1, 4, 1, 2, 5, 7, 2, 1])
_WONG_T = np.array([0.0, 0, 10, 5, 3, 1, 0, 11, 10, 7])


def polak2(x: Vector) -> Value:
    """Polak, Mayne & Higgins."""
    weights = np.array([1e-8, 1, 1, 4, 1, 1, 1, 1, 1, 1])
    best: Value = (-np.inf, x)
    for shift in (2.0, -2.0):
        y = x + shift * np.eye(10)[1]
        value = float(np.exp(weights @ y**2))
        if value > best[0]:
            best = (value, 2 * value * weights * y)
    return best


def f3d(x: Vector, beta: tuple[float, float, float, float]) -> Value:
    """The functions F3d-U, known by the dimension of their smooth subspace at the minimizer."""
    values = [0.5 * (x[0] ** 2 + x[1] ** 2 + 0.1 * x[2] ** 2) - x[1] - x[2], x[0] ** 2 - 3 * x[0], x[1], x[2]]
    slopes = [[x[0], x[1] - 1, 0.1 * x[2] - 1], [2 * x[0] - 3, 0, 0], [0, 1, 0], [0, 0, 1]]
    return largest([value - offset for value, offset in zip(values, beta, strict=True)], slopes)


def f3d_u0(x: Vector) -> Value:
    """Of no smooth subspace."""
    return f3d(x, (0.5, -2.0, 0.0, 0.0))


def f3d_u1(x: Vector) -> Value:
    """Of a smooth subspace of one dimension."""
    return f3d(x, (0.0, 10.0, 0.0, 0.0))


def shor(x: Vector) -> Value:
    """The largest of ten quadratic functions: ``b_i * |x - a_i|^2``."""
    values = _SHOR_B * ((x - _SHOR_A) ** 2).sum(axis=1)
    return largest(values, 2 * _SHOR_B[:, None] * (x - _SHOR_A))


_SHOR_A = np.array(
    [
        [int(digit) for digit in row]
        for row in ("00000", "21113", "12112", "14122", "32101", "02101", "11111", "10121", "00210", "11200")
    ],
    dtype=float,
)
_SHOR_B = np.array([1, 5, 10, 2, 4, 3, 1.7, 2.5, 6, 3.5])


def maxquad(x: Vector) -> Value:
    """The largest of five quadratic functions of ten variables, ``x @ A_i @ x - b_i @ x``."""
    matrices, slopes = maxquad_data()
    values = np.einsum("j,ijk,k->i", x, matrices, x) - slopes @ x
    return largest(values, 2 * matrices @ x - slopes)


@cache
def maxquad_data() -> tuple[Vector, Vector]:
    """A_i of row j and column k: ``exp(j / k) cos(j k) sin(i)`` above the diagonal, diagonally dominant."""
    i, j = np.arange(1, 6)[:, None, None], np.arange(1, 11)
    upper = np.triu(np.exp(j[:, None] / j) * np.cos(j[:, None] * j), 1)
    matrices = (upper + upper.T) * np.sin(i)
    diagonal = j / 10 * np.abs(np.sin(i[:, 0])) + np.abs(matrices).sum(axis=2)
    matrices[:, j - 1, j - 1] = diagonal
    return matrices, np.exp(j / i[:, 0]) * np.sin(i[:, 0] * j)
