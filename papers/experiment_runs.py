"""The study behind an experiment: instances made of data sets, the runs, and their figures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.datasets import Dataset
from oracle_opt.errors import StudyFailed, StudyWarning
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.problems import Instance
from oracle_opt.study.records import FAILED, REFUSED, Limits
from oracle_opt.study.results import Results
from oracle_opt.study.study import Study
from papers.repetitions import Options, Tally
from papers.stopping_rules import REACHED

if TYPE_CHECKING:
    import pandas as pd

LOST = (FAILED, REFUSED)


@dataclass(frozen=True, eq=False, repr=False)
class Recipe:
    """Makes the instances of a data set: a function that other processes can import, and its arguments.

    Attributes
    ----------
    make : callable
        Takes the data set, the arguments and the seed of the run, a number of a split or a fold.
    dataset : Dataset
    arguments : tuple
        Of values whose repr tells them from others.
    """

    make: Callable[..., Instance]
    dataset: Dataset
    arguments: tuple[object, ...] = ()

    def __call__(self, seed: int) -> Instance:
        """Make the instance of a seed."""
        return self.make(self.dataset, *self.arguments, seed)

    def __repr__(self) -> str:
        """Function, digest of the data and arguments: what a stored run is known by."""
        words = ", ".join((f"data {self.dataset.digest()}", *map(repr, self.arguments)))
        return f"{self.make.__module__}.{self.make.__qualname__}({words})"


def run_study(
    options: Options,
    paper: str,
    instances: Mapping[str, object],
    generators: Mapping[str, QueryPointGenerator],
    seeds: Iterable[int],
    *,
    rtol: float,
    max_calls: int,
    max_seconds: float | None = None,
) -> tuple[Results, list[str]]:
    """Do the runs of an experiment that are missing in the folder of its paper.

    Parameters
    ----------
    options : Options
        Folder, processes.
    paper : str
        Names the folder, with ``-quick`` or ``-runs`` behind; experiments on the same runs share it.
    instances, generators, seeds, rtol, max_calls, max_seconds
        As for `Study`.

    Returns
    -------
    results : Results
    notes : list of str
        Runs that failed.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C; finished runs are kept.
    RuntimeError
        All runs failed.
    """
    study = Study(instances, generators, seeds=tuple(seeds), limits=Limits(max_calls, max_seconds), tau=rtol)
    kind = "quick" if options.quick else "runs"
    name = f"{paper}-{kind}-{options.seed}" if options.seed else f"{paper}-{kind}"
    jobs = None if options.jobs == -1 else options.jobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StudyWarning)  # the notes below say it
        try:
            results = study.run(options.folder / name, jobs=jobs, progress=options.progress)
        except StudyFailed as failed:
            results = failed.results
    if results.interrupted:
        raise KeyboardInterrupt
    lost = results.runs[results.runs["status"].isin(LOST)]
    if len(lost) == len(results):
        first = lost.iloc[0]
        raise RuntimeError(f"all runs failed, the first one so: {first['traceback'] or first['message']}")
    notes = [
        f"failed: {run.instance}, {run.generator}, {run.seed}: {str(run.message).partition(chr(10))[0]}"
        for run in lost.itertuples()
    ]
    return results, notes


def reached(runs: pd.DataFrame) -> pd.Series:
    """Whether runs ended by their gap, or by a rule of `stopping_rules`."""
    ended: pd.Series = (runs["status"] == "CONVERGED") | runs["message"].str.contains(REACHED)
    return ended


def add_runs(
    tally: Tally,
    row: str,
    results: Results,
    instance: str,
    quantities: Mapping[str, str],
    generators: Iterable[str],
    *,
    called: str | None = None,
    always: bool = False,
) -> None:
    """Count the figures of the runs on an instance.

    Parameters
    ----------
    tally : Tally
    row : str
        The set they are figures of.
    results : Results
    instance : str
        Whose runs are counted.
    quantities : mapping
        What the paper calls a quantity, to the column.
    generators : iterable of str
        Names of generators.
    called : str, optional
        What the paper calls the method; default is the name of the generator.
    always : bool
        Count runs that did not reach the end, too, if no exception ended them.
    """
    runs = results.runs[results.runs["instance"] == instance]
    for generator in generators:
        part = runs[runs["generator"] == generator]
        for quantity, column in quantities.items():
            unit = 100.0 if quantity.endswith("%") else 1.0
            values = unit * part[column].to_numpy(dtype=float)
            counted = ~part["status"].isin(LOST) if always else reached(part)
            for value in np.where(counted, values, np.nan):
                tally.add(row, f"{quantity}, {called or generator}", float(value))
