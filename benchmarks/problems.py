"""Public instances with known optima: what was proven, in how many calls, by which generator.

ORACLE_OPT_PROBLEMS=folder python benchmarks/problems.py [--quick] [--seconds S] [--only KIND [--renew]]

Every row comes from a run whose certificate was verified, against the data where the oracle has witnesses. The rows of
a kind are kept in docs/data/problems_KIND.csv, and what they come to for each method is printed. `--renew` puts that
into docs/problems.md as soon as it is made, and takes what the peers took from the rows that were kept. With `--quick`
the rows are printed, and nothing is kept.
"""

from dataclasses import replace
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np
from _peer_solvers import clarabel_on, ellalgo_on, fastest_sdpa_program, highs_on_rows, highs_on_scenarios, in_words
from _shared import ROOT, parser, say, table
from _verified import keep_rows, kept_rows, renew, verified

from oracle_opt import FreeSpace, Status, minimize, problems
from oracle_opt.bounds import relative_gap
from oracle_opt.errors import InvalidCertificate, Refuted
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle, SpectralBundle
from oracle_opt.oracles import BendersOracle, ConicOracle, PositiveSemidefinite, read_smps
from oracle_opt.problems.collection import entries, path_in_folder
from oracle_opt.problems.lp import linear_program
from oracle_opt.problems.qp import quadratic_program
from oracle_opt.problems.sdpa_files import as_largest_eigenvalue, read_sdpa
from oracle_opt.study import Outcome, settle

PAGE = ROOT / "docs" / "problems.md"
DATA = ROOT / "docs" / "data"
QUICK = {"CB2", "afiro", "galenet", "HS35", "truss1", "lands", "chem"}
HEADINGS = (
    "instance",
    "size",
    "known",
    "upper bound",
    "lower bound",
    "proven gap",
    "certificate",
    "ended",
    "calls",
    "seconds",
    "by",
    "peer",
)
SUMMARY = ("method", "runs", "ended as asked", "median calls", "most calls", "seconds", "proven from the data")
REACHED = ("gap reached", "optimal", "infeasible", "unbounded")  # how a run ends that did what it was asked
LARGEST = 1e6  # promise of a trace: a method that has not found its solution by then does not for want of a larger one
LIMITS = {
    Status.MAX_SECONDS: "time limit",
    Status.MAX_CALLS: "call limit",
    Status.CONVERGED: "gap reached",
    Status.STALLED: "stalled",
}


def row(name, size, known, result, oracle, ended, seconds, generator):
    """One row of a table, after the certificate of its run was verified."""
    certificate = verified(result, oracle)
    gap = relative_gap(result.upper_bound, result.lower_bound)
    words = "-" if not np.isfinite(gap) else f"{gap:.1e}"
    bounds = [f"{bound:.9g}" if np.isfinite(bound) else "-" for bound in (result.upper_bound, result.lower_bound)]
    return (
        name,
        size,
        known,
        *bounds,
        words,
        certificate,
        ended,
        result.n_calls,
        f"{seconds:.1f}",
        type(generator).__name__,
    )


def settled(entry, oracle, size, generator, rtol, seconds):
    """Row of a conic problem that may be optimal, infeasible or unbounded."""
    began = perf_counter()
    verdict = settle(oracle, generator, rtol=rtol, max_calls=20_000, max_seconds=seconds)
    ended = verdict.outcome.name.lower()
    if verdict.outcome is Outcome.UNDECIDED:
        ended = LIMITS.get(verdict.result.status, verdict.result.status.name.lower())
    if verdict.infeasibility is not None:
        ended += f" within {verdict.infeasibility.reach:.1e}"
    took, examined = perf_counter() - began, oracle.within(verdict.radius)
    return row(entry["name"], size, known_of(entry), verdict.result, examined, ended, took, generator)


def run(name, size, known, oracle, generator, rtol, seconds, start=None, atol=0.0):
    """Row of a problem that has an optimum."""
    began = perf_counter()
    result = minimize(oracle, generator, start, rtol=rtol, atol=atol, max_calls=20_000, max_seconds=seconds)
    ended = LIMITS.get(result.status, result.status.name.lower())
    return row(name, size, known, result, oracle, ended, perf_counter() - began, generator)


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
    problem = read_sdpa(path_in_folder("sdp", entry["file"], needed=entry["name"]))
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
    return row(name, size, entry["resolved"], result, oracle, ended, perf_counter() - began, generator)


def scenarios_of(entry):
    """A two-stage program, how many scenarios to draw if there are too many, and its known optimum."""
    files = {
        ending: path_in_folder("stochastic", name, needed=entry["name"]) for ending, name in entry["files"].items()
    }
    maximize = entry["sense"] == "max"
    problem = read_smps(files["cor"], files["tim"], files["sto"], maximize=maximize)
    known = -entry["resolved"] if maximize else entry["resolved"]
    return problem, 20_000 if problem.n_scenarios > 100_000 else None, known


