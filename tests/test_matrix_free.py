"""Oracles that keep the products of the kernels in place of a combined kernel: the dense ones' answers, and proofs."""

import pickle
from math import inf
from time import perf_counter

import numpy as np
import pytest

from oracle_opt import Curvature, InvalidArgument, OutOfTime, Query, Simplex, Status, minimize
from oracle_opt._deadline import Deadline
from oracle_opt.generators import LevelSet, NewtonBundle
from oracle_opt.oracles import RBFBank, uci_bank
from oracle_opt.oracles.mkl import (
    SMOMKL,
    GMKLOracle,
    LpRegularizer,
    MixedNormOracle,
    MKLOracle,
    NewtonMKL,
    matrix_free_machine,
    set_ascent,
    weighted_kernel,
)
from oracle_opt.oracles.mkl.matrix_free_machine import MatrixFreeMachine
from oracle_opt.oracles.svm import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    LeastSquares,
    Loss,
    OneClass,
    Separable,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

N = 360
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
LABELS = np.where(X[:, 0] * X[:, 1] + 0.5 * RNG.normal(size=N) > 0, 1, -1)
TARGETS = 5.0 + X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=N)
BUDGET = 8 * N * N - 1


class Quantile(Loss):
    """A loss of the user's own: 0.7 for a unit too little and 0.3 for one too much."""

    def dual(self, y, n_points) -> Separable:
        return Separable(np.array(y, dtype=float), np.full(n_points, -30.0), np.full(n_points, 70.0))

    def predict(self, values):
        return values


LOSSES = {
    "hinge": (Hinge(100.0), LABELS),
    "hinge of points": (Hinge(RNG.uniform(1.0, 200.0, N)), LABELS),
    "squared hinge": (SquaredHinge(100.0), LABELS),
    "regression": (EpsilonInsensitive(100.0, 0.1), TARGETS),
    "one class": (OneClass(0.3), None),
    "quantile": (Quantile(), TARGETS),
    "huber": (Huber(100.0, 0.02), TARGETS),
    "smoothed hinge": (SmoothedHinge(30.0), LABELS),
    "least squares": (LeastSquares(100.0), TARGETS),
    "squared tube": (SquaredEpsilonInsensitive(100.0, 0.1), TARGETS),
}
BANKS = {"stored": uci_bank(X[:, :2]), "on the fly": RBFBank.from_quantiles(X, 12, [[0, 1, 2], [0, 1], [2]])}


@pytest.fixture(autouse=True)
def small_sets(monkeypatch) -> None:
    """Many sets on few points, and a start from a part of them."""
    monkeypatch.setattr(set_ascent, "SET_POINTS", 60)
    monkeypatch.setattr(matrix_free_machine, "LEAST_SAMPLE", 60)
    monkeypatch.setattr(weighted_kernel, "ENTRIES_AT_ONCE", 1000)


def walk(p, count=3, step=0.3, seed=1):
    """Weights, each near the ones before; some are 0."""
    rng, w = np.random.default_rng(seed), np.full(p, 1.0 / p)
    for _ in range(count):
        yield w
        w = (1 - step) * w + step * rng.dirichlet(np.full(p, 0.1))
        w[w < 0.3 / p] = 0.0
        w /= w.sum()


@pytest.mark.parametrize("bank", BANKS)
@pytest.mark.parametrize("name", LOSSES)
def test_answers_are_those_of_the_dense_oracle(name, bank) -> None:
    loss, y = LOSSES[name]
    kernels = BANKS[bank]
    dense = MKLOracle(kernels, y, loss, accuracy=1e-11)
    free = MKLOracle(kernels, y, loss, accuracy=1e-11, memory_budget=BUDGET)
    free._machine.most_points = N  # for curvature
    for w in walk(kernels.n_kernels):
        query = Query(w, wishes=frozenset({Curvature}))
        one, other = dense.query(query), free.query(query)
        assert other.extras["n_sets"] >= 1
        assert other.upper == pytest.approx(one.upper, rel=1e-9)
        assert other.value == pytest.approx(one.value, rel=1e-9)
        assert other.lower_bound == pytest.approx(one.lower_bound, rel=1e-6)
        scale = np.abs(one.subgradient).max()
        # the forms go with the root of the gap
        np.testing.assert_allclose(other.subgradient, one.subgradient, rtol=0, atol=1e-5 * scale)
        first, second = one.answer(Curvature), other.answer(Curvature)
        assert (first is None) == (second is None)
        if first is not None:
            H = first.factor.T @ first.factor
            np.testing.assert_allclose(second.factor.T @ second.factor, H, rtol=0, atol=1e-6 * np.abs(H).max())
        # the same from the cut's own numbers, the kernels being read anew
        b = other.extras["signed_dual"]
        S = kernels.quadratic_forms(b)
        np.testing.assert_allclose(other.extras["quadratic_forms"], S, rtol=0, atol=1e-12 * S.max())


