"""Picard et al. (2012): sums and products of one Gaussian a feature, and the choice of C, which they do not state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from oracle_opt import minimize
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.datasets import Dataset, split_points
from oracle_opt.errors import InvalidData
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import LBFGS, SPG, FixedPoint, LevelSet, QuasiNewton, ReducedGradient
from oracle_opt.optional import require
from oracle_opt.oracles import GMKLOracle, GramBank, LpRegularizer, MKLOracle, ProductBank, Regularizer
from oracle_opt.problems import Instance
from oracle_opt.problems.instance import Measure
from oracle_opt.problems.mkl import share_right
from oracle_opt.study.results import Results
from papers.experiment_runs import Recipe, run_study
from papers.repetitions import Options
from papers.sets import standardized
from papers.stopping_rules import UntilPlateau

CONSTANTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 3
PLATEAU, EARLY = 1e-4, 1e-2  # the paper's epsilon on the relative fall of the objective, which it does not print
MAX_CALLS, MAX_CALLS_OF_SIMPLEMKL = 500, 5000
RTOL, TIGHT = 5e-3, 1e-4
SPLITS = 10
COLUMNS = (
    "MKL is `ReducedGradient` on the sum of a Gaussian exp(-gamma (x - x')**2) of each of the M features, gamma = 1/M, "
    f"to a proven relative gap of {RTOL:g} in at most {MAX_CALLS_OF_SIMPLEMKL} SVMs. QN-PKL is `QuasiNewton` and "
    "L-BFGS the projected `LBFGS` on the product of these Gaussians without a regularizer, from gammas of 1/M until a "
    f"step gains less than {PLATEAU:g} of the objective"
)
LIMITS = (
    f"Other runs take at most {MAX_CALLS} SVMs. Features are scaled to [0, 1] by the training part, 70 % of the "
    f"points. C is one of {', '.join(f'{C:g}' for C in CONSTANTS)}, for each method and split by {FOLDS}-fold "
    "cross-validation on the training part (`LevelSet` solves the problems of MKL there)."
)


@dataclass(frozen=True)
class Protocol:
    """What the paper does not state of its experiments, and the random features of its Table 2.

    Attributes
    ----------
    noise : int
        Standard normal features put behind the scaled ones.
    C : float or None
        None: that of `CONSTANTS` with the most right labels in cross-validation, for each method and split.
    standardize : bool
        Whether features get mean 0 and deviation 1; else the training part is scaled to [0, 1].
    """

    noise: int = 0
    C: float | None = None
    standardize: bool = False

    def __str__(self) -> str:
        """Words for what differs from the default, as they stand behind the name of a set."""
        words = ["standardized"] * self.standardize + ([] if self.C is None else [f"C = {self.C:g}"])
        return "".join(f", {word}" for word in words)


@dataclass(frozen=True)
class Points:
    """Training and test points of a split, scaled, and their labels."""

    train: Matrix
    y: Vector
    test: Matrix
    truth: Vector


class Unregularized(Regularizer):
    """r = 0: the paper has no regularizer."""

    convex = True

    def value(self, d: Vector) -> float:
        """Return 0."""
        return 0.0

    def gradient(self, d: Vector) -> Vector:
        """Zeros."""
        return np.zeros(d.shape)


def _sum(gamma: float | None, points: Points, C: float) -> Instance:
    """A sum of one Gaussian a feature, ``exp(-gamma * (x - x')**2)``; gamma is 1 / M, if it is None."""
    gamma = 1.0 / points.train.shape[1] if gamma is None else gamma
    kernels = [np.exp(-gamma * D) for D in _squares(points.train, points.train)]
    oracle = MKLOracle(GramBank(kernels, check=False), points.y, C=C)
    test = [np.exp(-gamma * D) for D in _squares(points.test, points.train)]
    return Instance(oracle, measures={"accuracy": partial(share_right, oracle, test, points.truth)})


def _product(regularizer: Regularizer, points: Points, C: float) -> Instance:
    """A product of one Gaussian a feature, from the weights 1 / M."""
    bank = ProductBank(_squares(points.train, points.train), check=False)
    oracle = GMKLOracle(bank, points.y, regularizer, C=C, accuracy=1e-6)
    test = list(_squares(points.test, points.train))
    measures: dict[str, Measure] = {"accuracy": partial(share_right, oracle, test, points.truth)}
    return Instance(oracle, np.full(bank.n_kernels, 1.0 / bank.n_kernels), measures=measures)


@dataclass(frozen=True, eq=False)
class GaussianMethod:
    """A column of the tables.

    Attributes
    ----------
    problem : callable
        Makes an `Instance` of points and C.
    generator : QueryPointGenerator
        Does the run.
    chooser : QueryPointGenerator or None
        Does the runs by which C is chosen; None: the generator.
    column : str or None
        What the column is called; None: as the method.
    rtol : float
        Proven relative gap at which a run ends, if one can be proven.
    max_calls : int
        Limit of a run.
    runs : str
        Folder of the runs, which holds those of one gap and limit.
    """

    problem: Callable[[Points, float], Instance]
    generator: QueryPointGenerator
    chooser: QueryPointGenerator | None = None
    column: str | None = None
    rtol: float = RTOL
    max_calls: int = MAX_CALLS
    runs: str = "qnpkl"


_free = partial(_product, Unregularized())
METHODS: dict[str, GaussianMethod] = {
    # LevelSet needs fewer SVMs than SimpleMKL to the same proven gap
    "MKL": GaussianMethod(
        partial(_sum, None),
        ReducedGradient(),
        LevelSet(),
        max_calls=MAX_CALLS_OF_SIMPLEMKL,
        runs="qnpkl-simplemkl",
    ),
    "MKL to 1e-4": GaussianMethod(partial(_sum, None), LevelSet(), column="MKL", rtol=TIGHT, runs="qnpkl-tight"),
    "MKL with gamma = 1": GaussianMethod(partial(_sum, 1.0), LevelSet(), rtol=TIGHT, runs="qnpkl-tight"),
    "QN-PKL": GaussianMethod(_free, UntilPlateau(QuasiNewton(), PLATEAU)),
    "L-BFGS": GaussianMethod(_free, UntilPlateau(LBFGS(), PLATEAU)),
    "GMKL": GaussianMethod(partial(_product, LpRegularizer(1.0, power=1.0)), UntilPlateau(SPG(), PLATEAU)),
    "GMKL under l2": GaussianMethod(partial(_product, LpRegularizer(2.0)), UntilPlateau(SPG(), PLATEAU), column="GMKL"),
    "SVM": GaussianMethod(_free, FixedPoint()),
    "QN-PKL to 1e-2": GaussianMethod(_free, UntilPlateau(QuasiNewton(), EARLY)),
}


def points_of(dataset: Dataset, protocol: Protocol, split_seed: int, number: int) -> Points:
    """Draw a split of 70 % and scale it by its training part, with the random features last."""
    X, y = dataset.dense(), dataset.y
    train, test = split_points(y, split_seed + number)
    scale = standardized if protocol.standardize else to_unit_range
    Z_train, Z_test = scale(X[train], X[test])
    extra = np.random.default_rng((split_seed, number)).normal(size=(y.size, protocol.noise))
    return Points(np.hstack((Z_train, extra[train])), y[train], np.hstack((Z_test, extra[test])), y[test])


def to_unit_range(X: Matrix, *others: Matrix) -> list[Matrix]:
    """Drop the constant columns of X and scale the rest to [0, 1]; the others by the same numbers."""
    kept = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    low, high = X[:, kept].min(axis=0), X[:, kept].max(axis=0)
    return [(Z[:, kept] - low) / (high - low) for Z in (X, *others)]


def chosen(method: GaussianMethod, points: Points, seed: int) -> float:
    """C by cross-validation of the method on the training part; the smallest of equals."""
    StratifiedKFold = require("sklearn.model_selection", "learn", "the folds of an experiment").StratifiedKFold
    Z, y = points.train, points.y
    parts = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(Z, y))

    def right(C: float) -> float:
        count = 0.0
        for fit, held in parts:
            instance = method.problem(Points(Z[fit], y[fit], Z[held], y[held]), C)
            run = minimize(
                instance.oracle, method.chooser or method.generator, instance.start, rtol=RTOL, max_calls=MAX_CALLS
            )
            if run.cut is None:
                raise InvalidData(f"no point was found with C = {C:g}: {run.message}")
            count += instance.measures["accuracy"](run.cut) * len(held)
        return round(count)

    return CONSTANTS[int(np.argmax([right(C) for C in CONSTANTS]))]


def problem_of(dataset: Dataset, method: str, protocol: Protocol, split_seed: int, number: int) -> Instance:
    """Make the problem of a method on a split: test accuracy, and share of the weights on features that are not random.

    Parameters
    ----------
    dataset : Dataset
    method : str
        One of `METHODS`.
    protocol : Protocol
    split_seed, number : int
        Seed of the experiment, and number of the split.

    Returns
    -------
    Instance
        It measures `accuracy` and `true_share`.
    """
    points = points_of(dataset, protocol, split_seed, number)
    C = chosen(METHODS[method], points, split_seed + number) if protocol.C is None else protocol.C
    instance = METHODS[method].problem(points, C)
    true = points.train.shape[1] - protocol.noise
    shares: dict[str, Measure] = {"true_share": lambda cut: float(cut.point[:true].sum() / cut.point.sum())}
    return Instance(instance.oracle, instance.start, measures={**instance.measures, **shares})


def _squares(A: Matrix, B: Matrix) -> NDArray[np.float64]:
    """Squared differences of the points in each feature, (p, m, n)."""
    squares: NDArray[np.float64] = (A.T[:, :, None] - B.T[:, None, :]) ** 2
    return squares


def study_of(options: Options, method: str, instances: Mapping[str, Recipe], splits: int, notes: list[str]) -> Results:
    """Do the runs of a method, one of `METHODS`, on some instances; runs that fail are noted."""
    known = METHODS[method]
    results, failed = run_study(
        options,
        known.runs,
        instances,
        {method: known.generator},
        range(splits),
        rtol=known.rtol,
        max_calls=known.max_calls,
    )
    notes += failed
    return results
