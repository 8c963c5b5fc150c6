"""What the witness of a claim of multiple kernel learning proves: signed dual variables, a bias, weights.

The problem is, with ``S_k(x) = x @ K_k @ x`` and L, the box and the sum of a machine's loss,

    f(d) = r(d) + max over x of L(x) - 1/2 sum_k d_k S_k(x),   d >= 0,

or the sum of several such machines; r is 0 where the domain is a simplex.

*Cuts.* Dual variables b, made exactly feasible (`oracles.svm.dual_proof`), give the minorant ``L(x) - 1/2 d @ S(x) +
r(d)``. A claim ``constant + slope @ d`` is too large by at most

- on a product of simplices: ``constant - L(x) + sum over blocks of radius * max_k (slope_k + S_k(x) / 2)``;
- with a regularizer: ``constant - L(x) + r*(slope + S(x) / 2)``, r* its conjugate, on the whole orthant.

*Bounds.* The least value of the same minorants, of the best multiple ``t x`` that is feasible: over a simplex ``t L -
t**2 / 2 max_k S_k``, with a regularizer ``L(t x) - r*(t**2 S(x) / 2)``.

*Values.* The hyperplane ``w_k = m_k sum_i b_i phi_k(x_i)`` with any weights ``m >= 0``, b and bias has the primal
objective

    r(d) + 1/2 sum_k m_k**2 S_k(b) / d_k + the losses of the decision values sum_k m_k K_k @ b + bias,

where a kernel of ``d_k = 0`` needs ``m_k = 0``; it is at least f(d). With ``m = d`` the second term is ``1/2 b @ K(d) @
b``. On a simplex weights that add up to s are taken for d / s, whose value is proven: the term is multiplied by s. If s
is less than 1 f(d) may be larger than f(d / s), so nothing is multiplied: the bound is then one of both.

The kernels are taken to be positive semidefinite, as banks check, or the makers of their kernels know; bounds from
below hold without that. Numbers are fractions. Where not all is asked to be `exact` the forms and products of the
kernels are bounded in floats (`form_proof`), and the rest is as exact.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.kernels.base import COARSE, KernelBank
from oracle_opt.oracles.mkl.form_proof import forms_above, products_between
from oracle_opt.oracles.svm.dual_proof import feasible, is_norm, worst_case
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.proof.claim import ClaimKind, CutClaim

NONE = Fraction(0)
MOST_EXACT = 1 << 23  # entries, a few seconds
NEGLIGIBLE = 1e-11


@dataclass(frozen=True, eq=False)
class Proven:
    """What dual variables x prove: ``f(d) >= linear - quadratic - 1/2 d @ forms + r(d)`` for all d >= 0.

    Parameters
    ----------
    linear, quadratic : Fraction
        ``L(t x)`` is at least ``t * linear - t**2 * quadratic``.
    forms : list of p Fraction
        At least S(x).
    longest : Fraction
        The largest feasible multiple.
    scalable : bool
        Whether any but x itself is feasible.
    """

    linear: Fraction
    quadratic: Fraction
    forms: list[Fraction]
    longest: Fraction
    scalable: bool

    def __add__(self, other: Proven) -> Proven:
        """Return what both machines prove of the sum."""
        return Proven(
            self.linear + other.linear,
            self.quadratic + other.quadratic,
            [one + two for one, two in zip(self.forms, other.forms, strict=True)],
            min(self.longest, other.longest),
            self.scalable and other.scalable,
        )

    @property
    def constant(self) -> Fraction:
        """L(x), at least."""
        return self.linear - self.quadratic


def proven_by(bank: KernelBank, dual: Separable, b: Vector, exact: bool) -> Proven:
    """What dual variables b of a machine prove."""
    x = feasible(dual, b)
    return Proven(x.linear, x.quadratic, forms_above(bank, x.points, x.x, exact), x.longest, x.scalable)


def vector_of(witness: Mapping[str, Any], name: str, size: int) -> Vector | None:
    """An array of the witness, or None if it is not there.

    Raises
    ------
    Refuted
        It is not so many finite numbers.
    """
    if name not in witness:
        return None
    try:
        values = np.array(witness[name], dtype=float)
    except (TypeError, ValueError) as problem:
        raise Refuted(f"`{name}` of the witness is no array of numbers: {problem}") from problem
    if values.size != size or not np.isfinite(values).all():
        raise Refuted(f"`{name}` of the witness must be {size} finite numbers, got shape {values.shape}")
    return values.reshape(size)


def number_of(witness: Mapping[str, Any], name: str) -> float:
    """A number of the witness; 0, which serves as well as any, if it is not there."""
    value = vector_of(witness, name, 1)
    return 0.0 if value is None else float(value[0])


def claimed(claim: CutClaim, dimension: int, n_summands: int = 1) -> tuple[Fraction, list[Fraction]]:
    """Constant and slope of a claim on a function that is a sum of so many.

    Raises
    ------
    Refuted
        They are not finite, of another dimension, or of a kind that these oracles do not know.
    """
    slope = np.asarray(claim.slope, dtype=float)
    if slope.shape != (dimension,) or not (np.isfinite(slope).all() and isfinite(claim.constant)):
        raise Refuted(f"a cut of this oracle has {dimension} finite slopes, got {slope.shape}")
    if claim.kind is ClaimKind.HALF_SPACE:
        raise Refuted("this oracle knows no feasibility cuts: every point of its domain is feasible")
    if claim.kind is ClaimKind.SUMMAND and not 0 <= claim.summand < claim.n_summands == n_summands:
        raise Refuted(f"this oracle's function is not a sum of {claim.n_summands} with a part {claim.summand}")
    if claim.kind is ClaimKind.BOUND and slope.any():
        raise Refuted("a bound has the slope 0")
    return Fraction(claim.constant), [Fraction(value) for value in slope.tolist()]


def machine_above(
    bank: KernelBank,
    dual: Separable,
    b: Vector,
    bias: float,
    m: Vector,
    exact: bool,
    norms: Fraction | None = None,
    factor: Fraction = Fraction(1),
) -> Fraction:
    """The primal objective of a hyperplane of dual variables b, a bias and weights m, not negative: from above.

    Where entries are known up to an error e times the roots of their diagonal entries, decision values are wrong by ``e
    s(b)`` times the root of the diagonal entry, ``s(b) = sum_i abs(b_i) sqrt(K(m)_ii)``. All points together may lose
    more than f can: of a hinge, plain or squared, the best x has ``norm(x, 1) <= 2 f``, as ``x @ K @ x <= norm(x, 1)``
    by the optimality of the multiple 1 of x. With any t, decision values v, each wrong by c_i, and norms N,

        f <= N + sum_i max over x_i of (slope_i x_i + c_i abs(x_i)) <= N + (the same less t abs(x_i)) + 2 t f,

    of which f is bounded, too: by ``t = max c``, and by a t that is as large as what sums of the bank may be wrong by.
    A machine was solved on such sums, and its hyperplane is good for these; in the entries it loses a little at each of
    many points, which the subtracted term forgives.

    Parameters
    ----------
    bank, dual
        Of the machine.
    b : ndarray of shape (n,)
        Any.
    bias : float
        Any.
    m : ndarray of shape (p,)
        Weights of the kernels.
    exact : bool
        Whether to count in fractions.
    norms : Fraction, optional
        What the norms cost; default: ``1/2 factor * b @ K(m) @ b``.
    factor : Fraction
        See there.
    """
    if not isfinite(bias):
        raise Refuted(f"`bias` of the witness must be finite, got {bias}")
    values, rounding, charge = products_between(bank, m, b, exact)
    wrong = [one + two for one, two in zip(rounding, charge, strict=True)]
    x, zeros = [Fraction(value) for value in b.tolist()], [NONE] * b.size
    if norms is None:
        about = [factor * value / 2 for value in x]
        rough = sum((a * v for a, v in zip(about, values, strict=True) if a), NONE)
        norms = rough + sum((abs(a) * error for a, error in zip(about, wrong, strict=True) if a), NONE)
    else:
        rough, about = norms, zeros
    found = [rough + worst_case(dual, values, wrong, Fraction(bias), about)]
    if bank.exactness and is_norm(dual):
        for more in (NONE, _of_sums(bank, m, b)) if bank.exactness > COARSE else (NONE,):
            t = max(charge) + more
            rest = norms + worst_case(dual, values, rounding, Fraction(bias), zeros, more)
            if 2 * t < 1 and rest >= 0:
                found.append(rest / (1 - 2 * t))
    return min(found)


def _of_sums(bank: KernelBank, m: Vector, b: Vector) -> Fraction:
    """How far decision values made of the bank's sums may be from those made of its entries, at most."""
    roots = np.sqrt(np.maximum(bank.diagonal() @ m, 0.0))
    error = bank.noise(int(np.count_nonzero(m))) + bank.entry_error
    return Fraction(error * float(roots.max(initial=0.0)) * float(np.abs(b) @ roots))


