"""MKL with a smooth regularizer, solved by the methods made for it: lp-norms with p > 1, divergence, elastic net."""

import os
from collections.abc import Callable
from copy import copy

from numpy.typing import ArrayLike

from oracle_opt.arguments import instance, real
from oracle_opt.driver import minimize
from oracle_opt.errors import InvalidArgument
from oracle_opt.history import Record
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.gmkl_oracle import GMKLOracle
from oracle_opt.oracles.mkl.kernel_machine import MEMORY_BUDGET, checked_bank
from oracle_opt.oracles.mkl.mkl_solver import MKLSolver
from oracle_opt.oracles.mkl.newton_mkl import NewtonMKL
from oracle_opt.oracles.mkl.regularizer import Regularizer
from oracle_opt.oracles.mkl.regularizers import LpRegularizer
from oracle_opt.oracles.svm.hinge import Hinge
from oracle_opt.oracles.svm.loss import Loss
from oracle_opt.result import Result

# Limit on the steps of one SVM, times the points; several times what well-conditioned ones need.
STEPS_A_POINT = 50
# Relative gap of the SVM that is solved for an upper bound.
SVM_ACCURACY = 1e-9


def solve_lp_mkl(
    bank: KernelBank,
    y: ArrayLike,
    C: float | ArrayLike = 100.0,
    p: float = 1.33,
    lam: float = 1.0,
    rtol: float = 1e-6,
    *,
    solver: MKLSolver | None = None,
    max_calls: int = 1000,
    max_seconds: float | None = None,
    memory_budget: int = MEMORY_BUDGET,
    log: bool | Callable[[str], object] = False,
    check: bool = True,
) -> Result:
    """Classification with the squared lp-norm of the kernel weights.

    ``min over d >= 0 of max over a of sum(a) - 1/2 sum_k d_k S_k(a) + lam / 2 * norm(d, p)**2``, a in the box of the
    C-SVC dual, ``S_k(a) = (y*a) @ K_k @ (y*a)``. Its dual is ``max over a of sum(a) - norm(S(a), q)**2 / (8 lam)`` with
    ``1/p + 1/q = 1``. This is `solve_mkl` with ``LpRegularizer(p, lam)`` and ``Hinge(C)``.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    y : array_like of shape (n,)
        Labels, -1 and +1, both present.
    C : float or array_like of shape (n,)
        Upper bound of each dual variable, positive. Mind the scale: with kernels of unit trace 100 is moderate.
    p : float
        Exponent of the norm, greater than 1. For p = 1 see `MKLOracle`.
    lam : float
        Factor of the regularizer, positive.
    rtol : float
        Stop when the proven gap is at most ``rtol * abs(upper bound)``; see `minimize`.
    solver : MKLSolver, optional
        Default: that of `solve_mkl`. `SMOMKL()` is the method of the paper.
    max_calls, max_seconds
        As for `minimize`.
    memory_budget : int
        As for `MKLOracle`.
    log, check
        As for `minimize`.

    Returns
    -------
    Result
        As that of `solve_mkl`.

    Raises
    ------
    InvalidArgument
        An argument cannot be used.

    References
    ----------
    .. [1] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm".

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import GramBank
    >>> from oracle_opt.oracles import solve_lp_mkl
    >>> result = solve_lp_mkl(GramBank([np.eye(2), 2 * np.eye(2)]), [1, -1], p=2.0)
    >>> result.point.round(6).tolist(), round(result.upper_bound, 6)
    ([0.341995, 0.68399], 0.877205)
    """
    if not real("p", p) > 1.0:
        raise InvalidArgument(f"`p` must be above 1, got {p!r}; for p = 1 minimize MKLOracle, l1-MKL on the simplex")
    regularizer, loss = LpRegularizer(p, real("lam", lam, above=0.0)), Hinge(C)
    return solve_mkl(
        bank,
        y,
        regularizer,
        loss=loss,
        rtol=rtol,
        solver=solver,
        max_calls=max_calls,
        max_seconds=max_seconds,
        memory_budget=memory_budget,
        log=log,
        check=check,
    )


