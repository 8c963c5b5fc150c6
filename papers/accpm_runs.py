"""Wulff & Ong (2014): the kernels, methods and runs that its tables and figures share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.datasets import Dataset, split_points
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import AnalyticCenter, FixedPoint, Kelley, LevelSet, ReducedGradient
from oracle_opt.optional import require
from oracle_opt.oracles import GramBank, MKLOracle, simplemkl_bank, uci_bank
from oracle_opt.oracles.kernels.features import N_WIDTHS, QUANTILES, bank_of_widths
from oracle_opt.oracles.kernels.points import Standardization
from oracle_opt.problems import Instance
from oracle_opt.problems.mkl import kernel_instance
from oracle_opt.study.results import Results
from papers.experiment_runs import Recipe, run_study
from papers.raised_level import RaisedLevel
from papers.repetitions import Options
from papers.sets import sets_of
from papers.stopping_rules import REACHED, IterationsUntilSingleCut, UntilSingleCut

if TYPE_CHECKING:
    import pandas as pd

SETS = {name: name for name in ("wpbc", "ionosphere", "sonar", "bupa", "pima", "vote", "heart", "wdbc")}
SPLITS = 20
C = 100.0
GAP = 5e-3
ITERATIONS = 500  # the paper's limit; of SimpleMKL each takes many calls, of the others one
SIMPLEMKL_CALLS = 30_000  # more than 500 iterations take
PROVEN = 1e-7  # where a run ends whose own gap stays open although the minimum is proven
ACCPM = AnalyticCenter(domain_weight=1.0, proximal=1.0)
ONE_CALL: dict[str, QueryPointGenerator] = {
    "accpm": UntilSingleCut(ACCPM, GAP),
    "accpm in form (11)": UntilSingleCut(AnalyticCenter(epigraph=False, proximal=0.0), GAP),
    "level-set": UntilSingleCut(RaisedLevel(), GAP),
    "kcg": UntilSingleCut(Kelley(), GAP),
    "average": FixedPoint(),
    "AnalyticCenter()": UntilSingleCut(AnalyticCenter(), GAP),
    "LevelSet()": UntilSingleCut(LevelSet(), GAP),
}
SIMPLEMKL: dict[str, QueryPointGenerator] = {
    "simpleMKL": IterationsUntilSingleCut(ReducedGradient(line_tolerance=0.1), GAP, ITERATIONS)
}
OF_THE_PAPER = ("accpm", "level-set", "simpleMKL", "kcg")
METHODS = ("accpm", "accpm in form (11)", "level-set", "simpleMKL", "kcg", "average", "AnalyticCenter()", "LevelSet()")
KERNELS = (
    "Kernels: 13 (d + 1) of unit trace; ten widths s, evenly in the logarithm between the 10 % and the 90 % quantile "
    "of the distances of the training points, and these ten for all features together and for each alone; "
    "exp(-D^2 / s^2) and (1 + x'z)^k, k = 1, 2, 3; C = 100."
)
COLUMNS = (
    f"accpm: `{ACCPM!r}`, the form of OBOE at its default settings; level-set: `{RaisedLevel()!r}`; simpleMKL: "
    f"`{ReducedGradient(line_tolerance=0.1)!r}`; kcg: `{Kelley()!r}`; average: one machine on equal weights."
)
FORM_11 = f"accpm in form (11): `{AnalyticCenter(epigraph=False, proximal=0.0)!r}`."
TUNED = "AnalyticCenter() and LevelSet(): the defaults of this library."
STOP = (
    "A run ends by the paper's own gap, (17) - (18) of the last query point and its cut alone, at most 5e-3 of (17), "
    f"or after {ITERATIONS} iterations: {ITERATIONS} machines, of simpleMKL {ITERATIONS} directions with as many "
    "machines as they take."
)


def shared_widths(Z: Matrix, factor: float) -> Vector:
    """Ten widths s between quantiles of the distances of all points; kernels are ``exp(-D**2 / (factor * s**2))``.

    Returned is what stands in ``exp(-D**2 / (2 width**2))``. Equal points are left out.
    """
    distances = pdist(Z)
    least, largest = np.quantile(distances[distances > 0], QUANTILES)
    widths: Vector = np.geomspace(least, largest, N_WIDTHS) * np.sqrt(factor / 2.0)
    return widths


def _shared(factor: float) -> Callable[[Matrix], GramBank]:
    return lambda X: bank_of_widths(X, shared_widths(Standardization.of(X)[1], factor))


# What the words of the paper may mean, first what its figures agree with; names for the tables.
BANKS: dict[str, Callable[[Matrix], GramBank]] = {
    "one set of widths, exp(-D^2 / s^2)": _shared(1.0),
    "one set of widths, exp(-D^2 / 2 s^2)": _shared(2.0),
    "uci_bank": uci_bank,
    "simplemkl_bank": simplemkl_bank,
}
CHOSEN = next(iter(BANKS))
FOLDERS = {bank: "accpm" if bank == CHOSEN else f"accpm-kernels-{place}" for place, bank in enumerate(BANKS)}


def own_bound(cut: ObjectiveCut) -> float:
    """(18), with the factor 1/2 of (7): what the cut alone proves."""
    return cut.constant + float(cut.subgradient.min())


def split_instance(dataset: Dataset, bank: str, number: int) -> Instance:
    """The machine on a split's training points, with accuracy and own bound of every call."""
    X, y = dataset.dense(), dataset.y
    rows, test = split_points(y, number)
    instance = kernel_instance(MKLOracle(BANKS[bank](X[rows]), y[rows], C=C), X[test], y[test], trace=True)
    return replace(instance, traces={**instance.traces, "own_bound": own_bound})


