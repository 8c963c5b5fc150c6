"""lp-MKL with kernels that are computed when they are needed: seconds, memory, and what a bank made beforehand saves.

    ORACLE_OPT_DATA=folder-with-the-data-sets python benchmarks/on_the_fly.py [--quick]

Prints a Markdown table; progress goes to stderr. C = 100, lambda = 1, to a proven relative gap of 1e-3; RBF kernels of
unit trace on standardized features, of widths between quantiles of their distances. Each row is measured in a process
of its own: processor seconds of one thread in `solve_lp_mkl` (the bank is made before), peak resident memory of the
whole process (Linux), Python, libraries and data included. The ratio is to the seconds of the same solver on the same
kernels in a `GramBank`, in one more process, where one copy of them takes at most GRAM_BYTES.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from time import thread_time

import numpy as np
from _shared import parser, resident, say, table
from _verified import counted, print_certificates, verified
from threadpoolctl import threadpool_limits

from oracle_opt.datasets import load
from oracle_opt.errors import DataUnavailable
from oracle_opt.oracles import GMKLOracle, GramBank, LpRegularizer, RBFBank
from oracle_opt.oracles.mkl import SMOMKL, NewtonMKL, solve_lp_mkl

RTOL = 1e-3
GRAM_BYTES = 1 << 30
SOLVERS = {"SMO-MKL": SMOMKL(), "Newton": NewtonMKL()}
LABELS = {"a9a": "Adult", "w8a": "Web", "sonar": "Sonar"}
SINGLES, HALVES = "all features, then each", "random halves of the features"
HEADINGS = ("problem", "kernels", "of", "p", "solver", "s", "peak, GiB", "gap", "steps", "in a GramBank, s", "ratio")


@dataclass(frozen=True)
class Problem:
    """A data set, the number of its points that are used (None: all), kernels, an exponent and a solver."""

    name: str
    n_points: int | None
    n_kernels: int
    features: str
    p: float
    solver: str


def problems(quick):
    """All rows, the small ones first."""
    if quick:
        yield Problem("sonar", None, 300, SINGLES, 1.33, "Newton")
        yield Problem("a9a", 300, 50, SINGLES, 1.33, "SMO-MKL")
        return
    for n_kernels in (1_000, 10_000, 100_000):
        for p in (1.33, 2.0):
            for solver in SOLVERS:
                if (n_kernels, p, solver) != (100_000, 1.33, "SMO-MKL"):  # the longest, as long as all of Adult
                    yield Problem("sonar", None, n_kernels, SINGLES, p, solver)
    yield Problem("sonar", None, 1_000_034, SINGLES, 1.33, "Newton")  # 61 families of 16,394 widths
    for name, sizes in (("a9a", (2_000, 8_000, None)), ("w8a", (None,))):
        for n_points in sizes:
            for p in (1.33, 2.0):
                yield Problem(name, n_points, 50, SINGLES, p, "SMO-MKL")
    for n_points in (2_000, 4_000):
        yield Problem("a9a", n_points, 50, HALVES, 1.33, "SMO-MKL")


def make_bank(problem):
    """The kernels on the fly, and the labels."""
    dataset = load(problem.name, download=False)
    chosen = np.random.default_rng(0).permutation(len(dataset.y))[: problem.n_points]
    X, y = dataset.dense()[chosen], dataset.y[chosen]
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    features = None
    if problem.features == HALVES:
        rng = np.random.default_rng(0)
        features = [rng.permutation(X.shape[1])[: X.shape[1] // 2] for _ in range(problem.n_kernels)]
    return RBFBank.from_quantiles(X, problem.n_kernels, features), y


def in_gram_bank(bank):
    """The same kernels, made beforehand."""
    every = np.arange(bank.n_points)
    kernels = np.empty((bank.n_kernels, bank.n_points, bank.n_points))
    for i in every:
        kernels[:, i] = bank.entries([i], every)[0].T
    return GramBank(kernels, check=False)


def measure(problem, made_beforehand):
    """Solve once; print what came of it."""
    bank, y = make_bank(problem)
    if made_beforehand:
        bank = in_gram_bank(bank)
    start = thread_time()
    result = solve_lp_mkl(bank, y, p=problem.p, rtol=RTOL, solver=SOLVERS[problem.solver])
    seconds = thread_time() - start
    if not result.success:
        raise SystemExit(f"{problem}: {result}")
    found = {
        "s": seconds,
        "peak": resident("VmHWM") / 2**30,
        "gap": result.relative_gap,
        "steps": result.cut.extras["n_steps"],
    }
    certificate = verified(result, GMKLOracle(bank, y, LpRegularizer(problem.p), C=100.0))
    print(json.dumps(found | {"n": bank.n_points, "value": result.upper_bound, "certificate": certificate}))


def measured(problem, kind):
    """Have a process of its own measure it."""
    command = [sys.executable, __file__, f"--{kind}", json.dumps(asdict(problem))]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    counted(found["certificate"])
    return found


def row(problem):
    """One row of the table."""
    found = measured(problem, "row")
    n, gram, ratio = found["n"], "", ""
    if 8 * problem.n_kernels * n * (n + 1) // 2 <= GRAM_BYTES:
        other = measured(problem, "gram")
        apart = abs(other["value"] - found["value"]) / abs(found["value"])
        if apart > RTOL:
            raise SystemExit(f"{problem}: values {found['value']} and {other['value']} are further apart than the gap")
        gram, ratio = f"{other['s']:.3g}", f"{found['s'] / other['s']:.1f}"
    steps = found["steps"] if problem.solver == "SMO-MKL" else ""
    figures = f"{found['s']:.3g}", f"{found['peak']:.2f}", f"{found['gap']:.0e}", steps, gram, ratio
    label = f"{LABELS[problem.name]}, {n:,} points"
    cells = label, f"{problem.n_kernels:,}", problem.features, f"{problem.p:g}", problem.solver, *figures
    say(" | ".join(map(str, cells)))
    return cells


def at_hand(name):
    """Whether the data set is there; if not, tell why."""
    try:
        load(name, download=False)
    except DataUnavailable as reason:
        print(f"Left out: {LABELS[name]}, as {str(reason).partition('. ')[0]}\n")
        return False
    return True


def main():
    """Print the table."""
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--row", metavar="PROBLEM", help="measure this one alone, in this process")
    options.add_argument("--gram", metavar="PROBLEM", help="the same, with the kernels made beforehand")
    chosen = options.parse_args()
    if chosen.row or chosen.gram:
        measure(Problem(**json.loads(chosen.row or chosen.gram)), bool(chosen.gram))
        return
    rows = list(problems(chosen.quick))
    there = [name for name in LABELS if name in {problem.name for problem in rows} and at_hand(name)]
    table(HEADINGS, [row(problem) for problem in rows if problem.name in there])
    print_certificates()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
