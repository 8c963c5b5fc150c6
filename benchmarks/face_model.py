"""Calls that a local model spares, and what sparing them costs: `FaceBundle` beside `NewtonBundle`.

    python benchmarks/face_model.py [--quick] [--splits N] [--points N ...]

1. The eight UCI sets of the paper: random 70 % splits, 13 (d + 1) kernels, C = 100.
2. Kernels of rank one, a linear one a feature, and kernels of very different size: traces over twelve decades, or
   polynomials as they are.
3. Parts of a9a, w8a and cod_rna: 50 Gaussian kernels of unit trace, C = 100, on all features with a width each
   ("same") or each on a random half of them ("own"). The seconds of a call and of the work between two of them say
   whether the calls spared are worth it.

Seconds are the processor's, in the oracle's calls and beside them. Runs end at a relative gap of 1e-6; inner steps
are those of `history.inner_steps`. About four minutes; `--quick`: one split of two sets, one of
each other kind.
"""

from time import process_time

import numpy as np
from _shared import parser, say, table
from _verified import print_certificates, verified
from threadpoolctl import threadpool_limits

from oracle_opt import minimize
from oracle_opt.datasets import load
from oracle_opt.generators import FaceBundle, NewtonBundle
from oracle_opt.oracles import GramBank, MKLOracle, RBFBank
from oracle_opt.problems.mkl import mkl_problem

SETS = ("wpbc", "ionosphere", "sonar", "bupa", "pima", "vote", "heart", "wdbc")
LARGE = ("a9a", "w8a", "cod_rna")
METHODS = (NewtonBundle, FaceBundle)
HEADINGS = ("calls to 5e-3", "most", "calls to 1e-6", "most", "inner steps", "s in calls", "s beside")


class Clocked(MKLOracle):
    """Sums the processor seconds of its calls."""

    seconds = 0.0

    def query(self, query):
        """Answer by the clock."""
        start = process_time()
        try:
            return super().query(query)
        finally:
            self.seconds += process_time() - start


def run(oracle, make):
    """Calls to 5e-3 and 1e-6, inner steps, seconds in and beside the calls."""
    oracle.__class__, oracle.seconds, start = Clocked, 0.0, process_time()
    result = minimize(oracle, make(), rtol=1e-6, max_calls=400)
    whole, history = process_time() - start, result.history
    if not result.success:
        raise RuntimeError(f"{make.__name__}: {result}")
    inside = oracle.seconds
    verified(result, oracle)
    return history.calls_to(5e-3), result.n_calls, history.inner_steps.sum(), inside, whole - inside


def cells(rows):
    """Means and largest of several runs."""
    rows = np.array(rows, dtype=float)
    mean, most = rows.mean(axis=0), rows.max(axis=0)
    calls = (f"{mean[0]:.1f}", f"{most[0]:.0f}", f"{mean[1]:.1f}", f"{most[1]:.0f}")
    return (*calls, f"{mean[2]:.0f}", f"{mean[3]:.3f}", f"{mean[4]:.3f}")


def uci(sets, splits):
    """The eight sets."""
    found = {make: {} for make in METHODS}
    for name in sets:
        say(name)
        problem = mkl_problem(load(name), C=100.0, name=name)
        for split in splits:
            oracle = problem.make(split).oracle
            for make in METHODS:
                found[make].setdefault(name, []).append(run(oracle, make))
    rows = [(name, f"`{make.__name__}`", *cells(found[make][name])) for name in sets for make in METHODS]
    for make in METHODS:
        rows.append(("all", f"`{make.__name__}`", *cells([row for name in sets for row in found[make][name]])))
    print(f"{len(splits)} splits of each set:\n")
    table(("set", "method", *HEADINGS), rows)


def rank_one(n, p, seed):
    """A linear kernel of unit trace for each of p features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X[:, :10] @ rng.normal(size=10) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return MKLOracle(GramBank([np.outer(x, x) / n for x in X.T]), y, C=100.0)


def uneven(n, p, seed, decades):
    """Polynomials and Gaussian kernels on random features; traces over so many decades, or as they are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    kernels = []
    for k in range(p):
        Z = X[:, rng.choice(8, size=rng.integers(1, 8), replace=False)]
        D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
        K = (1 + Z @ Z.T) ** rng.integers(1, 5) if k % 2 else np.exp(-D / rng.uniform(0.5, 5.0))
        kernels.append(K * 10.0 ** rng.uniform(-decades / 2, decades / 2) / np.trace(K) if decades else K)
    return MKLOracle(GramBank(kernels), y, C=100.0)


def hard(quick):
    """Kernels of rank one, and of very different size; two draws of each."""
    shapes = ((60, 200), (100, 300), (200, 100), (200, 300), (200, 1000))
    kinds = {f"rank one, {n} points, {p} kernels": (rank_one, n, p) for n, p in shapes[: 1 if quick else None]}
    kinds["as they are, 200 points, 80 kernels"] = (uneven, 200, 80, 0)
    kinds["twelve decades, 200 points, 80 kernels"] = (uneven, 200, 80, 12)
    rows = []
    for name, (kind, n, p, *more) in kinds.items():
        say(name)
        oracles = [kind(n, p, seed, *more) for seed in range(1 if quick else 2)]
        rows += [(name, f"`{make.__name__}`", *cells([run(oracle, make) for oracle in oracles])) for make in METHODS]
    table(("kernels", "method", *HEADINGS), rows)


def parts(sizes, quick):
    """Parts of large sets: what a call costs, what the work between two costs."""
    rows = []
    for name in ("a9a",) if quick else LARGE:
        data = load(name)
        order = np.random.default_rng(0).permutation(len(data.y))
        for n in sizes:
            chosen = order[:n]
            X = data.dense()[chosen]
            X = X[:, X.std(axis=0) > 0]
            rng, d = np.random.default_rng(1), X.shape[1]
            halves = [np.sort(rng.choice(d, size=max(d // 2, 1), replace=False)) for _ in range(50)]
            for kind, features in (("same", [np.arange(d)]), ("own", halves)):
                say(f"{name} {n} {kind}")
                oracle = MKLOracle(RBFBank.from_quantiles(X, 50, features), data.y[chosen], C=100.0)
                for make in METHODS:
                    few, calls, inner, inside, beside = run(oracle, make)
                    each = (f"{1e3 * inside / calls:.0f}", f"{1e3 * beside / calls:.0f}")
                    rows.append(
                        (name, n, kind, f"`{make.__name__}`", few, calls, inner, *each, f"{inside + beside:.2f}")
                    )
    table(
        (
            "set",
            "points",
            "kernels",
            "method",
            "calls to 5e-3",
            "to 1e-6",
            "inner steps",
            "ms a call",
            "ms beside",
            "s",
        ),
        rows,
    )


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--splits", type=int, default=20)
    options.add_argument("--points", type=int, nargs="+", default=[1000, 2000, 4000])
    options.add_argument("--only", choices=("uci", "hard", "parts"))
    chosen = options.parse_args()
    if chosen.only in (None, "uci"):
        uci(("bupa", "heart") if chosen.quick else SETS, range(1 if chosen.quick else chosen.splits))
    if chosen.only in (None, "hard"):
        hard(chosen.quick)
    if chosen.only in (None, "parts"):
        parts([300] if chosen.quick else chosen.points, chosen.quick)
    print_certificates()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
