"""Support vector machines solved in Cython, each answer with its duality gap: one solver, and a loss per file."""

from oracle_opt.oracles.svm.asymmetric_epsilon_insensitive import AsymmetricEpsilonInsensitive
from oracle_opt.oracles.svm.csvc import solve_csvc
from oracle_opt.oracles.svm.epsilon_insensitive import EpsilonInsensitive
from oracle_opt.oracles.svm.hinge import Hinge
from oracle_opt.oracles.svm.huber import Huber
from oracle_opt.oracles.svm.least_squares import LeastSquares
from oracle_opt.oracles.svm.logistic import Logistic
from oracle_opt.oracles.svm.loss import Loss
from oracle_opt.oracles.svm.one_class import OneClass
from oracle_opt.oracles.svm.pinball import Pinball
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.oracles.svm.smoothed_hinge import SmoothedHinge
from oracle_opt.oracles.svm.solve_svm import solve_svm
from oracle_opt.oracles.svm.squared_epsilon_insensitive import SquaredEpsilonInsensitive
from oracle_opt.oracles.svm.squared_hinge import SquaredHinge
from oracle_opt.oracles.svm.svm_solution import SVMSolution, SVMStatus
from oracle_opt.oracles.svm.weighted_loss import WeightedLoss

__all__ = [
    "AsymmetricEpsilonInsensitive",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "LeastSquares",
    "Logistic",
    "Loss",
    "OneClass",
    "Pinball",
    "SVMSolution",
    "SVMStatus",
    "Separable",
    "SmoothedHinge",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "WeightedLoss",
    "solve_csvc",
    "solve_svm",
]


def __getattr__(name: str) -> object:
    """Find `solve_lp_mkl` of `oracle_opt.oracles` here, too."""
    if name == "solve_lp_mkl":
        from importlib import import_module

        return import_module("oracle_opt.oracles.mkl").solve_lp_mkl
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
