"""Public instances with known optima: what was proven, in how many calls, by which generator.

ORACLE_OPT_PROBLEMS=folder python benchmarks/problems.py [--quick] [--seconds S] [--only KIND]
"""

import sys
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np
from _problem_files import FOLDER, instances, linear_program, quadratic_program, semidefinite_program
from _shared import ROOT, parser, say, table
from scipy import sparse

from oracle_opt import FreeSpace, Status, minimize
from oracle_opt.bounds import relative_gap
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle, SpectralBundle
from oracle_opt.oracles import BendersOracle, ConicOracle, MaxEigenvalueOracle, PositiveSemidefinite, read_smps
from oracle_opt.study import Outcome, settle

sys.path.insert(0, str(ROOT / "tests"))
from table_problems import PROBLEMS

QUICK = {"CB2", "afiro", "galenet", "HS35", "truss1", "lands", "chem"}
HEADINGS = ("instance", "size", "known", "upper bound", "lower bound", "proven gap", "ended", "calls", "seconds", "by")
LARGEST = 1e6  # promise of a trace: a method that has not found its solution by then does not for want of a larger one
LIMITS = {
    Status.MAX_SECONDS: "time limit",
    Status.MAX_CALLS: "call limit",
    Status.CONVERGED: "gap reached",
    Status.STALLED: "stalled",
}


def row(name, size, known, result, ended, seconds, generator):
    """One row of a table."""
    gap = relative_gap(result.upper_bound, result.lower_bound)
    words = "-" if not np.isfinite(gap) else f"{gap:.1e}"
    bounds = [f"{bound:.9g}" if np.isfinite(bound) else "-" for bound in (result.upper_bound, result.lower_bound)]
    return (name, size, known, *bounds, words, ended, result.n_calls, f"{seconds:.1f}", type(generator).__name__)


def settled(entry, oracle, size, generator, rtol, seconds):
    """Row of a conic problem that may be optimal, infeasible or unbounded."""
    began = perf_counter()
    verdict = settle(oracle, generator, rtol=rtol, max_calls=20_000, max_seconds=seconds)
    ended = verdict.outcome.name.lower()
    if verdict.outcome is Outcome.UNDECIDED:
        ended = LIMITS.get(verdict.result.status, verdict.result.status.name.lower())
    if verdict.infeasibility is not None:
        ended += f" within {verdict.infeasibility.reach:.1e}"
    known = entry["resolved"] if entry.get("status", "optimal") == "optimal" else entry["status"]
    return row(entry["name"], size, known, verdict.result, ended, perf_counter() - began, generator)


def run(name, size, known, oracle, generator, rtol, seconds, start=None, atol=0.0):
    """Row of a problem that has an optimum."""
    began = perf_counter()
    result = minimize(oracle, generator, start, rtol=rtol, atol=atol, max_calls=20_000, max_seconds=seconds)
    ended = LIMITS.get(result.status, result.status.name.lower())
    return row(name, size, known, result, ended, perf_counter() - began, generator)


def linear(entry, seconds):
    """Rows of a linear program."""
    oracle = linear_program(entry)
    size = f"{entry['rows']} x {entry['columns']}"
    yield partial(settled, entry, oracle, size, Kelley(), 1e-9, seconds)


def quadratic(entry, seconds):
    """Rows of a quadratic program, its squares the summands of the cuts."""
    for generator in (Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()):
        oracle = quadratic_program(entry)
        size = f"{len(oracle.problem.c)} x {len(oracle.problem.b)}"
        yield partial(settled, entry, oracle, size, generator, 1e-6, seconds)


def semidefinite(entry, seconds):
    """Rows of a semidefinite program; of constant trace through its dual, an eigenvalue problem, too."""
    problem = semidefinite_program(entry)
    orders = [cone.order for cone in problem.cones if isinstance(cone, PositiveSemidefinite)]
    size = f"{problem.c.size}, order {max(orders)}"
    size += f" and {len(problem.cones) - 1} more blocks" if len(problem.cones) > 1 else ""
    oracle = ConicOracle.from_problem(problem, domain=FreeSpace(problem.c.size, 1e4), tolerance=1e-8)
    for generator in (AnalyticCenter(), LevelSet()):
        yield partial(settled, entry, oracle, size, generator, 1e-5, seconds)
    if entry.get("status", "optimal") == "optimal":
        for generator in (SpectralBundle(min_order=40), LevelSet()):
            yield partial(promised, entry, problem, generator, 1e-5, seconds)


def promised(entry, program, generator, rtol, seconds):
    """Row of a semidefinite program as a largest eigenvalue, with a search for the radius and the trace to promise.

    Each is enlarged while the best point touches it: a norm of more than half the radius, or a violation of the cone
    that costs more than twice the gap, which no such point does if some Y has half the trace. All calls are counted.
    """
    began, radius, trace, start, n_calls = perf_counter(), 1e3, 1.0, None, 0
    while True:
        oracle, constant = as_largest_eigenvalue(program, radius, trace)
        left = max(seconds - (perf_counter() - began), 1.0)
        result = minimize(oracle, generator, start, rtol=rtol, max_calls=20_000, max_seconds=left)
        n_calls += result.n_calls
        cost = 0.0 if constant else result.upper_bound - float(oracle.b @ result.point)
        costly, far = cost > 2 * rtol * abs(result.upper_bound), np.linalg.norm(result.point) > 0.5 * radius
        if not (costly or far) or trace >= LARGEST or perf_counter() - began >= seconds:
            break
        if costly:
            trace *= 4.0
        if far:
            radius, start = 10.0 * radius, result.point
    name = f"{entry['name']} as largest eigenvalue" + ("" if constant else f", trace at most {trace:g}")
    size = f"{oracle.b.size}, order {oracle.order}, radius {radius:g}"
    ended = LIMITS.get(result.status, result.status.name.lower()) + (", a promise touched" if costly or far else "")
    result = replace(result, n_calls=n_calls)
    return row(name, size, entry["resolved"], result, ended, perf_counter() - began, generator)