EXACT = BANKS["on the fly"].entries(np.arange(N), np.arange(N)).astype(np.longdouble)


def exact_minorant(oracle, cut):
    """``L(b)`` and the quadratic forms of b, in long double."""
    b, dual = cut.extras["signed_dual"].astype(np.longdouble), oracle.dual
    used = np.flatnonzero(b)
    forms = np.einsum("i,ijk,j->k", b[used], EXACT[np.ix_(used, used)], b[used])
    value = dual.linear @ b - (0 if dual.kink is None else dual.kink @ np.abs(b))
    return value - (0 if dual.ridge is None else dual.ridge @ (b * b) / 2), forms


@pytest.mark.campaign(3)
@pytest.mark.parametrize("accuracy", [1e-1, 1e-4, 0.0])
@pytest.mark.parametrize("name", LOSSES)
def test_cuts_are_proven_in_exact_arithmetic(name, accuracy) -> None:
    loss, y = LOSSES[name]
    oracle = MKLOracle(BANKS["on the fly"], y, loss, memory_budget=BUDGET)
    best = MKLOracle(BANKS["on the fly"], y, loss, accuracy=1e-13)
    rng = np.random.default_rng(3)
    for w in walk(oracle.bank.n_kernels):
        cut, optimum = oracle.query(Query(w, accuracy)), best.query(Query(w))
        assert cut.value <= optimum.upper
        assert cut.upper >= optimum.value
        assert cut.lower_bound <= optimum.upper
        assert cut.error <= max(accuracy, 1e-9) * abs(cut.upper) * 1.01
        value, forms = exact_minorant(oracle, cut)
        # of those multiples of the dual point that are feasible the best one
        ridge, b = oracle.dual.ridge, cut.extras["signed_dual"].astype(np.longdouble)
        bent = forms.max() / 2 + (0 if ridge is None else ridge @ (b * b) / 2)
        linear = value + (bent - forms.max() / 2)
        longest = oracle.dual.longest_multiple(b.astype(float))
        m = max(min(linear / (2 * bent), longest), 0) if oracle.dual.total == 0 else 1
        assert cut.lower_bound <= m * linear - m**2 * bent
        for z in (w, *rng.dirichlet(np.ones(w.size), 3)):
            assert cut.constant + cut.subgradient @ z <= value - z @ forms / 2
        oracle.reset()


class Coarse(RBFBank):
    """Kernels on the fly that are right to single precision only."""

    def _coarse(self, numbers):
        return numbers.astype(np.float32).astype(float)

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.points = arguments[0]
        self.exactness = max(self.exactness, 2.0**-24) + 1e-14

    def entries(self, rows, columns):
        return self._coarse(super().entries(rows, columns))

    def row_products(self, rows, v):
        return np.einsum("ijk,j->ik", self.entries(rows, np.arange(self.n_points)), v)

    def subset(self, kernels):
        widths = np.concatenate(self.widths)[kernels]
        return Coarse(self.points, [np.arange(3)], [widths])


def test_rounded_kernels_end_at_their_floor_and_say_so() -> None:
    bank = Coarse(X, [np.arange(3)], [np.geomspace(0.3, 3.0, 6)])
    exact = MKLOracle(RBFBank(X, [np.arange(3)], [np.geomspace(0.3, 3.0, 6)]), LABELS, accuracy=1e-13)
    oracle = MKLOracle(bank, LABELS, memory_budget=BUDGET)
    for w in walk(6):
        cut, truth = oracle.query(Query(w)), exact.query(Query(w))
        assert cut.value <= truth.upper
        assert truth.value <= cut.upper
        assert 1e-8 * cut.upper < cut.error < 1e-4 * cut.upper
    result = minimize(oracle, NewtonBundle(), rtol=1e-4)
    truth = minimize(exact, NewtonBundle(), rtol=1e-10)
    assert result.success
    assert result.lower_bound <= truth.upper_bound
    assert result.upper_bound >= truth.lower_bound


