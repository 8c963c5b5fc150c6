"""Classic nonsmooth convex functions of any number of variables: value and a subgradient at a point.

References
----------
.. [1] Haarala, Miettinen, Makela (2004), "New limited memory bundle method for large-scale nonsmooth optimization",
   Optim. Methods Softw. 19:673-692.
.. [2] Luksan, Vlcek (2000), technical report V-798, Institute of Computer Science, Academy of Sciences of the Czech
   Republic.
.. [3] Nesterov (2004), "Introductory lectures on convex optimization", section 3.2.1: no method can do well on his
   function in fewer calls than it has pieces.
"""

from functools import lru_cache

import numpy as np

from oracle_opt.arrays import Matrix, Vector

Value = tuple[float, Vector]


def maxq(x: Vector) -> Value:
    """``max_i x_i^2``."""
    i = int(np.argmax(x**2))
    slope = np.zeros_like(x)
    slope[i] = 2 * x[i]
    return float(x[i] ** 2), slope


def maxl(x: Vector) -> Value:
    """``max_i |x_i|``."""
    i = int(np.argmax(np.abs(x)))
    slope = np.zeros_like(x)
    slope[i] = np.sign(x[i])
    return float(abs(x[i])), slope


def goffin(x: Vector) -> Value:
    """``n max_i x_i - sum_i x_i``."""
    i = int(np.argmax(x))
    slope = -np.ones_like(x)
    slope[i] += len(x)
    return float(len(x) * x[i] - x.sum()), slope


def mxhilb(x: Vector) -> Value:
    """``max_i |sum_j x_j / (i + j - 1)|``."""
    values = hilbert(len(x)) @ x
    i = int(np.argmax(np.abs(values)))
    return float(abs(values[i])), np.sign(values[i]) * hilbert(len(x))[i]


def l1hilb(x: Vector) -> Value:
    """``sum_i |sum_j x_j / (i + j - 1)|``."""
    values = hilbert(len(x)) @ x
    return float(np.abs(values).sum()), np.sign(values) @ hilbert(len(x))


@lru_cache(maxsize=2)
def hilbert(n: int) -> Matrix:
    """The Hilbert matrix of an order."""
    return 1.0 / (np.arange(n)[:, None] + np.arange(1, n + 1))


def nesterov(x: Vector) -> Value:
    """``max_i x_i + |x|^2 / 2``, whose minimum is ``-1 / (2 n)``."""
    i = int(np.argmax(x))
    slope = x.copy()
    slope[i] += 1
    return float(x[i] + 0.5 * (x @ x)), slope


def chained_lq(x: Vector) -> Value:
    """``sum_i max(-x_i - x_i+1, -x_i - x_i+1 + x_i^2 + x_i+1^2 - 1)``."""
    a, b = x[:-1], x[1:]
    one = np.ones_like(a)
    values = np.array([-a - b, -a - b + a**2 + b**2 - 1])
    return _chained(values, np.array([-one, 2 * a - 1]), np.array([-one, 2 * b - 1]))


def chained_cb3(x: Vector) -> Value:
    """The sum of the largest of each link's three functions."""
    return _chained(*_cb3_links(x))


def chained_cb3_ii(x: Vector) -> Value:
    """The largest of the three sums over the links."""
    values, in_a, in_b = _cb3_links(x)
    i = int(values.sum(axis=1).argmax())
    return float(values[i].sum()), np.append(in_a[i], 0.0) + np.append(0.0, in_b[i])


def _cb3_links(x: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Values of the three functions of each link, and their slopes in x_i and x_i+1."""
    a, b = x[:-1], x[1:]
    e = 2 * np.exp(b - a)
    values = np.array([a**4 + b**2, (2 - a) ** 2 + (2 - b) ** 2, e])
    return values, np.array([4 * a**3, 2 * a - 4, -e]), np.array([2 * b, 2 * b - 4, e])


def _chained(values: Matrix, in_a: Matrix, in_b: Matrix) -> Value:
    """Sum over the links of the largest of each."""
    which, links = values.argmax(axis=0), np.arange(values.shape[1])
    slope = np.append(in_a[which, links], 0.0) + np.append(0.0, in_b[which, links])
    return float(values[which, links].sum()), slope
