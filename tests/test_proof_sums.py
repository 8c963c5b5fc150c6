"""Sums of proofs: rounded once where that is said, exact where floats hold them, and never beyond their ends."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest
from scipy import sparse

from oracle_opt.oracles.kernels import GramBank
from oracle_opt.oracles.mkl.form_proof import forms_above, forms_of_products, products_by_parts
from oracle_opt.proof.elementary import exp_ends, exp_less_one_above, log_ends, power_above
from oracle_opt.proof.elimination import eliminated, semidefinite
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


def test_products_that_underflow_are_not_known_to_be_zero() -> None:
    square = transposed_times(np.array([[1e-200]]), Enclosure.of(np.array([1e-200])))
    assert Fraction(square.lower[0]) <= Fraction(1e-200) ** 2 <= Fraction(square.upper[0])
    assert square.upper[0] > 0
    for matrix in (np.array([[0.0, 3.0]]), sparse.csr_array([[0.0, 3.0]])):
        sums = transposed_times(matrix, Enclosure.of(np.array([1.0])))
        assert sums.lower[0] == sums.upper[0] == 0.0
        assert sums.lower[1] < 3.0 < sums.upper[1]


def test_elementary_functions_of_sizes_that_no_float_has() -> None:
    near = 1 + Fraction(1, 10**200)
    low, high = log_ends(near)
    assert 0 < low < Fraction(1, 10**200) < high * (1 + Fraction(1, 10**100))
    assert -1 < exp_less_one_above(Fraction(-300)) < 0
    assert exp_ends(Fraction(-99_999))[1] < Fraction(1, 10**40_000)
    assert power_above(Fraction(1, 10**300), Fraction(7, 2)) > 0
    for beyond in (lambda: exp_ends(Fraction(10**6)), lambda: power_above(Fraction(10) ** 99_999, Fraction(99, 2))):
        with pytest.raises(OverflowError):
            beyond()


def test_threads_share_the_precision_of_balls() -> None:
    before = flint.ctx.prec
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda k: exp_ends(Fraction(k, 7)), range(2000)))
    assert all(high - low <= high * Fraction(1, 10**100) for low, high in ends)
    assert flint.ctx.prec == before


@pytest.mark.parametrize("seed", range(40))
def test_linear_equations_are_solved_or_have_no_solution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 9, 2)
    matrix = rng.integers(-2, 3, (m, n)) * (rng.uniform(size=(m, n)) < rng.choice([0.2, 0.6, 1.0]))
    right = rng.integers(-3, 4, m) if seed % 2 else matrix @ rng.integers(-3, 4, n)
    lines = [
        ({j: Fraction(int(v)) for j, v in enumerate(row) if v}, Fraction(int(b)))
        for row, b in zip(matrix, right, strict=True)
    ]
    found = eliminated(lines, lambda j: float(j))
    whole = flint.fmpq_mat(np.column_stack([matrix, right]).tolist())
    assert (found is None) == (whole.rank() > flint.fmpq_mat(matrix.tolist()).rank())
    if found is not None:
        assert all(sum((v * found.get(j, 0) for j, v in line.items()), Fraction(0)) == b for line, b in lines)


def test_systems_of_a_thousand_lines_are_told_line_by_line() -> None:
    chain = [({j: Fraction(1), j + 1: Fraction(-2)}, Fraction(0)) for j in range(1000)]
    found = eliminated([*chain, ({1000: Fraction(1)}, Fraction(1))], lambda _: 1.0)
    assert found is not None
    assert found[0] == 2**1000
    assert eliminated([], lambda _: 1.0) == eliminated([({}, Fraction(0))], lambda _: 1.0) == {}
    assert eliminated([({}, Fraction(1))], lambda _: 1.0) is None


@pytest.mark.parametrize("seed", range(20))
def test_definiteness_of_whole_numbers_is_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order, rank = 6, int(rng.integers(1, 7))
    roots = rng.integers(-3, 4, (order, rank))
    squares = roots @ roots.T
    full = flint.fmpq_mat(squares.tolist()).rank() == order
    assert semidefinite(squares.tolist())
    assert semidefinite(squares.tolist(), strictly=True) == full
    assert not semidefinite(
        (squares - (np.linalg.eigvalsh(squares)[0] + 1 + 1e-6).astype(int) * np.eye(order, dtype=int)).tolist()
    )
