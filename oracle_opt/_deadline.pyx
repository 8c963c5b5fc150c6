"""How long the work between two calls of an oracle may take: set by the driver, asked by every loop that may be long.

The programs that generators and domains solve know neither the driver nor its limits. So what is left of `max_seconds`
is a context variable, as the precision of `decimal` is: each thread, and each run inside an oracle, has its own.
"""

from contextvars import ContextVar
from time import perf_counter

from libc.math cimport INFINITY

from oracle_opt.errors import OutOfTime

_deadline = ContextVar("deadline", default=INFINITY)


cdef class Deadline:
    """Within the block, loops that ask end at this reading of `perf_counter`."""

    cdef object _at, _token

    def __init__(self, double at):
        self._at = at

    def __enter__(self):
        self._token = _deadline.set(self._at)

    def __exit__(self, *problem):
        _deadline.reset(self._token)


def seconds_left():
    """Seconds until the deadline, infinite without one."""
    cdef double at = _deadline.get()
    if at == INFINITY:
        return at
    cdef double left = at - perf_counter()
    if not left > 0:
        raise OutOfTime("`max_seconds` is over")
    return left
