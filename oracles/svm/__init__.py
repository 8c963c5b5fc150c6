"""Support vector machines solved in Cython, each answer with its duality gap."""

from oracle_opt.oracles.svm.box import SVMSolution, SVMStatus
from oracle_opt.oracles.svm.csvc import solve_csvc
from oracle_opt.oracles.svm.one_class import solve_one_class
from oracle_opt.oracles.svm.svr import solve_svr

__all__ = ["SVMSolution", "SVMStatus", "solve_csvc", "solve_one_class", "solve_svr"]
