"""How long the work between two calls of an oracle may take: set by the driver, asked by every loop that may be long.

The programs that generators and domains solve know neither the driver nor its limits. So what is left of `max_seconds`
is a context variable, as the precision of `decimal` is: each thread, and each run inside an oracle, has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import perf_counter

from oracle_opt.errors import OutOfTime

_deadline: ContextVar[float] = ContextVar("deadline", default=inf)


@contextmanager
def deadline(at: float) -> Iterator[None]:
    """Within the block, loops that ask end at this reading of `perf_counter`."""
    token = _deadline.set(at)
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_left() -> float:
    """Seconds until the deadline, infinite without one.

    Raises
    ------
    OutOfTime
        There are none.
    """
    at = _deadline.get()
    if at == inf:
        return inf
    left = at - perf_counter()
    if not left > 0:
        raise OutOfTime("`max_seconds` is over")
    return left
