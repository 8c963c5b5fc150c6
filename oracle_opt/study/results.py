"""The runs of studies, and what is made of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oracle_opt.optional import require
from oracle_opt.study.analyses import (
    comparisons,
    cost_tables,
    gap_accuracy,
    gap_curves,
    mean_ranks,
    profiles,
    target_shares,
    virtual_best,
)
from oracle_opt.study.records import KEY, RUN_COLUMNS, FinishedRun
from oracle_opt.study.report import write_report
from oracle_opt.study.runs import Runs
from oracle_opt.study.store import RunStore

if TYPE_CHECKING:
    from oracle_opt.study.analyses import Curves, Table


class Results(Runs):
    """Runs of a study.

    Parameters
    ----------
    runs : DataFrame
        One row a run, with the columns below and one a measure of the instances.
    history : DataFrame
        One row an answered call of a run: `instance`, `generator`, `seed`, the columns of
        `oracle_opt.History`, `relative_gap` and `single_cut_gap`, and one a trace of the instances.
    tau : tuple of float
        The accuracies the study asked for, from the coarsest to the finest.
    interrupted : bool
        Whether Ctrl-C ended the study early.

    Attributes
    ----------
    runs, history, tau, interrupted
        As above.
    order : tuple of str
        Names of the generators in the order of legends and tables: the one in which the study was given them. `filter`
        keeps it, so that a generator looks the same in all figures.

    Raises
    ------
    InvalidArgument
        A column is missing.

    Notes
    -----
    Columns of `runs`: `instance`, `generator`, `seed`; `family` and `n`, the number of variables; `status`, the
    name of a `Status`, or REFUSED where the generator cannot serve the instance, or FAILED where an exception ended
    the run, or DOUBTFUL where its lower bound cannot be trusted, as `message` says; `message`, `traceback`;
    `n_calls`, until the run converged or ended; `inner_steps` of the generator up to there; `oracle_seconds`
    and `generator_seconds` up to there, by the `clock` of the run: 'processor', 'thread' (the processor's, of its
    thread alone), or 'elapsed' if it says so or nothing; `seconds`, elapsed, and `processor_seconds` of the whole
    run; `start_value`, the first answer; the bounds and the `relative_gap` there; the known
    `optimum` and its error, NaN if none; `rtol`, `max_calls` and `max_seconds`, its limits; `recipe`, `oracle` and
    `method`: what made the instance, the identity of its oracle, the generator with its parameters; `module`, where a
    class of one's own is imported from; `version` of this
    library, `machine`; `digest` of all that decides the run. `certificate` says what that of the run proves: 'proven'
    from the data, 'given the cuts' where the oracle has no witness for them, 'none' where there is no finite bound,
    'refused' where it does not hold and the status is FAILED, and nothing where it was not verified.

    The relative gap is `History.stopping_gap`: over ``abs(upper_bound)``, or where the minimum is 0 over at least a
    thousandth of the decrease since the first answer. `single_cut_gap` is the same by the best single cut alone.
    """

    curves = gap_curves.curves
    profile = profiles.profile
    pairs = profiles.pairs
    log_ratio = profiles.log_ratio
    data_profile = profiles.data_profile
    table = cost_tables.table
    ecdf = target_shares.ecdf
    expected_cost = target_shares.expected_cost
    area = cost_tables.area
    means = cost_tables.means
    ranks = mean_ranks.ranks
    rank_stability = comparisons.rank_stability
    gaps = comparisons.gaps
    against = comparisons.against
    accuracy = gap_accuracy.accuracy
    correlations = gap_accuracy.correlations
    weights = gap_curves.weights
    with_virtual_best = virtual_best.with_virtual_best

    @classmethod
    def read(cls, folder: os.PathLike[str] | str) -> Results:
        """Read all runs in the `folder` of a study, as `Study.run` was given it.

        Instances and generators are in the order in which studies in the folder were given them. `StoreMismatch` says
        that the folder holds no study or one of another format, or that a run in it is damaged.
        """
        store = RunStore.existing(folder)
        return results_of(store.load(), store.settings.tau)

    def save(self, path: os.PathLike[str] | str, *, seconds: bool = True) -> Path:
        """Write all runs into one file at `path`, about a kilobyte each, and return it; see docs/archive.md.

        Without `seconds`, which are of one machine, gaps and calls alone.
        """
        from oracle_opt.study.archive import save  # which makes results

        return save(self, path, seconds=seconds)

    @classmethod
    def load(cls, path: os.PathLike[str] | str) -> Results:
        """Read the file at `path` that `save` wrote.

        `StoreMismatch` says that it is damaged, or that its runs contradict one another.
        """
        from oracle_opt.study.archive import load

        return load(path)

    def report(
        self,
        path: os.PathLike[str] | str,
        *,
        title: str | None = None,
        extra: Mapping[str, Curves | Table] | None = None,
    ) -> Path:
        """Write one HTML file with figures, tables, filters and every run, which opens without a network.

        One that is there at `path` is replaced; it is returned. The `title` is the heading of the page, and `extra`
        maps headings of further sections to figures and tables that analyses return.
        """
        return write_report(self, path, title=title, extra=extra)


def results_of(runs: Sequence[FinishedRun], tau: Iterable[float], *, interrupted: bool = False) -> Results:
    """Put runs into frames, in their order."""
    pd = require("pandas", "study", "the tables of a study")

    measures = dict.fromkeys(name for run in runs for name in run.row if name not in RUN_COLUMNS)
    rows = pd.DataFrame([run.row for run in runs], columns=[*RUN_COLUMNS, *measures])
    frames = []
    for run in runs:
        if len(run.history):
            frame = run.history.copy()
            for place, (name, value) in enumerate(zip(KEY, run.key, strict=True)):
                frame.insert(place, name, value)
            frames.append(frame)
    history = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*KEY, "call"])
    return Results(rows, history, tau, interrupted=interrupted)
