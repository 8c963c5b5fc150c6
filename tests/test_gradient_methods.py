"""What the papers say of SPG, projected gradient descent and mirror descent, checked step by step."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
import scipy.special

from oracle_opt import CapabilityMismatch, FunctionOracle, InvalidArgument, Oracle, Status, Step, minimize
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut
from oracle_opt.domains import Ball, FreeSpace, NonnegativeOrthant, ProductOfSimplices, Simplex
from oracle_opt.generators import SPG, FixedPoint, MirrorDescent, ProjectedGradient, QuasiNewton, Subgradient

SCALES = np.array([1.0, 7.0, 50.0, 300.0])


def valley(z):
    """Rosenbrock's function."""
    x, y = z
    return (1 - x) ** 2 + 10 * (y - x * x) ** 2, np.array([-2 * (1 - x) - 40 * x * (y - x * x), 20 * (y - x * x)])


class Asked(Oracle):
    """A quadratic on the orthant with its minimum, 1, as lower bound or not; keeps the accuracies it was asked for."""

    def __init__(self, bounded: bool, error: float = 0.0) -> None:
        self.domain = NonnegativeOrthant(4)
        self.convex = bounded
        self.bounded = bounded
        self.error = error
        self.accuracies: list[float] = []

    def query(self, query):
        self.accuracies.append(query.accuracy)
        away = query.point - np.array([0.3, 2.0, -0.5, 1.0])
        value = 0.5 * float(away @ (SCALES * away)) + 1 - 0.5 * 50 * 0.25
        return ObjectiveCut(
            query.point, value, SCALES * away, error=self.error, lower_bound=1.0 if self.bounded else -np.inf
        )


def test_schedule_by_the_duality_gap() -> None:
    oracle = Asked(bounded=True)
    result = minimize(oracle, SPG(tune_accuracy=True, nonmonotone=False), np.full(4, 40.0), rtol=0, atol=1e-8, probes=0)
    assert result.success
    expected = 1e-1
    assert oracle.accuracies[0] == expected
    center = None
    for k in range(1, result.n_calls):
        if result.history.step[k - 1] == Step.SERIOUS.value:
            center = result.history.value[k - 1]
        u = (center - 1.0) / center
        # (13): 1e-1, 1e-2 and 1e-3 by decades of u, and so on
        expected = min(expected, 1e-1 if u >= 1 else 1e-2 if u >= 0.1 else 1e-3 if u >= 0.01 else u)
        assert 0.0099 * expected <= oracle.accuracies[k] <= expected * 1.0001
        expected = oracle.accuracies[k]
    assert len({round(np.log10(accuracy)) for accuracy in oracle.accuracies}) >= 3


def test_schedule_by_the_projected_gradient_where_there_is_no_gap() -> None:
    oracle = Asked(bounded=False)
    result = minimize(oracle, SPG(tune_accuracy=True), np.full(4, 40.0), gtol=1e-2, keep_cuts=True)
    assert result.success
    wanted = 1e-1
    for k in range(1, result.n_calls):
        if result.history.step[k - 1] == Step.SERIOUS.value:
            cut = result.history.cuts[k - 1]
            v = np.linalg.norm(np.maximum(cut.point - cut.subgradient, 0) - cut.point)
            wanted = min(wanted, 1e-1 if v >= 5 else 1e-2 if v >= 1 else 1e-3)
        assert oracle.accuracies[k] <= wanted * 1.0001
    assert oracle.accuracies[1] == 1e-1


def test_steps_that_drown_in_the_errors_end_the_run() -> None:
    oracle = Asked(bounded=True, error=1e3)
    result = minimize(oracle, SPG(tune_accuracy=True), rtol=1e-6, max_calls=5000)
    assert not result.success
    assert result.n_calls < 300
    assert result.upper_bound == result.history.upper_bound.min()
    assert min(oracle.accuracies) == 1e-12


