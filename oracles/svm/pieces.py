"""Any dual variables of a support vector machine against the best: duality gap, bias, optimality conditions."""

from collections.abc import Callable

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.svm.separable_dual import Separable

# Steps for a bias at most.
BIAS_STEPS = 100


def imbalance(b: Vector, total: float) -> float:
    """At least ``abs(sum(b) - total)``, little more where long double is longer than double."""
    excess = float(abs(np.add.reduce(b, dtype=np.longdouble) - np.longdouble(total)))
    size = abs(total) + float(np.abs(b).sum())
    return (1 + EPS) * excess + float(np.finfo(np.longdouble).eps) * (b.size + 1) * size


class Pieces:
    """The variables of a `Separable`, each on one side of the kink at 0, if there is one.

    With a kink b_i is the sum of one from 0 up and one from 0 down: x are all of the first kind, then all of the
    second. The dual is ``max linear @ x - 1/2 ridge @ x**2 - 1/2 b @ K @ b`` over a box and ``sum(x) == total``.
    """

    def __init__(self, dual: Separable) -> None:
        self.dual = dual
        self.n_points = dual.linear.size
        self.total = dual.total
        lower, upper = dual.box
        ridge = np.zeros(self.n_points) if dual.ridge is None else dual.ridge
        if dual.kink is not None:
            none = np.zeros(self.n_points)
            self.linear = np.concatenate([dual.linear - dual.kink, dual.linear + dual.kink])
            self.lower, self.upper = np.concatenate([none, lower]), np.concatenate([upper, none])
            self._ends = np.concatenate([none, dual.lower]), np.concatenate([dual.upper, none])
            self.ridge = np.concatenate([ridge, ridge])
        else:
            self.linear, self.lower, self.upper, self.ridge = dual.linear, lower, upper, ridge
            self._ends = dual.lower, dual.upper
        self._bent = None if (self.ridge > 0).all() else self.ridge > 0

    def start(self) -> Vector:
        """Return feasible signed dual variables, shape (n,): zeros, or bounds until the sum is reached."""
        lower, upper = self.dual.box
        side = upper if self.total > 0 else lower
        before = np.cumsum(side) - side
        b: Vector = np.sign(self.total) * np.clip(abs(self.total) - np.abs(before), 0.0, np.abs(side))
        return b

    def split(self, b: Vector) -> Vector:
        """Return the x that belong to signed dual variables b, shape (n,)."""
        return np.concatenate([np.maximum(b, 0.0), np.minimum(b, 0.0)]) if self.dual.kink is not None else b.copy()

    def signed_dual(self, x: Vector) -> Vector:
        """Return the b of x, ndarray of shape (n,)."""
        b: Vector = x.reshape(-1, self.n_points).sum(axis=0)
        return b

    def gradient(self, x: Vector, decision: Vector) -> Vector:
        """Gradient of the objective in x, for ``decision = K @ b`` of shape (n,)."""
        slope: Vector = self.linear - self.ridge * x - np.tile(decision, x.size // self.n_points)
        return slope

    def violation(self, x: Vector, decision: Vector) -> float:
        """Largest gradient of a variable that can rise minus the least of one that can fall, not below 0."""
        g = self.gradient(x, decision)
        rising, falling = g[x < self.upper], g[x > self.lower]
        return max(float(rising.max() - falling.min()), 0.0) if rising.size and falling.size else 0.0

    def gap(self, b: Vector, decision: Vector, error: float = 0.0) -> tuple[float, float]:
        """Gap of b, of decision values ``K @ b`` without bias, and the best bias: see docs/theory_smooth_mkl.md."""
        x, offset = self.split(b), self.dual.offset
        q = self.linear - np.tile(decision, x.size // self.n_points)
        bias = self._best_bias(q)
        excess = q - bias
        wide = error + EPS * (float(np.abs(self.linear).max()) + abs(bias) + abs(offset))
        if self.dual.ridge is None:
            terms = np.maximum((self.upper - x) * (excess + wide), (self.lower - x) * (excess - wide))
        else:
            wide = wide + 4.0 * EPS * (np.abs(q) + abs(bias) + self.ridge * np.abs(x))
            terms = np.maximum(self._terms(x, excess + wide), self._terms(x, excess - wide))
        rounding = 1 + EPS * (x.size + 16)
        return rounding * float(terms.sum()) + (abs(bias) + abs(offset)) * imbalance(b, self.total), bias + offset

    def best_response(self, decision: Vector) -> Vector:
        """The z of `gap`, shape (n,): they maximize ``L(b) - decision @ b`` over the box and the sum."""
        q = self.linear - np.tile(decision, self.linear.size // self.n_points)
        if self.dual.ridge is not None:
            return self.signed_dual(self._response(q - self._root(q)))
        order = np.argsort(-q, kind="stable")
        width = (self.upper - self.lower)[order]
        before = np.cumsum(width) - width
        x = np.empty(q.size)
        x[order] = self.lower[order] + np.clip(self.total - float(self.lower.sum()) - before, 0.0, width)
        return self.signed_dual(x)

    def _terms(self, x: Vector, excess: Vector) -> Vector:
        z = self._response(excess)
        terms: Vector = (z - x) * (excess - 0.5 * self.ridge * (z + x))
        return terms

    def _response(self, excess: Vector) -> Vector:
        """The z of `gap`; infinite sides are so here."""
        lower, upper = self._ends
        if self._bent is None:
            z: Vector = np.clip(excess / self.ridge, lower, upper)
            return z
        inside = np.clip(excess / np.where(self._bent, self.ridge, 1.0), lower, upper)
        return np.where(self._bent, inside, np.where(excess > 0, upper, lower))

    def _best_bias(self, q: Vector) -> float:
        """The bias that makes the gap least; any other is as valid."""
        if self.dual.ridge is not None:
            return self._root(q)
        order = np.argsort(q)
        reached = np.cumsum((self.upper - self.lower)[order])
        share = float(self.upper.sum()) - self.total
        first = min(int(np.searchsorted(reached, share)), q.size - 1)
        # where the slope is 0 up to the next entry, the middle
        level = abs(reached[first] - share) <= 1e-12 * reached[-1] and first + 1 < q.size
        return 0.5 * float(q[order[first]] + q[order[first + level]])

    def _root(self, q: Vector) -> float:
        """Where the z of `gap` add up to the total."""
        wide = float(self.ridge.max()) * abs(self.total)
        low, high = float(q.min()) - wide, float(q.max()) + wide

        def excess(bias: float) -> tuple[float, float]:
            z = self._response(q - bias)
            inside = (self._ends[0] < z) & (z < self._ends[1]) & (self.ridge > 0)
            return float(z.sum()) - self.total, float((1.0 / self.ridge[inside]).sum())

        return falling_root(excess, low, high, 0.5 * (low + high))


def falling_root(
    function: Callable[[float], tuple[float, float]], low: float, high: float, start: float, unit: float = 0.0
) -> float:
    """Where a function that does not rise is 0: Newton's method, held in an interval, with steps to its middle."""
    at, before = start, high - low
    for _ in range(BIAS_STEPS):
        value, fall = function(at)
        step = value / fall if fall > 0 else np.inf
        if value == 0.0 or abs(step) <= EPS * (abs(at) + unit):
            return at
        low, high = (at, high) if value > 0 else (low, at)
        if not low < at + step < high or abs(step) > 0.5 * before:
            step = 0.5 * (low + high) - at
        at, before = at + step, abs(step)
    return at
