"""The capacity relaxation of multicommodity flow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import flag, floats
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument, InvalidData
from oracle_opt.oracles.lagrangian.lagrangian_oracle import LagrangianOracle, finite_reach
from oracle_opt.oracles.lagrangian.network_proofs import flow_of, least_flow_cost
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined
from oracle_opt.oracles.lagrangian.relaxed_solution import RelaxedSolution, by_row, small
from oracle_opt.oracles.lagrangian.subproblems import PARTS, Subproblems
from oracle_opt.proof.claim import Bound
from oracle_opt.reading import Words, data_of


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


class MulticommodityFlowOracle(LagrangianOracle):
    """Cheapest flows that share arcs: the common capacities are relaxed, a shortest path per commodity is left.

    With prices u >= 0 on the arcs of finite capacity the arcs cost ``costs + u``; the paths of all commodities of one
    origin come from one run of Dijkstra's algorithm. The best bound is the optimum.

    Parameters
    ----------
    arcs : array_like of int of shape (a, 2)
        Tail and head of each arc, from 0. Parallel arcs are allowed.
    costs : array_like of shape (a,)
        Cost of one unit of flow on each arc, at least 0.
    capacities : array_like of shape (a,)
        Limit on all flow on each arc; infinite where there is none.
    commodities : array_like of int of shape (k, 2)
        Origin and destination of each commodity.
    demands : array_like of shape (k,)
        Units of flow of each commodity, at least 0.
    multicut : bool
        Answer with the origins as `summands`, default not.
    radius : float, optional
        States that best prices are at most so large; default is ten times the cost of the longest of the shortest
        paths at prices zero.
    executor : concurrent.futures.Executor, optional
        Finds the paths: threads, processes, or ``client.get_executor(pure=False)`` of a Dask client. It is the user's
        to shut down. A task is sent the prices, a number for each arc of finite capacity, and brings back the flows of
        its origins where they are not 0. It pays for networks of many thousand arcs; no answer depends on it.
    parts : int
        Tasks that the origins are cut into.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, negative entries, no arc of finite capacity, a destination that cannot be reached.

    Notes
    -----
    `solution` of an answer is the flow on the arcs, shape (a,), for each origin with `multicut`; `compact` holds the
    numbers ``o * a + e`` of the arcs e that commodities of origin o use, origins in the order of their nodes, which
    prove the cut. `recover` gives the `arrays` "flows", a sparse CSR array of shape (k, a) of the flow of each
    commodity on each arc: an optimal flow, up to its violation and the gap.

    References
    ----------
    .. [1] Frangioni, Gallo (1999), "A bundle type dual-ascent approach to linear multicommodity min-cost flow
       problems", INFORMS J. Comput. 11:370-393.
    .. [2] Babonneau, du Merle, Vial (2006), "Solving large-scale linear multicommodity flow problems with an active set
       strategy and Proximal-ACCPM", Oper. Res. 54:184-197.

    Examples
    --------
    Two units from 0 to 1, of which the direct arc takes one:

    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import MulticommodityFlowOracle
    >>> oracle = MulticommodityFlowOracle([[0, 1], [0, 2], [2, 1]], [1, 2, 2], [1, 9, 9], [[0, 1]], [2])
    >>> round(oracle.dual_bound(minimize(oracle, Kelley())), 4)
    5.0
    """

    polyhedral = True

    def __init__(
        self,
        arcs: ArrayLike,
        costs: ArrayLike,
        capacities: ArrayLike,
        commodities: ArrayLike,
        demands: ArrayLike,
        *,
        multicut: bool = False,
        radius: float | None = None,
        executor: Executor | None = None,
        parts: int = PARTS,
    ) -> None:
        self.arcs, self.commodities = _pairs("arcs", arcs), _pairs("commodities", commodities)
        self.costs = _amounts("costs", costs, len(self.arcs))
        self.capacities = _amounts("capacities", capacities, len(self.arcs), infinite=True)
        self.demands = _amounts("demands", demands, len(self.commodities))
        self.multicut = flag("multicut", multicut)
        self._limited = np.flatnonzero(np.isfinite(self.capacities))
        if not len(self._limited):
            raise InvalidArgument("`capacities` must hold a finite one: without, each commodity has its shortest path")
        network = Network(self.arcs, self.costs, self._limited, self.commodities, self.demands)
        self._network = network
        self._n_nodes, self._n_origins = network.n_nodes, len(network.origins)
        self._problems = Subproblems(network, self._n_origins, executor, parts, "arcs")
        lengths = network.paths(self.costs)
        if not np.isfinite(lengths).all():
            k = int(np.flatnonzero(~np.isfinite(lengths))[0])
            origin, destination = self.commodities[k]
            raise InvalidArgument(
                f"`arcs` must lead from {origin} to {destination}, and hold no path for commodity {k}"
            )
        data = digest(self.arcs, self.costs, self.capacities, self.commodities, self.demands)
        super().__init__(
            self._flows,
            self.capacities[self._limited],
            inequality=True,
            radius=finite_reach("costs", 10.0 * max(float(lengths.max()), 1e-3)) if radius is None else radius,
            name=f"flows #{data}{', an origin a summand' if multicut else ''}",
        )
        self._count = self._n_origins if self.multicut else 1

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        multicut: bool = False,
        radius: float | None = None,
        executor: Executor | None = None,
        parts: int = PARTS,
    ) -> MulticommodityFlowOracle:
        """Read nodes, arcs, commodities; per arc tail head cost capacity; per commodity origin destination demand.

        Nodes of the file at `path` are counted from 1, at most 100 for each arc and commodity. A capacity may be
        ``inf``. `multicut`, `radius`, `executor` and `parts` are as above. `InvalidData` names what cannot be read,
        with its line.
        """
        words = Words.of_file(Path(path))
        n, a, k = words.count(0, "nodes"), words.count(1, "arcs"), words.count(2, "commodities")
        if len(words) != 3 + 4 * a + 3 * k:
            raise InvalidData(
                f"{path} must hold nodes, arcs, commodities, 4 numbers an arc and 3 a commodity, got {len(words)}"
            )
        if n > 100 * (a + k):
            raise words.wrong(0, f"{n} nodes are too many for {a} arcs: at most 100 for each arc and commodity")
        numbers = np.empty(len(words))
        of_capacity = range(6, 3 + 4 * a, 4)
        finite = np.setdiff1d(np.arange(len(words)), of_capacity)
        numbers[finite] = words.numbers(finite.tolist())
        numbers[of_capacity] = words.numbers(of_capacity, infinite=True)
        arcs, commodities = numbers[3 : 3 + 4 * a].reshape(a, 4), numbers[3 + 4 * a :].reshape(k, 3)
        nodes = np.concatenate([arcs[:, :2], commodities[:, :2]])
        if nodes.min() < 1 or nodes.max() > n:
            raise InvalidData(f"{path} must name nodes 1 to {n}, got {nodes.min():g} to {nodes.max():g}")
        with data_of(Path(path), "radius", "executor", "parts"):
            return cls(
                arcs[:, :2] - 1,
                arcs[:, 2],
                arcs[:, 3],
                commodities[:, :2] - 1,
                commodities[:, 2],
                multicut=multicut,
                radius=radius,
                executor=executor,
                parts=parts,
            )

    def _arrays(self, points: Sequence[Vector], weights: Matrix) -> dict[str, Any]:
        shape = (len(self.demands), len(self.arcs))
        flows = sparse.csr_array(shape)
        for u, row in zip(points, weights, strict=True):
            share = row[self._network.origin_of] if self.multicut else np.full(shape[0], row[0])
            flows = flows + sparse.diags_array(share * self.demands) @ self._network.chosen(u)
        return {"flows": flows.tocsr()}

    def _flows(self, u: Vector) -> RelaxedSolution | Sequence[RelaxedSolution]:
        flow, first, paths, used = np.zeros((self._n_origins, len(self.arcs))), 0, [], []
        for origins, arcs, amounts, costs in self._problems.solve(Network.flows, u):
            flow[first + origins, arcs] = amounts
            used.append((first + origins) * len(self.arcs) + arcs)
            first += len(costs)
            paths.append(costs)
        # a length is rounded once, a path's once an arc
        missed = 2.0 * EPS * (self._n_nodes + 2) * np.concatenate(paths)
        compact = small(np.concatenate(used), flow.size)
        parts = by_row(compact, *flow.shape) if self.multicut else [compact]
        if not self.multicut:
            flow, missed = flow.sum(axis=0, keepdims=True), missed.sum(keepdims=True)
        totals = [fsum(self.costs * one) for one in flow]
        bounds = totals + flow[:, self._limited] @ u - missed
        answers = [
            RelaxedSolution(cost, one[self._limited], solution=one, bound=bound, compact=some)
            for cost, one, bound, some in zip(totals, flow, bounds.tolist(), parts, strict=True)
        ]
        return answers if self.multicut else answers[0]

    def _examined(self, witness: Mapping[str, Any], summand: int | None, exact: bool) -> Examined | None:
        return flow_of(self.arcs, self.costs, self._limited, self.commodities, self.demands, witness, summand, exact)

    def relaxed_bound(self, u: Vector, exact: bool = False) -> Bound:
        """Cost of the cheapest flows by potentials of the nodes, in floats rounded down."""
        return least_flow_cost(self.arcs, self.costs, self._limited, self.commodities, self.demands, u, exact)


def _pairs(name: str, given: ArrayLike) -> NDArray[np.intp]:
    values = floats(name, given)
    if values.ndim != 2 or values.shape[1] != 2 or not len(values):
        raise InvalidArgument(f"`{name}` must have shape (k, 2), two nodes per row, got {values.shape}")
    wrong = ~((values >= 0) & (values == np.floor(values)))
    if wrong.any():
        raise InvalidArgument(f"`{name}` must hold nodes, counted from 0, got {values[wrong][0]}")
    return values.astype(np.intp)


def _amounts(name: str, given: ArrayLike, count: int, infinite: bool = False) -> Vector:
    values = floats(name, given)
    if values.shape != (count,):
        raise InvalidArgument(f"`{name}` must have shape ({count},), got {values.shape}")
    wrong = ~((values >= 0) & (np.isfinite(values) | infinite))
    if wrong.any():
        raise InvalidArgument(f"`{name}` must be at least 0{'' if infinite else ' and finite'}, got {values[wrong][0]}")
    return values
