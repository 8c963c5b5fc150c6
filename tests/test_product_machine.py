"""Products of kernels on points without a matrix of all: the dense oracle's answers, and proofs of their errors."""

import pickle
import tracemalloc
from time import perf_counter

import numpy as np
import pytest

from oracle_opt import InvalidArgument, OutOfTime, Query, Status, minimize
from oracle_opt._deadline import Deadline
from oracle_opt.generators import SPG
from oracle_opt.oracles import ElasticNet, GMKLOracle, LpRegularizer, ProductBank
from oracle_opt.oracles.kernels import distances as of_products
from oracle_opt.oracles.mkl import matrix_free_machine, set_ascent
from oracle_opt.oracles.mkl.dense_machine import DenseMachine
from oracle_opt.oracles.mkl.product_machine import ProductMachine
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge

N, P = 320, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, P)) * [1.0, 10.0, 0.1, 3.0]
Z = (X - X.mean(axis=0)) / X.std(axis=0)
LABELS = np.where(X[:, 0] * X[:, 1] + 3.0 * RNG.normal(size=N) > 0, 1, -1)
TARGETS = Z[:, 0] * Z[:, 1] + 0.3 * RNG.normal(size=N)
BANK = ProductBank.from_points(X)
BUDGET = 8 * N * N - 1
MOST = 250  # where the free variables of a machine fit in
LOSSES = {
    "hinge": (Hinge(5.0), LABELS),
    "hinge of points": (Hinge(RNG.uniform(0.5, 10.0, N)), LABELS),
    "squared hinge": (SquaredHinge(1.0), LABELS),
    "regression": (EpsilonInsensitive(2.0, 0.1), TARGETS),
    "one class": (OneClass(0.3), None),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch) -> None:
    """Many sets and blocks on few points, and a start from a part of them."""
    monkeypatch.setattr(set_ascent, "SET_POINTS", 60)
    monkeypatch.setattr(matrix_free_machine, "LEAST_SAMPLE", 60)
    monkeypatch.setattr(of_products, "ENTRIES_AT_ONCE", 2000)


def walk(count=4, seed=1):
    """Weights, some of them 0, from wide kernels to narrow ones, and the first ones again."""
    rng = np.random.default_rng(seed)
    for size in np.geomspace(0.05, 3.0, count):
        d = size * rng.uniform(0.2, 1.0, P)
        d[rng.integers(P)] = 0.0
        yield d


def oracles(loss="hinge", accuracy=1e-11, regularizer=None, bank=BANK):
    charged, y = LOSSES[loss]
    r = LpRegularizer(1.33) if regularizer is None else regularizer
    dense, free = (
        GMKLOracle(bank, y, r, loss=charged, accuracy=accuracy, memory_budget=budget) for budget in (2 << 30, BUDGET)
    )
    assert isinstance(dense._machine, DenseMachine)
    assert isinstance(free._machine, ProductMachine)
    free._machine.most_points = MOST
    return dense, free


@pytest.mark.campaign(3)
@pytest.mark.parametrize("r", [LpRegularizer(1.33), LpRegularizer(1, power=1), ElasticNet()], ids=repr)
@pytest.mark.parametrize("loss", LOSSES)
def test_answers_are_those_of_the_dense_oracle(loss, r) -> None:
    if loss == "one class" and r.homogeneous:
        return
    dense, free = oracles(loss, regularizer=r)
    for d in (*walk(), *walk(1), np.zeros(P)):
        one, other = dense.query(Query(d)), free.query(Query(d))
        assert other.extras["n_sets"] >= 0
        assert other.value == pytest.approx(one.value, rel=1e-9)
        assert other.upper == pytest.approx(one.upper, rel=1e-9)
        assert (other.lower_bound, free.convex) == (-np.inf, False)
        if d.any():  # all points are one at 0: the dual variables are not unique
            scale = np.abs(one.subgradient).max()
            np.testing.assert_allclose(other.subgradient, one.subgradient, rtol=0, atol=1e-5 * scale)


def exact(d):
    """The kernel in long double."""
    z, d = Z.astype(np.longdouble), d.astype(np.longdouble)
    return np.exp(-sum(d[k] * (z[:, None, k] - z[None, :, k]) ** 2 for k in range(P)))


