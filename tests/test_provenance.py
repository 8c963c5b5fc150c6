"""What a lower bound is made of: claims that are true, and whose combination proves it in exact arithmetic."""

import copy
import pickle
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from own_domains import Ellipsoidal

import oracle_opt.generators as G
from oracle_opt import FunctionOracle, InvalidCertificate, Minorant, Oracle, QueryPointGenerator, minimize
from oracle_opt.arrays import Vector
from oracle_opt.certificates.proof_level import Standing, standing_of
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query, bearing
from oracle_opt.domains import Box, Domain, FreeSpace, Simplex
from oracle_opt.generators.masters import CutPool
from oracle_opt.proof import parts as parts_module
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.parts import Combination, Weighted


class Pieces(Oracle):
    """Sum of so many largest pieces, with the numbers of the pieces as witness; some half-spaces to be satisfied."""

    stateless = True
    witness = ("pieces", "row")

    def __init__(self, seed: int, domain: Domain, n_summands: int = 1, n_rows: int = 0, told: bool = True) -> None:
        rng = np.random.default_rng(seed)
        n = domain.dimension
        self.domain, self.told = domain, told
        self.gives = frozenset({FeasibilityCut} if n_rows else ())
        self.slopes, self.heights = rng.normal(size=(n_summands, 3 * n, n)), rng.normal(size=(n_summands, 3 * n))
        self.rows = rng.normal(size=(n_rows, n))
        self.sides = self.rows @ domain.interior_point() + 0.1

    def query(self, query: Query) -> ObjectiveCut | FeasibilityCut:
        z = query.point
        violations = self.rows @ z - self.sides
        if (violations > 1e-9).any():
            i = int(violations.argmax())
            return FeasibilityCut(z, float(violations[i]), self.rows[i], extras={"row": i}, error=1e-9)
        values = self.slopes @ z + self.heights
        largest = values.argmax(axis=1)
        each = tuple(
            ObjectiveCut(z, float(values[j, i]), self.slopes[j, i], extras={"pieces": i})
            for j, i in enumerate(largest.tolist())
        )
        if len(each) == 1:
            return each[0]
        slope = sum(one.subgradient for one in each)
        value = sum(one.value for one in each)
        several = each if self.told else ()
        return ObjectiveCut(z, value, slope, 1e-12, summands=several, extras={"pieces": largest})

    def holds(self, claim: CutClaim) -> bool:
        """Whether a claim is what its witness says, up to the rounding of the constant."""
        kind, told = claim.kind, claim.witness
        if kind is ClaimKind.HALF_SPACE:
            slope, constant = self.rows[told["row"]], -self.sides[told["row"]]
        elif kind is ClaimKind.SUMMAND:
            assert claim.n_summands == len(self.slopes)
            slope, constant = (of[claim.summand, told["pieces"]] for of in (self.slopes, self.heights))
        else:
            chosen = np.atleast_1d(told["pieces"])
            slope = sum(self.slopes[j, i] for j, i in enumerate(chosen))
            constant = sum(self.heights[j, i] for j, i in enumerate(chosen))
        same = np.allclose(claim.slope, slope, rtol=0, atol=1e-12)
        return bool(same and constant - 1e-9 <= claim.constant <= constant + 1e-12)


def exact_minimum(domain: Domain, terms: list[Weighted]) -> Fraction:
    """Least value over a box or the simplex of what the weights make of the claims, in fractions."""
    n = domain.dimension
    whole = sum((Fraction(w) for w, one in terms if one.kind in (ClaimKind.MINORANT, ClaimKind.BOUND)), Fraction(0))
    of_summand: dict[int, Fraction] = defaultdict(Fraction)
    for w, one in terms:
        if one.kind is ClaimKind.SUMMAND:
            of_summand[one.summand] += Fraction(w)
            assert one.n_summands > one.summand
    share = max(of_summand.values(), default=Fraction(0))
    if of_summand:
        assert len(of_summand) == terms_of_summands(terms)
        assert all(abs(share - other) <= 1e-9 * share for other in of_summand.values())
    slope, constant = [Fraction(0)] * n, Fraction(0)
    for w, one in terms:
        weight = Fraction(w) * (share / of_summand[one.summand] if one.kind is ClaimKind.SUMMAND else 1)
        weight /= whole + share
        constant += weight * Fraction(one.constant)
        slope = [a + weight * Fraction(b) for a, b in zip(slope, one.slope.tolist(), strict=True)]
    if isinstance(domain, Simplex):
        return constant + min(slope) * Fraction(domain.radius)
    lower, upper = domain.bounding_box()
    ends = zip(slope, lower.tolist(), upper.tolist(), strict=True)
    return constant + sum(min(s * Fraction(a), s * Fraction(b)) for s, a, b in ends)


