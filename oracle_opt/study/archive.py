"""An archive of runs: what analyses read of a study, in one small file, against which other methods are compared."""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import whole
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument, StoreMismatch, StudyWarning
from oracle_opt.files import atomic_file, atomic_text
from oracle_opt.optional import require
from oracle_opt.study.records import BLANK, KEY, RUN_COLUMNS, Limits
from oracle_opt.study.results import Results
from oracle_opt.words import number, shown

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
HEAD, TABLES = "archive.json", ("runs", "events")
FOLDER = Path(__file__).parent / "archives"
DROPPED = ("message", "traceback")  # words that comparisons do without
SECONDS = ("oracle_seconds", "generator_seconds")
SLACK = 1e-6  # relative: points that are feasible to a tolerance may be better than the minimum by that much
UNPROVEN = ("REFUSED", "FAILED", "DOUBTFUL", "CONTRADICTION", "REFUTED")
NEAR = 1.1  # times the calls: what other instruction sets make of the same run
WHY = ("study", "archives of runs")


def save(results: Results, path: os.PathLike[str] | str, *, seconds: bool = True) -> Path:
    """Write runs into one file, about a kilobyte each: bounds, gaps and seconds at the calls where a bound moved.

    Query points, traces and messages are left out; analyses of what is kept say the same as before.

    Parameters
    ----------
    results : Results
        The runs.
    path : path-like
        The file; one that is there is replaced.
    seconds : bool
        Whether to keep seconds, which are of one machine, and the bounds of each call. Otherwise gaps are in single
        precision, on the right side of each accuracy.

    Returns
    -------
    Path
        The file.
    """
    pd = require("pandas", *WHY)
    require("pyarrow", *WHY)
    runs = results.runs[list(RUN_COLUMNS)].drop(columns=list(DROPPED)).reset_index(drop=True)
    if not seconds:
        runs = runs.assign(**dict.fromkeys((*SECONDS, "seconds", "processor_seconds"), nan), machine="", clock="")
    places = {key: place for place, key in enumerate(runs[list(KEY)].itertuples(index=False, name=None))}
    parts = []
    for key, history in results.history.groupby(list(KEY), sort=False):
        history = history.assign(relative_gap=history["relative_gap"].cummin())  # analyses take the least so far
        columns = ["lower_bound", "upper_bound", "relative_gap"] if seconds else ["relative_gap"]
        table = history[columns].to_numpy(dtype=float)
        moved = np.ones(len(table), dtype=bool)
        moved[1:-1] = (table[1:-1] != table[:-2]).any(axis=1)
        part = history.loc[moved, ["call", *columns]].assign(run=places[key])
        for name in SECONDS if seconds else ():
            part[name] = history[name].cumsum()[moved].astype(np.float32)
        parts.append(part)
    none = pd.DataFrame({name: np.zeros(0) for name in ("call", "relative_gap", "run")})  # where all were refused
    events = (pd.concat(parts, ignore_index=True) if parts else none).astype({"run": "uint32", "call": "uint32"})
    if not seconds:
        events["relative_gap"] = _rounded(events["relative_gap"].to_numpy(dtype=float), results.tau)
    content = {}
    for name, frame in zip(TABLES, (runs, events), strict=True):
        out = io.BytesIO()
        floats = {column: "BYTE_STREAM_SPLIT" for column in frame if frame[column].dtype.kind == "f"}
        how = {"use_dictionary": False, "column_encoding": floats} if name == "events" else {}
        frame.to_parquet(out, compression="zstd", compression_level=19, index=False, **how)
        content[name] = out.getvalue()
    head = {
        "format": FORMAT,
        "tau": list(results.tau),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
        for name, data in ((HEAD, json.dumps(head).encode()), *content.items()):
            file.writestr(zipfile.ZipInfo(name), data)  # without the time of day: the same runs make the same file
    atomic_file(Path(path), lambda temporary: temporary.write_bytes(out.getvalue()))
    return Path(path)


def _rounded(gaps: Vector, tau: Iterable[float]) -> NDArray[np.float32]:
    """Gaps in single precision, on the side of each accuracy on which they are."""
    near = gaps.astype(np.float32)
    for one in tau:
        beyond = (near > one) & (gaps <= one)
        near[beyond] = np.nextafter(np.float32(one), np.float32(0))
        near[(near <= one) & (gaps > one)] = np.nextafter(np.float32(one), np.float32(1))
    return near


def load(path: os.PathLike[str] | str) -> Results:
    """Read a file that `save` wrote.

    Bounds of all runs on an instance are held against each other: a false one exposes itself.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Results
        The runs. Between the calls that are stored the history repeats the last one.

    Raises
    ------
    StoreMismatch
        The file is none, or damaged, or of another format, or a lower bound of a run is above a value of another.
    """
    pd = require("pandas", *WHY)
    require("pyarrow", *WHY)
    try:
        with zipfile.ZipFile(path) as file:
            head = json.loads(file.read(HEAD))
            if head["format"] != FORMAT:
                raise StoreMismatch(f"{path} is an archive of format {head['format']}, and this version reads {FORMAT}")
            content = {name: file.read(name) for name in TABLES}
            tau = tuple(float(one) for one in head["tau"])
            damaged = [name for name in TABLES if hashlib.sha256(content[name]).hexdigest() != head["sha256"][name]]
        if damaged:
            raise StoreMismatch(f"{path} is damaged: its {damaged[0]} are not those of its digest")
        runs, events = (pd.read_parquet(io.BytesIO(content[name])) for name in TABLES)
        runs = runs.assign(**{name: blank for name, blank in BLANK.items() if name not in runs})[list(RUN_COLUMNS)]
        history = _history(runs, events)
    except StoreMismatch:
        raise
    except OSError as problem:
        raise StoreMismatch(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except Exception as problem:  # damaged files make readers raise errors of many kinds
        raise StoreMismatch(f"{path} is no archive of runs, or damaged ({problem!r})") from problem
    _check_bounds(runs, path)
    return Results(runs, history, tau)


def _history(runs: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """One row a call: what moved last, and seconds spread evenly over the calls between."""
    pd = require("pandas", *WHY)
    frames = []
    for place, event in events.groupby("run", sort=False):
        stored = event["call"].to_numpy(dtype=int)
        calls = np.arange(stored[0], stored[-1] + 1)
        at = np.searchsorted(stored, calls, side="right") - 1
        row = {name: runs[name].iloc[place] for name in KEY} | {"call": calls}
        for name in ("lower_bound", "upper_bound", "relative_gap"):
            row[name] = event[name].to_numpy(dtype=float)[at] if name in event else nan
        for name in SECONDS:
            spent = np.interp(calls, stored, event[name].to_numpy(dtype=float)) if name in event else np.full(1, nan)
            row[name] = np.diff(spent, prepend=0.0) if name in event else nan
        frames.append(pd.DataFrame(row))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*KEY, "call"])


def _check_bounds(runs: pd.DataFrame, path: os.PathLike[str] | str) -> None:
    """Refuse runs of which one has a lower bound above the value that another one found."""
    proven = runs[~runs["status"].isin(UNPROVEN)]
    for (instance, _), of in proven.groupby(["instance", "oracle"], sort=False):
        high, low = of.loc[of["lower_bound"].idxmax()], of.loc[of["upper_bound"].idxmin()]
        lower, upper = float(high["lower_bound"]), float(low["upper_bound"])
        if lower - upper > SLACK * max(1.0, abs(lower), abs(upper)):
            raise StoreMismatch(
                f"{path} contradicts itself on {instance}: {high['generator']} states the lower bound {lower:.12g}, "
                f"and {low['generator']} found {upper:.12g}"
            )


def archive(name: str) -> Results:
    """Read an archive that ships with the library.

    Parameters
    ----------
    name : str
        Its version, such as "2026.1": the study of docs/findings.md, whose gaps and calls are kept.

    Returns
    -------
    Results
        Its runs.

    Raises
    ------
    InvalidArgument
        There is none of that name.

    Examples
    --------
    >>> from oracle_opt.study import archive
    >>> archive("2026.1").filter(instance="nonsmooth/CB2", generator="kelley").runs["status"].tolist()
    ['CONVERGED']
    """
    path = FOLDER / f"{name}.runs"
    known = sorted(one.stem for one in FOLDER.glob("*.runs"))
    if name not in known:
        raise InvalidArgument(
            f"`name` must be an archive that ships with the library, {', '.join(known)}, got {shown(name)}"
        )
    return load(path)


def compare_with(
    known: str | Results,
    generators: Mapping[str, object] | Iterable[object],
    family: str | Iterable[str] | None = None,
    *,
    folder: os.PathLike[str] | str,
    jobs: int | None = None,
    progress: bool = True,
) -> Results:
    """Run methods of one's own on the instances of an archive, at its limits, and put the runs beside its own.

    Parameters
    ----------
    known : str or Results
        The archive, by its version, or one that was loaded.
    generators : mapping or iterable
        As `Study` takes them; a name must not be one of the archive's.
    family : str or iterable of str, optional
        Families of instances; default: all.
    folder : path-like
        Keeps the runs, as of `Study.run`.
    jobs, progress
        As of `Study.run`.

    Returns
    -------
    Results
        The runs of both. Calls are compared; seconds of two machines are not.

    Raises
    ------
    InvalidArgument
        A name is taken, or an instance of the archive is made otherwise by this version.
    """
    from oracle_opt.problems import suite
    from oracle_opt.study.recipes import identity_of, named_instances
    from oracle_opt.study.study import Study

    stored = archive(known) if isinstance(known, str) else known
    stored = stored if family is None else stored.filter(family=family)
    first = stored.runs.drop_duplicates("instance").set_index("instance")
    problems = [one for one in suite() if one.name in first.index]
    absent = [name for name in first.index if name not in {one.name for one in problems}]
    if not problems:
        raise InvalidArgument(f"`known` has no instance that is in the suite here; missing is {shown(absent[0])}")
    if absent:
        words = f"{number(len(absent), 'instance')} of the archive, such as {absent[0]}, have no data here: left out"
        warnings.warn(words, StudyWarning, stacklevel=2)
        stored = stored.filter(instance=[one.name for one in problems])
    if len(stored.runs[["max_calls", "max_seconds", "rtol"]].drop_duplicates()) > 1:
        raise InvalidArgument("`known` must be of one study: its runs have different limits")
    row = first.iloc[0]
    seconds = None if np.isnan(row["max_seconds"]) else float(row["max_seconds"])
    study = Study(
        problems,
        generators,
        seeds=sorted(set(stored.runs["seed"].tolist())),
        limits=Limits(calls=int(row["max_calls"]), seconds=seconds),
        tau=stored.tau,
    )
    taken = [name for name in study.generators if name in stored.order]
    if taken:
        raise InvalidArgument(
            f"`generators` must have names that the archive has not, got {shown(taken[0])}: rename it"
        )
    rows = {(run.instance, run.seed): run for run in stored.runs.itertuples() if run.oracle and run.status != "FAILED"}
    for named in named_instances(problems):
        for seed in study.seeds:
            there = rows.get((named.name, seed))
            # a recipe that draws makes the same up to the rounding of this machine
            if there is not None and there.recipe != named.identity():
                here = identity_of(named.make(seed))
                if here != there.oracle:
                    raise InvalidArgument(
                        f"`known` has runs on another problem called {named.name}: {there.oracle}, here it is {here}"
                    )
    own = study.run(folder, jobs=jobs, progress=progress)
    own.runs["digest"] += " of " + own.runs["generator"]  # a method that is stored, too, is kept beside it
    return stored.merge(own)


@dataclass(frozen=True)
class ArchiveCheck:
    """A sample of an archive's runs, done again.

    Attributes
    ----------
    table : DataFrame
        A row a run: instance, generator, seed, calls stored and now, their ratio, what the certificate proves now.
    near : float
        Share of the runs with calls within 1.1 times those stored, either way.
    wrong : tuple of str
        What was found false: a bound of now that contradicts a stored one.
    """

    table: pd.DataFrame
    near: float
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            self.table.to_string(index=False),
            f"{self.near:.0%} of {number(len(self.table), 'run')} within {NEAR:g} x",
        ]
        return "\n".join([*lines, *self.wrong])