def test_averages_let_the_value_rise_and_armijo_does_not() -> None:
    start = np.array([-1.2, 1.0])
    for nonmonotone in (True, False):
        oracle = FunctionOracle(valley, FreeSpace(2, 10.0), convex=False)
        result = minimize(oracle, SPG(nonmonotone=nonmonotone), start, gtol=1e-5)
        assert result.success
        np.testing.assert_allclose(result.point, 1.0, atol=1e-3)
        taken = result.history.value[result.history.step == Step.SERIOUS.value]
        assert (np.diff(taken) > 0).any() == nonmonotone


def test_spectral_lengths_save_calls() -> None:
    calls = []
    for spectral in (True, False):
        result = minimize(Asked(bounded=True), SPG(spectral=spectral), rtol=1e-8, max_calls=3000)
        assert result.success
        calls.append(result.n_calls)
    assert calls[0] < calls[1]


def saddle(z):
    """Curved upwards along the first variable and downwards along the second."""
    x, y = z
    return 2 * x * x - 0.5 * y * y + y, np.array([4 * x, 1 - y])


@pytest.mark.parametrize("limits", [(1e-30, 10.0), (0.1, 0.2), (0.4, 0.4)])
@pytest.mark.parametrize("spectral", [True, False])
@pytest.mark.parametrize("function", ["quadratic", "saddle"])
def test_lengths_are_those_of_the_paper_clipped(limits, spectral, function) -> None:
    """(6) and (8) by hand: each question is a share 1, 1/2, 1/4, ... of the step that the clipped length gives."""
    oracle = Asked(bounded=False)
    start = np.array([0.5, 1.9, 0.2, 1.0])
    if function == "saddle":
        oracle, start = FunctionOracle(saddle, NonnegativeOrthant(2, np.inf), convex=False), np.array([1.0, 1.5])
    generator = SPG(spectral=spectral, entropic=False, length_limits=limits)
    history = minimize(oracle, generator, start, max_calls=12, keep_cuts=True).history
    center, share = history.cuts[0], 1.0
    length = 1 / np.abs(center.subgradient).max() if spectral else 1.0
    curvatures = []
    for new, step in zip(history.cuts[1:], history.step[1:], strict=True):
        full = np.maximum(center.point - np.clip(length, *limits) * center.subgradient, 0) - center.point
        moved, turned = new.point - center.point, new.subgradient - center.subgradient
        np.testing.assert_allclose(moved, share * full, rtol=1e-9, atol=1e-12)
        share /= 2
        if step == Step.SERIOUS.value:
            curvatures.append(moved @ turned)
            length = (moved @ moved / curvatures[-1] if curvatures[-1] > 0 else limits[1]) if spectral else 1.0
            center, share = new, 1.0
    assert len(curvatures) >= 2
    assert function == "quadratic" or not spectral or min(curvatures) <= 0


def test_length_limits_are_two_lengths_in_order() -> None:
    for wrong in (3.0, (1.0,), (1.0, 2.0, 3.0), "ab", (2.0, 1.0), (0.0, 1.0), (1.0, np.nan)):
        with pytest.raises(InvalidArgument, match="`length_limits"):
            SPG(length_limits=wrong)
    assert SPG(length_limits=(1, np.inf)).length_limits == (1.0, np.inf)


def test_searches_of_projected_gradient_begin_with_the_length_given() -> None:
    oracle = Asked(bounded=True)
    start = np.full(4, 3.0)
    result = minimize(oracle, ProjectedGradient(first_length=0.5), start, max_calls=40, keep_cuts=True)
    cuts, steps = result.history.cuts, result.history.step
    center, length, k = cuts[0], 0.5, 1
    while k < len(cuts):
        expected = np.maximum(center.point - length * center.subgradient, 0)
        if np.array_equal(expected, cuts[k - 1].point):  # half the length is projected to the same point: not asked
            length /= 2
            continue
        np.testing.assert_allclose(cuts[k].point, expected, rtol=1e-14, atol=1e-14)
        taken = steps[k] == Step.SERIOUS.value
        center, length = (cuts[k], 0.5) if taken else (center, length / 2)
        k += 1
    assert (steps == Step.SERIOUS.value).sum() > 3


