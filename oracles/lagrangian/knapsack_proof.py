"""Proofs of the bound of generalized assignment: that jobs fit their agents, and that none that fit are worth more."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.certificates.exact_sums import exact
from oracle_opt.errors import Refuted
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined, exact_sum, places

Counts = NDArray[np.int64]


def jobs_of(
    costs: Matrix, uses: Counts, capacities: Counts, witness: Mapping[str, Any], agent: int | None, in_fractions: bool
) -> Examined | None:
    """Cost of jobs that agents do, and how often each is done; of one agent, or of all.

    That agent i does job j is number ``i * n + j`` of the witness. A relaxed solution keeps the capacities.
    """
    m, n = costs.shape
    chosen = places(witness, m * n, "agents of jobs")
    if chosen is None:
        return None
    i, j = chosen // n, chosen % n
    if agent is not None and (i != agent).any():
        raise Refuted(f"the jobs of agent {agent} alone are asked for, got jobs of others")
    load = np.zeros(m, dtype=np.int64)
    np.add.at(load, i, uses[i, j])
    if (load > capacities).any():
        full = int((load > capacities).argmax())
        raise Refuted(f"agent {full} has the capacity {capacities[full]}, and its jobs use {load[full]}")
    times = np.bincount(j, minlength=n)
    if in_fractions:
        return Examined(exact_sum(costs[i, j]), [Fraction(int(one)) for one in times])
    cost = fsum(costs[i, j].tolist())
    return Examined(cost, times.astype(float), EPS * abs(cost))


def most_worth(costs: Matrix, uses: Counts, capacities: Counts, u: Vector, sign: int, in_fractions: bool) -> Fraction:
    """Upper bound on ``-sign costs - u`` summed over jobs that fit their agents, by dynamic programming.

    ``best[c]`` is the largest worth of jobs of sizes that add up to at most c; each job is looked at once:
    ``best[c] = max(best[c], best[c - size] + worth)``. In floats worths are rounded up, and a sum of n positive ones is
    too small by at most n - 1 roundings of its own size.
    """
    total = Fraction(0)
    for row, sizes, capacity in zip(costs, uses, capacities.tolist(), strict=True):
        if in_fractions:
            worths = [-sign * exact(cost) - exact(price) for cost, price in zip(row, u, strict=True)]
            unit = max(one.denominator for one in worths)  # all are powers of two
            worth = np.array([int(one * unit) for one in worths], dtype=object)
        else:
            unit, worth = 1, -sign * row - u
            worth = worth + EPS * np.abs(worth)
        wanted = (worth > 0) & (sizes <= capacity)
        most = _best(worth[wanted], sizes[wanted].tolist(), capacity)
        total += Fraction(most) / unit if in_fractions else exact(most) * exact(1.0 + EPS * (len(u) + 2))
    return total


def _best(worth: NDArray[Any], sizes: list[int], capacity: int) -> Any:
    """The largest worth, in the arithmetic of the worths; sums of floats by additions alone."""
    capacity = min(capacity, sum(sizes))
    best = np.zeros(capacity + 1, dtype=worth.dtype)
    for w, s in zip(worth, sizes, strict=True):
        best[s:] = np.maximum(best[s:], best[: len(best) - s] + w)
    return best[-1]
