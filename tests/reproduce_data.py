"""What the tests of reproduced figures share: made-up data, figures by row and column, and values by scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from oracle_opt.datasets import Dataset, load
from oracle_opt.study.reproduce.common import QUICK_FEATURES, QUICK_POINTS

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
