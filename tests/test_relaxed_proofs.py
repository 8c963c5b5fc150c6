"""What relaxed solutions prove of Lagrangian duals, against every relaxed solution there is, in fractions."""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from relaxed_instances import KINDS, case, claims_of, instance, larger, size_of, true_after

from oracle_opt import Query, Refuted, minimize
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.oracles import GeneralizedAssignmentOracle
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, LightCuts, MulticommodityFlowOracle
from oracle_opt.proof.claim import ClaimKind, ValueClaim


@pytest.mark.campaign(3)
@pytest.mark.parametrize("multicut", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_honest_cuts_are_proven_and_values_bounded(kind, multicut):
    for seed in range(4):
        oracle, truth = case(kind, seed, multicut)
        for point, _, values in truth:
            cut, known = oracle.query(Query(point)), sum(values, Fraction(0))
            for claim in claims_of(oracle, cut):
                for exact in (False, True):
                    excess = oracle.prove_cut(claim, exact)
                    assert 0 <= excess <= 1e-13 * size_of(oracle, claim)
                    assert isinstance(excess, Fraction if exact else float)
                    assert true_after(claim, excess, truth)
            # the exact optimum, and its bound in floats
            wanted = ValueClaim(point, cut.upper)
            assert oracle.prove_value(wanted, exact=True) == known
            bound = oracle.prove_value(wanted)
            assert known <= bound <= known + 1e-12 * (1 + oracle.domain.extent(oracle.rhs))
            assert cut.value <= known <= cut.upper


@pytest.mark.campaign(3)
@pytest.mark.parametrize("multicut", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_forged_claims_are_refused_or_what_is_proven_is_true(kind, multicut):
    rng, refused, proven, lifted = np.random.default_rng(5), 0, 0, 0
    for seed in range(4):
        oracle, truth = case(kind, seed, multicut)
        other = case(kind, seed + 1 if seed < 3 else 0, multicut)[0]
        for point, _, _ in truth[::3]:
            for claim in claims_of(oracle, oracle.query(Query(point))):
                numbers = claim.witness["compact"]
                changed = [{"compact": np.delete(numbers, rng.integers(numbers.size))}] if numbers.size else []
                for _ in range(4):
                    one = numbers.copy()
                    if one.size:
                        one[rng.integers(one.size)] += rng.integers(-6, 7)
                    changed.append({"compact": one})
                    changed.append({"compact": np.append(numbers, rng.integers(-1, 30))})
                forged = [replace(claim, witness=witness) for witness in changed]
                if other.rhs.size == oracle.rhs.size:
                    foreign = list(claims_of(other, other.query(Query(other.domain.project(point)))))
                    forged += [one for one in foreign if one.kind is claim.kind]
                slope = claim.slope.copy()
                slope[rng.integers(slope.size)] += rng.choice([1e-6, -1e-6, 1.0])
                forged += [replace(claim, slope=slope), replace(claim, constant=claim.constant + rng.uniform(0, 2))]
                for one in forged:
                    for exact in (False, True):
                        try:
                            excess = oracle.prove_cut(one, exact)
                        except Refuted:
                            refused += 1
                            continue
                        assert true_after(one, excess, truth)
                        proven += 1
                        lifted += excess > 1e-9
    assert refused > 50
    assert proven > 50
    assert lifted > 20


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_that_is_wrong_by_a_millionth_is_charged(kind, exact):
    oracle, truth = case(kind, 1)
    for claim in claims_of(oracle, oracle.query(Query(truth[-1][0]))):
        excess = oracle.prove_cut(replace(claim, constant=claim.constant + 1e-6), exact)
        assert 0.9e-6 < excess < 1.1e-6


WRONG = [
    {"compact": np.array([0.5])},
    {"compact": np.array([np.nan])},
    {"compact": np.array([-1])},
    {"compact": np.array([10**6])},
    {"compact": np.array([1e300])},
    {"compact": np.array([[1, 2]])},
    {"compact": np.array([3, 3])},
    {"compact": "abc"},
    {"compact": [1, [2, 3]]},
    {"compact": [None]},
    {"compact": 2j},
]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_witness_is_refused_in_words(kind, exact):
    oracle, truth = case(kind, 2)
    point = truth[-1][0]
    (claim,) = claims_of(oracle, oracle.query(Query(point)))
    assert oracle.prove_cut(replace(claim, witness={}), exact) is None
    for witness in WRONG:
        with pytest.raises(Refuted, match=r"whole numbers|twice"):
            oracle.prove_cut(replace(claim, witness=witness), exact)
    wrong_slope = np.full(claim.slope.size, np.nan)
    for change in (
        {"constant": np.inf},
        {"constant": np.nan},
        {"slope": wrong_slope},
        {"slope": claim.slope[1:]},
        {"kind": ClaimKind.BOUND},
        {"kind": ClaimKind.HALF_SPACE},
        {"kind": ClaimKind.SUMMAND, "n_summands": 3},
        {"kind": ClaimKind.SUMMAND, "n_summands": 1, "summand": 1},
        {"kind": ClaimKind.SUMMAND, "n_summands": 1, "summand": -1},
    ):
        with pytest.raises(Refuted):
            oracle.prove_cut(replace(claim, **change), exact)
    for wrong in (wrong_slope, point[1:], np.full(point.size, np.inf)):
        with pytest.raises(Refuted, match="finite numbers"):
            oracle.prove_value(ValueClaim(wrong, 0.0), exact)
    # numbers at the end of the floats: nothing is said that is not so
    huge = replace(claim, constant=1e308, slope=np.full(claim.slope.size, 1e308))
    assert oracle.prove_cut(huge, exact) > 1e300
    far = ValueClaim(np.full(point.size, 1.7e308), 0.0)
    with suppress(Refuted):  # nothing else is raised
        assert oracle.prove_value(far, exact) > -np.inf


def test_named_forgeries_are_named():
    rng = np.random.default_rng(3)
    away = rng.uniform(1, 2, (6, 6))
    tours = HeldKarpOracle(away + away.T)
    (claim,) = claims_of(tours, tours.query(Query(np.zeros(6))))

    def of(edges):
        return replace(claim, witness={"compact": np.array([6 * i + j for i, j in edges])})

    assert tours.prove_cut(of([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])) > 0.0  # a tour, of its own cost
    for edges, words in (
        ([(0, 1), (0, 5), (1, 2), (2, 3), (1, 3), (4, 5)], "cycle"),
        ([(0, 1), (0, 2), (0, 3), (1, 4), (4, 5), (2, 5)], "two edges at city 0"),
        ([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)], "has 6 edges"),
        ([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (5, 4)], "larger number"),
        ([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (5, 5)], "larger number"),
    ):
        with pytest.raises(Refuted, match=words):
            tours.prove_cut(of(edges))

    work = GeneralizedAssignmentOracle([[1, 1, 1.0], [1, 1, 1]], [[2, 2, 2], [1, 1, 1]], [4, 1])
    (claim,) = claims_of(work, work.query(Query(np.zeros(3))))
    for numbers, words in (([0, 1, 2], "agent 0 has the capacity 4"), ([0, 3, 4], "agent 1 has the capacity 1")):
        with pytest.raises(Refuted, match=words):
            work.prove_cut(replace(claim, witness={"compact": np.array(numbers)}))

    arcs = [[0, 1], [1, 2], [0, 2], [2, 1], [2, 3], [3, 2]]
    net = MulticommodityFlowOracle(arcs, np.ones(6), np.ones(6), [[0, 2], [1, 3]], [1.0, 1.0])
    (claim,) = claims_of(net, net.query(Query(np.zeros(6))))
    assert claim.witness["compact"].tolist() == [2, 6 + 1, 6 + 4]
    for numbers, words in (
        ([7, 10], "broken"),
        ([0, 7, 10], "broken"),
        ([1, 2, 7, 10], "same node"),
        ([4, 5, 7, 10], "circle"),
        ([1, 3, 7, 10], "circle"),
    ):
        with pytest.raises(Refuted, match=words):
            net.prove_cut(replace(claim, witness={"compact": np.array(numbers)}))
    with pytest.raises(Refuted, match="not in the domain"):
        net.prove_value(ValueClaim(np.full(6, -2.0), 0.0))
    # within the tolerance of the domain a negative price counts as none
    assert net.prove_value(ValueClaim(np.full(6, -1e-11), 0.0), exact=True) == -3.0
    apart = MulticommodityFlowOracle(arcs, np.ones(6), np.ones(6), [[0, 2], [1, 3]], [1.0, 1.0], multicut=True)
    _, first, _ = claims_of(apart, apart.query(Query(np.zeros(6))))
    with pytest.raises(Refuted, match="of others"):
        apart.prove_cut(replace(first, summand=1))


def test_a_run_keeps_few_numbers_for_its_witnesses():
    """Four bytes for each customer served: no table of m * n numbers hangs on a witness."""
    rng = np.random.default_rng(0)
    opening, costs = rng.uniform(20, 40, 100), rng.uniform(0, 50, (100, 1000))
    for multicut in (False, True):
        oracle, light = FacilityLocationOracle(opening, costs, multicut=multicut), LightCuts()
        minimize(oracle, LevelSet(), max_calls=3, callback=light)
        for cut in light.cuts:
            witness = cut.extras["compact"]
            assert witness.dtype == np.int32
            assert witness.base is None
            assert witness.size == cut.extras["activity"].sum()
            assert "solution" not in cut.extras
            assert sum(one.extras["compact"].nbytes for one in cut.summands) in (0, witness.nbytes)
            assert oracle.prove_cut(next(claims_of(oracle, cut))) <= 1e-10


@pytest.mark.parametrize("multicut", [False, True])
def test_methods_keep_of_a_cut_what_proves_it_and_no_more(multicut):
    oracle, seen = instance("facilities", 0, multicut), []

    class Listens(Kelley):
        def tell(self, cut):
            seen.append({tuple(one.extras) for one in (cut, *cut.summands)})
            return super().tell(cut)

    result = minimize(oracle, Listens(), keep_cuts=True)
    assert seen == [{("compact", "sizes"), ("compact",)} if multicut else {("compact",)}] * result.n_calls
    assert all("activity" in cut.extras for cut in result.history.cuts)
    assert oracle.recover(result.history.cuts).violation <= 1e-6


@pytest.mark.to_the_bit
@pytest.mark.campaign(2)
@pytest.mark.parametrize("multicut", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_floats_say_no_less_than_fractions(kind, multicut):
    """Excesses and values in floats are bounds on the exact ones, however the sums were rounded."""
    rng, more = np.random.default_rng(11), []
    for seed in range(6):
        oracle = larger(kind, seed, multicut)
        for _ in range(3):
            u = oracle.domain.project(oracle.domain.interior_point() + rng.lognormal(size=oracle.rhs.size))
            claim = ValueClaim(u, 0.0)
            more.append((oracle.prove_value(claim), oracle.prove_value(claim, exact=True)))
            for one in claims_of(oracle, oracle.query(Query(u))):
                # over a ball fractions take the box around it, so that a wrong slope costs more there
                wrong = 0.0 if kind == "trees" else 1e-6
                slope = one.slope * (1 + wrong * rng.normal(size=u.size))
                raised = replace(one, constant=one.constant + rng.uniform(0, 1), slope=slope)
                more.append((oracle.prove_cut(raised), oracle.prove_cut(raised, exact=True)))
    for bound, exact in more:
        assert exact <= bound <= exact + 1e-10 * (1 + abs(exact))
    assert sum(exact > 1e-3 for _, exact in more) > len(more) / 3


def test_parts_of_other_summands_are_refused():
    for kind in ("assignments", "facilities", "flows"):
        oracle, truth = case(kind, 0, True)
        _, *parts = claims_of(oracle, oracle.query(Query(truth[-1][0])))
        filled = [one for one in parts if one.witness["compact"].size]
        for one in filled:
            for exact in (False, True):
                with pytest.raises(Refuted, match="of others"):
                    oracle.prove_cut(replace(one, summand=(one.summand + 1) % len(parts)), exact)
        assert filled


@pytest.mark.parametrize("exact", [False, True])
def test_a_job_that_fills_its_agent_counts(exact):
    full = GeneralizedAssignmentOracle([[-3.0, -2.0], [1.0, 1.0]], [[4, 3], [1, 1]], [4, 9])
    # agent 0 takes job 0 alone, which fills it; agent 1 earns nothing
    assert full.prove_value(ValueClaim(np.zeros(2), 0.0), exact) == pytest.approx(3.0, abs=1e-14)


@pytest.mark.parametrize("exact", [False, True])
def test_paths_are_proven_in_blocks_and_beside_nodes_that_no_commodity_uses(exact, monkeypatch):
    arcs = [[0, 5], [5, 1], [1, 0], [0, 1], [1, 5]]
    net = MulticommodityFlowOracle(arcs, [1.0, 1, 1, 3, 7], np.ones(5), [[0, 1], [1, 0], [1, 1]], [1.0, 2.0, 4.0])
    cut = net.query(Query(np.zeros(5)))
    (claim,) = claims_of(net, cut)
    assert net.prove_cut(claim, exact) <= 1e-13
    for block in (2_000_000, 1):
        monkeypatch.setattr("oracle_opt.oracles.lagrangian.network_proofs._BLOCK", block)
        assert net.prove_value(ValueClaim(np.zeros(5), 0.0), exact) == pytest.approx(-4.0, abs=1e-12)
