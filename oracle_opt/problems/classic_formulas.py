"""The classic nonsmooth functions as the largest of smooth convex functions, written as formulas.

Each function returns the pieces at some variables: convex functions, the largest of which is f. The formulas are those
of the papers that `classic_functions` names; they tell values and slopes independently of it.
"""

import numpy as np

from oracle_opt.problems.classic_functions import maxquad_data
from oracle_opt.problems.function_proof import Tangent, total
from oracle_opt.proof.enclosure import Enclosure

Pieces = list[Tangent]


def cb2(x: list[Tangent]) -> Pieces:
    """Charalambous & Conn."""
    a, b = x
    return [a**2 + b**4, (2 - a) ** 2 + (2 - b) ** 2, 2 * (b - a).exp()]


def cb3(x: list[Tangent]) -> Pieces:
    """Charalambous & Conn."""
    a, b = x
    return [a**4 + b**2, (2 - a) ** 2 + (2 - b) ** 2, 2 * (b - a).exp()]


def dem(x: list[Tangent]) -> Pieces:
    """Demyanov & Malozemov."""
    a, b = x
    return [5 * a + b, -5 * a + b, a**2 + b**2 + 4 * b]


def ql(x: list[Tangent]) -> Pieces:
    """A quadratic function, and it with two linear ones."""
    a, b = x
    q = a**2 + b**2
    return [q, q + 10 * (4 - 4 * a - b), q + 10 * (6 - a - 2 * b)]


def lq(x: list[Tangent]) -> Pieces:
    """A linear function, and it with a quadratic one."""
    a, b = x
    return [-a - b, a**2 + b**2 - 1 - a - b]


def mifflin1(x: list[Tangent]) -> Pieces:
    """A linear function and a penalty of the unit disc."""
    a, b = x
    return [-a, 20 * (a**2 + b**2 - 1) - a]


def wolfe(x: list[Tangent]) -> Pieces:
    """``5 sqrt(9 a^2 + 16 b^2)`` where ``a >= abs(b)``; else ``9 a + 16 abs(b)``, and less a^9 where a < 0.

    Convex and differentiable where these meet: tangents lie below it, and ``9 a + 16 t b`` for all t in [-1, 1].
    """
    a, b = x
    first, second = float(a.value.lower), float(b.value.lower)
    if first >= abs(second) and first > 0:
        return [5 * (9 * a**2 + 16 * b**2).sqrt()]
    sides = [9 * a + 16 * b, 9 * a - 16 * b, 9 * a]
    return [side - a**9 for side in sides] if first < 0 else sides


def rosen_suzuki(x: list[Tangent]) -> Pieces:
    """Problem 43 of Hock and Schittkowski with ten times its worst constraint."""
    a, b, c, d = x
    f = a**2 + b**2 + 2 * c**2 + d**2 - 5 * a - 5 * b - 21 * c + 7 * d
    g = [
        a**2 + b**2 + c**2 + d**2 + a - b + c - d - 8,
        a**2 + 2 * b**2 + c**2 + 2 * d**2 - a - d - 10,
        a**2 + b**2 + c**2 + 2 * a - b - d - 5,
    ]
    return [f, *(f + 10 * one for one in g)]


def wong2(x: list[Tangent]) -> Pieces:
    """Problem 113 of Hock and Schittkowski with ten times its worst constraint."""
    a, b, c, d, e, g, h, p, q, r = x
    f = a**2 + b**2 + a * b - 14 * a - 16 * b + (c - 10) ** 2 + 4 * (d - 5) ** 2 + (e - 3) ** 2 + 2 * (g - 1) ** 2
    f = f + 5 * h**2 + 7 * (p - 11) ** 2 + 2 * (q - 10) ** 2 + (r - 7) ** 2 + 45
    broken = [
        4 * a + 5 * b - 3 * h + 9 * p - 105,
        10 * a - 8 * b - 17 * h + 2 * p,
        -8 * a + 2 * b + 5 * q - 2 * r - 12,
        3 * (a - 2) ** 2 + 4 * (b - 3) ** 2 + 2 * c**2 - 7 * d - 120,
        5 * a**2 + 8 * b + (c - 6) ** 2 - 2 * d - 40,
        0.5 * (a - 8) ** 2 + 2 * (b - 4) ** 2 + 3 * e**2 - g - 30,
        a**2 + 2 * (b - 2) ** 2 - 2 * (a * b) + 14 * e - 6 * g,
        -3 * a + 6 * b + 12 * (q - 8) ** 2 - 7 * r,
    ]
    return [f, *(f + 10 * one for one in broken)]


def polak2(x: list[Tangent]) -> Pieces:
    """Polak, Mayne & Higgins."""
    weights = (1e-8, 1, 1, 4, 1, 1, 1, 1, 1, 1)
    return [
        total([w * (y + shift if i == 1 else y) ** 2 for i, (w, y) in enumerate(zip(weights, x, strict=True))]).exp()
        for shift in (2, -2)
    ]


def shor(x: list[Tangent]) -> Pieces:
    """The largest of ten quadratic functions: ``b_i * |x - a_i|^2``."""
    rows = ("00000", "21113", "12112", "14122", "32101", "02101", "11111", "10121", "00210", "11200")
    factors = (1, 5, 10, 2, 4, 3, 1.7, 2.5, 6, 3.5)
    return [
        factor * total([(y - int(digit)) ** 2 for y, digit in zip(x, row, strict=True)])
        for factor, row in zip(factors, rows, strict=True)
    ]


def f3d_u0(x: list[Tangent]) -> Pieces:
    """Of no smooth subspace."""
    return _f3d(x, (0.5, -2, 0, 0))


def f3d_u1(x: list[Tangent]) -> Pieces:
    """Of a smooth subspace of one dimension."""
    return _f3d(x, (0, 10, 0, 0))


def _f3d(x: list[Tangent], beta: tuple[float, ...]) -> Pieces:
    a, b, c = x
    values = [0.5 * (a**2 + b**2 + 0.1 * c**2) - b - c, a**2 - 3 * a, b, c]
    return [value - offset for value, offset in zip(values, beta, strict=True)]


def maxquad(x: list[Tangent]) -> Pieces:
    """The largest of ``x @ A_i @ x - b_i @ x``; the A_i are diagonally dominant."""
    matrices, slopes = maxquad_data()
    at = Enclosure(np.array([y.value.lower.item() for y in x]), np.array([y.value.upper.item() for y in x]))
    pieces = []
    for A, b in zip(matrices, slopes, strict=True):
        pull = (at * A).sum(axis=1)
        pieces.append(Tangent(((pull - b) * at).sum(), 2 * pull - b))
    return pieces
