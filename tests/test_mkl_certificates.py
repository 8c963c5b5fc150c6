"""Cuts of the MKL oracles, held against long double at the point asked and at others."""

import numpy as np
import pytest

from oracle_opt import Query
from oracle_opt.oracles import (
    GMKLOracle,
    GramBank,
    LpRegularizer,
    MixedNormOracle,
    MKLOracle,
)
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass

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
            assert cut.lower_bound <= constant - S.max() / 2 + 1e-17 * abs(constant)
            if C < 1:  # else rounding of the largest kernel is felt
                assert cut.error <= 1e-6 * abs(cut.upper)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_gmkl(C, seed):
    rng, kernels, y, path = problem(10 + seed)
    oracle = GMKLOracle(GramBank(kernels, check=False), y, LpRegularizer(2.0), C=C)

    def penalty(d):
        return (d.astype(LONG) ** 2).sum() / 2

    for d in path:
        cut = oracle.query(Query(d))
        b = y * cut.extras["alpha"].astype(LONG)
        f = combined(kernels, d, b)
        primal = b @ f / 2 + (C * np.maximum(0, 1 - y * (f + LONG(cut.extras["bias"])))).sum() + penalty(d)
        others = [d, *(d + 1e-3 * rng.uniform(size=d.size) for _ in range(3)), *rng.exponential(size=(3, d.size))]
        assert_cut(cut, others, np.abs(b).sum(), forms(kernels, b), penalty, primal)
        S = forms(kernels, b)
        longest = min(LONG(2), (C / np.abs(b[b != 0])).min() if b.any() else 2)
        scales = np.linspace(0, 1, 20001).astype(LONG) * longest
        assert cut.lower_bound <= (scales * np.abs(b).sum() - scales**4 * (S**2).sum() / 8).max() * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_mixed_norm(seed):
    rng, kernels, y, path = problem(20 + seed)
    groups = [[0, 3, 4], [1, 2, 5]]
    oracle = MixedNormOracle(GramBank(kernels, check=False), y, 10.0, groups=groups)
    order = [*groups[0], *groups[1]]
    for w in path:
        point = np.concatenate([part / part.sum() for part in np.split(w, 2)])
        cut = oracle.query(Query(point))
        b, c = y * cut.extras["alpha"].astype(LONG), cut.extras["group_weights"].astype(LONG)
        S = forms([kernels[k] for k in order], b) / np.repeat(c, 3)
        others = [point, *(np.concatenate([rng.dirichlet(np.ones(3)) for _ in groups]) for _ in range(4))]
        assert_cut(cut, others, np.abs(b).sum(), S, lambda z: 0, LONG(cut.value))
        f = combined(kernels, cut.extras["kernel_weights"], b)
        # group norms of the hyperplane: (1 / c_j)^2 W_j with the c of the SVM, which its kernel weights tell
        inverse = cut.extras["kernel_weights"][order].astype(LONG) / point
        norms = [(point[part] * inverse[part] ** 2 * forms([kernels[k] for k in order], b)[part]).sum() for part in
                 (slice(0, 3), slice(3, 6))]  # fmt: skip
        loss = (10 * np.maximum(0, 1 - y * (f + LONG(cut.extras["bias"])))).sum()
        assert LONG(cut.value) + LONG(cut.error) >= (max(norms) / 2 + loss) * (1 - LONG(1e-15))
