"""Support vector machines solved in Cython, each answer with its duality gap."""

from oracle_opt.oracles.svm.box_dual import SVMSolution, SVMStatus
from oracle_opt.oracles.svm.csvc import solve_csvc
from oracle_opt.oracles.svm.one_class import solve_one_class
from oracle_opt.oracles.svm.svr import solve_svr

__all__ = ["SVMSolution", "SVMStatus", "solve_csvc", "solve_one_class", "solve_svr"]


def __getattr__(name: str) -> object:
    """Find `solve_lp_mkl` of `oracle_opt.oracles` here, too; it builds on this package and is loaded when asked for."""
    if name == "solve_lp_mkl":
        from importlib import import_module

        return import_module("oracle_opt.oracles.mkl").solve_lp_mkl
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
