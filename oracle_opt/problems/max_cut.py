"""Relaxed max-cut as a largest eigenvalue, its weights made around a solution."""

import numpy as np

from oracle_opt.arrays import EPS
from oracle_opt.domains import FreeSpace
from oracle_opt.errors import InvalidArgument
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated


def draw(n: int = 50, rank: int = 3, seed: int = 0) -> Instance:
    """Draw the dual ``n lambda_max(L - Diag y) + sum y`` of ``max <L, X> : X_ii = 1``: see docs/theory_methods.md."""
    from oracle_opt.oracles import MaxEigenvalueOracle

    if rank >= n:
        raise InvalidArgument(f"`rank` must be less than `n`, {n}, got {rank}")
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(n, rank))
    V /= np.linalg.norm(V, axis=1)[:, None]
    beside = np.linalg.qr(np.c_[V, rng.normal(size=(n, n - rank))])[0][:, rank:]
    Z = (beside * rng.uniform(0.2, 1.0, n - rank)) @ beside.T
    Z = 0.5 * (Z + Z.T)
    Z /= Z.sum()
    y = Z.sum(axis=1)
    L = np.diag(y) - Z
    # at y the largest eigenvalue is that of -Z, and X0 is feasible: rounding is left
    rounding = 16.0 * n * n * EPS * float(np.linalg.norm(L) + np.linalg.norm(y))
    short = abs(float(np.sum((L @ V) * V)) - 1.0) + n * max(0.0, -float(np.linalg.eigvalsh(Z)[0]))
    radius = 10.0 * float(np.linalg.norm(y)) + 1.0
    oracle = MaxEigenvalueOracle(L, [_unit(n, i) for i in range(n)], np.ones(n), trace=n, domain=FreeSpace(n, radius))
    return Instance(oracle, None, 1.0, short + rounding)


def _unit(n: int, i: int) -> object:
    """The matrix with a one at place i of its diagonal."""
    from scipy import sparse

    return sparse.csr_array(([1.0], ([i], [i])), shape=(n, n))


FAMILY = Generated(
    "max-cut",
    "relaxed max-cut of random weights as a largest eigenvalue, with a known minimizer",
    draw,
    (
        {"n": 10, "seed": 0},
        {"n": 30, "seed": 0},
        {"n": 50, "seed": 0},
        {"n": 100, "rank": 8, "seed": 0},
        {"n": 200, "rank": 5, "seed": 0},
    ),
    optimum=1.0,
    optimum_error=1e-9,
    source="constructed around its solution",
)
