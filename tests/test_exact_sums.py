"""Sums without rounding, and bounds on rounding that hold."""

from fractions import Fraction

import numpy as np
import pytest

from oracle_opt import Ball, Box, Domain, FreeSpace, NonnegativeOrthant, Simplex
from oracle_opt.proof.affine_excess import slope_excess
from oracle_opt.proof.exact_sums import exact_dot


def test_exact_dots_are_sums_of_fractions() -> None:
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e120, 1e-120):
        a, b = scale * rng.normal(size=(2, 50)) * 2.0 ** rng.integers(-40, 40, (2, 50))
        truth = sum(Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
        assert exact_dot(a, b) == truth
    assert exact_dot([5e-324, 1.7e308], [5e-324, 1.7e308]) == Fraction(5e-324) ** 2 + Fraction(1.7e308) ** 2
    with pytest.raises((OverflowError, ValueError)):
        exact_dot([np.inf], [1.0])
    with pytest.raises((OverflowError, ValueError)):
        exact_dot([np.nan], [1.0])


DOMAINS: list[Domain] = [
    Box(np.array([-1.0, 0.0, -3.0]), np.array([2.0, 0.0, 5.0])),
    Simplex(3, 4.0),
    Ball(3, 2.0, [1.0, -1.0, 0.5]),
    FreeSpace(3, 7.0),
    NonnegativeOrthant(3, 2.0),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("scale", [1.0, 1e-13, 1e-170, 1e150])
def test_the_excess_of_a_slope_is_no_less_than_at_any_point(domain: Domain, scale: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        proven = rng.normal(size=3) * (scale if scale < 1e-100 else 1.0)
        claimed, error = proven + scale * rng.normal(size=3), scale * rng.uniform(0, 0.1, 3)
        excess = Fraction(slope_excess(domain, claimed, proven, error))
        for direction in (claimed - proven, np.sign(claimed - proven), *rng.normal(size=(5, 3))):
            middle = domain.interior_point()
            z = middle + (1 - 1e-12) * (domain.minimize_linear(-direction)[1] - middle)
            there = Fraction(0)
            for c, p, e, x in zip(claimed, proven, error, z, strict=True):
                there += (Fraction(c) - Fraction(p)) * Fraction(x) + Fraction(e) * abs(Fraction(x))
            assert excess >= there
        assert slope_excess(domain, claimed, claimed) == 0.0


def test_without_end_nothing_is_proven_of_a_slope_that_differs() -> None:
    domain = NonnegativeOrthant(2)
    assert slope_excess(domain, np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0.0
    assert slope_excess(domain, np.array([1.0, 1e-9]), np.array([1.0, 0.0])) == np.inf
    assert slope_excess(domain, np.array([1.0, 0.0]), np.array([1.0, 0.0]), 1e-18) == np.inf
