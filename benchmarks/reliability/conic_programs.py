"""Random geometric, power-cone, entropy, p-norm and second-order programs by four generators, against Clarabel."""

import clarabel
import cvxpy as cp
import numpy as np
from scipy import sparse

from oracle_opt import Status
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import ConicOracle, Exponential, Nonnegative, Power, SecondOrder, Zero
from oracle_opt.study import Outcome, settle

UNIT = "programs by four generators"
FULL, SMALL = 2000, 5

GENERATORS = [ProximalBundle, AnalyticCenter, LevelSet, Kelley]
RTOL = 1e-6
TRUST = 1e-7  # of Clarabel's optimum, relative to it and to 1


def geometric(rng, x):
    """Posynomials at most one, in logarithms."""
    n = x.size
    rows = []
    for _ in range(rng.integers(1, 4)):
        k = rng.integers(1, 4)
        rows.append(cp.log_sum_exp(rng.normal(size=(k, n)).round(1) @ x + rng.normal(size=k)) <= rng.normal() + 1.5)
    return rng.normal(size=n) @ x, rows


def powers(rng, x):
    """Affine functions in power cones."""
    n = x.size
    rows = []
    for _ in range(rng.integers(1, 4)):
        A, b = rng.normal(size=(3, n)), np.r_[rng.exponential(size=2), 0.3 * rng.normal()]
        if rng.random() < 0.3:
            A[0] = 0.0  # a constant side
        v = A @ x + b
        rows.append(cp.PowCone3D(v[0], v[1], v[2], float(rng.choice([0.5, rng.uniform(0.05, 0.95)]))))
    return rng.normal(size=n) @ x, rows


def entropy(rng, x):
    """Entropies and relative entropies, on equations."""
    n = x.size
    q = rng.exponential(size=n) + 0.01
    objective = cp.sum(cp.rel_entr(x, q)) if rng.random() < 0.5 else -cp.sum(cp.entr(x))
    rows = [cp.sum(x) == rng.uniform(0.5, 2.0)]
    if rng.random() < 0.5:
        rows.append(rng.normal(size=n) @ x <= rng.normal() + 0.5)
    return objective + rng.normal(size=n) @ x, rows


def norms(rng, x):
    """A p-norm of residuals, sometimes with a p-norm ball."""
    n = x.size
    A, b = rng.normal(size=(rng.integers(2, 6), n)), rng.normal(size=n)
    p = float(rng.choice([1.5, 3.0, 1.1, 4.0]))
    rows = [cp.pnorm(x - b, 3) <= rng.uniform(0.2, 2.0)] if rng.random() < 0.5 else []
    return cp.pnorm(A @ x - rng.normal(size=len(A)), p), rows


def second_order(rng, x):
    """Norms, and sometimes a quadratic objective."""
    n = x.size
    rows = []
    for _ in range(rng.integers(1, 4)):
        A = rng.normal(size=(rng.integers(1, 4), n))
        rows.append(cp.norm(A @ x + rng.normal(size=len(A))) <= rng.normal(size=n) @ x + rng.uniform(0.0, 3.0))
    return rng.normal(size=n) @ x + (cp.sum_squares(x) if rng.random() < 0.3 else 0.0), rows


FAMILIES = [geometric, powers, entropy, norms, second_order]


def program(family, rng):
    """A program in two to six variables, mostly on a box, at a random scale of x."""
    n = int(rng.integers(2, 7))
    scale = float(10.0 ** rng.choice([0, 0, 0, rng.uniform(-3, 3)]))
    x = cp.Variable(n, name="x")
    objective, rows = family(rng, x / scale)
    if rng.random() < 0.9 or family is not norms:
        side = scale * float(rng.choice([1.0, 3.0, 10.0]))
        rows += [x >= -side, x <= side]
    return cp.Problem(cp.Minimize(objective), rows)


