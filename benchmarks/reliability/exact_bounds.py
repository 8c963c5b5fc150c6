"""Bounds against rational arithmetic: maxima of affine functions with integer data, every generator and domain.

Random are the pieces (integers below 1000, also times a power of ten), an offset up to 1e8, the domain, a half-space
answered as feasibility cuts, whether the function is a sum of two told by summands, and the generator. The optimum
is that of a basis of HiGHS, whose vertex and multipliers are computed and checked in `fractions`. Half of the oracles
compute in floating point and state no error; then no lower bound may exceed the optimum. The others round the exact
value down and state the error; then the upper bound must hold, too.
"""

from fractions import Fraction

import numpy as np
from _methods import METHODS
from _rational import Program

from oracle_opt import CapabilityMismatch, FeasibilityCut, FunctionOracle, ObjectiveCut, minimize
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex

UNIT = "runs on integer data against rational arithmetic"
FULL = 1000
SMALL = 20


def constraints(domain, rng):
    """Inequalities and equations of a domain, as floats that are exact."""
    n = domain.dimension
    lower, upper, E, f = np.full(n, -np.inf), np.full(n, np.inf), np.zeros((0, n)), np.zeros(0)
    A, b = np.zeros((0, n)), np.zeros(0)
    if isinstance(domain, ProductOfSimplices):
        lower = np.zeros(n)
        E = np.array([np.arange(len(domain.sizes)) == k for k in domain._block]).T.astype(float)
        f = np.full(len(domain.sizes), domain.radius)
    elif isinstance(domain, Box | Polyhedron | NonnegativeOrthant):
        lower, upper = domain.bounding_box()
        if isinstance(domain, Polyhedron):
            A, b, E, f = domain.A, domain.b, domain.equality_matrix, domain.equality_rhs
    sides = [np.eye(n)[np.isfinite(upper)], -np.eye(n)[np.isfinite(lower)], A]
    return np.vstack(sides), np.r_[upper[np.isfinite(upper)], -lower[np.isfinite(lower)], b], E, f


