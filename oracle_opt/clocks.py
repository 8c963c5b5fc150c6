"""The clocks that seconds of oracles and generators are read from, and the words that say which seconds they are."""

import time
from collections.abc import Callable, Iterable

# by their names in `time`, as not every system has all of them
CLOCKS = {"elapsed": "perf_counter", "processor": "process_time", "thread": "thread_time"}
WORDS = {"": "elapsed", "thread": "processor"}  # runs from before it was written down have elapsed seconds


def clock_of(name: str) -> Callable[[], float]:
    """The function of the module `time` that reads a clock."""
    clock: Callable[[], float] = getattr(time, CLOCKS[name])
    return clock


def kind_of_seconds(clocks: Iterable[str]) -> str:
    """Say which seconds runs by these clocks have; where they differ, that they cannot be compared."""
    kinds = {WORDS.get(clock, clock) for clock in clocks}
    return f"{kinds.pop()} seconds" if len(kinds) == 1 else "seconds of different clocks"
