"""The face model of l1-MKL: below f, exact while the bounded variables stay, its cuts proven in exact arithmetic."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from oracle_opt import LocalModel, ObjectiveCut, Query, minimize
from oracle_opt.generators import NewtonBundle
from oracle_opt.oracles import GramBank, MKLOracle
from oracle_opt.oracles.svm import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    OneClass,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

LOSSES = {
    "hinge": Hinge(1.0),
    "hinge, wide": Hinge(1e4),
    "hinge of unequal weights": Hinge(np.linspace(0.1, 5.0, 24)),
    "squared hinge": SquaredHinge(1.0),
    "regression": EpsilonInsensitive(2.0, 0.1),
    "absolute loss": EpsilonInsensitive(0.5, 0.0),
    "one class": OneClass(0.4),
    "huber": Huber(2.0, 0.3),
    "squared tube": SquaredEpsilonInsensitive(2.0, 0.1),
    "smoothed hinge": SmoothedHinge(2.0),
}
REGRESSIONS = EpsilonInsensitive, Huber, SquaredEpsilonInsensitive
N, P = 24, 9


def kernels(seed: int, scales: np.ndarray | None = None) -> list[np.ndarray]:
    """Gaussian kernels, polynomial ones and two of rank one; two points are the same."""
    X = np.random.default_rng(seed).normal(size=(N, 3))
    X[1] = X[0]
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    found = [np.exp(-D * g) for g in (0.1, 0.5, 2.0, 8.0)]
    found += [(1 + X @ X.T) ** k / 4**k for k in (1, 2, 3)] + [np.outer(x, x) for x in X.T[:2]]
    return found if scales is None else [scale * K for scale, K in zip(scales, found, strict=True)]


def oracle_of(loss, seed: int = 0, scales: np.ndarray | None = None, dtype=np.float64) -> MKLOracle:
    rng = np.random.default_rng(100 + seed)
    values = rng.normal(size=N)
    labels = np.where(values > 0, 1.0, -1.0)
    y = values if isinstance(loss, REGRESSIONS) else None if isinstance(loss, OneClass) else labels
    return MKLOracle(GramBank(kernels(seed, scales), dtype=dtype), y, loss)


def local_of(oracle: MKLOracle, point: np.ndarray):
    cut = oracle.query(Query(point, 1e-12, wishes=frozenset({LocalModel})))
    return cut, cut.answer(LocalModel).function


def value_of(oracle: MKLOracle, point: np.ndarray) -> ObjectiveCut:
    """A certified value: with the machine's gap as its error."""
    return oracle.query(Query(point, 1e-12))


ALL = np.arange(P)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_below_the_function_and_exact_at_the_point(name, seed) -> None:
    """Also what it becomes when others join; and a larger model is never smaller."""
    rng, oracle = np.random.default_rng(seed), oracle_of(LOSSES[name], seed)
    points = rng.dirichlet(np.full(P, 0.4), size=8)
    (cut, local), (_, other) = (local_of(oracle, point) for point in points[:2])
    near = 0.999 * points[0] + 0.001 * points[2]
    small, joined = local.on(ALL), local.joined(other).on(ALL)
    unit = max(1e-9 * abs(cut.value), 1e-12)
    assert small.query(Query(points[0])).value == pytest.approx(cut.value, abs=20 * unit)
    for point in (*points, near):
        f, g, h = value_of(oracle, point), small.query(Query(point)), joined.query(Query(point))
        assert g.value <= f.upper + unit
        assert h.value <= f.upper + unit
        assert g.value <= h.upper + unit
    minimum = local.minimize(ALL, points[0], 1e-8 * abs(cut.value))
    predicted, wider = local.predict(minimum)
    at = value_of(oracle, minimum.point)
    assert predicted >= at.value - unit
    if wider is not None:
        for point in points:
            g = wider.on(ALL).query(Query(point))
            assert small.query(Query(point)).value - unit <= g.upper
            assert g.value <= value_of(oracle, point).upper + unit


@pytest.mark.parametrize("name", LOSSES)
def test_it_is_the_function_while_the_bounded_variables_stay(name) -> None:
    """Nearby, where the same variables are free, both have one value; a test of few free variables would be empty."""
    oracle, dual = oracle_of(LOSSES[name]), oracle_of(LOSSES[name]).dual
    point = np.random.default_rng(5).dirichlet(np.full(P, 2.0))
    cut, local = local_of(oracle, point)
    small, compared = local.on(ALL), 0
    free = dual.free(cut.extras["signed_dual"])
    assert 2 <= free.size <= N
    for k in ALL:
        near = 0.98 * point + 0.02 * np.eye(P)[k]
        f = value_of(oracle, near)
        if np.array_equal(dual.free(f.extras["signed_dual"]), free):
            compared += 1
            g = small.query(Query(near))
            assert g.value == pytest.approx(f.value, rel=1e-8)
            np.testing.assert_allclose(g.subgradient, f.subgradient, rtol=1e-4, atol=1e-5 * np.abs(f.subgradient).max())
    assert compared >= 2


