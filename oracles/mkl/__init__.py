"""Multiple kernel learning: oracles, regularizers, and solvers of the dual."""

from oracle_opt.oracles.mkl.dual_query import DualQuery
from oracle_opt.oracles.mkl.duals import SmoothDual, WeightDerivative
from oracle_opt.oracles.mkl.gmkl_oracle import GMKLOracle
from oracle_opt.oracles.mkl.kernel_machine import KernelMachine
from oracle_opt.oracles.mkl.kernel_model import KernelModel
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle
from oracle_opt.oracles.mkl.mixed_norm_oracle import MixedNormOracle
from oracle_opt.oracles.mkl.mkl_oracle import MKLOracle
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights, MKLProblem
from oracle_opt.oracles.mkl.mkl_solver import MKLSolver
from oracle_opt.oracles.mkl.newton_mkl import NewtonMKL
from oracle_opt.oracles.mkl.regularizer import Regularizer
from oracle_opt.oracles.mkl.regularizers import ElasticNet, EntropyRegularizer, LpRegularizer
from oracle_opt.oracles.mkl.shared_weights_oracle import SharedWeightsOracle
from oracle_opt.oracles.mkl.smo_mkl import SMOMKL
from oracle_opt.oracles.mkl.solve_mkl import solve_lp_mkl, solve_mkl
from oracle_opt.oracles.mkl.weights import Groups, Regularized

__all__ = [
    "SMOMKL",
    "DualQuery",
    "ElasticNet",
    "EntropyRegularizer",
    "GMKLOracle",
    "Groups",
    "KernelMachine",
    "KernelModel",
    "KernelWeights",
    "KernelWeightsOracle",
    "LpRegularizer",
    "MKLOracle",
    "MKLProblem",
    "MKLSolver",
    "MixedNormOracle",
    "NewtonMKL",
    "Regularized",
    "Regularizer",
    "SharedWeightsOracle",
    "SmoothDual",
    "WeightDerivative",
    "solve_lp_mkl",
    "solve_mkl",
]