def terms_of_summands(terms: list[Weighted]) -> int:
    return max(one.n_summands for _, one in terms)


def terms_of(result: Any) -> list[Weighted]:
    return list(result.proof.terms)


GENERATORS: list[QueryPointGenerator] = [
    G.Kelley(),
    G.Kelley(max_cuts=12),
    G.LevelSet(max_cuts=15),
    G.AnalyticCenter(),
    G.AnalyticCenter(max_cuts=40),
    G.ProximalBundle(max_cuts=9),
    G.ProximalBundle(),
    G.TrustRegion(max_cuts=15),
    G.TrustRegion("box"),
]
DOMAINS = [Box(np.full(6, -2.0), np.full(6, 1.5)), Simplex(6, 2.0)]


@pytest.mark.campaign(19)
@pytest.mark.parametrize("told", [True, False], ids=["summands", "whole"])
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("generator", GENERATORS, ids=repr)
@pytest.mark.parametrize("shape", [(1, 0), (3, 0), (1, 8), (3, 8)], ids=str)
def test_the_claims_are_true_and_prove_the_bound(
    generator: QueryPointGenerator, domain: Domain, told: bool, shape: tuple[int, int]
) -> None:
    for seed in range(3):
        oracle = Pieces(seed, domain, *shape, told=told)
        result = minimize(oracle, generator, rtol=1e-7, max_calls=60)
        terms = terms_of(result)
        assert terms
        assert all(weight > 0 and oracle.holds(claim) for weight, claim in terms)
        proven = exact_minimum(domain, terms)
        assert proven >= Fraction(result.lower_bound)
        assert float(proven) - result.lower_bound <= 1e-6 * (1 + abs(result.lower_bound))


@pytest.mark.parametrize("generator", [G.Subgradient(), G.MirrorDescent(), G.Subgradient(polyak=True)], ids=repr)
def test_an_average_is_made_of_its_cuts(generator: QueryPointGenerator) -> None:
    oracle = Pieces(5, Simplex(6))
    result = minimize(oracle, generator, max_calls=300)
    terms = terms_of(result)
    assert all(oracle.holds(claim) for _, claim in terms)
    assert exact_minimum(oracle.domain, terms) >= Fraction(result.lower_bound)


def test_an_average_of_too_many_cuts_is_one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oracle_opt.proof.parts.MOST", 40)
    oracle = Pieces(5, Simplex(6))
    result = minimize(oracle, G.MirrorDescent(), max_calls=300)
    terms = terms_of(result)
    assert len(terms) < 8
    assert any(claim.note for _, claim in terms)
    assert exact_minimum(oracle.domain, terms) >= Fraction(result.lower_bound)


def test_dropped_cuts_that_are_too_large_are_one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "MOST", 10)
    pool = CutPool(DOMAINS[0])
    for slope in np.random.default_rng(1).normal(size=(20, 6)):
        pool.add(ObjectiveCut(np.zeros(6), 1.0, slope))
    before = pool.minorant(np.ones(20), np.zeros(0))
    assert before is not None
    assert pool.shrink(10, np.ones(20), np.zeros(0)) is not None
    after = pool.minorant(np.arange(len(pool.objective)) == len(pool.objective) - 1.0, np.zeros(0))
    assert after is not None
    ((_, claim),) = after.parts[0].weighted()
    assert claim.note
    assert claim.slope.tolist() == before.slope.tolist()
    assert before.constant - 1e-12 < claim.constant < before.constant


def test_cuts_too_steep_are_mixed_of_their_claims() -> None:
    """A function like an exponential: rows of its model are averages of a steep cut and the best one."""
    slopes = np.random.default_rng(3).normal(size=(8, 3))

    def function(z: Vector) -> tuple[float, Vector]:
        values = np.exp(slopes @ z)
        return float(values.sum()), values @ slopes

    box = Box(np.full(3, -20.0), np.full(3, 20.0))
    result = minimize(FunctionOracle(function, box), G.Kelley(), rtol=1e-6)
    terms = terms_of(result)
    proven = exact_minimum(box, terms)
    assert proven >= Fraction(result.lower_bound)
    for _, claim in terms:
        for z in np.random.default_rng(0).uniform(-20, 20, size=(50, 3)):
            assert claim.constant + claim.slope @ z <= function(z)[0] * (1 + 1e-9)


