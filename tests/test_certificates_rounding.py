"""Where rounding could part what a run claims from what its certificate proves: certificates lose next to nothing."""

from fractions import Fraction

import numpy as np
import pytest

from oracle_opt import Cut, FunctionOracle, InvalidCertificate, Oracle, QueryPointGenerator, minimize, problems
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate_file import hexadecimal, set_words
from oracle_opt.certificates.claim_weights import level_weights
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut
from oracle_opt.domains import Box, Domain, NonnegativeOrthant, Polyhedron, Simplex
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.parts import Combination, combined

GENERATORS = [ProximalBundle(max_cuts=6), Kelley(max_cuts=6), LevelSet(), AnalyticCenter(), Ellipsoid()]
BOX, SIMPLEX = Box(np.full(4, -2.0), np.full(4, 3.0)), Simplex(4)


def summed(domain: Domain, sizes: list[float], heights: float = 0.0, noise: float = 0.0, rows: bool = False) -> Oracle:
    """A sum of maxima of these sizes; slopes that nearly repeat, inexact values, half-spaces with a tolerance."""
    rng = np.random.default_rng(1)
    k = len(sizes)
    slopes, constants = rng.normal(size=(k, 8, 4)), rng.normal(size=(k, 8))
    slopes, constants = slopes * np.reshape(sizes, (k, 1, 1)), constants * np.reshape(sizes, (k, 1)) + heights
    normals = rng.normal(size=(6, 4))
    sides = normals @ domain.interior_point() + 0.05

    def function(z: np.ndarray) -> Cut:
        over = normals @ z - sides
        if rows and over.max() > 1e-7:
            i = int(over.argmax())
            return FeasibilityCut(z, float(over[i]), normals[i].copy(), error=1e-7)
        values = slopes @ z + constants
        chosen = values.argmax(axis=1)
        summands = []
        for j, i in enumerate(chosen.tolist()):
            error = noise * abs(values[j, i])
            slope = slopes[j, i] * (1.0 + 1e-14 * rng.normal() * bool(noise))
            summands.append(ObjectiveCut(z, float(values[j, i] - error), slope, 2.0 * float(error)))
        value, slope = sum(one.value for one in summands), sum(one.subgradient for one in summands)
        error = sum(one.error for one in summands) + 1e-13 * float(np.abs(values).max())
        return ObjectiveCut(z, value - 1e-14 * abs(value), slope, error, summands=tuple(summands))

    return FunctionOracle(function, domain, gives={FeasibilityCut} if rows else ())


@pytest.mark.campaign(2)
@pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("rows", [False, True], ids=["all", "half-spaces"])
@pytest.mark.parametrize("domain", [BOX, SIMPLEX], ids=repr)
@pytest.mark.parametrize(
    ("sizes", "heights", "noise"),
    [
        ([1.0, 1e4, 1e8], 0.0, 0.0),
        ([1e-200, 1.0, 1e-9], 0.0, 0.0),
        ([1.0, 1.0], 1e13, 0.0),
        ([1.0], -1e15, 0.0),
        ([1e-150], 0.0, 0.0),
        ([1e60], 0.0, 0.0),
        ([1.0, 1.0, 1.0], 0.0, 1e-6),
    ],
    ids=["summands of all sizes", "tiny summands", "high", "low", "tiny", "huge", "inexact"],
)
def test_nothing_is_lost(
    generator: QueryPointGenerator, domain: Domain, rows: bool, sizes: list[float], heights: float, noise: float
) -> None:
    result = minimize(summed(domain, sizes, heights, noise, rows), generator, rtol=1e-9, max_calls=30)
    if result.cut is None:
        pytest.skip("no feasible point was asked")
    assert result.certificate().lower == result.lower_bound


def tilted(n: int, seed: int, domain: Domain) -> tuple[Oracle, float]:
    """A sum of slopes up and down from a point inside; no float weights make most of these level."""
    rng = np.random.default_rng(seed)
    best, up, down = rng.uniform(0.5, 2.0, size=n), rng.uniform(0.1, 3.0, size=n), rng.uniform(0.1, 3.0, size=n)

    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        right = z > best
        return float(np.where(right, up * (z - best), down * (best - z)).sum()) + 1.0, np.where(right, up, -down)

    return FunctionOracle(function, domain), 1.0


@pytest.mark.parametrize("domain", [NonnegativeOrthant(2), Box([-np.inf, 0.0], [5.0, np.inf])], ids=repr)
def test_minorants_that_are_level_up_to_rounding_do_not_fall_for_ever(domain: Domain) -> None:
    fallen = 0
    for seed in range(25):
        oracle, optimum = tilted(2, seed, domain)
        result = minimize(oracle, ProximalBundle(), rtol=1e-9, max_calls=60)
        if not np.isfinite(result.lower_bound):
            continue
        certificate = result.certificate()
        assert certificate.verify().holds
        assert result.lower_bound - 1e-12 <= certificate.lower <= optimum
        assert result.proof is not None
        terms, level = result.proof.terms, certificate.multipliers
        fallen += len(terms) == len(level) and bool((np.array([weight for weight, _ in terms]) != level).any())
    assert fallen > 3  # else there was nothing to be seen


