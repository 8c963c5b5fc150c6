"""Answers on some kernels: exact there, and never too low a form elsewhere."""

from fractions import Fraction

import numpy as np
import pytest

from oracle_opt import Curvature, ExactSlopes, PartialQuery, Query
from oracle_opt.oracles import GramBank, MKLOracle, RBFBank
from oracle_opt.oracles.mkl.formula import Proven, least
from oracle_opt.oracles.mkl.mkl_oracle import FewKernels, stored
from oracle_opt.oracles.mkl.weights import Groups
from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass, SquaredHinge
from oracle_opt.proof.floats import Floats
from oracle_opt.testing import check_oracle

N = 30


def bound_of(linear, largest, scalable):
    proof = Proven(Floats.of(linear), Floats.of(0.0), np.array([largest]), lambda: 1.0, scalable)
    return least(proof, Groups(1))


def gram(rng, p=40, scale=True):
    """Kernels of all ranks, signs and scales."""
    factors = rng.normal(size=(p, N, N)) * (rng.random((p, 1, N)) < rng.random((p, 1, 1)))
    kernels = factors @ factors.transpose(0, 2, 1) + 1e-9 * np.eye(N)
    return GramBank(kernels * 10.0 ** rng.uniform(-6, 6, size=(p, 1, 1)) if scale else kernels)


def rbf(rng):
    return RBFBank(rng.normal(size=(N, 3)), [[0, 1, 2], [1]], [np.geomspace(0.01, 100, 60), np.geomspace(0.1, 9, 40)])


def true_forms(bank, b):
    """In extended precision."""
    kernels = bank.entries(np.arange(N), np.arange(N)).astype(np.longdouble)
    return np.einsum("i,ijk,j->k", b.astype(np.longdouble), kernels, b.astype(np.longdouble))


@pytest.mark.parametrize("make", [gram, rbf])
def test_forms_of_others_are_at_most_their_bounds(make):
    rng = np.random.default_rng(0)
    bank = make(rng)
    few = FewKernels(bank, 1 << 30)
    for trial in range(60):
        b = rng.normal(size=N) * 10.0 ** rng.uniform(-3, 3, size=N if trial % 2 else 1)
        b -= b.mean() * (trial % 3 > 0)  # some of them add up to 0
        if trial % 5 == 0:
            few.reset()
        if trial % 5 == 1:
            few.last = b, bank.quadratic_forms(b) * (1 + 1e-12)
        near = b + rng.normal(size=N) * 10.0 ** rng.uniform(-12, 1) * (rng.random(N) < 0.3)
        F = few.bounds(near, 0.0)
        assert (true_forms(bank, near) <= F).all()
        # a point nearby whose sum differs by one imbalance, as `proven` allows
        moved, e = near.copy(), 10.0 ** rng.uniform(-9, 0)
        moved[rng.integers(N)] += e
        assert (few.bounds(near, e) >= true_forms(bank, moved)).all()


def test_the_bound_is_attained():
    """Two points of one kernel that count against each other, at a distance from forms that are 0."""
    bank = RBFBank(np.array([[0.0], [1e3]]), [[0]], [[1.0]], scale=2.0)
    few, b = FewKernels(bank, 1 << 30), np.array([1.0, -1.0])
    assert few.bounds(b, 0.0)[0] == pytest.approx(bank.quadratic_forms(b)[0], rel=1e-12)
    signs = GramBank([[[2.0, -2.0], [-2.0, 2.0]]])
    assert FewKernels(signs, 1 << 30).bounds(b, 0.0)[0] == pytest.approx(signs.quadratic_forms(b)[0], rel=1e-12)


def test_stored_kernels_are_the_same_and_say_how_exact_they_are(monkeypatch):
    bank = rbf(np.random.default_rng(1))
    monkeypatch.setattr("oracle_opt.oracles.kernels.bank.ENTRIES_AT_ONCE", 7 * N * bank.n_kernels)
    kept = stored(bank, 1e9)
    assert isinstance(kept, GramBank)
    assert kept.exactness == bank.exactness > 0
    assert kept.noise(3) > GramBank([np.eye(2)]).noise(3)
    every = np.arange(N)
    np.testing.assert_array_equal(kept.entries(every, every), bank.entries(every, every))
    assert stored(bank, 10.0) is bank
    assert stored(kept, 1e9) is kept


