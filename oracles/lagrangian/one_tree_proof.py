"""Proofs of Held and Karp's bound: that edges are a 1-tree, and that no 1-tree is cheaper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.certificates.exact_sums import exact
from oracle_opt.errors import Refuted
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined, exact_sum, places

Row = Callable[[int], NDArray[Any]]


def tree_of(distances: Matrix, special: int, witness: Mapping[str, Any], in_fractions: bool) -> Examined | None:
    """Length and degrees of a 1-tree, whose edges i < j are the numbers ``i * n + j`` of a witness.

    n edges make a 1-tree if two of them meet at the special city and the others join the other n - 1 cities: n - 2
    edges that join n - 1 cities are a spanning tree.
    """
    n = len(distances)
    edges = places(witness, n * n, "edges of a 1-tree")
    if edges is None:
        return None
    i, j = edges // n, edges % n
    if len(edges) != n or (i >= j).any():
        raise Refuted(f"a 1-tree of {n} cities has {n} edges from a city to one of larger number, got {len(edges)}")
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
    lengths = distances[i, j]
    if in_fractions:
        return Examined(exact_sum(lengths), [Fraction(int(one)) for one in degree])
    cost = fsum(lengths.tolist())
    return Examined(cost, degree.astype(float), EPS * abs(cost))


def least_one_tree(distances: Matrix, special: int, u: Vector, in_fractions: bool) -> Fraction:
    """Lower bound on ``d[i, j] + u[i] + u[j]`` summed over the edges of any 1-tree, by Prim's algorithm.

    It compares and never adds, so that it finds a minimum spanning tree of the numbers it is given to the last bit. In
    floats these are the costs of the edges, each lowered by what its two sums may have been rounded.
    """
    if in_fractions:
        prices = np.array([exact(one) for one in u], dtype=object)

        def row(i: int) -> NDArray[Any]:
            lengths: NDArray[Any] = np.array([exact(one) for one in distances[i]], dtype=object)
            return np.asarray(lengths + prices + prices[i])

    else:

        def row(i: int) -> NDArray[Any]:
            sizes = np.abs(distances[i]) + np.abs(u) + abs(u[i])
            return np.asarray((distances[i] + u + u[i]) - 2.0 * EPS * sizes)

    others = np.flatnonzero(np.arange(len(u)) != special)
    edges = [*_spanning(row, others), *np.sort(row(special)[others])[:2]]
    return sum(map(Fraction, edges), Fraction(0))


def _spanning(row: Row, nodes: NDArray[np.intp]) -> list[Any]:
    """Costs of the edges of a minimum spanning tree of some nodes."""
    near, outside, found = row(nodes[0])[nodes], np.ones(len(nodes), dtype=bool), []
    outside[0] = False
    for _ in range(len(nodes) - 1):
        left = np.flatnonzero(outside)
        k = left[near[left].argmin()]
        found.append(near[k])
        outside[k] = False
        near = np.minimum(near, row(nodes[k])[nodes])
    return found
