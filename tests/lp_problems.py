"""Solvers and small problems of lp-norm multiple kernel learning for the tests."""

import numpy as np

from oracle_opt.oracles import GramBank
from oracle_opt.oracles.mkl import SMOMKL, NewtonMKL

SOLVERS = [SMOMKL(), NewtonMKL()]


def named(solver):
    return type(solver).__name__


def random_problem(seed, n_kernels=4):
    """A bank, its kernels, labels and targets; kernels of full and of low rank."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 25))
    kernels = []
    for _ in range(n_kernels):
        X = rng.normal(size=(n, int(rng.integers(1, n + 3))))
        kernels.append(X @ X.T / n + 1e-9 * np.eye(n))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return GramBank(kernels), np.array(kernels), y, rng.normal(size=n)
