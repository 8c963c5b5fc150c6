"""Of the thousands of cuts of an average as few stand in a certificate as prove the same."""

import numpy as np
import pytest
from signed_cuts import Signed
from table_problems import PROBLEMS

from oracle_opt import Box, CapabilityMismatch, Domain, NonnegativeOrthant, QueryPointGenerator, Simplex, minimize
from oracle_opt.certificates import claim_weights as module
from oracle_opt.certificates.claim_weights import fewest_claims
from oracle_opt.generators import Ellipsoid, MirrorDescent, ProximalBundle, Subgradient
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.parts import Weighted, combined

BOX = Box(np.full(5, -1.0), np.full(5, 2.0))


def many(seed: int, n_summands: int = 0, n_half_spaces: int = 0, n: int = 5, scale: float = 1.0) -> list[Weighted]:
    rng = np.random.default_rng(seed)

    def claim(kind: ClaimKind, j: int = 0, N: int = 0) -> CutClaim:
        constant = float(rng.normal())
        if kind is ClaimKind.HALF_SPACE:  # all hold the origin
            constant = -abs(constant)
        return CutClaim(kind, scale * constant, scale * rng.normal(size=n), j, N)

    claims = [claim(ClaimKind.MINORANT) for _ in range(150)]
    claims += [claim(ClaimKind.SUMMAND, j, n_summands) for j in range(n_summands) for _ in range(60)]
    claims += [claim(ClaimKind.HALF_SPACE) for _ in range(n_half_spaces)]
    weights = rng.dirichlet(np.ones(len(claims)))
    for j in range(n_summands):
        own = [i for i, one in enumerate(claims) if one.kind is ClaimKind.SUMMAND and one.summand == j]
        weights[own] *= 0.3 / weights[own].sum()
    return [(float(weight), claim) for weight, claim in zip(weights, claims, strict=True)]


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e12])
@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 40), (2, 40)], ids=str)
@pytest.mark.parametrize("domain", [BOX, Simplex(5)], ids=repr)
def test_few_claims_prove_no_less(domain: Domain, shape: tuple[int, int], scale: float) -> None:
    for seed in range(4):
        terms = many(seed, *shape, scale=scale)
        few = fewest_claims(domain, terms)
        assert len(few) <= 5 + 1 + shape[0]
        assert all(weight > 0 and any(one is claim for _, claim in terms) for weight, one in few)
        (before, slope), (after, other) = combined(terms), combined(few)
        np.testing.assert_allclose(other, slope, rtol=0, atol=1e-14 * scale)
        assert after >= before - 1e-14 * scale
        sums = [
            [sum(w for w, one in some if one.kind is ClaimKind.SUMMAND and one.summand == j) for j in range(shape[0])]
            for some in (terms, few)
        ]
        np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12)


def test_claims_are_left_alone_where_they_are_few_many_numbers_or_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = many(0)
    assert fewest_claims(BOX, terms[:90]) is not None
    assert len(fewest_claims(BOX, terms[:90])) == 90
    assert fewest_claims(NonnegativeOrthant(5), terms) is terms
    unfinite = [*terms, (0.5, CutClaim(ClaimKind.MINORANT, -np.inf, np.zeros(5)))]
    assert fewest_claims(BOX, unfinite) is unfinite
    many_variables = Box(np.zeros(80), np.ones(80))
    assert len(fewest_claims(many_variables, many(0, n=80))) == 150
    monkeypatch.setattr(module, "LARGE", 700)
    assert fewest_claims(BOX, terms) is terms


def test_claims_are_left_alone_where_rounding_would_cost_something(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = many(1)
    monkeypatch.setattr(module, "LOST", 0.0)
    slack = [(weight, claim) for weight, claim in fewest_claims(BOX, terms)]
    assert len(slack) in (150, 6)  # rounding may have been on our side
    monkeypatch.setattr(module, "_vertex", lambda matrix, constants, sides: np.eye(150)[0])
    assert fewest_claims(BOX, terms) is terms
    monkeypatch.setattr(module, "_vertex", lambda matrix, constants, sides: None)
    assert fewest_claims(BOX, terms) is terms


@pytest.mark.campaign(3)
@pytest.mark.parametrize(
    "generator", [Subgradient(), MirrorDescent(), Ellipsoid(), ProximalBundle(max_cuts=6)], ids=repr
)
@pytest.mark.parametrize("name", ["absolute values on simplex", "sum of maxima on box", "TR48", "MAXQUAD"])
def test_certificates_of_long_runs_name_few_cuts(name: str, generator: QueryPointGenerator) -> None:
    problem = next((one for one in PROBLEMS if one.name == name), None)
    if problem is None:
        pytest.skip(f"the data of {name} are not at hand")
    oracle = Signed(problem.make())
    try:
        result = minimize(oracle, generator, problem.start, rtol=1e-9, max_calls=250)
    except CapabilityMismatch:
        pytest.skip("it cannot serve this domain")
    assert result.proof is not None
    certificate = result.certificate()
    assert len(certificate.cuts) <= max(100, 2 * oracle.domain.dimension + 2)
    assert certificate.lower == result.lower_bound
    verdict = certificate.verify(oracle)
    assert verdict.n_given == 0