def solve_mkl(
    bank: KernelBank,
    y: ArrayLike | None = None,
    regularizer: Regularizer | None = None,
    *,
    loss: Loss | float | ArrayLike | None = None,
    C: float | ArrayLike | None = None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    solver: MKLSolver | None = None,
    max_calls: int = 1000,
    max_seconds: float | None = None,
    keep_cuts: bool = False,
    journal: str | os.PathLike[str] | None = None,
    journal_check: bool = True,
    callback: Callable[[Record], object] | None = None,
    progress: bool = False,
    log: bool | Callable[[str], object] = False,
    check: bool = True,
    memory_budget: int = MEMORY_BUDGET,
) -> Result:
    """MKL with any loss and a smooth regularizer: `minimize` on `GMKLOracle` by a method made for it.

    ``min over d >= 0 of max over b of L(b) - 1/2 sum_k d_k b @ K_k @ b + r(d)``, where L, a box and the sum of the
    signed dual variables b are those of the loss.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    y : array_like of shape (n,), optional
        Labels or targets, as the loss takes them; `OneClass` takes none.
    regularizer : Regularizer, optional
        r: `LpRegularizer` of power 2 with p > 1, `EntropyRegularizer`, `ElasticNet`, or one of your own whose
        `smooth_dual` is not None. Default: ``LpRegularizer(2)``.
    loss : Loss, optional
        `Hinge`, `SquaredHinge`, `EpsilonInsensitive`, `OneClass`, or one of your own. Default: ``Hinge(C)``.
    C : float or array_like of shape (n,), optional
        Short for ``loss=Hinge(C)``.
    rtol, atol
        As for `minimize`.
    solver : MKLSolver, optional
        Default: `NewtonMKL()`, whose SVMs need no combined kernel where that does not fit into the budget; without its
        fallback if `SMOMKL` does not know the regularizer. What it says of the gap wanted, its `rtol`, is set to that
        of this run.
    max_calls, max_seconds, keep_cuts, journal, journal_check, callback, progress, log, check
        As for `minimize`.
    memory_budget : int
        As for `MKLOracle`.

    Returns
    -------
    Result
        Its `point` are the kernel weights d, shape (number of kernels,); its `cut.extras` hold `signed_dual`, `alpha`
        (its absolute values), `bias`, `quadratic_forms` and `n_steps`. For new points the decision values are
        ``bank.cross(new, result.point) @ signed_dual + bias``.

    Raises
    ------
    InvalidArgument
        An argument cannot be used.
    CapabilityMismatch
        The solver cannot serve the regularizer.

    Any exception of the bank carries the `Result` so far as its attribute `result`, as in `minimize`.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import EntropyRegularizer, GramBank, solve_mkl
    >>> from oracle_opt.oracles.svm import EpsilonInsensitive
    >>> bank = GramBank([np.eye(2), np.diag([2.0, 1.0])])
    >>> solve_mkl(bank, [1.0, -1.0], EntropyRegularizer(1.0, 0.5), loss=EpsilonInsensitive(C=10.0)).success
    True
    """
    limit = STEPS_A_POINT * checked_bank(bank).n_points
    oracle = GMKLOracle(
        bank, y, regularizer, loss=loss, C=C, accuracy=SVM_ACCURACY, max_steps=limit, memory_budget=memory_budget
    )
    problem = oracle.domain.problem
    if oracle.dual.piecewise is None:
        raise InvalidArgument(f"`loss` must be piecewise quadratic, got {oracle.loss!r}; minimize GMKLOracle with it")
    if problem is None:
        raise InvalidArgument(
            "`regularizer` must have a smooth dual, as LpRegularizer of power 2 with p > 1, EntropyRegularizer and "
            f"ElasticNet have, got {oracle.regularizer!r}; minimize GMKLOracle with it, or MKLOracle, which is l1-MKL "
            "on the simplex"
        )
    if solver is None:
        solver = NewtonMKL()
        if solver.refusal_of(problem):  # the user's own regularizer has no penalty that SMOMKL knows
            solver = NewtonMKL(fallback=None)
    generator = copy(instance("solver", solver, MKLSolver, "an MKLSolver object such as SMOMKL()"))
    if real("rtol", rtol, least=0.0) > 0 or not real("atol", atol, least=0.0) > 0:
        generator.rtol = rtol
    return minimize(
        oracle,
        generator,
        problem.dual.start(),
        rtol=rtol,
        atol=atol,
        max_calls=max_calls,
        max_seconds=max_seconds,
        keep_cuts=keep_cuts,
        journal=journal,
        journal_check=journal_check,
        callback=callback,
        progress=progress,
        log=log,
        check=check,
    )
