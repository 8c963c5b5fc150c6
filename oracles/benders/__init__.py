"""Two-stage stochastic linear programs."""

from oracle_opt.oracles.benders.benders_oracle import BendersOracle, Estimate
from oracle_opt.oracles.benders.random_block import RandomBlock
from oracle_opt.oracles.benders.risk import CVaR
from oracle_opt.oracles.benders.second_stage_solutions import SecondStageSolutions
from oracle_opt.oracles.benders.smps import read_smps
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem

__all__ = ["BendersOracle", "CVaR", "Estimate", "RandomBlock", "SecondStageSolutions", "TwoStageProblem", "read_smps"]
