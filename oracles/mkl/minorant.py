"""What dual variables of an SVM prove about a weighted sum of kernels, in exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.svm.pieces import Pieces
from oracle_opt.oracles.svm.separable_dual import Separable


def proven(
    bank: KernelBank, dual: Separable, b: Vector, imbalance: float, S: Vector, error: tuple[float, float]
) -> tuple[float, Vector]:
    """A constant and forms F with ``constant - 1/2 w @ F <= f(w)`` for all weights w >= 0.

    ``f(w)`` is the maximum of ``L(x) - 1/2 sum_k w_k x @ K_k @ x`` over x in the box and of a given sum. Were b exactly
    of that sum, it would be ``L(b)`` and ``S(b)``. A point that is differs from b by entries of one sign that add up to
    `imbalance` e at most: L by ``e * slope``, S_k by ``(2 norm(b, 1) + e) e`` times the largest diagonal entry of K_k.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    dual : Separable
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
    moved = imbalance * (2.0 * float(np.abs(b).sum()) + imbalance)
    F: Vector = S + (1 + 4 * EPS) * (_wrong(bank, error) + moved * bank.sizes[0])
    return F


def lowered_forms(bank: KernelBank, S: Vector, error: tuple[float, float]) -> Vector:
    """What the quadratic forms S are at least, ndarray of shape (p,)."""
    lowered: Vector = S - (1 + 4 * EPS) * _wrong(bank, error)
    return lowered


def _wrong(bank: KernelBank, error: tuple[float, float]) -> Vector:
    largest, trace = bank.sizes
    wrong: Vector = error[0] * largest if np.isinf(error[1]) else np.minimum(error[0] * largest, error[1] * trace)
    return wrong


def minorant_at(w: Vector, constant: float, F: Vector) -> float:
    """``constant - 1/2 w @ F`` rounded down."""
    half = 0.5 * float(w @ F)
    size = 0.5 * float(np.abs(w) @ np.abs(F)) if w.size and w.min() < 0 else half
    return float(constant - half - 0.5 * EPS * ((np.count_nonzero(w) + 4) * abs(size) + 2.0 * abs(constant)))


def error_above(value: float, upper: float) -> float:
    """The least number, rounded up and not negative, for which value + error is at least upper also when rounded."""
    return float(max(upper - value + 2.0 * EPS * max(abs(upper), abs(value)), 0.0))


def least_over_simplex(constant: float, largest: float, scalable: bool) -> float:
    """Least value over the simplex of what b proves, or that of a better multiple m b, m <= 1, rounded down.

    Some feasible x has ``constant <= L(x)`` and ``S_k(x) <= largest``. L is concave and ``L(0) == 0``, so where m x is
    feasible it proves ``m constant - m**2 / 2 largest``; the best m is ``constant / largest``, or an end of [0, 1].

    Parameters
    ----------
    constant, largest : float
        The constant and the largest F of `proven`.
    scalable : bool
        Whether smaller multiples are feasible: they are if b has to add up to 0.
    """
    if scalable and constant <= 0.0:
        return 0.0
    if scalable and constant < largest:
        return 0.5 * constant * (constant / largest) * (1.0 - 2.0 * EPS)
    return minorant_at(np.ones(1), constant, np.array([largest]))


@dataclass(frozen=True, eq=False)
class ProductsProof:
    """What products ``K_k @ b`` prove of dual variables b at weights of the kernels: see `proof_of_products`.

    Parameters
    ----------
    gap, bias : float
        At least the duality gap of b at the best bias, and that bias.
    upper : float
        At least the primal objective.
    error : tuple of float
        How wrong ``b @ K_k @ b`` may be: as of `KernelBank.form_error`.
    """

    gap: float
    bias: float
    upper: float
    error: tuple[float, float]


def proof_of_products(
    bank: KernelBank,
    pieces: Pieces,
    b: Vector,
    S: Vector,
    decision: Vector,
    weights: Vector,
    slack: float,
    slack_of_trace: float = np.inf,
) -> ProductsProof:
    """What products of the kernels with b prove, none of which is computed here.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    pieces : Pieces
        Those of the machine.
    b : ndarray of shape (n,)
        In the box.
    S : ndarray of shape (p,)
        ``b @ K_k @ b``, made of the products.
    decision : ndarray of shape (n,)
        ``sum_k w_k K_k @ b``, made of the products.
    weights : ndarray of shape (p,)
        w.
    slack : float
        By how much entries of ``K_k @ b`` may be wrong, over the largest diagonal entry of K_k.
    slack_of_trace : float
        By how much entry i may be wrong, over the roots of the trace and of the i-th diagonal entry of K_k.
    """
    dual, largest = pieces.dual, bank.sizes[0]
    size = float(np.abs(b).sum())
    wrong = (slack + 0.5 * EPS * (weights.size + 16) * size) * float(weights @ largest)
    gap, bias = pieces.gap(b, decision, wrong)
    error = error_of_forms(b, slack, slack_of_trace)
    forms = float(weights @ lowered_forms(bank, S, error))
    return ProductsProof(gap, bias, dual.value(b) + dual.rounding(b) - 0.5 * forms + gap, error)


def error_of_forms(b: Vector, slack: float, slack_of_trace: float) -> tuple[float, float]:
    """How wrong ``b @ M`` may be for products M that are wrong by so much, as of `KernelBank.form_error`.

    The sum over the points is rounded, too: by n half roundings, ``abs(b) @ abs(M)`` being at most ``norm(b, 1)**2``
    times the largest diagonal entry and ``norm(b)**2`` times the trace.
    """
    size, length, relative = float(np.abs(b).sum()), float(np.linalg.norm(b)), EPS * (b.size + 16)
    return (slack + relative * size) * size, (slack_of_trace + relative * length) * length
