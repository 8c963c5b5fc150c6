"""Regularizers: gradients against finite differences, conjugates and updates against brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from oracle_opt import InvalidArgument
from oracle_opt.oracles import ElasticNet, EntropyRegularizer, LpRegularizer, Regularizer

REGULARISERS = [
    LpRegularizer(1, power=1),
    LpRegularizer(1, weight=0.3),
    LpRegularizer(1.33, weight=2.0, power=1),
    LpRegularizer(1.1),
    LpRegularizer(1.33),
    LpRegularizer(2, weight=0.7),
    LpRegularizer(4),
    LpRegularizer(1.5, power=1.5),
    EntropyRegularizer(0.5),
    EntropyRegularizer(2.0, [0.1, 0.2, 0.3, 0.4]),
    ElasticNet(0.5, 2.0),
]
rng = np.random.default_rng(0)
POINTS = [np.full(4, 0.7), rng.uniform(0.01, 2, 4), rng.uniform(0.01, 2, 4), np.array([1e-3, 3.0, 0.2, 1e-2])]


@pytest.mark.parametrize("r", REGULARISERS, ids=repr)
def test_gradient_is_that_of_the_value(r: Regularizer) -> None:
    for d in POINTS:
        steps = 1e-6 * d
        numerical = [(r.value(d + e) - r.value(d - e)) / (2 * h) for e, h in zip(np.diag(steps), steps, strict=True)]
        np.testing.assert_allclose(r.gradient(d), numerical, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("r", REGULARISERS, ids=repr)
def test_convex_on_the_orthant_its_boundary_included(r: Regularizer) -> None:
    points = [*POINTS, np.zeros(4), np.array([0.0, 1.0, 0.0, 2.0])]
    for d in points:
        for z in points:
            assert r.value(z) >= r.value(d) + r.gradient(d) @ (z - d) - 1e-12


@pytest.mark.parametrize("reference", [1.0, 0.2])
def test_entropy_near_zero_is_that_of_the_formula_down_to_its_floor(reference: float) -> None:
    """Above 1e-16 of the reference the gradient is exact; below it is that of the floor, a tangent by rounding."""
    weight = 0.7
    r = EntropyRegularizer(weight, reference)
    for share in (1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-3):
        d = np.array([share, 1.0]) * reference
        np.testing.assert_allclose(r.gradient(d), weight * np.array([np.log(share), 0.0]), rtol=1e-12, atol=1e-15)
        known = weight * reference * (share * (np.log(share) - 1.0) + 1.0)
        assert r.value(d) == pytest.approx(known, rel=1e-14)
    floor = r.gradient(np.array([0.0]))
    np.testing.assert_array_equal(floor, r.gradient(np.array([1e-20 * reference])))
    assert weight * np.log(1e-17) <= floor[0] <= weight * np.log(1e-15)
    for share in (0.0, 1e-18, 1e-16, 1e-13, 1e-10, 1e-8):  # the tangents at tiny weights, against the exact function
        d = np.array([share * reference])
        for z in (0.0, 1e-14, 1e-9, 1e-7, 1e-3, 0.5, 2.0):
            entropy = z * np.log(z) - z + 1.0 if z else 1.0
            tangent = r.value(d) + float(r.gradient(d)[0]) * (z * reference - d[0])
            assert tangent <= weight * reference * entropy + 4e-16 * weight * reference * (1 + z * 40)


@pytest.mark.parametrize("r", REGULARISERS, ids=repr)
def test_conjugate_is_the_supremum(r: Regularizer) -> None:
    for s in [np.array([0.1, 0.2, 0.05, 0.15]), rng.uniform(0, 1.5, 4), np.array([0.0, 3.0, 1.0, 0.2])]:
        conjugate = r.conjugate(s)
        for d in POINTS:  # Fenchel's inequality
            assert conjugate >= s @ d - r.value(d) - 1e-12
        found = scipy_minimize(
            lambda d, s=s: r.value(d) - s @ d, np.full(4, 0.5), bounds=[(0, 1e3)] * 4, options={"ftol": 1e-14}
        )
        if np.isfinite(conjugate):
            assert -found.fun == pytest.approx(conjugate, rel=1e-5, abs=1e-6)
        else:
            assert -found.fun > 10.0


@pytest.mark.campaign(6)
@pytest.mark.parametrize("r", REGULARISERS, ids=repr)
@pytest.mark.parametrize("longest", [1.0, 1.7, np.inf])
def test_dual_bound_is_the_best_of_the_ray(r: Regularizer, longest: float) -> None:
    for s in [np.array([0.1, 0.2, 0.05, 0.15]), np.array([0.0, 3.0, 1.0, 0.2]), np.array([40.0, 900.0, 1.0, 0.0])]:
        rays = np.linspace(0, min(longest, 2.0), 2001)
        brute = max(t * 5.0 - r.conjugate(t * t * s) for t in rays)
        assert r.dual_bound(5.0, s, longest) >= brute - 1e-3 * max(1.0, abs(brute))
        if longest < 2:
            assert r.dual_bound(5.0, s, longest) <= brute + 0.2


@pytest.mark.parametrize("r", [r for r in REGULARISERS if isinstance(r, LpRegularizer)], ids=repr)
def test_block_update_is_the_minimizer(r: LpRegularizer) -> None:
    w = np.array([0.3, 2.0, 0.01, 1.0])

    def objective(d: np.ndarray) -> float:
        return 0.5 * float((w / d).sum()) + r.value(d)

    d = r.block_update(w)
    best = scipy_minimize(lambda log_d: objective(np.exp(log_d)), np.log(d) + 0.3, options={"gtol": 1e-8}).fun
    assert objective(d) <= best * (1 + 1e-9)
    assert not r.block_update(np.zeros(4)).any()


def test_a_regularizer_must_declare_whether_it_is_convex() -> None:
    class Undeclared(Regularizer):
        def value(self, d):
            return 0.0

        def gradient(self, d):
            return 0 * d

    with pytest.raises(TypeError, match="convex"):
        Undeclared()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LpRegularizer(0.5), "`p` must be at least 1, got 0.5"),
        (lambda: LpRegularizer(2, power=np.nan), "`power` must be at least 1"),
        (lambda: LpRegularizer(2, weight=0.0), "`weight` must be positive, got 0.0"),
        (lambda: ElasticNet(1.0, -1.0), "`quadratic` must be positive"),
        (lambda: EntropyRegularizer(1.0, [1.0, 0.0]), "`reference` must be positive"),
    ],
)
def test_bad_arguments(make, words) -> None:
    with pytest.raises(InvalidArgument, match=words):
        make()