@pytest.mark.parametrize("most", [70, N])
@pytest.mark.parametrize("C", [N, 100 * N])
def test_many_free_variables_do_not_zigzag(C, most) -> None:
    """Sets grow with the free variables; where they cannot, steps along the last moves take the place of it."""
    bank = BANKS["on the fly"]
    oracle, dense = MKLOracle(bank, LABELS, float(C), memory_budget=BUDGET), MKLOracle(bank, LABELS, float(C))
    oracle._machine.most_points = most
    n_free = 0
    for w in walk(bank.n_kernels):
        cut, other = oracle.query(Query(w)), dense.query(Query(w))
        assert cut.upper == pytest.approx(other.upper, rel=1e-7)
        assert cut.error <= 1e-7 * cut.upper
        assert cut.extras["n_sets"] <= (100 if most < N else 30)
        n_free = max(n_free, oracle.dual.free(cut.extras["signed_dual"]).size)
    assert n_free > (15 if C == N else 40)


@pytest.mark.parametrize("C", [4_000.0, 400_000.0])
def test_four_thousand_points_do_not_zigzag(C, monkeypatch) -> None:
    """C from n to 100 n: a thousand free variables, and no more than a few sets."""
    monkeypatch.undo()  # sets of the size that users get
    rng, n = np.random.default_rng(0), 4_000
    X = rng.normal(size=(n, 12))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    bank = RBFBank(X, [rng.permutation(12)[:6] for _ in range(6)], [[2.0]] * 6)
    oracle = MKLOracle(bank, y, C=C, memory_budget=100 << 20)
    for w in (np.full(6, 1 / 6), np.array([0.3, 0.3, 0.2, 0.2, 0.0, 0.0])):
        cut = oracle.query(Query(w, 1e-6))
        assert cut.error <= 1e-6 * cut.upper
        assert 0 < cut.extras["n_sets"] <= 12
    assert oracle.dual.free(cut.extras["signed_dual"]).size > (100 if n == C else 500)


