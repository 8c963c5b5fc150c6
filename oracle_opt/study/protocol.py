"""One run of the protocol of Wulff & Ong (2014), section 4: a random split, the kernel bank, one generator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.datasets import Dataset, split_points
from oracle_opt.driver import minimize
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.problems.kernel_instance import n_kernels, share_right
from oracle_opt.result import Record, Status
from oracle_opt.study.records import Failure, Run, Settings

if TYPE_CHECKING:
    from oracle_opt.oracles import MKLOracle


def run_split(
    dataset: Dataset,
    generators: Mapping[str, QueryPointGenerator],
    split: int,
    settings: Settings,
    memory_limit: int | None = None,
) -> Iterator[Run | Failure]:
    """Run generators one after the other on one split; they share the kernels.

    Parameters
    ----------
    dataset : Dataset
        All points.
    generators : mapping
        Names to generators.
    split : int
        Number of the split.
    settings : Settings
        The protocol's numbers.
    memory_limit : int, optional
        Bytes the kernels may take; default is a share of the machine's memory.

    Yields
    ------
    Run or Failure
        One a generator, in their order. If the split or its kernels cannot be made, all are failures.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C, also during an oracle call; the run under way is lost.
    """
    from oracle_opt.oracles import MKLOracle, uci_bank
    from oracle_opt.oracles.kernels.base import most_of_memory

    try:
        X, digest = dataset.dense(), dataset.digest()
        train, test = split_points(dataset.y, settings.seed + split, train=settings.train)
        bank = uci_bank(X[train], memory_limit=most_of_memory() if memory_limit is None else memory_limit)
        oracle = MKLOracle(bank, dataset.y[train], C=settings.C)
    except Exception as problem:
        yield from (Failure.of(dataset.name, name, split, problem) for name in generators)
        return
    for name, generator in generators.items():
        try:
            key = (dataset.name, name, split, digest, repr(generator))
            yield _run(key, oracle, generator, X[test], dataset.y[test], settings)
        except Exception as problem:
            yield Failure.of(dataset.name, name, split, problem)


class _Watch:
    """Callback that remembers where the run converged, and may let it go on until the single-cut gap has, too."""

    def __init__(self, rtol: float, single_cut: bool) -> None:
        self.rtol = rtol
        self.single_cut = single_cut
        self.best: ObjectiveCut | None = None
        self.converged_at: int | None = None
        self.single_cut_at: int | None = None
        self._upper, self._single = np.inf, -np.inf

    def __call__(self, record: Record) -> bool:
        cut = record.cut
        if isinstance(cut, ObjectiveCut):
            self._single = max(self._single, cut.lower_bound)
            if self.converged_at is None and record.upper_bound < self._upper:
                self.best = cut
        self._upper = record.upper_bound
        if self.converged_at is None and record.relative_gap <= self.rtol:
            self.converged_at = record.call
        if self.single_cut_at is None and self._upper - self._single <= self.rtol * abs(self._upper):
            self.single_cut_at = record.call
        return self.converged_at is not None and (self.single_cut_at is not None or not self.single_cut)


def _run(
    key: tuple[str, str, int, str, str],
    oracle: MKLOracle,
    generator: QueryPointGenerator,
    X_test: NDArray[np.float64],
    y_test: Vector,
    settings: Settings,
) -> Run:
    watch = _Watch(settings.rtol, settings.single_cut)
    try:
        result = minimize(oracle, generator, rtol=0.0, max_calls=settings.max_calls, callback=watch)
    except Exception as problem:
        if watch.converged_at is None:
            raise
        result = problem.result  # type: ignore[attr-defined]  # it had converged: what came after is no part of the run
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    n_calls = watch.converged_at or result.n_calls
    status = result.status
    if watch.converged_at and status is not Status.CONTRADICTION:
        status = Status.CONVERGED
    rows = result.history.to_frame()
    rows["single_cut_gap"] = result.history.single_cut_gap
    rows = rows.iloc[:n_calls]
    assert watch.best is not None  # the oracle answers every point of the simplex
    return Run(
        *key,
        status=status.name,
        n_calls=n_calls,
        single_cut_calls=watch.single_cut_at,
        oracle_seconds=float(rows["oracle_seconds"].sum()),
        generator_seconds=float(rows["generator_seconds"].sum()),
        n_kernels=int(n_kernels(watch.best)),
        accuracy=share_right(oracle, X_test, y_test, watch.best),
        upper_bound=float(rows["upper_bound"].iloc[-1]),
        lower_bound=float(rows["lower_bound"].iloc[-1]),
        relative_gap=float(rows["relative_gap"].iloc[-1]),
        history=rows,
    )
