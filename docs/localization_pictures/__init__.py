"""Pictures of runs in two variables, for the page docs/localization.md."""

from localization_pictures.data import CutLine, Localization, LocalizationStep
from localization_pictures.plot import plot_localization
from localization_pictures.trace import trace_localization

__all__ = ["CutLine", "Localization", "LocalizationStep", "plot_localization", "trace_localization"]