def check_archive(known: str | Results, sample: int = 20, *, seed: int = 0) -> ArchiveCheck:
    """Do a sample of an archive's runs again, with their certificates, and hold calls and bounds against those stored.

    Parameters
    ----------
    known : str or Results
        As of `compare_with`.
    sample : int
        How many runs, drawn by `seed` among those that were not refused and not ended by the clock.
    seed : int
        Of the sample.

    Returns
    -------
    ArchiveCheck
        The runs beside those stored.
    """
    import tempfile

    from oracle_opt.problems import find
    from oracle_opt.study.study import Study

    pd = require("pandas", *WHY)
    stored = archive(known) if isinstance(known, str) else known
    ran = stored.runs[~stored.runs["status"].isin(("REFUSED", "FAILED", "MAX_SECONDS"))]
    drawn = ran.sample(min(whole("sample", sample), len(ran)), random_state=seed)
    rows: list[dict[str, Any]] = []
    wrong = []
    for run in drawn.itertuples():
        limits = Limits(calls=int(run.max_calls))
        with tempfile.TemporaryDirectory() as folder:
            study = Study(find(run.instance), [run.generator], seeds=[run.seed], limits=limits, tau=stored.tau)
            now = study.run(folder, jobs=1, progress=False).runs.iloc[0]
        if run.oracle != now["oracle"] and run.recipe != now["recipe"]:
            wrong.append(f"{run.instance} is another problem here: {now['oracle']}, stored {run.oracle}")
            continue
        for lower, upper in ((now["lower_bound"], run.upper_bound), (run.lower_bound, now["upper_bound"])):
            if lower - upper > SLACK * max(1.0, abs(upper)):
                wrong.append(
                    f"{run.generator} on {run.instance}: a lower bound {lower:.12g} above a value {upper:.12g}"
                )
        same = {"CONVERGED": run.n_calls}.get(run.status, inf), {"CONVERGED": now["n_calls"]}.get(now["status"], inf)
        ratio = 1.0 if same[0] == same[1] else same[1] / same[0]
        row = {name: getattr(run, name) for name in KEY}
        rows.append(row | {"stored": same[0], "now": same[1], "ratio": ratio, "certificate": now["certificate"]})
    table = pd.DataFrame(rows)
    near = float(((table["ratio"] <= NEAR) & (table["ratio"] >= 1 / NEAR)).mean()) if rows else nan
    return ArchiveCheck(table, near, tuple(wrong))


