"""The instances of the panel: families of the suite and families of its own, half of them held out by name."""

import zlib
from collections import defaultdict
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from oracle_opt import (
    Box,
    FeasibilityCut,
    FreeSpace,
    FunctionOracle,
    L1Term,
    ObjectiveCut,
    Polyhedron,
    QuadraticTerm,
    Simplex,
)
from oracle_opt.oracles import Composite, RiskOracle
from oracle_opt.problems import suite, two_stage

# Families of the suite, and the most that is taken of each; the rest is drawn below.
TUNED_SUITE = {"nonsmooth": 8, "scalable": 4, "max-affine": 3, "matrix-game": 3, "separable": 2, "lp": 3, "qp": 3}
TUNED_SUITE |= {"sdp": 3, "uflp": 2, "mkl": 2, "tsp": 2}
HELD_SUITE = {"max-quadratic": 3, "least-absolute": 3, "gap": 2, "one-tree": 3, "robust-lp": 3, "stochastic": 3}
HELD_SUITE |= {"max-cut": 3, "random-facilities": 3, "theta": 3, "resisting": 2, "mkl-kinds": 3}
LARGEST = 130  # variables, of what is taken of the suite
# Families that no rule, threshold or default may be tuned on.
HELD_OUT = frozenset(HELD_SUITE) | {
    *("risk-insensitive", "risk-multiclass", "risk-expectile", "risk-poisson", "risk-cvar"),
    *("smooth-quadratic", "smooth-distances", "smooth-softmax", "smooth-fair", "smooth-portfolio"),
    *("lagrangian-stock", "lagrangian-covering", "lagrangian-median", "two-stage-newsvendor", "eigenvalues-sum"),
    *("inexact-answers", "cuts-norms", "cuts-quadratic", "known-auc", "known-logistic", "known-multiclass"),
}


class Case(NamedTuple):
    """An instance: `make` gives its oracle and where to start, or None."""

    family: str
    name: str
    make: object

    @property
    def half(self):
        """Whether methods may be tuned on it."""
        return "held" if self.family in HELD_OUT else "tuned"


# Risks with ridge: losses map scores, targets and labels to a mean and its slope.


def data(name, n=10, m=2000):
    """Points, targets, and labels by the middle of the targets; those of scikit-learn are standardized."""
    if name == "synthetic":
        rng = np.random.default_rng([n, m])
        X = rng.normal(size=(m, n)) @ (np.eye(n) + 0.3 * rng.normal(size=(n, n))) / 3
        t = X @ rng.normal(size=n) + rng.standard_t(3, size=m)
    else:
        X, t = learned(name)
        t = (t - t.mean()) / t.std()
    return X, t, np.where(t > (np.median(t) if name == "synthetic" else 0.0), 1.0, -1.0)


@cache
def learned(name):
    """Standardized points of scikit-learn with a column of ones, and targets."""
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    X = (found.data - found.data.mean(0)) / (found.data.std(0) + 1e-9)
    return np.column_stack([X, np.ones(len(X))]), found.target.astype(float)


def classes(name, n=10, kinds=3, m=1000):
    """Points, their classes and how many classes there are."""
    if name != "synthetic":
        X, t = learned(name)
        return X, t.astype(int), int(t.max()) + 1
    rng = np.random.default_rng([n, kinds, m])
    label = rng.integers(kinds, size=m)
    return rng.normal(size=(m, n)) + 0.8 * rng.normal(size=(kinds, n))[label], label, kinds


def counts(n, m=1500):
    """Points, and counts whose logarithms are nearly linear in them."""
    rng = np.random.default_rng([n, m])
    X = rng.normal(size=(m, n))
    return X, rng.poisson(np.exp(0.5 + X @ rng.normal(size=n) / np.sqrt(n))).astype(float), None


