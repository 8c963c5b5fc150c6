"""Flows along paths that keep all capacities: a linear program that asks for further paths (Dantzig and Wolfe)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.lagrangian.network import Network

_ROUNDS = 60
_NEAR = 1e-9  # relative distance from the bound that ends the search
_MARGIN = 1e-6  # taken off the capacities if the program's tolerance violates them


def cheap_flows(
    network: Network,
    costs: Vector,
    capacities: Vector,
    demands: Vector,
    points: Sequence[Vector],
    bound: float,
) -> sparse.csr_array | None:
    """Cheap flows of each commodity on each arc that keep the capacities, or None if none were found."""
    limited = np.flatnonzero(np.isfinite(capacities))
    paths = _Paths(network, costs, demands)
    for u in points:
        paths.add(u)
    for margin in (0.0, _MARGIN):
        limits = capacities[limited] - margin * np.minimum(1.0, capacities[limited])
        flows = paths.cheapest(limited, limits, bound)
        if flows is not None and keeps(flows, demands, capacities):
            return flows
    return None


def keeps(flows: sparse.csr_array, demands: Vector, capacities: Vector) -> bool:
    """Whether the flows keep the capacities, up to the rounding of the sums."""
    loads = np.asarray(flows.sum(axis=0)).ravel()
    return bool((loads <= capacities + EPS * (flows.shape[0] + 2) * float(demands.sum())).all())


class _Paths:
    """Paths of the commodities, and the cheapest flows along them."""

    def __init__(self, network: Network, costs: Vector, demands: Vector) -> None:
        self._network, self._costs, self._demands = network, costs, demands
        self._known: set[tuple[int, bytes]] = set()
        self._rows: list[sparse.csr_array] = []  # a path a row: its arcs
        self._owners: list[int] = []

    def add(self, u: Vector, worth: Vector | None = None) -> bool:
        """Add the shortest path of each commodity, of those shorter than `worth`; whether there was a new one."""
        chosen = self._network.chosen(u)
        chosen.sort_indices()
        wanted = np.arange(chosen.shape[0])
        if worth is not None:
            lengths = chosen @ self._network.lengths(u)
            wanted = np.flatnonzero(lengths < worth - 1e-9 * np.maximum(1.0, np.abs(worth)))
        new = []
        for k in wanted.tolist():
            key = (k, chosen.indices[chosen.indptr[k] : chosen.indptr[k + 1]].tobytes())
            if key not in self._known:
                self._known.add(key)
                new.append(k)
        self._rows.append(chosen[new])
        self._owners += new
        return bool(new)

    def cheapest(self, limited: np.ndarray, limits: Vector, bound: float) -> sparse.csr_array | None:
        """Cheapest flows within the limits; None if the paths that the program asked for do not suffice."""
        from scipy.optimize import linprog  # only here: the import takes time

        k = len(self._demands)
        for _ in range(_ROUNDS):
            rows = sparse.vstack(self._rows, format="csr")
            count = rows.shape[0]
            owner = sparse.csr_array((np.ones(count), (self._owners, np.arange(count))), shape=(k, count))
            prices = rows @ self._costs
            # what no path carries is paid for at a price no path can reach
            missing = 10.0 * (1.0 + float(prices.max(initial=0.0))) * (1.0 + k)
            done = linprog(
                np.r_[prices, np.full(k, missing)],
                A_ub=sparse.hstack([rows[:, limited].T, sparse.csr_array((len(limited), k))]),
                b_ub=limits,
                A_eq=sparse.hstack([owner, sparse.eye_array(k)]),
                b_eq=self._demands,
            )
            if done.x is None:
                return None
            short = float(done.x[count:].sum())
            carried = float(prices @ done.x[:count])
            if short == 0 and carried - bound <= _NEAR * abs(carried):
                break
            u = np.maximum(0.0, -np.asarray(done.ineqlin.marginals))
            if not self.add(u, np.asarray(done.eqlin.marginals)):
                break
        flow = np.maximum(done.x[:count], 0.0)
        sums = owner @ flow
        if ((sums <= 0) & (self._demands > 0)).any():
            return None
        # the demands are met exactly, up to rounding
        factors = np.divide(self._demands, sums, out=np.zeros(k), where=sums > 0)
        flow *= factors[np.asarray(self._owners[:count])]
        shares = sparse.csr_array((flow, (self._owners[:count], np.arange(count))), shape=(k, count))
        return (shares @ rows).tocsr()
