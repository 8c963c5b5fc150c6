"""Some kernels of a bank, blocks of their sum, faces of domains, and answers on some coordinates."""

import numpy as np
import pytest

from oracle_opt import Curvature, ExactSlopes, InvalidArgument, InvalidCut, ObjectiveCut, PartialQuery, Query
from oracle_opt.domains import Ball, NonnegativeOrthant, ProductOfSimplices, Simplex
from oracle_opt.oracles import GramBank, JoinedBank, PolynomialBank, RBFBank

N_POINTS = 23


def banks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_POINTS, 4)).round(1)
    factors = rng.normal(size=(6, N_POINTS, N_POINTS))
    given = GramBank(factors @ factors.transpose(0, 2, 1))
    yield "given", given
    fly = [[0, 1, 2, 3], [2], [0, 3]], [np.geomspace(0.5, 4, 9), [1.0], [0.7, 2.0]]
    yield "fly", RBFBank(X, *fly)
    power = PolynomialBank(X, [[0, 1, 2, 3], [2], [0, 3]], [[1, 2, 5], [1], [3, 2]])
    yield "power", power
    joined = JoinedBank([RBFBank(X, *fly), given, power, power.subset([4, 1])])
    yield "joined", joined
    yield "joined, of a subset", joined.subset(rng.permutation(joined.n_kernels)[:15])
    yield "fly, of a subset", RBFBank(X, *fly).subset([11, 3, 0, 9, 8, 1])


BANKS = dict(banks())


@pytest.mark.parametrize("name", BANKS)
def test_a_subset_is_those_kernels(name) -> None:
    bank, rng = BANKS[name], np.random.default_rng(1)
    kernels = rng.permutation(bank.n_kernels)[: bank.n_kernels // 2]
    chosen, v, d = bank.subset(kernels), rng.normal(size=N_POINTS), rng.random(kernels.size)
    rows, columns = rng.integers(N_POINTS, size=7), rng.permutation(N_POINTS)[:5]
    assert (chosen.n_kernels, chosen.n_points) == (kernels.size, N_POINTS)
    every = np.zeros(bank.n_kernels)
    every[kernels] = d
    close = {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(chosen.combine(d), bank.combine(every), **close)
    np.testing.assert_allclose(chosen.quadratic_forms(v), bank.quadratic_forms(v)[kernels], **close)
    np.testing.assert_allclose(chosen.row_products(rows, v), bank.row_products(rows, v)[:, kernels], **close)
    np.testing.assert_allclose(chosen.entries(rows, columns), bank.entries(rows, columns)[:, :, kernels], **close)
    np.testing.assert_allclose(chosen.diagonal(), bank.diagonal()[:, kernels], **close)
    np.testing.assert_allclose(np.array(chosen.sizes), np.array(bank.sizes)[:, kernels], **close)
    np.testing.assert_allclose(chosen.block(d, rows, columns), bank.combine(every)[np.ix_(rows, columns)], **close)
    assert chosen.digest() != bank.digest()
    assert chosen.digest() == bank.subset(kernels).digest() != bank.subset(kernels[::-1]).digest()


@pytest.mark.parametrize("name", BANKS)
def test_a_block_is_a_part_of_the_sum(name, monkeypatch) -> None:
    bank, rng = BANKS[name], np.random.default_rng(2)
    d = rng.random(bank.n_kernels) * (rng.random(bank.n_kernels) > 0.4)
    rows, columns = rng.integers(N_POINTS, size=9), np.arange(N_POINTS)
    monkeypatch.setattr("oracle_opt.oracles.kernels.base.ENTRIES_AT_ONCE", 2 * N_POINTS)
    expected = bank.combine(d)[np.ix_(rows, columns)]
    np.testing.assert_allclose(bank.block(d, rows, columns), expected, rtol=1e-12, atol=1e-13)
    assert not bank.block(np.zeros(bank.n_kernels), rows, columns).any()


@pytest.mark.parametrize("kernels", [[], [0, 0], [99], [[0]], "a"])
def test_what_is_no_subset_is_refused(kernels) -> None:
    with pytest.raises(InvalidArgument, match="`kernels` must be indices"):
        BANKS["given"].subset(kernels)


def test_faces() -> None:
    some = np.array([0, 3, 4])
    assert repr(Simplex(5, 2.0).face(some)) == repr(Simplex(3, 2.0))
    assert Simplex(5).face(some[:0]) is None
    product = ProductOfSimplices([2, 3], 2.0)
    assert product.face(some).sizes == (1, 2)
    assert product.face(some[1:]) is None
    assert repr(NonnegativeOrthant(5, 7.0).face(some)) == repr(NonnegativeOrthant(3, 7.0))
    assert Ball(5).face(some) is None


def test_a_partial_query_asks_for_its_coordinates() -> None:
    point = np.array([1.0, 0.0, 0.0])
    query = PartialQuery(point, coordinates=np.array([0, 1]))
    assert query.repeats(query.copy())
    assert not query.repeats(PartialQuery(point, coordinates=np.array([0, 2])))
    assert not query.repeats(Query(point))
    assert query.copy().point is not point


@pytest.mark.parametrize(
    "coordinates", [np.array([1, 0]), np.array([0, 3]), np.array([0.0, 1.0]), np.array([-1, 1]), [0, 1]]
)
def test_answers_on_what_are_no_coordinates_are_refused(coordinates) -> None:
    cut = ObjectiveCut(np.zeros(3), 0.0, np.zeros(3))
    for answer in (ExactSlopes(coordinates), Curvature(np.zeros((1, 2)), coordinates)):
        with pytest.raises(InvalidCut, match="must be whole numbers from 0 to 2 in increasing order"):
            answer.check(cut)


def test_answers_on_some_coordinates_survive_a_journal() -> None:
    cut, some = ObjectiveCut(np.zeros(3), 0.0, np.zeros(3)), np.array([0, 2])
    for answer in (ExactSlopes(some), Curvature(np.ones((4, 2)), some)):
        again = type(answer).from_arrays(answer.arrays())
        again.check(cut)
        assert np.array_equal(again.coordinates, some)
    with pytest.raises(InvalidCut, match=r"shape \(r, 2\)"):
        Curvature(np.ones((4, 3)), some).check(cut)