def test_the_bound_of_an_oracle_and_that_of_one_cut() -> None:
    """Each of the proofs names its own claims."""
    box = Box([-1.0], [1.0])
    oracle = FunctionOracle(lambda z: ObjectiveCut(z, float(z @ z), 2 * z, lower_bound=-1e-9, extras={"a": 1.0}), box)
    result = minimize(oracle, G.Subgradient(), [0.9], max_calls=1)
    ((_, claim),) = terms_of(result)
    assert (claim.kind, claim.constant, claim.slope.tolist()) == (ClaimKind.BOUND, -1e-9, [0.0])
    oracle = FunctionOracle(lambda z: (float(abs(z - 2).sum()), np.sign(z - 2)), box)
    result = minimize(oracle, G.Subgradient(), max_calls=1)
    ((_, claim),) = terms_of(result)
    assert claim.kind is ClaimKind.MINORANT
    assert exact_minimum(box, [(1.0, claim)]) >= Fraction(result.lower_bound) > Fraction(1) - Fraction(1, 10**9)


def test_a_minorant_of_unknown_parts_is_a_claim_of_its_own() -> None:
    class Asks(G.Subgradient):
        def minorant(self) -> Minorant:
            return Minorant(0.0, np.zeros(2), 1e-12, extras={"why": 3.0})

    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Box([-1, -1], [1, 1]))
    oracle.witness = ("why",)
    result = minimize(oracle, Asks(), [0.9, 0.9], max_calls=1)
    ((_, claim),) = terms_of(result)
    assert claim.constant <= -1e-12
    assert claim.witness == {"why": 3.0}


def test_what_was_dropped_is_still_known() -> None:
    """A minorant made before its rows are dropped."""
    rng = np.random.default_rng(0)
    pool = CutPool(Box(np.zeros(4), np.ones(4)))
    slopes = rng.normal(size=(30, 4))
    for i, slope in enumerate(slopes):
        pool.add(ObjectiveCut(np.zeros(4), float(i), slope, extras={"i": i}))
    weights = np.zeros(30)
    weights[[1, 5, 29]] = 0.5, 0.25, 0.25
    minorant = pool.minorant(weights, np.zeros(0))
    assert minorant is not None
    assert pool.shrink(10, 1.0 + np.arange(30.0), np.zeros(0)) is not None
    found = {claim.witness["i"]: (w, claim) for part in minorant.parts for w, claim in part.weighted()}
    assert {i: w for i, (w, _) in found.items()} == {1: 0.5, 5: 0.25, 29: 0.25}
    assert all((claim.slope == slopes[i]).all() for i, (_, claim) in found.items())
    other = copy.deepcopy(pool).minorant(np.ones(len(pool.objective)), np.zeros(0))
    assert other is not None
    assert len(Combination(term for part in other.parts for term in part.weighted()).weighted()) == 30


def test_a_proof_is_pickled_without_the_oracle() -> None:
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Box([-1, -1], [1, 1]), name="square")
    with pytest.raises(AttributeError):
        pickle.dumps(oracle)
    result = minimize(oracle, G.Kelley(), rtol=1e-6)
    again = pickle.loads(pickle.dumps(result.proof))
    assert again.problem == oracle.identity()
    assert [w for w, _ in again.terms] == [w for w, _ in terms_of(result)]


def test_equal_claims_count_once() -> None:
    one, other = (CutClaim(ClaimKind.MINORANT, 0.0, np.zeros(2)) for _ in range(2))
    terms = Combination([(0.5, one), (0.0, other), (0.25, one)]).weighted()
    assert [(w, claim is one) for w, claim in terms] == [(0.75, True)]


def test_the_ellipsoid_method_names_its_cuts_or_itself() -> None:
    oracle = Pieces(2, Box(np.full(3, -1.0), np.full(3, 1.0)))
    result = minimize(oracle, G.Ellipsoid(), rtol=1e-3)
    assert exact_minimum(oracle.domain, terms_of(result)) >= Fraction(result.lower_bound)


