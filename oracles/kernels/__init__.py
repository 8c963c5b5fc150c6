"""Banks of kernels: many kernels on the same points, and the sums and quadratic forms of them that oracles need."""

from oracle_opt.oracles.kernels.bank import Bank
from oracle_opt.oracles.kernels.base import KeptKernels, KernelBank
from oracle_opt.oracles.kernels.features import KernelKind, KernelSpec, simplemkl_bank, uci_bank, uci_bank_on_the_fly
from oracle_opt.oracles.kernels.gram_bank import GramBank
from oracle_opt.oracles.kernels.joined_bank import JoinedBank
from oracle_opt.oracles.kernels.kept_kernels import CrossKernels
from oracle_opt.oracles.kernels.polynomial_bank import PolynomialBank
from oracle_opt.oracles.kernels.product import ProductBank
from oracle_opt.oracles.kernels.rbf import RBFBank
from oracle_opt.oracles.kernels.recipes.function_kernel import FunctionKernel, SklearnKernel
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_list import KernelList
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe
from oracle_opt.oracles.kernels.recipes.list_plan import ConstantKernels
from oracle_opt.oracles.kernels.recipes.metric_kernel import MetricKernel
from oracle_opt.oracles.kernels.recipes.polynomial_kernels import PolynomialKernels
from oracle_opt.oracles.kernels.recipes.precomputed_kernels import PrecomputedKernels
from oracle_opt.oracles.kernels.sharded_bank import ShardedBank
from oracle_opt.oracles.kernels.source import Source
from oracle_opt.oracles.kernels.subset_bank import SubsetBank

__all__ = [
    "Bank",
    "ConstantKernels",
    "CrossKernels",
    "FittedKernels",
    "FunctionKernel",
    "GaussianKernels",
    "GramBank",
    "JoinedBank",
    "KeptKernels",
    "KernelBank",
    "KernelKind",
    "KernelList",
    "KernelRecipe",
    "KernelSpec",
    "MetricKernel",
    "PolynomialBank",
    "PolynomialKernels",
    "PrecomputedKernels",
    "ProductBank",
    "RBFBank",
    "ShardedBank",
    "SklearnKernel",
    "Source",
    "SubsetBank",
    "simplemkl_bank",
    "uci_bank",
    "uci_bank_on_the_fly",
]
