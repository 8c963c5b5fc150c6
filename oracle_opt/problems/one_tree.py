"""The 1-tree bound of random traveling salesman problems whose shortest tour is known."""

import numpy as np

from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated


def draw(n: int = 30, seed: int = 0) -> Instance:
    """Draw distances that are a sum of splits of a circle, and of a number for each city.

    The tour around the circle is the shortest, see docs/theory_methods.md; the minimum is minus its length. Bandelt,
    Dress (1992), "A canonical decomposition theory for metrics on a finite set", Adv. Math. 92:47-105.
    """
    from oracle_opt.oracles import HeldKarpOracle

    rng = np.random.default_rng(seed)
    place = rng.permutation(n)
    starts, lengths = rng.integers(0, n, 4 * n), rng.integers(1, max(2, n // 2 + 1), 4 * n)
    weights, numbers = rng.integers(1, 100, 4 * n), rng.integers(0, 1000, n)
    inside = (place - starts[:, None]) % n < lengths[:, None]
    distances = np.einsum("s,sij->ij", weights, inside[:, :, None] != inside[:, None, :])
    distances = distances + numbers[:, None] + numbers
    bound = 2.0 * float(weights.sum() + numbers.sum())
    return Instance(HeldKarpOracle(distances), None, -bound, 0.0)


FAMILY = Generated(
    "one-tree",
    "the 1-tree bound of random traveling salesman problems with a known tour; minus its value",
    draw,
    ({"n": 5, "seed": 0}, {"n": 15, "seed": 0}, {"n": 30, "seed": 0}, {"n": 60, "seed": 0}, {"n": 120, "seed": 0}),
    source="constructed from splits of a circle",
)
