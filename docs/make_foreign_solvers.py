"""Run solvers of other libraries under the same counts as ours, and write the table of docs/foreign_solvers.md.

    python docs/make_foreign_solvers.py

It needs ellalgo and nsopy: pip install "oracle-opt[peers]".
"""

from pathlib import Path

import numpy as np
from make_gallery import splice
from scipy import optimize

from oracle_opt import Box, FunctionOracle, minimize
from oracle_opt.certificates.proof_level import standing_of
from oracle_opt.generators import (
    LBFGS,
    AnalyticCenter,
    Ellipsoid,
    ForeignSolver,
    Kelley,
    LevelSet,
    ProximalBundle,
    Subgradient,
)
from oracle_opt.problems import Instance, find

PAGE = Path(__file__).parent / "foreign_solvers.md"
SCALES = np.geomspace(0.1, 10.0, 30)
GAPS = (1e-2, 1e-4)
MAX_CALLS = 500


def quadratic():
    """A smooth function of 30 variables, of condition 100, with the minimum 1 at a quarter of each variable's range."""

    def function(z):
        return 1 + SCALES @ (z + 0.5) ** 2 / 2, SCALES * (z + 0.5)

    return Instance(FunctionOracle(function, Box(-np.ones(30), np.ones(30))), optimum=1.0, optimum_error=1e-12)


def scipy_lbfgsb(function, start, domain):
    """L-BFGS-B on a domain of bounds alone."""
    bounds = optimize.Bounds(*domain.bounding_box())
    return optimize.minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds).message


def scipy_slsqp(function, start, domain):
    """SLSQP on any domain with linear constraints."""
    rows = domain.promised_polyhedron().linear_constraints()
    matrix, rhs = rows.inequalities
    constraints = []
    if len(rhs):
        constraints.append({"type": "ineq", "fun": lambda z: rhs - matrix @ z, "jac": lambda z: -matrix})
    if len(rows.equality_rhs):
        residual = {
            "fun": lambda z: rows.equality_matrix @ z - rows.equality_rhs,
            "jac": lambda z: rows.equality_matrix,
        }
        constraints.append({"type": "eq", **residual})
    bounds = optimize.Bounds(rows.lower, rows.upper)
    options = {"maxiter": 10_000, "ftol": 1e-12}
    found = optimize.minimize(
        function, start, jac=True, method="SLSQP", bounds=bounds, constraints=constraints, options=options
    )
    return found.message


def ellalgo_ellipsoid(function, start, domain):
    """The ellipsoid method with deep cuts; where it leaves the domain, the answer is a cut without a call."""
    from ellalgo.cutting_plane import cutting_plane_optim
    from ellalgo.ell import Ell
    from ellalgo.ell_config import Options

    class Assess:
        def assess_optim(self, center, best):
            nearest = domain.project(center)
            outside = np.linalg.norm(center - nearest)
            if outside > 1e-9:
                return ((center - nearest) / outside, outside), None
            value, subgradient = function(center)
            if value < best:
                return (subgradient, 0.0), value
            return (subgradient, value - best), None

    radius = 2 * domain.enclosing_ball()[1]
    options = Options(max_iters=100_000, tolerance=1e-20)
    return cutting_plane_optim(Assess(), Ell(radius**2, start), np.inf, options).status.name


def nsopy_subgradient(function, start, domain):
    """The projected subgradient method with steps 1/k."""
    from nsopy.methods.subgradient import SubgradientMethod

    method = SubgradientMethod(_three(function), domain.project, len(start), stepsize_rule="1/k", sense="min")
    method.lambda_k = start
    while True:
        method.dual_step()


def nsopy_universal(function, start, domain):
    """Nesterov's universal primal gradient method, to an accuracy of 0.1."""
    from nsopy.methods.universal import UniversalPGM

    # `sense="max"` minimizes: nsopy 1.52 has the two senses of this method the wrong way round
    method = UniversalPGM(_three(function), domain.project, len(start), epsilon=0.1, sense="max")
    method.lambda_hat_k = start
    while True:
        method.dual_step()


def _three(function):
    """A function as nsopy wants it: what it returns first is the caller's own."""

    def oracle(x):
        value, subgradient = function(x)
        return None, value, subgradient

    return oracle


PROBLEMS = {
    "largest of 20 affine functions, n = 10": find("max-affine(n=10, seed=0)")[0],
    "largest of 20 quadratic functions, n = 10": find("max-quadratic(n=10, seed=0)")[0],
    "a quadratic function, n = 30": quadratic,
}
GENERATORS = {
    "`LevelSet()`": LevelSet(),
    "`ProximalBundle()`": ProximalBundle(),
    "`AnalyticCenter()`": AnalyticCenter(),
    "`Kelley()`": Kelley(),
    "`Ellipsoid()`": Ellipsoid(),
    "`Subgradient()`": Subgradient(),
    "`LBFGS()`": LBFGS(),
    "scipy's L-BFGS-B": ForeignSolver(scipy_lbfgsb, prove=True),
    "scipy's SLSQP": ForeignSolver(scipy_slsqp, prove=True),
    "ellalgo's ellipsoid method": ForeignSolver(ellalgo_ellipsoid, prove=True),
    "nsopy's subgradient method": ForeignSolver(nsopy_subgradient, prove=True),
    "nsopy's universal gradient method": ForeignSolver(nsopy_universal, prove=True),
}


def calls(make, generator):
    """For each gap, calls until the best value is within it and, in brackets, until that is proven."""
    made = make()
    result = minimize(made.oracle, generator, made.start, max_calls=MAX_CALLS)
    standing_of(result, made.oracle)  # raises where a certificate is refused: no table is made of it
    history = result.history
    excess = (history.upper_bound - made.optimum) / max(1.0, abs(made.optimum))
    found = [np.flatnonzero(excess <= gap) for gap in GAPS]
    first = [str(hits[0] + 1) if hits.size else "-" for hits in found]
    return [f"{one} ({history.calls_to(gap) or '-'})" for one, gap in zip(first, GAPS, strict=True)]


def table():
    """One row a generator."""
    lines = ["| | " + " | ".join(f"{name}, to {gap}" for name in PROBLEMS for gap in ("1e-2", "1e-4")) + " |"]
    lines.append("|---" * (1 + len(GAPS) * len(PROBLEMS)) + "|")
    for name, generator in GENERATORS.items():
        cells = [cell for make in PROBLEMS.values() for cell in calls(make, generator)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    splice(PAGE, "measured", table())
