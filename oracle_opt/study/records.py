"""What goes into a run and what comes out of it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.result import Status
from oracle_opt.words import one_line

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Settings:
    """What all runs that are compared share.

    Parameters
    ----------
    rtol : float
        Relative gap at which a run has converged.
    train : float
        Share of the points that train: the first ``int(train * n)`` of a random permutation.
    C : float
        SVM upper bound of the dual variables; kernels have unit trace.
    max_calls : int
        Limit on the oracle calls of a run.
    seed : int
        Split s permutes with ``numpy.random.default_rng(seed + s)``.
    single_cut : bool
        Let a run that has converged go on until the gap by the best single cut alone has, too: that is the gap the
        paper stops on. The further calls count nowhere else, and take most of the time.

    Raises
    ------
    InvalidArgument
        A value cannot be used.
    """

    rtol: float = 5e-3
    train: float = 0.7
    C: float = 100.0
    max_calls: int = 500
    seed: int = 0
    single_cut: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.rtol < np.inf:
            raise InvalidArgument(f"`rtol` must be a positive number, got {self.rtol!r}")
        if not 0 < self.train < 1:
            raise InvalidArgument(f"`train` must lie between 0 and 1, both excluded, got {self.train!r}")
        if not 0 < self.C < np.inf:
            raise InvalidArgument(f"`C` must be a positive number, got {self.C!r}")
        if self.max_calls < 1:
            raise InvalidArgument(f"`max_calls` must be at least 1, got {self.max_calls!r}")
        if self.seed < 0:
            raise InvalidArgument(f"`seed` must be at least 0, got {self.seed!r}")


@dataclass(frozen=True, eq=False)
class Run:
    """Outcome of one generator on one split of one data set.

    Attributes
    ----------
    dataset, generator : str
        Names.
    split : int
        0, 1, ...
    data, method : str
        `Dataset.digest` and the generator's repr: a stored run is used again only if they agree.
    status : str
        Name of a `Status`.
    n_calls : int
        Oracle calls until the run stopped.
    single_cut_calls : int or None
        Calls until the gap by the best single cut alone, the one of the paper, was at most `rtol`. None if it never
        was: see `Settings.single_cut`.
    oracle_seconds, generator_seconds : float
        Seconds spent in each, all calls together.
    n_kernels : int
        Kernels of non-vanishing weight at the best point: more than 1e-3 times the largest.
    accuracy : float
        Share of the test points classified correctly.
    upper_bound, lower_bound, relative_gap : float
        Where the run ended.
    history : DataFrame
        The columns of `History`, one row per call, with `relative_gap` and `single_cut_gap`.
    """

    __repr__ = one_line

    dataset: str
    generator: str
    split: int
    data: str
    method: str
    status: str
    n_calls: int
    single_cut_calls: int | None
    oracle_seconds: float
    generator_seconds: float
    n_kernels: int
    accuracy: float
    upper_bound: float
    lower_bound: float
    relative_gap: float
    history: pd.DataFrame

    @property
    def key(self) -> tuple[str, str, int]:
        """Data set, generator, split."""
        return self.dataset, self.generator, self.split

    @property
    def converged(self) -> bool:
        """Whether the relative gap reached `rtol`."""
        return self.status == Status.CONVERGED.name


@dataclass(frozen=True)
class Failure:
    """A run that an exception ended.

    Attributes
    ----------
    dataset, generator : str
        Names.
    split : int
        Number of the split.
    message : str
        Type and text of the exception.
    details : str
        Its traceback.
    """

    dataset: str
    generator: str
    split: int
    message: str
    details: str = ""

    @classmethod
    def of(cls, dataset: str, generator: str, split: int, problem: BaseException) -> Failure:
        """Make the record of an exception."""
        text = "".join(traceback.format_exception(problem))
        return cls(dataset, generator, split, f"{type(problem).__name__}: {problem}", text)

    @property
    def key(self) -> tuple[str, str, int]:
        """Data set, generator, split."""
        return self.dataset, self.generator, self.split
