"""Planned subgradient steps: their lengths, as Volgenant and Jonker (1982) say."""

from itertools import pairwise

import numpy as np
import pytest

from oracle_opt import FreeSpace, FunctionOracle, InvalidArgument, Status, minimize
from oracle_opt.generators import Subgradient


def test_planned_steps_are_those_of_volgenant_and_jonker():
    slopes = np.array([[1.0, 2.0], [-3.0, 1.0], [0.5, -2.0]])

    def largest(z):
        values = slopes @ z + 10.0
        return values.max(), slopes[values.argmax()]

    planned, points, gradients = 7, [], []
    oracle = FunctionOracle(lambda z: points.append(z.copy()) or largest(z), FreeSpace(2, 1e3))
    result = minimize(oracle, Subgradient(planned=planned, scale=0.5), np.array([3.0, -4.0]), max_calls=50)
    assert result.status is Status.EXHAUSTED
    assert "7 planned steps" in result.message
    assert result.n_calls == planned
    first = 0.5 * 0.4 * largest(points[0])[0] / np.sum(largest(points[0])[1] ** 2)
    for k, (before, after) in enumerate(pairwise(points), 1):
        gradients.append(largest(before)[1])
        direction = 0.7 * gradients[-1] + 0.3 * gradients[max(-2, -len(gradients))]
        assert after == pytest.approx(before - first * (1 - k / planned) ** 2 * direction)


def test_planned_steps_exclude_polyaks():
    with pytest.raises(InvalidArgument, match="leave out `polyak` or `planned`"):
        Subgradient(polyak=True, planned=10)