def risk(loss, source, lam):
    """``lam/2 |w|^2 + loss(X @ w)`` on a ball that holds the minimizer, as losses are not negative."""
    X, t, y = source()
    shape = (X.shape[1], y) if isinstance(y, int) else (X.shape[1],)  # y classes have a score each

    def f(w):
        value, slope = loss(X @ w.reshape(shape), t, y)
        return value + 0.5 * lam * (w @ w), lam * w + (X.T @ slope).ravel()

    n = int(np.prod(shape))
    return FunctionOracle(f, FreeSpace(n, radius=float(np.sqrt(2 * f(np.zeros(n))[0] / lam))))


def hinge(s, t, y):
    """Of support vector machines."""
    near = y * s < 1
    return np.maximum(0.0, 1 - y * s).mean(), -y * near / len(y)


def logistic(s, t, y):
    """Of logistic regression."""
    return np.logaddexp(0.0, -y * s).mean(), -y / (1 + np.exp(np.minimum(y * s, 700.0))) / len(y)


def quantile(s, t, y, tau=0.9):
    """Of quantile regression."""
    e = t - s
    return np.maximum(tau * e, (tau - 1) * e).mean(), -np.where(e > 0, tau, tau - 1) / len(t)


def huber(s, t, y, near=0.5):
    """Squares of small errors, absolute values of large ones."""
    e = s - t
    c = np.clip(e, -near, near)
    return (c * e - c * c / 2).mean(), c / len(t)


def auc(s, t, y):
    """Hinge of all pairs of a positive and a negative point, by sorting."""
    up, down = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    down = down[s[down].argsort()]
    high, low = s[up] - 1, s[down]
    first = low.searchsorted(high, side="right")
    tails = np.append(low[::-1].cumsum()[::-1], 0.0)
    near, slope = len(low) - first, np.zeros(len(s))
    slope[up], slope[down] = -near, np.sort(high).searchsorted(low, side="left")
    pairs = len(up) * len(down)
    return (tails[first] - near * high).sum() / pairs, slope / pairs


def insensitive(s, t, y, free=0.3):
    """Absolute errors above what is free."""
    e = s - t
    return np.maximum(0.0, abs(e) - free).mean(), np.sign(e) * (abs(e) > free) / len(t)


def expectile(s, t, y, tau=0.9):
    """Asymmetric squares."""
    e = s - t
    weight = np.where(e < 0, tau, 1 - tau)
    return (weight * e * e).mean(), 2 * weight * e / len(t)


def poisson(s, t, y, far=30.0):
    """Half the deviance of counts with logarithms s; affine beyond `far`, where it would overflow."""
    mean = np.exp(np.minimum(s, far))
    best = t * np.log(np.maximum(t, 1.0)) - t
    return (best + mean * (1 + np.maximum(s - far, 0.0)) - t * s).mean(), (mean - t) / len(t)


def cvar(s, t, y, share=0.1):
    """Mean of the largest absolute errors."""
    e, worst = s - t, int(share * len(t))
    tail = np.argpartition(abs(e), -worst)[-worst:]
    slope = np.zeros(len(t))
    slope[tail] = np.sign(e[tail]) / worst
    return abs(e[tail]).mean(), slope


def multiclass(s, label, kinds):
    """Crammer and Singer's hinge: by how much another class comes within 1 of the right one."""
    rows = np.arange(len(s))
    margin = 1 + s - s[rows, label][:, None]
    margin[rows, label] = 0.0
    worst, slope = margin.argmax(1), np.zeros(s.shape)
    np.add.at(slope, (rows, worst), 1 / len(s))
    np.add.at(slope, (rows, label), -1 / len(s))
    return margin[rows, worst].mean(), slope


def softmax(s, label, kinds):
    """Multinomial logistic loss."""
    rows = np.arange(len(s))
    e = np.exp(s - s.max(1)[:, None])
    slope = e / e.sum(1)[:, None]
    value = -np.log(slope[rows, label] + 1e-300).mean()
    slope[rows, label] -= 1
    return value, slope / len(s)


