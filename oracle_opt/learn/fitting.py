"""The stages of a fit behind the points: machines on a bank, runs that solve them, and what is kept of each."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from oracle_opt import Oracle, Result, Status, minimize
from oracle_opt.arrays import Vector
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument, InvalidCertificate
from oracle_opt.history import History, Record
from oracle_opt.learn.fit_watcher import FitWatcher
from oracle_opt.learn.formulation import (
    Norm,
    kernel_weights,
    make_oracle,
    make_shared_oracle,
    own_generator,
    start_of,
)
from oracle_opt.oracles import KernelModel, MKLOracle
from oracle_opt.oracles.kernels import KernelBank, ProductBank
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle
from oracle_opt.oracles.svm import Loss

PATIENCE = 30  # calls in which the best value of a problem that is not convex has to fall


@dataclass(frozen=True, eq=False)
class MachineProblem:
    """A support vector machine to be trained on some points of a bank."""

    points: NDArray[np.intp]
    y: Vector | None
    loss: Loss
    plain: Loss


@dataclass(frozen=True, eq=False)
class Start:
    """Where a run may start: what the last one on such a problem ended with."""

    point: Vector
    signed_dual: Vector


@dataclass(frozen=True, eq=False)
class Trained:
    """The outcome of the runs of a fit."""

    weights: NDArray[np.float64]
    gap: float
    n_calls: int
    most_calls: int
    histories: tuple[History, ...]
    models: list[KernelModel]
    starts: tuple[Start, ...]
    certificates: tuple[Certificate | InvalidCertificate, ...]


@dataclass(frozen=True, eq=False)
class Training:
    """How machines are trained: the formulation and the limits of a run."""

    norm: Norm
    shared: bool
    generator: Any
    rtol: float
    max_calls: int
    memory_budget: int
    progress: bool
    certify: bool
    watcher: FitWatcher | None = None

    def run(
        self, bank: KernelBank | ProductBank, problems: Sequence[MachineProblem], starts: Sequence[Start] = ()
    ) -> Trained:
        """Train the machines, each from its start, that of a run on a similar problem, if that fits."""
        if self.shared and len(problems) > 1:
            machines = [self._oracle(bank, one, 1.0) for one in problems]
            assert all(isinstance(one, MKLOracle) for one in machines)
            oracle = make_shared_oracle(self.norm, machines)  # type: ignore[arg-type]
            runs = [self._solved(0, oracle, starts)]
            weights = kernel_weights(oracle, runs[0][1])
            models = oracle.models(runs[0][1])
        else:
            runs, every, models = [], [], []
            for i, problem in enumerate(problems):  # one after the other, as each takes a combined kernel
                alone = self._oracle(bank, problem, self.norm)
                runs.append(self._solved(i, alone, starts))
                every.append(kernel_weights(alone, runs[-1][1]))
                models.append(alone.model(runs[-1][1]))
            weights = every[0] if len(every) == 1 else np.array(every)
        for model, problem in zip(models, problems, strict=True):
            model.loss = problem.plain
        return Trained(
            weights=weights,
            gap=max(proven_gap(result) for result, _ in runs),
            n_calls=sum(result.n_calls for result, _ in runs),
            most_calls=max(result.n_calls for result, _ in runs),
            histories=tuple(result.history for result, _ in runs),
            models=models,
            starts=tuple(Start(cut.point, np.asarray(cut.extras["signed_dual"])) for _, cut in runs),
            certificates=tuple(certified(result) for result, _ in runs) if self.certify else (),
        )

    def _oracle(self, bank: KernelBank | ProductBank, problem: MachineProblem, norm: Norm) -> KernelWeightsOracle:
        part = bank if problem.points.size == bank.n_points else bank.on(problem.points)
        return make_oracle(norm, part, problem.y, problem.loss, self.memory_budget)

    def _solved(self, number: int, oracle: KernelWeightsOracle, starts: Sequence[Start]) -> tuple[Result, ObjectiveCut]:
        """The run of one oracle, and its best cut; a warning where it did not reach the gap that was asked for."""
        start = starts[number] if number < len(starts) else None
        watcher = self.watcher
        if watcher is not None:
            watcher.begins(oracle)
        if start is not None and start.signed_dual.size == n_duals(oracle):
            oracle.start_from(start.signed_dual)
        watch = CallWatch(watcher, None if oracle.convex else self.rtol)
        result = minimize(
            oracle,
            own_generator(self.generator, oracle, self.rtol),
            start_of(oracle, None if start is None else start.point),
            rtol=self.rtol,
            gtol=None if oracle.convex else self.rtol * float(np.sqrt(oracle.domain.dimension)),
            max_calls=self.max_calls,
            progress=self.progress,
            callback=watch,
        )
        if watcher is not None:
            watcher.ends()
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if result.cut is None:
            raise InvalidArgument(f"no weights of the kernels were found: {result.message}")
        if not (result.success or result.status is Status.STOPPED):  # a callback knows that it stopped it
            warn_of(result, self.rtol, oracle)
        return result, result.cut


class CallWatch:
    """Callback of a run: hands records on, and ends one without a gap where `PATIENCE` calls gain less than `rtol`."""

    def __init__(self, watcher: FitWatcher | None, rtol: float | None) -> None:
        self.watcher, self.rtol = watcher, rtol
        self._best: list[float] = []

    def __call__(self, record: Record) -> bool:
        """Look at a record; True ends the run."""
        stop = self.watcher is not None and self.watcher.answered(record)
        if self.rtol is not None:
            self._best.append(record.upper_bound)
            last = self._best[-PATIENCE - 1 :]
            stop |= len(last) > PATIENCE and last[0] - last[-1] <= self.rtol * abs(last[-1])
        return stop


def certified(result: Result) -> Certificate | InvalidCertificate:
    """The certificate of a run, or why there is none: a fit does not end for want of one."""
    try:
        return result.certificate()
    except InvalidCertificate as refusal:
        return refusal


def proven_gap(result: Result) -> float:
    """The relative gap of a run, infinite where its bounds contradict each other and so prove nothing."""
    return np.inf if result.status.disproved else result.relative_gap


def n_duals(oracle: KernelWeightsOracle) -> int:
    """Number of dual variables of all machines of an oracle."""
    return sum(one.bank.n_points for one in oracle.machines)


def warn_of(result: Result, rtol: float, oracle: Oracle) -> None:
    """Say in a `ConvergenceWarning` how far a run came."""
    if oracle.convex:
        gap = proven_gap(result)
        known = f"the proven relative gap is {gap:.3g}" if np.isfinite(gap) else "nothing is proven"
        reached = f"{known}, and rtol={rtol:g} was asked for"
    else:
        reached = "the best value was still falling, and nothing is proven of a product of kernels"
    warnings.warn(
        f"The weights of the kernels are not optimal to the accuracy asked for: {reached}. {result.message} Raise "
        "max_calls or rtol, scale the columns, or take a smaller C.",
        ConvergenceWarning,
        stacklevel=2,
    )
