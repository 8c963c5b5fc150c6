"""Degenerate problems by every generator that does not refuse: each run ends within its limits, in true words.

Domains of one point, without interior, tiny, huge, of both at once; functions that are constant, flat, of equal pieces,
equal coordinates or integer data, of huge and tiny scale, far offset, optimum 0 or a gradient of zero at the start;
feasibility cuts that leave one point, a set without interior, or nothing. The optimum is known by construction for
some; for all of them no lower bound may exceed the value at any feasible point that a run asked about.
"""

from functools import partial

import numpy as np
from _methods import METHODS
from _tally import refusal
from generator_runs import SLOW, attempt, count_runs, place_of

from oracle_opt import Curvature, FeasibilityCut, FunctionOracle, ObjectiveCut, Status
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.oracles import MaxEigenvalueOracle

UNIT = "runs of generators on degenerate problems"
FULL = 6_000
SMALL = 60

SECONDS = 2.0  # limit of each run
OVERRUN = 1.0  # seconds of processor time beyond it
ROUNDING = 1e-11  # of the largest term of a cut, over the domain: what a bound may be off
TOLERANCE = 1e-9  # of the feasibility cuts


def one_point(rng, n):
    """Of any size."""
    kind, radius = rng.integers(3), 10.0 ** rng.uniform(-8, 8)
    if kind == 2:
        return Polyhedron(equality_matrix=np.eye(n), equality_rhs=rng.normal(size=n), lower=-9, upper=9)
    return Simplex(1, radius) if kind else ProductOfSimplices([1] * n, radius)


def simplices(rng, n):
    """Tiny and huge ones, and products with blocks of one variable."""
    radius = 10.0 ** rng.uniform(-8, 8)
    return Simplex(n, radius) if rng.random() < 0.5 else ProductOfSimplices([1, n, 1], radius)


def boxes(rng, n):
    """Of a tiny, a huge, or every width."""
    width = 10.0 ** (rng.uniform(-12, 10, n) if rng.random() < 0.5 else np.full(n, rng.uniform(-12, 10)))
    middle = rng.choice([0.0, 1.0]) * rng.normal(size=n)
    lower = middle - width
    return Box(lower, np.maximum(middle + width, np.nextafter(lower, np.inf)))


def round_sets(rng, n):
    """Tiny and huge radii, of a set or promised."""
    radius = 10.0 ** rng.uniform(-12, 10)
    kind = (Ball, FreeSpace, NonnegativeOrthant)[rng.integers(3)]
    return kind(n, radius)


def flat_polyhedra(rng, n):
    """Two opposite inequalities, or many of equal rows, or a corner of many."""
    inside, rows = rng.normal(size=n), rng.normal(size=(1, n))
    kind = rng.integers(3)
    if kind == 0:
        rows = np.vstack([rows, -rows])
    elif kind == 1:
        rows = np.repeat(rows, 6, axis=0)
    else:
        rows = rng.integers(-2, 3, (4 * n, n)).astype(float)
        rows = rows[rows.any(axis=1)]
    return Polyhedron(rows, rows @ inside, lower=inside - 1, upper=inside + 1)


def constant(rng, domain):
    """With a slope of zero, or one that the domain does not see."""
    value, zeros = rng.choice([0.0, 1.0]) * rng.normal(), np.zeros(domain.dimension)
    if isinstance(domain, Simplex) and rng.random() < 0.5:  # whose slope the simplex does not see
        ones = rng.normal() * np.ones(domain.dimension)
        return lambda z: ObjectiveCut(z, value, ones)
    return lambda z: ObjectiveCut(z, value, zeros)


def linear(rng, domain):
    """One piece: all cuts are equal."""
    return partial(_max, rng.normal(size=(1, domain.dimension)), rng.normal(size=1))


def equal_pieces(rng, domain):
    """A maximum of affine functions, many of them equal, of equal coordinates or nearly so, or of integers."""
    n = domain.dimension
    slopes, sides = rng.normal(size=(int(rng.integers(1, 5)), n)), rng.normal(size=12)
    kind = rng.integers(4)
    if kind == 0:
        slopes = np.repeat(slopes, 3, axis=0)
        sides[:] = np.repeat(sides[:4], 3)
    elif kind == 1:
        slopes[:] = slopes[:, :1]
    elif kind == 2:
        slopes = slopes[0] + 1e-12 * rng.normal(size=(6, n))
    else:
        slopes, sides = rng.integers(-1000, 1000, (8, n)).astype(float), rng.integers(-1000, 1000, 12).astype(float)
    return partial(_max, slopes, sides[: len(slopes)])


def steep_and_flat(rng, domain):
    """Pieces whose slopes differ by up to 18 decades."""
    slopes = rng.normal(size=(6, domain.dimension)) * 10.0 ** rng.uniform(-9, 9, 6)[:, None]
    return partial(_max, slopes, -slopes @ point_of(domain, rng))


