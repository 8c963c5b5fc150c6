"""What comes with a cut is checked as the cut is: one number that is none, anywhere, is refused."""

import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, FunctionOracle, InvalidCut, ObjectiveCut, minimize
from oracle_opt.generators import Kelley

N = 3


def spoiled(kind, z, wrong):
    """A cut of ``sum(z)`` with one wrong number in its second summand or further cut."""
    good, bad = np.ones(N), np.ones(N)
    if wrong < N:
        bad[wrong] = np.nan
    value = np.nan if wrong == N else 0.0
    if kind == "summands":
        parts = (ObjectiveCut(z, float(z.sum()), good), ObjectiveCut(z, value, 0.0 * bad))
        return ObjectiveCut(z, float(z.sum()), good, summands=parts)
    if kind == "further":
        return ObjectiveCut(z, float(z.sum()), good, further=(ObjectiveCut(z, value + float(z.sum()), bad),))
    return FeasibilityCut(z, 1.0, good, further=(FeasibilityCut(z, 1.0 + value, bad),))


@pytest.mark.parametrize("kind", ["summands", "further", "half-spaces"])
@pytest.mark.parametrize("wrong", range(N + 1))
def test_one_number_that_is_none_is_refused(kind: str, wrong: int) -> None:
    box = Box(-np.ones(N), np.ones(N))
    oracle = FunctionOracle(lambda z: spoiled(kind, z, wrong), box, gives={FeasibilityCut})
    with pytest.raises(InvalidCut):
        minimize(oracle, Kelley(), max_calls=3)
    fine = FunctionOracle(lambda z: spoiled(kind, z, N + 1), box, gives={FeasibilityCut})
    minimize(fine, Kelley(), max_calls=3)
