"""Many variables: minimax of quadratics and of sparse affine functions on a box, beside Clarabel, HiGHS and L-BFGS-B.

python benchmarks/peers_large.py [--quick]
"""

import numpy as np
from _peers import Answer, Run, growth, side_by_side
from _shared import parser, say, table
from _verified import print_certificates
from scipy import sparse
from scipy.optimize import linprog
from scipy.optimize import minimize as scipy_minimize

from oracle_opt import Box, FunctionOracle, minimize, problems
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle

GENERATORS = (LevelSet, AnalyticCenter, ProximalBundle, Kelley)
GOALS = (1e-3, 1e-6)
LIMIT, QUICK_LIMIT = 20.0, 3.0  # seconds of a run by the wall clock


class SparsePieces:
    """``max_i a_i @ z + b_i``, each a_i with ten entries: 200 pieces."""

    def __init__(self, n, pieces=200, entries=10, seed=1):
        rng = np.random.default_rng(seed)
        places = np.repeat(np.arange(pieces), entries), rng.integers(0, n, pieces * entries)
        self.A = sparse.csr_array((rng.normal(size=pieces * entries), places), shape=(pieces, n))
        self.b = rng.normal(size=pieces)

    def __call__(self, z):
        """Value and subgradient."""
        heights = self.A @ z + self.b
        i = int(heights.argmax())
        slope, part = np.zeros(z.size), slice(self.A.indptr[i], self.A.indptr[i + 1])
        slope[self.A.indices[part]] = self.A.data[part]
        return float(heights[i]), slope


def quadratics(n):
    """The largest of 20 quadratics with diagonal Hessians, as the family max-quadratic draws them."""
    return problems.find(f"max-quadratic(n={n}, pieces=20, seed=1)")[0].make(0).oracle


def sparse_pieces(n):
    """The largest of 200 affine functions of ten entries."""
    return FunctionOracle(SparsePieces(n), Box(-np.ones(n), np.ones(n)))


FAMILIES = {"20 quadratics": quadratics, "200 sparse pieces": sparse_pieces}


def ours(family, n, generator, limit):
    """A run to a proven 1e-6, or for so many seconds; calls to both goals are counted from its history."""
    oracle = FAMILIES[family](n)

    def solve():
        result = minimize(oracle, generator(), rtol=GOALS[1], max_seconds=limit, max_calls=100_000)
        history = result.history
        gaps = (history.upper_bound - history.lower_bound) / np.maximum(np.abs(history.upper_bound), 1e-12)
        calls = [int(np.argmax(gaps <= goal)) + 1 if (gaps <= goal).any() else 0 for goal in GOALS]
        reached = "/".join(str(call) if call else "-" for call in calls)
        return Run(result, oracle, Answer(result.upper_bound, result.lower_bound, result.n_calls, reached))

    return solve


def lbfgsb(family, n):
    """Scipy's L-BFGS-B from the middle of the box; it proves nothing."""
    oracle = FAMILIES[family](n)
    function, bounds = oracle.function, [(-1.0, 1.0)] * n

    def solve():
        done = scipy_minimize(function, np.zeros(n), jac=True, method="L-BFGS-B", bounds=bounds)
        return Answer(float(done.fun), calls=int(done.nfev))

    return solve


def highs(n):
    """The linear program of the sparse pieces by HiGHS."""
    pieces = SparsePieces(n)
    rows = sparse.hstack([pieces.A, -np.ones((len(pieces.b), 1))], format="csr")

    def solve():
        bounds = np.r_[np.tile([-1.0, 1.0], (n, 1)), [[-np.inf, np.inf]]]
        done = linprog(np.r_[np.zeros(n), 1.0], rows, -pieces.b, bounds=bounds, method="highs")
        return Answer(float(done.fun), float(done.fun), ended="" if done.status == 0 else done.message)

    return solve


def clarabel(n):
    """The quadratics by Clarabel, ``c_i y^2 / 2 + a_i y - d_i + 1 <= t``, with tolerances of 1e-7."""
    import cvxpy as cp

    made = FAMILIES["20 quadratics"](n).function

    def solve():
        z, t = cp.Variable(n), cp.Variable()
        y = z - made.center
        pieces = [
            1.0 + made.a[i] @ y - made.d[i] + 0.5 * cp.sum_squares(cp.multiply(np.sqrt(made.c[i]), y)) <= t
            for i in range(len(made.d))
        ]
        program = cp.Problem(cp.Minimize(t), [*pieces, z >= -1.0, z <= 1.0])
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7)
        value = np.nan if t.value is None else float(t.value)
        return Answer(value, value, ended="" if program.status == "optimal" else program.status)

    return solve


def cells(measured):
    """Seconds a call, calls to both goals, and the gap at the end."""
    answer = measured.answer
    if not answer.calls:
        return answer.ended
    gap = (answer.value - answer.bound) / max(abs(answer.value), 1e-12)
    return f"{measured.seconds / answer.calls:.2g} ({answer.ended}, {gap:.0e})"


def main():
    """Both families over five sizes."""
    chosen = parser(__doc__).parse_args()
    sizes = (10, 100) if chosen.quick else (10, 100, 1000, 10_000, 100_000)
    limit = QUICK_LIMIT if chosen.quick else LIMIT
    for family in FAMILIES:
        rows, taken = [], {kind.__name__: [] for kind in GENERATORS}
        for n in sizes:
            say(f"{family}, {n}")
            solvers = {kind.__name__: (ours, family, n, kind, limit) for kind in GENERATORS}
            solvers["L-BFGS-B"] = (lbfgsb, family, n)
            if family != "20 quadratics":
                solvers["HiGHS"] = (highs, n)
            elif n <= 10_000:
                solvers["Clarabel"] = (clarabel, n)
            found = side_by_side(solvers, rounds=1, limit=3.0 * limit)
            best = min(found[kind.__name__].answer.value for kind in GENERATORS)
            peer = found.get("HiGHS") or found.get("Clarabel")
            simple = found["L-BFGS-B"]
            above = (simple.answer.value - best) / max(abs(best), 1e-12)
            for kind in GENERATORS:
                one = found[kind.__name__]
                taken[kind.__name__].append(one.seconds / one.answer.calls if one.answer.calls else np.nan)
            rows.append(
                (
                    f"{n:,}",
                    *(cells(found[kind.__name__]) for kind in GENERATORS),
                    peer.words if peer else "-",
                    f"{simple.words}, {max(above, 0.0):.0e} above",
                )
            )
        print(f"**{family}**: seconds a call (calls to 1e-3/1e-6, gap at the end)\n")
        heads = [f"`{kind.__name__}`" for kind in GENERATORS]
        table(("n", *heads, "HiGHS" if family != "20 quadratics" else "Clarabel", "L-BFGS-B"), rows)
        large = [i for i, n in enumerate(sizes) if n >= sizes[-1] // 100]
        exponents = [
            f"{name} {growth([sizes[i] for i in large], [seconds[i] for i in large]):.1f}"
            for name, seconds in taken.items()
        ]
        print(f"\nGrowth of the seconds a call over the last {len(large)} sizes: {', '.join(exponents)}.\n")
    print_certificates()


if __name__ == "__main__":
    main()
