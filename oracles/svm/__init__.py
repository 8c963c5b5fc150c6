"""Support vector machines solved in Cython, each answer with its duality gap."""

from oracle_opt.oracles.svm.csvc import SVMSolution, SVMStatus, solve_csvc

__all__ = ["SVMSolution", "SVMStatus", "solve_csvc"]
