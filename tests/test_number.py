"""Numbers of proofs: floats hold what the same formula gives in fractions, whatever it is made of."""

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from oracle_opt.arrays import EPS
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.plain import Plain
from oracle_opt.proof.rationals import Fractions

SCALES = (1.0, 1e150, 1e-150, 1e-160, 1e-310, 3e307)
Formula = Callable[..., Any]


def _sides(numbers: Any) -> list[tuple[float, float, float, float]]:
    """Numbers, radii, and the ends that they state."""
    x = np.ravel(numbers.x)
    columns = (x, np.broadcast_to(numbers.r, x.shape), np.ravel(numbers.below()), np.ravel(numbers.above()))
    return list(zip(*(one.tolist() for one in columns), strict=True))


def _holds(near: Any, truth: Any) -> None:
    assert np.shape(near.x) == np.shape(truth.x)
    for (x, r, low, high), true in zip(_sides(near), np.ravel(truth.x).tolist(), strict=True):
        assert r != r or r >= 0
        if np.isfinite(x) and np.isfinite(r):
            assert abs(Fraction(x) - true) <= Fraction(r)
        assert low == -np.inf or (np.isfinite(low) and Fraction(low) <= true)
        assert high == np.inf or (np.isfinite(high) and Fraction(high) >= true)


def _first(*v: Any) -> Any:
    return v[0]


def _one(*v: Any) -> Any:
    return v[1][0]


def _grown(rng: np.random.Generator, array: Formula, number: Formula) -> tuple[Formula, Formula]:
    """One step from formulas of an array and of a number to others, each a function of the inputs."""
    kind = rng.integers(10)
    start = np.array([0, 2, 3])
    if kind == 0:
        return lambda *v: array(*v) + number(*v), lambda *v: array(*v).sum()
    if kind == 1:
        return lambda *v: array(*v) * v[1], lambda *v: array(*v).dot(v[1]) - number(*v)
    if kind == 2:
        return lambda *v: v[1] - array(*v), lambda *v: array(*v).max() * 0.5
    if kind == 3:
        return lambda *v: abs(array(*v)), lambda *v: abs(array(*v)).min() + number(*v)
    if kind == 4:
        return lambda *v: array(*v).maximum(number(*v)), lambda *v: number(*v).minimum(0.25)
    if kind == 5:
        return lambda *v: array(*v) / (v[2] + 1.0), lambda *v: number(*v) / 3.0
    if kind == 6:
        return lambda *v: array(*v)[::-1] * number(*v), lambda *v: array(*v)[1]
    if kind == 7:
        return lambda *v: array(*v).mapped(v[3]), lambda *v: array(*v).group_sums(start).sum()
    if kind == 8:
        return lambda *v: array(*v).mapped(sp.csr_array(v[3])), lambda *v: array(*v).group_max(start).dot(np.ones(3))
    return lambda *v: array(*v).minimum(v[1]), lambda *v: 1.0 - number(*v)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(25))
def test_floats_hold_what_fractions_find(scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 7
    a, b = rng.normal(size=(2, n)) * 2.0 ** rng.integers(-8, 8, (2, n)) * min(scale, 1e300)
    a[rng.random(n) < 0.3] = 0.0
    size, A = np.abs(rng.normal(size=n)), rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5)

    def given(numbers: type[Numbers]) -> tuple[Any, ...]:
        return numbers.of(a), numbers.of(b), numbers.of(size), A

    array: Formula = _first
    number: Formula = _one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(6):
            array, number = _grown(rng, array, number)
            for formula in (array, number):
                _holds(formula(*given(Floats)), formula(*given(Fractions)))


def test_radii_are_a_few_units() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 40))
    for found, size in (
        (Floats.of(a) + b, np.abs(a) + np.abs(b)),
        (Floats.of(a) * b, np.abs(a * b)),
        (Floats.of(a) / (1.0 + abs(b)), np.abs(a)),
        (abs(Floats.of(a)).sqrt(), np.sqrt(np.abs(a))),
        (Floats.of(a).dot(b), 48 * np.abs(a) @ np.abs(b)),
        (Floats.of(a).sum(), 48 * np.abs(a).sum()),
    ):
        assert (found.r <= 8 * EPS * size).all()


@pytest.mark.parametrize("seed", range(50))
def test_radii_of_what_goes_in_are_carried_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    middle, other = rng.normal(size=(2, 6))
    radius, share = np.abs(rng.normal(size=6)) * 10.0 ** rng.integers(-20, 0), rng.uniform(-1, 1, 6)
    true = [Fraction(m) + Fraction(r) * Fraction(t) for m, r, t in zip(middle, radius, share, strict=True)]
    near, exact, steep = Floats(middle, radius), Fractions.of(true), np.abs(other) + 2.0
    starts, A = np.array([0, 4]), rng.normal(size=(4, 6))
    for formula in (
        lambda v: v + other,
        lambda v: v * other * v,
        lambda v: other / (steep + v * 0.1),
        lambda v: v.dot(other),
        lambda v: v.dot(v),
        lambda v: v.sum() - v.max() + v.min(),
        lambda v: v.mapped(A),
        lambda v: v.mapped(sp.csc_array(A)),
        lambda v: v.group_sums(starts),
        lambda v: v.group_max(starts),
        lambda v: v[np.array([1, 1, 5])].maximum(other[:3]),
        lambda v: (v * np.ones((3, 1))).sum(axis=0),
        lambda v: (v * np.ones((3, 1))).sum(axis=1),
        lambda v: type(v).joined([v, v[2], other]),
    ):
        _holds(formula(near), formula(exact))


