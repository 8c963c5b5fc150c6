"""What a witness proves of several machines that share the weights of their kernels: see `svm_proof`.

The function is ``r(w) + sum_m f_m(w)``. The dual variables of all machines prove the sum of what those of each prove;
those of machine m alone prove a cut of its summand f_m. With a regularizer the last summand is r, of which ``r(w) >=
slope @ w - r*(slope)`` for any slope: its cut needs no witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import inf
from operator import add

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.excess_proof import excess_of, excess_on_simplices
from oracle_opt.oracles.mkl.regularizer_proof import conjugate_of_claim, value_above
from oracle_opt.oracles.mkl.regularizers import Regularizer
from oracle_opt.oracles.mkl.svm_proof import (
    NONE,
    Proven,
    claimed,
    judged,
    least_value,
    machine_above,
    n_entries_of,
    proven_by,
    stretched,
    vector_of,
    weights_of,
)
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim

Machines = Sequence[tuple[KernelBank, Separable]]


def excess_of_shared(
    claim: CutClaim, machines: Machines, regularizer: Regularizer | None, radius: float, exact: bool
) -> float | Fraction | None:
    """By how much a cut of the sum, or of a summand, or a bound claims more than its witness proves."""
    if claim.kind is ClaimKind.SUMMAND:
        return _excess_of_summand(claim, machines, regularizer, radius, exact)
    duals = _split(machines, vector_of(claim.witness, "signed_dual", _n_variables(machines)))
    if duals is None:
        return None

    def excess() -> Fraction | None:
        proven = [proven_by(*one, b, exact) for one, b in zip(machines, duals, strict=True)]
        return excess_of(claim, reduce(add, proven), regularizer, radius)

    return judged(excess, exact)


def value_of_shared(
    claim: ValueClaim, machines: Machines, regularizer: Regularizer | None, radius: float, exact: bool
) -> float | Fraction | None:
    """The sum of the primal objectives and the regularizer at the point of a claim, from above."""
    w = weights_of(claim.point, machines[0][0].n_kernels)
    duals = _split(machines, vector_of(claim.witness, "signed_dual", _n_variables(machines)))
    biases = vector_of(claim.witness, "bias", len(machines))
    if duals is None:
        return None
    biases = np.zeros(len(machines)) if biases is None else biases

    def upper(exact: bool) -> Fraction:
        total = NONE if regularizer is None else value_above(regularizer, w)
        factor = stretched(w, radius) if regularizer is None else Fraction(1)
        for one, b, bias in zip(machines, duals, biases.tolist(), strict=True):
            total += machine_above(*one, b, bias, w, exact, factor=factor)
        return total

    n_entries = sum(n_entries_of(bank, b, w) for (bank, _), b in zip(machines, duals, strict=True))
    return judged(lambda: least_value(upper, claim.upper, n_entries, exact), exact)


def _excess_of_summand(
    claim: CutClaim, machines: Machines, regularizer: Regularizer | None, radius: float, exact: bool
) -> float | Fraction | None:
    n_machines, j, dimension = len(machines), claim.summand, machines[0][0].n_kernels
    constant, slope = claimed(claim, dimension, n_machines + (regularizer is not None))
    if j == n_machines and regularizer is not None:

        def of_regularizer() -> Fraction | None:
            cost = conjugate_of_claim(regularizer, slope)
            return None if cost is None else max(constant + cost, NONE)

        return judged(of_regularizer, exact)
    b = vector_of(claim.witness, "signed_dual", machines[j][0].n_points)
    if b is None:
        return None

    def excess() -> Fraction | None:
        proven = proven_by(*machines[j], b, exact)
        if regularizer is None:
            return excess_on_simplices(constant, slope, proven, [dimension], radius)
        return _excess_in_box(constant, slope, proven, radius)

    return judged(excess, exact)


def _excess_in_box(constant: Fraction, slope: list[Fraction], proven: Proven, radius: float) -> Fraction:
    """By how much a cut of a summand claims more, for weights from 0 to the radius, which may be infinite."""
    steeper = sum((max(a + form / 2, NONE) for a, form in zip(slope, proven.forms, strict=True)), NONE)
    if steeper and radius == inf:
        raise Refuted("its slope is steeper than what is proven, and the domain has no end there")
    return max(constant - proven.constant + (Fraction(radius) * steeper if steeper else NONE), NONE)


def _n_variables(machines: Machines) -> int:
    return sum(bank.n_points for bank, _ in machines)


def _split(machines: Machines, signed: Vector | None) -> list[Vector] | None:
    """The dual variables of each machine, of all one after the other."""
    if signed is None:
        return None
    ends = np.cumsum([0, *(bank.n_points for bank, _ in machines)]).tolist()
    return [signed[start:stop] for start, stop in pairwise(ends)]
