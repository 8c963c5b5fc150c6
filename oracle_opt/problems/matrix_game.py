"""Matrix games: the largest of linear functions on a simplex, made around an equilibrium."""

from math import ceil

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.domains import Simplex
from oracle_opt.problems.function_proof import oracle_of
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.max_affine import LargestPiece, PieceProof
from oracle_opt.problems.problem_family import Generated, between, unit_weights


def draw(n: int = 50, m: int = 50, support: float = 0.5, seed: int = 0) -> Instance:
    """Draw ``1 + max_i (A x)_i`` on the simplex, the cost of a mixed strategy x, with minimum 1.

    Normal entries of A are moved so that ``A x0 <= 0 <= y0 A``, equal to 0 where x0, y0 are positive.
    """
    rng = np.random.default_rng(seed)
    many = ceil(real("support", support, above=0.0, most=1.0) * min(n, m))
    x, y = np.zeros(n), np.zeros(m)
    x[rng.permutation(n)[:many]] = unit_weights(rng, many)
    y[rng.permutation(m)[:many]] = unit_weights(rng, many)
    A = rng.normal(size=(m, n))
    A += float(y @ A @ x) - (A @ x)[:, None] - y @ A
    A += np.where(x > 0, 0.0, rng.uniform(0.0, 1.0, n)) - np.where(y > 0, 0.0, rng.uniform(0.0, 1.0, m))[:, None]
    game = LargestPiece(A, np.zeros(m), np.zeros(n))
    lower, terms = 1.0 + float((y @ A).min()), 1.0 + float(np.abs(A).max())
    optimum, error = between(game(x).value, lower, terms)
    oracle = oracle_of(game, PieceProof(Simplex(n), game), game.name("matrix-game"))
    oracle.polyhedral = True
    return Instance(oracle, None, optimum, error)


FAMILY = Generated(
    "matrix-game",
    "largest of random linear functions on a simplex, with a known equilibrium",
    draw,
    (
        {"n": 3, "m": 3, "seed": 0},
        {"n": 10, "m": 10, "seed": 0},
        {"n": 50, "seed": 0},
        {"n": 50, "support": 1.0, "seed": 0},
        {"n": 200, "m": 100, "seed": 0},
        {"n": 1000, "m": 100, "support": 0.3, "seed": 0},
        {"n": 10000, "m": 50, "seed": 0},
    ),
    optimum=1.0,
    optimum_error=1e-10,
    source="constructed around an equilibrium",
)
