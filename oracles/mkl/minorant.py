"""What dual variables of an SVM prove about a weighted sum of kernels, in exact arithmetic."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.svm.box_dual import BoxDual


def proven(
    bank: KernelBank, dual: BoxDual, b: Vector, imbalance: float, S: Vector, error: tuple[float, float]
) -> tuple[float, Vector]:
    """A constant and forms F with ``constant - 1/2 w @ F <= f(w)`` for all weights w >= 0.

    ``f(w)`` is the maximum of ``L(x) - 1/2 sum_k w_k x @ K_k @ x`` over x in the box and of a given sum. Were b exactly
    of that sum, it would be ``L(b)`` and ``S(b)``. A point that is differs from b by entries of one sign that add up to
    `imbalance` e at most: L by ``e * slope``, S_k by ``(2 norm(b, 1) + e) e`` times the largest diagonal entry of K_k.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    dual : BoxDual
        L, the box and the sum.
    b : ndarray of shape (n,)
        In the box.
    imbalance : float
        e.
    S : ndarray of shape (p,)
        Quadratic forms of b as computed.
    error : tuple of float
        How wrong they may be: as of `KernelBank.form_error`.

    Returns
    -------
    tuple
        The constant, and F, ndarray of shape (p,).
    """
    constant = dual.value(b) - dual.rounding(b) - imbalance * (dual.slope(b) + imbalance)
    return constant, proven_forms(bank, b, imbalance, S, error)


def proven_forms(bank: KernelBank, b: Vector, imbalance: float, S: Vector, error: tuple[float, float]) -> Vector:
    """The F of `proven`, ndarray of shape (p,)."""
    largest, trace = bank.sizes
    moved = imbalance * (2.0 * float(np.abs(b).sum()) + imbalance)
    wrong = error[0] * largest if np.isinf(error[1]) else np.minimum(error[0] * largest, error[1] * trace)
    F: Vector = S + (1 + 4 * EPS) * (wrong + moved * largest)
    return F


def minorant_at(w: Vector, constant: float, F: Vector) -> float:
    """``constant - 1/2 w @ F`` rounded down."""
    half = 0.5 * float(w @ F)
    size = 0.5 * float(np.abs(w) @ np.abs(F)) if w.size and w.min() < 0 else half
    return float(constant - half - 0.5 * EPS * ((np.count_nonzero(w) + 4) * abs(size) + 2.0 * abs(constant)))


def error_above(value: float, upper: float) -> float:
    """The least number, rounded up and not negative, for which value + error is at least upper also when rounded."""
    return float(max(upper - value + 2.0 * EPS * max(abs(upper), abs(value)), 0.0))
