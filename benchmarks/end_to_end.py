"""Time to a certified optimum of l1-MKL, from the points to the proof, against Kelley's method put together by hand.

    python benchmarks/end_to_end.py [--quick] [--clarabel] [--peer-runs N]

Sonar, ionosphere, wdbc and pima: the first 70 % of ``default_rng(0).permutation``, 13 (d + 1) kernels, C = 100, to a
proven relative gap of 1e-3 and of 1e-6. In turn, in one process on one thread: `NewtonBundle` and `LevelSet`, five
times each, and the two peers of `_kelley.py`. Each run builds its kernels anew, which is timed apart. `--clarabel` adds
the conic form of the whole problem through cvxpy on pima and sonar, which takes minutes; `--quick` runs pima to 1e-3.
"""

from dataclasses import dataclass

import numpy as np
from _kelley import kelley, packed_kernels
from _shared import OPTIMA, Times, median_times, parser, say, table, timed, training_part
from _verified import print_certificates, verified
from threadpoolctl import threadpool_limits

from oracle_opt import minimize
from oracle_opt.generators import LevelSet, NewtonBundle
from oracle_opt.oracles import MKLOracle, uci_bank

C = 100.0
ROUNDS = 5
GENERATORS = (NewtonBundle(), LevelSet())
PEERS = {"Kelley": False, "Kelley, skipping zeros": True}


@dataclass(frozen=True)
class Outcome:
    """One run: times of the kernels and of the rest, calls, bounds, seconds in the oracle and in the generator."""

    kernels: Times
    solve: Times
    calls: int
    lower: float
    upper: float
    oracle: float
    master: float


def ours(generator, X, y, rtol):
    """Run the library."""
    kernels, bank = timed(lambda: uci_bank(X))
    solve, run = timed(lambda: minimize(MKLOracle(bank, y, C=C), generator, rtol=rtol))
    if not run.success:
        raise RuntimeError(f"{generator}: {run.message}")
    verified(run, MKLOracle(bank, y, C=C))
    seconds = run.oracle_seconds, run.generator_seconds
    return Outcome(kernels, solve, run.n_calls, run.lower_bound, run.upper_bound, *seconds)


def peer(skip_zeros, X, y, rtol):
    """Run Kelley by hand."""
    kernels, packed = timed(lambda: packed_kernels(X))
    solve, (calls, lower, upper, seconds) = timed(lambda: kelley(packed, y, C, rtol, skip_zeros))
    return Outcome(kernels, solve, calls, lower, upper, seconds["oracle"], seconds["master"])


def run_in_turn(name, rtol, peer_runs):
    """Run ours and the peers in turn; outcomes by method."""
    X, y = training_part(name)
    outcomes = {type(generator).__name__: [] for generator in GENERATORS} | {method: [] for method in PEERS}
    for turn in range(max(ROUNDS, peer_runs)):
        if turn < ROUNDS:
            for generator in GENERATORS:
                outcomes[type(generator).__name__].append(ours(generator, X, y, rtol))
        if turn < peer_runs:
            for method, skip_zeros in PEERS.items():
                outcomes[method].append(peer(skip_zeros, X, y, rtol))
                say(f"{name} to {rtol:g}: {method} took {outcomes[method][-1].solve.wall:.1f} s")
    return outcomes


def time_rows(name, rtol, outcomes):
    """Rows of the table of times: one a method."""
    medians = {
        method: tuple(median_times([getattr(run, part) for run in runs]) for part in ("solve", "kernels"))
        for method, runs in outcomes.items()
    }
    for method, runs in outcomes.items():
        solve, kernels = medians[method]
        oracle, master = (float(np.median([getattr(run, part) for run in runs])) for part in ("oracle", "master"))
        ratios = []
        for other, other_kernels in (medians[peer] for peer in PEERS):
            ratios.append(f"{other.wall / solve.wall:.1f} / {other.cpu / solve.cpu:.1f}")
            ratios.append(f"{(other.cpu + other_kernels.cpu) / (solve.cpu + kernels.cpu):.1f}")
        yield (
            *(name, f"{rtol:g}", method if method in PEERS else f"`{method}`", runs[0].calls),
            *(f"{solve.wall:.3g}", f"{oracle:.3g} / {master:.3g}", f"{solve.cpu:.3g}", f"{kernels.cpu:.3g}"),
            *(ratios if method not in PEERS else ("", "", "", "")),
        )


