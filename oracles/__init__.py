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
from oracle_opt.oracles.gmkl import GMKLOracle
from oracle_opt.oracles.kernels import GramBank, KernelBank, ProductBank, RBFBank, uci_bank
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
from oracle_opt.oracles.mixed_norm import MixedNormOracle
from oracle_opt.oracles.mkl import MKLOracle
from oracle_opt.oracles.mkl_one_class import MKLOneClassOracle
from oracle_opt.oracles.mkl_regression import MKLRegressionOracle
from oracle_opt.oracles.regularisers import ElasticNet, EntropyRegulariser, LpRegulariser, Regulariser

__all__ = [
    "BendersOracle",
    "Cone",
    "ConicOracle",
    "CvxpyOracle",
    "ElasticNet",
    "EntropyRegulariser",
    "Estimate",
    "Exponential",
    "FacilityLocationOracle",
    "GMKLOracle",
    "GeneralisedAssignmentOracle",
    "GramBank",
    "HeldKarpOracle",
    "Infeasibility",
    "KernelBank",
    "LagrangianOracle",
    "LpRegulariser",
    "MKLOneClassOracle",
    "MKLOracle",
    "MKLRegressionOracle",
    "MaxEigenvalueOracle",
    "MixedNormOracle",
    "MulticommodityFlowOracle",
    "Nonnegative",
    "PositiveSemidefinite",
    "Power",
    "PrimalSolution",
    "ProductBank",
    "RBFBank",
    "RandomBlock",
    "Regulariser",
    "RelaxedSolution",
    "SecondOrder",
    "TwoStageProblem",
    "Zero",
    "read_smps",
    "read_tsplib",
    "uci_bank",
]
