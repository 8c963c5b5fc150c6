"""Linear quantile regression beside HiGHS, and ranking by pairs beside linear classifiers.

    ORACLE_OPT_DATA=folder python benchmarks/linear.py [--quick]

Prints Markdown tables; progress goes to stderr. Seconds are the processor's, one thread, of one fit.
"""

import itertools
import warnings
from functools import partial

import numpy as np
from _shared import parser, say, table, timed
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import QuantileRegressor as Peer
from sklearn.metrics import mean_pinball_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from oracle_opt import Query
from oracle_opt.datasets import load
from oracle_opt.learn import AUCRanker, QuantileRegressor

TARGETS = {"diabetes": None, "sonar": 0, "wdbc": -1, "spambase": -1, "cod_rna": 0, "letter": 0}  # the column told
RANKED = ("wdbc", "spambase", "a1a", "w3a", "a9a")
SETTINGS = ((0.5, 1e-2), (0.5, 1e-3), (0.9, 1e-2), (0.9, 1e-3))
ALPHAS = tuple(10.0**-k for k in range(6))
MOST, SPLITS = 10_000, 3
METHODS = ("AUCRanker", "LinearSVC", "LogisticRegression")


def regression(name):
    """Columns and a target of mean 0 and deviation 1; at most 10,000 rows."""
    if name == "diabetes":
        return [scale(one) for one in load_diabetes(return_X_y=True)]
    X = scale(load(name).dense()[:MOST])
    return np.delete(X, TARGETS[name], axis=1), X[:, TARGETS[name]]


def print_quantiles(names, settings):
    """Seconds, calls, and how far objectives are above that of HiGHS."""
    rows = []
    for name, (q, alpha) in itertools.product(names, settings):
        (X, y), cells, reached = regression(name), [], []
        ours = [QuantileRegressor(quantile=q, alpha=alpha, penalty="l1", rtol=rtol) for rtol in (1e-4, 1e-6)]
        for model in (Peer(quantile=q, alpha=alpha, solver="highs"), *ours):
            seconds = timed(partial(model.fit, X, y))[0].cpu
            reached.append(mean_pinball_loss(y, model.predict(X), alpha=q) + alpha * np.abs(model.coef_).sum())
            more = f", {model.n_calls_}, {reached[-1] / reached[0] - 1:.0e}" if model in ours else ""
            cells.append(f"{seconds:.2f} s{more}")
        rows.append((name, *X.shape, q, alpha, *cells))
        say(rows[-1])
    table(("set", "rows", "columns", "quantile", "alpha", "HiGHS", "ours, to 1e-4", "ours, to 1e-6"), rows)


def above_least(ranker, w):
    """How far the best multiple of coefficients is above the least pairwise objective, in % of its proven bound."""
    line = minimize_scalar(lambda t: ranker.oracle_.query(Query(np.exp(t) * w)).value, bounds=(-9, 9), method="bounded")
    return 100 * (line.fun / ranker.result_.lower_bound - 1)


def ranked(name, seed):
    """Areas on test points, objectives and seconds of the methods, each with its best penalty; the shape."""
    data = load(name)
    points = sparse.csr_array(data.dense()) if sparse.issparse(data.X) else scale(data.X)
    X, X_test, y, y_test = train_test_split(points, data.y, test_size=0.3, random_state=seed)
    Cs = [1.0 / (alpha * len(y)) for alpha in ALPHAS]
    ways = ((AUCRanker(), "alpha", ALPHAS), (LinearSVC(), "C", Cs), (LogisticRegression(max_iter=1000), "C", Cs))
    best = [GridSearchCV(way, {word: grid}, scoring="roc_auc", cv=3).fit(X, y) for way, word, grid in ways]
    models = [one.best_estimator_ for one in best]
    seconds = [timed(partial(model.fit, X, y))[0].cpu for model in models]
    areas = [100 * roc_auc_score(y_test, model.decision_function(X_test)) for model in models]
    say(f"{name} {best[0].best_params_} {areas} {seconds}")
    return np.array([areas, [above_least(models[0], model.coef_[0]) for model in models], seconds]), X.shape


def print_rankings(names, splits):
    """Means over the splits."""
    rows = []
    for name in names:
        found, shapes = zip(*(ranked(name, seed) for seed in range(splits)), strict=True)
        mean, spread = np.mean(found, axis=0), np.std(found, axis=0)[0]
        areas = [f"{area:.2f} ± {d:.2f}" for area, d in zip(mean[0], spread, strict=True)]
        rows.append((name, *shapes[0], *areas, *(f"{one:.2f}" for one in mean[1]), *(f"{one:.3f}" for one in mean[2])))
    heads = [f"{method}, {what}" for what in ("area", "above", "s") for method in METHODS]
    table(("set", "rows", "columns", *heads), rows)


def main():
    """Run and print."""
    quick = parser(__doc__.splitlines()[0]).parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    print_quantiles(("diabetes",) if quick else TARGETS, SETTINGS[:1] if quick else SETTINGS)
    print_rankings(RANKED[:1] if quick else RANKED, 1 if quick else SPLITS)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
