"""Two-stage stochastic linear programs with simple recourse, made around a minimizer."""

import numpy as np

from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated, between, unit_weights


def draw(n: int = 20, rows: int = 15, scenarios: int = 100, summands: int = 1, seed: int = 0) -> Instance:
    """Draw ``c @ x + E[q+ @ (h - T x)+ + q- @ (T x - h)+]`` on [0, 1]^n, demands h in scenarios, with minimum 1.

    At x0 all demands but n are missed; c makes x0 optimal with random multipliers of those n between -q- and q+.
    """
    from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem

    rng = np.random.default_rng(seed)
    T, x, p = rng.uniform(0.0, 1.0, (rows, n)), rng.uniform(0.2, 0.8, n), unit_weights(rng, scenarios)
    less, more = rng.uniform(1.0, 3.0, rows), rng.uniform(0.2, 1.0, rows)  # price of a unit that lacks, or is left
    missed = rng.normal(size=(scenarios, rows))
    met = rng.permutation(scenarios * rows)[:n]
    missed.flat[met] = 0.0
    multipliers = np.where(missed > 0, less, -more)
    multipliers.flat[met] = (rng.uniform(0.1, 0.9, (scenarios, rows)) * (less + more) - more).flat[met]
    demands = T @ x + missed
    mean = p @ multipliers
    c = mean @ T
    paid = float(p @ (np.maximum(missed, 0.0) @ less + np.maximum(-missed, 0.0) @ more))
    offset = 1.0 - float(c @ x) - paid
    lower = offset + float(p @ np.sum(multipliers * demands, axis=1))
    terms = 1.0 + abs(offset) + float(p @ np.sum(np.abs(multipliers * demands), axis=1))
    optimum, error = between(1.0, lower, terms)
    W, q, zero = np.c_[np.eye(rows), -np.eye(rows)], np.r_[less, more], np.zeros(rows)
    block = RandomBlock(p, rows=np.arange(rows), rhs=demands, name="demands")
    problem = TwoStageProblem(c, q, T, W, zero, zero, [block], x_upper=1.0, offset=offset)
    return Instance(BendersOracle(problem, n_summands=summands), None, optimum, error)


FAMILY = Generated(
    "two-stage",
    "two-stage stochastic programs with simple recourse by Benders' cuts, with a known minimizer",
    draw,
    (
        {"n": 3, "rows": 4, "scenarios": 10, "seed": 0},
        {"n": 10, "rows": 10, "scenarios": 50, "seed": 0},
        {"n": 20, "seed": 0},
        {"n": 20, "summands": 10, "seed": 0},
        {"n": 50, "rows": 30, "scenarios": 50, "summands": 50, "seed": 0},
    ),
    optimum=1.0,
    optimum_error=1e-9,
    source="constructed around its minimizer",
)
