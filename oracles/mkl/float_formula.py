"""What dual variables prove in floats: quadratic forms as a bank has computed them, and the formula written out.

Between two queries all caches are full of kernels, and a query pays for each line of Python that it runs for the first
time again. So what formula.py does with `Floats` for one machine of a piecewise quadratic loss on one simplex stands
here once more, less what is 0, with one charge for all rounding; tests hold both against each other on random problems,
and against fractions. A sum of n products of sizes s is charged ``EPS (n + 8) s``, as in `Floats`, which leaves room
for a few roundings more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.formula import Proven
from oracle_opt.oracles.svm.pieces import Pieces
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.proof.exact_sums import SMALLEST
from oracle_opt.proof.floats import ON, Floats

NONE = Floats(0.0)
NEAR = 1e-8  # a best multiple so near to 1 gains half of its square of the bound, which is less than rounding


def proven_in_floats(loss: Separable, b: Vector, moved: float, forms: Floats) -> Proven:
    """`formula.proven` with `Separable.proves`."""
    sizes, n, quadratic = np.abs(b), b.size, NONE
    steep = np.abs(loss.linear)
    x, size = float(loss.linear.dot(b)), float(steep.dot(sizes))
    if loss.kink is not None:
        charged = float(loss.kink.dot(sizes))
        x, size = x - charged, size + charged
    if loss.ridge is not None:
        half = 0.5 * float(loss.ridge.dot(b * b))
        quadratic = Floats(half, EPS * (n + 10) * half + (n + 2) * SMALLEST)
    if moved:
        slope = float(steep.max()) + (0.0 if loss.kink is None else float(loss.kink.max()))
        if loss.ridge is not None:
            slope += float((loss.ridge * (sizes + moved)).max())
        x, size = x - slope * moved, size + slope * moved
    F = forms.x + forms.r
    F += EPS * np.abs(F)
    linear = Floats(x, EPS * (n + 10) * size + (n + 2) * SMALLEST)
    return Proven(linear, quadratic, F, partial(longest_multiple, loss, b), loss.total == 0)


def longest_multiple(loss: Separable, b: Vector) -> float:
    """`Separable.longest_multiple`, which few need who have a variable at its end."""
    lower, upper = loss.box
    at_end = np.abs(b) == np.maximum(upper, -lower)
    return 1.0 if at_end.any() else loss.longest_multiple(b)


def value_in_floats(proof: Proven, w: Vector) -> float:
    """`formula.value_at`, rounded down."""
    linear: Any = proof.linear
    quadratic: Any = proof.quadratic
    F, n = proof.forms, w.size
    half, size = 0.5 * float(w.dot(F)), 0.5 * float(np.abs(w).dot(np.abs(F)))
    x = linear.x - quadratic.x - half
    r = linear.r + quadratic.r + EPS * ((n + 10) * size + 2.0 * (abs(linear.x) + quadratic.x)) + (n + 2) * SMALLEST
    return float(Floats(x, r * ON).below())


def least_in_floats(proof: Proven) -> float:
    """`formula.least` over one simplex."""
    linear: Any = proof.linear
    quadratic: Any = proof.quadratic
    half = 0.5 * float(proof.forms.max())
    curved = 2.0 * (quadratic.x + half)

    def bound(t: float) -> float:
        first, second = t * linear.x, t * t * (quadratic.x + half)
        r = t * linear.r + t * t * quadratic.r + 4.0 * EPS * (abs(first) + abs(second)) + 4.0 * SMALLEST
        return float(Floats(first - second, r * ON).below())

    if not proof.scalable:
        return bound(1.0)
    if linear.x <= 0.0:
        return 0.0
    t = linear.x / curved if curved > 0.0 else np.inf
    if abs(t - 1.0) <= NEAR:
        return max(bound(1.0), 0.0)
    if t > 1.0:
        t = float(min(t, proof.longest()))
    return max(bound(t), bound(1.0), 0.0)


def forms_near(bank: KernelBank, b: Vector, moved: float, S: Vector, error: tuple[float, float]) -> Floats:
    """Forms where entries differ from b by e in all: of S_k ``(2 norm(b, 1) + e) e max(diag K_k)`` at most."""
    wrong = wrong_forms(bank, error)
    if moved:
        wrong = wrong + moved * (2.0 * float(np.abs(b).sum()) + moved) * bank.sizes[0]
    return Floats(S, wrong * (1.0 + EPS * (b.size + 8)))


def moved_of(bank: KernelBank, S: Floats, b: Vector, moved: float) -> Floats:
    """The forms at any point so near to b, as `forms_near`, where they are small: by Cauchy and Schwarz."""
    size, n = bank.sizes[0], b.size
    most = S.above() + n * EPS * size * float(b @ b)
    wrong = moved * (2.0 * np.sqrt(size * np.maximum(most, 0.0)) + 2.0 * moved * size)
    return Floats(S.x, (S.r + wrong) * (1.0 + EPS * (n + 8)))


def wrong_forms(bank: KernelBank, error: tuple[float, float]) -> Vector:
    """How wrong each form may be: an error over the largest diagonal entries, and one over the traces."""
    largest, trace = bank.sizes
    wrong: Vector = error[0] * largest if np.isinf(error[1]) else np.minimum(error[0] * largest, error[1] * trace)
    return wrong


@dataclass(frozen=True, eq=False)
class ProductsProof:
    """What products ``K_k @ b`` prove of dual variables b at weights of the kernels: see `proof_of_products`."""

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
    """What products of the kernels with b prove, none of which is computed here."""
    dual, largest = pieces.dual, bank.sizes[0]
    size = float(np.abs(b).sum())
    wrong = (slack + 0.5 * EPS * (weights.size + 16) * size) * float(weights @ largest)
    gap, bias = pieces.gap(b, decision, wrong)
    error = error_of_forms(b, slack, slack_of_trace)
    forms = float(weights @ (S - (1 + 4 * EPS) * wrong_forms(bank, error)))
    return ProductsProof(gap, bias, dual.value(b) + dual.rounding(b) - 0.5 * forms + gap, error)


def error_of_forms(b: Vector, slack: float, slack_of_trace: float) -> tuple[float, float]:
    """How wrong ``b @ M`` may be for products M that are, as of `KernelBank.form_error`: its sum is rounded, too."""
    size, length, relative = float(np.abs(b).sum()), float(np.linalg.norm(b)), EPS * (b.size + 16)
    return (slack + relative * size) * size, (slack_of_trace + relative * length) * length
