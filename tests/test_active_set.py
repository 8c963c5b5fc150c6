"""Column generation: the optimum of all variables from questions about few of them."""

from math import inf

import numpy as np
import pytest
from affine_pieces import largest

from oracle_opt import Curvature, ExactSlopes, FunctionOracle, Oracle, Status, minimize
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, PartialQuery, Query
from oracle_opt.domains import NonnegativeOrthant, ProductOfSimplices, Simplex
from oracle_opt.errors import CapabilityMismatch, InvalidArgument
from oracle_opt.generators import SPG, ActiveSet, FixedPoint, Kelley, LevelSet, NewtonBundle, ProximalBundle
from oracle_opt.oracles import GramBank, MKLOracle, RBFBank
from oracle_opt.testing import KnownProblem, check_generator, check_oracle
from oracle_opt.testing.known_runs import Watched


def mkl(p=300, n=60, seed=0, **options):
    """Labels that two products of features make, and widths on each feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, 1, -1)
    return MKLOracle(RBFBank.from_quantiles(X, p, **options), y, C=100.0)


class Asked(Watched):
    """Keeps the queries."""

    def __init__(self, inner):
        super().__init__(inner)
        self.queries = []

    def query(self, query):
        self.queries.append(query)
        return super().query(query)


class Lowered(Oracle):
    """A function of a simplex whose slopes are told too low where they were not asked for."""

    gives = frozenset({ExactSlopes})

    def __init__(self, function, domain, by=10.0):
        self.function, self.domain, self.by = function, domain, by

    def query(self, query):
        value, slope = self.function(query.point)
        if not isinstance(query, PartialQuery):
            return ObjectiveCut(query.point, value, slope)
        lowered = slope - self.by
        lowered[query.coordinates] = slope[query.coordinates]
        return ObjectiveCut(query.point, value, lowered, answers=(ExactSlopes(query.coordinates),))


def max_affine(n, pieces, seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(pieces, n)), rng.normal(size=pieces)

    return largest(A, b)


@pytest.mark.parametrize("inner", [NewtonBundle(), LevelSet(), ProximalBundle()], ids=lambda one: type(one).__name__)
def test_it_finds_the_optimum_over_all_kernels(inner):
    every = minimize(mkl(), NewtonBundle(), rtol=1e-7)
    oracle = Asked(mkl())
    few = minimize(oracle, ActiveSet(inner, start=12), rtol=1e-4, max_calls=300)
    assert few.success
    assert every.lower_bound <= few.upper_bound
    assert few.lower_bound <= every.upper_bound
    sizes = [query.coordinates.size for query in oracle.queries if isinstance(query, PartialQuery)]
    looks = [query for query in oracle.queries if type(query) is Query]
    assert max(sizes) < 100
    assert 0 < len(looks) < len(sizes)
    assert all(np.count_nonzero(query.point) <= max(sizes) for query in oracle.queries)
    assert {query.wishes for query in looks} == {frozenset()}  # curvature of all kernels is asked for by none


def test_stored_kernels_are_not_all_read():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(150, 25, 25))
    bank = GramBank(factors @ factors.transpose(0, 2, 1), normalize=True)
    oracle = Asked(MKLOracle(bank, np.where(rng.random(25) > 0.5, 1, -1), C=1.0))
    result = minimize(oracle, ActiveSet(NewtonBundle(), start=40), rtol=1e-6)
    assert result.success
    every = minimize(MKLOracle(bank, oracle.inner.y, C=1.0), NewtonBundle(), rtol=1e-8)
    assert result.lower_bound <= every.upper_bound
    assert every.lower_bound <= result.upper_bound
    shapes = [
        cut.answer(Curvature).factor.shape[1]
        for query, (cut, _) in zip(oracle.queries, oracle.given, strict=True)
        if isinstance(query, PartialQuery) and cut.answer(Curvature) is not None
    ]
    assert shapes
    assert max(shapes) < 150


def test_with_few_variables_it_is_the_inner_method():
    one, two = (minimize(mkl(p=60), method, rtol=1e-6) for method in (NewtonBundle(), ActiveSet(NewtonBundle())))
    np.testing.assert_array_equal(one.history.value, two.history.value)
    np.testing.assert_array_equal(one.history.lower_bound, two.history.lower_bound)


@pytest.mark.campaign(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("inner", [LevelSet(), Kelley(), NewtonBundle()], ids=lambda one: type(one).__name__)
def test_where_one_cut_proves_nothing_the_model_does(inner, seed):
    """The maximum of affine functions has kinks: no single cut proves its minimum."""
    function, domain = max_affine(40, 15, seed), Simplex(40)
    optimum = minimize(FunctionOracle(function, domain), Kelley(), rtol=1e-9).upper_bound
    for oracle in (Lowered(function, domain), FunctionOracle(function, domain)):
        result = minimize(oracle, ActiveSet(inner, start=3, most=2), rtol=1e-7, max_calls=1500)
        assert result.status is Status.CONVERGED
        assert result.lower_bound - 1e-9 <= optimum <= result.upper_bound + 1e-9


def test_answers_exact_in_all_variables_need_no_further_calls():
    target = np.zeros(50)
    target[[7, 30]] = 0.5
    oracle = Asked(FunctionOracle(lambda z: (float((z - target) @ (z - target)), 2 * (z - target)), Simplex(50)))
    result = minimize(oracle, ActiveSet(LevelSet(), start=5), atol=1e-9, probes=0)
    assert result.success
    assert np.allclose(result.point, target, atol=1e-4)
    assert all(isinstance(query, PartialQuery) for query in oracle.queries)


@pytest.mark.parametrize("domain", [ProductOfSimplices([15, 25], 2.0), NonnegativeOrthant(40, radius=3.0)], ids=repr)
def test_other_domains_with_faces(domain):
    rng = np.random.default_rng(3)
    target = np.where(rng.random(40) < 0.1, 1.5, -0.5)

    def function(z):
        return float(0.5 * (z - target) @ (z - target)), z - target

    for oracle in (Lowered(function, domain), FunctionOracle(function, domain)):
        check_oracle(oracle)
        result = minimize(oracle, ActiveSet(ProximalBundle(), start=4), rtol=1e-6)
        assert result.success
        best = domain.project(target)
        np.testing.assert_allclose(result.upper_bound, function(best)[0], rtol=1e-5)


def test_the_users_point_is_asked_first_and_its_variables_are_active():
    oracle, point = Asked(mkl()), np.zeros(300)
    point[[3, 77, 78]] = 0.5, 0.2, 0.3
    minimize(oracle, ActiveSet(NewtonBundle(), start=10), point, max_calls=3)
    np.testing.assert_array_equal(oracle.queries[0].point, point)
    assert np.isin([3, 77, 78], oracle.queries[0].coordinates).all()
    assert 10 <= oracle.queries[0].coordinates.size <= 13


def test_a_coroutine_inside_starts_again_at_the_best_point():
    oracle = Asked(mkl())
    result = minimize(oracle, ActiveSet(SPG(), start=12), rtol=1e-2, max_calls=300)
    assert result.success
    exchanged = 0
    for before, look, after in zip(oracle.queries, oracle.queries[1:], oracle.queries[2:], strict=False):
        if type(look) is Query and not np.array_equal(before.coordinates, after.coordinates):
            np.testing.assert_array_less(np.abs(look.point - after.point).sum(), 0.9)
            exchanged += 1
    assert exchanged


def test_a_method_that_ends_is_followed_by_a_look_at_all_variables():
    oracle = Asked(mkl())
    result = minimize(oracle, ActiveSet(FixedPoint(), start=12), rtol=1e-6, max_calls=30)
    assert result.status is Status.EXHAUSTED
    assert [type(query) for query in oracle.queries] == [PartialQuery, Query]
    np.testing.assert_array_equal(oracle.queries[0].point, oracle.queries[1].point)


def test_cuts_of_a_run_on_all_variables_are_taken_up():
    before = minimize(mkl(), NewtonBundle(), max_calls=8, keep_cuts=True)
    after = minimize(mkl(), ActiveSet(NewtonBundle(), start=12), cuts=before.history.cuts, rtol=1e-5)
    assert after.success
    assert after.upper_bound <= before.upper_bound


@pytest.mark.campaign(inf)
def test_contract_with_other_methods_inside():
    for generator in (ActiveSet(ProximalBundle(), start=1), ActiveSet(ActiveSet(LevelSet(), start=2), start=3)):
        assert check_generator(generator, domains=[Simplex(6), ProductOfSimplices([3, 3])], calls=10)
    problem = KnownProblem(
        "tiny", mkl(p=20, n=20), minimize(mkl(p=20, n=20), NewtonBundle(), rtol=1e-10).upper_bound, 1e-7
    )
    assert check_generator(ActiveSet(NewtonBundle(), start=3), [problem], domains=[])


def test_a_run_goes_on_from_its_journal(tmp_path):
    generator = ActiveSet(NewtonBundle(), start=12)
    whole = minimize(mkl(), generator, rtol=1e-5)
    for calls in (3, whole.n_calls // 2, whole.n_calls - 1):
        path = tmp_path / f"{calls}.journal"
        minimize(mkl(), generator, rtol=1e-5, max_calls=calls, journal=path)
        again = minimize(mkl(), generator, rtol=1e-5, journal=path)
        assert again.n_calls == whole.n_calls
        np.testing.assert_array_equal(again.history.value, whole.history.value)


def test_what_it_refuses():
    oracle = FunctionOracle(lambda z: (z @ z, 2 * z), Simplex(3), gives={FeasibilityCut})
    with pytest.raises(CapabilityMismatch, match="it takes no feasibility cuts"):
        minimize(oracle, ActiveSet(Kelley()))
    with pytest.raises(CapabilityMismatch, match="it needs a domain that is one simplex"):
        minimize(FunctionOracle(lambda z: (z @ z, 2 * z), ProductOfSimplices([2, 2])), ActiveSet(NewtonBundle()))
    with pytest.raises(CapabilityMismatch, match="it needs analytic updates"):
        minimize(FunctionOracle(lambda z: (z @ z, 2 * z), Simplex(3)), ActiveSet(FixedPoint(updates=True)))
    with pytest.raises(InvalidArgument, match="`generator` must be a generator such as"):
        ActiveSet(NewtonBundle)
