"""HiGHS as every linear program here uses it: its options, the deadline, how a solve ended."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from oracle_opt._deadline import seconds_left

if TYPE_CHECKING:
    import highspy

Options = Mapping[str, bool | int | float | str]


def new_model(options: Options) -> highspy.Highs:
    """Return an empty program, silent, on one thread, with these options of HiGHS.

    It is solved without presolve, which forgets the basis, and calls a program infeasible whose bounds differ by less
    than the tolerance. Entries down to 1e-12 count, the least that HiGHS can be told: by default it drops those below
    1e-9, and in odd units the rows are then others.
    """
    model = silent_highs()()
    set_options(model, {"presolve": "off", "threads": 1, "small_matrix_value": 1e-12, **options})
    return model


@cache
def silent_highs() -> type[highspy.Highs]:
    """HiGHS that is told to be silent before its constructor sets callbacks: version 1.16 prints its name there."""
    import highspy  # only here and where it solves: the import takes time

    class Silent(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return Silent


def set_options(model: highspy.Highs, options: Options) -> None:
    """Set options of HiGHS."""
    for name, value in options.items():
        model.setOptionValue(name, value)


def simplex_steps(model: highspy.Highs) -> int:
    """Limit on the steps of the simplex method, several times what a program of this size takes from any basis."""
    return 5000 + 50 * int(model.getNumRow() + model.getNumCol())


def run_in_time(model: highspy.Highs) -> highspy.HighsModelStatus:
    """Solve, or go on solving, until the deadline at most; return how it ended.

    Raises
    ------
    OutOfTime
        The deadline had passed before.
    """
    model.setOptionValue("time_limit", model.getRunTime() + seconds_left())
    model.run()
    status: highspy.HighsModelStatus = model.getModelStatus()
    return status


def ending(model: highspy.Highs, status: highspy.HighsModelStatus) -> str:
    """How a solve ended, for a message."""
    return f"HiGHS stopped with status {model.modelStatusToString(status)}"
