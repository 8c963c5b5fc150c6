"""Two-stage stochastic linear programs."""

from oracle_opt.oracles.benders.oracle import BendersOracle, Estimate
from oracle_opt.oracles.benders.problem import RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders.smps import read_smps

__all__ = ["BendersOracle", "Estimate", "RandomBlock", "TwoStageProblem", "read_smps"]
