"""The one table of experiments, for the command line: those of each paper."""

from __future__ import annotations

from papers import (
    accpm,
    mixnorm,
    qnpkl,
    scale,
    smo,
    smo_extensions,
    smo_figure,
    spg,
    spg_descent,
    spg_growth,
    spg_large,
    spg_products,
    spg_sets,
)
from papers.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    **accpm.EXPERIMENTS,
    **spg_sets.EXPERIMENTS,
    **spg.EXPERIMENTS,
    **spg_large.EXPERIMENTS,
    **spg_growth.EXPERIMENTS,
    **spg_descent.EXPERIMENTS,
    **spg_products.EXPERIMENTS,
    **scale.EXPERIMENTS,
    **smo.EXPERIMENTS,
    **smo_figure.EXPERIMENTS,
    **smo_extensions.EXPERIMENTS,
    **mixnorm.EXPERIMENTS,
    **qnpkl.EXPERIMENTS,
}