# Sums with a known term, which methods may take as it is.


def with_ridge(kind, source, lam):
    """A risk plus ``lam/2 |w|^2``, which proves a radius."""
    X, t, y = source()
    return Composite(RiskOracle(kind, X, t if isinstance(y, int) else y), QuadraticTerm(lam))


def with_l1(source, lam, level=0.75):
    """A quantile risk plus ``lam |w|_1`` on a box."""
    X, t, _ = source()
    return Composite(RiskOracle("quantile", X, t, level=level, domain=cube(X.shape[1], 10.0)), L1Term(lam))


def elastic(n, ridge, l1):
    """The largest of 3 n affine functions, plus an l1 norm and a quadratic, on a box."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(3 * n, n)), rng.normal(size=3 * n)

    def f(x):
        v = A @ x + b
        return v.max(), A[v.argmax()]

    return Composite(FunctionOracle(f, cube(n, 2.0)), QuadraticTerm(ridge) + L1Term(l1))


# Smooth functions.


def cube(n, side):
    """The box from -side to side."""
    return Box(np.full(n, -side), np.full(n, side))


def of_rows(kind, n):
    """Least squares, or log-sum-exp, of 3 n random rows."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(3 * n, n)) / np.sqrt(n), rng.normal(size=3 * n)

    def f(x):
        if kind == "squares":
            return 0.5 * ((A @ x - b) ** 2).sum() + 1.0, A.T @ (A @ x - b)
        v = A @ x + b
        e = np.exp(v - v.max())
        return v.max() + np.log(e.sum()), A.T @ e / e.sum()

    return FunctionOracle(f, cube(n, 5.0))


def quadratic(n, condition):
    """A quadratic function of the condition on a box that cuts its minimizer off in some variables."""
    rng = np.random.default_rng([n, int(condition)])
    V = np.linalg.qr(rng.normal(size=(n, n)))[0]
    Q = V * np.geomspace(1 / condition, 1.0, n) @ V.T
    c = 1.5 * rng.normal(size=n)

    def f(x):
        slope = Q @ (x - c)
        return 1 + 0.5 * (slope @ (x - c)), slope

    return FunctionOracle(f, cube(n, 3.0))


def distances(n):
    """Weighted sum of smoothed distances to places."""
    rng = np.random.default_rng(n)
    places, weight = 2 * rng.normal(size=(2 * n, n)), rng.dirichlet(np.ones(2 * n))

    def f(x):
        away = x - places
        far = np.sqrt(1 + (away**2).sum(1))
        return weight @ far, (weight / far) @ away

    return FunctionOracle(f, cube(n, 4.0))


def fair(n, rows):
    """Logistic regression whose scores are nearly uncorrelated with groups, of one side or of both."""
    X, t, y = data("synthetic", n, 1500)
    group = (X[:, 0] + np.random.default_rng(n).normal(size=len(X)) / 3 > 0).astype(float)
    c = X.T @ (group - group.mean()) / len(X)

    def f(w):
        value, slope = logistic(X @ w, t, y)
        return value + 0.005 * (w @ w), 0.01 * w + X.T @ slope

    return FunctionOracle(f, Polyhedron([c, -c][:rows], [0.01, 0.01][:rows], lower=-20.0, upper=20.0))


def portfolio(n, near=1e-3):
    """Variance less return, and entropy, smoothed at 0, over portfolios."""
    rng = np.random.default_rng(n)
    F, own, mean = rng.normal(size=(n, 5)), rng.uniform(0.5, 2.0, n), rng.uniform(0.0, 0.5, n)

    def f(x):
        seen, logs = x @ F, np.log(x + near)
        value = 0.5 * (seen @ seen + own @ x**2) - mean @ x + 0.1 * ((x + near) @ logs) + 1
        return value, F @ seen + own * x - mean + 0.1 * (logs + 1)

    return FunctionOracle(f, Simplex(n))


