"""One run of a study: make the instance, let the driver run, write the row."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.certificates.proof_level import standing_of
from oracle_opt.clocks import clock_of
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.driver import minimize
from oracle_opt.errors import CapabilityMismatch, InvalidCertificate, Refuted, StoreMismatch
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.history import Record, relative_gaps
from oracle_opt.optional import require
from oracle_opt.problems import Instance
from oracle_opt.problems.instance import processes
from oracle_opt.result import Result, Status
from oracle_opt.study.machine import machine_words, own_version
from oracle_opt.study.recipes import Named, identity_of
from oracle_opt.study.records import BLANK, DOUBTFUL, REFUSED, UNPROVEN, FinishedRun, Settings, failure

if TYPE_CHECKING:
    import pandas as pd


ROUNDING = 1e-9  # of a known minimum, relative


@dataclass(frozen=True, eq=False)
class Task:
    """One run that is to be done."""

    row: dict[str, Any]  # what is known of its row beforehand: the key, family, limits, `method`, `digest`
    # What makes the instance; pickled for another process; None for a process that has the instance from the run
    # before.
    recipe: Named | bytes | None
    generator: QueryPointGenerator | bytes
    settings: Settings
    expected: str  # the identity that the runs on this instance have in the folder; empty if there are none
    processes: int  # how many share the memory of the machine
    # Whether its process does one run at a time, so that all processor time of the process is the run's.
    alone: bool = True

    @property
    def processor(self) -> Literal["processor", "thread"]:
        """The clock of the processor that this run has for itself."""
        return "processor" if self.alone else "thread"

    @property
    def clock(self) -> Literal["elapsed", "processor", "thread"]:
        """The clock that oracle and generator are charged by."""
        return self.processor if self.settings.clock == "processor" else "elapsed"


class InstanceGone(Exception):
    """The process was to have the instance from the run before, and is another one now: the run is to be sent whole."""


class _Last(threading.local):
    """The instance of this thread's last run: the next run on it need not make it again."""

    key: tuple[str, int] | None = None
    instance: Instance | None = None


_last = _Last()


def execute(task: Task) -> FinishedRun:
    """Do a run, with one thread of linear algebra."""
    threadpool_limits = require("threadpoolctl", "study", "the runs of a study").threadpool_limits
    row = dict(task.row) | {"version": own_version(), "machine": machine_words(), "clock": task.clock}
    try:
        with threadpool_limits(limits=1):
            generator = task.generator if isinstance(task.generator, QueryPointGenerator) else _loads(task.generator)
            instance = _instance(task)
            row |= {"n": int(instance.oracle.domain.dimension), "oracle": identity_of(instance)}
            row |= {"optimum": float(instance.optimum), "optimum_error": float(instance.optimum_error)}
            if task.expected and task.expected != row["oracle"]:
                raise StoreMismatch(
                    f"the recipe of {row['instance']} now makes another problem than the one that the runs in the "
                    f"folder were made on, {row['oracle']} and no longer {task.expected}; choose another folder"
                )
            return _run(row, instance, generator, task)
    except InstanceGone:
        raise
    except Exception as problem:
        return failure(row, problem)


def forget() -> None:
    """Let go of the instance of the last run."""
    _last.key = _last.instance = None


def _instance(task: Task) -> Instance:
    key = task.row["instance"], task.row["seed"]
    if _last.key != key or _last.instance is None:
        if task.recipe is None:
            raise InstanceGone
        forget()
        named = task.recipe if isinstance(task.recipe, Named) else _loads(task.recipe)
        shared = processes.set(task.processes)
        try:
            _last.instance = named.make(task.row["seed"])
        finally:
            processes.reset(shared)
        _last.key = key
    return _last.instance


class _Watch:
    """Callback that remembers where the run converged and the best cut there, and takes the traces."""

    def __init__(self, instance: Instance, settings: Settings, processor: str) -> None:
        self.instance, self.settings, self._processor = instance, settings, clock_of(processor)
        self.best: ObjectiveCut | None = None
        self.first = np.nan  # value
        self.converged_at: int | None = None
        self.traces: dict[str, list[float]] = {name: [] for name in instance.traces}
        self.points: list[Vector] = []
        self.seconds = self.processor_seconds = 0.0
        self._clocks = (
            perf_counter(),
            self._processor(),
        )  # put forward by what is spent here, which is charged to nobody
        self._upper = np.inf

    def __call__(self, record: Record) -> bool:
        cut, settings = record.cut, self.settings
        now = perf_counter(), self._processor()
        if isinstance(cut, ObjectiveCut):
            if np.isnan(self.first):
                self.first = cut.value
            if self.converged_at is None and record.upper_bound < self._upper:
                self.best = cut
        self._upper = record.upper_bound
        if self.converged_at is None:
            self.seconds, self.processor_seconds = (t - began for t, began in zip(now, self._clocks, strict=True))
            if record.closed(settings.rtol):
                self.converged_at = record.call
        for name, trace in self.instance.traces.items():
            self.traces[name].append(trace(cut) if isinstance(cut, ObjectiveCut) else np.nan)
        if settings.keep_points:
            self.points.append(cut.point)
        spent = perf_counter() - now[0], self._processor() - now[1]
        self._clocks = self._clocks[0] + spent[0], self._clocks[1] + spent[1]
        return self.converged_at is not None and (
            "single-cut" not in settings.until or replace(record, lower_bound=record.cut_bound).closed(settings.rtol)
        )


