"""The one loop: ask the generator, call the oracle, tell the answer, prove the gap."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import isfinite, isnan
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.bounds import BoundTracker
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query, Vector
from oracle_opt.errors import CapabilityMismatch, EmptyLocalizationSet, Exhausted, InvalidArgument, InvalidCut
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.journal import Entry, Journal
from oracle_opt.oracle import Oracle
from oracle_opt.progress import progress_display
from oracle_opt.result import HistoryRecorder, Record, Result, Status, make_result


def minimize(
    oracle: Oracle,
    generator: QueryPointGenerator,
    point: ArrayLike | None = None,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
    gtol: float | None = None,
    max_calls: int = 1000,
    max_seconds: float | None = None,
    cuts: Sequence[Cut] = (),
    keep_cuts: bool = False,
    journal: str | os.PathLike[str] | None = None,
    callback: Callable[[Record], object] | None = None,
    progress: bool = False,
) -> Result:
    """Minimise the oracle's function over its domain.

    ::

        generator --ask--> query point --> oracle --cut--> bounds, history
            ^                                  |
            +------------- tell ---------------+

    Parameters
    ----------
    oracle : Oracle
        Answers query points with cuts. Wrap a plain function in `FunctionOracle`.
    generator : QueryPointGenerator
        Proposes query points.
    point : array_like of shape (n,), optional
        Where to start, in the domain; default is the domain's interior point.
    rtol, atol : float
        Stop when the proven gap is at most ``max(atol, rtol * max(1e-12, abs(upper bound)))``.
    gtol : float, optional
        Stop when ``norm(project(z - g) - z) <= gtol`` for the last point z and its subgradient g.
    max_calls : int
        Limit on oracle calls, replayed ones included.
    max_seconds : float, optional
        Limit on the elapsed seconds of this run; checked between calls.
    cuts : sequence of cuts
        Cuts of the same function from an earlier run, told before the first call and not counted.
    keep_cuts : bool
        Keep the cuts in ``result.history.cuts``.
    journal : path-like, optional
        Log every answer durably in this file. If it holds the answers of the same run, they are replayed instead
        of calling the oracle, and the run goes on from there.
    callback : callable, optional
        Called with a `Record` after each call; stops the run by returning `True`.
    progress : bool
        Show a progress display on the terminal.

    Returns
    -------
    Result
        Also on limits, a stall, an empty localization set and Ctrl-C: see its `status`.

    Raises
    ------
    InvalidArgument
        An argument cannot be used.
    CapabilityMismatch
        This generator cannot serve this oracle; raised before the first call.
    InvalidCut
        The oracle answered no cut of the query point. Like any exception of an oracle it carries the partial
        `Result` as its attribute `result`.
    JournalMismatch
        The journal belongs to another run.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import FunctionOracle, Simplex, minimize
    >>> from oracle_opt.generators import Kelley
    >>> target = np.array([0.2, 0.3, 0.5])
    >>> oracle = FunctionOracle(lambda z: (abs(z - target).sum(), np.sign(z - target)), Simplex(3))
    >>> minimize(oracle, Kelley(), atol=1e-9).point.round(6).tolist()
    [0.2, 0.3, 0.5]
    """
    start = _check(oracle, generator, point, rtol, atol, gtol, max_calls, max_seconds)
    bounds, recorder = BoundTracker(oracle.domain, oracle.convex), HistoryRecorder(keep_cuts)
    oracle.reset()
    generator.reset(oracle.domain, start.copy())
    for cut in cuts:
        generator.tell(_check_cut(cut, cut.point, oracle))
        bounds.update(cut, generator.minorant(), generator.weight())
    began = perf_counter()
    query = None
    log_file = nullcontext() if journal is None else Journal(journal, _identity(oracle, generator, start, cuts))
    with log_file as log, progress_display(progress, type(generator).__name__, max_calls) as show:
        try:
            while True:
                if recorder.n_calls >= max_calls:
                    return make_result(Status.MAX_CALLS, bounds, recorder)
                if max_seconds is not None and perf_counter() - began >= max_seconds:
                    return make_result(Status.MAX_SECONDS, bounds, recorder)
                clock = perf_counter()
                previous, query = query, _as_query(generator.ask(), oracle.domain.dimension)
                generator_seconds = perf_counter() - clock
                if previous is not None and _same(query, previous):
                    return make_result(Status.STALLED, bounds, recorder)

                entry = None if log is None else log.next_answer(query)
                if entry is None:
                    clock = perf_counter()
                    cut = oracle.query(Query(query.point.copy(), query.accuracy, query.curvature))
                    oracle_seconds = perf_counter() - clock
                    _check_cut(cut, query.point, oracle)
                    if log is not None:
                        log.append(Entry(query, cut, oracle_seconds))
                else:
                    cut, oracle_seconds = entry.cut, entry.seconds
                    oracle.recall(cut)

                clock = perf_counter()
                step = generator.tell(cut)
                generator_seconds += perf_counter() - clock
                bounds.update(cut, generator.minorant(), generator.weight())
                record = recorder.append(cut, step, bounds, oracle_seconds, generator_seconds)
                show(record)
                stop = callback is not None and callback(record) is True
                status = _verdict(bounds, cut, oracle, rtol, atol, gtol) or (Status.STOPPED if stop else None)
                if status is not None:
                    return make_result(status, bounds, recorder)
        except EmptyLocalizationSet:
            return make_result(Status.EMPTY, bounds, recorder)
        except Exhausted:
            return make_result(Status.EXHAUSTED, bounds, recorder)
        except KeyboardInterrupt:
            return make_result(Status.INTERRUPTED, bounds, recorder)
        except Exception as problem:
            problem.result = make_result(Status.FAILED, bounds, recorder)  # type: ignore[attr-defined]
            where = "before the first query" if query is None else f"at {np.array2string(query.point, threshold=10)}"
            problem.add_note(f"during oracle call {recorder.n_calls + 1}, {where}; `error.result` holds the run so far")
            raise


def _verdict(
    bounds: BoundTracker, cut: Cut, oracle: Oracle, rtol: float, atol: float, gtol: float | None
) -> Status | None:
    """Whether the run is over."""
    if bounds.contradiction():
        return Status.CONTRADICTION
    if isfinite(bounds.gap) and bounds.gap <= max(atol, rtol * max(1e-12, abs(bounds.upper))):
        return Status.CONVERGED
    if gtol is not None and isinstance(cut, ObjectiveCut):
        moved = oracle.domain.project(cut.point - cut.subgradient) - cut.point
        if float(np.linalg.norm(moved)) <= gtol:
            return Status.GRADIENT
    return None


def _check(
    oracle: Oracle,
    generator: QueryPointGenerator,
    point: ArrayLike | None,
    rtol: float,
    atol: float,
    gtol: float | None,
    max_calls: int,
    max_seconds: float | None,
) -> Vector:
    """Refuse misuse before the first call; give the starting point."""
    if not isinstance(oracle, Oracle):
        raise InvalidArgument(f"`oracle` must be an Oracle, got {oracle!r}; wrap a function in FunctionOracle")
    if not isinstance(generator, QueryPointGenerator):
        raise InvalidArgument(f"`generator` must be a QueryPointGenerator object such as LevelSet(), got {generator!r}")
    for name, limit in (("rtol", rtol), ("atol", atol), ("gtol", gtol), ("max_calls", max_calls)):
        if limit is not None and not limit >= 0:
            raise InvalidArgument(f"`{name}` must be at least 0, got {limit!r}")
    if max_seconds is not None and not max_seconds >= 0:
        raise InvalidArgument(f"`max_seconds` must be at least 0 or None, got {max_seconds!r}")
    pair = f"{type(generator).__name__} cannot serve {type(oracle).__name__} on {oracle.domain!r}"
    if generator.needs_convexity and not oracle.convex:
        raise CapabilityMismatch(f"{pair}: it needs a convex function, and this oracle's is not")
    if oracle.gives_feasibility_cuts and not generator.takes_feasibility_cuts:
        raise CapabilityMismatch(f"{pair}: it takes no feasibility cuts, and this oracle gives them")
    if generator.needs_eigenvectors and not oracle.gives_eigenvectors:
        raise CapabilityMismatch(
            f"{pair}: it needs the eigenvectors of a largest eigenvalue, and this oracle gives none"
        )
    reason = generator.refusal(oracle.domain)
    if reason is not None:
        raise CapabilityMismatch(f"{pair}: {reason}")
    start = oracle.domain.interior_point() if point is None else np.array(point, dtype=float)
    if start.shape != (oracle.domain.dimension,):
        raise InvalidArgument(f"`point` must have shape ({oracle.domain.dimension},), got {start.shape}")
    if not np.isfinite(start).all():
        raise InvalidArgument(f"`point` must be finite, got {start}")
    if not oracle.domain.contains(start):
        raise InvalidArgument(f"`point` must lie in {oracle.domain!r}, got {start}; project it first")
    return start


def _as_query(asked: Vector | Query, dimension: int) -> Query:
    query = asked if isinstance(asked, Query) else Query(asked)
    if query.point.shape != (dimension,) or not np.isfinite(query.point).all():
        raise InvalidArgument(f"`ask` must give {dimension} finite numbers, got {query.point!r}")
    return query


def _same(query: Query, previous: Query) -> bool:
    wishes = (query.accuracy, query.curvature) == (previous.accuracy, previous.curvature)
    return wishes and bool((query.point == previous.point).all())


def _check_cut(cut: Cut, point: Vector, oracle: Oracle) -> Cut:
    """Raise InvalidCut unless `cut` is a cut of `point`."""
    if isinstance(cut, ObjectiveCut):
        number, vector, name = cut.value, cut.subgradient, "subgradient"
    elif isinstance(cut, FeasibilityCut):
        number, vector, name = cut.violation, cut.normal, "normal"
    else:
        raise InvalidCut(f"`query` must return an ObjectiveCut or a FeasibilityCut, got {cut!r}")
    if np.shape(vector) != point.shape:
        raise InvalidCut(f"`{name}` must have the shape of the point, {point.shape}, got {np.shape(vector)}")
    if not (isfinite(number) and np.isfinite(vector).all()):
        raise InvalidCut(f"a cut must be finite, got {number!r} with {name} {vector!r}")
    if not np.array_equal(cut.point, point):
        raise InvalidCut(f"`point` of the cut must be the query point, got {cut.point!r}")
    if isinstance(cut, ObjectiveCut):
        if not cut.error >= 0 or isnan(cut.lower_bound):
            raise InvalidCut(f"`error` must be >= 0 and `lower_bound` no NaN, got {cut.error!r}, {cut.lower_bound!r}")
        _check_several("further", [(one.point, one.value, one.subgradient) for one in cut.further], point)
        _check_several("parts", [(one.point, one.value, one.subgradient) for one in cut.parts], point)
        _check_sum(cut)
        return cut
    if not oracle.gives_feasibility_cuts:
        raise InvalidCut("got a FeasibilityCut from an oracle that says `gives_feasibility_cuts = False`; set it True")
    if not all(one.error >= 0 for one in (cut, *cut.parts)):
        raise InvalidCut(f"`error` of a feasibility cut must be >= 0, got {cut.error!r}")
    if not (cut.violation > 0 and np.any(vector)):
        raise InvalidCut(
            f"a feasibility cut must cut off its point: violation > 0 and a normal that is not zero, "
            f"got violation {cut.violation!r}"
        )
    _check_several("parts", [(one.point, one.violation, one.normal) for one in cut.parts], point)
    if not all(np.any(one.normal) for one in cut.parts):
        raise InvalidCut("`parts` of a feasibility cut must have normals that are not zero")
    return cut


def _check_several(name: str, cuts: Sequence[tuple[Vector, float, Vector]], point: Vector) -> None:
    """Raise InvalidCut unless further cuts, as point, number and vector, fit the query point."""
    for i, (at, number, vector) in enumerate(cuts):
        if np.shape(vector) != point.shape or not (isfinite(number) and np.isfinite(vector).all()):
            raise InvalidCut(
                f"`{name}[{i}]` must be finite and of the point's shape, {point.shape}, got {number!r} with {vector!r}"
            )
        if not np.array_equal(at, point):
            raise InvalidCut(f"`{name}[{i}].point` must be the query point, got {at!r}")


def _check_sum(cut: ObjectiveCut) -> None:
    """Raise InvalidCut unless the parts add up to the cut, up to rounding."""
    if not cut.parts:
        return
    rows = np.array([[one.value, *one.subgradient] for one in cut.parts])
    size = np.abs(rows).sum(axis=0)
    away = np.abs(rows.sum(axis=0) - np.r_[cut.value, cut.subgradient])
    if away[0] > 1e-9 * size[0] or away[1:].max() > 1e-9 * size[1:].max():
        raise InvalidCut(
            f"`parts` must add up to the cut, got values that add up to {rows[:, 0].sum()!r} for {cut.value!r}, and "
            f"subgradients that miss the cut's by up to {away[1:].max():.2g}"
        )


def _identity(oracle: Oracle, generator: QueryPointGenerator, start: Vector, cuts: Sequence[Cut]) -> dict[str, str]:
    """What a journal must share with a run to be replayed in it."""
    told = hashlib.sha256()
    for cut in cuts:
        told.update(cut.point.tobytes())
    return {
        "oracle": oracle.identity(),
        "generator": repr(generator),
        "starting point": hashlib.sha256(start.tobytes()).hexdigest(),
        "sequence of earlier cuts": told.hexdigest(),
    }
