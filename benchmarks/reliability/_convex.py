"""Random convex problems whose optimum another solver knows: a function of one of several kinds on a random domain."""

from dataclasses import dataclass
from functools import partial

import cvxpy as cp
import numpy as np

from oracle_opt import Curvature, FeasibilityCut, FunctionOracle, ObjectiveCut
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.oracles import MaxEigenvalueOracle

TOLERANCE = 1e-9  # of oracles that give feasibility cuts, in units of the rows' norm


@dataclass
class Problem:
    """A problem, its words, the optimum by another solver, and a point where that is attained.

    `value` evaluates the function alone; `violation` says by how much a point misses the constraints given by cuts, or
    those of a `Polyhedron`, whose answers satisfy them but to a tolerance.
    """

    words: str
    oracle: object
    value: object
    violation: object
    optimum: float
    solution: np.ndarray


# Functions: each gives the answer at a point, and the same for cvxpy; `closed` ones attain their minimum on R^n.


def max_affine(rng, n, closed):
    slopes, constants = rng.normal(size=(int(rng.integers(1, 25)), n)), rng.normal(size=1)
    if rng.random() < 0.3:
        slopes = np.round(2 * slopes)  # many equal entries, pieces that coincide
    if closed:
        slopes = np.vstack([slopes, -slopes.sum(axis=0)])
    constants = rng.normal(size=len(slopes))

    def answer(z):
        values = slopes @ z + constants
        i = int(values.argmax())
        return ObjectiveCut(z, float(values[i]), slopes[i].copy())

    return answer, lambda z: cp.max(slopes @ z + constants)


def quadratic(rng, n, closed):
    rank = int(rng.integers(1, n + 1))
    root, target = rng.normal(size=(rank, n)) * np.exp(rng.normal(size=n)), rng.normal(size=n)

    def answer(z):
        away = root @ (z - target)
        return ObjectiveCut(z, 0.5 * float(away @ away), root.T @ away, answers=(Curvature(root),))

    return answer, lambda z: 0.5 * cp.sum_squares(root @ (z - target))


def absolute(rng, n, closed):
    rows, right = rng.normal(size=(int(rng.integers(1, 2 * n + 1)), n)), rng.normal(size=2 * n)
    if rng.random() < 0.5:
        rows, right = np.diag(rng.uniform(0.1, 3, n)), rng.normal(size=n)
    right = right[: len(rows)]

    def answer(z):
        away = rows @ z - right
        return ObjectiveCut(z, float(np.abs(away).sum()), np.sign(away) @ rows)

    return answer, lambda z: cp.norm1(rows @ z - right)


def log_sum_exp(rng, n, closed):
    rows = rng.normal(size=(int(rng.integers(1, 12)), n))
    if closed:
        rows = np.vstack([rows, -rows.sum(axis=0)])
    right = rng.normal(size=len(rows))

    def answer(z):
        values = rows @ z + right
        top = float(values.max())
        shares = np.exp(values - top)
        total = float(shares.sum())
        return ObjectiveCut(z, top + float(np.log(total)), (shares / total) @ rows)

    return answer, lambda z: cp.log_sum_exp(rows @ z + right)


def largest_eigenvalue(rng, n, closed):
    order = int(rng.integers(2, 7))
    C, A = _symmetric(rng, order), [_symmetric(rng, order) for _ in range(n)]
    if closed:
        A = [M - np.trace(M) / order * np.eye(order) for M in A]
    stack = np.array(A)

    def answer(z):
        values, vectors = np.linalg.eigh(C - np.tensordot(z, stack, 1))
        v = vectors[:, -1]
        return ObjectiveCut(z, float(values[-1]), -(stack @ v) @ v)

    def model(z):
        return cp.lambda_max(C - sum(z[i] * A[i] for i in range(n)))

    answer.matrices = C, A
    return answer, model


