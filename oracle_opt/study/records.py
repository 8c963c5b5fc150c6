"""The settings that all runs of a study share, and the outcome of one run."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from math import inf, nan
from typing import TYPE_CHECKING, Any

from oracle_opt.arguments import flag, floats, instance, real, spelled, whole
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.words import one_line, shown

if TYPE_CHECKING:
    import pandas as pd

REFUSED, FAILED, DOUBTFUL = "REFUSED", "FAILED", "DOUBTFUL"  # may stand in the place of the name of a `Status`
UNPROVEN = "refused"  # stands in the column `certificate` where it does not hold, and the status is FAILED
KEY = ("instance", "generator", "seed")
# What a row has besides its key, and what stands there where there is nothing to say.
BLANK: dict[str, Any] = {
    "family": "",
    "n": 0,
    "status": FAILED,
    "message": "",
    "traceback": "",
    "n_calls": 0,
    "oracle_seconds": 0.0,
    "generator_seconds": 0.0,
    "inner_steps": 0,
    "seconds": 0.0,
    "processor_seconds": 0.0,
    "start_value": nan,
    "upper_bound": inf,
    "lower_bound": -inf,
    "relative_gap": inf,
    "certificate": "",
    "clock": "",  # of runs from before it was written down: elapsed
    "optimum": nan,
    "optimum_error": nan,
    "rtol": nan,
    "max_calls": 0,
    "max_seconds": nan,
    "recipe": "",
    "oracle": "",
    "method": "",
    "module": "",  # of the class of the method, where that is one's own
    "version": "",
    "machine": "",
    "digest": "",
}
RUN_COLUMNS = (*KEY, *BLANK)
TESTS = ("certified", "single-cut")
CLOCKS = ("processor", "elapsed")


@spelled
@dataclass(frozen=True)
class Limits:
    """Where a run is ended that has not reached the accuracy asked for.

    Parameters
    ----------
    calls : int
        Oracle calls.
    seconds : float, optional
        Elapsed seconds of the run, those of the oracle and the generator and of bounds; looked at between calls, inside
        the generator, and in oracles whose queries may take long. Runs that it ends depend on the machine.

    Raises
    ------
    InvalidArgument
        A value cannot be used.
    """

    calls: int = 500
    seconds: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", whole("calls", self.calls))
        if self.seconds is not None:
            object.__setattr__(self, "seconds", real("seconds", self.seconds, above=0.0))


@dataclass(frozen=True)
class Settings:
    """The settings that all runs of a study share."""

    limits: Limits = field(default_factory=Limits)  # of every run
    # The accuracies, relative gaps, that are asked for; a run ends at the smallest.
    tau: tuple[float, ...] = (1e-2, 1e-4, 1e-6)
    # The convergence tests that end a run when all of them hold at the smallest accuracy: 'certified', the gap by the
    # best of four lower bounds, and 'single-cut', that by the best single cut alone. What a run reports, calls and
    # measures among it, is that of the certified test.
    until: tuple[str, ...] = ("certified",)
    keep_points: bool = False  # keep every query point, as the column `point` of the history
    # Verify the certificate of each run; this decides nothing of it, so that runs with and without share a folder.
    verify: bool = True
    clock: str = "processor"  # which seconds the oracle and the generator are charged

    def __post_init__(self) -> None:
        instance("limits", self.limits, Limits, "Limits such as Limits(calls=500, seconds=60)")
        tau = floats("tau", self.tau, "accuracies between 0 and 1, such as (1e-2, 1e-4)").ravel()
        if not tau.size or not ((tau > 0) & (tau < 1)).all():
            raise InvalidArgument(f"`tau` must be accuracies between 0 and 1, at least one, got {shown(self.tau)}")
        until = (self.until,) if isinstance(self.until, str) else self.until
        if (
            not isinstance(until, Iterable)
            or "certified" not in (until := tuple(until))
            or not set(until) <= set(TESTS)
        ):
            raise InvalidArgument(
                f"`until` must be ('certified',) or ('certified', 'single-cut'), got {shown(self.until)}: a run cannot "
                "know the other tests while it goes on"
            )
        object.__setattr__(self, "tau", tuple(sorted(set(tau.tolist()), reverse=True)))
        object.__setattr__(self, "until", tuple(test for test in TESTS if test in until))
        object.__setattr__(self, "keep_points", flag("keep_points", self.keep_points))
        object.__setattr__(self, "verify", flag("verify", self.verify))
        if self.clock not in CLOCKS:
            raise InvalidArgument(f"`clock` must be 'processor' or 'elapsed', got {shown(self.clock)}")

    @property
    def rtol(self) -> float:
        """The accuracy at which a run ends."""
        return self.tau[-1]

    def decisive(self) -> dict[str, Any]:
        """What decides a run, as plain data; elapsed seconds are unsaid, as in folders older than the choice."""
        every = asdict(self)
        del every["verify"]
        if self.clock == "elapsed":
            del every["clock"]
        return every


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """Outcome of one generator on one instance with one seed."""

    __repr__ = one_line

    row: dict[str, Any]
    history: pd.DataFrame

    @property
    def key(self) -> tuple[str, str, int]:
        """Instance, generator, seed."""
        return self.row["instance"], self.row["generator"], self.row["seed"]

    @property
    def failed(self) -> bool:
        """Whether an exception ended it, so that another try may go better."""
        return bool(self.row["status"] == FAILED)


def failure(row: dict[str, Any], problem: BaseException, history: pd.DataFrame | None = None) -> FinishedRun:
    """Make the row of a run that an exception ended, with what had been computed."""
    pd = require("pandas", "study", "the tables of a study")

    text = "".join(traceback.format_exception(problem))
    return FinishedRun(
        BLANK | row | {"status": FAILED, "message": f"{type(problem).__name__}: {problem}", "traceback": text},
        pd.DataFrame({"call": pd.Series(dtype="int64")}) if history is None else history,
    )
