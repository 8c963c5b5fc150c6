"""Query-point generators: one file, one class per method."""

from oracle_opt.generators.analytic_center import AnalyticCenter
from oracle_opt.generators.kelley import Kelley
from oracle_opt.generators.level_set import LevelSet

__all__ = ["AnalyticCenter", "Kelley", "LevelSet"]