def test_entries_are_as_exact_as_is_said() -> None:
    rng = np.random.default_rng(5)
    for size in (1e-300, 1e-3, 1.0, 30.0, 1e4, 1e12, 1e300):
        d = size * rng.uniform(0.0, 1.0, P)
        kernel = BANK.kernel(d)
        assert kernel.n_kernels == 1
        entries = kernel.entries(np.arange(N), np.arange(N))[:, :, 0]
        wrong = float(np.abs(entries - exact(d)).max())
        assert wrong <= kernel.exactness
        assert kernel.exactness < 1e-13 * max(size**0.5, 1.0)
        np.testing.assert_array_equal(kernel.diagonal(), 1.0)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("accuracy", [1e-1, 1e-3, 0.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_values_and_errors_hold_in_exact_arithmetic(loss, accuracy) -> None:
    """A feasible dual point is below the optimum, and the hyperplane of any is above."""
    best, oracle = oracles(loss, accuracy=1e-13)
    for d in walk():
        cut, optimum = oracle.query(Query(d, accuracy)), best.query(Query(d))
        assert cut.value <= optimum.upper
        assert optimum.value <= cut.upper
        assert cut.error <= max(accuracy, 1e-9) * abs(cut.upper) * 1.01
        b, dual = cut.extras["signed_dual"].astype(np.longdouble), oracle.dual
        value = dual.linear @ b - (0 if dual.kink is None else dual.kink @ np.abs(b)) - b @ exact(d) @ b / 2
        value -= 0 if dual.ridge is None else dual.ridge @ (b * b) / 2
        assert cut.value <= value + oracle.regularizer.value(d)


def test_slopes_are_those_of_the_value() -> None:
    _, oracle = oracles(accuracy=1e-13)
    for d in (np.full(P, 0.3), np.array([0.1, 1.0, 0.01, 0.4])):
        cut = oracle.query(Query(d))
        for k, h in enumerate(1e-4 * d):
            step = h * np.eye(P)[k]
            difference = (oracle.query(Query(d + step)).value - oracle.query(Query(d - step)).value) / (2 * h)
            assert cut.subgradient[k] == pytest.approx(difference, rel=1e-4, abs=1e-4 * np.abs(cut.subgradient).max())


@pytest.mark.parametrize("entries", [1, 700, 1 << 30])
def test_forms_are_added_up_block_by_block(entries, monkeypatch) -> None:
    monkeypatch.setattr(of_products, "ENTRIES_AT_ONCE", entries)
    rng, d = np.random.default_rng(2), np.array([0.3, 0.0, 2.0, 0.01])
    v = rng.normal(size=N) * (rng.uniform(size=N) < 0.4)
    distances = (Z.T[:, :, None] - Z.T[:, None, :]) ** 2
    expected = np.einsum("i,kij,ij,j->k", v, distances, exact(d).astype(float), v)
    np.testing.assert_allclose(BANK.distance_forms(v, BANK.kernel(d)), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(BANK.distance_forms(v, BANK.combine(d)), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(BANK.distance_forms(np.zeros(N), BANK.kernel(d)), 0.0)


def test_runs_end_where_those_of_the_dense_oracle_do() -> None:
    start = np.full(P, 1 / P)
    one, other = (minimize(oracle, SPG(), start, gtol=1e-2) for oracle in oracles(accuracy=1e-10))
    assert one.status is other.status is Status.GRADIENT
    np.testing.assert_allclose(other.point, one.point, rtol=1e-3, atol=1e-3)
    assert other.upper_bound == pytest.approx(one.upper_bound, rel=1e-6)
    tuned = minimize(oracles()[1], SPG(tune_accuracy=True), start, gtol=1e-2)
    assert tuned.status is Status.GRADIENT
    assert tuned.upper_bound == pytest.approx(one.upper_bound, rel=1e-4)


def test_rough_answers_take_fewer_sets_and_go_on_where_they_are_asked_again() -> None:
    _, oracle = oracles()
    d = np.full(P, 0.3)
    rough = oracle.query(Query(d, 1e-1))
    fine = oracle.query(Query(d, 1e-6))
    assert 1e-6 * fine.upper < rough.error <= 1e-1 * rough.upper
    assert fine.error <= 1e-6 * fine.upper
    assert oracle.query(Query(d, 1e-6)).extras["n_sets"] == 0  # nothing is left to do
    near = oracle.query(Query(1.001 * d, 1e-3)).extras["n_sets"]
    oracle.reset()
    assert near < oracle.query(Query(1.001 * d, 1e-3)).extras["n_sets"]


def test_a_reset_brings_the_same_bits() -> None:
    _, oracle = oracles()
    first, second = list(walk(2))
    cut, expected = oracle.query(Query(first)), oracle.query(Query(second))
    oracle.reset()
    again = oracle.query(Query(first))
    np.testing.assert_array_equal(again.extras["signed_dual"], cut.extras["signed_dual"])
    np.testing.assert_array_equal(again.subgradient, cut.subgradient)
    for other in (oracles()[1], pickle.loads(pickle.dumps(oracle))):
        other.resume(cut)
        resumed = other.query(Query(second))
        np.testing.assert_array_equal(resumed.subgradient, expected.subgradient)


def test_runs_are_resumed_from_a_journal(tmp_path) -> None:
    start = np.full(P, 1 / P)
    whole = minimize(oracles()[1], SPG(), start, gtol=1e-2)
    assert whole.n_calls > 4
    minimize(oracles()[1], SPG(), start, gtol=1e-2, max_calls=4, journal=tmp_path / "run")
    resumed = minimize(oracles()[1], SPG(), start, gtol=1e-2, journal=tmp_path / "run")
    np.testing.assert_array_equal(resumed.point, whole.point)
    assert resumed.n_calls == whole.n_calls


def test_new_points_are_predicted_as_by_the_dense_oracle() -> None:
    dense, free = oracles()
    d, new = np.full(P, 0.3), X[:50] + 0.1
    one, other = dense.query(Query(d)), free.query(Query(d))
    np.testing.assert_allclose(free.decision_function(other, new), dense.decision_function(one, new), rtol=0, atol=1e-4)
    assert (free.predict(other, new) == dense.predict(one, new)).all()


def test_a_budget_that_is_too_small_names_the_least_one() -> None:
    with pytest.raises(InvalidArgument, match=r"`memory_budget` must be at least \d+ bytes, for the products") as told:
        GMKLOracle(BANK, LABELS, memory_budget=1000)
    least = int(str(told.value).split("at least ")[1].split()[0])
    oracle = GMKLOracle(BANK, LABELS, C=10.0, memory_budget=least)
    assert isinstance(oracle._machine, ProductMachine)
    cut = oracle.query(Query(np.full(P, 0.3), 1e-3))
    assert cut.error <= 1e-3 * cut.upper
    with pytest.raises(InvalidArgument, match=str(least)):
        GMKLOracle(BANK, LABELS, memory_budget=least - 1)
    small = ProductBank.from_points(X[:30])
    with pytest.raises(InvalidArgument, match=f"at least {8 * 30 * 30} bytes, for the combined kernel"):
        GMKLOracle(small, LABELS[:30], memory_budget=8 * 30 * 30 - 1)


def test_given_distances_are_combined_whatever_the_budget() -> None:
    distances = (Z.T[:, :, None] - Z.T[:, None, :]) ** 2
    given = ProductBank(distances, check=False)
    assert isinstance(GMKLOracle(given, LABELS, memory_budget=1000)._machine, DenseMachine)
    assert (given.on_the_fly, BANK.on_the_fly) == (False, True)
    with pytest.raises(InvalidArgument, match="`kernel` must be asked of a bank made by `from_points`"):
        given.kernel(np.ones(P))
    with pytest.raises(InvalidArgument, match="made by `from_points`, got given distances"):
        given.distance_forms(np.ones(N), BANK.kernel(np.ones(P)))


def test_the_way_to_solve_is_part_of_the_identity() -> None:
    dense, free = oracles()
    smaller = GMKLOracle(BANK, LABELS, LpRegularizer(1.33), C=10.0, accuracy=1e-11, memory_budget=BUDGET - 9000)
    assert len({dense.identity(), free.identity(), smaller.identity()}) == 3


class Interrupted(ProductBank):
    """Raises in the n-th use of a kernel."""

    left = -1

    def kernel(self, weights):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().kernel(weights)

    def distance_forms(self, v, K):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().distance_forms(v, K)


@pytest.mark.parametrize("n", [1, 2])
def test_an_interrupted_query_leaves_an_oracle_that_answers(n) -> None:
    bank = Interrupted.from_points(X)
    dense, oracle = oracles(bank=bank)
    first, second = list(walk(2))
    oracle.query(Query(first))
    bank.left = n
    with pytest.raises(KeyboardInterrupt):
        oracle.query(Query(second))
    bank.left = -1
    for d in (second, first):
        assert oracle.query(Query(d)).upper == pytest.approx(dense.query(Query(d)).upper, rel=1e-9)


def test_max_seconds_ends_a_long_query(monkeypatch) -> None:
    _, oracle = oracles()
    with Deadline(perf_counter() - 1.0), pytest.raises(OutOfTime):
        oracle.query(Query(np.full(P, 0.3)))
    oracle.query(Query(np.full(P, 0.3)))
    b = oracle._machine.signed
    with Deadline(perf_counter() - 1.0), pytest.raises(OutOfTime):
        BANK.distance_forms(b, BANK.kernel(np.ones(P)))


def peak_of(n, p=10):
    """Bytes that two queries take at most, and those of the matrix."""
    rng = np.random.default_rng(n)
    points = rng.normal(size=(n, p))
    y = np.where(points[:, 0] * points[:, 1] > 0, 1, -1)
    bank = ProductBank.from_points(points)
    tracemalloc.start()
    try:
        oracle = GMKLOracle(bank, y, C=1.0, memory_budget=1 << 21)
        for d in (np.full(p, 0.1), np.full(p, 0.2)):
            oracle.query(Query(d, 1e-1))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_points_and_not_with_their_square(monkeypatch) -> None:
    monkeypatch.setattr(of_products, "ENTRIES_AT_ONCE", 1 << 14)
    small, large = peak_of(1_000), peak_of(2_000)
    assert large < 2.2 * small
    assert large < 2_000 * 8 * 300  # of 2,000 numbers a point in the matrix