def to_iohinspector(results: Results, path: os.PathLike[str] | str) -> Path:
    """Write the calls at which the gap fell as a table that IOHinspector reads: CSV, a row an event.

    Parameters
    ----------
    results : Results
        The runs.
    path : path-like
        The table; its column `raw_y` is the proven relative gap, `evaluations` are oracle calls.

    Returns
    -------
    Path
        The table.
    """
    runs = results.runs.reset_index(drop=True)
    names = {name: place for place, name in enumerate(dict.fromkeys(runs["instance"]))}
    data = {key: place for place, key in enumerate(runs[list(KEY)].itertuples(index=False, name=None))}
    history = results.history
    fell = history.groupby(list(KEY), sort=False)["relative_gap"].cummin()
    kept = history[fell < fell.groupby([history[name] for name in KEY], sort=False).shift(fill_value=inf)]
    keys = list(kept[list(KEY)].itertuples(index=False, name=None))
    n = runs.set_index(list(KEY))["n"]
    frame = kept.rename(columns={"generator": "algorithm_name", "call": "evaluations", "relative_gap": "raw_y"})
    frame = frame.assign(
        data_id=[data[key] for key in keys],
        function_name=frame["instance"],
        function_id=[names[key[0]] for key in keys],
        dimension=[int(n.loc[key]) for key in keys],
        run_id=frame["seed"],
        instance=1,
    )
    columns = ["data_id", "algorithm_name", "function_name", "function_id", "dimension", "instance", "run_id"]
    text = frame[[*columns, "evaluations", "raw_y"]].to_csv(index=False)
    atomic_text(Path(path), text)
    return Path(path)
