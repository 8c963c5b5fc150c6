"""Ridge risks: methods that take the ridge as it is beside the same and others that linearize it, and beside LinearSVC.

    ORACLE_OPT_DATA=folder python benchmarks/known_terms.py [--quick]

Prints a Markdown table; progress goes to stderr. Seconds are the processor's, one thread; a run ends after 8.
"""

import warnings
from functools import partial

import numpy as np
from _shared import parser, say, table, timed
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from oracle_opt import FunctionOracle, QuadraticTerm, Query, minimize
from oracle_opt.datasets import load
from oracle_opt.generators import Kelley, LevelSet, ProximalBundle, TrustRegion
from oracle_opt.oracles import Composite, RiskOracle

LIMIT, MOST = 8.0, 3000  # seconds and calls of a run
AWARE = {"`minimize(oracle)`": lambda: None, "`ProximalBundle()`": ProximalBundle, "`Kelley()` (BMRM)": Kelley}
LINEARIZED = {"`ProximalBundle()`": ProximalBundle, "`TrustRegion()`": TrustRegion, "`LevelSet()`": LevelSet}


def instances():
    """Name, risk, weight of the ridge; and labels and options of LinearSVC, where it has such a loss."""
    for name in ("a9a", "w8a"):
        data = load(name)
        for C in (0.01, 1.0):
            risk = RiskOracle("hinge", sparse.csr_array(data.X), data.y)
            yield f"hinge, {name}, C = {C:g}", risk, 1.0 / (C * len(data.y)), (data.y, {"C": C})
    for name in ("w3a", "a1a"):
        data = load(name)
        yield f"area under the curve, {name}", RiskOracle("auc", sparse.csr_array(data.X), data.y), 1e-3, None
    points = load("spambase").dense()
    X, y = np.c_[scale(points[:, :-1]), np.ones(len(points))], scale(np.log1p(points[:, -1]))
    for level, weight in ((0.5, 1e-3), (0.9, 1e-4)):
        yield f"quantile {level:g}, spambase", RiskOracle("quantile", X, y, level=level), weight, None
    X, y = load_digits(return_X_y=True)
    peer = y, {"C": 1.0, "multi_class": "crammer_singer"}
    yield "Crammer-Singer, digits, C = 1", RiskOracle("multiclass", X / 16, y), 1.0 / len(y), peer


def cell(oracle, generator):
    """Calls and seconds to 1e-6, and calls to 1e-3; the gap of a run that did not get there."""
    marks = {}

    def watch(record):
        if record.relative_gap <= 1e-3:
            marks.setdefault("coarse", record.call)

    options = {"rtol": 1e-6, "max_calls": MOST, "max_seconds": LIMIT, "callback": watch}
    times, result = timed(partial(minimize, oracle, generator, np.zeros(oracle.domain.dimension), **options))
    end = f"{result.n_calls}, {times.cpu:.2f} s" if result.success else f"- {result.relative_gap:.0e}"
    return f"{end} ({marks.get('coarse', '-')})", result.upper_bound


def beside(oracle, risk, peer, best):
    """Seconds of LinearSVC, and how far its objective is above the best one."""
    if peer is None:
        return "no such loss"
    y, options = peer
    model = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-3, max_iter=100_000, **options)
    seconds = timed(partial(model.fit, risk.X, y))[0].cpu
    return f"{seconds:.2f} s, {oracle.query(Query(model.coef_.T.ravel())).value / best - 1:.0e}"


def main():
    """Run and print."""
    quick = parser(__doc__.splitlines()[0]).parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name, risk, weight, peer in instances():
        oracle = Composite(risk, QuadraticTerm(weight))

        def total(w, oracle=oracle):
            cut = oracle.query(Query(w))
            return cut.value, cut.subgradient

        plain = FunctionOracle(total, oracle.domain)
        found = [cell(oracle, make()) for make in AWARE.values()] + [
            cell(plain, make()) for make in LINEARIZED.values()
        ]
        best = min(value for _, value in found)
        rows.append((name, oracle.domain.dimension, *(words for words, _ in found), beside(oracle, risk, peer, best)))
        say(rows[-1])
        if quick:
            break
    linearized = [f"{method}, linearized" for method in LINEARIZED]
    table(("risk", "variables", *AWARE, *linearized, "LinearSVC, above the best"), rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