def truth(oracle):
    """What Clarabel says of the oracle's matrices: its status, its values, the norms of the multipliers."""
    kinds = {
        Zero: lambda cone: clarabel.ZeroConeT(cone.dimension),
        Nonnegative: lambda cone: clarabel.NonnegativeConeT(cone.dimension),
        SecondOrder: lambda cone: clarabel.SecondOrderConeT(cone.dimension),
        Exponential: lambda cone: clarabel.ExponentialConeT(),
        Power: lambda cone: clarabel.PowerConeT(cone.exponent),
    }
    n = len(oracle.problem.c)
    P = sparse.csc_array((n, n)) if oracle.quadratic is None else sparse.csc_array(sparse.triu(oracle.quadratic.P))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [kinds[type(cone)](cone) for cone in oracle.problem.cones]
    c, A, b, offset = oracle.problem.c, sparse.csc_matrix(oracle.problem.A), oracle.problem.b, oracle.problem.offset
    solved = clarabel.DefaultSolver(sparse.csc_matrix(P), c, A, b, cones, settings).solve()
    starts = np.cumsum([cone.dimension for cone in oracle.problem.cones])[:-1]
    weights = [np.linalg.norm(part) for part in np.split(np.array(solved.z), starts)]
    values = [solved.obj_val + offset, solved.obj_val_dual + offset]
    return str(solved.status), values, weights


def allowance(oracle, weights, x):
    """How far below the optimum the stated tolerance lets a value lie, at most, within the norm of x."""
    total, start = 0.0, 0
    for cone, weight in zip(oracle.problem.cones, weights, strict=True):
        A, b = (side[start : start + cone.dimension] for side in (oracle.problem.A, oracle.problem.b))
        size = sparse.linalg.norm(A)
        straight = isinstance(cone, Zero | Nonnegative)
        relative = oracle.tolerance * max(1.0, np.linalg.norm(x)) if straight else oracle.tolerance
        total += weight * (relative * size + 1e-14 * (size * np.linalg.norm(x) + np.linalg.norm(b)))
        start += cone.dimension
    return total


def check(verdict, known, tally):
    """What is wrong with a verdict, in words."""
    status, values, weights, oracle = known
    result = verdict.result
    words = []
    if result.status is Status.CONTRADICTION:
        words.append(f"contradiction: {result.message}")
    if status == "PrimalInfeasible":
        return words + (["optimal, and is infeasible"] if verdict.outcome is Outcome.OPTIMAL else [])
    if status != "Solved" or abs(values[0] - values[1]) > TRUST * max(1.0, abs(values[0])):
        tally.count("unknown to Clarabel")
        return words
    if verdict.outcome in (Outcome.INFEASIBLE, Outcome.UNBOUNDED):
        words.append(f"{verdict.outcome.name.lower()}, and has the optimum {values[0]:.9g}")
    optimum, size = values[0], max(1.0, abs(values[0]))
    slack = TRUST * size
    tally.error("lower bound above the optimum", max(0.0, result.lower_bound - optimum) / size)
    if result.lower_bound > optimum + slack:
        words.append(f"lower bound {result.lower_bound:.12g} above {optimum:.12g}")
    if result.point is None:
        return words
    allowed = allowance(oracle, weights, result.point)
    tally.error(
        "upper bound below the optimum, beyond what the tolerance allows",
        max(0.0, optimum - allowed - result.upper_bound) / size,
    )
    if result.upper_bound < optimum - allowed - slack:
        words.append(f"upper bound {result.upper_bound:.12g} below {optimum:.12g} by more than {allowed:.1e}")
    if verdict.outcome is Outcome.OPTIMAL:
        tally.error("value called optimal above the optimum", max(0.0, result.upper_bound - optimum) / size)
        sizes = np.abs(oracle.problem.c)
        wanted = RTOL * max(abs(result.upper_bound), sizes @ np.abs(result.point)) + 1e-8 * sizes.sum()
        if result.gap > wanted or result.upper_bound > optimum + wanted + slack:
            words.append(f"optimal {result.upper_bound:.12g}, truth {optimum:.12g}")
    return words


def run(count, seed, tally):
    """Settle `count` programs, the families in turn, by each generator."""
    rng = np.random.default_rng([seed, 3])
    for i in range(count):
        family = FAMILIES[i % len(FAMILIES)]
        problem = program(family, rng)
        oracle = ConicOracle.from_cvxpy(problem)
        known = (*truth(oracle), oracle)
        tally.count(f"Clarabel: {known[0]}")
        words = []
        for make in GENERATORS:
            verdict = settle(oracle, make(), rtol=RTOL, max_calls=300, max_seconds=1.0)
            undecided = f", {verdict.result.status.name.lower()}" if verdict.outcome is Outcome.UNDECIDED else ""
            tally.count(f"{make.__name__}: {verdict.outcome.name.lower()}{undecided}")
            # `settle` asks within radii of its own: the certificate is of the oracle on that domain
            found = check(verdict, known, tally) + tally.certificate(verdict.result, oracle.within(verdict.radius))
            words += [f"{family.__name__} {i} of seed {seed}, {make.__name__}: {one}" for one in found]
        tally.trial(words)
