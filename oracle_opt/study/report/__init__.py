"""The report of a study: one file with figures, tables and every run, that opens without a network."""

from oracle_opt.study.report.write_report import write_report

__all__ = ["write_report"]
