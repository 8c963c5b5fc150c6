"""MKL with a smooth regularizer, solved directly: lp-norms with p > 1, generalized Kullback-Leibler divergence."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.bounds import BoundTracker
from oracle_opt.domains import NonnegativeOrthant
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank import GramBank
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.losses import _HingeData as Hinge
from oracle_opt.oracles.mkl.losses import _LossData as Loss
from oracle_opt.oracles.mkl.mkl_problem import MKLProblem, MKLSolver
from oracle_opt.oracles.mkl.newton_mkl import NewtonMKL
from oracle_opt.oracles.mkl.regularizers import LpRegularizer, Regularizer
from oracle_opt.oracles.mkl.smo_mkl import SMOMKL
from oracle_opt.result import HistoryRecorder, Result, Status, make_result

# Points up to which kernels on the fly are combined for all points.
FEW_POINTS = 1_000


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
) -> Result:
    """Classification with the squared lp-norm of the kernel weights.

    ``min over d >= 0 of max over a of sum(a) - 1/2 sum_k d_k S_k(a) + lam / 2 * norm(d, p)**2``, a in the box of the
    C-SVC dual, ``S_k(a) = (y*a) @ K_k @ (y*a)``. Its dual is ``max over a of sum(a) - norm(S(a), q)**2 / (8 lam)`` with
    ``1/p + 1/q = 1``.

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
        Stop when the proven gap is at most ``rtol * abs(upper bound)``.
    solver : MKLSolver, optional
        Default: that of `solve_mkl`. `SMOMKL()` is the method of the paper.
    max_calls : int
        Limit on the points answered, rows of the history.
    max_seconds : float, optional
        Limit on the elapsed seconds; checked between rows.

    Returns
    -------
    Result
        Its `point` are the kernel weights d, shape (number of kernels,); its `cut.extras` hold `alpha`, `bias`,
        `signed_dual`, `quadratic_forms` and `n_steps`. For new points the decision values are
        ``bank.cross(new, result.point) @ signed_dual + bias``.

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
    for name, number, least in (("p", p, 1.0), ("lam", lam, 0.0)):
        if not least < number < np.inf:
            advice = "; for p = 1 minimize MKLOracle, which is l1-MKL on the simplex" if name == "p" else ""
            raise InvalidArgument(f"`{name}` must be finite and greater than {least:g}, got {number!r}{advice}")
    return solve_mkl(
        bank, Hinge(y, C), LpRegularizer(p, lam), rtol, solver=solver, max_calls=max_calls, max_seconds=max_seconds
    )


def solve_mkl(
    bank: KernelBank,
    loss: Loss,
    regularizer: Regularizer,
    rtol: float = 1e-6,
    *,
    solver: MKLSolver | None = None,
    max_calls: int = 1000,
    max_seconds: float | None = None,
) -> Result:
    """MKL with a loss and a smooth regularizer.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    loss : Loss
        `Hinge` or `EpsilonInsensitive`, of n points.
    regularizer : Regularizer
        `LpRegularizer` of power 2 with p > 1, or `EntropyRegularizer`.
    rtol, max_calls, max_seconds
        As for `solve_lp_mkl`.
    solver : MKLSolver, optional
        Default: `NewtonMKL()` for the hinge loss on a `GramBank` or on at most 1000 points, as it combines the kernels
        of all points in each query; `SMOMKL()` else.

    Returns
    -------
    Result
        As for `solve_lp_mkl`; `alpha` has shape (2 n,) for `EpsilonInsensitive`.

    Raises
    ------
    InvalidArgument
        An argument cannot be used.
    CapabilityMismatch
        The solver cannot serve the loss.

    Any exception of the bank carries the `Result` so far as its attribute `result`, as in `minimize`.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import EntropyRegularizer, GramBank
    >>> from oracle_opt.oracles.mkl import EpsilonInsensitive, solve_mkl
    >>> bank = GramBank([np.eye(2), np.diag([2.0, 1.0])])
    >>> solve_mkl(bank, EpsilonInsensitive([1.0, -1.0]), EntropyRegularizer(1.0, 0.5)).success
    True
    """
    if not rtol >= 0:
        raise InvalidArgument(f"`rtol` must be at least 0, got {rtol!r}")
    if not max_calls >= 0:
        raise InvalidArgument(f"`max_calls` must be at least 0, got {max_calls!r}")
    if max_seconds is not None and not max_seconds >= 0:
        raise InvalidArgument(f"`max_seconds` must be at least 0 or None, got {max_seconds!r}")
    problem = MKLProblem(bank, loss, regularizer)
    if solver is None:
        combined = isinstance(bank, GramBank) or bank.n_points <= FEW_POINTS
        solver = NewtonMKL() if combined and isinstance(loss, Hinge) else SMOMKL()
    if not isinstance(solver, MKLSolver):
        raise InvalidArgument(f"`solver` must be an MKLSolver object such as SMOMKL(), got {solver!r}")
    bounds, recorder = BoundTracker(NonnegativeOrthant(bank.n_kernels)), HistoryRecorder(keep_cuts=False)
    began = clock = perf_counter()

    def result(status: Status) -> Result:
        return make_result(status, bounds, recorder, atol=rtol * max(1e-12, abs(bounds.upper)))

    cuts = solver.cuts(problem, rtol)
    try:
        while recorder.n_calls < max_calls:
            if max_seconds is not None and perf_counter() - began >= max_seconds:
                return result(Status.MAX_SECONDS)
            answered = problem.seconds
            found = next(cuts, None)
            if found is None:
                return result(Status.EXHAUSTED)
            cut, step = found
            answering = problem.seconds - answered
            bounds.update(cut, None, 0.0)
            recorder.append(cut, step, bounds, answering, perf_counter() - clock - answering)
            clock = perf_counter()
            if bounds.contradiction():
                return result(Status.CONTRADICTION)
            if np.isfinite(bounds.gap) and bounds.gap <= rtol * max(1e-12, abs(bounds.upper)):
                return result(Status.CONVERGED)
        return result(Status.MAX_CALLS)
    except KeyboardInterrupt:
        return result(Status.INTERRUPTED)
    except BaseException as trouble:  # SystemExit too
        trouble.result = result(Status.FAILED)  # type: ignore[attr-defined]
        raise