# Lagrangian relaxations, two stages, eigenvalues.


def commitment(hours, units=10):
    """Prices of unit commitment: each unit's best schedule, with starts that cost, by dynamic programming."""
    rng = np.random.default_rng(hours)
    low, high = rng.uniform(10, 40, units), rng.uniform(60, 200, units)
    rate, fixed, start = rng.uniform(10, 30, units), rng.uniform(100, 500, units), rng.uniform(100, 900, units)
    load = 0.6 * high.sum() * (1 + 0.3 * np.sin(np.arange(hours) * 2 * np.pi / 24) + 0.05 * rng.normal(size=hours))

    def f(price):
        power = np.where(price[:, None] > rate, high, low)
        gain = (price[:, None] - rate) * power - fixed
        off, on, came = np.zeros(units), np.full(units, -np.inf), []
        for now in gain:
            came.append((on > off, on >= off - start))  # whether it ran before, if it is off now, and if it is on
            off, on = np.maximum(off, on), np.maximum(on, off - start) + now
        running, slope = on > off, -load
        for t in reversed(range(hours)):
            slope[t] += power[t] @ running
            running = np.where(running, came[t][1], came[t][0])
        return np.maximum(off, on).sum() - price @ load, slope

    return FunctionOracle(f, Box(np.zeros(hours), np.full(hours, 100.0)))


