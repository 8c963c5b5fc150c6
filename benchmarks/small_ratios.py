"""What a call costs on small problems: seconds of ours over those of a bare loop around HiGHS, the oracle included.

    python benchmarks/small_ratios.py [--quick] [N ...]

The largest of 20 random affine or quadratic functions over [-1, 1]^n, n = 5, 20 and 50 by default, 5 alone with
--quick, to a proven gap of 1e-6, with data of `default_rng(0)`, `(1)` and `(2)`. The bare loop is Kelley's method
written on highspy: a row for each call, no check of an answer, no certificate, a bound that rests on the tolerances of
HiGHS. Ours are whole runs by the defaults: start, driver, proofs, probes, result. Processor seconds a call, medians of
five rounds in one process, in which all methods take turns. The table is Markdown on the standard output.
"""

import argparse
import statistics
from time import process_time

import highspy
import numpy as np
from threadpoolctl import threadpool_limits

from oracle_opt import Box, FunctionOracle, minimize
from oracle_opt._highs_model import silent_highs
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle

SEEDS = 3
ROUNDS = 5
RTOL = 1e-6
MAX_CALLS = 200
METHODS = (Kelley, LevelSet, ProximalBundle, AnalyticCenter)


def largest(family, n, seed):
    """Value and subgradient of the largest of 20 functions."""
    rng = np.random.default_rng(seed)
    slopes, constants = rng.normal(size=(20, n)), rng.normal(size=20)
    centers, curvature = rng.uniform(-1, 1, size=(20, n)), rng.uniform(0.5, 2, size=20) * (family == "quadratic")

    def function(x):
        away = x - centers
        values = slopes @ x + constants + 0.5 * curvature * (away**2).sum(axis=1)
        i = int(values.argmax())
        return float(values[i]), slopes[i] + curvature[i] * away[i]

    return function


def bare(function, n):
    """Kelley's method on highspy alone; how many calls it took."""
    model = silent_highs()()
    for _ in range(n):
        model.addVar(-1.0, 1.0)
    model.addVar(-1e6, highspy.kHighsInf)
    model.changeColCost(n, 1.0)
    columns, z, upper, calls = np.arange(n + 1, dtype=np.int32), np.zeros(n), np.inf, 0
    while calls < MAX_CALLS:
        calls, (value, slope) = calls + 1, function(z)
        upper = min(upper, value)
        model.addRow(value - slope @ z, highspy.kHighsInf, n + 1, columns, np.r_[-slope, 1.0])
        model.run()
        found = np.array(model.getSolution().col_value)
        z = found[:n]
        if upper - found[n] <= RTOL * max(1e-12, abs(upper)):
            break
    return calls


def ours(method, function, n):
    """A run by the defaults; how many calls it took."""
    return minimize(
        FunctionOracle(function, Box(-np.ones(n), np.ones(n))), method(), rtol=RTOL, max_calls=MAX_CALLS
    ).n_calls


def timed(solve, family, n):
    """Processor seconds a call."""
    functions = [largest(family, n, seed) for seed in range(SEEDS)]
    began = process_time()
    calls = sum(solve(function, n) for function in functions)
    return (process_time() - began) / calls


def main():
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("n", nargs="*", type=int)
    given = parser.parse_args()
    solvers = {"bare": bare} | {
        method.__name__: lambda function, n, method=method: ours(method, function, n) for method in METHODS
    }
    print("| largest of 20 functions | bare loop, ms a call |", " | ".join(f"`{one.__name__}`" for one in METHODS), "|")
    print("|---|---|" + "---|" * len(METHODS))
    with threadpool_limits(1):
        for family in ("affine", "quadratic"):
            for n in given.n or ([5] if given.quick else [5, 20, 50]):
                rounds = [{name: timed(solve, family, n) for name, solve in solvers.items()} for _ in range(ROUNDS)]
                found = {name: statistics.median(one[name] for one in rounds) for name in solvers}
                ratios = " | ".join(f"{found[one.__name__] / found['bare']:.1f}" for one in METHODS)
                print(f"| {family}, n = {n} | {1e3 * found['bare']:.2f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
