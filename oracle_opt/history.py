"""The record of a run, call by call: each call's record, the history, its writer, and the memory that the run took."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, fields
from math import inf, isfinite
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.bounds import BoundSource, BoundTracker, closed, relative_gap
from oracle_opt.cuts import Cut, FeasibilityCut
from oracle_opt.generator import Step
from oracle_opt.words import one_line

if TYPE_CHECKING:
    import pandas as pd

KIB = 1024


@dataclass(frozen=True, eq=False)
class Record:
    """One answered call, as a callback sees it.

    Attributes
    ----------
    call : int
        Its number; the first is 1.
    step : Step
        What the generator did with the answer.
    cut : Cut
        The answer.
    upper_bound, lower_bound, relative_gap : float
        What is proven after the call.
    bound_source : BoundSource
        Which proof the lower bound is of.
    cut_bound : float
        The best lower bound by a single cut alone.
    resolution : float
        Size up to which both bounds count as 0: see `BoundTracker.resolution`.
    """

    __repr__ = one_line

    call: int
    step: Step
    cut: Cut
    upper_bound: float
    lower_bound: float
    relative_gap: float
    bound_source: BoundSource
    cut_bound: float = -np.inf
    resolution: float = 0.0

    def closed(self, rtol: float, atol: float = 0.0) -> bool:
        """Tell whether `minimize` with `rtol` and `atol` would end here, converged, by the best of the four proofs."""
        return closed(self.upper_bound, self.lower_bound, rtol, atol, self.resolution)


@dataclass(frozen=True, eq=False)
class History:
    """One row a call, by column; arrays of shape (n_calls,).

    Attributes
    ----------
    call : ndarray of int
        1, 2, ...
    step : ndarray of str
        'serious', 'null' or 'feasibility'.
    value, error : ndarray of float
        The cut's value and its stated error; nan for a feasibility cut.
    upper_bound, lower_bound : ndarray of float
        Best so far.
    bound_source : ndarray of str
        The proof behind `lower_bound`: 'oracle', 'cut', 'model', 'average' or 'none'.
    oracle_bound, cut_bound, model_bound, average_bound : ndarray of float
        Each of the four lower bounds, best so far.
    oracle_seconds, generator_seconds : ndarray of float
        Seconds this call took in the oracle and in the generator.
    inner_steps : ndarray of int
        Steps on inner problems that the generator took after this call, see `QueryPointGenerator.inner_steps`.
    resolution : ndarray of float
        Size up to which both bounds count as 0, see `BoundTracker.resolution`.
    cuts : tuple of cuts
        The cuts, with ``keep_cuts=True``.
    """

    call: NDArray[np.int64]
    step: NDArray[np.str_]
    value: Vector
    error: Vector
    upper_bound: Vector
    lower_bound: Vector
    bound_source: NDArray[np.str_]
    oracle_bound: Vector
    cut_bound: Vector
    model_bound: Vector
    average_bound: Vector
    oracle_seconds: Vector
    generator_seconds: Vector
    inner_steps: NDArray[np.int64]
    resolution: Vector
    cuts: tuple[Cut, ...] = ()

    def __len__(self) -> int:
        return len(self.call)

    def __repr__(self) -> str:
        if not len(self):
            return "History(no calls)"
        bounds = f"upper_bound={self.upper_bound[-1]:.10g}, lower_bound={self.lower_bound[-1]:.10g}"
        cuts = f", {len(self.cuts)} cuts" if self.cuts else ""
        return f"History({len(self)} calls, {bounds}{cuts})"

    @property
    def relative_gap(self) -> Vector:
        """Relative gap after each call, by the best of the four proofs."""
        return relative_gaps(self.upper_bound, self.lower_bound, np.abs(self.upper_bound))

    @property
    def single_cut_gap(self) -> Vector:
        """Relative gap after each call by the best single cut alone, where Wulff & Ong (2014) take the last."""
        return relative_gaps(self.upper_bound, self.cut_bound, np.abs(self.upper_bound))

    @property
    def stopping_unit(self) -> Vector:
        """What a gap is relative to after each call: ``abs(upper_bound)``, or more where the minimum is 0.

        Where the last bounds are 0 up to the `resolution` no gap is small relative to them: the unit is then at least a
        thousandth of the decrease since the first value.
        """
        upper = self.upper_bound
        if not (len(self) and closed(upper[-1], self.lower_bound[-1], 1e-300, 0.0, self.resolution[-1])):
            return np.abs(upper)
        first = upper[np.isfinite(upper)][0]
        unit: Vector = np.maximum(np.abs(upper), DECREASE * (first - upper))
        return unit

    @property
    def stopping_gap(self) -> Vector:
        """The gap after each call over the `stopping_unit`: what curves and `calls_to` count by."""
        return relative_gaps(self.upper_bound, self.lower_bound, self.stopping_unit)

    def calls_to(self, rtol: float) -> int | None:
        """Calls until the `stopping_gap` was at most `rtol`; `None` if it never was."""
        reached = np.flatnonzero(self.stopping_gap <= rtol)
        return int(self.call[reached[0]]) if reached.size else None

    def to_frame(self) -> pd.DataFrame:
        """Return the columns as a pandas data frame."""
        from oracle_opt.optional import require

        pd = require("pandas", "study", "a history as a data frame")

        return pd.DataFrame({name: getattr(self, name) for name in COLUMNS} | {"relative_gap": self.relative_gap})


DECREASE = 1e-3  # this share of the decrease since the first value is the unit of gaps where the minimum is 0
COLUMNS = tuple(column.name for column in fields(History) if column.name != "cuts")


def relative_gaps(upper: Vector, lower: Vector, unit: Vector) -> Vector:
    """Gaps relative to a unit, never negative; infinite while a bound is."""
    with np.errstate(invalid="ignore"):
        gaps: Vector = np.maximum(0.0, upper - lower) / np.maximum(1e-12, unit)
    gaps[~(np.isfinite(upper) & np.isfinite(lower))] = np.inf
    return gaps


class HistoryRecorder:
    """Collects rows while a run goes on, and what the run costs from the making of this on.

    Of a run that follows another one it goes on counting: calls, serious steps and seconds are those of both.
    """

    def __init__(self, keep_cuts: bool, before: HistoryRecorder | None = None) -> None:
        self._began, self._peak_before = perf_counter(), peak_memory()
        self._rows: list[tuple[Any, ...]] = []
        self._cuts: list[Cut] = []
        self._keep_cuts = keep_cuts
        self.n_serious = self.n_inner = self.n_replayed = self.n_before = 0
        self.ends_infinite = False  # whether the last value was +inf
        self.oracle_seconds = self.generator_seconds = 0.0
        if before is not None:
            self._began, self._peak_before = before._began, before._peak_before
            self.n_before, self.n_serious = before.n_calls, before.n_serious
            self.oracle_seconds, self.generator_seconds = before.oracle_seconds, before.generator_seconds

    @property
    def n_calls(self) -> int:
        """Calls recorded so far."""
        return self.n_before + len(self._rows)

    @property
    def seconds(self) -> float:
        """Elapsed so far."""
        return perf_counter() - self._began

    def memory(self) -> tuple[int | None, int | None]:
        """Peak of the process in bytes, and how much of it has come since this was made."""
        peak = peak_memory()
        return peak, None if peak is None or self._peak_before is None else max(0, peak - self._peak_before)

    def append(self, cut: Cut, step: Step, bounds: BoundTracker, oracle: float, generator: float, inner: int) -> Record:
        """Add one call's row; the seconds are those of this call, the inner steps those since the beginning."""
        self.n_serious += step is Step.SERIOUS
        self.oracle_seconds += oracle
        self.generator_seconds += generator
        if self._keep_cuts and (isinstance(cut, FeasibilityCut) or isfinite(cut.value)):
            self._cuts.append(cut)
        value, error = (np.nan, np.nan) if isinstance(cut, FeasibilityCut) else (cut.value, cut.error)
        self.ends_infinite = value == inf
        call, upper, lower, source = self.n_before + len(self._rows) + 1, bounds.upper, bounds.lower, bounds.source
        resolution = bounds.resolution
        self._rows.append(
            (
                *(call, step._value_, value, error, upper, lower, source._value_),  # without the property
                *(*bounds.proofs.values(), oracle, generator, inner - self.n_inner, resolution),
            )
        )
        self.n_inner = inner
        single = bounds.proofs[BoundSource.CUT]
        return Record(call, step, cut, upper, lower, relative_gap(upper, lower), source, single, resolution)

    def freeze(self) -> History:
        """Make the arrays."""
        columns = list(zip(*self._rows, strict=True)) if self._rows else [()] * len(COLUMNS)
        kinds = {"call": np.int64, "inner_steps": np.int64, "step": np.str_, "bound_source": np.str_}
        arrays: dict[str, Any] = {
            name: np.array(column, dtype=kinds.get(name, np.float64))
            for name, column in zip(COLUMNS, columns, strict=True)
        }
        return History(**arrays, cuts=tuple(self._cuts))


def machine_memory() -> int | None:
    """Bytes of the machine's memory; `None` where the system does not tell, as on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def peak_memory() -> int | None:
    """Largest resident memory of this process since it began, in bytes.

    Linux tells it as VmHWM, which ``/proc/self/clear_refs`` resets; `ru_maxrss` of a worker may be that of its parent.
    """
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * KIB
    except (OSError, ValueError, IndexError):  # no Linux, or a container that hides it
        return _of_usage()
    return _of_usage()


def _of_usage() -> int | None:
    if sys.platform in ("win32", "emscripten"):
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * KIB  # macOS counts bytes, others KiB
