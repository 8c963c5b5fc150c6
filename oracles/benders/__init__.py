"""Two-stage stochastic linear programs."""

from oracle_opt.oracles.benders.benders_oracle import BendersOracle, Estimate
from oracle_opt.oracles.benders.smps import read_smps
from oracle_opt.oracles.benders.two_stage_problem import RandomBlock, TwoStageProblem

__all__ = ["BendersOracle", "Estimate", "RandomBlock", "TwoStageProblem", "read_smps"]
