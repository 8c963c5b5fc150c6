"""Rules of the checker of certificates, one by one."""

import pytest

from oracle_opt.certificates import verify

LINE = {"line": "cut", "multiplier": "0x1p+0", "constant": "0x0p+0", "slope": "0x1p+0"}


def summand(j, multiplier, n_summands=2):
    return {**LINE, "kind": "summand", "summand": j, "n_summands": n_summands, "multiplier": multiplier}


def test_summands_get_the_same_sum():
    """What is missing of the second one, 1/4, goes to its larger multiplier."""
    cuts = [summand(0, "0x1p+0"), summand(1, "0x1p-2"), summand(1, "0x1p-1")]
    weights, total = verify.weights_of(cuts)
    assert [4 * weight // verify.ONE for weight in weights] == [4, 1, 3]
    assert total == verify.ONE


@pytest.mark.parametrize(
    ("cuts", "match"),
    [
        pytest.param([summand(0, "0x1p+0"), summand(2, "0x1p+0")], "line 4, cut 1: summand 2 of 2", id="number"),
        pytest.param([summand(0, "0x1p+0"), summand(-1, "0x1p+0")], "summand -1 of 2", id="negative"),
        pytest.param([summand(0, "0x1p+0"), summand(1, "0x1p+0", 3)], "summand 1 of 3 is none of 2", id="count"),
        pytest.param([summand(0, "0x1p+0")], "1 of 2 summands have no cut", id="missing"),
        pytest.param([{**LINE, "kind": "bound"}], "slope of a bound is not 0", id="bound"),
        pytest.param([{**LINE, "kind": "half-space"}], "no cut of f", id="half-space alone"),
        pytest.param([{**LINE, "kind": "other"}], "no kind 'other'", id="kind"),
    ],
)
def test_cuts_that_make_no_minorant(cuts, match):
    with pytest.raises(verify.FalseLine, match=match):
        verify.weights_of(cuts)


ROW = {"slope": "0x1p+0", "rhs": "0x1p+0", "equation": False, "multiplier": "-0x1p+0"}
WIDE = {"lower": "-0x1p+2", "upper": "0x1p+2", "rows": []}


def test_rows():
    """``z`` is at least 1 if z = 1, by the multiplier -1; an inequality proves nothing of the kind."""
    assert verify.minimum({**WIDE, "rows": [{**ROW, "equation": True}]}, [verify.ONE], verify.ONE) == verify.ONE
    for equation in (False, 1, "true"):
        with pytest.raises(verify.FalseLine, match="row 0 is negative"):
            verify.minimum({**WIDE, "rows": [{**ROW, "equation": equation}]}, [verify.ONE], verify.ONE)


def test_bounds_that_leave_nothing():
    with pytest.raises(verify.FalseLine, match="above the upper"):
        verify.minimum({**WIDE, "lower": "0x1p+3"}, [verify.ONE], verify.ONE)


def test_roots_and_floats_are_rounded_up():
    assert [verify.root_above(square) for square in (0, 1, 2, 4, 5, 9, 10**40 + 1)] == [0, 1, 2, 2, 3, 3, 10**20 + 1]
    ball = {"center": "0x0p+0 0x0p+0", "radius": "0x1p+0"}
    least = verify.minimum(ball, [1, 1], 1)
    assert least == -2  # the square root of 2 is no integer