def _run(row: dict[str, Any], instance: Instance, generator: QueryPointGenerator, task: Task) -> FinishedRun:
    settings = task.settings
    watch, limits = _Watch(instance, settings, task.processor), settings.limits
    single = "single-cut" in settings.until
    try:
        result = minimize(
            instance.oracle,
            generator,
            instance.start,
            rtol=0.0 if single else settings.rtol,
            max_calls=limits.calls,
            max_seconds=limits.seconds,
            callback=watch,
            check=not settings.verify,  # the whole certificate is verified afterwards
            clock=task.clock,
            probes=0,  # as many calls as the method asks, and no more
        )
    except CapabilityMismatch as problem:
        pd = require("pandas", "study", "the tables of a study")

        blank = pd.DataFrame({"call": pd.Series(dtype="int64")})
        return FinishedRun(BLANK | row | {"status": REFUSED, "message": str(problem)}, blank)
    except Exception as problem:
        partial: Result | None = getattr(problem, "result", None)
        if partial is None or watch.converged_at is None:
            return failure(row, problem, None if partial is None else _frame(partial, watch))
        result = partial  # it had converged: what came after is no part of the run
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    frame = _frame(result, watch)
    numbers = _numbers(result, watch, instance)
    if settings.verify:
        try:
            numbers["certificate"] = standing_of(result, instance.oracle).value
        except (InvalidCertificate, Refuted) as problem:
            return _refuted(row, problem, frame)
    return FinishedRun(BLANK | row | numbers, frame)


def _refuted(row: dict[str, Any], problem: Exception, frame: pd.DataFrame) -> FinishedRun:
    """A run whose bounds are not proven: none of its numbers stands in the row."""
    refusal = Refuted(f"the certificate of this run is refused, so that its bounds prove nothing: {problem}")
    refusal.__cause__ = problem
    return failure(row | {"certificate": UNPROVEN}, refusal, frame)


def _numbers(result: Result, watch: _Watch, instance: Instance) -> dict[str, Any]:
    """The entries of a run's row, for a run that ended without an exception."""
    history, n_calls = result.history, watch.converged_at or result.n_calls
    status, message = result.status, result.message
    if status is Status.EDGE:  # `_doubt` judges by the known minimum
        status = Status.CONVERGED
    if watch.converged_at and status is not Status.CONVERGED and not status.disproved:
        status, message = Status.CONVERGED, Status.CONVERGED.value
    numbers: dict[str, Any] = {
        "status": status.name,
        "message": message,
        "n_calls": n_calls,
        "oracle_seconds": float(history.oracle_seconds[:n_calls].sum()),
        "generator_seconds": float(history.generator_seconds[:n_calls].sum()),
        "inner_steps": int(history.inner_steps[:n_calls].sum()),
        "seconds": watch.seconds,
        "processor_seconds": watch.processor_seconds,
        "start_value": watch.first,
    }
    if n_calls:
        frame = _frame(result, watch).iloc[n_calls - 1]
        numbers |= {name: float(frame[name]) for name in ("upper_bound", "lower_bound", "relative_gap")}
    doubt = _doubt(result, instance)
    if doubt:
        numbers |= {"status": DOUBTFUL, "message": f"{message} {doubt}" if doubt not in message else message}
    best: ObjectiveCut | None = watch.best
    return numbers | {name: np.nan if best is None else float(f(best)) for name, f in instance.measures.items()}


def _doubt(result: Result, instance: Instance) -> str:
    """Why the lower bound of a run is not to be trusted, which a known minimum tells; empty if it is."""
    if not np.isfinite(result.lower_bound):
        return ""
    if not np.isfinite(instance.optimum):
        return " ".join(result.warnings)
    most = instance.optimum + instance.optimum_error + ROUNDING * max(1.0, abs(instance.optimum))
    if result.lower_bound <= most:
        return ""
    return (
        f"The lower bound {result.lower_bound:.10g} is above the known minimum {instance.optimum:.10g}, which is said "
        f"to be off by at most {instance.optimum_error:.1g}: the cuts, the promise of the domain or the minimum is "
        "wrong."
    )


def _frame(result: Result, watch: _Watch) -> pd.DataFrame:
    """The history, with gaps relative to its unit, and with the traces."""
    history = result.history
    frame, unit = history.to_frame(), history.stopping_unit
    for name, lower in (("relative_gap", history.lower_bound), ("single_cut_gap", history.cut_bound)):
        frame[name] = relative_gaps(history.upper_bound, lower, unit)
    for name, values in watch.traces.items():
        frame[name] = np.array(values + [np.nan] * (len(frame) - len(values)))
    if watch.settings.keep_points:
        frame["point"] = [point.tolist() for point in watch.points]
    return frame


def _loads(blob: bytes) -> Any:
    return require("cloudpickle", "study", "the runs of a study").loads(blob)
