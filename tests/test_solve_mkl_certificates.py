"""Cuts and bounds of the methods made for MKL, held against long double; gaps of any dual variables."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from oracle_opt.oracles import ElasticNet, EntropyRegularizer, GramBank, LpRegularizer
from oracle_opt.oracles.mkl import SMOMKL, NewtonMKL, solve_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge
from oracle_opt.oracles.svm.pieces import Pieces

LONG = np.longdouble
LOSSES = ("hinge", "squared hinge", "epsilon", "one class")
REGULARIZERS = [LpRegularizer(1.5, 3.0), EntropyRegularizer(2.0, 0.1), ElasticNet(0.5, 2.0)]


def problem(seed):
    """Kernels of very different size and rank, labels and targets far from 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(10, 40)), 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernels = [np.exp(-squared / width) for width in (0.1, 1.0, 10.0)] + [X @ X.T, (3.0 + X @ X.T) ** 2, 1e-6 * X @ X.T]
    kernels = [(K + K.T) / 2 for K in kernels]
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng, kernels, y, 1e2 + rng.normal(size=len(X))


def of_loss(name, y, t, C=10.0, epsilon=0.1, nu=0.4):
    """The loss, its `y`, and in long double its dual objective L(b) and what decision values cost."""
    n, middle = y.size, 0.5 * float(t.min()) + 0.5 * float(t.max())
    if name == "hinge":
        return Hinge(C), y, lambda b: y @ b, lambda f, bias: (C * np.maximum(0, 1 - y * (f + bias))).sum()
    if name == "squared hinge":
        dual = lambda b: y @ b - (b * b).sum() / (4 * LONG(C))  # noqa: E731
        return SquaredHinge(C), y, dual, lambda f, bias: (C * np.maximum(0, 1 - y * (f + bias)) ** 2).sum()
    if name == "epsilon":
        width = LONG(epsilon)
        dual = lambda b: (t.astype(LONG) - middle) @ b - width * np.abs(b).sum()  # noqa: E731
        cost = lambda f, bias: (C * np.maximum(0, np.abs(t - f - bias) - width)).sum()  # noqa: E731
        return EpsilonInsensitive(C, epsilon), t, dual, cost
    cost = lambda f, bias: LONG(nu * n) * bias + np.maximum(0, -(f + bias)).sum()  # noqa: E731
    return OneClass(nu), None, lambda b: LONG(0), cost


def value(regularizer, d):
    """The regularizer in long double."""
    d = d.astype(LONG)
    if isinstance(regularizer, LpRegularizer):
        p = LONG(regularizer.p)
        return LONG(regularizer.weight) / 2 * (d**p).sum() ** (2 / p)
    if isinstance(regularizer, ElasticNet):
        return LONG(regularizer.linear) * d.sum() + LONG(regularizer.quadratic) / 2 * (d * d).sum()
    reference = LONG(float(regularizer.reference))
    logs = np.log(np.maximum(d, LONG(1e-300)) / reference)
    return LONG(regularizer.weight) * (d * (logs - 1) + reference).sum()


def along(t, dual, regularizer, b, S):
    """``L(t b) - rho(t^2 S)``: by Fenchel rho is at least what any weights give, and attained at the best ones."""
    weights = regularizer.smooth_dual(len(S)).weights((t * t * S).astype(float))
    return dual(t * b) - weights.astype(LONG) @ S * t * t / 2 + value(regularizer, weights)


