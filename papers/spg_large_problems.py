"""Sums of kernels on many points, or of many kernels, as Jain et al. (2012) run SPG-GMKL on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import thread_time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.datasets import Dataset
from oracle_opt.oracles import GMKLOracle, LpRegularizer, MKLOracle, RBFBank
from oracle_opt.oracles.mkl.solve_mkl import STEPS_A_POINT
from oracle_opt.problems import Instance
from papers.experiment_runs import Recipe
from papers.peak_memory import forget_peak, peak
from papers.repetitions import Options
from papers.sets import sets_of, standardized

C = 100.0
MEMORY_BUDGET = 1 << 28  # from 5,800 points on no combined kernel
FEW = 50  # kernels
MANY_COLUMNS = 1000  # sparse points of more are taken as they are
OF_ORTHANT, OF_DUAL, OF_SIMPLEX = "from random weights", "from the dual's start", "on the simplex"
QUICK_KERNELS = 20


@dataclass(frozen=True)
class LargeSet:
    """A set of the paper's Table 1.

    Attributes
    ----------
    name : str
        What `load` calls it.
    n_kernels : int
        Of its sums.
    of_features : bool
        Whether there are evenly many kernels on each feature alone; else all are on all features.
    """

    name: str
    n_kernels: int
    of_features: bool = False


LARGE = {
    "Adult-9": LargeSet("a9a", 50),
    "Web-8": LargeSet("w8a", 50),
    "KDDCup04": LargeSet("kddcup04", 50),
    "Cod-RNA": LargeSet("cod_rna", 50),
    "Real-Sim": LargeSet("real_sim", 25),
    "Covertype": LargeSet("covertype", 5),
    "Sonar20K": LargeSet("sonar", 20_000, of_features=True),
    "Sonar100K": LargeSet("sonar", 100_000, of_features=True),
    "Sonar1M": LargeSet("sonar", 1_000_000, of_features=True),
}
KERNELS = (
    "RBF kernels of unit trace on standardized features, computed on the fly, of widths between quantiles of their "
    "distances: 50 widths on all features (Real-Sim: 25, Covertype: 5), on Sonar evenly many widths on each feature; "
    "the paper does not say which kernels its own are"
)


@dataclass(frozen=True)
class LargeProblem:
    """A sum of kernels on points of a set, under ``1/2 norm(d, p)**2``.

    Attributes
    ----------
    label : str
        What the paper calls the set.
    dataset : Dataset
    n_points, n_kernels : int
    of_features : bool
        As for `LargeSet`.
    p : float
        1 for the l1 norm.
    """

    label: str
    dataset: Dataset
    n_points: int
    n_kernels: int
    of_features: bool
    p: float

    def name(self, form: str = OF_ORTHANT, at: float = C) -> str:
        """Of the instance in one of its forms, with `at` in place of C."""
        kernels = f"{self.n_points} points, {self.n_kernels} kernels"
        return f"{self.dataset.name}, {kernels}, p={self.p:g}, C={at:g}, {form}"

    def recipe(self, options: Options, form: str = OF_ORTHANT, at: float = C) -> Recipe:
        """What makes that instance."""
        arguments = (self.n_points, self.n_kernels, self.of_features, self.p, form, at, options.seed)
        return Recipe(sum_of_kernels, self.dataset, arguments)


def problems_of(
    labels: tuple[str, ...], p: float, options: Options
) -> tuple[list[LargeProblem], list[str], tuple[str, ...]]:
    """The problems on whole sets that are at hand, notes on those that are not, and their labels."""
    sets = sets_of({label: LARGE[label].name for label in labels}, options)
    if options.quick:
        small = [problem(label, data, p, n_kernels=QUICK_KERNELS) for label, data in sets.found]
        return small, sets.notes, sets.absent
    return [problem(label, data, p) for label, data in sets.found], sets.notes, sets.absent


def problem(
    label: str, dataset: Dataset, p: float, *, n_points: int | None = None, n_kernels: int | None = None
) -> LargeProblem:
    """A problem on a set of `LARGE`, or on wdbc in its place; default: all points, the paper's number of kernels."""
    large = LARGE.get(label, LargeSet(dataset.name, QUICK_KERNELS))
    of_features = large.of_features or label == "Sonar"
    return LargeProblem(label, dataset, n_points or dataset.y.size, n_kernels or large.n_kernels, of_features, p)


def sum_of_kernels(
    dataset: Dataset,
    n_points: int,
    n_kernels: int,
    of_features: bool,
    p: float,
    form: str,
    at: float,
    split_seed: int,
    number: int,
) -> Instance:
    """The oracle of a `LargeProblem`, and where runs on it start."""
    rows = np.sort(np.random.default_rng(split_seed).permutation(dataset.y.size)[:n_points])
    Z, y = points_of(dataset, rows), dataset.y[rows]
    each = np.arange(Z.shape[1])
    families = each[:, None] if of_features else each[None]
    measures = {"weight": _weight, **({"peak": _peak} if forget_peak() else {})}
    bank = RBFBank.from_quantiles(Z, n_kernels, families.tolist())
    if form == OF_SIMPLEX:
        return Instance(MKLOracle(bank, y, C=at, memory_budget=MEMORY_BUDGET), measures=measures)
    limit = STEPS_A_POINT * n_points
    oracle = GMKLOracle(bank, y, LpRegularizer(p), C=at, memory_budget=MEMORY_BUDGET, max_steps=limit)
    if form == OF_DUAL:
        assert oracle.domain.problem is not None
        return Instance(oracle, oracle.domain.problem.dual.start(), measures=measures)
    # At most 1, and of about the same sum for many kernels, whose squared norm would be vast.
    drawn = np.random.default_rng((split_seed, number)).random(n_kernels)
    return Instance(oracle, min(1.0, FEW / n_kernels) * drawn, measures=measures, traces={"clock": _clock})


def held_out(
    dataset: Dataset, n_points: int, n_kernels: int, p: float, at: float, split_seed: int, number: int
) -> Instance:
    """The problem on some points, with the share of as many others that its solution labels rightly."""
    order = np.random.default_rng(split_seed).permutation(dataset.y.size)
    train, test = order[:n_points], order[n_points : 2 * n_points]
    Z = points_of(dataset, np.concatenate([train, test]))
    bank = RBFBank.from_quantiles(Z[:n_points], n_kernels, [np.arange(Z.shape[1])])
    oracle = GMKLOracle(bank, dataset.y[train], LpRegularizer(p), C=at)
    start = np.random.default_rng((split_seed, number)).random(n_kernels)
    accuracy = partial(_accuracy, oracle, Z[n_points:], dataset.y[test])
    return Instance(oracle, start, measures={"accuracy": accuracy})


def points_of(dataset: Dataset, rows: NDArray[np.intp]) -> Matrix | sparse.csr_array:
    """Standardized points; sparse ones of many columns, as the words of texts, as they are."""
    if sparse.issparse(dataset.X) and dataset.X.shape[1] > MANY_COLUMNS:
        return sparse.csr_array(dataset.X)[rows]
    (Z,) = standardized(dataset.dense()[rows])
    return Z


def _accuracy(oracle: GMKLOracle, Z: Matrix, y: Vector, cut: ObjectiveCut) -> float:
    return float((oracle.predict(cut, Z) == y).mean())


def _weight(cut: ObjectiveCut) -> float:
    return float(cut.point.sum())


def _peak(cut: ObjectiveCut) -> float:
    return peak()


def _clock(cut: ObjectiveCut) -> float:
    """The processor's clock of the thread that runs: differences of it are seconds of the run."""
    return thread_time()
