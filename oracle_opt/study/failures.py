"""What is said of the runs of a study that an exception ended: the first at once, all of them at the end."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from oracle_opt.errors import StudyFailed, StudyWarning
from oracle_opt.study.records import REFUSED, FinishedRun
from oracle_opt.study.results import Results

WHERE = "the columns `message` and `traceback` of `results.runs` have each"


def warn_of_first(run: FinishedRun) -> None:
    """Say that a run has failed, while the others go on: a mistake that ends all of them is seen at once."""
    instance, generator, seed = run.key
    _warn(
        f"a run has failed, the first of this study: {instance}, {generator}, seed {seed}: {_message(run)}. The study "
        "goes on"
    )


def judge(runs: Sequence[FinishedRun], results: Results) -> None:
    """Say at the end what failed: which instances and generators altogether.

    Raises
    ------
    StudyFailed
        Every run failed, but for those that a generator refused; it holds the results.
    """
    failed = [run for run in runs if run.failed]
    if not failed:
        return
    if all(run.failed or run.row["status"] == REFUSED for run in runs):
        raise StudyFailed(
            f"every run of this study failed, {len(failed)} of {len(runs)}, the first one so: {_message(failed[0])}. "
            f"The exception has the `results`: {WHERE}",
            results,
        )
    whole = [*_altogether(runs, "instance", "on"), *_altogether(runs, "generator", "of")]
    if len(failed) > 1:
        words = f": {'; '.join(whole)}" if whole else f", the first one so: {_message(failed[0])}"
        _warn(f"{len(failed)} of {len(runs)} runs failed{words}; {WHERE}")


def _altogether(runs: Sequence[FinishedRun], column: str, word: str) -> list[str]:
    """Instances or generators of which every run failed, in words."""
    groups: dict[str, list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(run.row[column], []).append(run)
    return [
        f"every run {word} {name!r}, the first one so: {_message(own[0])}"
        for name, own in groups.items()
        if len(own) > 1 and all(run.failed for run in own)
    ]


def _message(run: FinishedRun) -> str:
    """Its first line."""
    return str(run.row["message"]).partition("\n")[0]


def _warn(words: str) -> None:
    warnings.warn(words, StudyWarning, stacklevel=3)
