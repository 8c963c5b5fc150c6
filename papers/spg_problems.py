"""Problems of the paper on SPG-GMKL on its small sets: training parts of folds, starts and C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.datasets import Dataset
from oracle_opt.driver import minimize
from oracle_opt.generators import SPG
from oracle_opt.optional import require
from oracle_opt.oracles import (
    GMKLOracle,
    GramBank,
    LpRegularizer,
    MKLOracle,
    ProductBank,
    Regularizer,
    simplemkl_bank,
    solve_lp_mkl,
)
from oracle_opt.problems import Instance
from oracle_opt.problems.instance import share_of_memory
from papers.floored_norm import FlooredNorm
from papers.sets import fold, rbf_bank, standardized

GRID = (1.0, 10.0, 100.0, 1000.0)
OF_PRODUCTS = 100.0  # C there
P_OF_L1 = 1.1  # whose C stands for that of l1
ADULT_C, ADULT_KERNELS = 10.0, 50

_chosen: dict[tuple[str, float, int, int], float] = {}


def training_part(dataset: Dataset, split_seed: int, number: int) -> tuple[NDArray[np.float64], Vector]:
    """Points and labels of the training part of a fold."""
    train, _ = fold(dataset.y, number, split_seed)
    return dataset.dense()[train], dataset.y[train]


def chosen_C(dataset: Dataset, p: float, split_seed: int, number: int) -> float:
    """C of `GRID` of the best accuracy in 3-fold validation on the training part of a fold, the least of equals.

    Parameters
    ----------
    dataset : Dataset
    p : float
        Of the squared norm of the weights, more than 1.
    split_seed, number : int
        Which fold.
    """
    StratifiedKFold = require("sklearn.model_selection", "learn", "the folds of an experiment").StratifiedKFold
    key = dataset.digest(), p, split_seed, number
    if key not in _chosen:
        X, y = training_part(dataset, split_seed, number)
        right = dict.fromkeys(GRID, 0)
        for train, test in StratifiedKFold(3, shuffle=True, random_state=split_seed).split(X, y):
            bank = simplemkl_bank(X[train], memory_limit=share_of_memory())
            for at in GRID:
                cut = solve_lp_mkl(bank, y[train], at, p, rtol=1e-2).cut
                assert cut is not None
                decisions = bank.cross(X[test], cut.point) @ cut.extras["signed_dual"] + cut.extras["bias"]
                right[at] += int((np.sign(decisions) == y[test]).sum())
        _chosen[key] = max(GRID, key=lambda at: right[at])
    return _chosen[key]


def sum_of_kernels(dataset: Dataset, p: float, floored: bool, split_seed: int, number: int) -> Instance:
    """1/2 norm(d, p)**2 on SimpleMKL's kernels."""
    X, y = training_part(dataset, split_seed, number)
    bank = _simplemkl(X)
    at = chosen_C(dataset, p, split_seed, number)
    return _from_random_weights(GMKLOracle(bank, y, _norm(p, floored), C=at), 1.0, split_seed, number)


def sum_under_l1(dataset: Dataset, split_seed: int, number: int) -> Instance:
    """1/2 sum(d)**2 on SimpleMKL's kernels."""
    X, y = training_part(dataset, split_seed, number)
    at = chosen_C(dataset, P_OF_L1, split_seed, number)
    return _from_random_weights(GMKLOracle(_simplemkl(X), y, LpRegularizer(1.0), C=at), 1.0, split_seed, number)


def sum_on_simplex(dataset: Dataset, split_seed: int, number: int) -> Instance:
    """The same, on the simplex: with C times the sum of the solution's weights, both have the same solution.

    For ``d = s b``, b in the simplex, the machine's dual is ``1 / s`` times that of b with s C in place of C.
    """
    X, y = training_part(dataset, split_seed, number)
    bank, at = _simplemkl(X), chosen_C(dataset, P_OF_L1, split_seed, number)
    weights = minimize(GMKLOracle(bank, y, LpRegularizer(1.0), C=at), SPG(), rtol=1e-4, max_calls=500).point
    assert weights is not None
    return Instance(MKLOracle(bank, y, C=at * float(weights.sum())))


def product_of_kernels(dataset: Dataset, p: float, power: float, split_seed: int, number: int) -> Instance:
    """One RBF kernel a feature."""
    X, y = training_part(dataset, split_seed, number)
    bank = ProductBank.from_points(X)
    regularizer = LpRegularizer(p, power=power) if p == 1.0 else _norm(p, True)
    return _from_random_weights(
        GMKLOracle(bank, y, regularizer, C=OF_PRODUCTS), 2.0 / bank.n_kernels, split_seed, number
    )


def product_on_scaled_features(dataset: Dataset, at: float, split_seed: int, number: int) -> Instance:
    """The same under l1, of another C, on features that are scaled to [-1, 1] and not to deviation 1."""
    X, y = training_part(dataset, split_seed, number)
    low, high = X.min(axis=0), X.max(axis=0)
    kept = low < high
    Z = 2.0 * (X - low)[:, kept] / (high - low)[kept] - 1.0
    bank = ProductBank([np.subtract.outer(values, values) ** 2 for values in Z.T])
    oracle = GMKLOracle(bank, y, LpRegularizer(1.0, power=1.0), C=at)
    return _from_random_weights(oracle, 2.0 / bank.n_kernels, split_seed, number)


def sum_of_few_kernels(dataset: Dataset, p: float, split_seed: int, number: int) -> Instance:
    """1/2 norm(d, p)**2 on 50 RBF kernels on all points."""
    (Z,) = standardized(dataset.dense())
    oracle = GMKLOracle(rbf_bank(Z, ADULT_KERNELS), dataset.y, _norm(p, True), C=ADULT_C)
    return _from_random_weights(oracle, 1.0, split_seed, number)


def _simplemkl(X: NDArray[np.float64]) -> GramBank:
    return simplemkl_bank(X, memory_limit=share_of_memory())


def _norm(p: float, floored: bool) -> Regularizer:
    """The squared norm; with a floored slope, where it has an infinite one at 0."""
    return FlooredNorm(p) if floored and p < 2.0 else LpRegularizer(p)


def _from_random_weights(oracle: GMKLOracle, largest: float, split_seed: int, number: int) -> Instance:
    """Start from weights drawn evenly below the largest."""
    drawn = np.random.default_rng((split_seed, number)).random(oracle.domain.dimension)
    return Instance(oracle, largest * drawn)
