"""What the tests of reproduced figures share: made-up data, figures by row and column, and values by scikit-learn."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from oracle_opt.datasets import Dataset, load
from oracle_opt.study.records import BLANK
from oracle_opt.study.results import Results
from papers.sets import QUICK_FEATURES, QUICK_POINTS

QUICK = Dataset(
    "wdbc",
    np.asarray(load("wdbc").X)[:QUICK_POINTS, :QUICK_FEATURES],
    load("wdbc").y[:QUICK_POINTS],
    load("wdbc").feature_names[:QUICK_FEATURES],
    "",
    "",
)


def figures(outcome):
    return {(row.set, row.quantity): row.ours for row in outcome.rows}


def svm_value(K, y, C=100.0):
    """Optimal value of the dual by scikit-learn."""
    svm = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y)
    a = svm.dual_coef_[0]
    return np.abs(a).sum() - 0.5 * a @ K[np.ix_(svm.support_, svm.support_)] @ a


def made_up_studies(monkeypatch, module, make):
    """Replace the studies of an experiment: their arguments, and runs whose numbers are those of `make`.

    It takes the number of the run, the names of instance and generator and the seed, and returns what a row says.
    """
    studies, count = [], iter(range(10_000))

    def run_study(options, paper, instances, generators, seeds, *, rtol, max_calls, max_seconds=None):
        rows = [
            BLANK
            | {"instance": instance, "generator": generator, "seed": seed, "status": "CONVERGED"}
            | make(next(count), instance, generator, seed)
            for instance in instances
            for seed in seeds
            for generator in generators
        ]
        runs = pd.DataFrame(rows)
        studies.append(
            SimpleNamespace(
                paper=paper, instances=instances, generators=generators, rtol=rtol, max_calls=max_calls, runs=runs
            )
        )
        history = pd.DataFrame({"instance": [], "generator": [], "seed": []})
        return Results(runs, history, (rtol,)), ["failed: a run"]

    monkeypatch.setattr(module, "run_study", run_study)
    return studies
