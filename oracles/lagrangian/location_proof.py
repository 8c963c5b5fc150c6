"""Proofs of the bound of facility location: what a relaxed solution costs, and that none is cheaper."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.certificates.exact_sums import exact
from oracle_opt.errors import Refuted
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined, exact_sum, places


def customers_of(
    opening: Vector, costs: Matrix, witness: Mapping[str, Any], facility: int | None, in_fractions: bool
) -> Examined | None:
    """Cost of facilities that serve customers, and how often each is served; of one facility, or of all.

    That facility i serves customer j is number ``i * n + j`` of the witness. Any choice is a relaxed solution: a
    facility that serves somebody is open.
    """
    m, n = costs.shape
    served = places(witness, m * n, "facilities of customers")
    if served is None:
        return None
    i, j = served // n, served % n
    if facility is not None and (i != facility).any():
        raise Refuted(f"the customers of facility {facility} alone are asked for, got customers of others")
    paid, times = np.r_[costs[i, j], opening[np.unique(i)]], np.bincount(j, minlength=n)
    if in_fractions:
        return Examined(exact_sum(paid), [Fraction(int(one)) for one in times])
    cost = fsum(paid.tolist())
    return Examined(cost, times.astype(float), EPS * abs(cost))


def least_cost(opening: Vector, costs: Matrix, u: Vector, in_fractions: bool) -> Fraction:
    """Lower bound on the cost of any relaxed solution with prices u: ``sum_i min(0, f_i + sum_j min(0, c_ij + u_j))``.

    A facility serves those who pay for it and opens if that earns its opening cost: this is the optimum itself, in
    floats less what its sums may have been rounded.
    """
    if in_fractions:
        prices, zero, total = [exact(one) for one in u], Fraction(0), Fraction(0)
        for cost, row in zip(opening, costs, strict=True):
            reduced = (exact(one) + price for one, price in zip(row, prices, strict=True))
            total += min(zero, exact(cost) + sum((one for one in reduced if one < 0), zero))
        return total
    earned = np.minimum(costs + u, 0.0).sum(axis=1)
    # one rounding of each term, n of the sum and the last one
    error = EPS * (len(u) + 4) * (opening - earned)
    return exact_sum(np.minimum(opening + earned - error, 0.0))
