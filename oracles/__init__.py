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
from oracle_opt.oracles.gmkl import GMKLOracle
from oracle_opt.oracles.kernels import GramBank, ProductBank, uci_bank
from oracle_opt.oracles.max_eigenvalue import MaxEigenvalueOracle
from oracle_opt.oracles.mixed_norm import MixedNormOracle
from oracle_opt.oracles.mkl import MKLOracle
from oracle_opt.oracles.regularisers import ElasticNet, EntropyRegulariser, LpRegulariser, Regulariser

__all__ = [
    "BendersOracle",
    "Cone",
    "ConicOracle",
    "ElasticNet",
    "EntropyRegulariser",
    "Estimate",
    "Exponential",
    "GMKLOracle",
    "GramBank",
    "Infeasibility",
    "LpRegulariser",
    "MKLOracle",
    "MaxEigenvalueOracle",
    "MixedNormOracle",
    "Nonnegative",
    "PositiveSemidefinite",
    "Power",
    "ProductBank",
    "RandomBlock",
    "Regulariser",
    "SecondOrder",
    "TwoStageProblem",
    "Zero",
    "read_smps",
    "uci_bank",
]
