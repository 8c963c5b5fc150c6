"""What is made of the runs of a study: figures and tables, as data first."""

from oracle_opt.study.analyses.curves import Curves
from oracle_opt.study.analyses.mean_ranks import Ranks
from oracle_opt.study.analyses.table import Table

__all__ = ["Curves", "Ranks", "Table"]
