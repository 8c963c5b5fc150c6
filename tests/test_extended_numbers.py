"""Numbers in extended precision hold what the same formula gives in fractions, and lose far less than floats."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from oracle_opt.proof.extended import UNIT, Extended
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions


def held(near, truth):
    """All numbers are within their radii, and between the floats below and above them."""
    x, r = np.ravel(near.x), np.broadcast_to(near.r, np.shape(near.x)).ravel()
    ends = zip(np.ravel(near.below()).tolist(), np.ravel(near.above()).tolist(), strict=True)
    for value, radius, (low, high), true in zip(x, r, ends, np.ravel(truth.x).tolist(), strict=True):
        assert abs(Fraction(*value.as_integer_ratio()) - true) <= Fraction(*np.longdouble(radius).as_integer_ratio())
        assert Fraction(low) <= true <= Fraction(high)


@pytest.mark.parametrize("seed", range(20))
def test_formulas_hold_what_fractions_say(seed):
    rng = np.random.default_rng(seed)
    b, a, third = rng.normal(size=(4, 3)), rng.normal(size=(5, 4)), Fraction(1, int(rng.integers(3, 50)))
    a[rng.random(a.shape) < 0.4] = 0.0
    matrix = sparse.csr_array(a) if seed % 2 else a

    def formula(kind):
        x = kind.of(b) * kind.of(third)
        y = 0.5 - x.mapped(matrix)
        z = (y * y).sum(axis=0) - y[1:3].maximum(0.125).sum(axis=0)
        return y, z, z.dot(x[0]), kind.of(np.array([third, Fraction(1, 2), 3.0], dtype=object))

    for near, floats, truth in zip(*map(formula, (Extended, Floats, Fractions)), strict=True):
        held(near, truth)
        assert (np.max(near.r) <= 1e-2 * np.max(floats.r)) or UNIT > 1e-18


def test_what_is_nothing_has_no_radius():
    zero = Extended.of(np.array([0.0, 1.0])) * np.zeros(2)
    assert zero.above().tolist() == zero.below().tolist() == [0.0, 0.0]
    assert Extended.of(0.1).below() == Extended.of(0.1).above() == 0.1
    one = Extended.of(np.array([Fraction(1, 2), Fraction(1, 3)], dtype=object))
    assert one.r[0] == 0.0 < one.r[1]


def test_sums_of_many_terms_that_cancel_keep_their_digits():
    x = np.random.default_rng(0).normal(size=10_000)
    total = Extended.of(np.concatenate([x, -x, [1e-9]])).sum()
    held(total, Fractions.of(Fraction(1e-9)))
    assert total.r < 1e-10
