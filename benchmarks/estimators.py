"""What estimators cost: `fit` beside the same kernels by `uci_bank` and `minimize`, and cross-validation beside SVC.

    python benchmarks/estimators.py [--quick]

Processor seconds, in turn, in one process, medians of five.
"""

import warnings
from statistics import median
from time import process_time

import numpy as np
from _shared import parser, say, table, training_part
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from oracle_opt import minimize
from oracle_opt.learn import MKLClassifier, MKLClassifierCV
from oracle_opt.oracles import MKLOracle, uci_bank

ROUNDS = 5
CS = (0.1, 1.0, 10.0, 100.0)


def fit(X, y):
    """By the estimator."""
    return MKLClassifier(C=100.0).fit(X, y)


def direct(X, y):
    """By the oracle."""
    return minimize(MKLOracle(uci_bank(X), y, C=100.0), rtol=1e-4)


def cross_validated(X, y):
    """Four C by the estimator."""
    return MKLClassifierCV(Cs=CS).fit(X, y)


def searched(X, y):
    """As many C of one Gaussian kernel, and ten widths."""
    grid = {"svc__C": CS, "svc__gamma": np.geomspace(1e-3, 1.0, 10)}
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid).fit(X, y)


def in_turn(ways, X, y):
    """Median processor seconds of several ways."""
    taken = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, seconds in zip(ways, taken, strict=True):
            began = process_time()
            way(X, y)
            seconds.append(process_time() - began)
    return [median(seconds) for seconds in taken]


def main():
    """Measure, and print the tables."""
    warnings.simplefilter("ignore")
    quick = parser(__doc__).parse_args().quick
    rows = []
    for name in ("pima",) if quick else ("sonar", "ionosphere", "wdbc", "pima"):
        first, second = in_turn((direct, fit), *training_part(name))
        rows.append((name, f"{first:.3f}", f"{second:.3f}", f"{second / first:.2f}"))
        say(" | ".join(rows[-1]))
    table(("points of", "direct, s", "fit, s", "ratio"), rows)
    theirs, ours = in_turn((searched, cross_validated), *training_part("wdbc"))
    headings = ("points of", f"MKLClassifierCV, {len(CS)} C, s", "GridSearchCV(SVC), 40 of C and gamma, s", "ratio")
    table(headings, [("wdbc", f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}")])


if __name__ == "__main__":
    main()
