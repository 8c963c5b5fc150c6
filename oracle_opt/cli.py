"""The command oracle-opt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oracle_opt.cli_archive import archive
from oracle_opt.cli_listings import JSON, as_json, list_datasets, list_generators, list_problems
from oracle_opt.cli_outcome import INTERRUPTED, Worded, console_of, ended, refusals, results_of, say
from oracle_opt.cli_verify import notarize as notarize_file
from oracle_opt.cli_verify import verify as verify_file

if TYPE_CHECKING:
    from oracle_opt.datasets import Dataset

main = typer.Typer(
    help="Compare query-point methods on convex problems: convergence curves, calls and seconds to a proven gap.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
main.add_typer(archive, name="archive")


def _version(wanted: bool) -> None:
    if wanted:
        import oracle_opt

        console_of().print(f"oracle-opt {oracle_opt.__version__}", highlight=False)
        raise typer.Exit


@main.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@main.command(cls=Worded)
def compare(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASET...", help="Names (see `oracle-opt datasets`) or CSV/LIBSVM files.")
    ],
    generators: Annotated[
        list[str] | None,
        typer.Option(
            help="Names with commas between, or again for each: of the table (see `oracle-opt generators`) or of "
            'classes, with parameters as in "LevelSet(entropic=False)", or module:name of your own.',
            show_default="all but optimal-kelley, trust-region, spectral-bundle, ellipsoid, mirror-descent, "
            "projected-gradient, quasi-newton, lbfgs, frank-wolfe",
        ),
    ] = None,
    rtol: Annotated[float, typer.Option(help="Relative gap at which a run has converged.")] = 5e-3,
    splits: Annotated[int, typer.Option(help="Random splits of each data set.")] = 20,
    train: Annotated[float, typer.Option(help="Share of the points that train; the rest test.")] = 0.7,
    C: Annotated[float, typer.Option("--C", help="SVM constant C; kernels have unit trace.")] = 100.0,
    max_calls: Annotated[int, typer.Option(help="Limit on the oracle calls of a run.")] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the first split; the others count up from it.")] = 0,
    single_cut: Annotated[
        bool,
        typer.Option("--single-cut", help="Count the calls to the gap by the best single cut, too; takes far longer."),
    ] = False,
    verify: Annotated[
        bool, typer.Option(help="Verify the certificate of each run against the data; takes as long as a short run.")
    ] = True,
    clock: Annotated[
        str,
        typer.Option(help="Seconds of the tables: processor, or elapsed for oracles that wait for other processes."),
    ] = "processor",
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = 1,
    log: Annotated[bool, typer.Option("--log", help="Say each finished run in a line on standard error.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of the runs, tables and curves.")] = Path("oracle-opt-report"),
) -> None:
    """Compare generators on the MKL problems of random splits (Wulff & Ong 2014, Tables 1 and 2, Figure 1).

    Finished runs are kept in the folder: the same command again continues with what is missing. Ctrl-C is safe.
    """
    console = console_of()
    with refusals():
        from oracle_opt.study import DEFAULT_GENERATORS, generator_of
        from oracle_opt.study import compare as compare_generators

        names = _words(generators) if generators else list(DEFAULT_GENERATORS)
        chosen = {name: generator_of(name) for name in names}
        loaded = _datasets(datasets)
    try:
        with refusals():
            results = results_of(
                lambda: compare_generators(
                    loaded,
                    chosen,
                    out,
                    rtol=rtol,
                    splits=splits,
                    train=train,
                    C=C,
                    max_calls=max_calls,
                    seed=seed,
                    single_cut=single_cut,
                    verify=verify,
                    clock=clock,
                    jobs=None if jobs == -1 else jobs,
                    progress=True,
                    log=log,
                )
            )
    except KeyboardInterrupt:  # while the tables were being written, or before the first run
        say(f"interrupted; finished runs are kept in {out}: run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None

    from oracle_opt.study.summary import table_of_results

    answered = set(results.runs["instance"][results.runs["n_calls"] > 0])
    for dataset in loaded:
        if dataset.name in answered:
            part = results.filter(instance=dataset.name)
            console.print()
            console.print(table_of_results(dataset, part, train=train, C=C, single_cut=single_cut))
    if answered:
        console.print(
            f"\nmean ± standard deviation over the splits. calls: until the proven relative gap is at most {rtol:g}"
            + ("; by the single-cut gap: until that by the best single cut is, in the runs that got there" * single_cut)
            + ". "
            "kernels: of weight above 1e-3 of the largest. fixed-point is the average kernel, the baseline. "
            + ("certificates: whether the bounds were proven again, from the data alone. " * verify)
            + f"Report: {out / 'report.html'}. Files: {out / 'summary.csv'}, {out / 'history.parquet'}, "
            f"{out / 'curves.png'}",
            highlight=False,
            soft_wrap=True,
        )
    ended(results, out, "split")


@main.command(cls=Worded)
def study(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to run; see docs/studies.md.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the runs and the report.", show_default="the name of the file")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes.", show_default="one per core")] = None,
    part: Annotated[
        str | None, typer.Option(metavar="I/N", help="Do every N-th run, from the I-th on, and write no report.")
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Say each finished run in a line on standard error.")] = False,
    json: JSON = False,
) -> None:
    """Run a study of any generators on any instances, and write its report.

    Finished runs are kept in the folder: the same command again continues with what is missing. Ctrl-C is safe.
    """
    try:
        with refusals():
            from oracle_opt.study.study_file import read_study
            from oracle_opt.study.summary import certificates

            folder = file.with_suffix("") if out is None else out
            asked = read_study(file)
            results = results_of(lambda: asked.run(folder, jobs=jobs, log=log, part=part))
            page = folder / "report.html"
            if part is None and results.runs["n_calls"].any():
                results.report(page, title=file.stem)
    except KeyboardInterrupt:
        say("interrupted; finished runs are kept: run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None
    console = console_of()
    if json:
        as_json(results.runs.drop(columns=["traceback"]).to_dict("records"))
    elif part is None and results.runs["n_calls"].any():
        table = results.table(tau=results.tau[-1])
        words = table.data.replace(float("inf"), float("nan")).to_string(
            index=False, na_rep="-", float_format="{:g}".format
        )
        console.print(words, highlight=False, markup=False, soft_wrap=True)
        console.print(table.caption, highlight=False, markup=False, soft_wrap=True)
        console.print(f"Certificates: {certificates(results.runs)}", highlight=False, soft_wrap=True)
        console.print(f"Report: {page}", highlight=False, soft_wrap=True)
    ended(results, folder, "seed")


@main.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a study.")],
    out: Annotated[Path | None, typer.Option(help="The page.", show_default="report.html in the folder")] = None,
    title: Annotated[str | None, typer.Option(help="Its title.", show_default="the name of the folder")] = None,
) -> None:
    """Write the report of a study again: one page that opens offline."""
    with refusals():
        from oracle_opt.study import Results

        page = folder / "report.html" if out is None else out
        Results.read(folder).report(page, title=folder.resolve().name if title is None else title)
    console_of().print(f"Report: {page}", highlight=False, soft_wrap=True)


@main.command()
def doctor(json: JSON = False) -> None:
    """Show the versions of the packages, and solve three small problems: paste it into a report.

    The exit status is 1 if something is broken.
    """
    from oracle_opt.doctor import examine

    diagnosis = examine()
    if json:
        as_json({"healthy": diagnosis.healthy, "lines": str(diagnosis).splitlines()})
    else:
        console_of().print(str(diagnosis), highlight=False, markup=False, soft_wrap=True)
    if not diagnosis.healthy:
        raise typer.Exit(1)


@main.command()
def certify(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Problems or families, such as nonsmooth/CB2 or tsp.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the files, one of each family in it.")] = Path("certificates"),
    seconds: Annotated[float, typer.Option(help="Limit of each run.")] = 30.0,
) -> None:
    """Solve problems known by name, and write the certificate file of each, verified against its data.

    A clone of the sources holds those of small problems. `oracle-opt verify` checks a file again. The exit status is 1
    if one is refused.
    """
    with refusals():
        from oracle_opt.problems import find
        from oracle_opt.problems.certification import write_certificates

        problems = [problem for name in names for problem in find(name)]
        if not write_certificates(problems, out, seconds, lambda line: console_of().print(line, highlight=False)):
            raise typer.Exit(1)


main.command(name="generators")(list_generators)
main.command(name="datasets")(list_datasets)
main.command(name="problems")(list_problems)
main.command(name="verify")(verify_file)
main.command(name="notarize")(notarize_file)


def _words(wanted: list[str]) -> list[str]:
    from oracle_opt.errors import InvalidArgument
    from oracle_opt.study.generator_words import split_words

    names = [name for words in wanted for name in split_words(words)]
    if not names:
        raise InvalidArgument("--generators names none")
    return names


def _datasets(wanted: list[str]) -> list[Dataset]:
    from oracle_opt.datasets import load
    from oracle_opt.errors import InvalidArgument

    loaded = [load(name) for name in dict.fromkeys(wanted)]
    names = [dataset.name for dataset in loaded]
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgument(f"two of the data sets are called {name}; rename a file")
    return loaded
