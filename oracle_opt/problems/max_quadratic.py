"""The largest of random convex quadratic functions on a box, made around its minimizer."""

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.max_affine import instance
from oracle_opt.problems.problem_family import Generated


def draw(n: int = 30, pieces: int = 20, active: float = 0.5, condition: float = 10.0, seed: int = 0) -> Instance:
    """Draw ``1 + max_i a_i @ y + y @ diag(c_i) @ y / 2 - d_i`` with ``y = x - x0`` on [-1, 1]^n, its minimum 1."""
    condition = real("condition", condition, least=1.0)
    return instance("max-quadratic", np.random.default_rng(seed), n, pieces, active, condition)


FAMILY = Generated(
    "max-quadratic",
    "largest of random convex quadratic functions on a box, with a known minimizer",
    draw,
    (
        {"n": 2, "pieces": 5, "seed": 0},
        {"n": 10, "seed": 0},
        {"n": 30, "seed": 0},
        {"n": 30, "active": 0.1, "seed": 0},
        {"n": 30, "condition": 1000.0, "seed": 0},
        {"n": 100, "seed": 0},
        {"n": 300, "pieces": 10, "seed": 0},
        {"n": 1000, "pieces": 5, "seed": 0},
    ),
    optimum=1.0,
    optimum_error=1e-10,
    source="constructed around its minimizer",
)
