"""Rows of a conic problem that hold always, never, or up to a tolerance, and what the domain takes up of them."""

import numpy as np
import pytest

from oracle_opt import Box, EmptyLocalizationSet, FeasibilityCut, FreeSpace, ObjectiveCut, Polyhedron, Query
from oracle_opt.oracles import ConicOracle, Nonnegative, Zero


@pytest.mark.parametrize("kind", [Nonnegative, Zero])
def test_rows_that_hold_everywhere_leave_the_domain_simple(kind):
    A = [[0.0, 0.0], [-2.0, 0.0], [0.0, 4.0]]
    oracle = ConicOracle([1.0, 1.0], A, [0.0, 6.0, 2.0], [kind(1), Nonnegative(2)], hold_rows=True)
    assert type(oracle.domain) is Box
    assert FeasibilityCut not in oracle.gives
    assert oracle.domain.lower.tolist() == [-3.0, -1e4]
    assert oracle.domain.upper.tolist() == [1e4, 0.5]
    several = ConicOracle([1.0, 1.0], [[0.0, 0.0], [-1.0, -1.0]], [0.0, 6.0], [kind(1), Nonnegative(1)], hold_rows=True)
    assert isinstance(several.domain, Polyhedron)
    assert len(several.domain.b) == 1


@pytest.mark.parametrize("other", [1e6, -1e6, 3.0])
@pytest.mark.parametrize(("share", "empty"), [(1e-16, False), (1e-14, True), (1e-8, True), (1.0, True)])
def test_a_row_without_variables_may_miss_by_the_rounding_of_the_largest_side_and_no_more(other, share, empty):
    tolerance = 1e-7
    side = -share * abs(other)
    oracle = ConicOracle(
        [1.0],
        [[0.0], [-1.0]],
        [side, other],
        [Nonnegative(2)],
        domain=FreeSpace(1, 1e8),
        tolerance=tolerance,
        hold_rows=False,
    )
    point = np.array([2e6])
    if empty:
        with pytest.raises(EmptyLocalizationSet, match="row 0 of `A` has no entries"):
            oracle.query(Query(point))
    else:
        assert isinstance(oracle.query(Query(point)), ObjectiveCut)


@pytest.mark.parametrize("length", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("place", [1.0, 1e4])
def test_inequalities_are_feasible_within_the_stated_distance_of_the_point(length, place):
    """Relative to the terms of the row there; and the error that a cut states covers what is let pass."""
    tolerance, row = 1e-7, length * np.array([0.6, 0.8])
    at = place * np.array([0.8, -0.6])  # the row vanishes there
    oracle = ConicOracle(
        [1.0, 0.0], [-row], [0.0], [Nonnegative(1)], domain=FreeSpace(2, 1e5), tolerance=tolerance, hold_rows=False
    )
    allowed = tolerance * 0.96 * place
    for share, feasible in ((0.5, True), (2.0, False)):
        answer = oracle.query(Query(at - share * allowed * row / length))
        assert isinstance(answer, ObjectiveCut) == feasible
        if not feasible:
            assert isinstance(answer, FeasibilityCut)
            assert answer.violation == pytest.approx(share * allowed, rel=1e-2)
            np.testing.assert_allclose(answer.normal, -row / length, atol=1e-12)
            # somewhere in the domain, 1e5 away, a point may be called feasible that is so much outside
            assert answer.error >= tolerance * 1e5
            assert answer.error <= 2 * tolerance * 1e5
