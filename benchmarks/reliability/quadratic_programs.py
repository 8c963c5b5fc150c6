"""Quadratic programs whose P spans ten decades, proven, singular or wrong by rounding, against exact fractions.

The truth of a program of rows and bounds is its point of Karush, Kuhn and Tucker, solved and checked in `fractions`
with the rows that Clarabel says are active; of one with a second-order cone it is Clarabel's, in units in which P has
a unit diagonal. Whether P is positive semidefinite is decided in fractions, too. Where it is not, or no such point is
found, a lower bound is held against the values at the feasible points that are known.
"""

from fractions import Fraction

import clarabel
import numpy as np
from _rational import semidefinite, solve
from scipy import sparse

from oracle_opt import Box, InvalidArgument, ObjectiveCut, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import ConicOracle, Nonnegative, SecondOrder

UNIT = "programs, by four generators in turn"
FULL, SMALL = 2000, 24

GENERATORS = [ProximalBundle, AnalyticCenter, LevelSet, Kelley]
RTOL = 1e-6
TRUST = 1e-7  # of Clarabel's optimum, relative to the terms of the objective
PROBED = 4  # random points of the box at which all cuts are held against f


def definite(rng, n):
    """Of full rank, its condition up to 1e3."""
    root = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-1.5, 0, n)
    return root.T @ root


def near_singular(rng, n):
    """Variables that go together but for a millionth or less."""
    together = 10.0 ** rng.uniform(-12, -6)
    common = rng.choice([-1.0, 1.0], n)
    return np.outer(common, common) + together * np.eye(n)


def low_rank(rng, n):
    """A Gram matrix, whose zero eigenvalues are what rounding leaves."""
    root = rng.normal(size=(int(rng.integers(1, n)), n))
    return root.T @ root


def whole_numbers(rng, n):
    """Singular, and exactly so."""
    root = rng.integers(-3, 4, size=(int(rng.integers(1, n)), n)).astype(float)
    return root.T @ root


def separate(rng, n):
    """Blocks, some of them empty."""
    P = definite(rng, n)
    part = rng.integers(0, 3, n)
    P[part[:, None] != part] = 0.0
    P[part == 2] = P[:, part == 2] = 0.0
    return P


def single(rng, n):
    """A covariance that was kept in single precision."""
    return np.asarray(definite(rng, n) + 0.1 * np.eye(n), dtype=np.float32)


def indefinite(rng, n):
    """An eigenvalue below zero, from rounding to a share of 1e-9 of the largest."""
    root = rng.normal(size=(n - 1, n))
    flat = np.linalg.svd(root)[2][-1]
    return root.T @ root - 10.0 ** rng.uniform(-17, -9) * np.outer(flat, flat)


KINDS = [definite, near_singular, low_rank, whole_numbers, separate, single, indefinite]


