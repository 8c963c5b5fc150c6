"""The one table of experiments, for the command line: those of each paper."""

from __future__ import annotations

from oracle_opt.study.reproduce import (
    paper_accpm,
    paper_mixnorm,
    paper_qnpkl,
    paper_scale,
    paper_smo,
    paper_smo_extensions,
    paper_smo_figure,
    paper_spg,
    paper_spg_descent,
    paper_spg_growth,
    paper_spg_large,
    paper_spg_products,
    paper_spg_sets,
)
from oracle_opt.study.reproduce.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    **paper_accpm.EXPERIMENTS,
    **paper_spg_sets.EXPERIMENTS,
    **paper_spg.EXPERIMENTS,
    **paper_spg_large.EXPERIMENTS,
    **paper_spg_growth.EXPERIMENTS,
    **paper_spg_descent.EXPERIMENTS,
    **paper_spg_products.EXPERIMENTS,
    **paper_scale.EXPERIMENTS,
    **paper_smo.EXPERIMENTS,
    **paper_smo_figure.EXPERIMENTS,
    **paper_smo_extensions.EXPERIMENTS,
    **paper_mixnorm.EXPERIMENTS,
    **paper_qnpkl.EXPERIMENTS,
}
