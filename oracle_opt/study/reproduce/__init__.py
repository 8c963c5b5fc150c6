"""Experiments of the papers, run on the data at hand, beside the figures the papers print."""

from oracle_opt.study.reproduce.coverage import CoverageLine, coverage
from oracle_opt.study.reproduce.experiment import Experiment
from oracle_opt.study.reproduce.experiments import EXPERIMENTS
from oracle_opt.study.reproduce.repetitions import Options, Reproduced, Row
from oracle_opt.study.reproduce.report import Report, reproduce, table_of_figures

__all__ = [
    "EXPERIMENTS",
    "CoverageLine",
    "Experiment",
    "Options",
    "Report",
    "Reproduced",
    "Row",
    "coverage",
    "reproduce",
    "table_of_figures",
]
