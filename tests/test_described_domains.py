"""How domains describe themselves in certificates: the exact minimum is theirs up to rounding, and runs hold."""

from fractions import Fraction

import numpy as np
import pytest
from own_domains import OWN

from oracle_opt import Certificate, FunctionOracle, InvalidCertificate, minimize
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate_file import hexadecimal, set_words
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.generators import SPG, LevelSet, Subgradient

N = 6
RNG = np.random.default_rng(5)
DOMAINS = {
    "simplex": lambda: Simplex(N, 3.0),
    "large simplex": lambda: Simplex(N, 1e9),
    "blocks": lambda: ProductOfSimplices([1, 3, 2], 0.3),
    "box": lambda: Box(-np.arange(N), np.ones(N)),
    "fixed": lambda: Box(np.zeros(N), [0.0, 1.0, 2.0, 0.0, 1e6, 1e-6]),
    "promised": lambda: Box(-np.ones(N), np.ones(N), promised=[[False], [True]]),
    "ball": lambda: Ball(N, 2.5, np.linspace(-1, 1, N)),
    "far ball": lambda: Ball(N, 1e-3, np.full(N, 1e6)),
    "free space": lambda: FreeSpace(N, 7.0, np.ones(N)),
    "orthant": lambda: NonnegativeOrthant(N, 4.0),
    "polytope": lambda: Polyhedron(RNG.random((4, N)), np.ones(4), lower=0.0),
    "sums": lambda: Polyhedron(np.ones((1, N)), [1.0], lower=0.0, upper=1e7),
    "equations": lambda: Polyhedron(
        RNG.normal(size=(3, N)), np.ones(3), equality_matrix=np.ones((1, N)), equality_rhs=[0.5], lower=-2.0, upper=2.0
    ),
    **{f"own {name}": lambda name=name: OWN[name][0] for name in OWN if name != "ellipsoid"},
}


def exact_minimum(domain, slope):
    """What the checker makes of the description, for a slope that is exact."""
    described = {name: set_words(one) for name, one in domain.described(slope).items()}
    whole = [verify.units(hexadecimal(s)) for s in slope.tolist()]
    least = verify.minimum(described.get("promised", described["set"]), whole, verify.ONE)
    return None if least is None else least / verify.ONE


def slopes():
    for scale in (1.0, 1e-9, 1e6):
        for _ in range(8):
            yield scale * RNG.normal(size=N)
    yield from (np.zeros(N), np.ones(N), -np.ones(N), np.eye(N)[2], -np.eye(N)[0], np.array([1.0, 1, -1, -1, 0, 0]))
    yield from RNG.integers(-2, 3, size=(8, N)).astype(float)


@pytest.mark.parametrize("name", DOMAINS)
def test_minima(name):
    domain = DOMAINS[name]()
    for slope in slopes():
        minimum, point = domain.minimize_linear(slope)
        found = exact_minimum(domain, slope)
        room = 1e-13 * domain.extent(slope) + 1e-300
        assert found <= Fraction(minimum) + Fraction(room)
        assert found >= Fraction(minimum) - Fraction(1e4 * room if "polytope" in name or "equations" in name else room)
        assert float(slope @ point) >= float(found) - 1e-8 * domain.extent(slope)


@pytest.mark.parametrize("name", DOMAINS)
def test_points_are_inside_and_points_outside_are_refused(name):
    domain = DOMAINS[name]()
    described = set_words(domain.described(np.zeros(N))["set"])
    for _ in range(20):
        inside = domain.project(domain.interior_point() + 5 * RNG.normal(size=N))
        outside = verify.violations(described, [], [verify.units(hexadecimal(z)) for z in inside.tolist()])
        assert all(amount <= 1e-8 * max(1.0, np.linalg.norm(inside)) for amount in outside.values())
        off = inside + 1e-3 * max(1.0, np.linalg.norm(inside)) * RNG.normal(size=N)
        if name != "promised" and not domain.contains(off, 1e-6):  # which is outside of its promised set
            with pytest.raises(verify.FalseLine, match="not feasible"):
                verify.violations(described, [], [verify.units(hexadecimal(z)) for z in off.tolist()])


@pytest.mark.campaign(9)
@pytest.mark.parametrize("name", DOMAINS)
def test_runs_on_them(name, tmp_path):
    """The largest of random affine functions, and a sum of two squares, by methods that keep different cuts."""
    domain = DOMAINS[name]()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        slopes, heights, target = rng.normal(size=(9, N)), rng.normal(size=9), rng.normal(size=N)

        def pieces(z, slopes=slopes, heights=heights):
            values = slopes @ z + heights
            return float(values.max()), slopes[values.argmax()]

        def square(z, target=target):
            return float((z - target) @ (z - target)), 2 * (z - target)

        for function in (pieces, square):
            oracle = FunctionOracle(function, domain)
            for generator in (LevelSet(), SPG(), Subgradient()):
                if generator.refusal(domain):
                    continue
                result = minimize(oracle, generator, rtol=1e-7, max_calls=40)
                if not np.isfinite(result.lower_bound):
                    continue
                made = Certificate.load(result.certificate().save(tmp_path / "run.jsonl"))
                verdict = made.verify()
                size = 1e-12 * (abs(made.lower) + abs(made.upper)) + 1e-9 * abs(domain.extent(target))
                assert verdict.lower <= result.lower_bound
                assert verdict.lower >= result.lower_bound - size
                assert verdict.upper == result.upper_bound


def test_sets_without_end():
    """A slope that falls for ever has no minimum; one that does not has one."""
    assert exact_minimum(NonnegativeOrthant(2), np.array([1.0, 0.0])) == 0
    assert exact_minimum(NonnegativeOrthant(2), np.array([1.0, -1e-300])) is None
    assert exact_minimum(FreeSpace(2, np.inf), np.zeros(2)) == 0
    assert exact_minimum(FreeSpace(2, np.inf), np.array([0.0, 5e-324])) is None
    assert exact_minimum(Box([-np.inf, 1.0], [2.0, np.inf]), np.array([-1.0, 2.0])) == 0


def test_sets_without_a_description():
    with pytest.raises(InvalidCertificate, match="`linear_constraints` or `described`"):
        OWN["ellipsoid"][0].described(np.ones(N))
