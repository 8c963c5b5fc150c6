"""The assignment relaxation of random facility location problems in the plane."""

from math import fsum

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated, between


def draw(n: int = 50, facilities: int = 20, opening: float = 2.0, seed: int = 0) -> Instance:
    """Draw customers and facilities in the unit square; HiGHS' primal and dual solutions enclose the optimum."""
    from oracle_opt.oracles import FacilityLocationOracle

    rng = np.random.default_rng(seed)
    places, towns = rng.uniform(size=(facilities, 2)), rng.uniform(size=(n, 2))
    costs = np.linalg.norm(places[:, None] - towns, axis=2)
    fixed = opening * rng.uniform(0.5, 1.5, facilities)
    upper, lower = relaxed_cost(fixed, costs)
    optimum, error = between(-lower, -upper, float(n + fixed.sum()))
    return Instance(FacilityLocationOracle(fixed, costs), None, optimum, error)


def relaxed_cost(fixed: Vector, costs: Matrix) -> tuple[float, float]:
    """Cost of a relaxed point, and a bound: ``sum v + sum_i min(0, f_i - sum_j max(0, v_j - c_ij))``."""
    from scipy import sparse
    from scipy.optimize import linprog

    m, n = costs.shape
    below = sparse.hstack([-sparse.kron(sparse.eye_array(m), np.ones((n, 1))), sparse.eye_array(m * n)])
    once = sparse.hstack([sparse.csr_array((n, m)), sparse.kron(np.ones((1, m)), sparse.eye_array(n))])
    solved = linprog(
        np.r_[fixed, costs.ravel()],
        A_ub=below.tocsr(),
        b_ub=np.zeros(m * n),
        A_eq=once.tocsr(),
        b_eq=np.ones(n),
        method="highs",
    )
    x = np.maximum(solved.x[m:].reshape(m, n), 0.0)
    x /= x.sum(axis=0)
    v = np.asarray(solved.eqlin.marginals)
    upper = fsum(fixed * x.max(axis=1)) + fsum((costs * x).ravel())
    lower = fsum(v) + fsum(np.minimum(0.0, fixed - np.maximum(0.0, v - costs).sum(axis=1)))
    return upper, lower


FAMILY = Generated(
    "random-facilities",
    "facility location in the plane, the assignment relaxation; minus its value",
    draw,
    (
        {"n": 5, "facilities": 4, "seed": 0},
        {"n": 20, "facilities": 10, "seed": 0},
        {"n": 50, "seed": 0},
        {"n": 100, "facilities": 50, "seed": 0},
        {"n": 200, "facilities": 30, "seed": 0},
    ),
    source="strong linear relaxation by HiGHS, bounded from both sides",
)