def summands(rng, n, closed):
    """A sum of maxima, with the cuts of the summands."""
    many = [max_affine(rng, n, closed) for _ in range(int(rng.integers(1, 5)))]

    def answer(z):
        cuts = tuple(one(z) for one, _ in many)
        slope = np.sum([cut.subgradient for cut in cuts], axis=0)
        return ObjectiveCut(z, float(np.sum([cut.value for cut in cuts])), slope, summands=cuts)

    return answer, lambda z: sum(model(z) for _, model in many)


def inexact(rng, n, closed):
    """A maximum of affine functions of which a call finds but a good one, and says how good."""
    slopes = rng.normal(size=(int(rng.integers(2, 15)), n))
    if closed:
        slopes = np.vstack([slopes, -slopes.sum(axis=0)])
    constants, size = rng.normal(size=len(slopes)), 10.0 ** rng.uniform(-8, -1)

    def answer(z):
        values = slopes @ z + constants
        best = float(values.max())
        i = int(np.flatnonzero(values >= best - size)[0])
        return ObjectiveCut(z, float(values[i]), slopes[i].copy(), error=best - float(values[i]))

    return answer, lambda z: cp.max(slopes @ z + constants)


def _symmetric(rng, order):
    M = rng.normal(size=(order, order))
    return 0.5 * (M + M.T)


FUNCTIONS = (max_affine, quadratic, absolute, log_sum_exp, largest_eigenvalue, summands, inexact)
UNBOUNDED = (NonnegativeOrthant, FreeSpace)


def domain_of(kind, rng, n):
    """A domain of a kind, with about n variables."""
    size = float(10.0 ** rng.uniform(-2, 2)) if rng.random() < 0.3 else 1.0
    if kind is Simplex:
        return Simplex(n, size)
    if kind is ProductOfSimplices:
        return ProductOfSimplices([int(k) for k in rng.integers(1, 5, int(rng.integers(1, 4)))], size)
    if kind is Box:
        lower = rng.normal(size=n)
        width = np.exp(rng.normal(size=n))
        if rng.random() < 0.2:  # some variables are fixed, as by branching
            width[rng.random(n) < 0.4] = 0.0
        return Box(size * lower, size * (lower + width))
    if kind is Ball:
        return Ball(n, size, rng.normal(size=n))
    if kind is Polyhedron:
        inside, rows = rng.normal(size=n), rng.normal(size=(int(rng.integers(1, 6)), n))
        among = {}
        if n > 2 and rng.random() < 0.4:
            equations = rng.normal(size=(int(rng.integers(1, n - 1)), n))
            among = {"equality_matrix": equations, "equality_rhs": equations @ inside}
        sides = rows @ inside + rng.uniform(0.05, 1, len(rows))
        return Polyhedron(rows, sides, lower=inside - size, upper=inside + size, **among)
    return kind(n, radius=np.inf)


KINDS = (Simplex, ProductOfSimplices, Box, Ball, Polyhedron, NonnegativeOrthant, FreeSpace)


def constraints_of(domain, z):
    """The domain for cvxpy, without a radius that is but a statement."""
    if isinstance(domain, Ball):
        return [cp.norm(z - domain.center) <= domain.radius]
    if isinstance(domain, FreeSpace):
        return []
    if isinstance(domain, NonnegativeOrthant):
        return [z >= 0]
    described = domain.linear_constraints()
    rows = [z >= described.lower]
    if np.isfinite(described.upper).all():
        rows.append(z <= described.upper)
    if len(described.equality_rhs):
        rows.append(described.equality_matrix @ z == described.equality_rhs)
    if described.inequality_matrix is not None and len(described.inequality_rhs):
        rows.append(described.inequality_matrix @ z <= described.inequality_rhs)
    return rows


