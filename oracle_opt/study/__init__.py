"""Studies: generators x instances x seeds, kept in a folder, summed up in tables and curves."""

from oracle_opt.study.archive import ArchiveCheck, archive, check_archive, compare_with, to_iohinspector
from oracle_opt.study.benchopt_export import export_benchopt
from oracle_opt.study.compare import compare
from oracle_opt.study.methods import DEFAULT_GENERATORS, GENERATORS, generator_of
from oracle_opt.study.records import Limits
from oracle_opt.study.results import Results
from oracle_opt.study.run_curves import plot_runs
from oracle_opt.study.settle import Outcome, Verdict, settle
from oracle_opt.study.study import Study
from oracle_opt.study.study_file import read_study
from oracle_opt.study.summary import SUMMARY_COLUMNS, summary_table
from oracle_opt.study.weights_plot import plot_weights

__all__ = [
    "DEFAULT_GENERATORS",
    "GENERATORS",
    "SUMMARY_COLUMNS",
    "ArchiveCheck",
    "Limits",
    "Outcome",
    "Results",
    "Study",
    "Verdict",
    "archive",
    "check_archive",
    "compare",
    "compare_with",
    "export_benchopt",
    "generator_of",
    "plot_runs",
    "plot_weights",
    "read_study",
    "settle",
    "summary_table",
    "to_iohinspector",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion offers
