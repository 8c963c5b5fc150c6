"""Oracles: convex problems, each seen through the cuts it answers."""

from oracle_opt.oracles.benders import BendersOracle, Estimate, RandomBlock, TwoStageProblem, read_smps
from oracle_opt.oracles.conic import (
    Cone,
    ConicOracle,
    Exponential,
    Infeasibility,
    Nonnegative,
    PositiveSemidefinite,
    Power,
    SecondOrder,
    Zero,
)
from oracle_opt.oracles.cvxpy_oracle import CvxpyOracle
from oracle_opt.oracles.kernels import GramBank, uci_bank
from oracle_opt.oracles.lagrangian import (
    FacilityLocationOracle,
    GeneralisedAssignmentOracle,
    HeldKarpOracle,
    LagrangianOracle,
    MulticommodityFlowOracle,
    PrimalSolution,
    RelaxedSolution,
    read_tsplib,
)
from oracle_opt.oracles.max_eigenvalue import MaxEigenvalueOracle
from oracle_opt.oracles.mkl import MKLOracle

__all__ = [
    "BendersOracle",
    "Cone",
    "ConicOracle",
    "CvxpyOracle",
    "Estimate",
    "Exponential",
    "FacilityLocationOracle",
    "GeneralisedAssignmentOracle",
    "GramBank",
    "HeldKarpOracle",
    "Infeasibility",
    "LagrangianOracle",
    "MKLOracle",
    "MaxEigenvalueOracle",
    "MulticommodityFlowOracle",
    "Nonnegative",
    "PositiveSemidefinite",
    "Power",
    "PrimalSolution",
    "RandomBlock",
    "RelaxedSolution",
    "SecondOrder",
    "TwoStageProblem",
    "Zero",
    "read_smps",
    "read_tsplib",
    "uci_bank",
]
