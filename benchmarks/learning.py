"""Test accuracy and objective of multiple kernel learning beside EasyMKL, the average kernel and single kernels.

    ORACLE_OPT_DATA=folder python benchmarks/learning.py [--quick]

Prints Markdown tables; progress goes to stderr. EasyMKL is of the package MKLpy (`pip install torch MKLpy`); without it
its column says so. Random splits of the eight UCI sets, and of spambase with kernels on its three groups of features.
Kernels, widths and scales are learned on the training part, every kernel is scaled to mean diagonal 1, and every method
chooses its parameters on the same folds of the training part, see `_learning_methods.py`. Seconds are the processor's.
`--quick`: one split of bupa, two folds; paths of norm 1 alone.
"""

import itertools
from functools import partial

import numpy as np
from _learning_methods import METHODS, Split, best_single, objective, optimum
from _shared import parser, say, table, timed
from _verified import print_certificates
from scipy.spatial.distance import pdist
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from oracle_opt.datasets import load, split_points
from oracle_opt.learn import MKLClassifier, MKLClassifierCV
from oracle_opt.learn.mkl_classifier_cv import FoldPart, SearchedClassifier
from oracle_opt.oracles import JoinedBank, PolynomialBank, RBFBank, uci_bank

UCI = ("wpbc", "ionosphere", "sonar", "bupa", "pima", "vote", "heart", "wdbc")
SPLITS, FOLDS, TRAIN = 5, 5, 0.7
SPAM_SPLITS, SPAM_TRAIN = 3, 1500
# Columns of spambase: frequencies of 48 words, of 6 characters, 3 numbers of runs of capitals; and all of them.
SPAM_GROUPS = [np.arange(48), np.arange(48, 54), np.arange(54, 57), np.arange(57)]
N_WIDTHS, QUANTILES, DEGREES, SAMPLE = 5, (0.1, 0.9), (1, 2, 3), 500
PATHS = (0.1, 1.0, 10.0, 100.0), tuple(np.geomspace(0.1, 100.0, 13))
OURS = "MKL, norm 1"
MISSING = "not installed"


def uci_split(name, seed, n_folds):
    """The 13 (d + 1) kernels of a set, 70 % of its points."""
    data = load(name)
    train, test = split_points(data.y, seed, train=TRAIN)
    X = data.dense()
    return split_of(uci_bank(X[train]), data.y[train], X[test], data.y[test], seed, n_folds)


def spam_split(name, seed, n_folds):
    """Kernels on words, on characters, on runs of capitals, and on all features: 5 widths and 3 degrees each."""
    data = load(name)
    train, test = split_points(data.y, seed, train=SPAM_TRAIN / len(data.y))
    X = data.dense()
    scaler = StandardScaler().fit(X[train])
    Z = scaler.transform(X[train])
    distances = (pdist(Z[:SAMPLE, columns]) for columns in SPAM_GROUPS)
    widths = [np.geomspace(*np.quantile(D[D > 0], QUANTILES), N_WIDTHS) for D in distances]
    kinds = [RBFBank(Z, SPAM_GROUPS, widths), PolynomialBank(Z, SPAM_GROUPS, [DEGREES] * len(SPAM_GROUPS))]
    return split_of(JoinedBank(kinds), data.y[train], scaler.transform(X[test]), data.y[test], seed, n_folds)


def split_of(bank, y, X_test, y_test, seed, n_folds):
    """Its kernels on all training points, their traces n, and folds of equal shares of the labels."""
    n, units = bank.n_points, np.eye(bank.n_kernels)
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.empty(n), y))
    kernels = np.empty((bank.n_kernels, n, n))
    for K, unit in zip(kernels, units, strict=True):
        bank.combine(n * unit, out=K)
    return Split(kernels, y, folds, lambda weights: bank.cross(X_test, n * weights), y_test)


def figures(make, name, seed, n_folds):
    """What every method found on a split, and how far its weights are above the optimum at our C, in per cent."""
    split = make(name, seed, n_folds)
    found = {method: call(split) for method, call in METHODS.items()}
    C = found[OURS].C
    lower, upper = optimum(split, C)
    excess = {
        method: 100 * (objective(split, one.weights, C) / lower - 1) for method, one in found.items() if one is not None
    }
    best = 100 * (best_single(split, C) / lower - 1)
    for method, one in found.items():
        told = "" if one is None else f"{100 * one.accuracy:.1f} %, {excess[method]:.3g} % above, {one.seconds:.1f} s"
        say(f"{name} {seed}, {method}: {told or MISSING}")
    return {
        "found": found,
        "excess": excess,
        "best": best,
        "gap": 100 * (upper / lower - 1),
        "n": len(split.y),
        "p": len(split.kernels),
    }


def spread(values, digits=1):
    """Mean ± deviation; of one split the value alone."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def of_methods(splits, value, words=spread):
    """A cell a method: the words for its values on the splits."""
    cells = []
    for method in METHODS:
        found = [one["found"][method] for one in splits]
        cells.append(MISSING if found[0] is None else words([value(one) for one in found]))
    return cells


def whole(values):
    """Their mean as a whole number."""
    return f"{np.mean(values):.0f}"


def median(values, digits=1):
    """The median, and the largest."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{np.median(values):.{digits}f} (to {max(values):.{digits}f})"


