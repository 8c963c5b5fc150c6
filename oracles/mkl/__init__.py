"""Multiple kernel learning: oracles, regularizers, and solvers of the dual."""

from oracle_opt.oracles.mkl.gmkl_oracle import GMKLOracle
from oracle_opt.oracles.mkl.losses import _EpsilonInsensitiveData as EpsilonInsensitive
from oracle_opt.oracles.mkl.losses import _HingeData as Hinge
from oracle_opt.oracles.mkl.losses import _LossData as Loss
from oracle_opt.oracles.mkl.mixed_norm_oracle import MixedNormOracle
from oracle_opt.oracles.mkl.mkl_oracle import MKLOracle
from oracle_opt.oracles.mkl.mkl_problem import MKLProblem, MKLSolver
from oracle_opt.oracles.mkl.newton_mkl import NewtonMKL
from oracle_opt.oracles.mkl.regularizers import ElasticNet, EntropyRegularizer, LpRegularizer, Regularizer
from oracle_opt.oracles.mkl.smo_mkl import SMOMKL
from oracle_opt.oracles.mkl.solve_mkl import solve_lp_mkl, solve_mkl

__all__ = [
    "SMOMKL",
    "ElasticNet",
    "EntropyRegularizer",
    "EpsilonInsensitive",
    "GMKLOracle",
    "Hinge",
    "Loss",
    "LpRegularizer",
    "MKLOracle",
    "MKLProblem",
    "MKLSolver",
    "MixedNormOracle",
    "NewtonMKL",
    "Regularizer",
    "solve_lp_mkl",
    "solve_mkl",
]
