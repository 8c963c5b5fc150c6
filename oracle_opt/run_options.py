"""The keyword arguments of `minimize`, refused where they cannot be used."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from oracle_opt.arguments import flag, instances, one_of, real, whole
from oracle_opt.clocks import CLOCKS
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.history import Record
from oracle_opt.listener import Listener
from oracle_opt.words import shown


@dataclass(frozen=True)
class RunOptions:
    """The options of a run, as described at `minimize`."""

    rtol: float
    atol: float
    gtol: float | None
    max_calls: int
    max_seconds: float | None
    cuts: Sequence[Cut]
    keep_cuts: bool
    journal: str | os.PathLike[str] | None
    journal_check: bool
    callback: Callable[[Record], object] | Listener | None
    progress: bool
    log: bool | Callable[[str], object]
    check: bool
    probes: int | Literal["auto"]
    clock: str
    first: bool | Literal["auto"]

    def __post_init__(self) -> None:
        for name in ("rtol", "atol", "gtol", "max_seconds"):
            if (limit := getattr(self, name)) is not None or name in ("rtol", "atol"):
                real(name, limit, least=0.0, infinite=True)
        whole("max_calls", self.max_calls, 0)
        for name in ("keep_cuts", "journal_check", "progress", "check"):
            flag(name, getattr(self, name))
        if self.probes != "auto":
            whole("probes", self.probes, 0)
        if self.first != "auto":
            flag("first", self.first)
        one_of("clock", self.clock, CLOCKS)
        if self.journal is not None and not isinstance(self.journal, str | os.PathLike):
            raise InvalidArgument(f"`journal` must be the path of a file or None, got {shown(self.journal)}")
        if not (self.callback is None or isinstance(self.callback, Listener) or callable(self.callback)):
            raise InvalidArgument(
                f"`callback` must be a function of a Record, a Listener or None, got {shown(self.callback)}"
            )
        cuts = instances("cuts", self.cuts, object, "a cut: pass result.history.cuts of a run with keep_cuts=True")
        for i, cut in enumerate(cuts):
            if not isinstance(cut, ObjectiveCut | FeasibilityCut):
                raise InvalidArgument(f"`cuts[{i}]` must be an ObjectiveCut or a FeasibilityCut, got {shown(cut)}")
        object.__setattr__(self, "cuts", cuts)  # a tuple now: what was given may be read only once
        if self.log is not False:
            from oracle_opt.run_log import line_writer  # a listener is loaded where it is invited

            line_writer(self.log)
