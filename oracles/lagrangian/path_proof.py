"""Proofs of the bound of multicommodity flow: that arcs hold a path of each commodity, and that none is shorter."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector
from oracle_opt.certificates.exact_sums import exact, safe_dot
from oracle_opt.errors import Refuted
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined, places, whole

Pairs = NDArray[np.intp]
_BLOCK = 2_000_000  # numbers of a table of distances


def flow_of(
    arcs: Pairs,
    costs: Vector,
    limited: NDArray[np.intp],
    commodities: Pairs,
    demands: Vector,
    witness: Mapping[str, Any],
    summand: int | None,
    in_fractions: bool,
) -> Examined | None:
    """Cost of flows along paths, and the flow on the arcs of finite capacity; of one origin, or of all.

    That commodities of origin o use arc e is number ``o * len(arcs) + e`` of the witness, origins counted in the order
    of their nodes. At most one arc of an origin leads to each node, so that there is one way back from a destination:
    it has to end at the origin, and what passes an arc is the sum of the demands of those who came by.
    """
    origins, of = np.unique(commodities[:, 0], return_inverse=True)
    n, count = 1 + int(max(arcs.max(), commodities.max())), len(arcs)
    used = places(witness, len(origins) * count, "arcs of paths")
    if used is None:
        return None
    if summand is not None and (used // count != summand).any():
        raise Refuted(f"the paths of origin {origins[summand]} alone are asked for, got arcs of others")
    entries = used // count * n + arcs[used % count, 1]
    order = np.argsort(entries, kind="stable")
    entries, into = entries[order], (used % count)[order]
    if (entries[1:] == entries[:-1]).any():
        raise Refuted("two arcs of the paths of one origin lead to the same node")
    mine = np.flatnonzero((demands > 0) & (True if summand is None else of == summand))
    node, passed, who = commodities[mine, 1], [], mine
    for _ in range(n):
        on = node != origins[of[who]]
        node, who = node[on], who[on]
        if not who.size:
            break
        wanted = of[who] * n + node
        at = np.minimum(np.searchsorted(entries, wanted), max(len(entries) - 1, 0))
        if not len(entries) or (entries[at] != wanted).any():
            raise Refuted("the path of a commodity is broken: no arc of its origin leads to a node on its way")
        passed.append((who, into[at]))
        node = arcs[into[at], 0]
    if who.size:
        raise Refuted("the path of a commodity goes round in a circle")
    who, along = (np.concatenate(one) for one in zip(*passed, strict=True)) if passed else (mine[:0], mine[:0])
    if in_fractions:
        flows = [Fraction(0)] * count
        for k, e in zip(who.tolist(), along.tolist(), strict=True):
            flows[e] += exact(demands[k])
        spent = sum((exact(costs[e]) * flow for e, flow in enumerate(flows) if flow), Fraction(0))
        return Examined(spent, [flows[e] for e in limited.tolist()])
    flow = np.bincount(along, demands[who], count).astype(float)
    cost = fsum((costs * flow).tolist())
    unsure = 0.0 if whole(demands).all() and whole(flow).all() else EPS * (len(demands) + 2)
    return Examined(cost, flow[limited], (unsure + 4.0 * EPS) * cost, unsure * flow[limited])


def least_flow_cost(
    arcs: Pairs,
    costs: Vector,
    limited: NDArray[np.intp],
    commodities: Pairs,
    demands: Vector,
    u: Vector,
    in_fractions: bool,
) -> Fraction:
    """Lower bound on ``(costs + u) @ flows`` of any flows that meet the demands, by potentials of the nodes.

    ``p_head <= p_tail + length`` for all arcs and ``p_origin <= 0``: then no path from the origin to t is shorter than
    p_t. The method of Bellman and Ford stops where these hold. In floats they hold up to the rounding of the sum, which
    counts once for each arc of a path.
    """
    n = 1 + int(max(arcs.max(), commodities.max()))
    origins, of = np.unique(commodities[:, 0], return_inverse=True)
    by_head = np.argsort(arcs[:, 1], kind="stable")
    tails, (heads, first) = arcs[by_head, 0], np.unique(arcs[by_head, 1], return_index=True)
    lengths = _lengths(costs, limited, u, in_fractions)[by_head]
    total = Fraction(0)
    step = max(1, _BLOCK // len(arcs))
    for start in range(0, len(origins), step):
        block = origins[start : start + step]
        p = _potentials(block, n, tails, heads, first, lengths)
        mine = np.flatnonzero((of >= start) & (of < start + step) & (demands > 0))
        least = p[of[mine] - start, commodities[mine, 1]]
        if in_fractions:
            pairs = zip(demands[mine].tolist(), least.tolist(), strict=True)
            total += sum((exact(demand) * Fraction(one) for demand, one in pairs), Fraction(0))
            continue
        reached = np.where(np.isfinite(p), np.abs(p), 0.0).max(axis=1) + np.abs(lengths).max()
        least = least - 2.0 * EPS * (n + 1) * reached[of[mine] - start]
        value, error = safe_dot(demands[mine], least)
        total += exact(value) - exact(error)
    return total


def _lengths(costs: Vector, limited: NDArray[np.intp], u: Vector, in_fractions: bool) -> NDArray[Any]:
    """``costs + u``; in floats rounded down."""
    if in_fractions:
        lengths = np.array([exact(one) for one in costs], dtype=object)
        lengths[limited] += np.array([exact(one) for one in u], dtype=object)
        return lengths
    lengths = costs.copy()
    lengths[limited] += u
    lengths[limited] -= EPS * np.abs(lengths[limited])
    return lengths


def _potentials(
    block: NDArray[np.intp],
    n: int,
    tails: NDArray[np.intp],
    heads: NDArray[np.intp],
    first: NDArray[np.intp],
    lengths: NDArray[Any],
) -> NDArray[Any]:
    """Potentials for each of some origins; infinite at nodes that no path reaches."""
    p = np.full((len(block), n), np.inf, dtype=lengths.dtype)
    p[np.arange(len(block)), block] = 0
    for _ in range(n + 1):
        lower = np.minimum(p[:, heads], np.minimum.reduceat(p[:, tails] + lengths, first, axis=1))
        if (lower == p[:, heads]).all():
            return p
        p[:, heads] = lower
    raise Refuted("a circle of arcs has a negative length at these prices")
