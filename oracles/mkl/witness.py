"""The witness of a claim of kernel learning: read, checked, and judged."""

import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import fsum, inf, isfinite, nextafter
from typing import Any

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.exact_sums import SMALLEST
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers

MOST_EXACT = 1 << 23  # entries, a few seconds
NEGLIGIBLE = 1e-11


def vector_of(witness: Mapping[str, Any], name: str, size: int) -> Vector | None:
    """An array of the witness, or None if it is not there."""
    if name not in witness:
        return None
    try:
        values = np.array(witness[name], dtype=float)
    except (TypeError, ValueError) as problem:
        raise Refuted(f"`{name}` of the witness is no array of numbers: {problem}") from problem
    if values.size != size or not np.isfinite(values).all():
        raise Refuted(f"`{name}` of the witness must be {size} finite numbers, got shape {values.shape}")
    return values.reshape(size)


def claimed(claim: CutClaim, dimension: int, n_summands: int = 1) -> tuple[float, Vector]:
    """Constant and slope of a claim on a function that is a sum of so many."""
    slope = np.asarray(claim.slope, dtype=float)
    if slope.shape != (dimension,) or not (np.isfinite(slope).all() and isfinite(claim.constant)):
        raise Refuted(f"a cut of this oracle has {dimension} finite slopes, got {slope.shape}")
    if claim.kind is ClaimKind.HALF_SPACE:
        raise Refuted("this oracle knows no feasibility cuts: every point of its domain is feasible")
    if claim.kind is ClaimKind.SUMMAND and not 0 <= claim.summand < claim.n_summands == n_summands:
        raise Refuted(f"this oracle's function is not a sum of {claim.n_summands} with a part {claim.summand}")
    if claim.kind is ClaimKind.BOUND and slope.any():
        raise Refuted("a bound has the slope 0")
    return claim.constant, slope


def weights_of(point: Any, dimension: int) -> Vector:
    """The weights of a value claim, those below 0 cut off."""
    weights = np.asarray(point, dtype=float)
    if weights.shape != (dimension,) or not np.isfinite(weights).all():
        raise Refuted(f"a point of this oracle has {dimension} finite weights, got {weights.shape}")
    kept: Vector = np.maximum(weights, 0.0)
    return kept


def stretched(weights: Vector, numbers: type[Numbers], radius: float = 1.0) -> Numbers:
    """The sum of some weights over what it should be, and at least 1."""
    if numbers.exact:
        return (numbers.of(weights).sum() / radius).maximum(1.0)
    total = Floats(fsum(weights.tolist()))
    return (Floats(total.x, EPS * total.x + SMALLEST) / radius).maximum(1.0)


def least_value(
    quick: Callable[[], Floats], slow: Callable[[bool], Fraction], upper: float, n_entries: int, exact: bool
) -> Fraction:
    """The value in floats or, where fractions could be far less, in fractions."""
    if exact:
        return slow(True)
    found = quick()
    value, enough = float(found.above()), NEGLIGIBLE * abs(upper)
    if isfinite(value) and isfinite(upper):
        if value - upper <= enough:
            return Fraction(value)
        if 2.0 * float(found.r) <= enough and n_entries > MOST_EXACT:  # fractions of the same sums would be as large
            return Fraction(value)
    rounded = slow(False)
    if n_entries > MOST_EXACT or not isfinite(upper) or float(rounded) - upper <= enough:
        return rounded
    return min(rounded, slow(True))


def n_entries_of(bank: KernelBank, b: Vector, weights: Vector) -> int:
    """How many entries of kernels the decision values of all points need."""
    return bank.n_points * int(np.count_nonzero(b)) * int(np.count_nonzero(weights))


def judged(compute: Callable[[], Fraction | None], exact: bool) -> float | Fraction | None:
    """Return what a proof found, as a fraction or, rounded up, as a float."""
    try:
        with np.errstate(all="ignore"):
            value = compute()
    except ArithmeticError as problem:
        raise Refuted(f"the numbers of the claim or of its witness cannot be counted with: {problem}") from problem
    if exact or value is None:
        return value
    number = float(min(value, Fraction(sys.float_info.max)))
    return number if Fraction(number) >= value else nextafter(number, inf)