def random_problem(rng):
    """One problem; `None` where the other solver is not sure of its optimum."""
    make, kind = FUNCTIONS[rng.integers(len(FUNCTIONS))], KINDS[rng.integers(len(KINDS))]
    domain = domain_of(kind, rng, int(rng.integers(1, 13)))
    n = domain.dimension
    answer, model = make(rng, n, kind in UNBOUNDED)
    matrices = getattr(answer, "matrices", None)
    scale, offset = 1.0, 0.0
    if rng.random() < 0.4:
        scale = 10.0 ** rng.uniform(-5, 5)
    if rng.random() < 0.2:
        offset = float(rng.choice([-1, 1])) * 10.0 ** rng.uniform(0, 5)
    z = cp.Variable(n)
    rows = constraints_of(domain, z)
    normals, sides = np.zeros((0, n)), np.zeros(0)
    if rng.random() < 0.25:
        inside = domain.project(domain.interior_point() + 0.3 * rng.normal(size=n))
        normals = rng.normal(size=(int(rng.integers(1, 6)), n))
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        sides = normals @ inside + rng.choice([0.0, 0.1, 1.0]) * rng.random(len(normals))
        rows.append(normals @ z <= sides)
    linear = make in (max_affine, absolute, summands, inexact) and kind is not Ball
    program = cp.Problem(cp.Minimize(model(z)), rows)
    try:
        program.solve(solver=cp.HIGHS if linear else cp.CLARABEL)
    except cp.SolverError:
        return None
    if program.status != "optimal" or z.value is None or not np.isfinite(z.value).all():
        return None
    if kind in UNBOUNDED:
        radius = 3.0 * float(np.linalg.norm(z.value)) + 1.0
        domain = kind(n, radius=radius)
    oracle = MaxEigenvalueOracle(*matrices, np.zeros(n), domain=domain) if matrices and scale == 1.0 else None
    if oracle is None or offset or len(normals):
        function = partial(_scaled, answer, scale, offset, normals, sides)
        oracle = FunctionOracle(function, domain, gives={Curvature, FeasibilityCut} if len(normals) else {Curvature})
    words = f"{make.__name__} * {scale:.3g} + {offset:.3g} on {domain!r}"
    if len(normals):
        words += f", {len(normals)} rows by cuts"
    return Problem(
        words=words,
        oracle=oracle,
        value=lambda point: scale * answer(point).upper + offset,
        violation=lambda point: max(float((normals @ point - sides).max(initial=-np.inf)), _outside(domain, point)),
        optimum=scale * float(program.value) + offset,
        solution=domain.project(z.value),
    )


def _outside(domain, point):
    """Distance to the farthest constraint of a polyhedron, but for rounding; 0 on other domains."""
    if not isinstance(domain, Polyhedron):
        return 0.0
    rows = np.vstack([domain.A, domain.equality_matrix, -domain.equality_matrix])
    sides = np.r_[domain.b, domain.equality_rhs, -domain.equality_rhs]
    beyond = (rows @ point - sides) / np.linalg.norm(rows, axis=1)
    farthest = float(np.r_[beyond, domain.lower - point, point - domain.upper].max())
    return farthest if farthest > 1e-14 * float(np.abs(point).max()) else 0.0


def _scaled(answer, scale, offset, normals, sides, z):
    """The answer of a function times `scale` plus `offset`, or a feasibility cut."""
    beyond = normals @ z - sides
    if len(beyond) and beyond.max() > TOLERANCE:
        violated = np.flatnonzero(beyond > TOLERANCE)
        violated = violated[np.argsort(-beyond[violated])]
        first, *others = (FeasibilityCut(z, float(beyond[i]), normals[i].copy(), error=TOLERANCE) for i in violated)
        return FeasibilityCut(z, first.violation, first.normal, tuple(others), error=TOLERANCE)
    cut = answer(z)
    summands = tuple(
        ObjectiveCut(z, scale * one.value + (offset if j == 0 else 0.0), scale * one.subgradient)
        for j, one in enumerate(cut.summands)
    )
    value = float(np.sum([one.value for one in summands])) if summands else scale * cut.value + offset
    answers = tuple(Curvature(np.sqrt(scale) * one.factor) for one in cut.answers)
    return ObjectiveCut(z, value, scale * cut.subgradient, scale * cut.error, summands=summands, answers=answers)
