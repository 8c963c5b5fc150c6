"""Shortest paths of commodities in a network."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector


class Network:
    """The relaxed problem: shortest paths from each origin."""

    def __init__(
        self,
        arcs: NDArray[np.intp],
        costs: Vector,
        limited: NDArray[np.intp],
        commodities: NDArray[np.intp],
        demands: Vector,
    ) -> None:
        self.n_nodes = 1 + int(max(arcs.max(), commodities.max()))
        # arcs sorted by (tail, head): parallel ones stand together, those of a tail make a row of the graph
        key = arcs[:, 0] * self.n_nodes + arcs[:, 1]
        self._order = np.argsort(key, kind="stable")
        self._keys, self._first = np.unique(key[self._order], return_index=True)
        self._indptr = np.searchsorted(self._keys, np.arange(self.n_nodes + 1) * self.n_nodes)
        self.origins, self.origin_of = np.unique(commodities[:, 0], return_inverse=True)
        self._costs, self._limited, self._destinations, self._demands = costs, limited, commodities[:, 1], demands

    def flows(self, u: Vector, first: int, last: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Vector, Vector]:
        """Origin, counted from `first`, arc and flow of the cheapest flows of some origins, and each origin's cost."""
        mine = np.flatnonzero((self.origin_of >= first) & (self.origin_of < last))
        steps, lengths = self._walk(u, mine, self.origins[first:last], self.origin_of[mine] - first)
        origin = self.origin_of[mine] - first
        who, along = (np.concatenate(one) for one in zip(*steps, strict=True)) if steps else (mine[:0], mine[:0])
        n_arcs = len(self._costs)
        # sums in the order of the steps, whoever takes them
        amounts = self._demands[mine]
        flow = _sums(origin[who] * n_arcs + along, amounts[who], (last - first) * n_arcs)
        used = np.flatnonzero(flow)
        costs = _sums(origin, amounts * lengths, last - first)
        return used // n_arcs, used % n_arcs, flow[used], costs

    def lengths(self, u: Vector) -> Vector:
        """Costs of the arcs at these prices."""
        lengths = self._costs.copy()
        lengths[self._limited] += np.maximum(u, 0.0)
        return lengths

    def chosen(self, u: Vector) -> sparse.csr_array:
        """Which arcs the cheapest path of each commodity takes at these prices: a 0-1 matrix of shape (k, a)."""
        every = np.arange(len(self._demands))
        steps, _ = self._walk(u, every, self.origins, self.origin_of)
        who, along = (np.concatenate(one) for one in zip(*steps, strict=True)) if steps else (every[:0], every[:0])
        shape = (len(every), len(self._costs))
        return sparse.coo_array((np.ones(len(who)), (who, along)), shape=shape).tocsr()

    def _walk(
        self, u: Vector, mine: NDArray[np.intp], origins: NDArray[np.intp], origin: NDArray[np.intp]
    ) -> tuple[list[tuple[NDArray[np.intp], NDArray[np.intp]]], Vector]:
        """Arcs of cheapest paths of commodities, counted in `mine`, and their lengths: all walk back at once."""
        lengths = self.lengths(u)
        node, who = self._destinations[mine], np.arange(len(mine))
        distance, before, best = self._shortest(lengths, origins)
        found = distance[origin, node]
        steps: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
        while True:
            moving = np.flatnonzero(node != origins[origin])
            if not moving.size:
                return steps, found
            origin, node, who = origin[moving], node[moving], who[moving]
            tail = before[origin, node].astype(np.intp)
            steps.append((who, best[np.searchsorted(self._keys, tail * self.n_nodes + node)]))
            node = tail

    def paths(self, lengths: Vector) -> Vector:
        """Length of the shortest path of each commodity."""
        found: Vector = self._shortest(lengths, self.origins)[0][self.origin_of, self._destinations]
        return found

    def _shortest(
        self, lengths: Vector, origins: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.intp]]:
        """Distances and predecessors from each origin, and for each pair of nodes the shortest of its arcs."""
        from scipy.sparse.csgraph import dijkstra  # only here: the import takes time

        sorted_lengths = lengths[self._order]
        least = np.minimum.reduceat(sorted_lengths, self._first)
        several = np.repeat(np.arange(len(self._first)), np.diff(np.r_[self._first, len(self._order)]))
        hits = np.flatnonzero(sorted_lengths == least[several])
        best = np.empty(len(least), dtype=np.intp)
        best[several[hits[::-1]]] = self._order[hits[::-1]]
        shape = (self.n_nodes, self.n_nodes)
        graph = sparse.csr_array((least, self._keys % self.n_nodes, self._indptr), shape=shape)
        distance, before = dijkstra(graph, indices=origins, return_predecessors=True)
        return distance, before, best


def _sums(places: NDArray[np.intp], values: Vector, count: int) -> Vector:
    """Sums of the values at each of so many places."""
    return np.asarray(np.bincount(places, values, count), dtype=np.float64)
