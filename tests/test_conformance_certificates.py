"""Every generator on every problem gives a certificate that holds, and whose cuts are answers of the oracle."""

from pathlib import Path

import numpy as np
import pytest
from signed_cuts import Signed
from table import GENERATORS, Entry, sampled
from table_nonsmooth import Problem
from table_problems import PROBLEMS

from oracle_opt import minimize
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.generators import SpectralBundle


def chosen(entry: Entry, problems: list[Problem]) -> list[Problem]:
    """All problems that a generator serves; for variants of one, every fifth."""
    served = [problem for problem in problems if entry.refusal(problem.make()) is None]
    return served[:: 5 if " " in entry.name else 1]


@pytest.mark.parametrize("entry", sampled(GENERATORS), ids=str)
def test_certificates_are_saved_read_and_hold(entry: Entry, tmp_path: Path) -> None:
    path, found = tmp_path / "run.jsonl", 0
    for problem in chosen(entry, PROBLEMS):
        oracle = Signed(problem.make())
        result = minimize(oracle, entry.make(), problem.start, rtol=1e-12, max_calls=8)
        if result.cut is None or not np.isfinite(result.gap):
            continue
        found += 1
        result.certificate().save(path)
        verdict = Certificate.load(path).verify(oracle)
        assert verdict.upper >= result.upper_bound
        size = max(abs(result.upper_bound), abs(result.lower_bound))
        assert verdict.upper <= result.upper_bound + 1e-9 * size
        assert result.lower_bound - 1e-9 * size <= verdict.lower <= result.lower_bound
        made = isinstance(entry.make(), SpectralBundle)  # it makes matrices of its own
        assert verdict.n_given == 0 or made, problem
    assert found


PROVEN = [problem for problem in PROBLEMS if problem.make().witness]


@pytest.mark.parametrize(
    "entry", sampled([entry for entry in GENERATORS if any(not entry.refusal(p.make()) for p in PROVEN)]), ids=str
)
def test_cuts_with_a_witness_are_proven_from_the_data(entry: Entry) -> None:
    """Those of matrices that a method makes, too; each by an oracle that was made anew."""
    for problem in chosen(entry, PROVEN):
        result = minimize(problem.make(), entry.make(), problem.start, rtol=1e-12, max_calls=12)
        if not np.isfinite(result.gap):
            continue
        verdict = result.certificate().verify(problem.make())
        assert verdict.proven, problem
        size = max(abs(result.lower_bound), float(np.nanmax(np.abs(result.history.value))))
        assert result.lower_bound - 1e-9 * size <= verdict.lower <= problem.optimum + problem.accuracy * size
        assert problem.optimum - problem.accuracy * size <= verdict.upper <= result.upper_bound + 1e-9 * size
