"""The step of a semismooth Newton method on the dual of a model: a small quadratic program over multipliers."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector

ENTER = 0.5  # multipliers that gain at least this share of the best gain enter together
MAX_CHANGES = 300


def ascent_step(hessian: Matrix, gradient: Vector, start: Vector, count: int, tolerance: Vector) -> Vector:
    """``max gradient @ d - 1/2 d @ hessian @ d`` with ``start + d >= 0``, the first entries of d adding up to 0.

    An active-set method from the support of `start`. It works on the step and its residual, not on the multipliers:
    the Hessian's eigenvalues may lie eleven orders apart, as cuts of neighboring points do, and a step of 1e-8 must
    still be one uphill. On a support, ``H + rho e e'`` is factorized in place of H, which changes nothing where e @ d
    is 0, and is definite where H is only there.

    Parameters
    ----------
    hessian : ndarray of shape (m, m)
        Positive semidefinite.
    gradient : ndarray of shape (m,)
        Linear term.
    start : ndarray of shape (m,)
        Nonnegative multipliers, some of the first `count` positive.
    count : int
        The multipliers whose sum is kept.
    tolerance : ndarray of shape (m,)
        Multipliers at zero with a smaller gain are left there.

    Returns
    -------
    ndarray of shape (m,)
        The step.
    """
    step, residual = np.zeros(len(start)), gradient.copy()
    support, refused = start > 0, np.zeros(len(start), dtype=bool)  # refused: entered alone and left at once
    ones = (np.arange(len(start)) < count).astype(float)
    entered = np.zeros(0, dtype=np.intp)
    ridge = 0.0
    for _ in range(MAX_CHANGES):
        seconds_left()
        chosen = np.flatnonzero(support)
        part, e = hessian[chosen[:, None], chosen], ones[chosen]
        rho = float(part.diagonal().mean()) or 1.0
        part += rho * e[:, None] * e
        part[np.diag_indices(len(chosen))] += ridge
        _, both, info = scipy.linalg.lapack.dposv(part, np.column_stack([residual[chosen], e]))
        if info != 0 or not np.isfinite(both).all():
            ridge = max(100.0 * ridge, 1e-14 * float(part.diagonal().max()))
            continue
        plain, normal = both.T
        moved = plain - (e @ plain) / (e @ normal) * normal
        known = start[chosen] + step[chosen]
        falling = (known + moved <= 0) & (moved < 0)
        if falling.any():
            # go as far as the first multiplier that reaches zero, and take it out
            room = known[falling] / -moved[falling]
            length = float(room.min())
            gone = chosen[falling][room <= length]
            step[chosen] += length * moved
            step[gone] = -start[gone]
            residual -= length * (hessian[:, chosen] @ moved)
            refused[gone] |= len(entered) == 1 and gone[0] == entered[0]
            support[gone] = False
            continue
        step[chosen] += moved
        residual -= hessian[:, chosen] @ moved
        gain = residual - float(residual[chosen] @ e / e.sum()) * ones
        gain[support | refused | (gain <= tolerance)] = -np.inf
        best = float(gain.max())
        if best == -np.inf:
            break
        entered = np.flatnonzero(gain >= ENTER * best)
        support[entered] = True
    return step
