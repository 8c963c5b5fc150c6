"""Random convex functions whose values are of all sizes on their domain, with minima known in closed form."""

import numpy as np

from oracle_opt import Box, FunctionOracle


def exponentials(seed, n=6, rate=4.0, width=6.0):
    """``sum_i exp(a_i @ (z - c))`` with slopes that add up to 0: least at c, where each summand is 1."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(2 * n, n)) * rate
    slopes -= slopes.mean(axis=0)
    center = rng.uniform(-1, 1, n)

    def function(z):
        values = np.exp(slopes @ (z - center))
        return values.sum(), slopes.T @ values

    return FunctionOracle(function, Box(np.full(n, -width), np.full(n, width)), name=f"exponentials {seed}"), 2.0 * n


def largest_exponential(seed, n=6, width=4.0):
    """``max over both signs of exp(|z - c +- s e|^2_w)``: least at c, by symmetry."""
    rng = np.random.default_rng(seed)
    weights, center, shift = rng.uniform(0.3, 3, n), rng.uniform(-0.5, 0.5, n), rng.uniform(0.5, 1.5)
    weights[0] = 1e-6

    def function(z):
        both = z - center + np.outer([shift, -shift], np.eye(n)[1])
        powers = (weights * both**2).sum(axis=1)
        i = int(powers.argmax())
        value = np.exp(powers[i])
        return value, value * 2 * weights * both[i]

    upper = np.full(n, width)
    upper[0] = 50.0
    oracle = FunctionOracle(function, Box(-upper, upper), name=f"largest exponential {seed}")
    return oracle, float(np.exp(weights[1] * shift**2))


def powers(seed, n=5, power=20, width=8.0):
    """``1 + sum_i (a_i (z_i - c_i))^20``, flat at its minimizer."""
    rng = np.random.default_rng(seed)
    center, rates = rng.uniform(-1, 1, n), rng.uniform(0.5, 2, n)

    def function(z):
        away = rates * (z - center)
        return 1.0 + (away**power).sum(), power * rates * away ** (power - 1)

    return FunctionOracle(function, Box(np.full(n, -width), np.full(n, width)), name=f"powers {seed}"), 1.0


def reciprocals(seed, n=6):
    """``sum_i a_i / z_i + b_i z_i``, each least at sqrt(a_i / b_i)."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.5, 2, n), 10 ** rng.uniform(-1, 1, n)

    def function(z):
        return (a / z + b * z).sum(), b - a / z**2

    domain = Box(np.full(n, 1e-6), np.full(n, 100.0))
    return FunctionOracle(function, domain, name=f"reciprocals {seed}"), float(2 * np.sqrt(a * b).sum())


def geometric_program(seed, n=5, width=20.0):
    """``max_k sum_i exp(a_ki @ z + b_ki)``, shifted such that all k and slopes balance at c."""
    rng = np.random.default_rng(seed)
    slopes, center = rng.normal(size=(3, 4, n)), rng.uniform(-2, 2, n)
    slopes -= slopes.mean(axis=(0, 1))  # at c all summands are 1, and the mean of the three slopes is 0

    def function(z):
        values = np.exp(slopes @ (z - center))
        k = int(values.sum(axis=1).argmax())
        return values[k].sum(), slopes[k].T @ values[k]

    return FunctionOracle(function, Box(np.full(n, -width), np.full(n, width)), name=f"geometric {seed}"), 4.0


FAMILIES = (exponentials, largest_exponential, powers, reciprocals, geometric_program)
