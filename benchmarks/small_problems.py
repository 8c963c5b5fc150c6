"""Oracle calls on small nonsmooth problems: the largest of 20 random affine or quadratic functions on a box.

    python benchmarks/small_problems.py [--quick] [N ...]

``min max_i a_i @ x + b_i + c_i / 2 * |x - z_i|^2`` over [-1, 1]^n for each n given, default 10 30 100, with --quick
10 alone, with data of
`default_rng(0)`: a, b normal, z uniform on [-1, 1], c uniform on [0.5, 2], or 0 for the affine family. Two counts:
calls until the best value is within 1e-6 * max(1, |optimum|) of the optimum as Clarabel finds it through cvxpy, then
calls until the proven gap is that small. Peers: ellalgo, run here if installed, and OBOE 1.0 (proximal ACCPM in C++),
whose counts, to the first criterion, were measured once on the same data and are printed as a reference. The table is
Markdown on the standard output, progress goes to the standard error.
"""

import argparse
import sys
from time import perf_counter

import cvxpy as cp
import numpy as np
from _verified import print_certificates, verified
from threadpoolctl import threadpool_limits

from oracle_opt import Box, FunctionOracle, minimize
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle

TOLERANCE = 1e-6
MAX_CALLS = 2000
MAX_CALLS_ELLIPSOID = 100_000
MAX_SECONDS = 60.0
GENERATORS = {
    "AnalyticCenter()": AnalyticCenter(),
    "AnalyticCenter(proximal=0)": AnalyticCenter(proximal=0.0),
    "LevelSet()": LevelSet(),
    "Kelley()": Kelley(),
    "ProximalBundle()": ProximalBundle(),
    "Ellipsoid()": Ellipsoid(),
}
# Measured once with OBOE 1.0 (coin-or/OBOE, commit bbfdb97): default parameters, Proximal 1, box as variable bounds.
OBOE = {
    ("affine", 10): 18,
    ("affine", 30): 28,
    ("affine", 100): 47,
    ("quadratic", 10): 79,
    ("quadratic", 30): 247,
    ("quadratic", 100): 727,
}


class Pieces:
    """The largest of 20 functions."""

    def __init__(self, family, n):
        rng = np.random.default_rng(0)
        self.n = n
        self.a, self.b = rng.normal(size=(20, n)), rng.normal(size=20)
        self.z, self.c = rng.uniform(-1, 1, size=(20, n)), rng.uniform(0.5, 2, size=20)
        if family == "affine":
            self.c[:] = 0.0

    def __call__(self, x):
        """Value and subgradient."""
        away = x - self.z
        values = self.a @ x + self.b + 0.5 * self.c * (away**2).sum(axis=1)
        i = int(values.argmax())
        return float(values[i]), self.a[i] + self.c[i] * away[i]

    def optimum(self):
        """Minimum by Clarabel on the explicit model."""
        x, t = cp.Variable(self.n), cp.Variable()
        pieces = [
            self.a[i] @ x + self.b[i] + 0.5 * self.c[i] * cp.sum_squares(x - self.z[i]) <= t for i in range(len(self.b))
        ]
        problem = cp.Problem(cp.Minimize(t), [*pieces, x >= -1, x <= 1])
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        return float(problem.value)


def first(reached):
    """Number of the first call that has reached it, or a dash."""
    calls = np.flatnonzero(reached)
    return str(calls[0] + 1) if len(calls) else "-"


def ours(generator, function, optimum):
    """Calls to the optimum, calls to the proof, milliseconds a call."""
    enough = TOLERANCE * max(1.0, abs(optimum))
    oracle = FunctionOracle(function, Box(-np.ones(function.n), np.ones(function.n)))
    limit = MAX_CALLS_ELLIPSOID if isinstance(generator, Ellipsoid) else MAX_CALLS
    result = minimize(oracle, generator, rtol=0, atol=enough, max_calls=limit, max_seconds=MAX_SECONDS)
    verified(result, oracle)
    history = result.history
    upper, lower = np.asarray(history.upper_bound), np.asarray(history.lower_bound)
    milliseconds = 1e3 * float(np.mean(history.generator_seconds))
    return f"{first(upper - optimum <= enough)} / {first(upper - lower <= enough)} ({milliseconds:.2g})"


def ellalgo(function, optimum):
    """Calls of the ellipsoid method of the package ellalgo to the optimum; box violations are cuts without a call."""
    try:
        from ellalgo.ell import Ell
        from ellalgo.ell_config import CutStatus
    except ImportError:
        return "not installed"
    enough = TOLERANCE * max(1.0, abs(optimum))
    ellipsoid, best, calls = Ell(float(function.n), np.zeros(function.n)), np.inf, 0
    began = perf_counter()
    while perf_counter() - began < MAX_SECONDS:
        x = ellipsoid.xc()
        j = int(np.abs(x).argmax())
        if abs(x[j]) > 1:
            normal = np.zeros(function.n)
            normal[j] = np.sign(x[j])
            status = ellipsoid.update_bias_cut((normal, abs(x[j]) - 1))
        else:
            value, slope = function(x)
            calls += 1
            best = min(best, value)
            if best - optimum <= enough:
                return str(calls)
            status = ellipsoid.update_bias_cut((slope, value - best))
        if status != CutStatus.Success:
            break
    return "-"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description="Oracle calls on small nonsmooth problems.")
    parser.add_argument("sizes", type=int, nargs="*", metavar="N", help="numbers of variables")
    parser.add_argument("--quick", action="store_true", help="10 variables alone unless sizes are given")
    given = parser.parse_args()
    sizes = given.sizes or ([10] if given.quick else [10, 30, 100])
    began = perf_counter()
    names = [*(f"`{name}`" for name in GENERATORS), "ellalgo", "OBOE 1.0 (quoted)"]
    print("| |", " | ".join(names), "|")
    print("|---|" + "---|" * len(names))
    for family in ("affine", "quadratic"):
        for n in sizes:
            function = Pieces(family, n)
            optimum = function.optimum()
            cells = []
            for name, generator in GENERATORS.items():
                cells.append(ours(generator, function, optimum))
                print(f"{family} {n} {name}: {cells[-1]}, {perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
            cells += [ellalgo(function, optimum), str(OBOE.get((family, n), "-"))]
            print(f"| {family}, n = {n} |", " | ".join(cells), "|", flush=True)
    print()
    print_certificates()
    print(
        "Calls until the best value is within 1e-6 max(1, |f*|) of the optimum / until the proven gap is that small "
        f'(mean milliseconds between two calls). "-": more than {MAX_CALLS} calls ({MAX_CALLS_ELLIPSOID} for the '
        f"ellipsoid) or {MAX_SECONDS:.0f} s. ellalgo proves nothing, so it has the first count only. OBOE "
        "computes a lower bound, too, but of it the first count alone was taken, once, on the same data (OBOE 1.0 "
        "at its own bbfdb97, Proximal 1); all others are of this run."
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