@pytest.mark.campaign(3)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_its_minimum_is_that_of_another_method(name, seed) -> None:
    """The interior point method on all of it against `NewtonBundle` on support vector machines."""
    oracle = oracle_of(LOSSES[name], seed)
    point = np.random.default_rng(seed).dirichlet(np.ones(P))
    cut, local = local_of(oracle, point)
    for coordinates in (ALL, np.array([0, 2, 5, 8])):
        minimum = local.minimize(coordinates, point, 1e-9 * abs(cut.value))
        known = minimize(local.on(coordinates), NewtonBundle(), rtol=1e-9, max_calls=150)
        unit = 1e-7 * abs(known.upper_bound)
        assert known.lower_bound - unit <= minimum.cut.value <= known.upper_bound + unit
        assert minimum.n_steps > 0
        assert minimum.point.sum() == pytest.approx(1.0, abs=1e-12)
        assert not np.delete(minimum.point, coordinates).any()
        reached = local.on(coordinates).query(Query(minimum.point[coordinates]))
        assert reached.value <= known.upper_bound + 10 * unit


SCALES = {"even": np.ones(P), "of twelve decades": np.logspace(-6, 6, P), "falling": np.logspace(4, -8, P)}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_its_cuts_hold_in_exact_arithmetic(name, scales, dtype) -> None:
    """Constant and slopes against long doubles: forms are at most the slopes, the linear part at least the constant."""
    oracle = oracle_of(LOSSES[name], 1, SCALES[scales], dtype)
    stored = [np.asarray(oracle.bank.combine(row), dtype=np.longdouble) for row in np.eye(P)]
    rng, dual = np.random.default_rng(2), oracle.dual
    for point in rng.dirichlet(np.full(P, 0.5), size=4):
        cut, local = local_of(oracle, point)
        minimum = local.minimize(ALL, point, 1e-6 * abs(cut.value) + 1e-300)
        if minimum is None:  # a refusal proves nothing and breaks nothing
            continue
        b = minimum.b.astype(np.longdouble)
        assert ((dual.lower <= minimum.b) & (minimum.b <= dual.upper)).all()
        assert abs(b.sum() - dual.total) <= 1e-14 * np.abs(b).sum()
        forms = np.array([b @ K @ b for K in stored])
        linear = dual.linear.astype(np.longdouble) @ b - (
            0 if dual.kink is None else dual.kink.astype(np.longdouble) @ np.abs(b)
        )
        if dual.ridge is not None:
            linear -= 0.5 * (dual.ridge.astype(np.longdouble) @ (b * b))
        assert (-2 * minimum.cut.subgradient >= forms).all()
        exact = minimum.cut.value - minimum.cut.subgradient.astype(np.longdouble) @ minimum.cut.point
        assert exact <= linear
        assert minimum.cut.lower_bound <= linear - forms.max() / 2
        # and they are not much lower than that
        rounding = 1e-9 if dtype is np.float64 else 1e-4
        assert exact >= linear - rounding * (np.abs(b).sum() * max(1.0, np.abs(dual.linear).max()))
        for other in (*rng.dirichlet(np.full(P, 0.3), size=3), *np.eye(P)[:2]):
            f = value_of(oracle, other)
            below = minimum.cut.value + minimum.cut.subgradient @ (other - minimum.cut.point)
            assert below <= f.upper + 1e-13 * (abs(f.upper) + np.abs(minimum.cut.subgradient) @ other)


def test_what_a_minimum_promises_is_kept() -> None:
    """A larger face predicts better, and in the end the prediction is the value."""
    oracle = oracle_of(Hinge(1.0), 3)
    cut, local = local_of(oracle, np.full(P, 1 / P))
    last, rounds = np.inf, 0
    while local is not None and rounds < 10:
        minimum = local.minimize(ALL, cut.point, 1e-9 * cut.value)
        predicted, wider = local.predict(minimum)
        excess = predicted - minimum.cut.value
        local, rounds = wider, rounds + 1
        last = min(last, excess)
    f = value_of(oracle, minimum.point)
    assert predicted == pytest.approx(f.value, rel=1e-7)
    assert last <= 1e-7 * f.value


def test_a_face_that_would_take_too_much_memory_is_left_alone(monkeypatch) -> None:
    cut, local = local_of(oracle_of(Hinge(1.0)), np.full(P, 1 / P))
    monkeypatch.setattr("oracle_opt.oracles.mkl.face_model.MOST_BYTES", 100)
    assert local.minimize(ALL, cut.point, 1e-6) is None


def test_of_many_points_the_prediction_does_without_the_combined_kernel(monkeypatch) -> None:
    cut, local = local_of(oracle_of(Hinge(1.0)), np.full(P, 1 / P))
    minimum = local.minimize(ALL, cut.point, 1e-9 * cut.value)
    known = local.predict(minimum)[0]
    monkeypatch.setattr("oracle_opt.oracles.mkl.face_model.FEW_POINTS", 5)
    monkeypatch.setattr(GramBank, "combine", None)
    assert local.predict(minimum)[0] == pytest.approx(known, rel=1e-12)


def test_it_is_neither_pickled_nor_copied() -> None:
    cut, local = local_of(oracle_of(Hinge(1.0)), np.full(P, 1 / P))
    answer = cut.answer(LocalModel)
    assert repr(answer) == f"LocalModel({local!r})"
    assert answer.owned() is answer
    assert len(pickle.dumps(answer)) < 200
    assert pickle.loads(pickle.dumps(answer)).function is None
    assert repr(LocalModel()) == "LocalModel(without its function)"
