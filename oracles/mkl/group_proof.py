"""What a witness proves of mixed-norm multiple kernel learning, whose dual has weights c of the groups besides.

With ``S_jk(x) = x @ K_jk @ x`` for kernel k of group j,

    h(l) = max over x, c of L(x) - 1/2 sum_j (1 / c_j) sum_k l_jk S_jk(x),   c >= 0, sum(c) = 1,

so a feasible x (`oracles.svm.dual_proof`) and any positive c, divided by their sum s, give the minorant of the slopes
``-s S_jk(x) / (2 c_j)``. Over the simplices each group takes its largest form, and the best c leaves ``L(x) - 1/2
(sum_j max_k sqrt(S_jk))**2``.

From above, the hyperplane ``w_jk = m_jk sum_i b_i phi_jk(x_i)`` costs

    1/2 max_j sum_k m_jk**2 S_jk(b) / l_jk + the losses of its decision values,

for any weights m that are 0 where l is: as ``(l / c) S(x) >= 2 m x @ K @ b - c m**2 S(b) / l`` for c, l > 0, and c adds
up to 1, this is at least h(l). m is l over the weights of the groups in the machine that was solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.excess_proof import excess_on_simplices
from oracle_opt.oracles.mkl.form_proof import forms_above
from oracle_opt.oracles.mkl.svm_proof import NONE, Proven, claimed, machine_above, stretched
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.proof.claim import ClaimKind, CutClaim

FLOOR = Fraction(1, 10**30)


def excess_of_groups(
    claim: CutClaim, proven: Proven, groups: Sequence[Sequence[int]], c: Vector | None, radius: float
) -> Fraction:
    """By how much a cut or a bound claims more than is proven.

    Parameters
    ----------
    claim : CutClaim
        Its slopes are in the order of the groups.
    proven : Proven
        By the dual variables, forms in the order of the bank.
    groups : sequence of sequences of int
        The kernels of each.
    c : ndarray of shape (number of groups,) or None
        Weights of the groups, of a cut.
    radius : float
        Of each simplex.
    """
    constant, slope = claimed(claim, len(proven.forms))
    if claim.kind is ClaimKind.BOUND:
        roots = [max((proven.forms[k] for k in group), default=NONE) * Fraction(radius) for group in groups]
        shares = [max(Fraction(float(root) ** 0.5), FLOOR) if root > 0 else FLOOR for root in roots]
        least = sum((root / share for root, share in zip(roots, shares, strict=True)), NONE) * sum(shares, NONE)
        return max(constant - proven.constant + least / 2, NONE)
    assert c is not None
    numbers = positive(c)
    total = sum(numbers, NONE)
    forms = [proven.forms[k] * total / share for group, share in zip(groups, numbers, strict=True) for k in group]
    sizes = [len(group) for group in groups]
    return excess_on_simplices(constant, slope, replace(proven, forms=forms), sizes, radius)


def value_of_groups(
    bank: KernelBank,
    dual: Separable,
    b: Vector,
    bias: float,
    weights: Vector,
    groups: Sequence[Sequence[int]],
    c: Vector,
    exact: bool,
) -> Fraction:
    """The primal objective at some weights, in the order of the groups and not negative, from above."""
    order = np.array([k for group in groups for k in group])
    sizes = [len(group) for group in groups]
    positive(c)
    m = np.zeros(bank.n_kernels)
    m[order] = weights / np.repeat(c, sizes)
    points = np.flatnonzero(b)
    forms = forms_above(bank, points, [Fraction(value) for value in b[points].tolist()], exact)
    largest, start = NONE, 0
    for group in groups:
        own = weights[start : start + len(group)]
        start += len(group)
        norms = (Fraction(m[k]) ** 2 * forms[k] / Fraction(w) for k, w in zip(group, own.tolist(), strict=True) if w)
        largest = max(largest, stretched(own) * sum(norms, NONE))
    return machine_above(bank, dual, b, bias, m, exact, largest / 2)


def positive(c: Vector) -> list[Fraction]:
    """The weights of groups, all of which have to be positive."""
    if not (c > 0).all():
        raise Refuted(f"the weights of the groups must be positive, the least is {c.min()}")
    return [Fraction(value) for value in c.tolist()]
