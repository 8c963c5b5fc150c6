"""What a study runs: an oracle with all that belongs to it, and a recipe that makes one by name and seed."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import isfinite, nan

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.guarantee import Regularity
from oracle_opt.oracle import Oracle
from oracle_opt.words import one_line

Measure = Callable[[ObjectiveCut], float]


@dataclass(frozen=True, eq=False)
class Instance:
    """An oracle, where all runs on it start, and what is known and measured of it.

    Parameters
    ----------
    oracle : Oracle
        The problem.
    start : ndarray of shape (n,), optional
        Where every generator starts; default is the domain's interior point.
    optimum : float
        The known minimum; NaN if none is known.
    optimum_error : float
        The true minimum differs from `optimum` by no more than this.
    measures : mapping
        Names to functions of an answer of the oracle: numbers taken at the best point of a run, as its test accuracy.
        Their time is charged to nobody.
    traces : mapping
        The same, taken at the answer of every call: columns of the history.
    regularity : Regularity
        Constants of f that guarantees are made of; none is known by default.

    Raises
    ------
    InvalidArgument
        The optimum is known and its error is not, or is negative.
    """

    __repr__ = one_line

    oracle: Oracle
    start: Vector | None = None
    optimum: float = nan
    optimum_error: float = nan
    measures: Mapping[str, Measure] = field(default_factory=dict)
    traces: Mapping[str, Measure] = field(default_factory=dict)
    regularity: Regularity = field(default_factory=Regularity)

    def __post_init__(self) -> None:
        if isfinite(self.optimum) and not 0 <= self.optimum_error < float("inf"):
            raise InvalidArgument(
                f"`optimum_error` must be a number of at least 0 where `optimum` is given, got {self.optimum_error!r}"
            )


@dataclass(frozen=True, eq=False)
class Problem:
    """A recipe of instances, known by name.

    Parameters
    ----------
    name : str
        Such as ``"nonsmooth/CB2"``: family and name in it.
    family : str
        What it is one of.
    n : int
        Number of variables.
    make : callable
        Maps a seed to an `Instance`. What has no randomness leaves the seed unused.
    data : str
        Words or a digest that tell the data from others: runs that are kept are used again only if they agree.
    optimum, optimum_error : float
        As in `Instance`; NaN if none is known or if it depends on the seed.
    source : str
        Where the instance and its optimum come from.
    """

    __repr__ = one_line

    name: str
    family: str
    n: int
    make: Callable[[int], Instance]
    data: str
    optimum: float = nan
    optimum_error: float = nan
    source: str = ""

    def __call__(self, seed: int = 0) -> Instance:
        """Make the instance of a seed."""
        return self.make(seed)

    def identity(self) -> str:
        """Words that tell this recipe from others."""
        return f"{self.name}: {self.data}"


# How many processes of a study make instances on this machine at the same time.
processes: ContextVar[int] = ContextVar("processes", default=1)


def share_of_memory() -> int | None:
    """Bytes that the kernels of one instance may take: most of the memory, shared by the processes of a study."""
    from oracle_opt.oracles.kernels.bank_checks import most_of_memory

    memory = most_of_memory()
    return None if memory is None else memory // processes.get()
