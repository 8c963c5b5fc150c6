"""Robust linear programs: second-order constraints, found as cuts, made around a minimizer."""

import numpy as np

from oracle_opt.domains import Box
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated, between


def draw(n: int = 20, m: int = 20, rank: int = 3, seed: int = 0) -> Instance:
    """Draw ``min c @ x`` where ``a_i @ x + |P_i x| <= b_i`` on [-1, 1]^n, rows known up to an ellipsoid; minimum 1.

    Half of the rows are active at x0 and have multipliers, with which c makes x0 optimal.
    """
    from oracle_opt.oracles import ConicOracle, SecondOrder

    rng = np.random.default_rng(seed)
    a, P = rng.normal(size=(m, n)), 0.3 * rng.normal(size=(m, rank, n))
    x, active = rng.uniform(-0.5, 0.5, n), (m + 1) // 2
    spread = P @ x
    norms = np.linalg.norm(spread, axis=1)
    b = a @ x + norms + np.r_[np.zeros(active), rng.uniform(0.1, 1.0, m - active)]
    weights = rng.uniform(0.5, 1.5, active) / active
    normals = a + np.einsum("ijk,ij->ik", P, spread / norms[:, None])
    c = -(weights @ normals[:active])
    offset = 1.0 - float(c @ x)
    # c @ x >= (c + sum of weights times normals) @ x - weights @ b
    lower = offset - float(weights @ b[:active]) - float(np.abs(c + weights @ normals[:active]).sum())
    terms = 1.0 + abs(offset) + float(np.abs(c) @ np.abs(x)) + float(weights @ np.abs(b[:active]))
    optimum, error = between(float(c @ x) + offset, lower, terms)
    # points that miss a cone by the oracle's tolerance may cost so much less
    error += 2e-9 * float(weights @ np.sqrt(np.sum(a**2, axis=1) + np.sum(P**2, axis=(1, 2)))[:active])
    # (b_i - a_i @ x, P_i x) in the cone
    A = np.concatenate([a[:, None], -P], axis=1).reshape(m * (rank + 1), n)
    sides = np.concatenate([b[:, None], np.zeros((m, rank))], axis=1).ravel()
    domain = Box(-np.ones(n), np.ones(n))
    oracle = ConicOracle(c, A, sides, [SecondOrder(rank + 1)] * m, domain=domain, offset=offset)
    return Instance(oracle, None, optimum, error)


FAMILY = Generated(
    "robust-lp",
    "robust linear programs by feasibility cuts, with a known minimizer",
    draw,
    (
        {"n": 3, "m": 6, "seed": 0},
        {"n": 10, "m": 10, "seed": 0},
        {"n": 20, "seed": 0},
        {"n": 50, "m": 60, "seed": 0},
        {"n": 200, "m": 50, "seed": 0},
    ),
    optimum=1.0,
    optimum_error=1e-7,
    source="constructed around its minimizer",
)