def _max(slopes, sides, z):
    """The largest piece, less what rounding may have added to it; the stated error is what it may have taken away."""
    values = slopes @ z + sides
    i = int(values.argmax())
    rounding = 2.0 * np.finfo(float).eps * len(z) * float((np.abs(slopes) @ np.abs(z) + np.abs(sides)).max())
    return ObjectiveCut(z, float(values[i]) - rounding, slopes[i].copy(), error=2.0 * rounding)


def eigenvalues(rng, domain):
    """Least where the matrix is a multiple of the identity: its largest eigenvalue is as multiple as can be."""
    n, order = domain.dimension, int(rng.integers(1, 6))
    A = rng.normal(size=(n, order, order)) * 10.0 ** rng.choice([0.0, 6.0, -6.0])
    A += A.transpose(0, 2, 1)
    A -= np.trace(A, axis1=1, axis2=2)[:, None, None] / order * np.eye(order)
    kind = rng.integers(4)
    if kind == 0:
        A[:] = A[0]
    elif kind == 1:
        A *= np.eye(order)
    C = rng.choice([0.0, 1.0]) * np.eye(order) + np.tensordot(point_of(domain, rng), A, 1)
    return MaxEigenvalueOracle(C, list(A), np.zeros(n), domain=domain)


def point_of(domain, rng):
    """A point of the domain, within the radius it states."""
    middle, away = domain.interior_point(), rng.normal(size=domain.dimension)
    if isinstance(domain, UNBOUNDED):
        away *= 0.4 * min(domain.radius, float(middle.max()) or domain.radius) / np.linalg.norm(away)
    return domain.project(middle + away)


def absolute(rng, domain):
    """Its optimum is 0."""
    target = point_of(domain, rng)
    return lambda z: ObjectiveCut(z, float(np.abs(z - target).sum()), np.sign(z - target))


def quadratic(rng, domain):
    """Its gradient is zero at the start, or its optimum at the edge."""
    n, size = domain.dimension, 10.0 ** rng.uniform(-6, 6)
    target = domain.interior_point() if rng.random() < 0.5 else point_of(domain, rng)
    if not isinstance(domain, UNBOUNDED) and rng.random() < 0.3:
        target = target + rng.normal(size=n)
    root = np.sqrt(size) * np.eye(n)
    return lambda z: ObjectiveCut(
        z, 0.5 * size * float((z - target) @ (z - target)), size * (z - target), answers=(Curvature(root),)
    )


def equal_parts(rng, domain):
    """A sum whose summands are all the same."""
    one = equal_pieces(rng, domain)
    count = int(rng.integers(1, 4))

    def answer(z):
        summands = (one(z),) * count
        value, slope = count * summands[0].value, count * summands[0].subgradient
        return ObjectiveCut(z, value, slope, count * summands[0].error, summands=summands)

    return answer


DOMAINS = (one_point, simplices, boxes, round_sets, flat_polyhedra)
UNBOUNDED = (FreeSpace, NonnegativeOrthant)
ATTAINED = (constant, absolute, quadratic)  # with a minimizer within the radius that a domain states
FUNCTIONS = (constant, linear, equal_pieces, steep_and_flat, absolute, quadratic, equal_parts)


class Problem:
    """A degenerate problem from a seed; `empty` if nothing is feasible."""

    def __init__(self, rng):
        domain = DOMAINS[rng.integers(len(DOMAINS))](rng, int(rng.integers(1, 6)))
        if isinstance(domain, FreeSpace) and rng.random() < 0.5:
            self.normals, self.empty = np.zeros((0, domain.dimension)), False
            self.oracle = eigenvalues(rng, domain)
            self.words = f"{self.oracle.order} eigenvalues on {domain!r}"
            return
        functions = ATTAINED if isinstance(domain, UNBOUNDED) else FUNCTIONS
        make = functions[rng.integers(len(functions))]
        n = domain.dimension
        self.answer = make(rng, domain)
        self.scale = 10.0 ** rng.uniform(-10, 10) if rng.random() < 0.3 else 1.0
        self.offset = self.scale * float(rng.choice([-1, 1])) * 10.0 ** rng.uniform(3, 9) if rng.random() < 0.2 else 0.0
        self.normals, self.sides, self.empty = np.zeros((0, n)), np.zeros(0), False
        words = "no cuts"
        if rng.random() < 0.35 and not isinstance(domain, UNBOUNDED):
            inside = domain.project(domain.interior_point() + rng.normal(size=n))
            kind = rng.integers(3)
            normals = np.eye(n) if kind == 0 else rng.normal(size=(1, n))
            normals /= np.linalg.norm(normals, axis=1)[:, None]
            size = float(np.linalg.norm(inside)) + 1.0
            self.empty = kind == 2
            # opposite half-spaces: one point, a set without interior, nothing
            self.normals = np.vstack([normals, -normals])
            self.sides = self.normals @ inside - (0.1 * size if self.empty else 0.0)
            self.tolerance = TOLERANCE * size
            words = ("one point by cuts", "a plane by cuts", "nothing by cuts")[kind]
        self.words = f"{make.__name__} * {self.scale:.3g} + {self.offset:.3g} on {domain!r}, {words}"
        self.oracle = FunctionOracle(
            self.query, domain, gives={Curvature, FeasibilityCut} if len(self.normals) else {Curvature}
        )

    def query(self, z):
        """Answer a point, with the error of its own rounding."""
        beyond = self.normals @ z - self.sides
        if len(beyond) and beyond.max() > self.tolerance:
            i = int(beyond.argmax())
            return FeasibilityCut(z, float(beyond[i]), self.normals[i].copy(), error=self.tolerance)
        cut, s = self.answer(z), self.scale
        rounding = 4.0 * np.finfo(float).eps * abs(self.offset)
        below = self.offset - rounding
        summands = tuple(
            ObjectiveCut(z, s * one.value + (below if j == 0 else 0.0), s * one.subgradient, s * one.error)
            for j, one in enumerate(cut.summands)
        )
        value = float(np.sum([one.value for one in summands])) if summands else s * cut.value + below
        answers = tuple(Curvature(np.sqrt(s) * one.factor) for one in cut.answers)
        error = s * cut.error + 2.0 * rounding
        return ObjectiveCut(z, value, s * cut.subgradient, error, summands=summands, answers=answers)