class Program:
    """``min 1/2 x @ P @ x + c @ x`` over a box and rows, in units of x that span up to ten decades."""

    def __init__(self, rng, kind):
        n = self.n = int(rng.integers(2, 7))
        scaled = kind(rng, n)
        self.units = 10.0 ** rng.uniform(-5, 5, n) if rng.random() < 0.8 else np.full(n, 10.0 ** rng.integers(-12, 13))
        if kind is single:  # its entries have few digits, which other units would make more
            self.units = 2.0 ** np.rint(np.log2(self.units))
        self.P = np.asarray(scaled, dtype=float) / np.outer(self.units, self.units)
        self.P = 0.5 * self.P + 0.5 * self.P.T
        self.given = self.P
        if kind is single and np.abs(np.log10(self.units)).max() < 12:
            self.given = self.P.astype(np.float32)
        elif rng.random() < 0.3:
            self.given = sparse.csc_array(self.P)
        self.c = rng.normal(size=n) / self.units
        width = 10.0 ** rng.uniform(0, 3) * self.units
        self.lower, self.upper = -width * rng.uniform(0.2, 1, n), width * rng.uniform(0.2, 1, n)
        m = int(rng.integers(0, 4))
        self.A = rng.normal(size=(m, n)) / self.units
        self.b = np.abs(self.A) @ np.minimum(-self.lower, self.upper) * rng.uniform(0.05, 1, m)  # the origin is inside
        self.cone = rng.random() < 0.15
        self.radius = float(width[0] / self.units[0] * rng.uniform(0.05, 0.5))

    def oracle(self, rng):
        """On a box whose rows are cuts, or on the rows alone; with or without summands."""
        eye, ball = np.eye(self.n), np.vstack([np.zeros(self.n), -np.diag(1.0 / self.units)])
        multicut, bounded = bool(rng.random() < 0.6), bool(rng.random() < 0.5)
        rows, sides, cones, domain = self.A, self.b, [], None
        if bounded:
            domain = Box(self.lower, self.upper)
        else:
            rows, sides = np.vstack([self.A, eye, -eye]), np.r_[self.b, self.upper, -self.lower]
        if len(rows):
            cones.append(Nonnegative(len(rows)))
        if self.cone:
            rows, sides = np.vstack([rows, ball]), np.r_[sides, self.radius, np.zeros(self.n)]
            cones.append(SecondOrder(1 + self.n))
        return ConicOracle(self.c, rows, sides, cones, P=self.given, domain=domain, multicut=multicut)

    def value(self, x):
        """F at a point, exactly."""
        z, half = [Fraction(one) for one in x], Fraction(1, 2)
        entries = [(i, j) for i, j in zip(*np.nonzero(self.P), strict=True)]
        curved = sum((Fraction(self.P[i, j]) * z[i] * z[j] for i, j in entries), Fraction(0))
        return half * curved + sum((Fraction(a) * b for a, b in zip(self.c, z, strict=True)), Fraction(0))

    def inside(self, x):
        """Whether a point satisfies bounds and rows exactly."""
        z = [Fraction(one) for one in x]
        bounds = all(
            Fraction(low) <= one <= Fraction(up) for low, one, up in zip(self.lower, z, self.upper, strict=True)
        )
        rows = (sum((Fraction(a) * one for a, one in zip(row, z, strict=True)), Fraction(0)) for row in self.A)
        return bounds and all(left <= Fraction(side) for left, side in zip(rows, self.b, strict=True))

    def approximate(self):
        """Clarabel's status, point, multipliers and value, in units in which P has a unit diagonal."""
        d = self.units
        rows = np.vstack([self.A * d, np.eye(self.n), -np.eye(self.n)])
        sides = np.r_[self.b, self.upper / d, -self.lower / d]
        cones = [clarabel.NonnegativeConeT(len(rows))]
        if self.cone:
            rows = np.vstack([rows, np.zeros(self.n), -np.eye(self.n)])
            sides = np.r_[sides, self.radius, np.zeros(self.n)]
            cones.append(clarabel.SecondOrderConeT(1 + self.n))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        P = sparse.csc_matrix(np.triu(self.P * np.outer(d, d)))
        found = clarabel.DefaultSolver(P, self.c * d, sparse.csc_matrix(rows), sides, cones, settings).solve()
        return str(found.status), np.array(found.x) * d, np.array(found.z), found.obj_val

    def exact(self, near, multipliers):
        """The optimum and the multipliers of the rows in fractions, from the active rows; `None` without a proof.

        With the active rows as equations, ``P x + c + A' y = 0``; x must satisfy all rows, and y be at least 0.
        """
        if self.cone or not semidefinite(self.P):
            return None
        eye = np.eye(self.n)
        rows, sides = np.vstack([self.A, eye, -eye]), np.r_[self.b, self.upper, -self.lower]
        slack = (sides - rows @ near) / (np.abs(rows) @ self.units)
        norms = np.r_[np.ones(len(self.A)), np.ones(2 * self.n)]
        active = np.flatnonzero(multipliers[: len(rows)] > slack * norms)
        k, n = len(active), self.n
        matrix = np.zeros((n + k, n + k))
        matrix[:n, :n], matrix[n:, :n], matrix[:n, n:] = self.P, rows[active], rows[active].T
        rhs = np.r_[-self.c, sides[active]]
        try:
            found = solve([list(map(Fraction, row)) for row in matrix], list(map(Fraction, rhs)))
        except StopIteration:
            return None
        x, y = found[:n], found[n:]
        if not self.inside(x) or any(one < 0 for one in y):
            return None
        weights = np.zeros(len(rows))
        weights[active] = [float(one) for one in y]
        return self.value(x), weights[: len(self.A)]


