"""Many rows, few variables: linear programs and robust programs, beside HiGHS, Clarabel and OSQP.

python benchmarks/peers_rows.py [--quick]
"""

import numpy as np
from _extensive import linear_program, solved_by_highs
from _peer_solvers import clarabel_on
from _peers import Answer, from_result, growth, side_by_side
from _shared import parser, say, table
from _verified import print_certificates
from scipy import sparse

from oracle_opt import Box, FreeSpace, minimize, problems
from oracle_opt.generators import AnalyticCenter, Kelley
from oracle_opt.oracles import ConicOracle, ConicProblem, Nonnegative, SecondOrder, SemiInfiniteOracle

RADIUS = 1e3
LIMIT = 20.0  # seconds of a run by the wall clock, its problem included
FEW_ROWS, ROUNDS = 1_000, 3  # of more rows, which take seconds, a single round
TOLERANCE = 1e-7  # of the other solvers, where they take one


def random_rows(n, m, seed=1):
    """Normal rows at a distance between 0.5 and 1.5 from the origin."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, n))
    b = rng.uniform(0.5, 1.5, m) * np.linalg.norm(A, axis=1)
    return rng.normal(size=n), A, b


def chebyshev_rows(n, m, seed=1):
    """Approximation in the largest error on a grid of m / 2 points: rows that are neighbors of each other."""
    s = np.linspace(-1.0, 1.0, m // 2)
    V, f = np.polynomial.chebyshev.chebvander(s, n - 2), np.exp(s) * np.abs(s - 0.3)
    ones = np.ones((len(s), 1))
    return np.r_[np.zeros(n - 1), 1.0], np.block([[V, -ones], [-V, -ones]]), np.r_[f, -f]


def sparse_rows(n, m, seed=1):
    """A tenth of the entries, each row one at least."""
    rng = np.random.default_rng(seed)
    A = sparse.random_array((m, n), density=0.1, rng=rng, data_sampler=rng.normal, format="csr")
    A = A[np.diff(A.indptr) > 0]
    b = rng.uniform(0.5, 1.5, A.shape[0]) * np.sqrt(A.multiply(A).sum(axis=1))
    return rng.normal(size=n), A, b


def ours(make, n, m):
    """`ConicOracle` with the generator that `minimize` chooses, Kelley, to a proven 1e-6."""
    c, A, b = make(n, m)

    def solve():
        oracle = ConicOracle(c, A, b, [Nonnegative(len(b))], domain=FreeSpace(n, RADIUS))
        return from_result(minimize(oracle, max_seconds=LIMIT), oracle)

    return solve


def highs(make, n, m, solver):
    """HiGHS with its own tolerances of 1e-7."""
    c, A, b = make(n, m)

    def solve():
        box = np.full(n, RADIUS)
        program = linear_program(c, A, np.full(len(b), -np.inf), b, -box, box)
        value, status = solved_by_highs(program, solver)
        return Answer(value, ended="" if status == "optimal" else status)

    return solve


def clarabel(make, n, m):
    """Clarabel with tolerances of 1e-7."""
    c, A, b = make(n, m)

    def solve():
        value, status = clarabel_on(ConicProblem(c, A, b, [Nonnegative(len(b))]), TOLERANCE)()
        return Answer(np.nan if value is None else value, ended="" if value is not None else status)

    return solve


def osqp(make, n, m):
    """OSQP with absolute and relative tolerances of 1e-6 and at most 20,000 iterations."""
    import osqp as package

    c, A, b = make(n, m)

    def solve():
        solver = package.OSQP()
        tight = {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iter": 20_000, "verbose": False, "polishing": True}
        solver.setup(sparse.csc_matrix((n, n)), c, sparse.csc_matrix(A), np.full(len(b), -np.inf), b, **tight)
        done = solver.solve()
        return Answer(done.info.obj_val, ended="" if done.info.status == "solved" else done.info.status)

    return solve


def linear_programs(make, sizes, osqp_to):
    """Table of one family; the growth over the numbers of rows of the first number of variables."""
    rows, seconds = [], {}
    for n, m in sizes:
        say(f"{make.__name__} {m} x {n}")
        solvers = {
            "ours": (ours, make, n, m),
            "simplex": (highs, make, n, m, "simplex"),
            "interior point": (highs, make, n, m, "ipm"),
            "Clarabel": (clarabel, make, n, m),
        }
        if m <= osqp_to:
            solvers["OSQP"] = (osqp, make, n, m)
        found = side_by_side(solvers, ROUNDS if m <= FEW_ROWS else 1, LIMIT)
        A = make(n, m)[1]
        data = A.nbytes if isinstance(A, np.ndarray) else A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
        ended = [one.seconds for name, one in found.items() if name != "ours" and not one.answer.ended]
        best = min(ended, default=np.nan)
        reference = found["simplex"].answer if not found["simplex"].answer.ended else found["interior point"].answer
        off = abs(found["ours"].answer.value - reference.value) / abs(reference.value)
        own = found["ours"]
        rows.append(
            (
                f"{m:,} x {n}",
                f"{data / 1e6:.3g}",
                f"**{own.words}** ({own.answer.calls})",
                f"{best / own.seconds:.2g}" if np.isfinite(best) else "-",
                f"{off:.0e}" if np.isfinite(off) else "-",
                *(found[name].words if name in found else "-" for name in list(solvers)[1:4]),
                found["OSQP"].words if "OSQP" in found else "-",
                f"{own.bytes / data:.2g}",
                f"{found['simplex'].bytes / data:.2g}" if found["simplex"].bytes else "-",
            )
        )
        if n == sizes[0][0]:
            for name, one in found.items():
                seconds.setdefault(name, []).append(np.nan if one.answer.ended else one.seconds)
    heads = ("rows x variables", "MB", "ours (calls)", "times faster", "differs by", "simplex", "interior point")
    table((*heads, "Clarabel", "OSQP", "bytes / data, ours", "simplex"), rows)
    steps = [m for n, m in sizes if n == sizes[0][0]]
    exponents = [
        f"{name} {growth(steps[: len(taken)], taken):.1f}" for name, taken in seconds.items() if len(taken) > 1
    ]
    print(f"\nGrowth of the seconds over the rows, {sizes[0][0]} variables: {', '.join(exponents)}.\n")


def ellipsoids(n, k, rank=3, seed=0):
    """``min c @ x`` with ``a_i @ x + norm(P_i x) <= b_i`` and bounds."""
    rng = np.random.default_rng(seed)
    a, P = rng.normal(size=(k, n)), 0.3 * rng.normal(size=(k, rank, n))
    return rng.normal(size=n), a, P, rng.uniform(0.5, 1.5, k) * np.sqrt(n)


def conic_form(n, k):
    """The second-order program, its bounds as rows."""
    c, a, P, b = ellipsoids(n, k)
    A = np.concatenate([a[:, None], -P], axis=1).reshape(-1, n)
    sides = np.concatenate([b[:, None], np.zeros(P.shape[:2])], axis=1).ravel()
    bounds, cones = np.vstack([np.eye(n), -np.eye(n)]), [SecondOrder(P.shape[1] + 1)] * k
    return c, np.vstack([A, bounds]), np.r_[sides, np.full(2 * n, 10.0)], [*cones, Nonnegative(2 * n)]


def by_cones(n, k):
    """`ConicOracle` with Kelley."""
    data = conic_form(n, k)
    domain = FreeSpace(n, 10.0 * np.sqrt(n))  # of which the bounds are taken up

    def solve():
        oracle = ConicOracle(*data, domain=domain)
        return from_result(minimize(oracle, Kelley(), max_seconds=LIMIT), oracle)

    return solve


def by_worst_case(n, k):
    """`SemiInfiniteOracle`: the worst case of each row by its formula."""
    c, a, P, b = ellipsoids(n, k)

    def worst(x):
        spread = P @ x
        lengths = np.linalg.norm(spread, axis=1, keepdims=True)
        return a + np.einsum("ijk,ij->ik", P, spread / np.where(lengths > 0, lengths, 1.0)), b

    box = Box(np.full(n, -10.0), np.full(n, 10.0))

    def solve():
        oracle = SemiInfiniteOracle(c, worst, box)
        return from_result(minimize(oracle, Kelley(), max_seconds=LIMIT), oracle)

    return solve


def clarabel_on_cones(n, k):
    """Clarabel with tolerances of 1e-7."""
    c, A, b, cones = conic_form(n, k)

    def solve():
        value, status = clarabel_on(ConicProblem(c, A, b, cones), TOLERANCE)()
        return Answer(np.nan if value is None else value, ended="" if value is not None else status)

    return solve


def drawn(n, m, generator):
    """A problem of the family robust-lp, whose optimum lies on the curved part of half of its cones."""
    oracle = problems.find(f"robust-lp(n={n}, m={m})")[0].make(0).oracle
    return lambda: from_result(minimize(oracle, generator, max_seconds=LIMIT), oracle)


def drawn_clarabel(n, m):
    """The same by Clarabel."""
    problem = problems.find(f"robust-lp(n={n}, m={m})")[0].make(0).oracle.problem
    A = sparse.vstack([sparse.csr_array(problem.A), sparse.eye_array(n), -sparse.eye_array(n)])
    whole = ConicProblem(
        problem.c, A, np.r_[problem.b, np.ones(2 * n)], [*problem.cones, Nonnegative(2 * n)], None, problem.offset
    )

    def solve():
        value, status = clarabel_on(whole, TOLERANCE)()
        return Answer(np.nan if value is None else value, ended="" if value is not None else status)

    return solve


def robust_programs(sizes, curved):
    """Tables of second-order cones: many with few variables, and few with an optimum on their curved parts."""
    rows = []
    for n, k in sizes:
        say(f"{k} ellipsoids, {n} variables")
        solvers = {
            "cones": (by_cones, n, k),
            "worst case": (by_worst_case, n, k),
            "Clarabel": (clarabel_on_cones, n, k),
        }
        found = side_by_side(solvers, ROUNDS if k <= FEW_ROWS else 1, LIMIT)
        first, known = found["cones"].answer.value, found["Clarabel"].answer.value
        rows.append(
            (
                f"{k:,} x {n}",
                *(f"**{found[name].words}** ({found[name].answer.calls})" for name in ("cones", "worst case")),
                found["Clarabel"].words,
                f"{abs(first - known) / abs(known):.0e}" if np.isfinite(known) else "-",
                *(f"{found[name].bytes / 1e6:.3g}" for name in ("cones", "Clarabel")),
            )
        )
    heads = ("ellipsoids x variables", "cones (calls)", "worst cases (calls)", "Clarabel", "differs by", "MB, cones")
    table((*heads, "MB, Clarabel"), rows)
    print("\nRobust programs whose optimum lies on the curved part of half of the cones (family `robust-lp`):\n")
    rows = []
    for n, m in curved:
        say(f"robust-lp {n}, {m}")
        solvers = {
            "Kelley": (drawn, n, m, Kelley()),
            "AnalyticCenter": (drawn, n, m, AnalyticCenter()),
            "Clarabel": (drawn_clarabel, n, m),
        }
        found = side_by_side(solvers, ROUNDS, LIMIT)
        own = (f"{found[name].words} ({found[name].answer.calls})" for name in ("Kelley", "AnalyticCenter"))
        rows.append((f"{m} x {n}", *own, f"**{found['Clarabel'].words}**"))
    table(("cones x variables", "`Kelley()` (calls)", "`AnalyticCenter()` (calls)", "Clarabel"), rows)


def main():
    """Print the tables."""
    quick = parser(__doc__).parse_args().quick
    few = [(20, 1_000), (20, 10_000)]
    print("Linear programs `min c @ x, A @ x <= b` with normal rows:\n")
    more = [(20, 100_000), (20, 1_000_000), (5, 100_000), (50, 100_000)]
    linear_programs(random_rows, few if quick else few + more, 1_000)
    print("Rows that are neighbors of each other, those of an approximation in the largest error on a grid:\n")
    linear_programs(chebyshev_rows, few if quick else [*few, (20, 100_000)], 1_000)
    print("Sparse rows, a tenth of the entries:\n")
    linear_programs(sparse_rows, few if quick else [(50, 1_000), (50, 10_000), (50, 100_000)], 1_000)
    print("Robust linear programs, rows `a + P.T @ u` with `norm(u) <= 1` and u of three numbers:\n")
    sizes = [(20, 100), (20, 1_000)]
    sizes += [] if quick else [(20, 10_000), (100, 1_000)]
    robust_programs(sizes, [(10, 10)] if quick else [(20, 20), (50, 60), (200, 50)])
    print_certificates()


if __name__ == "__main__":
    main()