def test_projected_gradient_goes_on_where_lengths_are_projected_to_the_same_point() -> None:
    def steep(z):
        return float(np.exp(-z[0]) + z[0]) + (100.0 if z[0] == 0 else 0.0), np.array([1 - np.exp(-z[0])])

    oracle = FunctionOracle(steep, NonnegativeOrthant(1, np.inf), convex=False)
    result = minimize(oracle, ProjectedGradient(first_length=64.0), np.array([5.0]), max_calls=30)
    assert result.status is not Status.STALLED
    assert result.upper_bound < steep(np.array([5.0]))[0] - 0.5


class Rounded(NonnegativeOrthant):
    """Projects next to the points that are in it, as scaled weights do."""

    def project(self, point, metric=None):
        return np.nextafter(super().project(point, metric), 0)


@pytest.mark.parametrize("first_length", [None, 1.0])
def test_projected_gradient_ends_at_a_kink_where_projections_round(first_length) -> None:
    """No step is taken there, and none that is short enough arrives at the point itself."""
    oracle = FunctionOracle(lambda z: (float(np.abs(z - 1).sum()), np.where(z < 1, -1.0, 1.0)), Rounded(3))
    result = minimize(oracle, ProjectedGradient(first_length=first_length), np.ones(3), max_calls=2000)
    assert result.status is Status.EXHAUSTED
    assert 3 < result.n_calls < 200
    assert result.upper_bound == 0


def test_projected_gradient_satisfies_armijos_rule() -> None:
    result = minimize(Asked(bounded=True), ProjectedGradient(), rtol=1e-8, max_calls=3000, keep_cuts=True)
    assert result.success
    taken = [c for c, s in zip(result.history.cuts, result.history.step, strict=True) if s == Step.SERIOUS.value]
    for old, new in pairwise(taken):
        assert new.value <= old.value + 1e-4 * old.subgradient @ (new.point - old.point)


def test_projected_gradient_asks_for_its_accuracy() -> None:
    oracle = Asked(bounded=True)
    minimize(oracle, ProjectedGradient(accuracy=1e-6), max_calls=5)
    assert set(oracle.accuracies) == {1e-6}
    with pytest.raises(InvalidArgument, match="`accuracy` must be positive"):
        minimize(oracle, ProjectedGradient(accuracy=0.0))
    with pytest.raises(InvalidArgument, match="`sufficient_decrease` must lie strictly between 0 and 1"):
        minimize(oracle, ProjectedGradient(sufficient_decrease=1.0))


def test_mirror_descent_minimizes_the_auxiliary_problem() -> None:
    """(7) with the paper's entropy and step (9), by a conic solver."""
    sizes, n, slope = (2, 4), 2, np.array([1.0, -0.5, 0.3, 2.0, -1.0, 0.0])
    domain = ProductOfSimplices(sizes)
    curved = FunctionOracle(lambda z: (float(slope @ z + 0.5 * z @ z), slope + z), domain)
    cuts = minimize(curved, MirrorDescent(), max_calls=4, keep_cuts=True).history.cuts
    for t in range(1, 4):
        cut = cuts[t - 1]
        step = np.sqrt(np.log(4)) / (n * np.abs(cut.subgradient).max() * np.sqrt(t))
        x = cp.Variable(6, nonneg=True)
        # the Bregman divergence of sum x/n log(x/n)
        objective = step * cut.subgradient @ x + cp.sum(cp.kl_div(x, cut.point)) / n
        blocks = [cp.sum(x[:2]) == 1, cp.sum(x[2:]) == 1]
        program = cp.Problem(cp.Minimize(objective), blocks)
        program.solve(solver=cp.CLARABEL)
        # the solver's value tells more than its point, and the slope along each simplex is 0 at the minimizer
        own = step * cut.subgradient @ cuts[t].point + np.sum(scipy.special.kl_div(cuts[t].point, cut.point)) / n
        assert own <= program.value + 1e-8
        steep = step * cut.subgradient + np.log(cuts[t].point / cut.point) / n
        for block in (slice(0, 2), slice(2, 6)):
            assert cuts[t].point[block].sum() == pytest.approx(1.0)
            assert np.ptp(steep[block]) <= 1e-12


