"""Oracles: convex problems, each seen through the cuts it answers."""

from oracle_opt.oracles.gmkl import GMKLOracle
from oracle_opt.oracles.kernels import GramBank, ProductBank, uci_bank
from oracle_opt.oracles.mixed_norm import MixedNormOracle
from oracle_opt.oracles.mkl import MKLOracle
from oracle_opt.oracles.regularisers import ElasticNet, EntropyRegulariser, LpRegulariser, Regulariser

__all__ = [
    "ElasticNet",
    "EntropyRegulariser",
    "GMKLOracle",
    "GramBank",
    "LpRegulariser",
    "MKLOracle",
    "MixedNormOracle",
    "ProductBank",
    "Regulariser",
    "uci_bank",
]
