"""SMO-MKL: two-variable steps on the dual of MKL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import Step
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.mkl.losses import _LossData as Loss
from oracle_opt.oracles.mkl.lpmkl_build import ColumnCache, Penalty, take_steps
from oracle_opt.oracles.mkl.mkl_problem import MKLProblem, MKLSolver

# Steps, and working sets, after which a duality gap is computed in any case.
ROUND, SETS = 10_000, 25
# Steps a point after which products of the kernels are computed anew; rows of them at a time.
REFRESH, AT_A_TIME = 50, 256
# Violation of the first round, relative to that at the start; of a working set, relative to that before it.
LOOSE, LOOSE_SET = 0.1, 0.3
# Share of a working set that free variables of the last one may take.
KEPT = 0.5
# Share of the cache that the columns of a working set may take, if those of all points do not fit: a small set is read
# anew sooner than a large one is written. Its points at most, and at least in any case.
SHARE, MOST_POINTS, LEAST_POINTS = 1 / 16, 128, 16


@dataclass(frozen=True)
class SMOMKL(MKLSolver):
    """Sequential minimal optimization in the dual of MKL, ``max linear @ x - rho(S(x))``.

    A step moves two variables to the exact optimum along their line: for the squared 2-norm the root of a cubic,
    otherwise by a safeguarded Newton method. The first variable is the one of largest gradient, its partner the one of
    largest gain by second derivatives. ``K_k v`` is kept for all kernels; a step updates the rows of a working set of
    points by two columns of each kernel, which come from the bank when they are first needed, the least recently used
    being thrown out. If the columns of all points fit, the working set are all points. Otherwise it is chosen again and
    again: the points of largest violation, and half of it free ones of the last set; after its steps the other rows
    are updated by the columns of the points that moved, so that no column of all points is kept. Points whose variables
    stay at a bound are left out of the passes. Each round ends with a cut at the weights that are best for the current
    variables: its lower bound is the dual objective, its upper one the primal objective there. It gives up when steps
    no longer move the variables.

    The state takes ``24 * n * p`` bytes besides the columns, and a matrix of ``8 * n**2`` up to `polish_points`.

    Parameters
    ----------
    cache_bytes : int
        Bytes the columns of a working set may take, of ``8 * p`` times its points each; two are kept in any case.
    max_steps : int
        Limit on the steps of a run.
    polish_points : int
        Number of points up to which, for the hinge loss, the SVM at the weights of a cut is solved for its upper bound.
        Without, the bound has an error of first order and a run takes about three times the steps.
    working_points : int, optional
        Points of a working set, at least 2. Default: all points if their columns fit into `cache_bytes`, otherwise as
        many as fit into 1/16 of it, at least 16 and at most 128.

    Raises
    ------
    InvalidArgument
        A limit is negative.

    References
    ----------
    .. [1] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm",
       section 4.
    .. [2] Fan, Chen, Lin (2005), "Working set selection using second order information for training support vector
       machines", JMLR 6, rule WSS 2.
    .. [3] Joachims (1999), "Making large-scale SVM learning practical", in Advances in kernel methods, for working sets
       of more than two variables.
    """

    cache_bytes: int = 1 << 30
    max_steps: int = 10_000_000
    polish_points: int = 1_000
    working_points: int | None = None

    def __post_init__(self) -> None:
        for name in ("cache_bytes", "max_steps", "polish_points"):
            if not getattr(self, name) >= 0:
                raise InvalidArgument(f"`{name}` must be >= 0, got {getattr(self, name)!r}")
        if self.working_points is not None and not self.working_points >= 2:
            raise InvalidArgument(f"`working_points` must be at least 2 or None, got {self.working_points!r}")

    def cuts(self, problem: MKLProblem, rtol: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        """One cut a round of steps, in extras its `n_steps` so far; see `MKLSolver.cuts`."""
        return self.cuts_from(np.zeros(problem.loss.linear.size), problem, rtol)

    def cuts_from(self, start: Vector, problem: MKLProblem, rtol: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        """`cuts` from feasible variables, shape of ``problem.loss.linear``."""
        bank, loss = problem.bank, problem.loss
        x = start.copy()
        M = bank.row_products(np.arange(bank.n_points), loss.signed_dual(x))
        steps = _Steps(bank, loss, problem.dual.penalty(), x, M, self._size(bank), self.cache_bytes)
        target = LOOSE * loss.gap(x, M @ problem.dual.weights(steps.S))[2]
        n_steps, best = 0, -np.inf
        while True:
            before = n_steps
            for _ in range(SETS):
                taken, done = steps.take(
                    M @ problem.dual.weights(steps.S), target, min(ROUND, self.max_steps - n_steps)
                )
                n_steps += taken
                if done or taken == 0 or n_steps >= min(self.max_steps, before + ROUND):
                    break
            if steps.n_since > REFRESH * bank.n_points:
                steps.refresh()
            cut, violation = problem.answer_dual(x, M, steps.error, n_steps, bank.n_points <= self.polish_points)
            yield cut, Step.SERIOUS if cut.lower_bound > best else Step.NULL
            if n_steps >= self.max_steps or violation == 0.0 or (taken == 0 and violation > target):
                return
            best = max(best, cut.lower_bound)
            if violation <= 2.0 * target:
                # The gap goes with the violation or, if the SVM at the weights was solved for it, with its square.
                relative = (cut.upper - cut.lower_bound) / max(abs(cut.upper), 1e-300)
                share = np.sqrt(0.5 * rtol / max(relative, 1e-300))
                target = min(target, violation) * min(max(share, 0.1), 0.5)

    def _size(self, bank: KernelBank) -> int:
        """Points of a working set."""
        if self.working_points is not None:
            return min(self.working_points, bank.n_points)
        points_squared = self.cache_bytes // (8 * bank.n_kernels)
        if bank.n_points**2 <= points_squared:
            return bank.n_points
        fitting = int((SHARE * points_squared) ** 0.5)
        return min(max(min(fitting, MOST_POINTS), LEAST_POINTS), bank.n_points)


class _Steps:
    """Steps on working sets; x and M, row j of which is ``(K_k v)_j`` for all k, are changed in place."""

    def __init__(
        self, bank: KernelBank, loss: Loss, penalty: Penalty, x: Vector, M: Matrix, size: int, cache_bytes: int
    ) -> None:
        self.bank, self.loss, self.penalty = bank, loss, penalty
        self.x, self.M, self.S = x, M, np.maximum(loss.signed_dual(x) @ M, 0.0)
        self.n_since, self.error = 0, self._fresh(float(np.abs(loss.signed_dual(x)).sum()))
        self.size = size
        self.slots = min(max(cache_bytes // (8 * size * bank.n_kernels), 2), size)
        self.diagonal = bank.diagonal()
        self.points = np.arange(bank.n_points)
        self.cache: ColumnCache | None = None
        if size == bank.n_points:
            self.cache = self._cache(size, lambda i: bank.entries([i], self.points)[0])
        self.free = self.points[:0]

    def take(self, decision: Vector, target: float, limit: int) -> tuple[int, bool]:
        """Steps on one working set; how many, and whether they are done with all points."""
        loss, bank = self.loss, self.bank
        if self.cache is not None:
            chosen, cache = self.points, self.cache
        else:
            chosen, violation = self._chosen(decision)
            if violation <= target:
                return 0, True
            block = bank.entries(chosen, chosen)
            cache, target = self._cache(chosen.size, lambda i: block[i]), max(target, LOOSE_SET * violation)
        linear, lower, upper, x = (
            np.ascontiguousarray(of_variable.reshape(-1, bank.n_points)[:, chosen]).ravel()
            for of_variable in (loss.linear, loss.lower, loss.upper, self.x)
        )
        M = self.M[chosen]
        taken, active, travel = take_steps(
            cache, self.penalty, linear, lower, upper, self.diagonal[chosen], x, M, self.S, target, limit
        )
        before = loss.signed_dual(self.x)
        self.x.reshape(-1, bank.n_points)[:, chosen] = x.reshape(-1, chosen.size)
        v = loss.signed_dual(self.x)
        # Each step rounds entries of M, by half of EPS times what they have been at most, and x; see `_rounding.pxi`.
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
        v = self.loss.signed_dual(self.x)
        for start in range(0, self.points.size, AT_A_TIME):
            rows = self.points[start : start + AT_A_TIME]
            self.M[rows] = self.bank.row_products(rows, v)
        self.S[:] = np.maximum(v @ self.M, 0.0)
        self.n_since, self.error = 0, self._fresh(float(np.abs(v).sum()))

    def _fresh(self, size: float) -> float:
        """Error of products with a vector of that 1-norm, over the largest diagonal entry of a kernel."""
        return (self.bank.exactness + 0.5 * EPS * (self.bank.n_points + 32)) * size

    def _cache(self, n_points: int, fetch: Callable[[int], Matrix]) -> ColumnCache:
        return ColumnCache(fetch, n_points, self.bank.n_kernels, self.slots)

    def _chosen(self, decision: Vector) -> tuple[Indices, float]:
        """The next working set, and the violation of the optimality conditions by all points."""
        loss, n = self.loss, self.bank.n_points
        g = loss.linear - np.tile(decision, loss.linear.size // n)
        rising = np.where(self.x < loss.upper, g, -np.inf).reshape(-1, n).max(axis=0)
        falling = np.where(self.x > loss.lower, g, np.inf).reshape(-1, n).min(axis=0)
        violation = float(rising.max() - falling.min())
        # The pair of largest violation is among the points in any case.
        kept = self.free[: min(int(KEPT * self.size), self.size - 2)]
        rising[kept] = np.inf
        n_rising = kept.size + (self.size - kept.size) // 2
        falling[np.argpartition(-rising, n_rising)[:n_rising]] = -np.inf
        return np.sort(np.argpartition(falling, self.size)[: self.size]), violation
