"""The frames of the runs of a study, and parts of them: what analyses read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Self

from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.study.records import KEY, RUN_COLUMNS
from oracle_opt.words import number, shown

if TYPE_CHECKING:
    import pandas as pd


class Runs:
    """The data of `Results` without its analyses; the parameters are described there."""

    def __init__(
        self, runs: pd.DataFrame, history: pd.DataFrame, tau: Iterable[float], *, interrupted: bool = False
    ) -> None:
        runs = runs if "module" in runs else runs.assign(module="")  # a column that came later
        for frame, name, columns in ((runs, "runs", RUN_COLUMNS), (history, "history", KEY)):
            missing = [column for column in columns if column not in frame.columns]
            if missing:
                raise InvalidArgument(f"`{name}` must have the columns {', '.join(missing)}")
        self.runs = runs
        self.history = history
        self.tau = tuple(sorted(tau, reverse=True))
        self.interrupted = interrupted
        self.order = tuple(dict.fromkeys(runs["generator"]))

    def __repr__(self) -> str:
        ends = ", ".join(f"{n} {status}" for status, n in self.runs["status"].value_counts().items())
        generators, instances = self.runs["generator"].nunique(), self.runs["instance"].nunique()
        return (
            f"Results({number(len(self.runs), 'run')} of {number(generators, 'generator')} on "
            f"{number(instances, 'instance')}: {ends})"
        )

    def __len__(self) -> int:
        return len(self.runs)

    def filter(
        self,
        *,
        instance: str | Iterable[str] | None = None,
        generator: str | Iterable[str] | None = None,
        family: str | Iterable[str] | None = None,
        seed: int | Iterable[int] | None = None,
        where: Callable[[pd.DataFrame], pd.Series] | None = None,
    ) -> Self:
        """Keep the runs that agree with everything given.

        `instance`, `generator` and `family` are names, `seed` a seed, or several of them; a name that no run has is
        refused. `where` maps the table `runs` to a column of booleans.
        """
        runs = self.runs
        for column, wanted in (("instance", instance), ("generator", generator), ("family", family), ("seed", seed)):
            if wanted is None:
                continue
            names = [wanted] if isinstance(wanted, str | int) else list(wanted)
            known = set(self.runs[column])
            for name in names:
                if name not in known:
                    near = sorted(known, key=lambda one: -SequenceMatcher(None, str(one), str(name)).ratio())
                    has = f"{len(near)} are there, the nearest {', '.join(map(str, near[:10]))}"
                    raise InvalidArgument(f"`{column}` must be one that runs have, got {shown(name)}: {has}")
            runs = runs[runs[column].isin(names)]
        if where is not None:
            runs = runs[where(runs)]
        return self._with(runs)

    def merge(self, *others: Runs) -> Self:
        """Put the runs of this study and those of `others` together.

        The first of several runs with the same digest is kept. The accuracies are those that all of them asked for. Two
        runs that have the same instance, generator and seed and are different otherwise are refused.
        """
        pd = require("pandas", "study", "the tables of a study")

        every: tuple[Runs, ...] = (self, *others)
        runs = pd.concat([results.runs.assign(_of=place) for place, results in enumerate(every)], ignore_index=True)
        runs = runs.drop_duplicates("digest")
        twice = runs[runs.duplicated(list(KEY))]
        if len(twice):
            first = ", ".join(map(str, twice.iloc[0][list(KEY)]))
            raise InvalidArgument(
                f"`others` must not have other runs of the same instance, generator and seed: {first}. "
                "Filter them, or rename the instances of one study"
            )
        tau = set(self.tau).intersection(*(results.tau for results in others))
        if not tau:
            raise InvalidArgument("`others` must have an accuracy in common: no value of `tau` is in all of them")
        kept = runs[["_of", *KEY]]
        parts = [
            results.history.merge(kept[kept["_of"] == place].drop(columns="_of"), on=list(KEY))
            for place, results in enumerate(every)
        ]
        history = pd.concat(parts, ignore_index=True)
        interrupted = any(results.interrupted for results in every)
        return type(self)(runs.drop(columns="_of").reset_index(drop=True), history, tau, interrupted=interrupted)

    def _with(self, runs: pd.DataFrame) -> Self:
        """These runs alone."""
        history = self.history.merge(runs[list(KEY)], on=list(KEY))
        part = type(self)(runs.reset_index(drop=True), history, self.tau, interrupted=self.interrupted)
        part.order = self.order
        return part