@pytest.mark.campaign(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width", [0.0, 0.1, 0.5])
def test_a_step_along_the_last_moves_never_lowers_the_objective(seed, width, monkeypatch) -> None:
    """A variable at its kink that moves pays for it: not counted, this undid what sets had gained, without end."""
    rng = np.random.default_rng(seed)
    kernels, weights = RBFBank(rng.normal(size=(200, 3)), [np.arange(3)], [[1.0, 3.0]]), np.array([0.5, 0.5])
    targets, gains = rng.normal(size=200), []
    step = set_ascent.SetAscent._along_moves

    def watched(ascent) -> None:
        before = ascent.dual.value(ascent.b) - 0.5 * ascent.b @ ascent.decision
        step(ascent)
        gains.append(ascent.dual.value(ascent.b) - 0.5 * ascent.b @ ascent.decision - before)

    monkeypatch.setattr(set_ascent.SetAscent, "_along_moves", watched)
    loss = EpsilonInsensitive(1e4, width)
    oracle = MKLOracle(kernels, targets, loss, memory_budget=8 * 200**2 - 1)
    oracle._machine.most_points = 40
    cut = oracle.query(Query(weights, 1e-6))
    assert min(gains) >= -1e-12 * cut.upper
    assert max(gains) > 0
    assert cut.error <= 1e-4 * cut.upper
    known = MKLOracle(kernels, targets, loss).query(Query(weights))
    assert cut.value <= known.upper
    assert known.value <= cut.upper


@pytest.mark.campaign(3)
@pytest.mark.parametrize("most", [70, 100])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("loss", [LeastSquares, SquaredEpsilonInsensitive, SquaredHinge])
def test_all_variables_free_and_few_in_a_set(loss, C, most) -> None:
    """Newton's method takes them all at once where losses are curved, by products: few rounds, no matrix."""
    bank, y = BANKS["on the fly"], LABELS if loss is SquaredHinge else TARGETS
    oracle = MKLOracle(bank, y, loss(C), memory_budget=BUDGET)
    oracle._machine.most_points = most
    w = np.full(bank.n_kernels, 1 / bank.n_kernels)
    cut = oracle.query(Query(w, 1e-7))
    assert oracle.dual.free(cut.extras["signed_dual"]).size > most
    assert cut.extras["n_sets"] <= 8
    assert cut.error <= 1e-7 * cut.upper
    assert cut.upper == pytest.approx(MKLOracle(bank, y, loss(C)).query(Query(w)).upper, rel=1e-7)


@pytest.mark.parametrize("name", ["hinge", "squared hinge", "regression", "quantile"])
def test_without_any_weight_the_kernel_is_0(name) -> None:
    """A descent may get there: first, after other weights, and on the way to others."""
    loss, y = LOSSES[name]
    bank = BANKS["on the fly"]
    nowhere, even = np.zeros(bank.n_kernels), np.full(bank.n_kernels, 0.1)
    dense, free = (
        GMKLOracle(bank, y, LpRegularizer(2.0), loss=loss, memory_budget=budget) for budget in (BUDGET + 1, BUDGET)
    )
    for weights in (nowhere, even, nowhere):
        known, cut = (oracle.query(Query(weights, 1e-7)) for oracle in (dense, free))
        assert "n_sets" in cut.extras
        assert cut.value == pytest.approx(known.value, rel=1e-6)
        assert cut.error <= 1e-6 * cut.value
        ahead = free.query(Query(even, 1e-7))
        assert ahead.upper >= cut.value + cut.subgradient @ (even - weights) - 1e-9 * abs(cut.value)


def test_a_budget_that_is_too_small_names_the_least_one() -> None:
    bank = BANKS["on the fly"]
    with pytest.raises(InvalidArgument, match=r"`memory_budget` must be at least \d+ bytes, for the products") as told:
        MKLOracle(bank, LABELS, memory_budget=1000)
    least = int(str(told.value).split("at least ")[1].split()[0])
    assert isinstance(MKLOracle(bank, LABELS, memory_budget=least)._machine, MatrixFreeMachine)
    with pytest.raises(InvalidArgument, match=str(least)):
        GMKLOracle(bank, LABELS, memory_budget=least - 1)
    with pytest.raises(InvalidArgument, match=rf"at least {8 * 40 * 40} bytes, for the combined kernel"):
        MKLOracle(uci_bank(X[:40]), LABELS[:40], memory_budget=8 * 40 * 40 - 1)
    cut = MKLOracle(bank, LABELS, memory_budget=least).query(Query(np.full(12, 1 / 12)))
    assert cut.error <= 1e-8 * cut.upper


def test_the_way_to_solve_is_part_of_the_identity() -> None:
    bank = BANKS["on the fly"]
    budgets = (2 << 30, BUDGET, BUDGET - 10_000)
    dense, one, other = (MKLOracle(bank, LABELS, memory_budget=budget).identity() for budget in budgets)
    assert len({dense, one, other}) == 3
    assert MKLOracle(bank, LABELS).identity() == dense


def test_runs_are_resumed_from_a_journal(tmp_path) -> None:
    def oracle():
        return MKLOracle(BANKS["on the fly"], LABELS, memory_budget=BUDGET)

    whole = minimize(oracle(), LevelSet(), rtol=1e-4)
    assert whole.n_calls > 4
    minimize(oracle(), LevelSet(), rtol=1e-4, max_calls=4, journal=tmp_path / "run")
    resumed = minimize(oracle(), LevelSet(), rtol=1e-4, journal=tmp_path / "run")
    assert resumed.success
    assert resumed.n_calls <= whole.n_calls + 1
    assert resumed.upper_bound == pytest.approx(whole.upper_bound, rel=1e-4)


def test_a_cut_tells_all_that_is_remembered() -> None:
    bank, (first, second) = BANKS["stored"], list(walk(BANKS["stored"].n_kernels, 2))
    oracle = MKLOracle(bank, LABELS, memory_budget=BUDGET)
    cut = oracle.query(Query(first))
    expected = oracle.query(Query(second))
    other = MKLOracle(bank, LABELS, memory_budget=BUDGET)
    other.resume(cut)
    resumed = other.query(Query(second))
    assert resumed.upper == pytest.approx(expected.upper, rel=1e-10)
    np.testing.assert_allclose(resumed.extras["signed_dual"], expected.extras["signed_dual"], rtol=0, atol=1e-7)
    oracle.reset()
    again = oracle.query(Query(first))
    np.testing.assert_array_equal(again.extras["signed_dual"], cut.extras["signed_dual"])
    np.testing.assert_array_equal(again.subgradient, cut.subgradient)


def test_pickled_oracles_go_on() -> None:
    oracle = MKLOracle(BANKS["on the fly"], LABELS, memory_budget=BUDGET)
    first, second = list(walk(12, 2))
    oracle.query(Query(first))
    copy = pickle.loads(pickle.dumps(oracle))
    np.testing.assert_array_equal(copy.query(Query(second)).subgradient, oracle.query(Query(second)).subgradient)


class Interrupted(RBFBank):
    """Raises in the n-th product of all kernels."""

    left = -1

    def row_products(self, rows, v):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().row_products(rows, v)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_an_interrupted_query_leaves_the_oracle_as_it_was(n) -> None:
    bank = Interrupted(X, [np.arange(3)], [np.geomspace(0.3, 3.0, 6)])
    oracle, (first, second) = MKLOracle(bank, LABELS, memory_budget=BUDGET), list(walk(6, 2))
    oracle.query(Query(first))
    bank.left = n
    with pytest.raises(KeyboardInterrupt):
        oracle.query(Query(second))
    bank.left = -1
    cut = oracle.query(Query(second))
    assert cut.error <= 1e-8 * cut.upper
    assert cut.upper == pytest.approx(MKLOracle(bank, LABELS).query(Query(second)).upper, rel=1e-8)


def test_max_seconds_ends_a_long_query() -> None:
    class Slow(RBFBank):
        wait = 0.0

        def row_products(self, rows, v):
            while self.wait > perf_counter():
                pass
            return super().row_products(rows, v)

    bank = Slow(X, [np.arange(3)], [np.geomspace(0.3, 3.0, 6)])
    Slow.wait = perf_counter() + 0.2
    oracle = MKLOracle(bank, LABELS, memory_budget=BUDGET)
    result = minimize(oracle, NewtonBundle(), max_seconds=0.1)
    assert result.status is Status.MAX_SECONDS
    assert result.n_calls == 0
    with Deadline(perf_counter() - 1.0), pytest.raises(OutOfTime):
        oracle.query(Query(np.full(6, 1 / 6)))
    assert minimize(oracle, NewtonBundle()).success


def test_products_that_rounding_has_spoilt_are_computed_anew(monkeypatch) -> None:
    bank = BANKS["on the fly"]
    monkeypatch.setattr(matrix_free_machine, "STALE", 1.5)
    oracle, plain = (MKLOracle(bank, LABELS, 1e3, memory_budget=budget) for budget in (BUDGET, 2 << 30))
    for w in walk(bank.n_kernels, 12):
        cut = oracle.query(Query(w))
        machine = oracle._machine
        assert machine._error[0] <= 4 * machine._fresh(machine._b)[0]
        assert cut.upper == pytest.approx(plain.query(Query(w)).upper, rel=1e-8)


@pytest.mark.parametrize("solver", [NewtonMKL(), SMOMKL()])
def test_lp_norms_without_a_combined_kernel(solver) -> None:
    bank, results = BANKS["on the fly"], []
    for budget in (BUDGET, 2 << 30):
        oracle = GMKLOracle(bank, LABELS, LpRegularizer(1.33), C=100.0, memory_budget=budget)
        results.append(minimize(oracle, solver, oracle.domain.problem.dual.start(), rtol=1e-6))
    assert all(result.success for result in results)
    assert results[0].upper_bound == pytest.approx(results[1].upper_bound, rel=2e-6)
    assert results[0].lower_bound <= results[1].upper_bound
    assert results[1].lower_bound <= results[0].upper_bound


@pytest.mark.campaign(inf)
def test_a_spoilt_newton_step_without_room_for_its_matrix() -> None:
    """Where the free variables do not fit into the budget, the fallback ends the run."""
    oracle = GMKLOracle(BANKS["on the fly"], LABELS, LpRegularizer(1.33), C=1e3, memory_budget=BUDGET)
    oracle._machine.most_points = 40
    result = minimize(oracle, NewtonMKL(), oracle.domain.problem.dual.start(), rtol=1e-4)
    assert result.success


def test_mixed_norms_without_a_combined_kernel() -> None:
    bank, cuts = BANKS["on the fly"], []
    for budget in (BUDGET, 2 << 30):
        oracle = MixedNormOracle(bank, LABELS, 100.0, groups=[range(4), range(4, 12)], memory_budget=budget)
        cuts.append(oracle.query(Query(oracle.domain.interior_point())))
    assert cuts[0].upper == pytest.approx(cuts[1].upper, rel=1e-7)
    assert "n_sets" in cuts[0].extras


def test_predictions_need_the_cut_alone() -> None:
    bank = BANKS["on the fly"]
    oracle, dense = (MKLOracle(bank, LABELS, memory_budget=budget) for budget in (BUDGET, 2 << 30))
    query = Query(np.full(12, 1 / 12))
    one, other = oracle.query(query), dense.query(query)
    new = np.random.default_rng(9).normal(size=(20, 3))
    values = oracle.decision_function(one, new)
    np.testing.assert_allclose(values, dense.decision_function(other, new), rtol=0, atol=1e-3)
    np.testing.assert_array_equal(oracle.predict(one, new), np.where(values >= 0, 1.0, -1.0))


def test_the_step_limit_shows_in_the_error() -> None:
    bank = BANKS["on the fly"]
    query = Query(np.full(12, 1 / 12))
    for limit in (0, 1, 20):
        cut = MKLOracle(bank, LABELS, max_steps=limit, memory_budget=BUDGET).query(query)
        assert cut.upper >= MKLOracle(bank, LABELS).query(query).value
        assert Simplex(12).contains(cut.point)