@dataclass(frozen=True, eq=False, repr=False)
class TracedRuns:
    """The runs of an experiment.

    Attributes
    ----------
    table : DataFrame
        A row a run; `calls` to the paper's gap and `proven_calls` to ours, NaN if it was not reached.
    traces : dict
        (set, method, seed) to the calls of the run: `own_gap`, `upper`, `own_bound`, `accuracy`, and those of its
        history.
    notes : list of str
    absent : tuple of str
        Sets that are not at hand.
    """

    table: pd.DataFrame
    traces: dict[tuple[str, str, int], pd.DataFrame]
    notes: list[str]
    absent: tuple[str, ...]

    def column(self, name: str, method: str, column: str) -> Vector:
        """A column of the runs of a method on a set."""
        part = self.table[(self.table["instance"] == name) & (self.table["generator"] == method)]
        values: Vector = part[column].to_numpy(dtype=float)
        return values

    @property
    def sets(self) -> list[str]:
        """Names of the sets that were run."""
        return list(dict.fromkeys(self.table["instance"]))


def runs_of(
    names: Mapping[str, str],
    options: Options,
    *,
    folder: str = FOLDERS[CHOSEN],
    generators: Mapping[str, QueryPointGenerator] = ONE_CALL,
    simplemkl: Mapping[str, QueryPointGenerator] = SIMPLEMKL,
    bank: str = CHOSEN,
    splits: int = SPLITS,
) -> TracedRuns:
    """Do the runs that are missing, those of SimpleMKL with a limit on calls of their own."""
    at_hand, repeats = sets_of(names, options), options.repeats(splits)
    instances = {label: Recipe(split_instance, dataset, (bank,)) for label, dataset in at_hand.found}
    notes, parts = list(at_hand.notes), []
    seeds = range(options.seed, options.seed + repeats)
    for paper, chosen, most in ((folder, generators, ITERATIONS), (f"{folder}-simplemkl", simplemkl, SIMPLEMKL_CALLS)):
        if chosen:
            results, failed = run_study(options, paper, instances, chosen, seeds, rtol=PROVEN, max_calls=most)
            parts.append(results)
            notes += failed
    return TracedRuns(*_read(parts), [*notes, f"{repeats} random splits, 70 % of the points train"], at_hand.absent)


def _read(parts: list[Results]) -> tuple[pd.DataFrame, dict[tuple[str, str, int], pd.DataFrame]]:
    """One table of the runs, with the calls to both gaps, and the calls of each."""
    pd = require("pandas", "study", "the tables of a study")

    table = pd.concat([part.runs for part in parts], ignore_index=True)
    traces = {}
    proven = []
    history = pd.concat([part.history for part in parts], ignore_index=True)
    groups = dict(tuple(history.groupby(["instance", "generator", "seed"])))
    for run in table.itertuples():
        key = run.instance, run.generator, run.seed
        trace = groups.get(key, history.iloc[:0]).reset_index(drop=True)
        trace["upper"] = trace["value"] + trace["error"]
        trace["own_gap"] = (trace["upper"] - trace["own_bound"]) / trace["upper"].abs()
        traces[key] = trace
        small = trace["relative_gap"].to_numpy() <= GAP
        proven.append(trace["call"].to_numpy()[small][0] if small.any() else np.nan)
    by_rule = table["message"].str.contains(REACHED) | (table["generator"] == "average")
    table["calls"] = table["n_calls"].where(by_rule)
    table["proven_calls"] = proven
    return table, traces