def test_a_free_space_has_a_proof_too() -> None:
    oracle = FunctionOracle(lambda z: (float(abs(z).sum()), np.sign(z)), FreeSpace(2, 3.0))
    assert terms_of(minimize(oracle, G.ProximalBundle(), rtol=1e-6, atol=1e-6))


@pytest.mark.parametrize("generator", [G.Kelley(), G.ProximalBundle(max_cuts=9), G.AnalyticCenter()], ids=repr)
def test_the_certificate_of_a_run_claims_what_the_run_did(generator: QueryPointGenerator) -> None:
    for domain in DOMAINS:
        oracle = Pieces(1, domain, 3, 8)
        result = minimize(oracle, generator, rtol=1e-6, max_calls=80)
        certificate = result.certificate()
        assert (certificate.lower, certificate.upper) == (result.lower_bound, result.upper_bound)
        assert certificate.problem == oracle.identity()
        assert certificate.verify().n_given == len(certificate.cuts)


def test_a_run_that_proved_nothing_has_no_certificate() -> None:
    box = Box([-1, -1], [1, 1])
    bowl = FunctionOracle(lambda z: (float(z @ z), 2 * z), box, convex=False)
    with pytest.raises(InvalidCertificate, match="not convex"):
        minimize(bowl, G.Subgradient(), max_calls=3).certificate()
    free = FunctionOracle(lambda z: (float(z @ z), 2 * z), FreeSpace(2, np.inf))
    with pytest.raises(InvalidCertificate, match="no finite lower bound"):
        minimize(free, G.Subgradient(), [0.5, 0.5], max_calls=1).certificate()
    never = FunctionOracle(lambda z: FeasibilityCut(z, 1.0, np.ones(2)), box, gives={FeasibilityCut})
    with pytest.raises(InvalidCertificate, match="no upper bound"):
        minimize(never, G.Subgradient(), max_calls=3).certificate()
    wrong = FunctionOracle(lambda z: (-float(z @ z), -2 * z), box)
    with pytest.raises(InvalidCertificate, match="contradict"):
        minimize(wrong, G.Kelley(), [0.5, 0.25]).certificate()


def test_on_a_domain_without_a_description_a_run_stands_for_itself() -> None:
    """A user's own set, known by its projection and its support function alone: no reason to call a run refuted."""
    ball = Ellipsoidal(np.array([1.0, 2.0]), np.array([[1.0, 0.5], [0.0, 2.0]]))
    oracle = FunctionOracle(lambda z: (float(z.sum()), np.ones(2)), ball)
    result = minimize(oracle, G.Subgradient(), max_calls=50)
    assert np.isfinite(result.lower_bound)
    with pytest.raises(InvalidCertificate, match="define `linear_constraints` or `described`"):
        result.certificate()
    assert standing_of(result, oracle) is Standing.NONE


def test_a_method_that_reads_extras_gets_them_and_one_that_keeps_cuts_gets_witnesses() -> None:
    def answer(z: Vector) -> ObjectiveCut:
        return ObjectiveCut(z, float(abs(z).sum()), np.sign(z), extras={"row": 1, "weather": 2})

    def listening(method: type[Any], seen: list[list[str]]) -> QueryPointGenerator:
        class Listens(method):
            def tell(self, cut: Any) -> Any:
                seen.append(sorted(cut.extras))
                return super().tell(cut)

        return Listens()

    oracle = FunctionOracle(answer, Box([-1.0, -1.0], [2.0, 1.0]))
    oracle.witness = ("row",)
    for method, names in ((G.Subgradient, ["row", "weather"]), (G.Kelley, ["row"])):
        seen: list[list[str]] = []
        result = minimize(oracle, listening(method, seen), [0.5, 0.5], max_calls=2)
        assert seen == [names] * result.n_calls
        assert result.cut is not None
        assert "weather" in result.cut.extras


def test_a_cut_of_witnesses_alone_is_not_copied() -> None:
    parts = tuple(ObjectiveCut(np.zeros(2), 1.0, np.ones(2), extras={"row": i}) for i in range(3))
    cut = ObjectiveCut(np.zeros(2), 3.0, 3 * np.ones(2), summands=parts)
    assert bearing(cut, ("row",)) is cut
    bare = bearing(cut, ())
    assert isinstance(bare, ObjectiveCut)
    assert [dict(one.extras) for one in bare.summands] == [{}] * 3
