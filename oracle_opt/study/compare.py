"""The comparison of Wulff & Ong (2014): a study of l1-MKL on random splits, then tables and curves."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from oracle_opt.arguments import flag, instances, real, whole
from oracle_opt.datasets import Dataset
from oracle_opt.errors import InvalidArgument, StudyFailed
from oracle_opt.files import atomic_file, atomic_text
from oracle_opt.study.plot_style import save_figure
from oracle_opt.study.records import Limits
from oracle_opt.study.results import Results
from oracle_opt.study.run_curves import plot_runs
from oracle_opt.study.study import Study
from oracle_opt.study.summary import summary_table


def compare(
    datasets: Sequence[Dataset],
    generators: Mapping[str, object] | Sequence[str],
    folder: os.PathLike[str] | str,
    *,
    rtol: float = 5e-3,
    splits: int = 20,
    train: float = 0.7,
    C: float = 100.0,
    max_calls: int = 500,
    seed: int = 0,
    single_cut: bool = False,
    verify: bool = True,
    clock: str = "processor",
    executor: Executor | None = None,
    jobs: int | None = 1,
    progress: bool = False,
    log: bool | Callable[[str], object] = False,
) -> Results:
    """Compare generators on the l1-MKL problems of random splits.

    It is a `Study` whose instances are the data sets and whose seeds are the splits. Settings belong to the folder;
    data sets, generators and splits may be added to it by further calls, and its files cover all of them.

    Parameters
    ----------
    datasets : sequence of Dataset
        With different names.
    generators : mapping or sequence of str
        As for `Study`.
    folder : path-like
        Gets what `Study.run` writes, and `summary.csv`, `history.parquet`, `curves.png` and `report.html`.
    rtol : float
        Relative gap at which a run has converged.
    splits : int
        Number of random splits of each data set.
    train : float
        Share of the points that train; the rest test.
    C : float
        SVM upper bound of the dual variables; kernels have unit trace.
    max_calls : int
        Limit on the oracle calls of a run.
    seed : int
        Split s is drawn with ``numpy.random.default_rng(seed + s)``.
    single_cut : bool
        Let a run that has converged go on until the gap by the best single cut alone has, too: that is the gap the
        paper stops on. The further calls count nowhere else, and take most of the time.
    verify, clock
        As for `Study`.
    executor, jobs, progress, log
        As for `Study.run`; but default is one process, this one.

    Returns
    -------
    Results
        The runs of this call, with the measures `accuracy` and `n_kernels`; also after Ctrl-C.

    Raises
    ------
    InvalidArgument
        An argument cannot be used.
    StudyFailed
        As `Study.run` raises it, when the files are written.
    StoreMismatch
        The folder belongs to other settings, other data or other methods, or a run in it is damaged.
    OSError
        A run cannot be written, as the disk is full; those finished before are kept.
    """
    datasets = instances("datasets", datasets, Dataset, "Datasets, as of oracle_opt.datasets.load")
    names = [dataset.name for dataset in datasets]
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(f"`datasets` must be at least one, with different names, got {names}")
    rtol, max_calls = real("rtol", rtol, above=0.0, below=1.0), whole("max_calls", max_calls)
    from oracle_opt.problems.mkl import mkl_problem

    problems = [mkl_problem(dataset, train=train, C=C, seed=seed, name=dataset.name) for dataset in datasets]
    until = ("certified", "single-cut") if flag("single_cut", single_cut) else ("certified",)
    limits, seeds = Limits(calls=max_calls), whole("splits", splits)
    study = Study(problems, generators, seeds=seeds, limits=limits, tau=rtol, until=until, verify=verify, clock=clock)
    try:
        results = study.run(folder, executor, jobs=jobs, progress=progress, log=log)
    except StudyFailed:
        _write_files(Path(folder))
        raise
    _write_files(Path(folder))
    return results


def _write_files(folder: Path) -> None:
    """Write the tables and the curves of all runs in a folder."""
    results = Results.read(folder)
    failed = results.runs[results.runs["traceback"] != ""]
    log = folder / "failures.txt"
    if len(failed):
        lines = [f"{row.instance}/{row.generator}/{row.seed}\n{row.traceback}" for row in failed.itertuples()]
        atomic_text(log, "\n".join(lines))
    else:
        log.unlink(missing_ok=True)
    if not (results.runs["n_calls"] > 0).any():
        return
    atomic_text(folder / "summary.csv", summary_table(results).to_csv(index=False))
    atomic_file(folder / "history.parquet", lambda path: results.history.to_parquet(path, index=False))
    save_figure(folder / "curves.png", lambda width: plot_runs(results, width=width), "page")
    results.report(folder / "report.html", title=", ".join(dict.fromkeys(results.runs["instance"])))
