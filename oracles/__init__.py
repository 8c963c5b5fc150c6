"""Oracles: convex problems, each seen through the cuts it answers."""

from oracle_opt.oracles.kernels import GramBank, uci_bank
from oracle_opt.oracles.mkl import MKLOracle
from oracle_opt.oracles.mkl_one_class import MKLOneClassOracle
from oracle_opt.oracles.mkl_regression import MKLRegressionOracle

__all__ = ["GramBank", "MKLOneClassOracle", "MKLOracle", "MKLRegressionOracle", "uci_bank"]