def difference(sets, method):
    """Test accuracy of ours minus that of a method, in per cent: mean over the sets, its error, sets and splits won."""
    pairs = [(one["found"][OURS], one["found"][method]) for splits in sets.values() for one in splits]
    if pairs[0][1] is None:
        return (method, MISSING, "", "", "")
    by_set = [
        np.mean([one["found"][OURS].accuracy - one["found"][method].accuracy for one in splits])
        for splits in sets.values()
    ]
    all_of_them = np.array([ours.accuracy - other.accuracy for ours, other in pairs])
    error = np.std(by_set, ddof=1) / len(by_set) ** 0.5 if len(by_set) > 1 else np.nan
    won = f"{(all_of_them > 0).sum()} / {(all_of_them == 0).sum()} / {(all_of_them < 0).sum()}"
    better = f"{sum(one > 0 for one in by_set)} of {len(by_set)}"
    return (method, f"{100 * np.mean(by_set):+.2f}", f"{100 * error:.2f}", better, won)


def print_tables(sets):
    """All of them."""
    print("Accuracy on the test points in per cent, mean ± deviation over the splits:\n")
    rows = [
        (name, s[0]["n"], s[0]["p"], len(s), *of_methods(s, lambda one: 100 * one.accuracy)) for name, s in sets.items()
    ]
    table(("set", "points", "kernels", "splits", *METHODS), rows)
    print(f"Accuracy of {OURS} minus that of another: mean over the sets, its standard error from set to set, sets")
    print("where the mean is better, and splits won / equal / lost:\n")
    others = [method for method in METHODS if method != OURS]
    table(("beside", "mean", "error", "sets", "splits"), [difference(sets, method) for method in others])
    print("How far the weights of each method are above the least objective of l1-MKL, in per cent of its proven lower")
    print(
        f"bound, at the C that {OURS} chose: median over the splits, and the largest. `gap` is between our two proven"
    )
    print("bounds; `least` is the best of all kernels alone, `one kernel` the one that cross-validation chose:\n")
    rows = []
    for name, splits in sets.items():
        cells = [
            MISSING if method not in splits[0]["excess"] else median([one["excess"][method] for one in splits])
            for method in METHODS
        ]
        gap, best = max(one["gap"] for one in splits), median([one["best"] for one in splits])
        C = sorted({one["found"][OURS].C for one in splits})
        rows.append((name, ", ".join(f"{one:g}" for one in C), f"{gap:.4f}", *cells, best))
    table(("set", "C", "gap", *METHODS, "least"), rows)
    print("Kernels of more than 1e-3 times the largest weight, mean over the splits:\n")
    table(("set", *METHODS), [(name, *of_methods(s, lambda one: one.n_kernels, whole)) for name, s in sets.items()])
    print(
        "Seconds of the processor for choosing and fitting, and support vector machines solved, mean over the splits:\n"
    )
    rows = []
    for name, splits in sets.items():
        seconds = of_methods(splits, lambda one: one.seconds, lambda values: f"{np.mean(values):.1f}")
        machines = of_methods(splits, lambda one: one.svms, whole)
        rows.append((name, *(s if s == MISSING else f"{s} s, {m}" for s, m in zip(seconds, machines, strict=True))))
    table(("set", *METHODS), rows)


def print_paths(names, norms=(1.0, 2.0)):
    """What `MKLClassifierCV` saves on whole sets with the default kernels: calls by its starts, and seconds."""
    rows = []
    for name, norm in itertools.product(names, norms):
        data = load(name)
        X, y, cells = data.dense(), data.y, []
        for Cs in PATHS:
            for starts in (True, False):
                path = SearchedClassifier(norm=norm).fit_path(FoldPart(X, y, None), Cs, starts=starts)
                cells.append(sum(calls for _, calls in path))
        for model in (
            MKLClassifierCV(norm=norm, Cs=PATHS[0], cv=FOLDS),
            GridSearchCV(MKLClassifier(norm=norm), {"C": list(PATHS[0])}, cv=FOLDS),
        ):
            cells.append(f"{timed(partial(model.fit, X, y))[0].cpu:.1f} s")
        rows.append((name, f"{norm:g}", *cells))
        say(" | ".join(map(str, rows[-1])))
    print("Oracle calls of a path of 4 and of 13 numbers C from 0.1 to 100 on all points of a set with the default")
    print("kernels, to a gap of 1e-4, where each fit starts from the last one, and where each starts anew; and")
    print("seconds of the processor of `MKLClassifierCV` and of a `GridSearchCV` over the 4 with five folds:\n")
    paths = [f"{len(Cs)} C, {how}" for Cs in PATHS for how in ("from the last", "anew")]
    table(("set", "norm", *paths, "MKLClassifierCV", "GridSearchCV"), rows)


def main():
    """Run and print."""
    quick = parser(__doc__.splitlines()[0]).parse_args().quick
    tasks = [(name, uci_split, SPLITS) for name in UCI] + [("spambase", spam_split, SPAM_SPLITS)]
    tasks, n_folds = ([("bupa", uci_split, 1)], 2) if quick else (tasks, FOLDS)
    print_tables({name: [figures(make, name, seed, n_folds) for seed in range(k)] for name, make, k in tasks})
    print_certificates()
    print_paths(*((["bupa"], [1.0]) if quick else (["wdbc", "ionosphere", "pima", "sonar"],)))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