def as_largest_eigenvalue(program, radius=1e3, trace=1.0):
    """Oracle of ``min c x + trace * max(0, lambda_max(F_0 - sum_i x_i F_i))``, and whether it needs no promised trace.

    Where ``sum_i y_i F_i = I`` for some y, all solutions Y of the dual have the trace ``c y``, and so has lambda_max
    alone. Elsewhere the trace is a promise, that some Y has no more; a zero on the diagonal makes the maximum.

    All F_i come to norm one by the units of x, and then, where the trace is a promise, each block to the square root of
    its order, that of all F_i together: the promises are in these units.
    """
    c, A, b, cones = program.c, -program.A, program.b, program.cones
    norms = sparse.linalg.norm(A, axis=0)
    A, c = A @ sparse.diags_array(1.0 / norms), c / norms
    matrices = [isinstance(cone, PositiveSemidefinite) for cone in cones]
    units = [
        cone.vector(np.eye(cone.order)) if it else np.ones(cone.dimension)
        for it, cone in zip(matrices, cones, strict=True)
    ]
    unit = np.concatenate(units)
    y = np.linalg.lstsq(A.toarray(), unit)[0]
    constant = bool(np.linalg.norm(A @ y - unit) <= 1e-9 * np.linalg.norm(unit))
    starts = np.cumsum([cone.dimension for cone in cones])[:-1]
    if not constant:
        squares = np.split(sparse.linalg.norm(A, axis=1) ** 2, starts)
        means = [
            np.full(len(square), square.sum() / cone.order) if it else square
            for it, cone, square in zip(matrices, cones, squares, strict=True)
        ]
        size = np.sqrt(np.concatenate(means))
        size[size == 0] = 1.0
        A, b = sparse.diags_array(1.0 / size) @ A, b / size

    def matrix(v):
        parts = np.split(v, starts)
        blocks = [
            cone.matrix(part) if it else np.diag(part) for it, cone, part in zip(matrices, cones, parts, strict=True)
        ]
        return sparse.block_diag(blocks if constant else [*blocks, sparse.csr_array((1, 1))])

    columns = A.tocsc()
    F = [matrix(columns[:, [i]].toarray().ravel()) for i in range(len(c))]
    trace = float(c @ y) if constant else trace
    oracle = MaxEigenvalueOracle(-matrix(b), F, c, trace=trace, domain=FreeSpace(len(c), radius))
    return oracle, constant


def stochastic(entry, seconds):
    """Rows of a two-stage stochastic program; of a sampled average where there are too many scenarios."""
    files = {ending: FOLDER / "stochastic" / name for ending, name in entry["files"].items()}
    maximize = entry["sense"] == "max"
    problem = read_smps(files["cor"], files["tim"], files["sto"], maximize=maximize)
    known = -entry["resolved"] if maximize else entry["resolved"]
    samples = 20_000 if problem.n_scenarios > 100_000 else None
    oracle = BendersOracle(problem, n_samples=samples)
    size = f"{problem.n_scenarios} scenarios" + (f", {samples} drawn" if samples else "")
    for generator in (Kelley(), AnalyticCenter(), LevelSet(), ProximalBundle()):
        yield partial(run, entry["name"], size, known, oracle, generator, 1e-6, seconds)


def nonsmooth(entry, seconds):
    """Rows of a nonsmooth test function, by every cutting-plane method."""
    problem = next((problem for problem in PROBLEMS if problem.name.lower() == entry["name"].lower()), None)
    if problem is None:
        say(f"{entry['name']}: no such function in tests/table_nonsmooth.py, skipped")
        return
    oracle = problem.make()
    size = str(oracle.domain.dimension)
    rtol = 1e-6 if abs(problem.optimum) > 1e-6 else 0.0
    for generator in (LevelSet(), AnalyticCenter(), ProximalBundle(), Kelley(), Ellipsoid()):
        yield partial(
            run, entry["name"], size, problem.optimum, oracle, generator, rtol, seconds, problem.start, 1e-6 - rtol
        )


def main():
    """Print a table a kind of problem."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=60.0, help="limit of each run, default 60")
    options.add_argument("--only", metavar="KIND", help="nonsmooth, lp, qp, sdp or stochastic alone")
    chosen = options.parse_args()
    for kind, title, rows_of in (
        ("nonsmooth", "Nonsmooth test functions, to 1e-6 (absolute where the optimum is 0)", nonsmooth),
        ("lp", "Linear programs (Netlib), to 1e-9", linear),
        ("qp", "Quadratic programs (Maros & Meszaros), to 1e-6", quadratic),
        ("sdp", "Semidefinite programs (SDPLIB), to 1e-5", semidefinite),
        ("stochastic", "Two-stage stochastic linear programs, to 1e-6", stochastic),
    ):
        if chosen.only not in (None, kind):
            continue
        entries = instances(kind)
        if not entries:
            say(f"{kind}: the folder ORACLE_OPT_PROBLEMS does not hold it, skipped")
            continue
        rows = []
        for entry in entries.values():
            if chosen.quick and entry["name"] not in QUICK:
                continue
            say(entry["name"])
            rows += [work() for work in rows_of(entry, chosen.seconds)]
        print(f"### {title}\n")
        table(HEADINGS, rows)


if __name__ == "__main__":
    main()
