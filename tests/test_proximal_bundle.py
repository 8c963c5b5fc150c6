"""The proximal bundle method, and its peers, on a stochastic program with a cut per scenario."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oracle_opt import Status, minimize
from oracle_opt.generators import Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import BendersOracle, read_smps


@pytest.mark.skipif("ORACLE_OPT_PROBLEMS" not in os.environ, reason="ORACLE_OPT_PROBLEMS names no folder")
@pytest.mark.parametrize("n_summands", [1, 16])
@pytest.mark.parametrize("generator", [ProximalBundle(), LevelSet(), Kelley()], ids=repr)
def test_the_proof_reaches_the_driver_where_bounds_are_far_away(generator, n_summands) -> None:
    """The path through this degenerate program hangs on last digits; the proximal method may stall on it, truly."""
    folder = Path(os.environ["ORACLE_OPT_PROBLEMS"]) / "stochastic"
    problem = read_smps(folder / "4node.cor", folder / "4node.tim", folder / "4node-16.sto")
    result = minimize(BendersOracle(problem, n_summands=n_summands), generator, rtol=1e-6, max_calls=200)
    assert result.lower_bound <= 423.0125 + 1e-6
    assert result.upper_bound >= 423.0125 - 1e-6
    if isinstance(generator, ProximalBundle):
        assert result.success or result.status is Status.STALLED
        assert result.relative_gap <= 0.05
    else:
        assert result.success
