"""Prove a gap of every problem of the suite, and write the table that ships with the library.

    ORACLE_OPT_PROBLEMS=folder python tools/prove_problems.py [--seconds S] [--only FAMILY ...] [--above GAP]

Each instance runs with a few generators, one after the other, until one has reached a relative gap of 1e-6 or all are
at their limit; that one, or the run with the smallest gap, makes the row of `oracle_opt/problems/proven.csv`. Rows of
problems that are not at hand stay, and so do those whose data are the same, unless their gap is above the one given
and a smaller one is found; where the minimum is 0 the gap is the absolute one.
"""

from __future__ import annotations

import argparse
import sys
from math import isfinite
from pathlib import Path
from time import perf_counter

from threadpoolctl import threadpool_limits

from oracle_opt import Oracle, QueryPointGenerator, minimize, problems
from oracle_opt.answers.eigenpairs import Eigenpairs
from oracle_opt.arrays import digest
from oracle_opt.errors import CapabilityMismatch
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, SpectralBundle
from oracle_opt.oracles import GMKLOracle, NewtonMKL
from oracle_opt.problems import Problem
from oracle_opt.problems.proven import Proof, read_proofs, write_proofs

TARGET = 1e-6
FAMILIES = problems.families()


def generators(problem: Problem, oracle: Oracle) -> list[QueryPointGenerator]:
    """Return the best first: linear programs by Kelley's vertices, eigenvalues with their vectors."""
    if Eigenpairs in oracle.gives:
        return [SpectralBundle(min_order=40), LevelSet()]
    if problem.family == "lp":
        return [Kelley(), ProximalBundle(), AnalyticCenter()]
    if problem.family == "stochastic":
        return [ProximalBundle(), Kelley(), AnalyticCenter()]
    if problem.family == "sdp":
        return [AnalyticCenter(), LevelSet()]
    if isinstance(oracle, GMKLOracle):
        return [NewtonMKL(), LevelSet()]
    dense = [AnalyticCenter()] if problem.n <= 2000 else []  # a matrix of its size is factorized at each call
    return [LevelSet(), ProximalBundle(), *dense, Kelley()]


def prove(problem: Problem, seconds: float) -> Proof:
    """Return the best of the runs."""
    instance = problem()
    best: Proof | None = None
    known = abs(instance.optimum) if isfinite(instance.optimum) else None
    goal = {"rtol": TARGET} if known is None else {"rtol": 0.0, "atol": TARGET * (known or 1.0)}
    for generator in generators(problem, instance.oracle):
        try:
            result = minimize(instance.oracle, generator, instance.start, **goal, max_calls=20_000, max_seconds=seconds)
        except CapabilityMismatch:
            continue
        bounds = result.upper_bound, result.lower_bound
        proof = Proof(problem.name, digest(problem.identity()), *bounds, result.n_calls, type(generator).__name__)
        if best is None or result.success or proof.gap < best.gap:
            best = proof
        if result.success:
            break
    assert best is not None
    return best


def gap_of(problem: Problem, proof: Proof) -> float:
    """Return the gap, relative unless the minimum is 0."""
    return proof.upper_bound - proof.lower_bound if problem.optimum == 0 else proof.gap


def main() -> None:
    """Prove what is missing and write the table after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of each run, default 30")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=FAMILIES, metavar="FAMILY")
    parser.add_argument("--above", type=float, default=float("inf"), metavar="GAP", help="try those again")
    chosen = parser.parse_args()
    path = Path(__file__).resolve().parents[1] / "oracle_opt" / "problems" / "proven.csv"
    began, listed = perf_counter(), {problem.name for family in FAMILIES for problem in problems.suite(family)}
    drawn = [family for family in FAMILIES if isinstance(problems.family(family), problems.Generated)]
    kept = {
        name: proof for name, proof in read_proofs(path).items() if name in listed or not name.startswith((*drawn,))
    }
    write_proofs(path, kept)
    for problem in [problem for family in chosen.only for problem in problems.suite(family)]:
        known = read_proofs(path).get(problem.name)
        if known is not None and known.data != digest(problem.identity()):
            known = None
        if known is not None and gap_of(problem, known) <= chosen.above:
            continue
        proof = prove(problem, chosen.seconds)
        if known is not None and gap_of(problem, known) <= gap_of(problem, proof):
            continue
        write_proofs(path, read_proofs(path) | {problem.name: proof})
        print(f"{proof}, {perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
