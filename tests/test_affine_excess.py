"""By how much an affine claim exceeds an affine function over a domain, against all corners in fractions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from oracle_opt import Box, FreeSpace, ProductOfSimplices, Simplex
from oracle_opt.certificates.affine_excess import affine_excess
from oracle_opt.certificates.enclosure import Enclosure
from oracle_opt.proof.claim import ClaimKind, CutClaim

N = 4


def corners(domain):
    """All of a box or of a product of simplices, in fractions."""
    if isinstance(domain, Box):
        ends = zip(domain.lower.tolist(), domain.upper.tolist(), strict=True)
        return [[Fraction(end) for end in corner] for corner in product(*ends)]
    blocks = domain.simplices()
    places = [range(start, start + size) for start, size in zip(blocks.starts, blocks.sizes, strict=True)]
    return [[Fraction(blocks.radius) * (j in chosen) for j in range(N)] for chosen in product(*places)]


def excess_at_corners(domain, claim, value, slope, point):
    """The largest of ``constant + s @ z - (value + slope @ (z - point))``, at least 0."""
    at = [Fraction(0)] * N if point is None else [Fraction(one) for one in point.tolist()]
    most = Fraction(0)
    for corner in corners(domain):
        over = Fraction(claim.constant) - Fraction(value)
        for z, s, t, p in zip(corner, claim.slope.tolist(), slope.tolist(), at, strict=True):
            over += Fraction(s) * z - Fraction(t) * (z - p)
        most = max(most, over)
    return most


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("at", ["origin", "point"])
def test_it_is_the_largest_difference_at_a_corner(seed: int, at: str) -> None:
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=N)
    for domain in (Box(lower, lower + rng.uniform(0, 2, N)), Simplex(N, 1.5), ProductOfSimplices([1, 3], 2.0)):
        slope, point = rng.normal(size=N), None if at == "origin" else rng.normal(size=N)
        moved = slope + rng.normal(size=N) * rng.choice([0.0, 1e-9, 1.0], N)
        value = float(rng.normal())
        claim = CutClaim(ClaimKind.MINORANT, value + float(rng.normal()), moved)
        truth = excess_at_corners(domain, claim, value, slope, point)
        given = [Enclosure.of(np.array(value), True), Enclosure.of(slope, True)]
        assert affine_excess(domain, claim, *given, point) == truth
        floats = affine_excess(domain, claim, Enclosure.of(np.array(value)), Enclosure.of(slope), point)
        assert truth <= Fraction(floats)
        assert floats <= float(truth) + 1e-12


def test_where_a_set_has_no_end_slopes_must_agree() -> None:
    slope = np.arange(1.0, 1.0 + N)
    given = Enclosure.of(np.array(0.0)), Enclosure.of(slope)
    domain = FreeSpace(N, np.inf)
    assert 0.25 <= affine_excess(domain, CutClaim(ClaimKind.MINORANT, 0.25, slope), *given) <= 0.25 + 1e-15
    assert affine_excess(domain, CutClaim(ClaimKind.MINORANT, 0.25, slope + 1e-9), *given) == np.inf
