"""Oracles: convex problems, each seen through the cuts it answers. A part is loaded when one of its names is used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oracle_opt.oracles.benders import *  # noqa: F403
    from oracle_opt.oracles.composite import Composite as Composite
    from oracle_opt.oracles.conic import *  # noqa: F403
    from oracle_opt.oracles.cvxpy_oracle import CvxpyOracle as CvxpyOracle
    from oracle_opt.oracles.kernels import *  # noqa: F403
    from oracle_opt.oracles.lagrangian import *  # noqa: F403
    from oracle_opt.oracles.max_eigenvalue import MaxEigenvalueOracle as MaxEigenvalueOracle
    from oracle_opt.oracles.mkl import *  # noqa: F403
    from oracle_opt.oracles.risk import *  # noqa: F403

_PARTS = {
    "benders": "BendersOracle CVaR Estimate RandomBlock SecondStageSolutions TwoStageProblem read_smps",
    "composite": "Composite",
    "conic": (
        "Cone ConicOracle ConicProblem Exponential Infeasibility Nonnegative PositiveSemidefinite Power "
        "SecondOrder SemiInfiniteOracle Zero"
    ),
    "cvxpy_oracle": "CvxpyOracle",
    "kernels": (
        "Bank ConstantKernels FittedKernels FunctionKernel GaussianKernels GramBank JoinedBank KeptKernels "
        "KernelBank KernelList KernelRecipe MetricKernel PolynomialBank PolynomialKernels PrecomputedKernels "
        "ProductBank RBFBank ShardedBank SklearnKernel Source SubsetBank simplemkl_bank uci_bank uci_bank_on_the_fly"
    ),
    "lagrangian": (
        "FacilityLocationOracle GeneralizedAssignmentOracle HeldKarpOracle LagrangianOracle LightCuts "
        "MulticommodityFlowOracle PrimalSolution RelaxedSolution RoundedSolution read_tsplib"
    ),
    "max_eigenvalue": "MaxEigenvalueOracle",
    "mkl": (
        "SMOMKL ElasticNet EntropyRegularizer GMKLOracle Groups KernelMachine KernelModel KernelWeightsOracle "
        "LpRegularizer MixedNormOracle MKLOracle MKLProblem MKLSolver NewtonMKL Regularized Regularizer "
        "SharedWeightsOracle SmoothDual WeightDerivative solve_lp_mkl solve_mkl"
    ),
    "risk": "RiskOracle",
    "svm": "",
}
_PART_OF = {name: part for part, names in _PARTS.items() for name in names.split()}
__all__ = sorted(_PART_OF)


def __dir__() -> list[str]:
    return __all__  # what completion offers


if not TYPE_CHECKING:  # where types are checked, each name is known

    def __getattr__(name: str) -> Any:
        if name in _PARTS:
            return import_module(f"{__name__}.{name}")
        if name not in _PART_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_PART_OF[name]}"), name)