def stochastic(entry, seconds):
    """Rows of a two-stage stochastic program; of a sampled average where there are too many scenarios."""
    problem, samples, known = scenarios_of(entry)
    oracle = BendersOracle(problem, n_samples=samples)
    size = f"{problem.n_scenarios} scenarios" + (f", {samples} drawn" if samples else "")
    for generator in (Kelley(), AnalyticCenter(), LevelSet(), ProximalBundle()):
        yield partial(run, entry["name"], size, known, oracle, generator, 1e-6, seconds)


def nonsmooth(entry, seconds):
    """Rows of a nonsmooth test function, by every cutting-plane method."""
    instance = problems.find(f"nonsmooth/{entry['name']}")[0]()
    oracle, optimum = instance.oracle, instance.optimum
    size = str(oracle.domain.dimension)
    rtol = 1e-6 if abs(optimum) > 1e-6 else 0.0
    for generator in (LevelSet(), AnalyticCenter(), ProximalBundle(), Kelley(), Ellipsoid()):
        yield partial(run, entry["name"], size, optimum, oracle, generator, rtol, seconds, instance.start, 1e-6 - rtol)


def known_of(entry):
    """The optimum of an entry, or the word that it has none."""
    return entry["resolved"] if entry.get("status", "optimal") == "optimal" else entry["status"]


def peer_of(kind, entry):
    """What a solver made for this kind of problem says of it, in words."""
    if kind == "nonsmooth":
        instance = problems.find(f"nonsmooth/{entry['name']}")[0]()
        return ellalgo_on(instance.oracle, instance.start, instance.optimum, 1e-6 * max(1.0, abs(instance.optimum)))
    if kind == "lp":
        return in_words("HiGHS", highs_on_rows(linear_program(entry).problem), known_of(entry), 1e-6)
    if kind == "qp":
        return in_words("Clarabel", clarabel_on(quadratic_program(entry).problem), known_of(entry), 1e-6)
    if kind == "sdp":
        return fastest_sdpa_program(path_in_folder("sdp", entry["file"], needed=entry["name"]), known_of(entry), 1e-5)
    problem, samples, known = scenarios_of(entry)
    drawn = problem.all_scenarios() if samples is None else problem.sample(samples, 0)
    return in_words("HiGHS", highs_on_scenarios(problem, *drawn), known if samples is None else "sampled", 1e-6)


def summary(rows):
    """What rows come to, a line each method; calls are of the runs that ended as asked."""
    found = {}
    for cells in rows:
        form = " as largest eigenvalue" * (" as largest eigenvalue" in cells[0])
        found.setdefault(f"`{cells[-2]}`{form}", []).append(dict(zip(HEADINGS, cells, strict=True)))
    for name, runs in found.items():
        calls = [int(one["calls"]) for one in runs if one["ended"].startswith(REACHED)]
        few = (f"{median(calls):g}", max(calls)) if calls else ("-", "-")
        seconds = sum(float(one["seconds"]) for one in runs)
        proven = sum(one["certificate"] == "proven" for one in runs)
        yield name, len(runs), len(calls), *few, f"{seconds:.0f}", proven


def main():
    """Print a table a kind of problem."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=60.0, help="limit of each run, default 60")
    options.add_argument("--only", metavar="KIND", help="nonsmooth, lp, qp, sdp or stochastic alone")
    options.add_argument("--renew", action="store_true", help="put the tables into the page, the peers' cells kept")
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
        listed = entries(kind)
        if not listed:
            say(f"{kind}: the folder ORACLE_OPT_PROBLEMS does not hold it, skipped")
            continue
        rows, file = [], DATA / f"problems_{kind}.csv"
        kept = kept_rows(file) if chosen.renew else []
        for entry in listed:
            if chosen.quick and entry["name"] not in QUICK:
                continue
            say(entry["name"])
            known_peers = [cells[-1] for cells in kept if cells[0] == entry["name"]]
            peer = known_peers[0] if known_peers else peer_of(kind, entry)
            for work in rows_of(entry, chosen.seconds):
                try:
                    rows.append((*work(), peer))
                except (InvalidCertificate, Refuted) as refusal:
                    say(f"{entry['name']}: a row is left out, as its certificate is refused: {refusal}")
        if chosen.quick:
            print(f"### {title}\n")
            table(HEADINGS, rows)
            continue
        keep_rows(file, HEADINGS, rows)
        if chosen.renew:
            renew(PAGE, title, SUMMARY, [*summary(rows)])
        else:
            print(f"### {title}\n")
            table(SUMMARY, summary(rows))
            print(f"[All {len(rows)} rows](data/{file.name})\n")


if __name__ == "__main__":
    main()