def weights_of(point: Any, dimension: int) -> Vector:
    """The weights of a value claim, those below 0 cut off.

    Raises
    ------
    Refuted
        They are not so many finite numbers.
    """
    weights = np.asarray(point, dtype=float)
    if weights.shape != (dimension,) or not np.isfinite(weights).all():
        raise Refuted(f"a point of this oracle has {dimension} finite weights, got {weights.shape}")
    kept: Vector = np.maximum(weights, 0.0)
    return kept


def stretched(weights: Vector, radius: float = 1.0) -> Fraction:
    """The sum of some weights over what it should be, and at least 1."""
    total = sum((Fraction(value) for value in weights.tolist()), NONE)
    return max(total / Fraction(radius), Fraction(1))


def least_value(compute: Callable[[bool], Fraction], upper: float, n_entries: int, exact: bool) -> Fraction:
    """What is computed, and in fractions where floats lose by their rounding: kernels of very different size do that.

    Parameters
    ----------
    compute : callable
        From whether to count in fractions to an upper bound.
    upper : float
        What is claimed; a bound that is hardly above it is good enough.
    n_entries : int
        Entries of kernels that are read; of more than `MOST_EXACT` fractions would take too long, unless asked for.
    exact : bool
        Whether they are asked for.
    """
    value = compute(exact)
    if exact or n_entries > MOST_EXACT or not isfinite(upper) or float(value) - upper <= NEGLIGIBLE * abs(upper):
        return value
    return min(value, compute(True))


def n_entries_of(bank: KernelBank, b: Vector, weights: Vector) -> int:
    """How many entries of kernels the decision values of all points need."""
    return bank.n_points * int(np.count_nonzero(b)) * int(np.count_nonzero(weights))


def judged(compute: Callable[[], Fraction | None], exact: bool) -> float | Fraction | None:
    """Return what a proof found, as a fraction or, rounded up, as a float.

    Raises
    ------
    Refuted
        Also where numbers are too large or too small to be counted with.
    """
    try:
        with np.errstate(all="ignore"):
            value = compute()
    except ArithmeticError as problem:
        raise Refuted(f"the numbers of the claim or of its witness cannot be counted with: {problem}") from problem
    if exact or value is None:
        return value
    number = float(min(value, Fraction(sys.float_info.max)))
    return number if Fraction(number) >= value else nextafter(number, inf)
