"""Proofs of bounds of networks: that edges are a 1-tree or hold paths, and that no 1-tree or path is shorter.

Each stands once: the numbers of a certificate are counted in floats with all rounding, or in fractions.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined, pairs_of
from oracle_opt.proof.enclosed_products import scattered
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions

Pairs = NDArray[np.intp]
_BLOCK = 2_000_000  # numbers of a table of distances


def tree_of(distances: Matrix, special: int, witness: Mapping[str, Any], in_fractions: bool) -> Examined | None:
    """Length and degrees of a 1-tree of edges ``i * n + j``: two at the special city, n - 2 that join the others."""
    n = len(distances)
    edges = pairs_of(witness, (n, n), "edges of a 1-tree", None)
    if edges is None:
        return None
    i, j = edges
    if len(i) != n or (i >= j).any():
        raise Refuted(f"a 1-tree of {n} cities has {n} edges from a city to one of larger number, got {len(i)}")
    degree = np.bincount(np.r_[i, j], minlength=n)
    if degree[special] != 2:
        raise Refuted(f"a 1-tree has two edges at city {special}, got {degree[special]}")
    root = list(range(n))
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        if special in (a, b):
            continue
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if a == b:
            raise Refuted("the edges are no 1-tree: without the special city they close a cycle")
        root[a] = b
    return Examined.paid(distances[i, j], degree, in_fractions)


def least_one_tree(distances: Matrix, special: int, u: Vector, in_fractions: bool) -> Fraction:
    """Lower bound on ``d[i, j] + u[i] + u[j]`` over the edges of any 1-tree, by Prim's algorithm.

    It compares and never adds: the tree is minimal to the last bit, and costs are lowered by their rounding.
    """
    numbers, step = Fractions if in_fractions else Floats, max(1, _BLOCK // len(u))
    some = [slice(first, first + step) for first in range(0, len(u), step)]
    lengths = np.vstack([(numbers.of(distances[part]) + u + u[part, None]).below() for part in some])
    others = np.flatnonzero(np.arange(len(u)) != special)
    edges = [*_spanning(lengths, others), *np.sort(lengths[special, others])[:2]]
    return sum(map(Fraction, edges), Fraction(0))


def _spanning(lengths: NDArray[Any], nodes: NDArray[np.intp]) -> list[Any]:
    """Costs of the edges of a minimum spanning tree of some nodes."""
    near, outside, found = lengths[nodes[0], nodes], np.ones(len(nodes), dtype=bool), []
    outside[0] = False
    for _ in range(len(nodes) - 1):
        left = np.flatnonzero(outside)
        k = left[near[left].argmin()]
        found.append(near[k])
        outside[k] = False
        near = np.minimum(near, lengths[nodes[k], nodes])
    return found


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

    Use of arc e by the o-th origin, in the order of nodes, is number ``o * len(arcs) + e`` of the witness. One arc of
    an origin leads to a node at most: the one way back has to end there, and flows are sums of demands.
    """
    origins, of = np.unique(commodities[:, 0], return_inverse=True)
    n, count = 1 + int(max(arcs.max(), commodities.max())), len(arcs)
    used = pairs_of(witness, (len(origins), count), "arcs of paths", summand)
    if used is None:
        return None
    entries = used[0] * n + arcs[used[1], 1]
    order = np.argsort(entries, kind="stable")
    entries, into = entries[order], used[1][order]
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
    flow, some = scattered(Enclosure.of(demands, in_fractions)[who], along, count), np.unique(along)
    return Examined((flow[some] * costs[some]).sum(), flow[limited])


def least_flow_cost(
    arcs: Pairs,
    costs: Vector,
    limited: NDArray[np.intp],
    commodities: Pairs,
    demands: Vector,
    u: Vector,
    in_fractions: bool,
) -> Fraction:
    """Lower bound on ``(costs + u) @ flows`` that meet the demands: see docs/theory_benders.md, "Paths"."""
    n = 1 + int(max(arcs.max(), commodities.max()))
    origins, of = np.unique(commodities[:, 0], return_inverse=True)
    by_head = np.argsort(arcs[:, 1], kind="stable")
    tails, (heads, first) = arcs[by_head, 0], np.unique(arcs[by_head, 1], return_index=True)
    lengths = Enclosure.of(costs, in_fractions).lower.copy()
    lengths[limited] = (Enclosure.of(costs[limited], in_fractions) + u).lower
    lengths = lengths[by_head]
    total = Fraction(0)
    step = max(1, _BLOCK // len(arcs))
    for start in range(0, len(origins), step):
        block = origins[start : start + step]
        p = _potentials(block, n, tails, heads, first, lengths)
        mine = np.flatnonzero((of >= start) & (of < start + step) & (demands > 0))
        least = p[of[mine] - start, commodities[mine, 1]]
        if not in_fractions:
            reached = np.where(np.isfinite(p), np.abs(p), 0.0).max(axis=1) + np.abs(lengths).max()
            least = least - 2.0 * EPS * (n + 1) * reached[of[mine] - start]
            if not np.isfinite(least).all():
                raise Refuted("the lengths of arcs at these prices leave the floats")
        total += Fraction((Enclosure.of(least, in_fractions) * demands[mine]).sum().lower.item())
    return total


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
