"""Cuts of the MKL oracles, held against long double at the point asked and at others."""

import numpy as np
import pytest

from oracle_opt import Query
from oracle_opt.oracles import GMKLOracle, GramBank, LpRegularizer, MixedNormOracle, MKLOracle
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge

LONG = np.longdouble


def problem(seed):
    """Kernels of very different size and rank; points of the simplex that move as in a run."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(10, 50)), 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernels = [np.exp(-squared / width) for width in (0.1, 1.0, 10.0)] + [X @ X.T, (1e3 + X @ X.T) ** 2, 1e-6 * X @ X.T]
    kernels = [(K + K.T) / 2 for K in kernels]
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    w = rng.dirichlet(np.ones(len(kernels)))
    path = [w := w**0.9 * np.exp(0.1 * rng.normal(size=w.size)) for _ in range(8)]
    return rng, kernels, y, [w / w.sum() for w in path]


def forms(kernels, b):
    return np.array([b @ (K.astype(LONG) @ b) for K in kernels])


def combined(kernels, w, b):
    return sum((weight * (K.astype(LONG) @ b) for weight, K in zip(w.astype(LONG), kernels, strict=True)), 0 * b)


def assert_cut(cut, others, constant, S, penalty, primal):
    """`constant - z @ S / 2 + penalty(z)` is what the dual variables prove; the cut must not say more."""
    own = 1e-17 * len(S) * float(abs(constant) + np.abs(S).max())  # of long double
    for z in others:
        stated = LONG(cut.value) + cut.subgradient.astype(LONG) @ (z.astype(LONG) - cut.point)
        assert stated <= constant - z.astype(LONG) @ S / 2 + penalty(z) + own
    assert LONG(cut.value) + LONG(cut.error) >= primal - own


@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("seed", range(4))
def test_simplex(C, seed):
    rng, kernels, y, path = problem(seed)
    bank, n = GramBank(kernels, check=False), len(y)
    t = 1e2 + rng.normal(size=n)
    oracles = (
        MKLOracle(bank, y, C),
        MKLOracle(bank, t, EpsilonInsensitive(C, 0.1)),
        MKLOracle(bank, loss=OneClass(0.4)),
    )
    for oracle in oracles:
        for w in path:
            cut = oracle.query(Query(w))
            kind, bias = type(oracle.loss), LONG(cut.extras["bias"])
            b = cut.extras["signed_dual"].astype(LONG)
            S, f = forms(kernels, b), combined(kernels, w, b)
            half = b @ f / 2
            if kind is Hinge:
                constant, primal = y @ b, half + (C * np.maximum(0, 1 - y * (f + bias))).sum()
            elif kind is EpsilonInsensitive:
                # b adds up to 0 but for rounding; the oracle proves what it does for a point that exactly does
                constant = (t - 100.0) @ b - LONG(0.1) * np.abs(b).sum() + 10 * abs(b.sum())
                primal = half + (C * np.maximum(0, np.abs(t - f - bias) - LONG(0.1))).sum()
            else:
                constant, primal = LONG(0), half + LONG(0.4 * n) * bias + np.maximum(0, -(f + bias)).sum()
            assert_cut(cut, [w, *rng.dirichlet(np.ones(w.size), 5), *np.eye(w.size)], constant, S, lambda z: 0, primal)
            # of the multiples of the dual point that are feasible the best one
            best = LONG(1) if kind is OneClass else max(LONG(0), min(LONG(1), constant / S.max()))
            assert cut.lower_bound <= best * constant - best**2 * S.max() / 2 + 1e-17 * abs(constant)
            if C < 1:  # else rounding of the largest kernel is felt
                assert cut.error <= 1e-6 * abs(cut.upper)


LOSSES = ("hinge", "squared hinge", "regression", "one class")


def machine(loss, y, t, C):
    """A loss, its targets, and by definition its dual term L(b), that of t * b, and its primal sum, in long double."""
    n = len(y)
    if loss == "hinge":
        hinge = lambda f, bias: (C * np.maximum(0, 1 - y * (f + bias))).sum()  # noqa: E731
        return Hinge(C), y, lambda b, t: t * (y @ b), hinge
    if loss == "squared hinge":
        squared = lambda f, bias: (C * np.maximum(0, 1 - y * (f + bias)) ** 2).sum()  # noqa: E731
        return SquaredHinge(C), y, lambda b, t: t * (y @ b) - t * t * (b @ b) / (4 * LONG(C)), squared
    if loss == "regression":
        # b adds up to 0 but for rounding; the oracle proves what it does for a point that exactly does
        dual = lambda b, s: s * ((t - 100) @ b - LONG(0.1) * np.abs(b).sum() + 10 * abs(b.sum()))  # noqa: E731
        tube = lambda f, bias: (C * np.maximum(0, np.abs(t - f - bias) - LONG(0.1))).sum()  # noqa: E731
        return EpsilonInsensitive(C, 0.1), t, dual, tube
    beyond = lambda f, bias: LONG(0.4) * n * bias + np.maximum(0, -(f + bias)).sum()  # noqa: E731
    return OneClass(0.4), None, lambda b, t: LONG(0), beyond


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_gmkl(loss, C, seed):
    rng, kernels, y, path = problem(10 + seed)
    given, targets, dual, charge = machine(loss, y, 1e2 + rng.normal(size=len(y)), C)
    oracle = GMKLOracle(GramBank(kernels, check=False), targets, LpRegularizer(2.0), loss=given)

    def penalty(d):
        return (d.astype(LONG) ** 2).sum() / 2

    for d in path:
        cut = oracle.query(Query(d))
        b = cut.extras["signed_dual"].astype(LONG)
        f, S = combined(kernels, d, b), forms(kernels, b)
        primal = b @ f / 2 + charge(f, LONG(cut.extras["bias"])) + penalty(d)
        others = [d, *(d + 1e-3 * rng.uniform(size=d.size) for _ in range(3)), *rng.exponential(size=(3, d.size))]
        assert_cut(cut, others, dual(b, 1), S, penalty, primal)
        longest = LONG(2) if loss == "squared hinge" else (C / np.abs(b[b != 0])).min(initial=LONG(2))
        scales = np.ones(1, LONG) if loss == "one class" else np.linspace(0, 1, 20001).astype(LONG) * longest
        known = (dual(b, scales) - scales**4 * (S**2).sum() / 8).max()
        assert cut.lower_bound <= known + abs(known) * 1e-6


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_mixed_norm(loss, seed):
    rng, kernels, y, path = problem(20 + seed)
    given, targets, dual, charge = machine(loss, y, 1e2 + rng.normal(size=len(y)), 10.0)
    groups = [[0, 3, 4], [1, 2, 5]]
    oracle = MixedNormOracle(GramBank(kernels, check=False), targets, given, groups=groups)
    order = [*groups[0], *groups[1]]
    for w in path:
        point = np.concatenate([part / part.sum() for part in np.split(w, 2)])
        cut = oracle.query(Query(point))
        b, c = cut.extras["signed_dual"].astype(LONG), cut.extras["group_weights"].astype(LONG)
        S = forms([kernels[k] for k in order], b)
        others = [point, *(np.concatenate([rng.dirichlet(np.ones(3)) for _ in groups]) for _ in range(4))]
        assert_cut(cut, others, dual(b, 1), S / np.repeat(c, 3), lambda z: 0, LONG(cut.value))
        roots = np.sqrt(np.array([part.max() for part in np.split(S, 2)]))
        rounding = LONG(1e-17) * (abs(dual(b, 1)) + S.max())
        # of the multiples of the dual point the best one, ``t linear - t**2 bent``
        linear, bent = 2 * dual(b, 1) - dual(b, 2) / 2, dual(b, 1) - dual(b, 2) / 2 + roots.sum() ** 2 / 2
        assert cut.lower_bound <= linear**2 / (4 * bent) + rounding
        f = combined(kernels, cut.extras["kernel_weights"], b)
        # group norms of the hyperplane: (1 / c_j)^2 W_j with the c of the SVM, which its kernel weights tell
        inverse = cut.extras["kernel_weights"][order].astype(LONG) / point
        norms = [(point[part] * inverse[part] ** 2 * S[part]).sum() for part in (slice(0, 3), slice(3, 6))]
        primal = max(norms) / 2 + charge(f, LONG(cut.extras["bias"]))
        assert LONG(cut.value) + LONG(cut.error) >= primal - LONG(1e-15) * (abs(primal) + max(norms))