def test_mirror_descent_does_not_mind_the_radius() -> None:
    slope = np.array([1.0, -0.5, 0.3])
    points = []
    for radius in (1.0, 8.0):
        oracle = FunctionOracle(lambda z, r=radius: (float(slope @ z) / r, slope / r), Simplex(3, radius))
        points.append(
            [c.point / radius for c in minimize(oracle, MirrorDescent(), max_calls=5, keep_cuts=True).history.cuts]
        )
    np.testing.assert_allclose(points[0], points[1], rtol=1e-12)


def test_mirror_descent_closes_the_averaged_gap_on_a_kink() -> None:
    target = np.array([0.2, 0.3, 0.5])
    oracle = FunctionOracle(lambda z: (float(np.abs(z - target).sum()), np.sign(z - target)), Simplex(3))
    result = minimize(oracle, MirrorDescent(), atol=0.05, max_calls=2000)
    assert result.success
    assert result.lower_bound <= 0 <= result.upper_bound


def run_with_weights(function, domain, generator, calls, start=None):
    """Cuts of a run, the weight the generator gave each, and the result."""
    weights = []
    result = minimize(
        FunctionOracle(function, domain),
        generator,
        start,
        rtol=0.0,
        max_calls=calls,
        keep_cuts=True,
        callback=lambda _: weights.append(generator.weight()),
    )
    return result.history.cuts, np.array(weights), result


def kink(z):
    away = z - np.array([0.2, 0.9, -0.4, 0.3])
    return float(np.abs(away) @ np.array([3.0, 1.0, 0.5, 2.0])), np.sign(away) * np.array([3.0, 1.0, 0.5, 2.0])


