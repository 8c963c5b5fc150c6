"""The list of problems as a table: what is known of each, what is proven, and what is not at hand."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

from oracle_opt.problems.certified import stored_certificate
from oracle_opt.problems.generated import Generated
from oracle_opt.problems.instance import Problem
from oracle_opt.problems.lookup import family, missing, suite
from oracle_opt.problems.proven import proof_of

NOT_PROVEN = "-"


class Listing(NamedTuple):
    """One line of the list, in words."""

    name: str
    n: str
    optimum: str
    gap: str
    calls: str
    generator: str
    certificate: str
    source: str


def listings(name: str | None = None) -> list[Listing]:
    """Return a line for each problem of a family, or of all: first those at hand, then the others with the reason."""
    absent = [Listing(known, "", "", "", "", "", "", f"not at hand: {why}") for known, why in missing(name).items()]
    return [_line(problem) for problem in suite(name)] + absent


def _line(problem: Problem) -> Listing:
    proof = proof_of(problem)
    known = problem.optimum
    if not isfinite(known) and isinstance(family(problem.family), Generated):
        known = problem().optimum  # each instance knows its own
    optimum = f"{known:.10g}" if isfinite(known) else NOT_PROVEN
    source = problem.source.partition("; ")[0]
    if proof is None:
        return Listing(problem.name, str(problem.n), optimum, *4 * (NOT_PROVEN,), source)
    # where the minimum is 0 a gap relative to the best value says nothing
    gap = f"{proof.upper_bound - proof.lower_bound:.0e} abs." if known == 0 else f"{proof.gap:.0e}"
    worth = proof.certificate or NOT_PROVEN
    if stored_certificate(problem) is not None:
        worth += ", file"
    return Listing(problem.name, str(problem.n), optimum, gap, str(proof.n_calls), proof.generator, worth, source)