@pytest.mark.parametrize("kind", [Floats, Fractions])
def test_nothing_is_counted_too(kind: type[Numbers]) -> None:
    none = kind.of(np.zeros(0))
    assert none.sum().x == none.dot(np.zeros(0)).x == 0
    assert (none + 1.0).x.shape == (none * none).x.shape == none.sqrt().x.shape == (0,)
    assert none.mapped(np.zeros((3, 0))).x.tolist() == none.mapped(sp.csr_array((3, 0))).x.tolist() == [0, 0, 0]
    assert kind.of(np.zeros((2, 0))).sum(axis=1).x.tolist() == [0, 0]
    assert none.sum().below() <= 0 <= none.sum().above()
    assert (kind.of(0.0) * 3.0).above() == (kind.of(np.zeros(2)) * 3.0).x.sum() == 0


def test_roots_are_at_least_roots() -> None:
    rng = np.random.default_rng(3)
    values = np.abs(rng.normal(size=200)) * 10.0 ** rng.uniform(-320, 300, 200)
    exact = Fractions.of(values).sqrt().x
    for v, root in zip(values.tolist(), exact.tolist(), strict=True):
        assert Fraction(v) <= root**2 <= Fraction(v) * (1 + Fraction(1, 2**150))
    for near in (Floats.of(values), Floats(values, 1e-9 * values)):
        assert all(
            Fraction(end) >= root for end, root in zip(near.sqrt().above().tolist(), exact.tolist(), strict=True)
        )
        assert all(
            Fraction(end) <= root for end, root in zip(near.sqrt().below().tolist(), exact.tolist(), strict=True)
        )
    for square in (0.0, 1.0, 2.25, 1e4):
        assert Fractions.of(square).sqrt().x ** 2 == Fraction(square)
    assert Floats.of(-1.0).sqrt().above() == Fractions.of(-1.0).sqrt().x == Plain.of(-1.0).sqrt().x == 0
    assert 1.0 <= Floats(-1.0, 2.0).sqrt().above() <= 1.0 + 1e-12


def test_numbers_of_all_kinds_are_read() -> None:
    third = Fraction(1, 3)
    _holds(Floats.of(third), Fractions.of(third))
    _holds(Floats.of([third, 2, 0.1]), Fractions.of([third, 2, 0.1]))
    _holds(Floats.of(10**30), Fractions.of(10**30))
    _holds(np.float64(2.0) * Floats.of(np.arange(3)) - 1, np.float64(2.0) * Fractions.of(np.arange(3)) - 1)
    assert Floats.of(3).below() == 3.0
    assert Floats.of(np.array([True, False])).above().tolist() == [1.0, 0.0]
    for bad in (np.inf, np.nan, [1.0, -np.inf]):
        with pytest.raises(ArithmeticError):
            Fractions.of(bad)


def test_what_is_beyond_all_floats_is_not_known() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        large = Floats.of(np.array([1e308, 1.0])) * 1e10
        assert large.below()[0] == -np.inf
        assert large.above()[0] == np.inf
        assert large.dot(np.zeros(2)).below() == -np.inf
        assert (large - large).sum().above() == np.inf
        assert (1.0 / Floats(1.0, 2.0)).above() == np.inf
        assert (Floats.of(1.0) / 0.0).below() == -np.inf
        assert np.isnan(Floats.of(np.nan).x)
    with pytest.raises(ZeroDivisionError):
        Fractions.of(1.0) / 0.0


def test_ends_are_directed() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        x, r = rng.normal(), abs(rng.normal()) * 10.0 ** rng.integers(-30, 3)
        one = Floats(x, r)
        assert Fraction(one.below()) <= Fraction(x) - Fraction(r)
        assert Fraction(one.above()) >= Fraction(x) + Fraction(r)
        assert Fractions.of(x).below() == Fractions.of(x).above() == Fraction(x)


@pytest.mark.parametrize("radius", [0.0, 1e-9])
def test_powers_exponentials_and_divergences_hold(radius: float) -> None:
    """Fractions are rounded up in the 50th digit, which is far inside a radius; plain floats are close."""
    rng = np.random.default_rng(5)
    signed = np.concatenate([rng.normal(size=40) * 10.0 ** rng.uniform(-12, 0.5, 40), [0.0, 1.0]])
    for values, formula in (
        (np.abs(signed), lambda v: v.power(Fraction(4, 3))),
        (np.abs(signed), lambda v: v.power(Fraction(7))),
        (signed, lambda v: v.expm1()),
        (np.maximum(signed, -1.0), lambda v: v.divergence()),
    ):
        exact = formula(Fractions.of(values))
        near = formula(Floats(values, radius * np.abs(values)) if radius else Floats.of(values))
        for low, high, true in zip(near.below().tolist(), near.above().tolist(), exact.x.tolist(), strict=True):
            assert Fraction(low) <= true * (1 + Fraction(1, 10**40)) if true > 0 else Fraction(low) <= true
            assert Fraction(high) >= true - abs(true) * Fraction(1, 10**25)
        np.testing.assert_allclose(formula(Plain.of(values)).x, exact.x.astype(float), rtol=1e-13)
    assert Floats.of(1e-200).power(Fraction(5, 2)).above() > 0  # it is 1e-500
