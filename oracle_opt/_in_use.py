"""Which oracles and generators a run is using: their state is one run's, and two at a time would mix it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.oracle import Oracle

# By process and identity, and not in the objects: these can be copied and pickled while a run goes on, and a forked
# process starts free. Single operations of a dict are atomic, so that no lock is needed.
_in_use: dict[tuple[int, int], object] = {}


@contextmanager
def in_use(oracle: Oracle, generator: QueryPointGenerator) -> Iterator[None]:
    """Keep both for one run, until the block ends; an oracle that is stateless may serve several.

    Raises
    ------
    InvalidArgument
        Another run, of this thread or of another, is using one of them.
    """
    run, taken = object(), []
    try:
        for name, thing in (("oracle", oracle), ("generator", generator)):
            if name == "oracle" and oracle.stateless:
                continue
            key = os.getpid(), id(thing)
            if _in_use.setdefault(key, run) is not run:
                raise InvalidArgument(
                    f"`{name}` must serve one run at a time, and another run is using this {type(thing).__name__}, "
                    "which keeps state between calls; make one for each run"
                )
            taken.append(key)
        yield
    finally:
        for key in taken:
            del _in_use[key]
