"""Steps of the spectral bundle that would leave the ball in which a minimizer is promised."""

import numpy as np
import pytest

from oracle_opt.generators.masters.spectral_ball import PromisedBall, step_within
from oracle_opt.generators.masters.spectral_master import minimize_spectral
from oracle_opt.generators.masters.spectral_models import SpectralModel


def master(rng, stiff, n=4):
    """A small master problem and its solution."""
    F = rng.normal(size=(n, 3, 3))
    center = rng.normal(size=(3, 3))
    model = SpectralModel(-center @ center.T, F + F.transpose(0, 2, 1), np.array([-0.5, -0.1]), rng.normal(size=(2, n)))
    hessian = np.diag(10.0 ** rng.uniform(-stiff, stiff, n))
    return model, hessian, minimize_spectral(model, hessian, tolerance=1e-10)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("reach", [0.05, 0.5, 0.9, 1.1])
@pytest.mark.parametrize("stiff", [0.3, 3.0])
def test_a_step_ends_in_the_ball_and_predicts_no_more_than_its_model(seed, reach, stiff):
    rng = np.random.default_rng(seed)
    model, hessian, done = master(rng, stiff)
    y, length = rng.normal(size=4), float(np.linalg.norm(done.s))
    direction = rng.normal(size=4)
    center = y + (0.9 * reach * length) * direction / np.linalg.norm(direction)
    # from y inside the ball the whole step leaves it, or does not
    radius = reach * length
    point, decrease = step_within(PromisedBall(center, radius), y, done)
    far = np.linalg.norm(y + done.s - center)
    if far <= radius:
        np.testing.assert_array_equal(point, y + done.s)
        assert decrease == done.decrease
        return
    assert np.linalg.norm(point - center) == pytest.approx(radius, rel=1e-9)
    assert np.linalg.norm(point - center) <= radius
    s = point - y
    matrix, affine = model.at(s)
    predicted = -max(np.linalg.eigvalsh(matrix)[-1], affine.max()) - 0.5 * s @ hessian @ s
    # on the way of the step: convexity gives its share of the decrease
    share = (s @ done.s) / (done.s @ done.s)
    np.testing.assert_allclose(s, share * done.s, atol=1e-9 * length)
    assert 0 < share < 1
    assert decrease > 0
    assert decrease == pytest.approx(share * done.decrease)
    assert decrease <= predicted + 1e-9
