"""Random small problems of every family of oracles that proves its cuts, with optima of other solvers."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import cvxpy as cp
import numpy as np
from _extensive import extensive_form, solved_by_highs
from _relaxations import location_program
from conic_programs import allowance, second_order
from conic_programs import truth as of_clarabel
from largest_eigenvalues import control, cut, random
from largest_eigenvalues import truth as of_ball
from scipy.optimize import linprog
from two_stage import program as two_stage_program

from oracle_opt import Box, FreeSpace, Oracle, problems
from oracle_opt.oracles import BendersOracle, GeneralizedAssignmentOracle, GramBank, MaxEigenvalueOracle
from oracle_opt.oracles.conic import ConicOracle, Nonnegative
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, LagrangianOracle, RelaxedSolution
from oracle_opt.oracles.mkl import GMKLOracle, LpRegularizer, MixedNormOracle, MKLOracle, SharedWeightsOracle

TRUST = 1e-6  # of an optimum by the other solver, relative to it and to the sizes of the terms


@dataclass
class Known:
    """A problem, made anew by each call of `make`, and what another solver says of its optimum.

    Attributes
    ----------
    make : callable
        Returns a new oracle.
    optimum : float
        By the other solver.
    slack : float
        By how much that may be off.
    below : callable
        By how much the value of a feasible point may be below the optimum, as the tolerance of the oracle lets it.
    """

    make: Callable[[], Oracle]
    optimum: float
    slack: float
    below: Callable = lambda point: 0.0


def known(make, optimum, size=0.0, below=lambda point: 0.0):
    """A problem with its optimum; None where the other solver has none."""
    if optimum is None or not np.isfinite(optimum):
        return None
    return Known(make, float(optimum), TRUST * max(1.0, abs(optimum), size), below)


def _kernels(rng):
    n, p = int(rng.integers(8, 15)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return [np.exp(-distances * 10.0 ** rng.uniform(-1, 1)) for _ in range(p)], y, float(10.0 ** rng.uniform(-1, 2))


def _dual_optimum(kernels, labels, C, penalty):
    """``max sum_m sum(a_m) - penalty(t)``, t_k above the norm of all ``root(K_k) (y_m a_m)``, by Clarabel."""
    a, t = [cp.Variable(len(y), nonneg=True) for y in labels], cp.Variable(len(kernels), nonneg=True)
    rows = [row for one, y in zip(a, labels, strict=True) for row in (one <= C, y @ one == 0)]
    for k, kernel in enumerate(kernels):
        values, vectors = np.linalg.eigh(kernel)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        rows.append(cp.norm(cp.hstack([root @ cp.multiply(y, b) for b, y in zip(a, labels, strict=True)])) <= t[k])
    asked = cp.Problem(cp.Maximize(sum(map(cp.sum, a)) - penalty(t)), rows)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    except cp.SolverError:
        return None
    return asked.value if asked.status == cp.OPTIMAL else None


def mkl(rng):
    """Weights on a simplex, formula (7): half the largest square."""
    kernels, y, C = _kernels(rng)
    optimum = _dual_optimum(kernels, [y], C, lambda t: 0.5 * cp.square(cp.norm(t, "inf")))
    return known(lambda: MKLOracle(GramBank(kernels), y, C=C), optimum, C)


def gmkl(rng):
    """A squared norm of the weights: its conjugate of half the squares."""
    kernels, y, C = _kernels(rng)
    optimum = _dual_optimum(kernels, [y], C, lambda t: cp.sum(cp.power(t, 4)) / 8)
    return known(lambda: GMKLOracle(GramBank(kernels), y, LpRegularizer(2), C=C, radius=1e4), optimum, C)


def mixed_norm(rng):
    """Half the square of the sum over groups of the largest norm."""
    kernels, y, C = _kernels(rng)
    groups = [list(range(0, len(kernels), 2)), list(range(1, len(kernels), 2))]
    optimum = _dual_optimum(
        kernels, [y], C, lambda t: 0.5 * cp.square(sum(cp.norm(t[list(group)], "inf") for group in groups))
    )
    return known(lambda: MixedNormOracle(GramBank(kernels), y, groups=groups, C=C), optimum, C)


def shared_weights(rng):
    """Two machines on the same simplex of weights."""
    kernels, y, C = _kernels(rng)
    other = np.roll(y, 1)
    optimum = _dual_optimum(kernels, [y, other], C, lambda t: 0.5 * cp.square(cp.norm(t, "inf")))

    def make():
        bank = GramBank(kernels)
        return SharedWeightsOracle([MKLOracle(bank, y, C=C), MKLOracle(bank, other, C=C)])

    return known(make, optimum, C)


def benders(rng):
    """Two-stage programs, some with scenarios that may be infeasible, against HiGHS on the extensive form."""
    problem, strict = two_stage_program(rng)
    varied = [row for block in problem.blocks for row in block.rows]
    if not strict or len(set(varied)) < len(varied):  # the proof leaves entries that two blocks vary as given
        return None
    parts = int(rng.integers(1, 4))
    outcomes, probability = problem.all_scenarios()
    value, status = solved_by_highs(extensive_form(problem, outcomes, probability))
    oracle = BendersOracle(problem, n_summands=parts, radius=1e4)
    if status != "optimal":
        return None
    return known(lambda: BendersOracle(problem, n_summands=parts, radius=1e4), value, 1e2 * len(oracle.problem.c))


def conic(rng):
    """Second-order and quadratic programs on a box."""
    n = int(rng.integers(2, 5))
    x = cp.Variable(n)
    objective, rows = second_order(rng, x)
    asked = cp.Problem(cp.Minimize(objective), [*rows, x >= -3, x <= 3])
    oracle = ConicOracle.from_cvxpy(asked)
    status, values, weights = of_clarabel(oracle)
    if status != "Solved":
        return None
    return known(
        lambda: ConicOracle.from_cvxpy(asked), min(values), 1e2 * n, lambda point: allowance(oracle, weights, point)
    )


def eigenvalues(rng):
    """Largest eigenvalues on a ball."""
    C, A, b = [control, cut, random][int(rng.integers(3))](rng)
    trace, radius = float(10.0 ** rng.integers(0, 3)), float(10.0 ** rng.integers(0, 3))
    status, values, size = of_ball(C, A, b * trace, trace, radius)
    if status != "Solved":
        return None
    return known(
        lambda: MaxEigenvalueOracle(C, A, b * trace, trace=trace, domain=FreeSpace(len(b), radius)),
        values[0],
        size,
        lambda point: np.inf if np.linalg.norm(point) > radius * (1 - 1e-12) else 0.0,
    )


def facilities(rng):
    """Facility location, whose dual is that of the strong linear relaxation."""
    m, n = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    opening, costs = rng.uniform(0, 5, m), rng.uniform(0, 5, (m, n))
    value, _ = solved_by_highs(location_program(opening, costs))
    parts = bool(rng.random() < 0.5)
    return known(lambda: FacilityLocationOracle(opening, costs, multicut=parts), -value, 10.0 * n)


def assignment(rng):
    """Generalized assignment, by a linear program over all that each agent may do."""
    m, n = 2, int(rng.integers(2, 5))
    costs, uses = rng.normal(3, 2, (m, n)), rng.integers(1, 6, (m, n))
    capacities = uses.sum(axis=1) // 2 + 3
    radius = 30.0
    choices = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    rows, sides = [], []  # t_i >= -(c_i + u) @ x for each choice x, and f(u) = t_1 + t_2 + sum(u)
    for i in range(m):
        for x in choices[choices @ uses[i] <= capacities[i]]:
            rows.append(np.r_[-x, -np.eye(m)[i]])
            sides.append(costs[i] @ x)
    solved = linprog(
        np.r_[np.ones(n), np.ones(m)], np.array(rows), sides, bounds=[(-radius, radius)] * n + [(None, None)] * m
    )

    def make():
        return GeneralizedAssignmentOracle(costs, uses, capacities, radius=radius, multicut=bool(n % 2))

    return known(make, solved.fun if solved.success else None, radius * n)


def own_relaxation(rng):
    """A knapsack of the user's own whose capacity is relaxed, with a function that examines its solutions."""
    n = int(rng.integers(2, 6))
    worth, size = rng.uniform(0, 5, n), rng.integers(1, 6, n).astype(float)
    room = float(size.sum() // 2)

    def solve(u):
        x = (worth - u[0] * size > 0).astype(float)
        return RelaxedSolution(worth @ x, [size @ x], x)

    def examine(x):
        if np.shape(x) != (n,) or not np.isin(x, (0.0, 1.0)).all():
            raise ValueError("each thing is taken or not")
        return float(worth @ x), [float(size @ x)]

    class Knapsack(LagrangianOracle):
        def relaxed_bound(self, u, exact=False):
            return sum(
                (max(Fraction(w) - Fraction(u[0]) * Fraction(s), Fraction(0)) for w, s in zip(worth, size, strict=True))
            )

    ends = np.r_[0.0, np.minimum(worth / size, 10.0), 10.0]
    optimum = min(room * u + np.maximum(worth - u * size, 0.0).sum() for u in ends)
    return known(
        lambda: Knapsack(solve, [room], inequality=True, maximize=True, radius=10, examine=examine), optimum, 100.0
    )


NAMES = (
    "max-affine(n=3, pieces=8, seed={})",
    "max-quadratic(n=3, pieces=5, seed={})",
    "matrix-game(n=4, m=4, seed={})",
    "least-absolute(n=3, m=9, seed={})",
    "least-absolute(n=4, m=12, groups=3, seed={})",
    "separable(n=5, seed={})",
    "robust-lp(n=3, m=6, seed={})",
)


def functions(rng):
    """Functions of the suite with formulas, whose optima are proven."""
    problem = problems.find(str(rng.choice(NAMES)).format(int(rng.integers(1000))))[0]
    instance = problem(0)
    size = max(map(abs, np.nan_to_num(instance.oracle.domain.bounding_box(), posinf=0.0, neginf=0.0).ravel().tolist()))
    return known(lambda: problem(0).oracle, instance.optimum, size)


def boxed_pieces(rng):
    """A linear program over a box, told as the function of its largest row by HiGHS: no oracle of the library."""
    n, count = int(rng.integers(2, 6)), int(rng.integers(4, 12))
    slopes, heights = rng.normal(size=(count, n)), rng.normal(size=count)
    solved = linprog(
        np.r_[np.zeros(n), 1.0], np.c_[slopes, -np.ones(count)], -heights, bounds=[(-2, 2)] * n + [(None, None)]
    )
    A, b = np.c_[slopes, -np.ones(count)], -heights
    box = Box(np.r_[np.full(n, -2.0), -100.0], np.r_[np.full(n, 2.0), 100.0])
    return known(
        lambda: ConicOracle(np.r_[np.zeros(n), 1.0], A, b, [Nonnegative(count)], domain=box, hold_rows=False),
        solved.fun,
        100.0,
        lambda point: 1e-6 * 100.0,
    )


FAMILIES = {
    "MKL": mkl,
    "GMKL": gmkl,
    "mixed norm": mixed_norm,
    "shared weights": shared_weights,
    "Benders": benders,
    "conic": conic,
    "linear rows": boxed_pieces,
    "eigenvalues": eigenvalues,
    "facilities": facilities,
    "assignment": assignment,
    "own relaxation": own_relaxation,
    "functions": functions,
}
