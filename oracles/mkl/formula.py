"""The formula of kernel learning, in floats with a radius or in fractions.

    f(w) = r(w) + max over c in the simplex of groups, max over b_1 .. b_M of
           sum_m L_m(b_m) - 1/2 sum_j (1 / c_j) sum of w_k S_k(b) over k in group j,
    S_k(b) = sum_m b_m @ K_mk @ b_m,
    L_m(b) = sum_i linear_i b_i - kink_i abs(b_i) - 1/2 ridge_i b_i**2,

b_m in the box and of the sum of machine m. With one group c is 1; r is 0 where the weights are those of simplices.

*Minorants.* For any feasible b and any c the bracket is affine in w and at most f. b proves ``linear - quadratic -
1/2 w @ (S / c)``, and a multiple ``t b`` that is feasible ``t linear - t**2 quadratic - t**2 / 2 w @ (S / c)``.

*Values.* K being positive semidefinite, ``-1/2 x @ K @ x <= 1/2 b @ K @ b - x @ K @ b`` for all x and b. With decision
values ``v = K @ b`` and any bias, as ``bias (total - sum(x))`` is 0, the maximum over x is at most

    norms + bias total + sum_i max over x_i of (linear_i - v_i - bias) x_i - kink_i abs(x_i) - 1/2 ridge_i x_i**2,

the primal objective of the hyperplane of b and the bias, with ``norms = 1/2 b @ v``. Proofs:
docs/theory_kernels.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.svm.loss_dual import LossDual
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers


@dataclass(slots=True)
class Proven:
    """The proof of dual variables: ``f(w) >= linear - quadratic - 1/2 w @ (forms / c) + r(w)`` for all c and w >= 0."""

    linear: Numbers  # ``L(t b)`` is at least ``t * linear - t**2 * quadratic``
    quadratic: Numbers
    forms: Any  # at least S(b): floats or fractions, which mean themselves, as slopes are made of them, shape (p,)
    # Returns the largest t of a feasible multiple, at least 1; most bounds need not know it.
    longest: Callable[[], float | Fraction]
    scalable: bool  # whether smaller multiples are feasible, too: they are if b has to add up to 0

    @property
    def constant(self) -> Numbers:
        """L(b), at least."""
        return self.linear - self.quadratic

    def __add__(self, other: Proven) -> Proven:
        """Return what both machines prove of the sum."""
        forms = (type(self.linear).of(self.forms) + other.forms).above()
        return Proven(
            self.linear + other.linear,
            self.quadratic + other.quadratic,
            forms,
            lambda: min(self.longest(), other.longest()),
            self.scalable and other.scalable,
        )

    def with_forms(self, forms: Any) -> Proven:
        """Return the same with other forms: some of them, or in another order."""
        return Proven(self.linear, self.quadratic, forms, self.longest, self.scalable)


def proven(
    loss: LossDual,
    b: Any,
    moved: float,
    forms: Numbers,
    longest: Callable[[], float | Fraction],
    numbers: type[Numbers],
) -> Proven:
    """The proof of dual variables that differ from a feasible point by entries which add up to `moved` at most."""
    linear, quadratic = loss.proves(numbers.of(b), moved)
    return Proven(linear, quadratic, forms.above(), longest, loss.total == 0)


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
    wrong: Vector = error[0] * largest if error[1] == np.inf else np.minimum(error[0] * largest, error[1] * trace)
    return wrong


class WeightCosts(Protocol):
    """The part of a `WeightSet` that the formula uses."""

    def divided(self, F: Numbers, c: Vector) -> Numbers:
        """``F / c`` of its group for each kernel."""

    def overshoot(self, g: Numbers) -> Numbers | None:
        """``sup of g @ w - r(w)``."""

    def cost_of_multiples(self, F: Numbers) -> Callable[[float | Fraction], Numbers | None]:
        """From t to ``sup over w of t**2 / 2 w @ F - r(w)``, with the best c."""

    def best_multiple(self, proof: Proven, cost: Callable[[float], Numbers | None]) -> float | Fraction:
        """About the best t, with the cost of multiples."""


def value_at(proof: Proven, w: Vector, scale: Any = None) -> Numbers:
    """The minorant at weights w, without r: ``linear - quadratic - 1/2 w @ (forms * scale)``, the scale being 1 / c."""
    numbers = type(proof.linear)
    F = proof.forms if scale is None else numbers.of(proof.forms) * scale
    return proof.linear - proof.quadratic - numbers.of(w).dot(F) * 0.5


def excess(constant: Any, slope: Any, proof: Proven, weights: WeightCosts, c: Vector | None = None) -> Numbers | None:
    """``constant - (linear - quadratic) + sup over w of (slope + F / (2 c)) @ w - r(w)``; None if nobody knows."""
    numbers = type(proof.linear)
    F = numbers.of(proof.forms)
    over = weights.overshoot(numbers.of(slope) + (F if c is None else weights.divided(F, c)) * 0.5)
    return None if over is None else numbers.of(constant) - proof.constant + over


def least(proof: Proven, weights: WeightCosts) -> Any:
    """The least value over all weights of what the best multiple of the dual variables proves; None if not known."""
    numbers = type(proof.linear)
    cost = weights.cost_of_multiples(numbers.of(proof.forms))

    def bound(t: float | Fraction) -> Any:
        of = cost(t)
        return None if of is None else ((proof.linear - proof.quadratic * t) * t - of).below()

    if not proof.scalable:
        return bound(1.0)
    t: float | Fraction = weights.best_multiple(proof, cost)
    if t > 1.0:
        t = min(t, proof.longest())
    known = [bound(t)]
    if known[0] is None or known[0] < 0:
        known.append(bound(0.0))
    if 0.999 <= t != 1.0:
        known.append(bound(1.0))
    return known[0] if len(known) == 1 else max((one for one in known if one is not None), default=None)


def upper_at(
    loss: LossDual,
    b: Any,
    bias: Any,
    decision: Any,
    wrong: Any,
    numbers: type[Numbers],
    *,
    norms: Numbers | None = None,
    factor: Any = 1.0,
    forgiven: Any = None,
) -> Numbers:
    """The primal objective of a hyperplane of dual variables b and a bias, of which the targets' `offset` is taken.

    `decision`, without bias, is `wrong` by e_i, and so are norms of ``factor / 2 b @ decision`` unless given: together
    ``abs(factor b_i / 2 - x_i) e_i``, else ``abs(x_i) e_i``. ``forgiven * abs(x_i)`` is taken off the loss.
    """
    shift, v, e = numbers.of(bias) - loss.offset, numbers.of(decision), numbers.of(wrong)
    about = numbers.of(b) * factor * 0.5 if norms is None else None
    cost = about.dot(v) if about is not None else norms
    assert cost is not None
    slope = numbers.of(loss.linear) - v - shift
    higher, lower = loss.conjugate(slope + e, forgiven), loss.conjugate(slope - e, forgiven)
    terms = higher.maximum(lower) if about is None else (higher - e * about).maximum(lower + e * about)
    return cost + shift * loss.total + terms.sum()
