"""By how much a claim of multiple kernel learning exceeds what is proven: see `svm_proof` for the equations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from oracle_opt.errors import Refuted
from oracle_opt.oracles.mkl.regularizer_proof import (
    conjugate_above,
    conjugate_exponent,
    conjugate_of_claim,
    lp_norm_above,
)
from oracle_opt.oracles.mkl.regularizers import LpRegularizer, Regularizer
from oracle_opt.oracles.mkl.svm_proof import NONE, Proven, claimed
from oracle_opt.proof.claim import ClaimKind, CutClaim

GOLDEN = (5.0**0.5 - 1.0) / 2.0
SEARCH = 90  # steps of the search for a good multiple, which proves nothing


def excess_of(claim: CutClaim, proven: Proven, regularizer: Regularizer | None, radius: float) -> Fraction | None:
    """By how much a cut or a bound claims more than is proven.

    Parameters
    ----------
    claim : CutClaim
        Of f, or of its minimum.
    proven : Proven
        By the dual variables of its machine or machines.
    regularizer : Regularizer or None
        With one the domain is the orthant; without it is a simplex.
    radius : float
        Of the domain.

    Returns
    -------
    Fraction or None
        Not negative; None if the conjugate of the regularizer is not known.
    """
    constant, slope = claimed(claim, len(proven.forms))
    if claim.kind is not ClaimKind.BOUND:
        if regularizer is None:
            return excess_on_simplices(constant, slope, proven, [len(proven.forms)], radius)
        return excess_on_orthant(constant, slope, proven, regularizer, radius)
    bound = bound_on_simplex(proven, radius) if regularizer is None else bound_on_orthant(proven, regularizer)
    return None if bound is None else max(constant - bound, NONE)


def excess_on_simplices(
    constant: Fraction, slope: list[Fraction], proven: Proven, sizes: Sequence[int], radius: float
) -> Fraction:
    """By how much a cut claims more than is proven, on a product of simplices."""
    excess, start = constant - proven.constant, 0
    for size in sizes:
        block = zip(slope[start : start + size], proven.forms[start : start + size], strict=True)
        excess += Fraction(radius) * max(a + form / 2 for a, form in block)
        start += size
    return max(excess, NONE)


def bound_on_simplex(proven: Proven, radius: float = 1.0) -> Fraction:
    """The least value over the simplex of what the best multiple of the dual variables proves."""
    bent = 2 * proven.quadratic + Fraction(radius) * max(proven.forms)
    if not proven.scalable:
        return proven.linear - bent / 2
    t = min(max(proven.linear / bent, NONE), proven.longest) if bent > 0 else proven.longest
    return max(t * proven.linear - t * t * bent / 2, NONE)


def excess_on_orthant(
    constant: Fraction, slope: list[Fraction], proven: Proven, regularizer: Regularizer, radius: float
) -> Fraction | None:
    """By how much a cut claims more than is proven, with a regularizer; None if its conjugate is not known.

    Where it grows linearly alone the conjugate is infinite outside a ball of slopes. A slope that rounding has put
    there is cut off, and what that takes from the claim is at most the radius of the domain times the difference.
    """
    g = [a + form / 2 for a, form in zip(slope, proven.forms, strict=True)]
    if type(regularizer) is not LpRegularizer or regularizer.power > 1:
        cost = conjugate_of_claim(regularizer, g)
    elif (cost := conjugate_above(regularizer, g)) is None:
        weight, norm = Fraction(regularizer.weight), lp_norm_above(g, conjugate_exponent(regularizer))
        kept = [min(a, weight) for a in g] if regularizer.p == 1 else [min(a, a * weight / norm) for a in g]
        moved = sum((a - b for a, b in zip(g, kept, strict=True)), NONE)
        if radius == inf:
            raise Refuted("its slope is steeper than the regularizer, and the domain has no end there")
        cost = Fraction(radius) * moved
    return None if cost is None else max(constant - proven.constant + cost, NONE)


def bound_on_orthant(proven: Proven, regularizer: Regularizer) -> Fraction | None:
    """The least value over the orthant of what a good multiple of the dual variables proves; None if not known."""

    def bound(t: Fraction) -> Fraction | None:
        cost = conjugate_above(regularizer, [t * t / 2 * form for form in proven.forms])
        return None if cost is None else t * proven.linear - t * t * proven.quadratic - cost

    t = _good_multiple(proven, regularizer) if proven.scalable else Fraction(1)
    found = [value for value in (bound(t), bound(Fraction(1))) if value is not None]
    return max(found, default=None)


def _good_multiple(proven: Proven, regularizer: Regularizer) -> Fraction:
    """About the t of the best bound, by golden section in floats; for an lp norm where its conjugate ends."""
    linear, quadratic = float(proven.linear), float(proven.quadratic)
    # a conjugate is asked for slopes that are not negative alone, and a rounded kernel may have a form below 0
    longest, half = proven.longest, np.array([max(0.5 * float(form), 0.0) for form in proven.forms])
    if type(regularizer) is LpRegularizer and regularizer.power == 1:
        norm = lp_norm_above([form / 2 for form in proven.forms], conjugate_exponent(regularizer))
        ratio = Fraction(regularizer.weight) / norm if norm else longest**2
        root = min(longest, Fraction(nextafter(float(ratio) ** 0.5 * (1.0 - 1e-15), 0.0)))
        return max(min(root, proven.linear / (2 * proven.quadratic)), NONE) if proven.quadratic else root

    def value(t: float) -> float:
        try:
            return t * linear - t * t * quadratic - regularizer.conjugate(t * t * half)
        except OverflowError:
            return -inf

    low, high = 0.0, float(longest)
    while high > 1.0 and value(high) < value(0.5 * high):
        high = 0.5 * high
    high = min(2.0 * high, float(longest))
    for _ in range(SEARCH):
        inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, outer) if value(inner) >= value(outer) else (inner, high)
    return min(Fraction(max(0.5 * (low + high), 0.0)), longest)
