"""What it costs to prove a run of Benders' oracle from the data, beside the run: two-stage programs, drawn and public.

    ORACLE_OPT_PROBLEMS=folder python benchmarks/benders_certificates.py [--quick]

Processor seconds of one thread, medians of rounds. "Run" is `minimize(BendersOracle(problem), rtol=1e-6)` with the
oracle's making; "value" is `prove_value` alone, on the oracle of the run, as a driver asks for it at the end; "verify"
is `certificate.verify(oracle)` with a new oracle. Each run's certificate must be proven throughout.
"""

from statistics import median
from time import process_time

import numpy as np
from _shared import parser, say, table
from _verified import print_certificates, verified
from threadpoolctl import threadpool_limits

from oracle_opt import minimize, problems
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem

HEADINGS = ("program", "scenarios", "calls", "run, s", "value, s", "verify, s", "verify / run")
ROUNDS = 3
MOST_SECONDS = 20.0
LARGE = "stochastic/lands-1e6"  # a million scenarios: one round


def transport(scenarios, varying, seed=0):
    """Capacities x of 5 plants, shipped to 8 customers whose demands vary, and perhaps costs; what lacks is bought."""
    rng = np.random.default_rng(seed)
    plants, customers = 5, 8
    ships = plants * customers
    W = np.zeros((plants + customers, ships + customers))
    for i in range(plants):
        W[i, i * customers : (i + 1) * customers] = 1.0
    for j in range(customers):
        W[plants + j, j:ships:customers] = W[plants + j, ships + j] = 1.0
    T = np.vstack([-np.eye(plants), np.zeros((customers, plants))])
    q = np.r_[rng.uniform(1.0, 4.0, ships), np.full(customers, 12.0)]
    demand = rng.uniform(1.0, 9.0, (scenarios, customers))
    what = {"rows": plants + np.arange(customers), "rhs": demand}
    if varying == "demands and costs":
        what |= {"cost_columns": np.arange(6), "cost": rng.uniform(1.0, 4.0, (scenarios, 6))}
    if varying == "demands and recourse":
        what |= {"recourse_entries": [[0, 0], [1, customers]], "recourse": rng.uniform(0.8, 1.2, (scenarios, 2))}
    sides = np.r_[np.full(plants, -np.inf), np.zeros(customers)], np.r_[np.zeros(plants), np.full(customers, np.inf)]
    block = RandomBlock(np.full(scenarios, 1.0 / scenarios), **what)
    return TwoStageProblem(rng.uniform(1.0, 3.0, plants), q, T, W, *sides, [block], x_upper=40.0)


def solved(make):
    """A new oracle, and its run."""
    oracle = make()
    return oracle, minimize(oracle, rtol=1e-6, max_seconds=MOST_SECONDS)


def timed(call, *given):
    """Processor seconds, and what it returns."""
    began = process_time()
    found = call(*given)
    return process_time() - began, found


def row(words, make, rounds):
    """Cells of one program; `make` makes its oracle anew."""
    times = []
    for _ in range(rounds):
        seconds, (oracle, run) = timed(solved, make)
        certificate, again = run.certificate(), make()
        value, _ = timed(oracle.prove_value, certificate.value)
        verify, verdict = timed(certificate.verify, again)
        assert verdict.proven, words
        times.append((seconds, value, verify, verify / seconds))
    verified(run, make())
    seconds, value, verify, ratio = (median(column) for column in zip(*times, strict=True))
    cells = words, f"{len(oracle._stage.probability):,}", run.n_calls
    cells = *cells, f"{seconds:.2g}", f"{value:.2g}", f"{verify:.2g}", f"{ratio:.2f}"
    say(" | ".join(map(str, cells)))
    return cells


def main():
    """Print the table."""
    options = parser(__doc__).parse_args()
    rows = []
    with threadpool_limits(1):
        for varying in ("demands", "demands and costs", "demands and recourse"):
            for scenarios in (10,) if options.quick else (10, 100, 1000):
                problem = transport(scenarios, varying)
                rows.append(row(f"transport, {varying}", lambda problem=problem: BendersOracle(problem), ROUNDS))
        for problem in () if options.quick else (*problems.suite("two-stage"), *problems.suite("stochastic")):
            rounds = 1 if problem.name == LARGE else ROUNDS
            rows.append(row(problem.name, lambda problem=problem: problem().oracle, rounds))
    table(HEADINGS, rows)
    print_certificates()


if __name__ == "__main__":
    main()
