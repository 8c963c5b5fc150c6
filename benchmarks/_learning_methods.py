"""The methods of `learning.py`: each chooses its parameters on the same folds, and is then fitted on all points."""

import warnings
from dataclasses import dataclass
from time import process_time

import numpy as np
from _verified import verified
from sklearn.svm import SVC

from oracle_opt import minimize
from oracle_opt.learn import MKLClassifierCV
from oracle_opt.oracles import GramBank, KernelList, MKLOracle, PrecomputedKernels
from oracle_opt.oracles.svm import solve_csvc

CS = (0.1, 1.0, 10.0, 100.0)
# Of MKLpy's own example of choosing lam by cross-validation; 0 and 0.01 make it solve its problem by CVXOPT.
LAMBDAS = (0.0, 0.01, 0.1, 0.2, 0.9, 1.0)
MKL_GAP = 1e-3
SCREENED = 10  # single kernels that are tried with every C
USED = 1e-3  # a kernel is used if its weight is above this share of the largest
SVC_OPTIONS = {"kernel": "precomputed", "cache_size": 500}


@dataclass(frozen=True)
class Split:
    """Kernels of mean diagonal 1 on the training points, (p, n, n); labels; folds; kernels to the test points."""

    kernels: np.ndarray
    y: np.ndarray
    folds: list
    cross: object
    y_test: np.ndarray

    def part(self, rows, columns):
        """All kernels between some points."""
        found = np.empty((len(self.kernels), len(rows), len(columns)))
        for K, into in zip(self.kernels, found, strict=True):
            into[:] = K[np.ix_(rows, columns)]
        return found


@dataclass(frozen=True)
class Found:
    """What a method ended at: its weights of sum 1, test accuracy, cost, and what cross-validation chose."""

    weights: np.ndarray
    accuracy: float
    seconds: float
    svms: int
    C: float

    @property
    def n_kernels(self):
        """Kernels of more than 1e-3 times the largest weight."""
        return int((self.weights > USED * self.weights.max()).sum())


def weighted(kernels, weights):
    """Sum of the kernels that have a weight."""
    used = np.flatnonzero(weights)
    total = np.zeros(kernels[0].shape)
    for k in used:
        total += weights[k] * kernels[k]
    return total


def chosen(scores, grid):
    """The parameters of the best mean score over the folds; of equal ones the first of the grid."""
    return grid[int(np.argmax(np.mean(scores, axis=0)))]


def right(decisions, y):
    """Share of the points whose label is the sign of the decision value."""
    return float((np.where(decisions >= 0, 1.0, -1.0) == y).mean())


def svc(K, y, C):
    """scikit-learn's support vector machine on a precomputed kernel."""
    return SVC(C=C, **SVC_OPTIONS).fit(K, y)


def mkl(split, norm):
    """`MKLClassifierCV` of this library, on row indices of the kernels; the machine of its weights predicts."""
    began = process_time()
    recipe = KernelList([PrecomputedKernels(split.kernels)], normalize=None)
    model = MKLClassifierCV(recipe, Cs=CS, cv=split.folds, norm=norm, rtol=MKL_GAP)
    model.fit(np.arange(len(split.y))[:, None], split.y)
    w = model.weights_
    machine = solve_csvc(weighted(split.kernels, w), split.y, model.C_, check=False)
    accuracy = right(split.cross(w) @ machine.signed_dual + machine.bias, split.y_test)
    svms = model.n_search_calls_ + model.n_calls_ + 1
    return Found(w / w.sum(), accuracy, process_time() - began, svms, model.C_)


def average(split):
    """A support vector machine on the mean of the kernels."""
    began = process_time()
    w = np.full(len(split.kernels), 1.0 / len(split.kernels))
    K = weighted(split.kernels, w)
    scores = [[_score(K, split.y, C, *fold) for C in CS] for fold in split.folds]
    C = chosen(scores, CS)
    accuracy = svc(K, split.y, C).score(split.cross(w), split.y_test)
    return Found(w, accuracy, process_time() - began, len(split.folds) * len(CS) + 1, C)


def _score(K, y, C, train, valid):
    return svc(K[np.ix_(train, train)], y[train], C).score(K[np.ix_(valid, train)], y[valid])


def single(split):
    """One kernel: all of them are tried with C = 1, the best ten with every C."""
    began = process_time()
    at_one = [[_score(K, split.y, 1.0, *fold) for K in split.kernels] for fold in split.folds]
    best = np.argsort(-np.mean(at_one, axis=0), kind="stable")[:SCREENED]
    grid = [(k, C) for k in best.tolist() for C in CS]
    scores = [[_score(split.kernels[k], split.y, C, *fold) for k, C in grid] for fold in split.folds]
    k, C = chosen(scores, grid)
    w = np.eye(len(split.kernels))[k]
    accuracy = svc(split.kernels[k], split.y, C).score(split.cross(w), split.y_test)
    svms = len(split.folds) * (len(split.kernels) + len(grid)) + 1
    return Found(w, accuracy, process_time() - began, svms, C)


def easy_mkl(split):
    """MKLpy's EasyMKL, lam and the C of its support vector machine by cross-validation; None without the package.

    Its weights do not depend on C: they are computed once for each lam and fold, by its `combine_kernels`.
    """
    try:
        import torch
        from MKLpy.algorithms import EasyMKL
    except ImportError:
        return None
    torch.set_num_threads(1)
    began, svms = process_time(), 0
    grid = [(lam, C) for lam in LAMBDAS for C in CS]

    def combined(kernels, y, lam):
        tensors = [torch.from_numpy(K) for K in kernels]
        with warnings.catch_warnings():  # PyTorch warns of the transpose of a vector, which it will refuse one day
            warnings.filterwarnings("ignore", "The use of `x.T`")
            solution = EasyMKL(lam=lam, learner=SVC(**SVC_OPTIONS)).combine_kernels(tensors, torch.from_numpy(y))
        return solution.weights.numpy(), solution.ker_matrix.numpy()

    scores = []
    for train, valid in split.folds:
        within, between, row = split.part(train, train), split.part(valid, train), []
        for lam in LAMBDAS:
            w, K = combined(within, split.y[train], lam)
            K_valid = weighted(between, w)
            row += [svc(K, split.y[train], C).score(K_valid, split.y[valid]) for C in CS]
            svms += 1 + len(CS)
        scores.append(row)
    lam, C = chosen(scores, grid)
    w, K = combined(split.kernels, split.y, lam)
    w = w.astype(float) / float(w.sum())
    accuracy = svc(K, split.y, C).score(split.cross(w), split.y_test)
    return Found(w, accuracy, process_time() - began, svms + 2, C)


METHODS = {
    "MKL, norm 1": lambda split: mkl(split, 1),
    "MKL, norm 2": lambda split: mkl(split, 2),
    "EasyMKL": easy_mkl,
    "SVC, average": average,
    "SVC, one kernel": single,
}


def optimum(split, C):
    """Proven lower and upper bound of the least objective of l1-MKL."""
    oracle = MKLOracle(GramBank(split.kernels, check=False), split.y, C=C)
    result = minimize(oracle, rtol=1e-5)
    verified(result, oracle)
    return result.lower_bound, result.upper_bound


def objective(split, weights, C):
    """The objective of l1-MKL at weights of the simplex: the value of their support vector machine, from below."""
    return solve_csvc(weighted(split.kernels, weights), split.y, C, check=False).dual_objective


def best_single(split, C):
    """The least objective of a kernel alone, from below."""
    return min(solve_csvc(K, split.y, C, accuracy=1e-4, check=False).dual_objective for K in split.kernels)
