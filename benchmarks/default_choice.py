"""Functions as users write them: the generator that `minimize` chooses against four others, in calls and seconds.

    python benchmarks/default_choice.py [--quick]

Ten kinds of tasks, each with values and subgradients alone: what an oracle states of itself is its domain. The data of
the first seed are for tuning the rule of `choose_generator`, those of the second test it. Where a run does not reach a
proven relative gap, its calls count as twice the limit.
"""

import numpy as np
from _shared import parser, say, table, timed

from oracle_opt import Box, FreeSpace, FunctionOracle, Polyhedron, Simplex, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, choose_generator

GENERATORS = (AnalyticCenter, ProximalBundle, LevelSet, Kelley)
GOALS = (1e-3, 1e-6)
CALLS, SECONDS = 400, 4.0
HALVES = ("tuning", "test")  # by the seed of the data
NAMES = [one.__name__ for one in GENERATORS]


def table_of(rng, n, m=None):
    """Points in two overlapping classes with correlated features, and labels."""
    m = m or 20 * n
    y = np.sign(rng.normal(size=m))
    X = rng.normal(size=(m, n)) @ (np.eye(n) + rng.normal(size=(n, n)) / np.sqrt(n))
    return X + 0.7 * y[:, None] * rng.normal(size=n) / np.sqrt(n) * (rng.random(n) < 0.5), y


def of_losses(n, lam, loss):
    """``lam/2 |w|^2 + mean loss`` on a ball that holds the minimizer, as a radius of the whole space."""

    def make(rng):
        X, y = table_of(rng, n)

        def f(w):
            value, slope = loss(y * (X @ w))
            return 0.5 * lam * (w @ w) + value.mean(), lam * w + X.T @ (slope * y) / len(y)

        return FunctionOracle(f, FreeSpace(n, radius=np.sqrt(2 / lam)))

    return make


def hinge(t):
    """Of support vector machines."""
    return np.maximum(0.0, 1 - t), np.where(t < 1, -1.0, 0.0)


def logistic(t):
    """Of logistic regression."""
    return np.logaddexp(0.0, -t), -1 / (1 + np.exp(np.minimum(t, 700.0)))


def ranking(n, lam):
    """Hinge of all pairs of a positive and a negative point: the area under the ROC curve."""

    def make(rng):
        X, y = table_of(rng, n)
        up, down = X[y > 0], X[y < 0]

        def f(w):
            t = (up @ w)[:, None] - (down @ w)[None, :]
            near = t < 1.0
            count = t.size
            slope = -(near.sum(1) @ up - near.sum(0) @ down) / count
            return 0.5 * lam * (w @ w) + np.maximum(0.0, 1 - t).mean(), lam * w + slope

        return FunctionOracle(f, FreeSpace(n, radius=np.sqrt(2 / lam)))

    return make


def regression(n, tau):
    """Quantile regression; tau = 1/2 is that of least absolute deviations."""

    def make(rng):
        X, _ = table_of(rng, n)
        y = X @ rng.normal(size=n) + rng.standard_t(2, size=len(X))

        def f(b):
            r = y - X @ b
            return np.maximum(tau * r, (tau - 1) * r).sum(), -X.T @ np.where(r > 0, tau, tau - 1)

        return FunctionOracle(f, Box(np.full(n, -20.0), np.full(n, 20.0)))

    return make


def transport(k):
    """Dual of optimal transport between k and k places: prices of the second."""

    def make(rng):
        cost = ((rng.random((k, 1, 2)) - rng.random((1, k, 2))) ** 2).sum(-1)
        a, b = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k))

        def f(v):
            reduced = cost - v
            j = reduced.argmin(1)
            return -(a @ reduced[np.arange(k), j]) - b @ v, np.bincount(j, a, k) - b

        return FunctionOracle(f, Box(np.full(k, -2.0), np.full(k, 2.0)))

    return make


def fairness(n):
    """Logistic regression whose decision is nearly uncorrelated with a group, a polyhedron."""

    def make(rng):
        X, y = table_of(rng, n)
        s = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(float)
        c = X.T @ (s - s.mean()) / len(s)

        def f(w):
            value, slope = logistic(y * (X @ w))
            return 0.005 * (w @ w) + value.mean(), 0.01 * w + X.T @ (slope * y) / len(y)

        return FunctionOracle(f, Polyhedron([c, -c], [0.01, 0.01], lower=-20.0, upper=20.0))

    return make


def newsvendor(n, days=200):
    """Stock of n goods for demands of many days, with a common store: mean cost."""

    def make(rng):
        demand = rng.gamma(3.0, 10.0, (days, n)) * rng.uniform(0.5, 2, n)
        buy, miss = rng.uniform(1, 2, n), rng.uniform(3, 9, n)
        room = 0.8 * demand.mean(0).sum()

        def f(x):
            short = demand > x
            over = max(0.0, x.sum() - room)
            value = buy @ x + (miss * np.maximum(0.0, demand - x)).sum(1).mean() + 4 * over
            return value, buy - miss * short.mean(0) + 4.0 * (over > 0)

        return FunctionOracle(f, Box(np.zeros(n), np.full(n, 200.0)))

    return make


