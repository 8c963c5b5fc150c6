"""Assignments of jobs to agents and of customers to facilities: proofs of bounds.

Each proof stands once: that jobs fit agents, who serves customers, and that no relaxed solution is better. The numbers
of a certificate are counted in floats with all rounding, or in fractions.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined, pairs_of
from oracle_opt.proof.claim import Bound
from oracle_opt.proof.exact_sums import exact
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions

Counts = NDArray[np.int64]


def jobs_of(
    costs: Matrix, uses: Counts, capacities: Counts, witness: Mapping[str, Any], agent: int | None, in_fractions: bool
) -> Examined | None:
    """Cost of jobs and how often each is done, by one agent or all; that i does j is number ``i * n + j``."""
    m, n = costs.shape
    chosen = pairs_of(witness, (m, n), "agents of jobs", agent)
    if chosen is None:
        return None
    i, j = chosen
    load = np.zeros(m, dtype=np.int64)
    np.add.at(load, i, uses[i, j])
    if (load > capacities).any():
        full = int((load > capacities).argmax())
        raise Refuted(f"agent {full} has the capacity {capacities[full]}, and its jobs use {load[full]}")
    return Examined.paid(costs[i, j], np.bincount(j, minlength=n), in_fractions)


def most_worth(costs: Matrix, uses: Counts, capacities: Counts, u: Vector, sign: int, in_fractions: bool) -> Fraction:
    """Upper bound on ``-sign costs - u`` over jobs that fit their agents: see docs/theory_benders.md, "Knapsacks"."""
    total, rounding = Fraction(0), Fraction(0) if in_fractions else exact(EPS) * (len(u) + 2)
    worths = ((Fractions if in_fractions else Floats).of(-sign * costs) - u).above()
    for row, sizes, capacity in zip(worths, uses, capacities.tolist(), strict=True):
        unit = max(one.denominator for one in row) if in_fractions else 1  # all are powers of two
        wanted = (row > 0) & (sizes <= capacity)
        worth = np.array([int(one * unit) for one in row[wanted]], dtype=object) if in_fractions else row[wanted]
        total += Fraction(_best(worth, sizes[wanted].tolist(), capacity)) / unit
    return total * (1 + rounding)


def _best(worth: NDArray[Any], sizes: list[int], capacity: int) -> Any:
    """The largest worth, in the arithmetic of the worths; sums of floats by additions alone."""
    capacity = min(capacity, sum(sizes))
    best = np.zeros(capacity + 1, dtype=worth.dtype)
    for w, s in zip(worth, sizes, strict=True):
        best[s:] = np.maximum(best[s:], best[: len(best) - s] + w)
    return best[-1]


def customers_of(
    opening: Vector, costs: Matrix, witness: Mapping[str, Any], facility: int | None, in_fractions: bool
) -> Examined | None:
    """Cost of facilities and how often each customer is served, by one or all; i serves j is number ``i * n + j``."""
    served = pairs_of(witness, costs.shape, "facilities of customers", facility)
    if served is None:
        return None
    i, j = served
    paid = np.r_[costs[i, j], opening[np.unique(i)]]
    return Examined.paid(paid, np.bincount(j, minlength=costs.shape[1]), in_fractions)


def least_cost(opening: Vector, costs: Matrix, u: Vector, in_fractions: bool) -> Bound:
    """Lower bound on the cost of any relaxed solution with prices u: see docs/theory_benders.md, "Facilities"."""
    numbers = Fractions if in_fractions else Floats
    earned = (numbers.of(costs) + u).minimum(0.0).sum(axis=1)
    bound: Bound = (earned + opening).minimum(0.0).sum().below()
    return bound
