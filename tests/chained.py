"""More of the classic nonsmooth functions: value and a subgradient at x."""

from __future__ import annotations

import numpy as np

Answer = tuple[float, np.ndarray]


def _largest(values: np.ndarray, slopes: np.ndarray) -> Answer:
    """Sum over the columns of the largest of each; slopes of shape (pieces, columns, n)."""
    which = values.argmax(axis=0)
    columns = np.arange(values.shape[1])
    return float(values[which, columns].sum()), slopes[which, columns].sum(axis=0)


def _pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rows with the slopes in x_i and x_(i+1)."""
    n = len(first) + 1
    rows = np.zeros((n - 1, n))
    rows[np.arange(n - 1), np.arange(n - 1)] = first
    rows[np.arange(n - 1), np.arange(1, n)] = second
    return rows


def chained_lq(x: np.ndarray) -> Answer:
    """Haarala, Miettinen & Makela (2004)."""
    a, b = x[:-1], x[1:]
    one = np.ones_like(a)
    values = np.array([-a - b, -a - b + a**2 + b**2 - 1])
    return _largest(values, np.array([_pairs(-one, -one), _pairs(2 * a - 1, 2 * b - 1)]))


def chained_cb3(x: np.ndarray) -> Answer:
    """Haarala, Miettinen & Makela (2004)."""
    a, b = x[:-1], x[1:]
    e = 2 * np.exp(b - a)
    values = np.array([a**4 + b**2, (2 - a) ** 2 + (2 - b) ** 2, e])
    return _largest(values, np.array([_pairs(4 * a**3, 2 * b), _pairs(2 * a - 4, 2 * b - 4), _pairs(-e, e)]))


def polak2(x: np.ndarray) -> Answer:
    """Luksan & Vlcek (2000)."""
    weights = np.array([1e-8, 1, 1, 4, 1, 1, 1, 1, 1, 1])
    best: Answer = (-np.inf, x)
    for shift in (2.0, -2.0):
        y = x + shift * np.eye(10)[1]
        value = float(np.exp(weights @ y**2))
        if value > best[0]:
            best = (value, 2 * value * weights * y)
    return best


def f3d(x: np.ndarray, beta: tuple[float, float, float, float]) -> Answer:
    """The functions F3d-U of Bareilles' collection."""
    values = [
        0.5 * (x[0] ** 2 + x[1] ** 2 + 0.1 * x[2] ** 2) - x[1] - x[2],
        x[0] ** 2 - 3 * x[0],
        x[1],
        x[2],
    ]
    slopes = [[x[0], x[1] - 1, 0.1 * x[2] - 1], [2 * x[0] - 3, 0, 0], [0, 1, 0], [0, 0, 1]]
    i = int(np.argmax(np.array(values) - beta))
    return float(values[i] - beta[i]), np.array(slopes[i], dtype=float)