def test_weights_of_summands_lean_together() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = rng.uniform(0.1, 3.0, size=2)
        share = b / (a + b)
        claims = [CutClaim(ClaimKind.SUMMAND, 0.0, np.array([s]), j, 2) for j, s in ((0, a), (0, -b), (1, 0.0))]
        terms = [(share, claims[0]), (1.0 - share, claims[1]), (1.0, claims[2])]
        new = level_weights(NonnegativeOrthant(1), terms)
        weights = [Fraction(weight) for weight, _ in new]
        assert weights[0] * Fraction(a) >= weights[1] * Fraction(b)
        assert abs(weights[0] + weights[1] - weights[2]) < Fraction(1, 10**15)
        assert all(abs(one - Fraction(old)) < Fraction(1, 10**13) for one, (old, _) in zip(weights, terms, strict=True))


@pytest.mark.parametrize("domain", [Box([0.0], [1.0]), NonnegativeOrthant(1)], ids=repr)
def test_weights_are_left_alone_where_nothing_helps_or_nothing_is_to_be_done(domain: Domain) -> None:
    falling, rising = (CutClaim(ClaimKind.MINORANT, 0.0, np.array([slope])) for slope in (-1.0, 1.0))
    for terms in ([(1.0, falling)], [(0.5, falling), (0.25, rising)], [(0.25, falling), (0.5, rising)], []):
        assert level_weights(domain, terms) is terms


def test_a_variable_without_any_bound_is_said_to_have_no_certificate() -> None:
    oracle, _ = tilted(1, 3, Box([-np.inf], [np.inf]))
    result = minimize(oracle, ProximalBundle(), rtol=1e-9, max_calls=60)
    if np.isfinite(result.lower_bound):
        with pytest.raises(InvalidCertificate, match="in exact arithmetic the minorant has no minimum"):
            result.certificate()


def test_polyhedra_prove_their_minimum_to_rounding() -> None:
    """The multipliers of a linear program are cleaned: over wide bounds a proof loses its tolerance many times."""
    tried = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(3, 25)), int(rng.integers(0, 5))
        rows = rng.normal(size=(int(rng.integers(1, 2 * n)), n))
        equations = {"equality_matrix": rng.normal(size=(k, n)), "equality_rhs": 0.01 * rng.normal(size=k)}
        domain = Polyhedron(rows, rng.uniform(0.1, 1.0, size=len(rows)), lower=-2.0, upper=1e4, **equations)
        for slope in (rng.normal(size=n), -np.abs(rng.normal(size=len(domain.b))) @ domain.A):
            described = set_words(domain.described(slope)["set"])
            unit = verify.ONE
            least = verify.minimum(described, [verify.units(hexadecimal(s)) * unit for s in slope], unit * unit)
            vertex = domain.minimize_linear(slope)[1]
            assert least is not None
            if domain.contains(vertex, 1e-12):
                tried += 1
                assert float(slope @ vertex) - float(least / unit**2) <= 1e-13 * domain.extent(slope)
    assert tried > 20


def test_what_is_combined_is_what_is_certified() -> None:
    oracle = summed(BOX, [1.0, 3.0], rows=True)
    certificate = minimize(oracle, Kelley(max_cuts=6), rtol=1e-9, max_calls=60).certificate()
    constant, slope = combined(list(zip(certificate.multipliers.tolist(), certificate.cuts, strict=True)))
    minorant = certificate.records[-2]
    np.testing.assert_allclose(slope, [float.fromhex(word) for word in minorant["slope"].split()], atol=1e-14)
    assert constant == pytest.approx(float.fromhex(minorant["constant"]), rel=1e-13)
    assert len(Combination(zip(certificate.multipliers.tolist(), certificate.cuts, strict=True)).weighted()) > 3


@pytest.mark.campaign(24)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("generator", [Kelley(), LevelSet(), ProximalBundle(), AnalyticCenter()], ids=repr)
@pytest.mark.parametrize("name", ["MAXL", "Goffin", "MXHILB", "L1HILB"])
def test_a_minimum_of_0_is_certified_down_to_the_smallest_numbers(generator, name, seed) -> None:
    """Products of numbers near the smallest ones lose all digits: so little is missing where all else is 0."""
    instance = problems.find(f"nonsmooth/{name}")[0]()
    start = instance.start * np.random.default_rng(seed).uniform(0.5, 1.0, len(instance.start))
    result = minimize(instance.oracle, generator, start, max_calls=100)
    result.certificate().verify(instance.oracle)