def knapsack(m, items=60):
    """A 0-1 knapsack of several rows, all but one relaxed."""
    rng = np.random.default_rng(m)
    a, p, w = rng.integers(1, 40, (m, items)), rng.integers(10, 60, items).astype(float), rng.integers(1, 20, items)
    b, room = a.sum(1) * 0.5, int(w.sum() // 2)

    def f(u):
        q, best, taken = p - u @ a, np.zeros(room + 1), np.zeros((items, room + 1), bool)
        for j in np.flatnonzero(q > 0):
            with_it = best[: -w[j]] + q[j]
            taken[j, w[j] :] = with_it > best[w[j] :]
            best[w[j] :] = np.maximum(best[w[j] :], with_it)
        x, left = np.zeros(items), room
        for j in reversed(range(items)):
            if taken[j, left]:
                x[j], left = 1.0, left - w[j]
        return u @ b + q @ x, b - a @ x

    return FunctionOracle(f, Box(np.zeros(m), np.full(m, 20.0)))


def stock(n, length=100):
    """Cutting stock: prices of widths; a pattern of a roll is a knapsack."""
    rng = np.random.default_rng(n)
    w, d = rng.integers(11, 60, n), rng.integers(5, 60, n)

    def f(u):
        best, last = np.zeros(length + 1), np.full(length + 1, -1)
        for room in range(w.min(), length + 1):
            value = np.where(w <= room, best[room - np.minimum(w, room)] + u, -1.0)
            j = value.argmax()
            best[room], last[room] = (value[j], j) if value[j] > best[room - 1] else (best[room - 1], -1)
        x, room = np.zeros(n), length
        while room > 0:
            j = last[room]
            if j >= 0:
                x[j] += 1
            room -= w[j] if j >= 0 else 1
        rolls = d.sum() * (best[-1] > 1)
        return rolls * (best[-1] - 1) - u @ d, rolls * x - d

    return FunctionOracle(f, Box(np.zeros(n), np.ones(n)))


def covering(rows):
    """Set covering, all rows relaxed."""
    rng = np.random.default_rng(rows)
    A, c = rng.random((rows, 4 * rows)) < 3 / rows, rng.integers(5, 60, 4 * rows).astype(float)
    A[np.arange(rows), np.arange(rows)] = True

    def f(u):
        reduced = c - u @ A
        x = reduced < 0
        return -u.sum() - reduced[x].sum(), A @ x.astype(float) - 1

    return FunctionOracle(f, Box(np.zeros(rows), np.full(rows, c.max())))


def median(places, p):
    """The p-median problem in the plane, assignments relaxed."""
    at = np.random.default_rng(places).random((places, 2))
    d = np.sqrt(((at[:, None] - at) ** 2).sum(2))

    def f(u):
        near = d < u[:, None]
        gain = np.where(near, d - u[:, None], 0.0).sum(0)
        opened = np.argpartition(gain, p - 1)[:p]
        return -u.sum() - gain[opened].sum(), near[:, opened].sum(1) - 1.0

    return FunctionOracle(f, Box(np.zeros(places), np.full(places, d.max())))


def newsvendor(n, days):
    """Goods bought before their demand is known, sold short at a loss and left over at another, and a common store."""
    rng = np.random.default_rng([n, days])
    demand = rng.lognormal(2.0, 0.5, (days, 1)) * rng.lognormal(0.0, 0.4, (days, n))
    buy, miss, keep = rng.uniform(1, 2, n), rng.uniform(3, 9, n), rng.uniform(0.2, 1, n)
    room = 0.8 * demand.mean(0).sum()

    def f(x):
        lack, over = demand - x, x.sum() > room
        value = (np.maximum(lack, 0.0) @ miss + np.maximum(-lack, 0.0) @ keep).mean() + buy @ x
        slope = buy + keep * (lack < 0).mean(0) - miss * (lack > 0).mean(0)
        return value + 4 * over * (x.sum() - room), slope + 4.0 * over

    return FunctionOracle(f, Box(np.zeros(n), np.full(n, 60.0)))


def eigenvalues(n, order, k=1):
    """Sum of the k largest eigenvalues of a symmetric matrix that is affine in x."""
    rng = np.random.default_rng([n, order])
    A = rng.normal(size=(n + 1, order, order))
    A += A.transpose(0, 2, 1)

    def f(x):
        values, vectors = np.linalg.eigh(A[0] + np.tensordot(x, A[1:], 1))
        V = vectors[:, -k:]
        return values[-k:].sum(), np.tensordot(A[1:], V @ V.T, 2)

    return FunctionOracle(f, cube(n, 1.0))


# Inexact oracles, and cuts of constraints.


def values(n, kind):
    """Values alone, of a smooth function or one with kinks."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(20, n)), rng.normal(size=20)

    def f(x):
        v = A @ x + b
        rest = abs(v).mean() if kind == "kinks" else v.max() + np.log(np.exp(v - v.max()).sum())
        return float(rest + 0.05 * (x @ x))

    return FunctionOracle.from_values(f, cube(n, 5.0))


def answers(n, level):
    """Values that are too low by up to what is stated, the same each time at the same point."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(3 * n, n)), rng.normal(size=3 * n)

    def f(x):
        e = A @ x - b
        value = abs(e).sum() / n + 0.5 * (x @ x)
        error = level * abs(value)
        share = zlib.crc32(x.tobytes()) % 97 / 97
        return ObjectiveCut(x, value - error * share, np.sign(e) @ A / n + x, error=error)

    return FunctionOracle(f, cube(n, 3.0))


def truss(across, up, most):
    """Least volume of bars whose compliance is limited: cuts of up to `most` eigenvectors of a matrix."""
    places = np.array([(i, j) for i in range(across) for j in range(up)], float)
    a, b = np.triu_indices(len(places), 1)
    near = abs(places[a] - places[b]).max(1) < 1.5
    a, b = a[near], b[near]
    length, rows = np.linalg.norm(places[b] - places[a], axis=1), np.arange(len(a))
    B = np.zeros((len(a), len(places), 2))
    B[rows, b] = (places[b] - places[a]) / length[:, None] ** 1.5
    B[rows, a] = -B[rows, b]
    B = B[:, places[:, 0] > 0].reshape(len(a), -1)
    length, B = length[B.any(1)], B[B.any(1)]
    m = B.shape[1]
    whole = np.zeros((m + 1, m + 1))
    whole[0, 0] = 30.0
    whole[0, 2 + 2 * (across - 2) * up] = whole[2 + 2 * (across - 2) * up, 0] = -1.0  # pulls the lower corner down

    def query(x):
        S = whole.copy()
        S[1:, 1:] = (B.T * x) @ B
        w, V = np.linalg.eigh(S)
        cuts = [FeasibilityCut(x, -w[k], -((B @ V[1:, k]) ** 2)) for k in range(most) if w[k] < -1e-9]
        if not cuts:
            return ObjectiveCut(x, float(length @ x), length)
        return FeasibilityCut(x, cuts[0].violation, cuts[0].normal, further=tuple(cuts[1:]))

    n = len(length)
    return FunctionOracle(query, Box(np.zeros(n), np.full(n, 10.0)), gives={FeasibilityCut})


def norms(n):
    """A linear function where four norms are limited."""
    rng = np.random.default_rng(n)
    c, A, b = rng.normal(size=n), rng.normal(size=(4, n, n)) / np.sqrt(n), 0.2 * rng.normal(size=(4, n))

    def query(x):
        e = A @ x + b
        over = np.linalg.norm(e, axis=1) - 1.5
        k = over.argmax()
        if over[k] > 1e-9:
            return FeasibilityCut(x, over[k], A[k].T @ e[k] / (over[k] + 1.5))
        return ObjectiveCut(x, float(c @ x), c)

    return FunctionOracle(query, cube(n, 3.0), gives={FeasibilityCut})


def ellipsoids(n, rows=5):
    """The point nearest to another in an intersection of ellipsoids."""
    rng = np.random.default_rng(n)
    target, roots = 2 * rng.normal(size=n), rng.normal(size=(rows, n, n)) / np.sqrt(n)
    middles = 0.3 * rng.normal(size=(rows, n)) / np.sqrt(n)

    def inside(k, x):
        e = roots[k] @ (x - middles[k])
        return e @ e + 0.1 * ((x - middles[k]) ** 2).sum() - 1, 2 * roots[k].T @ e + 0.2 * (x - middles[k])

    def f(x):
        return (x - target) @ (x - target), 2 * (x - target)

    return FunctionOracle(f, cube(n, 3.0), constraints=[partial(inside, k) for k in range(rows)])


def of_suite(problem):
    """A problem of the suite, and where it starts."""
    instance = problem(0)
    return instance.oracle, instance.start


def of_ours(make):
    """An oracle of ours; no start is given."""
    return make(), None


def in_scenarios(n, rows, scenarios):
    """A two-stage program of the suite's kind, by Benders' cuts."""
    return two_stage.draw(n, rows, scenarios, 1, 3).oracle


def spread(many, most):
    """At most so many of a list, evenly from its first to its last."""
    return [many[int(i)] for i in np.unique(np.linspace(0, len(many) - 1, min(most, len(many))).round())]


def drawn():
    """Families of our own: names of instances, and what makes them."""

    def synthetic(*sizes):
        return {f"n={n}": partial(data, "synthetic", n, m) for n, m in sizes}

    def real(*names):
        return {name: partial(data, name) for name in names}

    tables = synthetic((10, 2000), (30, 5000), (100, 2000))
    fresh = synthetic((20, 3000), (60, 1500)) | real("diabetes")
    groups = {"iris": ("iris",), "wine": ("wine",), "n=80": ("synthetic", 16, 5)}
    groups = {name: partial(classes, *words) for name, words in groups.items()}
    risks = {
        "risk-hinge": (hinge, tables | real("breast_cancer")),
        "risk-logistic": (logistic, tables | real("digits")),
        "risk-quantile": (quantile, tables | real("diabetes")),
        "risk-auc": (auc, tables | real("breast_cancer")),
        "risk-huber": (huber, tables | real("diabetes")),
        "risk-insensitive": (insensitive, fresh),
        "risk-expectile": (expectile, fresh),
        "risk-poisson": (poisson, {f"n={n}": partial(counts, n) for n in (8, 30, 80)}),
        "risk-cvar": (cvar, fresh),
        "risk-multiclass": (multiclass, groups),
        "smooth-softmax": (softmax, groups),
    }
    for family, (loss, sources) in risks.items():
        for k, (name, source) in enumerate(sources.items()):
            yield family, name, partial(risk, loss, source, (1e-2, 1e-3)[k % 2])
    ridged = {
        "known-hinge": ("hinge", tables | real("breast_cancer")),
        "known-auc": ("auc", fresh | real("breast_cancer")),
        "known-logistic": ("logistic", fresh | real("breast_cancer")),
        "known-multiclass": ("multiclass", groups),
    }
    for family, (kind, sources) in ridged.items():
        for k, (name, source) in enumerate(sources.items()):
            yield family, name, partial(with_ridge, kind, source, (1e-3, 1e-2, 1e-4)[k % 3])
    for k, (name, source) in enumerate((tables | real("diabetes")).items()):
        yield "known-quantile", name, partial(with_l1, source, (1e-2, 1e-3)[k % 2])
    sizes = {
        "known-affine": (elastic, [(8, 1e-1, 1e-2), (25, 1e-2, 1e-1), (60, 1e-1, 1e-1), (100, 1.0, 1e-2)]),
        "smooth-squares": (partial(of_rows, "squares"), [(8,), (25,), (60,), (100,)]),
        "smooth-exponentials": (partial(of_rows, "exponentials"), [(8,), (25,), (60,), (100,)]),
        "lagrangian-commitment": (commitment, [(12,), (24,), (48,)]),
        "lagrangian-knapsack": (knapsack, [(5,), (15,), (30,)]),
        "two-stage-draws": (in_scenarios, [(10, 10, 10), (20, 15, 300), (20, 15, 1000)]),
        "eigenvalues-largest": (eigenvalues, [(5, 20), (12, 30), (30, 30), (60, 40)]),
        "inexact-values": (values, [(5, "smooth"), (12, "smooth"), (5, "kinks"), (12, "kinks")]),
        "cuts-truss": (truss, [(3, 2, 1), (4, 2, 3), (3, 3, 1), (4, 3, 3)]),
        "smooth-quadratic": (quadratic, [(10, 1e1), (100, 1e1), (40, 1e2), (10, 1e3), (100, 1e3), (40, 1e4)]),
        "smooth-distances": (distances, [(10,), (40,), (100,)]),
        "smooth-fair": (fair, [(12, 1), (50, 2)]),
        "smooth-portfolio": (portfolio, [(15,), (80,)]),
        "lagrangian-stock": (stock, [(10,), (30,)]),
        "lagrangian-covering": (covering, [(20,), (60,)]),
        "lagrangian-median": (median, [(25, 4), (80, 8)]),
        "two-stage-newsvendor": (newsvendor, [(10, 200), (40, 1000)]),
        "eigenvalues-sum": (eigenvalues, [(6, 20, 3), (20, 30, 2), (50, 40, 5)]),
        "inexact-answers": (answers, [(8, 2e-5), (25, 2e-5), (50, 4e-5)]),
        "cuts-norms": (norms, [(4,), (10,), (20,)]),
        "cuts-quadratic": (ellipsoids, [(5,), (15,), (40,)]),
    }
    for family, (of, cases) in sizes.items():
        for case in cases:
            yield family, ", ".join(map(str, case)), partial(of, *case)


def panel():
    """All instances; those of collections that are not at hand are missing."""
    found = defaultdict(list)
    for problem in suite():
        if problem.n <= LARGEST:
            found[problem.family].append(Case(problem.family, problem.name, partial(of_suite, problem)))
    most = TUNED_SUITE | HELD_SUITE
    cases = [case for family in most if family in found for case in spread(found[family], most[family])]
    return cases + [Case(family, f"{family}({name})", partial(of_ours, make)) for family, name, make in drawn()]