def random_domain(rng, n):
    """One of eight, with integer data."""
    kind = int(rng.integers(8))
    if kind == 0:
        return Simplex(n, float(rng.integers(1, 9)))
    if kind == 1:
        return ProductOfSimplices([n // 2, n - n // 2], float(rng.integers(1, 4)))
    if kind == 2:
        lower = rng.integers(-9, 9, n).astype(float)
        return Box(lower, lower + rng.integers(1, 9, n))
    if kind == 3:
        return NonnegativeOrthant(n, 1000.0)
    if kind == 4:
        A = rng.integers(-5, 6, (3, n)).astype(float)
        A[:, 0] += ~A.any(axis=1)
        return Polyhedron(A, np.maximum(A.sum(axis=1), 0) + rng.integers(1, 9, 3), lower=-3.0, upper=7.0)
    if kind == 5:
        A = rng.integers(1, 6, (1, n)).astype(float)
        return Polyhedron(equality_matrix=A, equality_rhs=A.sum(axis=1), lower=0.0, upper=100.0)
    center = rng.integers(-9, 9, n).astype(float)
    return (Ball if kind == 6 else FreeSpace)(n, 10.0 ** int(rng.integers(3, 6)), center)


def pieces(rng, domain, offset, scale):
    """Slopes and constants; with a minimizer in the middle where the domain has no corners."""
    n, m = domain.dimension, int(rng.integers(3, 25))
    slopes = scale * rng.integers(-1000, 1001, (m, n)).astype(float)
    constants = scale * rng.integers(-1000, 1001, m).astype(float) + offset
    if isinstance(domain, Ball | FreeSpace | NonnegativeOrthant):
        steep = 3000.0 * scale
        inside = domain.interior_point()
        slopes = np.vstack([slopes, steep * np.eye(n), -steep * np.eye(n)])
        constants = np.r_[constants, offset - steep * inside, offset + steep * inside]
    return slopes, constants


def exact_cut(z, summands):
    """Value and subgradient of each summand at z: the value rounded down, with the error that makes it an upper one."""
    cuts = []
    for slopes, constants in summands:
        values = [
            sum((Fraction(a) * Fraction(x) for a, x in zip(row, z, strict=True)), Fraction(c))
            for row, c in zip(slopes, constants, strict=True)
        ]
        i = max(range(len(values)), key=values.__getitem__)
        value = float(values[i])
        if Fraction(value) > values[i]:
            value = np.nextafter(value, -np.inf)
        error = float(values[i] - Fraction(value))
        while Fraction(value) + Fraction(error) < values[i]:
            error = np.nextafter(error, np.inf)
        cuts.append(ObjectiveCut(z, float(value), slopes[i], error=float(error)))
    return cuts


def float_cut(z, summands):
    """The same in floating point, with no error stated."""
    cuts = []
    for slopes, constants in summands:
        values = slopes @ z + constants
        i = int(values.argmax())
        cuts.append(ObjectiveCut(z, float(values[i]), slopes[i]))
    return cuts


def random_problem(seed):
    """An oracle, the rational program, whether the oracle is exact, words for it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    domain = random_domain(rng, n)
    offset = float(rng.choice([0, 0, 1e3, -1e6, 1e8]))
    scale = float(rng.choice([1.0, 1.0, 1e-3, 1e4]))
    exact, n_summands = bool(rng.random() < 0.5), 1 + int(rng.random() < 0.25)
    summands = [pieces(rng, domain, offset, scale) for _ in range(n_summands)]
    normal = rng.integers(-5, 6, n).astype(float)
    normal[0] += not normal.any()
    cutting = rng.random() < 0.25
    side = float(np.ceil(normal @ domain.interior_point()) + 1)  # the middle stays feasible

    def function(z):
        if cutting:
            violation = sum((Fraction(a) * Fraction(x) for a, x in zip(normal, z, strict=True)), Fraction(-side))
            if violation > 0 and float(violation) > 0:
                down = float(violation)
                return FeasibilityCut(z, down if Fraction(down) <= violation else np.nextafter(down, -np.inf), normal)
        cuts = (exact_cut if exact else float_cut)(z, summands)
        if n_summands == 1:
            return cuts[0]
        value, error = sum(Fraction(one.value) for one in cuts), sum(Fraction(one.error) for one in cuts)
        down = float(value)
        if exact and Fraction(down) > value:
            down = float(np.nextafter(down, -np.inf))
        above = float(value + error - Fraction(down))
        if exact and Fraction(down) + Fraction(above) < value + error:
            above = float(np.nextafter(above, np.inf))
        slope = cuts[0].subgradient + cuts[1].subgradient  # exact but where the scale is 1e-3
        return ObjectiveCut(z, down, slope, error=above if exact else 0.0, summands=tuple(cuts))

    rows, rhs, E, f = constraints(domain, rng)
    if cutting:
        rows, rhs = np.vstack([rows, normal]), np.r_[rhs, side]
    words = f"seed {seed}: {domain!r}, offset {offset:g}, scale {scale:g}, {n_summands} summands, exact {exact}"
    oracle = FunctionOracle(function, domain, gives={FeasibilityCut} if cutting else ())
    return oracle, Program(summands, rows, rhs, E, f), exact, words


def run(count, seed, tally):
    """Make so many runs."""
    rng = np.random.default_rng(seed)
    done = 0
    while done < count:
        trial = int(rng.integers(2**31))
        oracle, program, exact, words = random_problem(trial)
        low, high = program.enclosure()
        if low is None or high is None or low != high:
            tally.count("no exact optimum, tried another")
            continue
        method, wrong = list(METHODS.values())[int(rng.integers(len(METHODS)))](), []
        try:
            result = minimize(oracle, method, rtol=1e-12, atol=1e-300, max_calls=80)
        except CapabilityMismatch:
            continue
        except Exception as problem:
            result = getattr(problem, "result", None)
            wrong.append(f"raised {problem!r}")
        done += 1
        if result is None:
            tally.trial([f"{words}, {method!r}: {'; '.join(wrong)}"])
            continue
        tally.count(result.status.name)
        size = float(max(1, abs(low)))
        bounds = set(result.history.lower_bound[np.isfinite(result.history.lower_bound)])
        for name in ("cut_bound", "model_bound", "average_bound"):
            column = getattr(result.history, name)
            bounds |= set(column[np.isfinite(column)])
        highest = max(bounds, default=-np.inf)
        if np.isfinite(highest):
            tally.error("of a lower bound above the optimum, relative", max(0.0, float(Fraction(highest) - low) / size))
            if Fraction(highest) > low:
                wrong.append(f"lower bound above by {float(Fraction(highest) - low):.3g}")
        if np.isfinite(result.upper_bound) and exact:
            tally.error(
                "of an upper bound below the optimum, relative",
                max(0.0, float(low - Fraction(result.upper_bound)) / size),
            )
            if Fraction(result.upper_bound) < low:
                wrong.append(f"upper bound below by {float(low - Fraction(result.upper_bound)):.3g}")
        if result.status.name == "CONTRADICTION":
            wrong.append(result.message)
        wrong += tally.certificate(result, oracle)
        tally.trial([f"{words}, {method!r}: {'; '.join(wrong)}"] if wrong else ())
