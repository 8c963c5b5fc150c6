"""SMO-MKL: two-variable steps on the dual of MKL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oracle_opt.cuts import ObjectiveCut, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import Step
from oracle_opt.oracles._processor import AVX2
from oracle_opt.oracles.svm.mkl_problem import MKLProblem, MKLSolver

if AVX2:
    from oracle_opt.oracles.svm._lpmkl_avx2 import ColumnCache, take_steps
else:
    from oracle_opt.oracles.svm._lpmkl import ColumnCache, take_steps

# Steps after which a duality gap is computed in any case.
ROUND = 10_000
# Violation of the first round, relative to that at the start.
LOOSE = 0.1


@dataclass(frozen=True)
class SMOMKL(MKLSolver):
    """Sequential minimal optimization in the dual of MKL, ``max linear @ x - rho(S(x))``.

    A step moves two variables to the exact optimum along their line: for the squared 2-norm the root of a cubic,
    otherwise by a safeguarded Newton method. The first variable is the one of largest gradient, its partner the one of
    largest gain by second derivatives. ``K_k v`` is kept for all kernels and updated by two columns of each; columns
    come from the bank when they are first needed and the least recently used are thrown out. Points whose variables
    stay at a bound are left out of the passes. Each round of steps ends with a cut at the weights that are best for the
    current variables: its lower bound is the dual objective, its upper one the primal objective there. It gives up when
    steps no longer move the variables.

    The state takes ``16 * n * p`` bytes besides the columns, and a matrix of ``8 * n**2`` up to `polish_points`.

    Parameters
    ----------
    cache_bytes : int
        Bytes the columns may take, of ``8 * n * p`` each; two are kept in any case.
    max_steps : int
        Limit on the steps of a run.
    polish_points : int
        Number of points up to which, for the hinge loss, the SVM at the weights of a cut is solved for its upper bound.
        Without, the bound has an error of first order and a run takes about three times the steps.

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
    """

    cache_bytes: int = 1 << 30
    max_steps: int = 10_000_000
    polish_points: int = 5_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value >= 0:
                raise InvalidArgument(f"`{name}` must be >= 0, got {value!r}")

    def cuts(self, problem: MKLProblem, rtol: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        """One cut a round of steps, in extras its `n_steps` so far; see `MKLSolver.cuts`."""
        return self.cuts_from(np.zeros(problem.loss.linear.size), problem, rtol)

    def cuts_from(self, start: Vector, problem: MKLProblem, rtol: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        """`cuts` from feasible variables, shape of ``problem.loss.linear``."""
        bank, loss = problem.bank, problem.loss
        n, p = bank.n_points, bank.n_kernels
        points = np.arange(n)

        cache = ColumnCache(
            lambda i: bank.entries([i], points)[0], n, p, min(max(self.cache_bytes // (8 * n * p), 2), n)
        )
        diagonal = bank.diagonal()
        penalty = problem.dual.penalty()
        x = start.copy()
        M = bank.row_products(points, loss.signed_dual(x))
        S = loss.signed_dual(x) @ M
        target = LOOSE * loss.gap(x, M @ problem.dual.weights(S))[2]
        steps, best = 0, -np.inf
        while True:
            limit = min(ROUND, self.max_steps - steps)
            taken, active = take_steps(
                cache, penalty, loss.linear, loss.lower, loss.upper, diagonal, x, M, S, target, limit
            )
            steps += taken
            v = loss.signed_dual(x)
            left_out = np.delete(points, active)
            M[left_out] = bank.row_products(left_out, v)
            S[:] = v @ M
            cut, violation = problem.answer_dual(x, M, steps, n <= self.polish_points)
            yield cut, Step.SERIOUS if cut.lower_bound > best else Step.NULL
            if steps >= self.max_steps or violation == 0.0 or (taken == 0 and violation > target):
                return
            best = max(best, cut.lower_bound)
            if violation <= 2.0 * target:
                # The gap goes with the violation or, if the SVM at the weights was solved for it, with its square.
                relative = (cut.upper - cut.lower_bound) / max(abs(cut.upper), 1e-300)
                share = np.sqrt(0.5 * rtol / max(relative, 1e-300))
                target = min(target, violation) * min(max(share, 0.1), 0.5)
