"""What proves cuts of the squares that are summands of a quadratic objective.

A cut of the square ``w/2 (r @ z)**2`` with the slope g needs no point: for any number s,
``w/2 (r @ z)**2 >= s (r @ z) - s**2 / (2 w)``, and the best s is ``g @ r / r @ r``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from oracle_opt.certificates.affine_excess import affine_excess
from oracle_opt.certificates.claim import CutClaim
from oracle_opt.certificates.enclosure import Enclosure
from oracle_opt.errors import Refuted
from oracle_opt.oracles.conic.quadratic import Quadratic


def square_excess(quadratic: Quadratic, claim: CutClaim, exact: bool) -> float | Fraction:
    """By how much a cut of a square exceeds it."""
    number = claim.summand - 1
    r = quadratic.squares.roots[[number]].toarray()[0]
    weight = float(quadratic.squares.weights[number])
    steep = Enclosure.of(np.array(float(claim.slope @ r) / float(r @ r)), exact)
    return affine_excess(quadratic.domain, claim, -(steep**2 / (2.0 * weight)), Enclosure.of(r, exact) * steep)


def refuse_other_summands(quadratic: Quadratic, claim: CutClaim) -> None:
    """Refuse a claim of a summand that the objective does not have."""
    n = quadratic.n_summands
    if claim.n_summands != n or not 0 <= claim.summand < n:
        raise Refuted(f"the function has {n} summands, the claim is of {claim.n_summands}")
