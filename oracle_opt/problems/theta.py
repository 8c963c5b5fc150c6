"""Lovasz' theta function of random bipartite graphs, which is the size of their largest stable set."""

import numpy as np

from oracle_opt.domains import FreeSpace
from oracle_opt.errors import InvalidArgument
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated


def draw(n: int = 60, nodes: int = 20, seed: int = 0) -> Instance:
    """Draw ``lambda_max(J - sum_e y_e A_e)`` of a random bipartite graph: see docs/theory_methods.md."""
    from scipy import sparse
    from scipy.sparse.csgraph import maximum_bipartite_matching

    from oracle_opt.oracles import MaxEigenvalueOracle

    left = nodes // 2
    if n > left * (nodes - left):
        raise InvalidArgument(f"`n` must be at most {left * (nodes - left)}, all edges between {nodes} nodes, got {n}")
    rng = np.random.default_rng(seed)
    i, j = np.divmod(rng.permutation(left * (nodes - left))[:n], nodes - left)
    graph = sparse.csr_matrix((np.ones(n), (i, j)), shape=(left, nodes - left))
    theta = float(nodes - np.count_nonzero(maximum_bipartite_matching(graph) >= 0))
    edges = [
        sparse.csr_array(([1.0, 1.0], ([a, b], [b, a])), shape=(nodes, nodes)) for a, b in zip(i, left + j, strict=True)
    ]
    domain = FreeSpace(n, float(np.sqrt(n)) * theta)
    return Instance(MaxEigenvalueOracle(np.ones((nodes, nodes)), edges, np.zeros(n), domain=domain), None, theta, 0.0)


FAMILY = Generated(
    "theta",
    "Lovasz' theta of random bipartite graphs as a largest eigenvalue",
    draw,
    (
        {"n": 12, "nodes": 8, "seed": 0},
        {"n": 40, "nodes": 20, "seed": 0},
        {"n": 60, "seed": 0},
        {"n": 200, "nodes": 40, "seed": 0},
        {"n": 500, "nodes": 60, "seed": 0},
    ),
    source="perfect graph: Koenig's theorem; Groetschel, Lovasz & Schrijver (1981)",
)
