"""Every generator keeps the contract that `check_generator` checks."""

import numpy as np
import pytest
from table import GENERATORS, Entry, sampled
from table_problems import PROBLEMS

from oracle_opt import Box, Simplex
from oracle_opt.testing import KnownProblem, check_generator


@pytest.mark.parametrize("entry", sampled(GENERATORS), ids=str)
def test_generator_keeps_the_contract(entry: Entry) -> None:
    """On small problems on a domain of each class, and on one of kernels and one of eigenvalues; variants on two."""
    oracles = [problem for problem in PROBLEMS if problem.name in ("tiny mkl", "max-cut of a cycle")]
    needed = [p for p in oracles if entry.serves(p) and (entry.needs_answer or not entry.variant)]
    problems = [KnownProblem(p.name, p.make(), p.optimum, max(p.accuracy, 1e-7)) for p in needed]
    few = [Simplex(4), Box(-np.ones(2), np.ones(2))] if entry.variant else None
    assert check_generator(entry.make(), problems, domains=few, calls=12)
