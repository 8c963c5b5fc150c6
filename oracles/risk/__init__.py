"""Empirical risks: means over rows of data of a convex loss of their scores."""

from oracle_opt.oracles.risk.risk_oracle import RiskOracle

__all__ = ["RiskOracle"]