def held_cuts(program, result, rng):
    """By how much, at most, cuts and sums of those of the summands exceed f at points of the box; exactly."""
    cuts = [cut for cut in result.history.cuts if isinstance(cut, ObjectiveCut)]
    worst = Fraction(-1)
    points = [program.lower, program.upper, *rng.uniform(program.lower, program.upper, (PROBED, program.n))]
    if result.point is not None:
        points.append(np.clip(result.point, program.lower, program.upper))
    for z in points:
        value = program.value(z)

        def at(cut, z=z):
            rises = zip(cut.subgradient, z, cut.point, strict=True)
            return sum((Fraction(g) * (Fraction(a) - Fraction(b)) for g, a, b in rises), Fraction(cut.value))

        worst = max(worst, max((at(cut) - value for cut in cuts), default=worst))
        if cuts and cuts[0].summands:
            best = [max(at(cut.summands[j]) for cut in cuts) for j in range(len(cuts[0].summands))]
            worst = max(worst, sum(best, Fraction(0)) - value)
    return worst


def check(program, result, rng, tally):
    """What is wrong with a run, in words."""
    words = []
    if result.status is Status.CONTRADICTION:
        words.append(f"contradiction: {result.message}")
    status, near, multipliers, optimum = program.approximate()
    convex = program.exact(near, multipliers) if status in ("Solved", "AlmostSolved") else None
    feasible = [np.zeros(program.n)]
    if not program.cone and np.isfinite(near).all():
        shrunk = np.clip(near, program.lower, program.upper)
        feasible += [z for z in (shrunk, shrunk * (1 - 1e-12), shrunk * (1 - 1e-6)) if program.inside(z)]
        feasible += [z for z in rng.uniform(program.lower, program.upper, (4, program.n)) if program.inside(z)]
    bound = min(program.value(z) for z in feasible)
    if convex is not None:
        tally.count("truth: exact")
        bound = min(bound, convex[0])
    size = max(1e-300, float(abs(bound)))
    if np.isfinite(result.lower_bound):
        tally.error("lower bound above a value, relative", max(0.0, float(Fraction(result.lower_bound) - bound)) / size)
        if Fraction(result.lower_bound) > bound:
            words.append(f"lower bound {result.lower_bound!r} above the value {float(bound)!r}")
    if program.cone and status == "Solved":
        tally.count("truth: Clarabel")
        terms = abs(optimum) + float(np.abs(program.c) @ np.abs(near))
        if result.lower_bound > optimum + TRUST * terms:
            words.append(f"lower bound {result.lower_bound!r} above {optimum!r}")
    if result.point is None:
        return words
    value = program.value(result.point)
    if Fraction(result.upper_bound) < value:
        words.append(f"upper bound {result.upper_bound!r} below the value {float(value)!r} at its point")
    if convex is not None:
        # a point may miss a row by the tolerance, in units of x; bounds are kept exactly, or up to the same
        norm, norms = max(1.0, float(np.linalg.norm(result.point))), np.linalg.norm(program.A, axis=1)
        outside = np.maximum(program.lower - result.point, result.point - program.upper).max()
        allowed = 1.01e-9 * norm * float(convex[1] @ norms) if outside <= 0 else np.inf
        if float(convex[0] - Fraction(result.upper_bound)) > allowed:
            words.append(f"upper bound {result.upper_bound!r} below the optimum {float(convex[0])!r}")
        if result.success:
            tally.count("success with an exact truth")
    return words


def run(count, seed, tally):
    """Minimize `count` programs of random kinds, by the generators in turn."""
    rng = np.random.default_rng([seed, 5])
    for i in range(count):
        kind, make = KINDS[rng.integers(len(KINDS))], GENERATORS[i % len(GENERATORS)]
        program = Program(rng, kind)
        words = []
        try:
            oracle = program.oracle(rng)
        except InvalidArgument as problem:
            if kind is not indefinite and semidefinite(program.P):
                words.append(f"refused: {problem}")
            tally.count("refused")
            tally.trial([f"{kind.__name__} {i} of seed {seed}: {one}" for one in words])
            continue
        try:
            result = minimize(oracle, make(), rtol=RTOL, max_calls=150, keep_cuts=True)
        except Exception as problem:
            tally.trial(f"{kind.__name__} {i} of seed {seed}, {make.__name__}: raised {problem!r:.300}")
            continue
        tally.count(f"{kind.__name__}: {result.status.name.lower()}")
        words += check(program, result, rng, tally) + tally.certificate(result, oracle)
        above = held_cuts(program, result, rng)
        if above > 0:
            words.append(f"cuts exceed the function by {float(above):.3g}")
        tally.trial([f"{kind.__name__} {i} of seed {seed}, {make.__name__}: {one}" for one in words])
