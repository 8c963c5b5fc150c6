"""Semidefinite programs through the largest eigenvalue, with true and false promises, against Clarabel on the ball."""

import clarabel
import numpy as np
from scipy import sparse

from oracle_opt import FreeSpace, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, SpectralBundle
from oracle_opt.oracles import MaxEigenvalueOracle, PositiveSemidefinite

UNIT = "programs by five generators"
FULL, SMALL = 400, 3

GENERATORS = [SpectralBundle, AnalyticCenter, LevelSet, ProximalBundle, Kelley]
TRUST = 1e-7  # of Clarabel's optimum, relative to the size of the terms


def control(rng):
    """How far ``[[-P A - A'P - C'D C, -P B], [-B'P, D]]`` exceeds ``t I`` with ``P <= I``: a system's stability.

    The optimum is found by t, the entries of P and of the diagonal D; a zero makes the maximum with zero.
    """
    n = int(rng.integers(2, 9))
    A = rng.normal(size=(n, n))
    A -= (np.linalg.eigvals(A).real.max() + rng.uniform(0.5, 10.0)) * np.eye(n)
    B, C = rng.uniform(0.1, 0.5) * rng.normal(size=(2, n, n))
    zero, matrices = np.zeros((n, n)), []
    for i in range(n):
        for j in range(i + 1):
            P = zero.copy()
            P[i, j] = P[j, i] = 1.0
            matrices.append((np.block([[-P @ A - A.T @ P, -P @ B], [-B.T @ P, zero]]), -P))
    for i in range(n):
        D = zero.copy()
        D[i, i] = 1.0
        matrices.append((np.block([[-C.T @ D @ C, zero], [zero, D]]), zero))
    matrices.append((-np.eye(2 * n), zero))
    F = [sparse.block_diag([one, other, np.zeros((1, 1))]).toarray() for one, other in matrices]
    constant = np.zeros((3 * n + 1, 3 * n + 1))
    constant[2 * n : 3 * n, 2 * n : 3 * n] = np.eye(n)
    units = np.array([np.linalg.norm(one) for one in F])
    return (
        -constant,
        [one / unit for one, unit in zip(F, units, strict=True)],
        np.r_[np.zeros(len(F) - 1), -1.0] / units,
    )


def cut(rng):
    """The relaxation of a maximal cut."""
    n = int(rng.integers(4, 20))
    weights = np.triu(rng.random((n, n)) < 0.4, 1) * rng.exponential(size=(n, n))
    weights = weights + weights.T
    return (np.diag(weights.sum(axis=1)) - weights) / 4.0, [np.diag(row) for row in np.eye(n)], np.ones(n) / n


def random(rng):
    """Dense or low-rank matrices over decades, with the right-hand sides of a definite X."""
    n, m = int(rng.integers(2, 14)), int(rng.integers(1, 15))
    C, *A = rng.normal(size=(m + 1, n, n))
    if rng.random() < 0.3:
        A = [np.outer(one[0], one[0]) for one in A]
    A = [10.0 ** rng.uniform(-2, 2) * (one + one.T) for one in A]
    root = rng.normal(size=(n, n))
    X = root @ root.T / np.sum(root**2)
    return C + C.T, A, np.array([np.vdot(one, X) for one in A])


FAMILIES = [control, cut, random]


def truth(C, A, b, trace, radius):
    """Clarabel's status and values of ``min trace t + b y : t I - C + sum_i y_i A_i >= 0, norm(y) <= radius``."""
    cone = PositiveSemidefinite(len(C))
    columns = np.column_stack([*(cone.vector(one) for one in A), cone.vector(np.eye(len(C)))])
    m = len(b)
    ball = np.zeros((m + 1, m + 1))
    ball[1:, :m] = np.eye(m)
    rows = sparse.csc_matrix(-np.vstack([columns, ball]))
    sides = np.r_[-cone.vector(C), radius, np.zeros(m)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.PSDTriangleConeT(cone.order), clarabel.SecondOrderConeT(m + 1)]
    zero = sparse.csc_matrix((m + 1, m + 1))
    solved = clarabel.DefaultSolver(zero, np.r_[b, trace], rows, sides, cones, settings).solve()
    x = np.array(solved.x)
    return str(solved.status), [solved.obj_val, solved.obj_val_dual], abs(trace * x[-1]) + abs(b * x[:-1]).sum()


def check(result, known, radius, tally):
    """What is wrong with a run, in words."""
    words = []
    if result.status is Status.CONTRADICTION or result.lower_bound > result.upper_bound:
        words.append(f"{result.status.name}, bounds {result.lower_bound:.12g} and {result.upper_bound:.12g}")
    status, values, terms = known
    size = max(1.0, terms)
    if status != "Solved" or abs(values[0] - values[1]) > TRUST * size:
        tally.count("unknown to Clarabel")
        return words
    optimum = values[0]
    tally.error("lower bound above the optimum", max(0.0, result.lower_bound - optimum) / size)
    if result.lower_bound > optimum + TRUST * size:
        words.append(f"lower bound {result.lower_bound:.12g} above {optimum:.12g}")
    if np.linalg.norm(result.point) <= radius * (1 + 1e-12):
        tally.error("upper bound below the optimum", max(0.0, optimum - result.upper_bound) / size)
        if result.upper_bound < optimum - TRUST * size:
            words.append(f"upper bound {result.upper_bound:.12g} below {optimum:.12g}")
    return words


def run(count, seed, tally):
    """Minimize `count` functions, the families in turn, by each generator."""
    rng = np.random.default_rng([seed, 4])
    for i in range(count):
        family = FAMILIES[i % len(FAMILIES)]
        C, A, b = family(rng)
        trace, radius = float(10.0 ** rng.integers(0, 5)), float(10.0 ** rng.integers(0, 5))
        known = truth(C, A, b * trace, trace, radius)
        tally.count(f"Clarabel: {known[0]}")
        words = []
        for make in GENERATORS:
            options = {"lanczos_from": 1} if rng.random() < 0.2 and len(C) > 12 else {}
            oracle = MaxEigenvalueOracle(C, A, b * trace, trace=trace, domain=FreeSpace(len(b), radius), **options)
            result = minimize(oracle, make(), max_calls=60, max_seconds=0.5)
            tally.count(f"{make.__name__}: {result.status.name.lower()}")
            found = check(result, known, radius, tally) + tally.certificate(result, oracle)
            words += [f"{family.__name__} {i} of seed {seed}, {make.__name__}: {one}" for one in found]
        tally.trial(words)
