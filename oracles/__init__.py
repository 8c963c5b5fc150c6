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
from oracle_opt.oracles.kernels import GramBank, uci_bank
from oracle_opt.oracles.max_eigenvalue import MaxEigenvalueOracle
from oracle_opt.oracles.mkl import MKLOracle

__all__ = [
    "BendersOracle",
    "Cone",
    "ConicOracle",
    "Estimate",
    "Exponential",
    "GramBank",
    "Infeasibility",
    "MKLOracle",
    "MaxEigenvalueOracle",
    "Nonnegative",
    "PositiveSemidefinite",
    "Power",
    "RandomBlock",
    "SecondOrder",
    "TwoStageProblem",
    "Zero",
    "read_smps",
    "uci_bank",
]
