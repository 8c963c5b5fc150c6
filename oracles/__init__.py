"""Oracles: convex problems, each seen through the cuts it answers."""

from oracle_opt.oracles.kernels import GramBank, uci_bank
from oracle_opt.oracles.mkl import MKLOracle

__all__ = ["GramBank", "MKLOracle", "uci_bank"]
