"""Picard et al. (2012), Figure 1: the weights that sums and products give the features of Sonar."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.datasets import Dataset
from oracle_opt.problems import Instance
from oracle_opt.problems.instance import Measure
from oracle_opt.study.analyses.curves import Curves, points, together
from papers.experiment_runs import Recipe, add_runs
from papers.qnpkl_problems import (
    COLUMNS,
    LIMITS,
    SPLITS,
    TIGHT,
    Protocol,
    problem_of,
    study_of,
)
from papers.repetitions import Options, Reproduced, Tally
from papers.sets import sets_of

LARGEST = 5  # weights whose share is counted
SMALL = 0.01  # of the sum of the weights


def figure1(options: Options) -> Reproduced:
    """The weights of both methods on Sonar."""
    at_hand = sets_of({"Sonar": "sonar"}, options)
    ((label, dataset),) = at_hand.found
    notes, splits, tally = at_hand.notes, options.repeats(SPLITS), Tally()
    parts, spread = [], {}
    for method in ("MKL", "MKL with gamma = 1", "QN-PKL"):
        instances = {f"{label}, weights, {method}": Recipe(weights_of, dataset, (method, options.seed))}
        results = study_of(options, method, instances, splits, notes)
        (instance,) = instances
        quantities = {"five largest %": "largest", "above 1 % of the sum": "above", "effective features": "effective"}
        add_runs(tally, label, results, instance, quantities, [method], always=True)
        runs = results.runs[results.runs["instance"] == instance].sort_values("seed")
        weights = runs[[f"weight {m}" for m in range(dataset.shape[1]) if f"weight {m}" in runs]].to_numpy(dtype=float)
        parts.append(points(label, method, np.arange(1.0, weights.shape[1] + 1), weights[0]))
        spread[method] = runs["effective"].to_numpy(dtype=float)
    fewer = {name: int((spread["QN-PKL"] < spread[name]).sum()) for name in ("MKL", "MKL with gamma = 1")}
    figure = Curves(
        together(parts),
        f"Weights on {label}",
        "feature",
        "weight, of a sum of 1",
        f"Weights of a sum of 1 that the methods give the features of {label}; the first split.",
    )
    return Reproduced(
        tally.rows(),
        (*notes, "the paper prints no number of its figure, nor which points and which C it is of"),
        figure,
        caption=f"{COLUMNS}. MKL with gamma = 1: by `LevelSet` to {TIGHT:g}. {LIMITS} Weights are divided by their "
        f"sum. Of {splits} splits: the share of the {LARGEST} largest weights, the number of those above "
        f"{100 * SMALL:g} % of the sum, and the effective number of features, the exponential of the weights' entropy. "
        "The figure shows the first split.",
        findings=tuple(
            f"By the effective number of features, QN-PKL's weights are less uniform than those of {name} on {count} "
            f"of {splits} splits."
            for name, count in fewer.items()
        ),
        absent=at_hand.absent,
    )


def weights_of(dataset: Dataset, method: str, split_seed: int, number: int) -> Instance:
    """Problem of a method on a split, which measures the weights of a sum of 1 and how they are spread."""
    instance = problem_of(dataset, method, Protocol(), split_seed, number)
    measures = {f"weight {m}": _weight(m) for m in range(instance.oracle.domain.dimension)}
    spread = {
        "largest": lambda cut: float(np.sort(cut.point)[-LARGEST:].sum() / cut.point.sum()),
        "above": lambda cut: float((cut.point > SMALL * cut.point.sum()).sum()),
        "effective": lambda cut: effective_number(cut.point),
    }
    return Instance(instance.oracle, instance.start, measures={**measures, **spread})


def _weight(m: int) -> Measure:
    return lambda cut: float(cut.point[m] / cut.point.sum())


def effective_number(weights: Vector) -> float:
    """Exponential of the entropy of weights: how many equal ones are spread alike."""
    shares = weights[weights > 0] / weights.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))
