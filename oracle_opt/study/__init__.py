"""Grids of runs: data sets x random splits x generators, kept in a folder, summed up in tables and curves."""

from oracle_opt.study.compare import Comparison, compare
from oracle_opt.study.localization import trace_localization
from oracle_opt.study.localization_data import CutLine, Localization, LocalizationStep
from oracle_opt.study.localization_plot import plot_localization
from oracle_opt.study.methods import DEFAULT_GENERATORS, GENERATORS
from oracle_opt.study.records import Failure, Run, Settings
from oracle_opt.study.settle import Outcome, Verdict, settle
from oracle_opt.study.store import RunStore
from oracle_opt.study.summary import SUMMARY_COLUMNS, history_table, summary_table

__all__ = [
    "DEFAULT_GENERATORS",
    "GENERATORS",
    "SUMMARY_COLUMNS",
    "Comparison",
    "CutLine",
    "Failure",
    "Localization",
    "LocalizationStep",
    "Outcome",
    "Run",
    "RunStore",
    "Settings",
    "Verdict",
    "compare",
    "history_table",
    "plot_localization",
    "settle",
    "summary_table",
    "trace_localization",
]