def commitment(hours, units=10):
    """Prices of unit commitment: each unit's best schedule by dynamic programming, start-up costs included."""

    def make(rng):
        low, high = rng.uniform(10, 40, units), rng.uniform(60, 200, units)
        rate, fixed, start = rng.uniform(10, 30, units), rng.uniform(100, 500, units), rng.uniform(100, 900, units)
        load = 0.6 * high.sum() * (1 + 0.3 * np.sin(np.arange(hours) * 2 * np.pi / 24) + 0.05 * rng.normal(size=hours))

        def f(price):
            value, slope = -(price @ load), -load.copy()
            for u in range(units):
                power = np.where(price > rate[u], high[u], low[u])
                gain = (price - rate[u]) * power - fixed[u]
                off, on, came = 0.0, -np.inf, []
                for t in range(hours):
                    stays = on >= off - start[u]
                    came.append((on > off, stays))
                    off, on = max(off, on), max(on, off - start[u]) + gain[t]
                value += max(off, on)
                running = on > off
                for t in reversed(range(hours)):
                    slope[t] += power[t] * running
                    running = came[t][1] if running else came[t][0]
            return value, slope

        return FunctionOracle(f, Box(np.zeros(hours), np.full(hours, 100.0)))

    return make


def portfolio(n, days=500):
    """Conditional value at risk of a portfolio at 95 %, less its mean return."""

    def make(rng):
        R = 0.001 + 0.02 * rng.standard_t(4, (days, n)) @ (0.3 + 0.7 * np.eye(n))
        worst = days // 20

        def f(w):
            losses = -R @ w
            tail = np.argpartition(losses, -worst)[-worst:]
            slope = -R[tail].mean(0)
            return 1 + 10 * (slope @ w - 0.5 * R.mean(0) @ w), 10 * (slope - 0.5 * R.mean(0))

        return FunctionOracle(f, Simplex(n))

    return make


def robust(n, rows=40):
    """Largest of affine functions, each at its worst data in a ball: ``a_i z + b_i + .1 |z|``-like pieces."""

    def make(rng):
        A, b, r = rng.normal(size=(rows, n)), rng.normal(size=rows), rng.uniform(0, 0.5, (rows, n))

        def f(z):
            heights = A @ z + b + np.sqrt(((r * z) ** 2).sum(1))
            i = heights.argmax()
            norm = np.sqrt(((r[i] * z) ** 2).sum())
            return heights[i], A[i] + (r[i] ** 2 * z / norm if norm > 0 else 0.0)

        return FunctionOracle(f, Box(np.full(n, -1.0), np.full(n, 1.0)))

    return make


TASKS = {
    "support vector machine": [of_losses(n, lam, hinge) for n in (8, 20, 30, 60, 120) for lam in (1e-3, 1e-1)],
    "logistic regression": [of_losses(n, lam, logistic) for n in (8, 20, 40, 60, 120) for lam in (1e-3, 1e-1)],
    "area under the ROC curve": [ranking(n, 1e-3) for n in (8, 20, 40, 60, 80)],
    "quantile regression": [regression(n, tau) for n in (4, 8, 16, 30, 60) for tau in (0.5, 0.9)],
    "optimal transport": [transport(k) for k in (10, 20, 40, 60, 100)],
    "fair logistic regression": [fairness(n) for n in (8, 20, 40, 60, 120)],
    "stock of goods": [newsvendor(n) for n in (4, 10, 20, 40, 60, 120)],
    "unit commitment": [commitment(hours) for hours in (12, 24, 48, 72)],
    "portfolio at risk": [portfolio(n) for n in (10, 20, 40, 60, 120)],
    "robust pieces": [robust(n) for n in (5, 10, 20, 40, 60, 120)],
}


def run(make, seed, generator):
    """Calls to each goal, at most twice the limit where it is not reached, and processor seconds."""
    oracle = make(np.random.default_rng(seed))
    times, result = timed(
        lambda: minimize(oracle, generator, rtol=GOALS[-1], max_calls=CALLS, max_seconds=SECONDS, probes=0)
    )
    calls = [result.history.calls_to(goal) or 2 * CALLS for goal in GOALS]
    return np.array([*calls, times.cpu])


def main():
    """A row a kind of task and half: geometric means of ratios to the least of the four, and seconds."""
    options = parser(__doc__).parse_args()
    rows, logs = [], {half: [] for half in HALVES}
    for kind, makes in TASKS.items():
        for seed, half in enumerate(HALVES):
            found, chosen, seconds = [], [], []
            for make in makes[:1] if options.quick else makes:
                name = type(choose_generator(make(np.random.default_rng(seed)))).__name__
                figures = np.array([run(make, seed, one()) for one in GENERATORS])
                found.append(np.log(figures[:, :2] / figures[:, :2].min(axis=0)))
                chosen.append(NAMES.index(name))
                seconds.append(figures[:, 2])
            means = np.mean(found, axis=0)
            of_rule = np.mean([one[i] for one, i in zip(found, chosen, strict=True)], axis=0)
            logs[half].append([of_rule, *means])
            spent = np.mean([one[i] for one, i in zip(seconds, chosen, strict=True)])
            cells = [" / ".join(f"{ratio:.2f}" for ratio in np.exp(one)) for one in [of_rule, *means]]
            times = [f"{value:.2f}" for value in [spent, *np.mean(seconds, axis=0)]]
            rows.append([f"{kind}, {half}", *(f"{cell}, {t} s" for cell, t in zip(cells, times, strict=True))])
    for half, values in logs.items():
        cells = [" / ".join(f"{ratio:.2f}" for ratio in np.exp(one)) for one in np.mean(values, axis=0)]
        rows.append([f"**all, {half}**", *cells])
    say("Calls over the least of the four, to 1e-3 / 1e-6, geometric means; processor seconds of a run, mean.")
    table(["tasks", "`minimize(oracle)`", *(f"`{name}()`" for name in NAMES)], rows)


if __name__ == "__main__":
    main()
