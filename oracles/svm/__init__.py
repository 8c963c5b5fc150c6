"""Support vector machines solved in Cython, each answer with its duality gap; MKL solved directly in its dual."""

from oracle_opt.oracles.svm.csvc import SVMSolution, SVMStatus, solve_csvc
from oracle_opt.oracles.svm.losses import EpsilonInsensitive, Hinge, Loss
from oracle_opt.oracles.svm.lp_mkl import solve_lp_mkl, solve_mkl
from oracle_opt.oracles.svm.mkl_problem import MKLProblem, MKLSolver
from oracle_opt.oracles.svm.newton_mkl import NewtonMKL
from oracle_opt.oracles.svm.smo_mkl import SMOMKL

__all__ = [
    "SMOMKL",
    "EpsilonInsensitive",
    "Hinge",
    "Loss",
    "MKLProblem",
    "MKLSolver",
    "NewtonMKL",
    "SVMSolution",
    "SVMStatus",
    "solve_csvc",
    "solve_lp_mkl",
    "solve_mkl",
]
