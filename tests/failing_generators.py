"""Generators that fail in their worker process, in a module that those processes can import."""

import os
import signal

from oracle_opt import InvalidArgument
from oracle_opt.generators import FixedPoint


class Broken(FixedPoint):
    """Raises where a run begins."""

    def reset(self, domain, point):
        raise InvalidArgument("it is broken")


class Dying(FixedPoint):
    """Ends the worker process that unpickles it."""

    def __reduce__(self):
        return os._exit, (3,)


class Killed(FixedPoint):
    """Is killed in the middle of a run, as by a system short of memory."""

    def ask(self):
        os.kill(os.getpid(), signal.SIGKILL)