@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("domain", [Simplex(4), Simplex(4, 3.0), ProductOfSimplices([3, 1], 2.0)], ids=repr)
def test_mirror_descent_weighs_each_cut_with_its_step(domain, scale) -> None:
    """(9), and with these weights the averaged cut proves what the driver reports."""
    cuts, weights, result = run_with_weights(kink, domain, MirrorDescent(scale), 12)
    log_size = np.log(max(domain.sizes))
    known = [
        scale * np.sqrt(log_size / t) / (domain.radius * np.abs(cut.subgradient).max()) for t, cut in enumerate(cuts, 1)
    ]
    np.testing.assert_allclose(weights, known, rtol=1e-12)
    blocks = np.split(np.arange(4), np.cumsum(domain.sizes)[:-1])
    for k in range(1, len(cuts) + 1):
        shares = weights[:k] / weights[:k].sum()
        slope = shares @ [cut.subgradient for cut in cuts[:k]]
        constant = shares @ [cut.value - cut.subgradient @ cut.point for cut in cuts[:k]]
        proven = constant + domain.radius * sum(slope[block].min() for block in blocks)
        assert result.history.average_bound[k - 1] >= proven - 1e-9
        if k == 1 or proven > result.history.average_bound[k - 2] + 1e-9:
            assert result.history.average_bound[k - 1] == pytest.approx(proven, abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_subgradient_steps_have_the_length_they_say(scale) -> None:
    """scale * size / sqrt(k): the size is the way to the first cut's minimizer, here to the other end of the ball."""
    domain, start = Ball(4, 5.0), np.array([0.5, 0.5, 0.5, 0.5])
    cuts, weights, _ = run_with_weights(kink, domain, Subgradient(scale=scale), 15, start)
    first = cuts[0].subgradient
    size = np.linalg.norm(-5.0 * first / np.linalg.norm(first) - start)
    for k, (old, new, weight) in enumerate(zip(cuts, cuts[1:], weights, strict=False), 1):
        norm = np.linalg.norm(old.subgradient)
        assert weight == pytest.approx(scale * size / np.sqrt(k) / norm)
        moved = old.point - weight * old.subgradient
        moved /= max(1.0, np.linalg.norm(moved) / 5.0)
        np.testing.assert_allclose(new.point, moved, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_polyak_steps_rest_on_the_methods_own_bound(scale) -> None:
    domain, start = Ball(4, 5.0), np.array([0.5, 0.5, 0.5, 0.5])
    cuts, weights, _ = run_with_weights(kink, domain, Subgradient(polyak=True, scale=scale), 15, start)
    lower, total, constant, slope = -np.inf, 0.0, 0.0, np.zeros(4)
    for k, (cut, weight) in enumerate(zip(cuts, weights, strict=True)):
        norm = np.linalg.norm(cut.subgradient)
        if k:
            assert weight == pytest.approx(scale * (cut.value - lower) / norm**2)
        total += weight
        one = cut.value - cut.subgradient @ cut.point
        constant, slope = constant + weight * one, slope + weight * cut.subgradient
        for c, g in ((one, cut.subgradient), (constant / total, slope / total)):
            lower = max(lower, c - 5.0 * np.linalg.norm(g))


@pytest.mark.parametrize("polyak", [False, True])
def test_a_subgradient_of_zero_ends_the_run_and_no_other_length_does(polyak) -> None:
    domain = Ball(1, 3.0)
    for steepness in (0.5, 1.0, 2.0):
        cuts, weights, result = run_with_weights(
            lambda z, k=steepness: (k * abs(z[0] - 0.3), np.sign(z - 0.3) * k), domain, Subgradient(polyak), 6
        )
        assert len(cuts) == 6 or result.status is Status.CONVERGED
        assert (weights > 0).all()
        cuts, _, result = run_with_weights(
            lambda z, k=steepness: (k * max(abs(z[0]), 1.0), np.sign(z) * k * (abs(z) > 1)),
            domain,
            Subgradient(polyak),
            6,
            np.array([0.5]),
        )
        assert len(cuts) == 1


def test_subgradient_steps_to_the_half_space_of_a_feasibility_cut() -> None:
    domain, generator = Ball(3, 9.0), Subgradient(scale=0.1)
    generator.reset(domain, np.array([1.0, 2.0, 2.0]))
    normal = np.array([0.0, 3.0, 4.0])
    assert generator.tell(FeasibilityCut(generator.ask(), 2.0, normal)) is Step.FEASIBILITY
    assert generator.weight() == 0.0
    moved = generator.ask() - np.array([1.0, 2.0, 2.0])
    assert 2.0 + normal @ moved == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(moved / np.linalg.norm(moved), -normal / 5.0, atol=1e-12)


def test_updates_need_an_oracle_that_has_them() -> None:
    oracle = Asked(bounded=True)
    with pytest.raises(CapabilityMismatch, match="it needs analytic updates, and this oracle gives none"):
        minimize(oracle, FixedPoint(updates=True))
    assert not oracle.accuracies


def test_an_entropic_metric_is_refused_where_there_is_none() -> None:
    with pytest.raises(CapabilityMismatch, match="its entropic metric needs a domain that has one"):
        minimize(Asked(bounded=True), SPG(entropic=True))


@pytest.mark.parametrize("generator", [Subgradient(), Subgradient(polyak=True), QuasiNewton(), MirrorDescent(), SPG()])
@pytest.mark.parametrize("dimension", [1, 4])
def test_subgradients_without_a_finite_length_end_the_run(generator, dimension):
    """And so does a value of which only a lower estimate is known: Polyak's step would be infinite."""
    rng = np.random.default_rng(dimension)

    def steep(z):
        return ObjectiveCut(z, float(z[0]), 1e200 * rng.normal(size=dimension))

    def unknown(z):
        return ObjectiveCut(z, float(z[0]), np.eye(dimension)[0], error=np.inf if rng.random() < 0.5 else 0.0)

    for answer in (steep, unknown):
        with np.errstate(over="ignore", invalid="ignore"):
            result = minimize(FunctionOracle(answer, Simplex(dimension)), generator, max_calls=30)
        assert result.status is not Status.FAILED
        assert result.n_calls == len(result.history) > 0