def bound_rows(name, rtol, outcomes):
    """Rows of the table of bounds: one a method."""
    least, most = OPTIMA[name]
    for method, runs in outcomes.items():
        lower, upper = max(run.lower for run in runs), min(run.upper for run in runs)
        verdict = "yes" if lower <= most and upper >= least else "NO"
        yield name, f"{rtol:g}", method, f"{lower:.5f}", f"{upper:.5f}", f"{least} .. {most}", verdict


def clarabel(name):
    """Row of the conic form: ``max sum(a) - t`` with ``norm(L_k' (y a))**2 <= 2 t`` for all k, in one cvxpy problem."""
    import cvxpy as cp

    X, y = training_part(name)
    bank = uci_bank(X)
    a, t = cp.Variable(y.size), cp.Variable()
    constraints = [a >= 0, a <= C, y @ a == 0]
    for k in range(bank.n_kernels):
        values, vectors = np.linalg.eigh(bank.combine(np.eye(1, bank.n_kernels, k)[0]))
        kept = values > 1e-10 * values[-1]
        factor = (vectors[:, kept] * np.sqrt(values[kept])).T
        constraints.append(cp.sum_squares((factor * y) @ a) <= 2 * t)
    problem = cp.Problem(cp.Maximize(cp.sum(a) - t), constraints)
    times, _ = timed(lambda: problem.solve(solver=cp.CLARABEL))
    inner = problem.solver_stats.solve_time
    least, most = OPTIMA[name]
    off = max(least - problem.value, problem.value - most, 0.0) / most
    return name, f"{times.wall:.0f}", f"{inner:.0f}", f"{problem.value:.4f}", f"{off:.1e}", problem.status


def main():
    """Print the tables."""
    options = parser(__doc__)
    options.add_argument("--clarabel", action="store_true", help="also the conic form through cvxpy: minutes")
    options.add_argument("--peer-runs", type=int, default=1, help="runs of each peer, up to a minute each")
    chosen = options.parse_args()
    names, tolerances = (["pima"], [1e-3]) if chosen.quick else (list(OPTIMA), [1e-3, 1e-6])
    times, bounds = [], []
    for rtol in tolerances:
        for name in names:
            outcomes = run_in_turn(name, rtol, chosen.peer_runs)
            times += time_rows(name, rtol, outcomes)
            bounds += bound_rows(name, rtol, outcomes)
    columns = ["set", "to", "method", "calls", "seconds", "oracle / master", "CPU seconds", "kernels, CPU seconds"]
    for method in PEERS:
        columns += [f"times faster than {method}: by seconds / by CPU", "with the kernels, by CPU"]
    table(columns, times)
    print("The bounds of those runs, tightest of the repetitions, and the optimum as other solvers certify it:\n")
    table(("set", "to", "method", "lower bound", "upper bound", "optimum", "they overlap"), bounds)
    print_certificates()
    if chosen.clarabel:
        print("The conic form, all kernels at once, Clarabel through cvxpy with its defaults:\n")
        conic = [clarabel(name) for name in (["pima"] if chosen.quick else ["pima", "sonar"])]
        table(("set", "seconds", "of them in Clarabel", "value", "relative distance to the optimum", "status"), conic)
    else:
        print("Not run: the conic form of the whole problem by Clarabel through cvxpy (`--clarabel`; minutes a set).\n")
    print(
        "Not applicable: ellalgo's ellipsoid method, which needs 3.5 to 10 n^2 calls "
        "([small problems](performance_calls.md#small-nonsmooth-problems)), here 50,000 to millions."
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
