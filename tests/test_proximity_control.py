"""The weight of a proximal term: what steps in a row do to it."""

import numpy as np
import pytest

from oracle_opt.generators.masters.proximity_control import PATIENCE, ProximityControl


def started(weight: float = 8.0) -> ProximityControl:
    control = ProximityControl()
    control.start(weight)
    return control


@pytest.mark.parametrize("weight", [1e-3, 8.0, 1e5])
def test_serious_steps_in_a_row_that_gain_little_halve_the_weight(weight: float) -> None:
    control, seen = started(weight), []
    for _ in range(3 * (PATIENCE + 1)):
        control.serious(gain=0.25, predicted=1.0)  # less than half of what was predicted: no secant
        seen.append(control.weight / weight)
    patient = PATIENCE + 1
    assert seen[:patient] == [1.0] * patient
    assert seen[patient] == 0.5
    halved = [k for k in range(1, len(seen)) if seen[k] < seen[k - 1]]
    assert halved[0] == patient
    assert set(np.diff(halved)) == {PATIENCE + 1}


def test_a_null_step_between_begins_the_count_anew() -> None:
    control = started()
    for _ in range(4 * PATIENCE):
        for _ in range(PATIENCE):
            control.serious(gain=0.25, predicted=1.0)
        control.null(gain=0.1, predicted=1.0, error=0.0, variation=100.0)
    assert control.weight == 8.0


@pytest.mark.parametrize("share", [0.5, 0.75, 0.9])
def test_a_good_serious_step_after_another_takes_the_secant(share: float) -> None:
    control = started()
    control.serious(gain=share, predicted=1.0)
    assert control.weight == 8.0  # the first one only proves it
    control.serious(gain=share, predicted=1.0)
    assert control.weight == pytest.approx(max(2 * 8.0 * (1.0 - share), 0.8))


def test_the_weight_never_falls_below_its_least() -> None:
    control = started()
    for _ in range(400):
        control.catch_up(predicted=1e-9, gap=1.0)
    assert control.weight == control.least == pytest.approx(8e-10)
    assert not control.loosen()
    control.stiffen()
    assert control.weight == pytest.approx(8e-9)
    assert control.loosen()
