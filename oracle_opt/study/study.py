"""A study: generators on instances, on equal terms, kept in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Executor
from itertools import islice
from math import isfinite, nan, sqrt
from typing import TYPE_CHECKING, Any

from oracle_opt.arguments import called_otherwise, flag, whole
from oracle_opt.errors import InvalidArgument, StoreMismatch
from oracle_opt.executors import checked_executor
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.optional import require
from oracle_opt.run_log import line_writer
from oracle_opt.study.answers import is_same
from oracle_opt.study.grid import run_groups
from oracle_opt.study.lanes import Group, Ledger
from oracle_opt.study.progress_bar import ProgressBar, judge, warn_of_first, warn_of_load
from oracle_opt.study.recipes import Named, method_of, module_of, named_generators, named_instances
from oracle_opt.study.records import FinishedRun, Limits, Settings
from oracle_opt.study.results import Results, results_of
from oracle_opt.study.store import RunStore
from oracle_opt.words import shown

if TYPE_CHECKING:
    import pandas as pd

_MOST_SEEDS = 1_000_000


class Study:
    """Compare generators on instances: the same start, the same limits, the same proven gap.

    Parameters
    ----------
    instances : mapping or list
        Names to oracles, `Instance` objects, functions of a seed that return one of these, or words that
        `oracle_opt.problems.find` understands, such as ``"nonsmooth"`` (a family), ``"nonsmooth/CB2"`` or
        ``"max-affine(n=30, seed=2)"``. A list holds words or `Problem` objects, which have names. The seed is the one
        argument that a function needs, or the one named `seed`; defaults stay as they are: ``lambda n=n: make(n)`` and
        ``partial(make, n)`` are called without a seed.
    generators : mapping or list
        Names to generators, or words as on the command line, such as ``"kelley(chebyshev=True)"``. A list holds words.
    seeds : int or iterable of int
        Seeds of the instances; an integer stands for 0, 1, ... below it. An oracle takes no notice of its seed: it is
        run as often, to see how the seconds vary.
    limits : Limits
        Calls and seconds of a run.
    tau : iterable of float
        Accuracies that the analyses ask for, as relative gaps; a run ends at the smallest.
    until : iterable of str
        'certified', and 'single-cut' if runs are to go on until the gap by the best single cut alone has closed, too.
    keep_points : bool
        Keep every query point in the history.
    verify : bool
        Write the certificate of each run when it has ended and verify it, against the witnesses of the cuts where the
        oracle has them: the column `certificate` of the runs says what was found, and a run whose certificate is
        refused has failed. The time is charged to nobody; it may be as long as that of a short run.
    clock : {'processor', 'elapsed'}
        Which seconds the oracle and the generator are charged. Processor seconds do not depend on what else the machine
        does. They are of all threads of the process of a run, or with an `executor`, whose process may do several runs,
        of the run's own thread. They count no waiting and no other process: where an oracle starts a simulation or has
        workers, take 'elapsed', on a machine that does nothing else.

    Raises
    ------
    InvalidArgument
        An argument cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from oracle_opt import Box, FunctionOracle
    >>> from oracle_opt.study import Study
    >>> box = Box(-np.ones(3), 2 * np.ones(3))
    >>> norms = {f"norm {p}": FunctionOracle(norm, box) for p, norm in {
    ...     1: lambda z: (abs(z).sum(), np.sign(z)),
    ...     2: lambda z: (z @ z, 2 * z),
    ... }.items()}
    >>> study = Study(norms, ["level-set", "kelley"], tau=1e-3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = study.run(folder, jobs=1, progress=False)
    >>> results.runs["status"].tolist()
    ['CONVERGED', 'CONVERGED', 'CONVERGED', 'CONVERGED']
    >>> results.runs["instance"].tolist()
    ['norm 1', 'norm 1', 'norm 2', 'norm 2']
    """

    @called_otherwise()
    def __init__(
        self,
        instances: Mapping[str, object] | Iterable[object],
        generators: Mapping[str, object] | Iterable[object],
        *,
        seeds: int | Iterable[int] = 1,
        limits: Limits | None = None,
        tau: float | Iterable[float] = (1e-2, 1e-4, 1e-6),
        until: str | Iterable[str] = ("certified",),
        keep_points: bool = False,
        verify: bool = True,
        clock: str = "processor",
    ) -> None:
        self.instances: list[Named] = named_instances(instances)
        self.generators: dict[str, QueryPointGenerator] = named_generators(generators)
        self.seeds = _seeds(seeds)
        for one in self.instances:
            one.check_seeds(self.seeds)
        limits = Limits() if limits is None else limits
        self.settings = Settings(limits, tau, until, keep_points, verify, clock)  # type: ignore[arg-type]  # makes tuples

    def __repr__(self) -> str:
        return (
            f"Study({len(self.instances)} instances, {len(self.generators)} generators, {len(self.seeds)} seeds, "
            f"{self.settings!r})"
        )

    def guarantee(self, calls: int | None = None) -> pd.DataFrame:
        """Say what theory guarantees of each run, beside what nobody can beat.

        Parameters
        ----------
        calls : int, optional
            After how many calls; default is the limit of the runs.

        Returns
        -------
        DataFrame
            A row for each instance, generator and seed: the bound on the best value less the minimum and its `formula`,
            NaN and "none" where no bound with constants is published or the constants are not known, see
            `Instance.regularity`; and `unbeatable`, ``L R / sqrt(N)``, below which no method stays on all functions
            of N variables or more (Drori & Teboulle 2016), NaN where there are fewer.

        Raises
        ------
        InvalidArgument
            `calls` is no whole number of at least 1.
        MissingPackage
            pandas is not installed.
        """
        pd = require("pandas", "study", "a table of guarantees")
        n = self.settings.limits.calls if calls is None else whole("calls", calls)
        rows = []
        for named in self.instances:
            for seed in self.seeds:
                made = named.make(seed)
                domain, known = made.oracle.domain, made.regularity
                start = domain.interior_point() if made.start is None else made.start
                unbeatable = known.steepness * known.distance / sqrt(n) if domain.dimension >= n else nan
                for name, generator in self.generators.items():
                    found = generator.guarantee(domain, start, n, known)
                    value, formula = found if found is not None and isfinite(found.value) else (nan, "none")
                    rows.append((named.name, name, seed, n, value, formula, unbeatable))
        return pd.DataFrame(
            rows, columns=["instance", "generator", "seed", "calls", "guarantee", "formula", "unbeatable"]
        )

    def run(
        self,
        folder: os.PathLike[str] | str,
        executor: Executor | None = None,
        *,
        jobs: int | None = None,
        progress: bool = True,
        log: bool | Callable[[str], object] = False,
        part: str | None = None,
    ) -> Results:
        """Do the runs that are missing in a folder.

        Every finished run is kept in the folder at once. The same call again does what is missing only, after whatever
        ended the first; runs that an exception ended are tried again, those that a generator refused are not.
        Instances, generators and seeds may be added by further studies of the same settings, and several processes may
        use one folder at the same time.

        Parameters
        ----------
        folder : path-like
            Gets `study.json` and `runs/`.
        executor : Executor, optional
            Does the runs: any of `concurrent.futures`, or that of a Dask client, ``client.get_executor()``. Default:
            processes of our own, which need no ``if __name__ == "__main__"``.
        jobs : int, optional
            Number of processes, default one for each core; 1 does everything in this process. With an executor, the
            number of runs that it is given at a time, default 32.
        progress : bool
            Show how many runs are done and have failed, and the time left: on the terminal or in the notebook.
        log : bool or callable
            Say each finished run in a line, with its status, calls, seconds and gap: `True` on standard error; a
            function, such as `print`, is called with each line.
        part : str, optional
            ``"2/4"`` does the second of four parts: every fourth run, from the second on. So jobs on several machines
            share out a study in one folder. The call without it has the runs of all parts, and does what is missing.

        Returns
        -------
        Results
            The runs of this study or part, those found in the folder included; after Ctrl-C, too, see `interrupted`.

        Raises
        ------
        InvalidArgument
            An argument cannot be used, or an instance cannot be sent to another process.
        StudyFailed
            Every run failed, but for those that a generator refused. Its `results` and the folder have all runs.
        StoreMismatch
            The folder belongs to other settings or another version, or has runs of the same name on another problem or
            by another method, or a run in it is damaged.
        OSError
            A run cannot be written, as the disk is full; those finished before are kept.

        Warns
        -----
        StudyWarning
            At once when the first run has failed; at the end, which instances and generators failed altogether. At the
            beginning, where seconds are elapsed and there are more jobs, or a higher load, than cores.
        """
        executor = checked_executor(executor)
        jobs = None if jobs is None else whole("jobs", jobs)
        progress = flag("progress", progress)
        line_writer(log)  # refuses what is none, before the folder is touched
        first, parts = (1, 1) if part is None else _part(part)
        store = RunStore(folder, self.settings)
        store.add_names([one.name for one in self.instances], self.generators)
        rows = dict(islice(self._rows().items(), first - 1, None, parts))
        stored = {run.key: run for run in store.load()}
        runs: dict[tuple[str, str, int], FinishedRun] = {}
        renamed = self._asked(store, stored, {(instance, seed) for instance, _, seed in rows})
        for key, row in rows.items():
            if key in stored and not stored[key].failed:
                runs[key] = _same(stored[key], row, store, renamed)
        groups = self._groups(rows, runs, stored, renamed)
        interrupted = False
        if groups and self.settings.clock == "elapsed":
            warn_of_load(None if executor is not None else jobs)
        with ProgressBar(progress, len(runs), len(rows) - len(runs), log) as bar:

            def found(row: dict[str, Any]) -> bool:
                run = store.find((row["instance"], row["generator"], row["seed"]))
                if run is None or run.failed:
                    return False
                done(_same(run, row, store, renamed), saved=True)
                return True

            def done(run: FinishedRun, saved: bool = False) -> None:
                if not saved:
                    store.save(run)
                runs[run.key] = run
                bar.advance(run)
                if run.failed and bar.n_failed == 1:
                    warn_of_first(run)

            try:
                run_groups(groups, self.settings, executor, jobs, Ledger(found, done))
            except KeyboardInterrupt:
                interrupted = True
                # one may have been stored and not yet counted
                for run in store.load():
                    if run.key in rows and run.row["digest"] == rows[run.key]["digest"]:
                        runs[run.key] = run
        ordered = [runs[key] for key in rows if key in runs]
        results = results_of(ordered, self.settings.tau, interrupted=interrupted)
        if not interrupted:
            judge(ordered, results)
        return results

    def _asked(
        self, store: RunStore, stored: Mapping[tuple[str, str, int], FinishedRun], wanted: Collection[tuple[str, int]]
    ) -> set[tuple[str, int]]:
        """Ask each instance once, and hold the answer against that in the folder: which may have other names now."""
        identities = {(i, seed): run.row["oracle"] for (i, _, seed), run in stored.items() if run.row["oracle"]}
        return {
            (one.name, seed)
            for one in self.instances
            for seed in self.seeds
            if (one.name, seed) in wanted
            and is_same(store.answer_path(one.name, seed), one, seed, identities.get((one.name, seed), ""))
        }

    def _rows(self) -> dict[tuple[str, str, int], dict[str, Any]]:
        """The entries of every run's row that are known beforehand, by key."""
        limits, rows = self.settings.limits, {}
        for instance in self.instances:
            identity = instance.identity()
            for seed in self.seeds:
                for name, generator in self.generators.items():
                    method = method_of(generator)
                    decisive = identity, seed, method, json.dumps(self.settings.decisive(), sort_keys=True)
                    rows[instance.name, name, seed] = {
                        "instance": instance.name,
                        "generator": name,
                        "seed": seed,
                        "family": instance.family,
                        "rtol": self.settings.rtol,
                        "max_calls": limits.calls,
                        "max_seconds": float("nan") if limits.seconds is None else float(limits.seconds),
                        "recipe": identity,
                        "method": method,
                        "module": module_of(generator),
                        "digest": hashlib.blake2b(repr(decisive).encode(), digest_size=16).hexdigest(),
                    }
        return rows

    def _groups(
        self,
        rows: Mapping[tuple[str, str, int], dict[str, Any]],
        runs: Mapping[tuple[str, str, int], FinishedRun],
        stored: Mapping[tuple[str, str, int], FinishedRun],
        renamed: Collection[tuple[str, int]],
    ) -> list[Group]:
        """The missing runs, gathered by instance and seed."""
        identities = {(i, seed): run.row["oracle"] for (i, _, seed), run in stored.items() if run.row["oracle"]}
        groups = []
        for instance in self.instances:
            for seed in self.seeds:
                missing = {
                    name: rows[instance.name, name, seed]
                    for name in self.generators
                    if (instance.name, name, seed) in rows.keys() - runs.keys()
                }
                if missing:
                    known = (instance.name, seed) in renamed
                    expected = "" if known else identities.get((instance.name, seed), "")
                    generators = {name: self.generators[name] for name in missing}
                    groups.append(Group(instance, seed, missing, generators, expected))
        return groups


def _same(
    run: FinishedRun, row: Mapping[str, Any], store: RunStore, renamed: Collection[tuple[str, int]]
) -> FinishedRun:
    """Refuse a stored run that is of the same name, and of another problem or method."""
    instance, generator, seed = run.key
    if run.row["digest"] == row["digest"] or (run.row["method"] == row["method"] and (instance, seed) in renamed):
        return run
    if run.row["method"] != row["method"]:
        raise StoreMismatch(
            f"{store.folder} holds runs of {generator} as {run.row['method']}, and it is now {row['method']}; "
            "choose another folder"
        )
    raise StoreMismatch(
        f"{store.folder} holds a run of {generator} on another problem called {instance}: it was made of "
        f"{run.row['recipe']}, and is now of {row['recipe']}; choose another folder"
    )


def _seeds(given: int | Iterable[int]) -> tuple[int, ...]:
    many = given if isinstance(given, Iterable) else range(whole("seeds", given))
    try:
        seeds = tuple(whole("seeds", seed, least=0) for seed in islice(many, _MOST_SEEDS + 1))
    except InvalidArgument as problem:
        raise InvalidArgument(
            f"`seeds` must be a number of seeds, or different seeds of at least 0: {problem}"
        ) from None
    if len(seeds) > _MOST_SEEDS:
        raise InvalidArgument(f"`seeds` must be at most {_MOST_SEEDS:,}, got {shown(given)}")
    if not seeds or len(set(seeds)) < len(seeds):
        raise InvalidArgument(f"`seeds` must be different, and at least one, got {shown(given)}")
    return seeds


def _part(words: str) -> tuple[int, int]:
    """The number of a part, and of how many it is one."""
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", words) if isinstance(words, str) else None
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise InvalidArgument(f'`part` must be one of "1/n", "2/n", ..., "n/n", such as "1/4", got {shown(words)}')
    return int(found[1]), int(found[2])
