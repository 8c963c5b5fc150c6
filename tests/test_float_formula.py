"""The formula of kernel learning in floats, of which cuts are made: no more than fractions prove, and hardly less."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from oracle_opt.oracles import Groups
from oracle_opt.oracles.mkl.formula import Proven, least, proven, value_at
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions

CLOSE = 1e-12


def piecewise(rng: np.random.Generator) -> tuple[Separable, np.ndarray]:
    """A loss of any kind that is piecewise quadratic, and dual variables in its box, some of them at an end."""
    n, size = int(rng.integers(1, 40)), 10.0 ** rng.uniform(-3, 3)
    linear = rng.normal(size=n) * size if rng.random() < 0.5 else rng.choice([-1.0, 1.0], n)
    upper, lower = rng.uniform(0.1, 10.0, n), -rng.uniform(0.1, 10.0, n)
    if rng.random() < 0.5:
        lower = np.where(linear > 0, 0.0, lower)
    ridge = rng.uniform(0.01, 1.0, n) * (rng.random(n) < 0.8) if rng.random() < 0.5 else None
    kink = rng.uniform(0.0, 0.3, n) * size if rng.random() < 0.5 else None
    total, offset = rng.choice([0.0, 0.0, 0.1]), rng.normal()
    loss = Separable(linear, lower, upper, kink, ridge, total, 0.0 if total or rng.random() < 0.5 else offset)
    b = np.clip(rng.normal(size=n) * rng.choice([0.1, 1.0, 100.0]), lower, upper) * (rng.random(n) < 0.7)
    return loss, b


def proven_of(loss: Separable, b: np.ndarray, moved: float, forms: Floats) -> Proven:
    return proven(loss, b, moved, forms, partial(loss.longest_multiple, b), Floats)


@pytest.mark.parametrize("seed", range(300))
def test_floats_prove_no_more_than_fractions(seed: int) -> None:
    """And no less, up to rounding."""
    rng = np.random.default_rng(seed)
    loss, b = piecewise(rng)
    moved = rng.choice([0.0, 1e-15, 1e-6, 0.3])
    p = int(rng.integers(1, 30))
    S, wrong = rng.exponential(size=p) * np.abs(b).sum() ** 2, 10.0 ** rng.uniform(-16, -6)
    S[rng.random(p) < 0.2] = -1e-12
    near, w = Floats(S, np.full(p, wrong)), rng.dirichlet(np.ones(p)) - 1e-12 * (rng.random(p) < 0.1)
    above = Fractions.of(S) + Fractions.of(np.full(p, wrong))
    limit, simplex = loss.longest_multiple(b), Groups(p)
    found = proven_of(loss, b, moved, near)
    # a longest multiple is rounded down
    most = Fraction(limit) * Fraction(1 + 1e-15) if np.isfinite(limit) else Fraction(10**30)
    truth = proven(loss, b, moved, above, lambda: most if limit > 1 else Fraction(1), Fractions)
    assert found.scalable == truth.scalable
    assert (Fractions.of(found.forms) - truth.forms).x.min() >= 0
    value, bound = value_at(found, w).below(), least(found, simplex)
    true_value, true_bound = value_at(truth, w).x, least(truth, simplex)
    assert Fraction(value) <= true_value
    assert Fraction(bound) <= true_bound
    size = np.abs(loss.linear) @ np.abs(b) + (np.abs(loss.linear).max() + 1.0) * moved + abs(w) @ np.abs(found.forms)
    size += 0.0 if loss.ridge is None else float(loss.ridge.max() * (np.abs(b).sum() + 1.0) ** 2)
    assert value >= true_value - CLOSE * size
    assert bound >= true_bound - CLOSE * max(size, float(true_bound))


def test_multiples_at_which_a_bound_is_best_are_found() -> None:
    """Of a line less a parabola, at any multiple: less than 1, hardly more, up to the longest; and 0."""
    for linear, largest, limit, best in (
        (1.0, 4.0, 1.0, 0.125),
        (4.0, 1.0, 3.0, 7.5),
        (4.0, 1.0, 9.0, 8.0),
        (1.0, 1.0 - 1e-9, 9.0, 0.5 + 0.5e-9),
        (1.0, 1.0 - 1e-5, 9.0, 0.5 / (1.0 - 1e-5)),
        (-1.0, 1.0, 9.0, 0.0),
        (1.0, 0.0, 5.0, 5.0),
        (1.0, -1e-30, 5.0, 5.0),
    ):
        loss, b = Separable(np.array([linear]), np.array([-limit]), np.array([limit])), np.ones(1)
        found = proven_of(loss, b, 0.0, Floats(np.array([largest, 0.5 * largest])))
        assert least(found, Groups(2)) == pytest.approx(best, rel=1e-14, abs=1e-14)
        fixed = replace(found, scalable=False)
        assert least(fixed, Groups(2)) == pytest.approx(linear - 0.5 * max(largest, 0.5 * largest), rel=1e-14)


def test_what_is_beyond_all_floats_proves_nothing() -> None:
    loss = Separable(np.array([1e300, 1.0]), np.full(2, -1e300), np.full(2, 1e300))
    with np.errstate(all="ignore"):
        found = proven_of(loss, np.array([1e200, 0.0]), 0.0, Floats(np.ones(2)))
        assert value_at(found, np.full(2, 0.5)).below() == -np.inf
        assert least(found, Groups(2)) == 0.0  # of the multiple 0
        assert least(replace(found, scalable=False), Groups(2)) == -np.inf
