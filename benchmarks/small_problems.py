"""Oracle calls on small nonsmooth problems: the largest of 20 random affine or quadratic functions on a box.

    python benchmarks/small_problems.py [N ...]

``min max_i a_i @ x + b_i + c_i / 2 * |x - z_i|^2`` over [-1, 1]^n for each n given, default 10 30 100, with data of
`default_rng(0)`: a, b normal, z uniform on [-1, 1], c uniform on [0.5, 2], or 0 for the affine family. Two counts:
calls until the best value is within 1e-6 * max(1, |optimum|) of the optimum as Clarabel finds it through cvxpy, then
calls until the proven gap is that small. Peers: ellalgo, run here if installed, and OBOE 1.0 (proximal ACCPM in C++),
whose counts, to the first criterion, were measured once on the same data and are printed as a reference.
"""

import sys
from time import perf_counter

import cvxpy as cp
import numpy as np
from threadpoolctl import threadpool_limits

from oracle_opt import Box, FunctionOracle, minimize
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle

TOLERANCE = 1e-6
MAX_CALLS = 2000
MAX_CALLS_ELLIPSOID = 100_000
MAX_SECONDS = 60.0
GENERATORS = (
    AnalyticCenter(),
    AnalyticCenter(proximal=1.0),
    LevelSet(),
    Kelley(),
    ProximalBundle(),
    Ellipsoid(),
)
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
    history = minimize(oracle, generator, rtol=0, atol=enough, max_calls=limit, max_seconds=MAX_SECONDS).history
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
    sizes = [int(word) for word in sys.argv[1:]] or [10, 30, 100]
    began = perf_counter()
    names = [f"`{name}`" for name in ("AnalyticCenter()", "AnalyticCenter(proximal=1.0)", "LevelSet()", "Kelley()")]
    names += ["`ProximalBundle()`", "`Ellipsoid()`", "ellalgo", "OBOE"]
    print("| |", " | ".join(names), "|")
    print("|---|" + "---|" * len(names))
    for family in ("affine", "quadratic"):
        for n in sizes:
            function = Pieces(family, n)
            optimum = function.optimum()
            cells = [ours(generator, function, optimum) for generator in GENERATORS]
            cells += [ellalgo(function, optimum), str(OBOE.get((family, n), "-"))]
            print(f"| {family}, n = {n} |", " | ".join(cells), "|", flush=True)
    print(f"{perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
