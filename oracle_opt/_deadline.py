"""How long the work between two calls of an oracle may take: set by the driver, asked by every loop that may be long.

The programs that generators and domains solve know neither the driver nor its limits. So what is left of `max_seconds`
is a context variable, as the precision of `decimal` is: each thread, and each run inside an oracle, has its own.
"""

from __future__ import annotations

from contextvars import ContextVar
from math import inf
from time import perf_counter

from oracle_opt.errors import OutOfTime

_deadline: ContextVar[float] = ContextVar("deadline", default=inf)


class Deadline:
    """Within the block, loops that ask end at this reading of `perf_counter`; a class is faster than a generator."""

    __slots__ = ("_at", "_token")

    def __init__(self, at: float) -> None:
        self._at = at

    def __enter__(self) -> None:
        self._token = _deadline.set(self._at)

    def __exit__(self, *problem: object) -> None:
        _deadline.reset(self._token)


def seconds_left() -> float:
    """Seconds until the deadline, infinite without one."""
    at = _deadline.get()
    if at == inf:
        return inf
    left = at - perf_counter()
    if not left > 0:
        raise OutOfTime("`max_seconds` is over")
    return left
