"""Two-variable steps of SMO-MKL on one working set of points after another."""

from collections.abc import Callable

import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.mkl.lpmkl_build import ColumnCache, Penalty, take_steps
from oracle_opt.oracles.svm.pieces import Pieces

# Rows of the products of the kernels that are computed anew at a time.
AT_A_TIME = 256
# Violation at which a working set is left, relative to that before it.
LOOSE_SET = 0.3
# Share of a working set that free variables of the last one may take.
KEPT = 0.5


class WorkingSets:
    """Steps on working sets of points: they change x, the products M, row j of which is ``(K_k v)_j``, and forms S.

    M was computed `n_since` steps ago, and may be wrong by `error`, over the largest diagonal entry of each kernel.
    """

    def __init__(
        self, bank: KernelBank, pieces: Pieces, penalty: Penalty, v: Vector, size: int, cache_bytes: int
    ) -> None:
        self.bank, self.pieces, self.penalty = bank, pieces, penalty
        self.x, self.M = pieces.split(v), bank.row_products(np.arange(bank.n_points), v)
        self.S: Vector = np.maximum(v @ self.M, 0.0)
        self.n_since, self.error = 0, self._fresh(float(np.abs(v).sum()))
        self.size = size
        self.slots = min(max(cache_bytes // (8 * size * bank.n_kernels), 2), size)
        self.diagonal = bank.diagonal()
        points = self.points = np.arange(bank.n_points)
        self.cache: ColumnCache | None = None
        if size == bank.n_points:
            # The function must not hold this object: the columns would wait for the collector of cycles.
            self.cache = self._cache(size, lambda i: bank.entries([i], points)[0])
        self.free = self.points[:0]

    def take(self, decision: Vector, target: float, limit: int) -> tuple[int, bool]:
        """Steps on one working set; how many, and whether they are done with all points."""
        seconds_left()
        pieces, bank = self.pieces, self.bank
        if self.cache is not None:
            chosen, cache = self.points, self.cache
        else:
            chosen, violation = self._chosen(decision)
            if violation <= target:
                return 0, True
            block = bank.entries(chosen, chosen)
            cache, target = self._cache(chosen.size, lambda i: block[i]), max(target, LOOSE_SET * violation)
        linear, ridge, lower, upper, x = (
            np.ascontiguousarray(of_variable.reshape(-1, bank.n_points)[:, chosen]).ravel()
            for of_variable in (pieces.linear, pieces.ridge, pieces.lower, pieces.upper, self.x)
        )
        M = self.M[chosen]
        taken, active, travel = take_steps(
            cache, self.penalty, linear, ridge, lower, upper, self.diagonal[chosen], x, M, self.S, target, limit
        )
        before = pieces.signed_dual(self.x)
        self.x.reshape(-1, bank.n_points)[:, chosen] = x.reshape(-1, chosen.size)
        v = pieces.signed_dual(self.x)
        # Each step rounds entries of M, by half of EPS times what they have been at most, and x; see `_rounding.pxd`.
        reach = float(np.abs(before).sum()) + travel
        self.n_since += taken
        self.error += EPS * (taken * (0.5 * reach + float(np.abs(self.x).max())) + 2.0 * travel + reach)
        self.error += self._fresh(float(np.abs(v - before).sum()))
        # The steps keep the rows of active points up to date. A few rows too many are faster than picking the others.
        rest = self.points if self.cache is None else np.delete(self.points, active)
        self.M[rest] += bank.row_products(rest, v - before)
        self.M[chosen[active]] = M[active]
        self.S[:] = np.maximum(v @ self.M, 0.0)
        inside = (x > lower) & (x < upper)
        self.free = chosen[inside.reshape(-1, chosen.size).any(axis=0) & (v != before)[chosen]]
        return taken, self.cache is not None

    def refresh(self) -> None:
        """Compute M from x."""
        v = self.pieces.signed_dual(self.x)
        for start in range(0, self.points.size, AT_A_TIME):
            seconds_left()
            rows = self.points[start : start + AT_A_TIME]
            self.M[rows] = self.bank.row_products(rows, v)
        self.S[:] = np.maximum(v @ self.M, 0.0)
        self.n_since, self.error = 0, self._fresh(float(np.abs(v).sum()))

    def _fresh(self, size: float) -> float:
        """Error of products with a vector of that 1-norm, over the largest diagonal entry of a kernel."""
        return (self.bank.charge + 0.5 * EPS * (self.bank.n_points + 32)) * size

    def _cache(self, n_points: int, fetch: Callable[[int], Matrix]) -> ColumnCache:
        return ColumnCache(fetch, n_points, self.bank.n_kernels, self.slots)

    def _chosen(self, decision: Vector) -> tuple[Indices, float]:
        """The next working set, and the violation of the optimality conditions by all points."""
        n, g = self.bank.n_points, self.pieces.gradient(self.x, decision)
        rising = np.where(self.x < self.pieces.upper, g, -np.inf).reshape(-1, n).max(axis=0)
        falling = np.where(self.x > self.pieces.lower, g, np.inf).reshape(-1, n).min(axis=0)
        violation = float(rising.max() - falling.min())
        # The pair of largest violation is among the points in any case.
        kept = self.free[: min(int(KEPT * self.size), self.size - 2)]
        rising[kept] = np.inf
        n_rising = kept.size + (self.size - kept.size) // 2
        falling[np.argpartition(-rising, n_rising)[:n_rising]] = -np.inf
        return np.sort(np.argpartition(falling, self.size)[: self.size]), violation
