"""SMO-MKL: two-variable steps on the dual of MKL."""

from collections.abc import Callable

import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.arguments import real, whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.generator import Step
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.mkl.dual_query import DualQuery
from oracle_opt.oracles.mkl.lpmkl_build import ColumnCache, Penalty, take_steps
from oracle_opt.oracles.mkl.mkl_problem import MKLProblem
from oracle_opt.oracles.mkl.mkl_solver import MKLSolver, Steps
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


# Steps, and working sets, after which a duality gap is computed in any case.
ROUND, SETS = 10_000, 25
# After so many steps per point the products of the kernels are computed anew.
REFRESH = 50
# Violation of the first round, relative to that at the start.
LOOSE = 0.1
# Share of the cache that the columns of a working set may take, if those of all points do not fit: a small set is read
# anew sooner than a large one is written. Its points at most, and at least in any case.
SHARE, MOST_POINTS, LEAST_POINTS = 1 / 16, 128, 16
# Why a run ends.
LIMIT, ROUNDING = "its limit of steps is reached", "rounding keeps its steps from moving the dual variables"
OPTIMAL = "its dual variables satisfy the optimality conditions to the last bit"


class SMOMKL(MKLSolver):
    """Sequential minimal optimization in the dual of MKL, ``max L(x) - rho(S(x))``.

    A step moves two variables to the exact optimum along their line: for the squared 2-norm the root of a cubic,
    otherwise by a safeguarded Newton method. The first variable is the one of largest gradient, its partner the one of
    largest gain by second derivatives. ``K_k v`` is kept for all kernels; a step updates the rows of a working set of
    points by two columns of each kernel, which come from the bank when they are first needed, the least recently used
    being thrown out. If the columns of all points fit, the working set are all points. Otherwise it is chosen again and
    again: the points of largest violation, and half of it free ones of the last set; after its steps the other rows
    are updated by the columns of the points that moved, so that no column of all points is kept. Points whose variables
    stay at a bound are left out of the passes. Each round of steps ends with a query at the weights that are best for
    the current variables, which tells these: the lower bound of its cut is the dual objective, its upper one the primal
    objective there. It gives up when steps no longer move the variables.

    The state takes ``24 * n * p`` bytes besides the columns, and a matrix of ``8 * n**2`` up to `polish_points`.

    Parameters
    ----------
    cache_bytes : int
        Bytes the columns of a working set may take, of ``8 * p`` times its points each; two are kept in any case.
    max_steps : int
        Limit on the steps of a run.
    polish_points : int
        Number of points up to which the SVM at the weights of a cut is solved for its upper bound. Without, the bound
        has an error of first order and a run takes about three times the steps.
    working_points : int, optional
        Points of a working set, at least 2. Default: all points if their columns fit into `cache_bytes`, otherwise as
        many as fit into 1/16 of it, at least 16 and at most 128.
    rtol : float
        Relative gap that the run is to end at: it says how exact the last round has to be. `solve_mkl` sets it.

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

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.oracles import SMOMKL, GMKLOracle, GramBank, LpRegularizer
    >>> oracle = GMKLOracle(GramBank([np.eye(2), 2 * np.eye(2)]), [1, -1], LpRegularizer(2))
    >>> minimize(oracle, SMOMKL()).point.round(6).tolist()
    [0.341995, 0.68399]
    """

    def __init__(
        self,
        cache_bytes: int = 1 << 30,
        max_steps: int = 10_000_000,
        polish_points: int = 1_000,
        working_points: int | None = None,
        rtol: float = 1e-6,
    ) -> None:
        self.cache_bytes = whole("cache_bytes", cache_bytes, least=0)
        self.max_steps = whole("max_steps", max_steps, least=0)
        self.polish_points = whole("polish_points", polish_points, least=0)
        self.working_points = None if working_points is None else whole("working_points", working_points, least=2)
        self.rtol = real("rtol", rtol, least=0.0)

    def refusal_of(self, problem: MKLProblem) -> str | None:
        """Regularizers that the compiled steps do not know."""
        if problem.dual.penalty() is not None:
            return None
        return f"its compiled steps do not know {problem.dual.regularizer!r}; take NewtonMKL(fallback=None)"

    def solve(self, problem: MKLProblem, point: Vector) -> Steps:
        """One query a round of steps, from dual variables of 0, or bounds where they add up to something else."""
        return (yield from self.solve_from(problem.pieces.start(), problem, self.rtol))

    def solve_from(self, start: Vector, problem: MKLProblem, rtol: float) -> Steps:
        """Go on from dual variables, as `solve` does from none.

        Parameters
        ----------
        start : ndarray of shape (n,)
            Feasible signed dual variables.
        problem : MKLProblem
            Kernels, loss and regularizer.
        rtol : float
            Relative gap at which the run is to end.

        Yields
        ------
        ndarray, Query or Step
            As `solve`.
        """
        bank, pieces, dual, penalty = problem.bank, problem.pieces, problem.dual, problem.dual.penalty()
        assert penalty is not None  # `refusal_of` refuses all other regularizers
        steps = WorkingSets(bank, pieces, penalty, start, self._size(bank), self.cache_bytes)
        target = LOOSE * pieces.violation(steps.x, steps.M @ dual.weights(steps.S))
        n_steps, best, polish = 0, -np.inf, bank.n_points <= self.polish_points
        while True:
            before = n_steps
            for _ in range(SETS):
                limit = min(ROUND, self.max_steps - n_steps)
                taken, done = steps.take(steps.M @ dual.weights(steps.S), target, limit)
                n_steps += taken
                if done or taken == 0 or n_steps >= min(self.max_steps, before + ROUND):
                    break
            if steps.n_since > REFRESH * bank.n_points:
                steps.refresh()
            elif n_steps == before and best > -np.inf:
                return ROUNDING
            d, v = dual.weights(steps.S), pieces.signed_dual(steps.x)
            decision = steps.M @ d
            violation = pieces.violation(steps.x, decision)
            cut = yield DualQuery(
                d,
                signed_dual=v,
                quadratic_forms=steps.S.copy(),
                decision=decision,
                slack=steps.error,
                n_steps=n_steps,
                polish=polish,
            )
            yield Step.SERIOUS if cut.lower_bound > best else Step.NULL
            best = max(best, cut.lower_bound)
            if n_steps >= self.max_steps:
                return LIMIT
            if violation == 0.0:
                return OPTIMAL
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