def run(count, seed, tally):
    """Try `count` runs, from problem to problem."""
    count_runs(problem_runs, count, seed, tally)


def problem_runs(item):
    """One message before each run, its name; and one after all runs of a problem, what each came to."""
    rng = np.random.default_rng(item)
    problem = Problem(rng)
    outcomes = []
    for name, make in METHODS.items():
        limits = {"max_calls": int(rng.choice([5, 30, 60])), "max_seconds": SECONDS}
        if rng.random() < 0.5:
            limits["rtol"] = float(rng.choice([0.0, 1e-9, 1e-3]))
        words = f"problem {list(item)}, {problem.words}; {name} with {limits}"
        yield words
        outcome = attempt(problem, make(), limits)
        if outcome is not None:
            outcomes.append((words, *outcome))
    answers = [
        cut
        for _, result, _ in outcomes
        if not isinstance(result, Exception)
        for cut in result.history.cuts
        if isinstance(cut, ObjectiveCut)
    ]
    # what a point that is feasible but for the tolerances gains over one that is feasible
    slack = max((float(np.linalg.norm(cut.subgradient)) for cut in answers), default=0.0) * problem_slack(problem)
    best = min((cut.upper for cut in answers), default=np.inf)
    for words, result, seconds in outcomes:
        yield judged(problem, best, slack, words, result, seconds)


def problem_slack(problem):
    """How far outside a point may be that counts as feasible."""
    domain = problem.oracle.domain
    inside = 1e-8 * (1.0 + float(np.abs(domain.interior_point()).max())) if isinstance(domain, Polyhedron) else 0.0
    return inside + (20.0 * problem.tolerance if len(problem.normals) else 0.0)


def judged(problem, best, slack, words, result, seconds):
    """What failed in a run, its status, and by how much its lower bound exceeds a value."""
    if isinstance(result, Exception):
        return {"failures": [f"{words}: {result!r:.200} in {place_of(result)}"], "status": "exception", "errors": {}}
    domain = problem.oracle.domain
    sizes = [1e-300]
    for cut in result.history.cuts:
        if isinstance(cut, ObjectiveCut):
            least, most = domain.minimize_linear(cut.subgradient)[0], -domain.minimize_linear(-cut.subgradient)[0]
            sizes.append(abs(cut.value) + float(np.abs(cut.subgradient) @ np.abs(cut.point)) + abs(least) + abs(most))
    error = max(0.0, result.lower_bound - best - slack) / max(sizes)
    failures = []
    if error > ROUNDING:
        failures.append(f"lower bound {result.lower_bound!r} above the value {best!r}")
    if result.status is Status.EMPTY and not problem.empty:
        failures.append(f"ends EMPTY: {result.message}")
    if result.status in (Status.CONTRADICTION, Status.OUTSIDE, Status.FAILED):
        failures.append(f"ends {result.status.name}: {result.message}")
    if problem.empty and (result.success or result.point is not None):
        failures.append(f"ends {result.status.name} at {result.point} though nothing is feasible")
    if result.point is not None and not domain.contains(result.point, 1e-8):
        failures.append(f"the point {result.point} is not in the domain")
    if seconds > (SLOW if result.status is Status.MAX_SECONDS else SECONDS + OVERRUN):
        failures.append(f"took {seconds:.1f} s for {result.n_calls} calls")
    standing, refused = refusal(result, problem.oracle)
    failures += refused
    if failures:
        failures[0] = f"{words}: {failures[0]}"
    return {
        "failures": failures,
        "status": result.status.name,
        "errors": {"lower bound above a value": error},
        "certificate": standing,
    }
