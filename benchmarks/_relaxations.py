"""Random instances of the shipped relaxations, and the linear and integer programs that other solvers see."""

import numpy as np
from _extensive import linear_program
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay


def facilities(m, n, seed=0):
    """Opening costs and costs in the plane, of customers with demands 1 to 100, as the OR-Library's capa to capc."""
    rng = np.random.default_rng(seed)
    places, towns = rng.uniform(0, 1000, (m, 2)), rng.uniform(0, 1000, (n, 2))
    demands = rng.integers(1, 101, n)
    return np.rint(rng.uniform(2e5, 6e5, m)), np.linalg.norm(places[:, None] - towns, axis=2) * demands


def facilities_at_random(m, n, seed=0):
    """Koerkel and Ghosh's class a: serving costs 1000 to 2000 at random, opening 100 to 200; large integrality gaps."""
    rng = np.random.default_rng(seed)
    return rng.integers(100, 201, m).astype(float), rng.integers(1000, 2001, (m, n)).astype(float)


def assignment(kind, m, n, seed=0):
    """Costs, uses and capacities of type c, d or e (Chu and Beasley 1997; Laguna et al. 1995): the hard ones."""
    rng = np.random.default_rng(seed)
    if kind == "e":
        uses = np.rint(1.0 - 10.0 * np.log(rng.uniform(1e-9, 1.0, (m, n))))
        costs = np.maximum(1.0, np.rint(1000.0 / uses - 10.0 * rng.uniform(size=(m, n))))
    elif kind == "d":
        uses = rng.integers(1, 101, (m, n)).astype(float)
        costs = 111.0 - uses + rng.integers(-10, 11, (m, n))
    else:
        uses, costs = rng.integers(5, 26, (m, n)).astype(float), rng.integers(10, 51, (m, n)).astype(float)
    return costs, uses, np.maximum(np.floor(0.8 * uses.sum(axis=1) / m), uses.max(axis=1))


def planar_network(nodes, commodities, seed=0):
    """A triangulation of random points with commodities between random nodes, like the planar instances of CommaLab.

    Capacities are one to three times what a flow over congested paths needs: about a quarter of them bind.
    """
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 1000, (nodes, 2))
    corners = Delaunay(points).simplices
    edges = np.unique(np.sort(np.vstack([corners[:, :2], corners[:, 1:], corners[:, ::2]]), axis=1), axis=0)
    arcs = np.vstack([edges, edges[:, ::-1]])
    costs = 1.0 + np.rint(np.linalg.norm(points[arcs[:, 0]] - points[arcs[:, 1]], axis=1))
    chosen = np.sort(rng.choice(nodes * (nodes - 1), commodities, replace=False))
    origin, other = chosen // (nodes - 1), chosen % (nodes - 1)
    pairs = np.column_stack([origin, other + (other >= origin)])
    demands = rng.integers(10, 1000, commodities).astype(float)
    load, price = np.zeros(len(arcs)), costs.copy()
    number = np.zeros((nodes, nodes), dtype=int)
    number[arcs[:, 0], arcs[:, 1]] = np.arange(len(arcs))
    portions = 10
    for portion in range(portions):
        before = dijkstra(sparse.csr_array((price, tuple(arcs.T)), shape=(nodes, nodes)), return_predecessors=True)[1]
        for (i, j), demand in zip(pairs.tolist(), demands, strict=True):
            while j != i:
                load[number[before[i, j], j]] += demand / portions
                j = before[i, j]
        price = costs * (1.0 + (load * portions / (portion + 1) / load.mean()) ** 2 / 10.0)
    capacities = np.ceil(np.maximum(load * rng.uniform(1.0, 3.0, len(arcs)), 0.3 * load.mean()))
    return arcs, costs, capacities, pairs, demands


def cities(n, seed=0):
    """Rounded distances of random points, as TSPLIB's EUC_2D."""
    points = np.random.default_rng(seed).uniform(0, 1000, (n, 2))
    return np.rint(np.linalg.norm(points[:, None] - points, axis=2))


def location_program(opening, costs):
    """The strong linear relaxation: ``min f @ y + sum c x : sum_i x_ij = 1, x_ij <= y_i``."""
    m, n = costs.shape
    below = sparse.hstack([-sparse.kron(sparse.eye_array(m), np.ones((n, 1))), sparse.eye_array(m * n)])
    once = sparse.hstack([sparse.csr_array((n, m)), sparse.kron(np.ones((1, m)), sparse.eye_array(n))])
    low, high = np.r_[np.full(m * n, -np.inf), np.ones(n)], np.r_[np.zeros(m * n), np.ones(n)]
    bounds = np.zeros(m + m * n), np.full(m + m * n, np.inf)
    return linear_program(np.r_[opening, costs.ravel()], sparse.vstack([below, once]), low, high, *bounds)


def flow_program(arcs, costs, capacities, pairs, demands):
    """The linear program with a flow of each origin on each arc."""
    n, a = 1 + arcs.max(), len(arcs)
    origins, number = np.unique(pairs[:, 0], return_inverse=True)
    k = len(origins)
    signs, ends = np.repeat([1.0, -1.0], a), np.r_[arcs[:, 0], arcs[:, 1]]
    incidence = sparse.csr_array((signs, (ends, np.tile(np.arange(a), 2))), shape=(n, a))
    supply = np.zeros((k, n))
    np.add.at(supply, (number, pairs[:, 0]), demands)
    np.add.at(supply, (number, pairs[:, 1]), -demands)
    shared = sparse.hstack([sparse.eye_array(a)] * k)
    matrix = sparse.vstack([shared, sparse.block_diag([incidence] * k)])
    low, high = np.r_[np.full(a, -np.inf), supply.ravel()], np.r_[capacities, supply.ravel()]
    return linear_program(np.tile(costs, k), matrix, low, high, np.zeros(k * a), np.full(k * a, np.inf))
