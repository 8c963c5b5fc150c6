"""The runs of the tables on SPG-GMKL's small sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from oracle_opt.generator import QueryPointGenerator
from oracle_opt.problems import Instance
from papers.experiment_runs import Recipe, add_runs, run_study
from papers.repetitions import Options, Reproduced, Tally
from papers.sets import FOLDS, HARDWARE, sets_of
from papers.stopping_rules import UntilStationary

RTOL = 1e-3
NOTES = (
    HARDWARE,
    "the paper does not print its C, the size of its random start, what its gap is relative to, and its limits of time",
    "Breast-Cancer is a set of 683 points; wdbc, a row of its own, is another one of 569",
)


@dataclass(frozen=True)
class Kind:
    """A kind of problem: a name, what makes its instances of a data set, the arguments, and how its runs end."""

    name: str
    make: Callable[..., Instance]
    arguments: tuple[float, ...] = ()
    gtol: float | None = None


@dataclass
class Runs:
    """What the runs of a table gave: figures, notes and sets that are not at hand."""

    tally: Tally = field(default_factory=Tally)
    notes: list[str] = field(default_factory=list)
    absent: tuple[str, ...] = ()

    def add(
        self,
        names: Mapping[str, str],
        kinds: Mapping[str, Kind],
        methods: Mapping[str, QueryPointGenerator],
        options: Options,
        *,
        count: bool = False,
        folds: int = FOLDS,
        max_calls: int,
        kept: str,
    ) -> None:
        """Seconds, and on request SVMs, of each method on each kind of problem, whose words are added to the set's.

        Parameters
        ----------
        names : mapping
            Sets, as the paper calls them and as `load` does.
        kinds : mapping
            What is added to the set's name in a row, to a kind of problem; all end alike.
        methods : mapping
            Generators by name.
        options : Options
        count : bool
            Whether the numbers of SVMs are figures, too.
        folds : int
            The first so many, unless the options say fewer.
        max_calls : int
            SVMs a run.
        kept : str
            Folder of the runs.
        """
        at_hand = sets_of(names, options)
        (gtol,) = {kind.gtol for kind in kinds.values()}
        results, failed = run_study(
            options,
            kept,
            {
                f"{label}, {kind.name}": Recipe(kind.make, dataset, (*kind.arguments, options.seed))
                for label, dataset in at_hand.found
                for kind in kinds.values()
            },
            {name: g if gtol is None else UntilStationary(g, gtol, np.inf) for name, g in methods.items()},
            range(min(options.repeats(folds), folds)),
            rtol=RTOL,
            max_calls=max_calls,
        )
        quantities = {"seconds": "processor_seconds", "SVMs": "n_calls"} if count else {"seconds": "processor_seconds"}
        for label, _ in at_hand.found:
            for suffix, kind in kinds.items():
                add_runs(self.tally, label + suffix, results, f"{label}, {kind.name}", quantities, methods)
        self.notes += [note for note in (*at_hand.notes, *failed) if note not in self.notes]
        self.absent += tuple(label for label in at_hand.absent if label not in self.absent)

    def table(self, options: Options, caption: str, findings: list[str], *notes: str) -> Reproduced:
        """Make what the experiment gives back of a caption, findings and notes of its own."""
        folds = f"training parts of {min(options.repeats(FOLDS), FOLDS)} of 5 stratified folds"
        said = (*self.notes, folds, *notes, *NOTES)
        return Reproduced(self.tally.rows(), said, caption=caption, findings=tuple(findings), absent=self.absent)
