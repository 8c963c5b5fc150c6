"""Vishwanathan, Sun, Theera-Ampornpunt & Varma (2010), SMO-MKL: what sections 5.2 and 5.3 say it does besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.datasets import Dataset
from oracle_opt.oracles import (
    EntropyRegularizer,
    GMKLOracle,
    GramBank,
    KernelBank,
    LpRegularizer,
    Regularizer,
    simplemkl_bank,
)
from oracle_opt.oracles.mkl.solve_mkl import STEPS_A_POINT, SVM_ACCURACY
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, Loss, OneClass
from oracle_opt.problems import Instance
from oracle_opt.problems.instance import Measure
from oracle_opt.problems.kernel_instance import n_kernels, share_right
from oracle_opt.problems.memory import share_of_memory
from oracle_opt.study.reproduce.common import FOLDS, HARDWARE, QUICK_FEATURES, QUICK_POINTS, fold, sets_of
from oracle_opt.study.reproduce.experiment import Experiment
from oracle_opt.study.reproduce.experiment_runs import Recipe, add_runs, run_study
from oracle_opt.study.reproduce.paper_smo import MAX_CALLS, RTOL, SETS, SOLVERS, VISHWANATHAN, C
from oracle_opt.study.reproduce.repetitions import Options, Reproduced, Tally
from oracle_opt.study.reproduce.smo_findings import of_columns, our_figures

LAMBDAS = (0.1, 1.0, 10.0)
EQUAL = "equal weights"
NORMS = ("p = 1.1", "p = 2")
EPSILON = 0.1
WEIGHTS_OF_LOSS = (10.0, 100.0)
NU = 0.1
N_GENERATED, GENERATED_SEED = 300, 0
OF_FAMILY, RBF_OF_FAMILY = 13, 10  # kernels of `simplemkl_bank` on the same features, and the RBF among them, first


def _problem(bank: KernelBank, y: Vector | None, regularizer: Regularizer, loss: Loss) -> GMKLOracle:
    """Make the problem of `solve_mkl`, with its limits of one support vector machine."""
    steps = STEPS_A_POINT * bank.n_points
    return GMKLOracle(bank, y, regularizer, loss=loss, accuracy=SVM_ACCURACY, max_steps=steps)


def _regularized(bank: KernelBank, new: Any, column: str) -> tuple[KernelBank, Any, Regularizer]:
    """The kernels of a column, new points as their `cross` takes them, and the regularizer.

    Equal weights c / M of M kernels are one kernel, the mean, of weight c; half the squared 2-norm of all is then
    c**2 / (2 M).
    """
    p = bank.n_kernels
    if column == EQUAL:
        equal = np.full(p, 1.0 / p)
        return GramBank([bank.combine(equal)], check=False), bank.cross(new, equal)[None], LpRegularizer(2.0, 1.0 / p)
    kind, _, number = column.rpartition(" ")
    if kind == "KL":
        return bank, new, EntropyRegularizer(float(number), 1.0 / p)
    return bank, new, LpRegularizer(float(number))


def _of_kl(dataset: Dataset, column: str, split_seed: int, number: int) -> Instance:
    """Classification, the 13 (d + 1) kernels of a fold."""
    X, y = dataset.dense(), dataset.y
    train, test = fold(y, number, split_seed)
    bank, new, regularizer = _regularized(simplemkl_bank(X[train], memory_limit=share_of_memory()), X[test], column)
    oracle = _problem(bank, y[train], regularizer, Hinge(C))
    measures: dict[str, Measure] = {
        "accuracy": partial(share_right, oracle, new, y[test]),
        "steps": _steps,
        "n_kernels": n_kernels,
    }
    return Instance(oracle, measures=measures)


def _steps(cut: ObjectiveCut) -> float:
    """Two-variable steps so far."""
    return float(cut.extras["n_steps"])


def _of_regression(dataset: Dataset, column: str, weight: float, split_seed: int, number: int) -> Instance:
    """Regression, the 13 (d + 1) kernels of a fold; targets in standard deviations of those of the training points."""
    from sklearn.model_selection import KFold

    X, y = dataset.dense(), dataset.y
    train, test = list(KFold(FOLDS, shuffle=True, random_state=split_seed).split(X))[number]
    targets = (y - y[train].mean()) / y[train].std()
    bank, new, regularizer = _regularized(simplemkl_bank(X[train], memory_limit=share_of_memory()), X[test], column)
    oracle = _problem(bank, targets[train], regularizer, EpsilonInsensitive(weight, EPSILON))
    measures: dict[str, Measure] = {
        "squared": partial(_squared, oracle, new, targets[test]),
        "absolute": partial(_absolute, oracle, new, targets[test]),
        "n_kernels": n_kernels,
    }
    return Instance(oracle, measures=measures)


def _squared(oracle: GMKLOracle, new: Any, targets: Vector, cut: ObjectiveCut) -> float:
    """Mean squared error over the variance of the targets."""
    return float(((oracle.decision_function(cut, new) - targets) ** 2).mean() / targets.var())


def _absolute(oracle: GMKLOracle, new: Any, targets: Vector, cut: ObjectiveCut) -> float:
    return float(np.abs(oracle.decision_function(cut, new) - targets).mean())


def _of_novelty(dataset: Dataset, column: str, split_seed: int, number: int) -> Instance:
    """One class, the 10 (d + 1) RBF kernels of the points of label 1 of a fold; all others are novelties."""
    X, y = dataset.dense(), dataset.y
    train, test = fold(y, number, split_seed)
    known, held_out = X[train[y[train] > 0]], X[test[y[test] > 0]]
    every = simplemkl_bank(known, memory_limit=share_of_memory())
    rbf = np.flatnonzero(np.arange(every.n_kernels) % OF_FAMILY < RBF_OF_FAMILY)
    new = np.vstack([held_out, X[y < 0]])
    bank, points, regularizer = _regularized(every.subset(rbf), new, column)
    oracle = _problem(bank, None, regularizer, OneClass(NU))
    measures: dict[str, Measure] = {
        "found": partial(_negative, oracle, points, slice(len(held_out), None)),
        "alarms": partial(_negative, oracle, points, slice(len(held_out))),
        "area": partial(_area, oracle, points, len(held_out)),
        "n_kernels": n_kernels,
    }
    return Instance(oracle, measures=measures)


def _negative(oracle: GMKLOracle, new: Any, which: slice, cut: ObjectiveCut) -> float:
    """Share of some of the new points that are taken for novelties."""
    return float((oracle.decision_function(cut, new)[which] < 0).mean())


def _area(oracle: GMKLOracle, new: Any, n_known: int, cut: ObjectiveCut) -> float:
    """Area under the curve of receiver operating characteristics, known points being the first."""
    from sklearn.metrics import roc_auc_score

    values = oracle.decision_function(cut, new)
    return float(roc_auc_score(np.arange(values.size) < n_known, values))


def kl(options: Options) -> Reproduced:
    """Generalized Kullback-Leibler divergence against lp-norms."""
    at_hand = sets_of(SETS, options)
    columns = (*(f"KL {weight:g}" for weight in LAMBDAS), *NORMS)
    rows = {label: (_of_kl, dataset, ()) for label, dataset in at_hand.found}
    quantities = {"seconds": "processor_seconds", "steps": "steps", "accuracy %": "accuracy"}
    compared = [(kind, "KL 1", norm) for kind in ("accuracy %", "kernels", "steps") for norm in NORMS]
    caption = (
        "KL 0.1, KL 1 and KL 10 are `EntropyRegularizer(lambda, 1 / M)` of that lambda for M kernels, the generalized "
        "Kullback-Leibler divergence from equal weights that add up to 1; p = 1.1 and p = 2 are `LpRegularizer(p)`, "
        "lambda = 1. "
        "`Hinge(100)` and the 13 (d + 1) kernels of `simplemkl_bank`."
    )
    return _experiment(options, rows, columns, quantities, compared, caption, [*at_hand.notes], at_hand.absent)


def regression(options: Options) -> Reproduced:
    """Regression by the epsilon-insensitive loss."""
    sets, notes = regression_sets(options)
    rows = {
        f"{label}, C = {weight:g}": (_of_regression, dataset, (weight,))
        for label, dataset in sets
        for weight in WEIGHTS_OF_LOSS
    }
    quantities = {
        "seconds": "processor_seconds",
        "squared error": "squared",
        "absolute error": "absolute",
        "objective": "upper_bound",
    }
    compared = [(kind, norm, EQUAL) for kind in ("squared error", "absolute error") for norm in NORMS]
    compared += [("objective", "p = 2", EQUAL)]
    caption = (
        f"p = 1.1 and p = 2 are `LpRegularizer(p)`, lambda = 1, with `EpsilonInsensitive(C, {EPSILON:g})` and the 13 "
        "(d + 1) "
        "kernels of `simplemkl_bank`; targets in standard deviations of the training targets. Equal weights: the "
        "support "
        "vector regression on the mean of the kernels, whose one weight is learned in the problem of p = 2. Squared "
        "error: "
        "over the variance of the test targets. Diabetes is the set of scikit-learn (442 x 10); Friedman 1, 2, 3 are "
        f"generated by its functions, {N_GENERATED} points each, with noise."
    )
    return _experiment(options, rows, (*NORMS, EQUAL), quantities, compared, caption, notes, ())


def novelty(options: Options) -> Reproduced:
    """Novelty detection by one-class machines."""
    at_hand = sets_of(SETS, options)
    rows = {label: (_of_novelty, dataset, ()) for label, dataset in at_hand.found}
    quantities = {
        "seconds": "processor_seconds",
        "novelties found %": "found",
        "false alarms %": "alarms",
        "area under ROC": "area",
    }
    compared = [
        (kind, norm, EQUAL) for kind in ("novelties found %", "false alarms %", "area under ROC") for norm in NORMS
    ]
    caption = (
        f"p = 1.1 and p = 2 are `LpRegularizer(p)`, lambda = 1, with `OneClass({NU:g})` on the training points of "
        "label 1, and "
        "the 10 (d + 1) RBF kernels of `simplemkl_bank`. Equal weights: the one-class machine on their mean. Novelties "
        "found: "
        "share of the points of label -1 with a negative decision value; false alarms: the same of the test points of "
        "label 1; the area under the curve of both needs no threshold."
    )
    notes = [
        *at_hand.notes,
        "without the polynomial kernels, which take novelties on one side of the data for known points",
    ]
    return _experiment(options, rows, (*NORMS, EQUAL), quantities, compared, caption, notes, at_hand.absent)


def regression_sets(options: Options) -> tuple[list[tuple[str, Dataset]], list[str]]:
    """Sets of regression, and notes on them: their labels are targets, which are real numbers."""
    from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3

    X, y = load_diabetes(return_X_y=True)
    if options.quick:
        X, y = X[:QUICK_POINTS, :QUICK_FEATURES], y[:QUICK_POINTS]
        return [("Diabetes", _targets("Diabetes", X, y))], [
            f"--quick: {QUICK_POINTS} points and {QUICK_FEATURES} features of Diabetes alone"
        ]
    words = {"n_samples": N_GENERATED, "random_state": GENERATED_SEED}
    generated = [
        ("Friedman 1", make_friedman1(noise=1.0, **words)),
        ("Friedman 2", make_friedman2(noise=125.0, **words)),
        ("Friedman 3", make_friedman3(noise=0.1, **words)),
    ]
    return [(name, _targets(name, *points)) for name, points in [("Diabetes", (X, y)), *generated]], []


def _targets(name: str, X: Vector, y: Vector) -> Dataset:
    return Dataset(name, X, y, tuple(f"x{j}" for j in range(X.shape[1])), "regression", "scikit-learn")


def _experiment(
    options: Options,
    rows: Mapping[str, tuple[Any, Dataset, tuple[object, ...]]],
    columns: Sequence[str],
    quantities: Mapping[str, str],
    compared: Sequence[tuple[str, str, str]],
    caption: str,
    notes: list[str],
    absent: tuple[str, ...],
) -> Reproduced:
    """Run each row by each column; the figures, and sentences that compare two columns of a quantity."""
    repeats = min(options.repeats(FOLDS), FOLDS)
    solver, tally = "SMO-MKL", Tally()
    instances = {
        (row, column): Recipe(make, dataset, (column, *arguments, options.seed))
        for row, (make, dataset, arguments) in rows.items()
        for column in columns
    }
    names = {
        key: f"{', '.join(key)} ({recipe.make.__name__.removeprefix('_of_')})" for key, recipe in instances.items()
    }
    results, failed = run_study(
        options,
        "smo",
        {names[key]: recipe for key, recipe in instances.items()},
        {solver: SOLVERS[solver]},
        range(repeats),
        rtol=RTOL,
        max_calls=MAX_CALLS,
    )
    for row, column in instances:
        wanted = {**quantities, "kernels": "n_kernels"}
        add_runs(tally, row, results, names[row, column], wanted, [solver], called=column)
    figures = tally.rows()
    return Reproduced(
        figures,
        (*notes, *failed, HARDWARE),
        caption=f"{caption} All by `SMOMKL(rtol={RTOL:g})`, to a proven relative gap of {RTOL:g} or {MAX_CALLS} calls, "
        f"{repeats} of {FOLDS} folds. Kernels: above 0.001 of the largest weight.",
        findings=of_columns(figures, our_figures(figures), list(rows), compared),
        absent=absent,
    )


EXPERIMENTS = {
    "smo-kl": Experiment(
        "smo",
        "section5.2",
        f"{VISHWANATHAN}, section 5.2",
        'with the generalized KL divergence as regularizer the dual problem "can be optimised straight forwardly using '
        "our "
        'SMO-MKL algorithm once we plug in the gradient and hessian information"; no figure is printed',
        kl,
    ),
    "smo-regression": Experiment(
        "smo",
        "section5.3",
        f"{VISHWANATHAN}, section 5.3",
        'the formulation is easily adapted to "other convex loss functions such as regression, novelty detection, '
        'etc"; SMO '
        'has "a slightly harder time" with the epsilon-insensitive loss, for its absolute values, which double the '
        "variables; "
        "no figure is printed",
        regression,
    ),
    "smo-novelty": Experiment(
        "smo",
        "section5.3",
        f"{VISHWANATHAN}, section 5.3",
        'the formulation is easily adapted to "other convex loss functions such as regression, novelty detection, '
        'etc"; no '
        "figure is printed",
        novelty,
    ),
}
