"""Recipes of kernels: what users write, fitted on training points into a bank."""

from oracle_opt.oracles.kernels.recipes.function_kernel import FunctionKernel
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_list import KernelList
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe
from oracle_opt.oracles.kernels.recipes.list_plan import ConstantKernels
from oracle_opt.oracles.kernels.recipes.metric_kernel import MetricKernel
from oracle_opt.oracles.kernels.recipes.polynomial_kernels import PolynomialKernels
from oracle_opt.oracles.kernels.recipes.precomputed_kernels import PrecomputedKernels
from oracle_opt.oracles.kernels.recipes.sklearn_kernel import SklearnKernel

__all__ = [
    "ConstantKernels",
    "FittedKernels",
    "FunctionKernel",
    "GaussianKernels",
    "KernelList",
    "KernelRecipe",
    "MetricKernel",
    "PolynomialKernels",
    "PrecomputedKernels",
    "SklearnKernel",
]
