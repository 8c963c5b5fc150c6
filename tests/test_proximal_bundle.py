"""The proximal bundle method, and its peers, on a stochastic program with a cut per scenario."""

import os
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Status, minimize, problems
from oracle_opt.generators import Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import BendersOracle, ConicOracle, read_smps


@pytest.mark.campaign(3)
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


@pytest.mark.parametrize("seed", range(6))
def test_a_radius_that_stands_in_for_no_bound_is_no_scale(seed):
    """Geometric programs: x is bounded closely, the variables of the exponential cones by a radius of 1e4."""
    rng = np.random.default_rng(seed)
    x = cp.Variable(2)
    pieces = cp.hstack([rng.normal(size=2) @ x - rng.uniform(0.5, 1.5) for _ in range(3)])
    program = cp.Problem(cp.Minimize(rng.normal(size=2) @ x), [cp.log_sum_exp(pieces) <= 1, x <= 3, x >= -3])
    known = program.solve(solver=cp.CLARABEL)
    result = minimize(ConicOracle.from_cvxpy(program), ProximalBundle(), max_calls=500)
    assert result.lower_bound <= known + 1e-6 * max(1.0, abs(known))
    assert result.upper_bound == pytest.approx(known, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", ["max-quadratic(n=30)", "two-stage(n=20, summands=10)"])
def test_the_program_for_the_proof_follows_the_cuts_that_are_dropped(name):
    """It is begun anew whenever the pool shrinks: its multipliers stay those of the cuts."""
    make, *_ = problems.find(name)
    instance = make(0)
    known = minimize(instance.oracle, LevelSet(), instance.start, rtol=1e-5)
    assert known.success
    for max_cuts in (40, 50):
        result = minimize(instance.oracle, ProximalBundle(max_cuts=max_cuts), instance.start, rtol=1e-4, max_calls=400)
        assert result.success
        assert result.lower_bound <= known.upper_bound
        assert result.upper_bound >= known.lower_bound
