"""Prove a gap of every problem of the suite, and write the table that ships with the library, and the certificates.

    ORACLE_OPT_PROBLEMS=folder python tools/prove_problems.py [--seconds S] [--only FAMILY ...] [--above GAP]

`oracle_opt.problems.certify` solves each problem; its run makes the row of `oracle_opt/problems/proven.csv`, and, if it
is small, a file in `tests/problem_certificates`. Rows of problems that are not at hand stay, and so do those of
the same data, unless their gap is above the one given and a smaller one is found; where the minimum is 0 the gap is the
absolute one. `--anew` makes all of them again, as after a change of what a witness is.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from threadpoolctl import threadpool_limits

from oracle_opt import problems
from oracle_opt.arrays import digest
from oracle_opt.errors import InvalidCertificate, Refuted
from oracle_opt.problems import Problem
from oracle_opt.problems.certification import (
    ENDING,
    FOLDER,
    LARGEST,
    TABLE,
    Certified,
    Proof,
    certificate_name,
    read_proofs,
    write_proofs,
)

FAMILIES = problems.families()


def gap_of(problem: Problem, proof: Proof) -> float:
    """Return the gap, relative unless the minimum is 0."""
    return proof.upper_bound - proof.lower_bound if problem.optimum == 0 else proof.gap


def store(problem: Problem, made: Certified) -> int:
    """Keep the file if it is small; return its size."""
    with TemporaryDirectory() as folder:
        written = made.certificate.save(Path(folder) / f"certificate{ENDING}")
        content = written.read_bytes()
    path = FOLDER / certificate_name(problem)
    if len(content) > LARGEST:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return len(content)


def main() -> int:
    """Prove what is missing and write the table after each; return 1 if a certificate was refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of each run, default 30")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=FAMILIES, metavar="FAMILY")
    parser.add_argument("--above", type=float, default=float("inf"), metavar="GAP", help="try those again")
    parser.add_argument("--anew", action="store_true", help="make all again")
    chosen = parser.parse_args()
    began, refused = perf_counter(), 0
    every = {problem.name: problem for family in FAMILIES for problem in problems.suite(family)}
    drawn = [family for family in FAMILIES if isinstance(problems.family(family), problems.Generated)]
    kept = {
        name: proof for name, proof in read_proofs(TABLE).items() if name in every or not name.startswith((*drawn,))
    }
    write_proofs(TABLE, kept)
    for problem in [problem for family in chosen.only for problem in problems.suite(family)]:
        known = read_proofs(TABLE).get(problem.name)
        if known is not None and known.data != digest(problem.identity()):
            known = None
        if known is not None and not chosen.anew and gap_of(problem, known) <= chosen.above:
            continue
        try:
            made = problems.certify(problem, max_seconds=chosen.seconds)
        except (InvalidCertificate, Refuted) as problem_of_run:
            refused += 1
            print(f"REFUSED {problem.name}: {problem_of_run}", file=sys.stderr, flush=True)
            continue
        if known is not None and not chosen.anew and gap_of(problem, known) <= gap_of(problem, made.proof):
            continue
        size = store(problem, made)
        write_proofs(TABLE, read_proofs(TABLE) | {problem.name: made.proof})
        print(f"{made.proof}, {size} bytes, {perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return 1 if refused else 0


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
