"""Recipes of kernels: what users write, fitted on training points into a bank."""

from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_list import KernelList
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe
from oracle_opt.oracles.kernels.recipes.polynomial_kernels import PolynomialKernels

__all__ = ["FittedKernels", "GaussianKernels", "KernelList", "KernelRecipe", "PolynomialKernels"]