def best_multiple(box, dual, regularizer, b, S):
    """The largest of these in long double, over the t for which t b is feasible."""
    longest = min(box.longest_multiple(b.astype(float)), 10.0)
    found = minimize_scalar(
        lambda t: -float(along(LONG(t), dual, regularizer, b, S)),
        bounds=(0.0, longest),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return max(along(LONG(t), dual, regularizer, b, S) for t in (0.0, 1.0, found.x, longest))


@pytest.mark.parametrize("solver", [NewtonMKL(), SMOMKL(polish_points=0), SMOMKL(polish_points=0, working_points=5)])
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("loss", LOSSES)
def test_cuts_hold_in_exact_arithmetic(loss, regularizer, solver):
    rng, kernels, y, t = problem(5)
    svm, given, dual, cost = of_loss(loss, y, t)
    result = solve_mkl(
        GramBank(kernels, check=False), given, regularizer, loss=svm, rtol=1e-9, solver=solver, keep_cuts=True,
        max_calls=30,
    )  # fmt: skip
    box = svm.dual(given, y.size)
    for cut in result.history.cuts:
        b, d = cut.extras["signed_dual"].astype(LONG), cut.point.astype(LONG)
        S = np.array([b @ (K.astype(LONG) @ b) for K in kernels])
        # its sum is right but for rounding; what is stated holds for a point whose sum is right exactly
        missing = abs(b.sum() - LONG(box.total))
        constant = dual(b) + 10 * missing * (1 + np.abs(b).max())
        own = 1e-17 * len(S) * float(abs(constant) + np.abs(d @ S) + value(regularizer, d) + 1)
        for z in (d, *(d + 1e-3 * rng.uniform(size=d.size) for _ in range(3)), *rng.exponential(size=(3, d.size))):
            stated = LONG(cut.value) + cut.subgradient.astype(LONG) @ (z.astype(LONG) - d)
            assert stated <= constant - z.astype(LONG) @ S / 2 + value(regularizer, z) + own
        reached = along(LONG(1), dual, regularizer, b, S) if box.total else best_multiple(box, dual, regularizer, b, S)
        assert cut.lower_bound <= reached + 10 * missing * (1 + np.abs(b).max()) + own
        f = sum((w * (K.astype(LONG) @ b) for w, K in zip(d, kernels, strict=True)), 0 * b)
        primal = b @ f / 2 + cost(f, LONG(cut.extras["bias"])) + value(regularizer, d)
        assert LONG(cut.value) + LONG(cut.error) >= primal - own


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", LOSSES)
def test_gaps_of_any_dual_variables(loss, seed):
    rng, kernels, y, t = problem(seed)
    K = kernels[1]
    svm, given, dual, cost = of_loss(loss, y, t)
    box = svm.dual(given, y.size)
    pieces = Pieces(box)
    start = pieces.start()
    assert start.sum() == pytest.approx(box.total)
    assert ((start >= box.lower) & (start <= box.upper)).all()
    # a feasible point: pairs moved from the start, within the box
    b = start.copy()
    for i, j in (rng.permutation(y.size)[:2] for _ in range(100)):
        step = rng.uniform() * min(box.upper[i] - b[i], b[j] - box.lower[j], 10.0)
        b[i], b[j] = b[i] + step, b[j] - step
    f = K @ b
    gap, bias = pieces.gap(b, f)
    assert gap == pytest.approx(float(b @ f / 2 + cost(f, bias) - (dual(b) - b @ f / 2)), rel=1e-9)
    least = minimize_scalar(lambda c: float(cost(f, c)), bracket=(bias - 1.0, bias + 1.0), options={"xtol": 1e-12})
    assert float(cost(f, bias)) <= least.fun + 1e-7 * abs(least.fun)
    assert pieces.gap(b, f, 1e-3)[0] >= max(pieces.gap(b, f + 1e-3 * rng.uniform(-1, 1, f.size))[0], gap)
    x = pieces.split(b)
    np.testing.assert_array_equal(pieces.signed_dual(x), b)
    assert pieces.linear @ x - 0.5 * pieces.ridge @ x**2 == pytest.approx(box.value(b))
    # at the solution nothing is violated
    solution = box.solve(box.add_ridge(K.copy()), accuracy=1e-12)
    best = solution.signed_dual
    assert pieces.violation(pieces.split(best), K @ best) <= 1e-6 * max(1.0, float(np.abs(box.linear).max()))
    assert pieces.gap(best, K @ best)[0] <= 1e-6 * max(1.0, abs(solution.primal_objective))
    assert pieces.violation(x, f) > 1e-3