LOSSES = {
    "hinge": None,
    "squared hinge": SquaredHinge(10.0),
    "regression": EpsilonInsensitive(10.0, 0.1),
    "one class": OneClass(0.4),
}


def oracle_of(loss, bank, rng):
    y = None if loss == "one class" else np.where(rng.random(N) < 0.5, 1, -1)
    return MKLOracle(bank, y, LOSSES[loss])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("make", [lambda rng: gram(rng, scale=False), rbf], ids=["gram", "rbf"])
def test_slopes_are_exact_where_asked_for_and_not_too_high_elsewhere(loss, make):
    rng = np.random.default_rng(2)
    bank = make(rng)
    oracle, fresh = oracle_of(loss, bank, rng), oracle_of(loss, bank, np.random.default_rng(2))
    fresh = MKLOracle(bank, oracle.y, LOSSES[loss])
    p = bank.n_kernels
    check_oracle(oracle, [np.full(p, 1 / p), *np.random.default_rng(3).dirichlet(np.full(p, 0.1), size=3)])
    oracle.reset()
    for k in range(8):
        some = np.sort(rng.permutation(p)[:10])
        point = np.zeros(p)
        point[some] = rng.dirichlet(np.ones(10))
        wishes = frozenset({Curvature})
        cut = oracle.query(PartialQuery(point, 1e-12, wishes, coordinates=some))
        every = fresh.query(Query(point, 1e-12, wishes))
        size = np.abs(every.subgradient).max()
        assert np.array_equal(cut.answer(ExactSlopes).coordinates, some)
        np.testing.assert_allclose(cut.subgradient[some], every.subgradient[some], atol=1e-4 * size)
        assert (cut.subgradient <= every.subgradient + 1e-4 * size).all()
        assert cut.value == pytest.approx(every.value, rel=1e-7, abs=1e-12)
        # the form of every kernel at these very dual variables
        assert (-2.0 * cut.subgradient >= true_forms(bank, cut.extras["signed_dual"])).all()
        assert cut.lower_bound <= every.upper
        if cut.answer(Curvature) is not None and every.answer(Curvature) is not None:
            R, full = cut.answer(Curvature).factor, every.answer(Curvature).factor[:, some]
            if R.shape == full.shape:
                np.testing.assert_allclose(R.T @ R, full.T @ full, rtol=1e-3, atol=1e-4 * np.abs(full.T @ full).max())
        if k % 3 == 2:  # all kernels at a point of few: by the machine on these
            looked = oracle.query(Query(point, 1e-12))
            assert looked.answer(ExactSlopes) is None
            np.testing.assert_allclose(looked.subgradient, every.subgradient, atol=1e-4 * size)
            assert looked.lower_bound >= cut.lower_bound - 1e-7 * abs(every.value)


def test_all_kernels_asked_for_are_a_query_like_others():
    bank = rbf(np.random.default_rng(4))
    y, p = np.where(np.arange(N) % 2, 1, -1), bank.n_kernels
    point = np.full(p, 1 / p)
    one = MKLOracle(bank, y).query(Query(point))
    two = MKLOracle(bank, y).query(PartialQuery(point, coordinates=np.arange(p)))
    assert two.answer(ExactSlopes) is None
    np.testing.assert_array_equal(one.subgradient, two.subgradient)


def test_the_best_multiple_is_the_best_and_is_rounded_down():
    rng = np.random.default_rng(5)
    for _ in range(300):
        constant, largest = 10.0 ** rng.uniform(-8, 8, size=2)
        exact, top = Fraction(float(constant)), Fraction(float(largest))
        m = min(Fraction(1), exact / top)
        best = m * exact - m * m * top / 2
        found = bound_of(float(constant), float(largest), True)
        assert Fraction(found) <= best
        assert found >= float(best) - 1e-14 * (constant + largest * float(m) ** 2)
        assert Fraction(bound_of(float(constant), float(largest), False)) <= exact - top / 2
    assert bound_of(-1.0, 2.0, True) == 0.0
    assert bound_of(-1.0, 2.0, False) <= -2.0
