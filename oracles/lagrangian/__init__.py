"""Lagrangian relaxation, and four relaxations ready to use."""

from oracle_opt.oracles.lagrangian.dual_cuts import LightCuts
from oracle_opt.oracles.lagrangian.facility_location import FacilityLocationOracle
from oracle_opt.oracles.lagrangian.generalized_assignment import GeneralizedAssignmentOracle
from oracle_opt.oracles.lagrangian.held_karp import HeldKarpOracle
from oracle_opt.oracles.lagrangian.lagrangian_oracle import LagrangianOracle
from oracle_opt.oracles.lagrangian.multicommodity_flow import MulticommodityFlowOracle
from oracle_opt.oracles.lagrangian.recovery import PrimalSolution
from oracle_opt.oracles.lagrangian.relaxed_solution import RelaxedSolution, RoundedSolution
from oracle_opt.oracles.lagrangian.tsplib import read_tsplib

__all__ = [
    "FacilityLocationOracle",
    "GeneralizedAssignmentOracle",
    "HeldKarpOracle",
    "LagrangianOracle",
    "LightCuts",
    "MulticommodityFlowOracle",
    "PrimalSolution",
    "RelaxedSolution",
    "RoundedSolution",
    "read_tsplib",
]
