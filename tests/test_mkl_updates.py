"""Quadratic forms updated by the changed dual variables are those summed in full."""

import numpy as np
import pytest
from journal_runs import recalled

from oracle_opt import Query, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import MKLOracle, uci_bank


def problem(n=120, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + rng.normal(size=n) > 0, 1, -1)
    return y, uci_bank(X, **options)


def walk(p, count, step, seed=0):
    """Points of the simplex, each near the one before."""
    rng = np.random.default_rng(seed)
    point = rng.dirichlet(np.ones(p))
    for _ in range(count):
        yield point
        point = (1 - step) * point + step * rng.dirichlet(np.ones(p))


HALF = 120 * 121 // 2 * 52


@pytest.mark.parametrize(
    "options",
    [{}, {"dtype": np.float32}, {"memory_limit": 8 * HALF}, {"dtype": np.float32, "memory_limit": 4 * HALF}],
    ids=["float64", "float32", "one layout", "float32, one layout"],
)
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_updated_forms_are_the_full_ones(C, options):
    y, bank = problem(**options)
    oracle, updates = MKLOracle(bank, y, C), []
    for point in walk(bank.n_kernels, 60, 0.01):
        cut = oracle.query(Query(point))
        full = bank.quadratic_forms(y * cut.extras["alpha"])
        np.testing.assert_allclose(cut.extras["quadratic_forms"], full, rtol=0, atol=1e-12 * full.max())
        updates.append(cut.extras["n_updates"])
    assert updates[0] == 0
    assert max(updates) <= 16
    if C <= 100:  # at 1e4 most dual variables are free, and change
        assert max(updates) > 0


def test_sixteen_updates_in_a_row_at_most():
    y, bank = problem()
    oracle, point = MKLOracle(bank, y), np.full(52, 1 / 52)
    counts = [oracle.query(Query(point)).extras["n_updates"] for _ in range(19)]
    assert counts == [*range(17), 0, 1]


def test_where_most_dual_variables_change_the_sum_is_full():
    y, bank = problem()
    oracle = MKLOracle(bank, y, 1e4)
    oracle.query(Query(np.eye(52)[0]))
    cut = oracle.query(Query(np.eye(52)[51]))
    assert cut.extras["n_updates"] == 0
    np.testing.assert_array_equal(cut.extras["quadratic_forms"], bank.quadratic_forms(y * cut.extras["alpha"]))


def test_the_forms_remembered_are_not_those_handed_out():
    y, bank = problem()
    point = np.full(52, 1 / 52)
    oracle = MKLOracle(bank, y)
    handed_out = oracle.query(Query(point)).extras["quadratic_forms"]
    kept = handed_out.copy()
    handed_out[:] = np.nan
    np.testing.assert_allclose(oracle.query(Query(point)).extras["quadratic_forms"], kept, rtol=1e-12)


@pytest.mark.parametrize("step", [0.003, 0.1])
def test_recall_continues_an_update_bit_for_bit(step):
    y, bank = problem()
    for again, cut in recalled(lambda: MKLOracle(bank, y), list(walk(52, 24, step))):
        assert again.extras["n_updates"] == cut.extras["n_updates"]


def test_a_cut_that_tells_no_number_of_updates_is_followed_by_a_full_sum():
    y, bank = problem()
    point = np.full(52, 1 / 52)
    oracle = MKLOracle(bank, y)
    cut = oracle.query(Query(point))
    del cut.extras["n_updates"]
    oracle.resume(cut)
    assert [oracle.query(Query(point)).extras["n_updates"] for _ in range(2)] == [0, 1]


def test_a_run_is_repeated_bit_for_bit():
    y, bank = problem()
    oracle = MKLOracle(bank, y)
    one, other = (minimize(oracle, LevelSet(), rtol=1e-4) for _ in range(2))
    assert one.n_calls == other.n_calls
    np.testing.assert_array_equal(one.point, other.point)
