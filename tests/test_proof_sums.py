"""Sums of proofs: rounded once where that is said, exact where floats hold them, and never beyond their ends."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from oracle_opt.oracles.kernels import GramBank
from oracle_opt.oracles.mkl.form_proof import forms_above, forms_of_products, products_by_parts
from oracle_opt.proof.decimals import exp_less_one_above
from oracle_opt.proof.enclosed_products import scattered, transposed_times
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions


def wide(rng: np.random.Generator, count: int) -> np.ndarray:
    """Numbers of either sign over many powers of two."""
    return rng.normal(size=count) * 2.0 ** rng.integers(-40, 40, count)


@pytest.mark.parametrize("seed", range(20))
def test_sums_between_ends_are_rounded_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, ends = wide(rng, 60), [0, 0, 7, 7, 40, 60, 60]
    truth = Fractions.of(x).sums(ends).x
    plain = Floats.of(x).sums(ends)
    unsure = Floats(x, np.abs(wide(rng, 60)) * 1e-9)
    moved = Fractions.of(x + unsure.r * rng.uniform(-0.99, 0.99, 60)).sums(ends).x
    for k, (first, last) in enumerate(pairwise(ends)):
        assert truth[k] == sum(map(Fraction, x[first:last].tolist()), Fraction(0))
        assert plain.below()[k] <= truth[k] <= plain.above()[k]
        assert plain.above()[k] - plain.below()[k] <= 1e-15 * abs(float(truth[k])) + 1e-300
        assert unsure.sums(ends).below()[k] <= moved[k] <= unsure.sums(ends).above()[k]
    with pytest.raises((OverflowError, ValueError)):
        Floats.of(np.array([np.inf, -np.inf])).sums([0, 2])


@pytest.mark.parametrize("count", [500, 513, 700, 1024])
def test_long_sums_and_products_hold_the_exact_ones(count: int) -> None:
    x, y = np.random.default_rng(count).normal(size=(2, count))
    for near, exact in ((Floats.of(x), Fractions.of(x)), (Floats(x, 1e-9 * np.abs(x)), Fractions.of(x))):
        assert near.sum().below() <= exact.sum().x <= near.sum().above()
        assert near.dot(y).below() <= exact.dot(y).x <= near.dot(y).above()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_along_an_axis_of_fractions(axis: int | None) -> None:
    x = wide(np.random.default_rng(0), 12).reshape(3, 4)
    sums = Fractions.of(x).sum(axis=axis).x
    lines = [x.ravel()] if axis is None else x.T if axis == 0 else x
    assert np.ravel(sums).tolist() == [sum(map(Fraction, line.tolist())) for line in lines]
    least = Fractions.of(x).minimum(0.5).x
    assert least.tolist() == [[min(Fraction(one), Fraction(1, 2)) for one in row] for row in x.tolist()]


@pytest.mark.parametrize("seed", range(20))
def test_enclosed_sums_hold_the_truth_and_are_exact_where_floats_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = wide(rng, 200), wide(rng, 200)
    a[:50], b[:50] = rng.integers(-99, 99, 50), rng.integers(-99, 99, 50)
    both = Enclosure.of(a) + b
    assert (both.lower == both.upper)[:50].all()
    for x, y, low, high in zip(a, b, both.lower, both.upper, strict=True):
        truth = Fraction(x) + Fraction(y)
        assert Fraction(low) <= truth <= Fraction(high)
        assert (low == high) == (Fraction(x + y) == truth)
    with np.errstate(over="ignore", invalid="ignore"):
        huge = Enclosure.of(np.array([1.7e308, -1.7e308])) + 1.7e308
    assert huge.lower[0] < np.inf == huge.upper[0]
    assert huge.lower[1] == huge.upper[1] == 0.0


def test_fractions_become_floats_outward_and_largest_products_are_the_upper_ends() -> None:
    third = Enclosure.of(np.ones(2), exact=True) / 3
    near = third.floats()
    assert not near.exact
    assert (near.lower < near.upper).all()
    assert Fraction(near.lower[0]) < Fraction(1, 3) < Fraction(near.upper[0])
    rng = np.random.default_rng(0)
    low, other = rng.normal(size=(2, 30))
    one, two = Enclosure(low, low + rng.uniform(0, 1, 30)), Enclosure(other, other + rng.uniform(0, 1, 30))
    product = one * two
    assert (one.most_times(two).upper == product.upper).all()
    sides = zip(one.lower, one.upper, two.lower, two.upper, product.lower, product.upper, strict=True)
    for a, b, c, d, least, most in sides:
        corners = [Fraction(x) * Fraction(y) for x in (a, b) for y in (c, d)]
        assert least <= min(corners) <= max(corners) <= most
        assert most - least <= float(max(corners) - min(corners)) + 1e-14


def test_whole_numbers_are_gathered_without_rounding() -> None:
    places = np.array([0, 1, 0, 2, 0])
    whole = scattered(Enclosure.of(np.array([3.0, 1.0, 4.0, 1.0, 5.0])), places, 4)
    assert whole.lower.tolist() == whole.upper.tolist() == [12.0, 1.0, 1.0, 0.0]
    parts = scattered(Enclosure.of(np.array([0.1, 0.2, 0.3])), np.zeros(3, dtype=int), 1)
    assert parts.lower[0] < Fraction(0.1) + Fraction(0.2) + Fraction(0.3) < parts.upper[0]


@pytest.mark.parametrize("shape", [(1000, 1), (1, 1000), (30, 30)])
def test_products_hold_the_exact_ones_where_terms_cancel(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, y = rng.normal(size=shape), rng.normal(size=shape[0])
        product = transposed_times(A, Enclosure.of(y))
        for column, lower, upper in zip(A.T, product.lower, product.upper, strict=True):
            truth = sum(
                (Fraction(a) * Fraction(b) for a, b in zip(column.tolist(), y.tolist(), strict=True)), Fraction(0)
            )
            assert lower <= truth <= upper


@pytest.mark.parametrize("x", [1e-13, -1e-13, 9e-13, -9e-13])
def test_an_exponential_near_0_is_bounded_from_above(x: float) -> None:
    x = Fraction(x)
    truth = x + x**2 / 2 + x**3 / 6  # less x**4 / 24 and more, which is positive
    assert 0 < exp_less_one_above(x) - truth < 2 * abs(x) ** 3


def test_radii_of_forms_add_up_from_above() -> None:
    rng = np.random.default_rng(0)
    x, r = rng.normal(size=300), rng.uniform(0, 1, (300, 40))
    found = forms_of_products(x, Floats(np.zeros((300, 40)), r)).r
    for column, radius in zip(r.T, found, strict=True):
        sizes = zip(np.abs(x).tolist(), column.tolist(), strict=True)
        assert radius >= sum((Fraction(a) * Fraction(b) for a, b in sizes), Fraction(0))


@pytest.mark.parametrize("seed", range(5))
def test_products_by_leading_digits_hold_the_exact_ones(seed: int) -> None:
    """Of a kernel that is nearly constant with a vector that sums up to nearly 0: all but the last digits cancel."""
    rng = np.random.default_rng(seed)
    root, b = rng.normal(size=(20, 3)), rng.normal(size=20)
    K, b = 1.0 + 1e-9 * root @ root.T, b - b.mean()
    found = products_by_parts(GramBank(K[None], check=False), np.arange(20), b)
    for row, value, radius in zip(K, found.x[:, 0], found.r[:, 0], strict=True):
        truth = sum((Fraction(x) * Fraction(y) for x, y in zip(row, b, strict=True)), Fraction(0))
        assert abs(Fraction(value) - truth) <= radius <= 1e-20


@pytest.mark.parametrize(("size", "entry"), [(1e-100, 1e-200), (1e-170, 1.0), (1e-20, 5e-324)])
def test_forms_whose_products_underflow_are_bounded_from_above(size: float, entry: float) -> None:
    x = [Fraction(size)] * 3
    (above,) = forms_above(GramBank(np.full((1, 3, 3), entry), check=False), np.arange(3), x, exact=False)
    assert above >= 9 * Fraction(size) ** 2 * Fraction(entry)
