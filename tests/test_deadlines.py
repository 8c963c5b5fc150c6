"""`max_seconds` ends the generator's own work, too: every master asks how much time is left."""

from time import perf_counter

import numpy as np
import pytest

from oracle_opt import FunctionOracle, OutOfTime, QueryPointGenerator, Status, Step, minimize
from oracle_opt._deadline import Deadline, seconds_left
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut
from oracle_opt.domains import Box, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.domains._multipliers import nonnegative_quadratic
from oracle_opt.domains.projection import project_on_cuts
from oracle_opt.generators import Ellipsoid, Kelley
from oracle_opt.generators.masters.barrier import Polytope, analytic_center
from oracle_opt.generators.masters.highs import WarmLP
from oracle_opt.generators.masters.interior_point import minimize_epigraph
from oracle_opt.generators.masters.proximal_master import proximal_point
from oracle_opt.generators.masters.spectral_master import minimize_spectral
from oracle_opt.generators.masters.spectral_models import SpectralModel

ONES, NONE = np.ones(3), np.zeros(3)
ROWS, SIDES = np.array([[1.0, -2.0, 0.5], [0.3, 1.0, -1.0]]), np.array([-0.5, -0.2])


def warm_lp() -> None:
    lp = WarmLP(ONES, NONE, ONES)
    lp.add_rows(-ROWS, np.full(2, -np.inf), SIDES)
    lp.solve()


def center() -> None:
    polytope = Polytope(ROWS, ONES[:2], ONES[:2], NONE, ONES, ONES, ONES, np.zeros((0, 3)), NONE, NONE)
    analytic_center(polytope, 0.5 * ONES)


MASTERS = {
    "linear program": warm_lp,
    "projection": lambda: project_on_cuts(Box(NONE, ONES), ONES, ONES, ROWS, SIDES, NONE[:2]),
    "nonnegative quadratic": lambda: nonnegative_quadratic(np.eye(3), ONES, NONE, 1e-9),
    "proximal master": lambda: proximal_point(Box(NONE, ONES), ONES, 1.0, ROWS, SIDES, 2, np.array([1.0, 0.0])),
    "analytic center": center,
    "second-order master": lambda: minimize_epigraph(np.eye(3), NONE, ROWS, SIDES, 1.0),
    "spectral master": lambda: minimize_spectral(
        SpectralModel(np.diag([0.0, -1.0]), np.ones((3, 2, 2)), np.zeros(0), np.zeros((0, 3))), np.eye(3)
    ),
    "polyhedron": lambda: BOUNDED.minimize_linear(ONES),
}
BOUNDED = Polyhedron(ROWS, -SIDES, lower=-1, upper=1)


@pytest.mark.parametrize("name", MASTERS)
def test_a_master_whose_time_is_over_says_so_and_one_with_time_does_not(name) -> None:
    MASTERS[name]()
    with Deadline(perf_counter() + 1e9):
        MASTERS[name]()
    with Deadline(perf_counter() - 1.0), pytest.raises(OutOfTime, match="max_seconds"):
        MASTERS[name]()
    MASTERS[name]()


def test_deadlines_are_nested_and_forgotten() -> None:
    assert seconds_left() == np.inf
    with Deadline(perf_counter() + 100.0):
        assert 90.0 < seconds_left() <= 100.0
        with Deadline(np.inf):  # a run inside an oracle has its own
            assert seconds_left() == np.inf
        assert seconds_left() <= 100.0
    assert seconds_left() == np.inf


class Endless(QueryPointGenerator):
    """Never comes back from its n-th `tell`, but asks for the time."""

    takes = frozenset({FeasibilityCut})

    def __init__(self, n: int) -> None:
        self.n = n

    def reset(self, domain, point) -> None:
        self._domain, self._told = domain, 0

    def ask(self):
        return self._domain.interior_point() * (1.0 - 0.1 * self._told)

    def tell(self, cut) -> Step:
        self._told += 1
        while self._told == self.n:
            seconds_left()
        return Step.SERIOUS


def square(z):
    return float(z @ z), 2 * z


@pytest.mark.parametrize("n", [1, 2])
def test_the_last_answer_counts_and_proves_also_if_the_generator_has_no_time_for_it(n) -> None:
    result = minimize(FunctionOracle(square, Box(NONE, ONES)), Endless(n), max_seconds=0.05)
    assert result.status is Status.MAX_SECONDS
    assert result.n_calls == n
    assert result.upper_bound == pytest.approx(0.75 * (1.0 if n == 1 else 0.9) ** 2)
    assert np.isfinite(result.lower_bound)
    assert result.history.step.tolist() == ["serious"] * n


def test_a_feasibility_cut_that_the_generator_has_no_time_for_is_recorded_as_one() -> None:
    oracle = FunctionOracle(lambda z: FeasibilityCut(z, 1.0, ONES), Box(NONE, ONES), gives={FeasibilityCut})
    result = minimize(oracle, Endless(1), max_seconds=0.05)
    assert result.history.step.tolist() == ["feasibility"]


def test_earlier_cuts_are_told_within_the_time() -> None:
    cut = ObjectiveCut(0.5 * ONES, 0.75, ONES)
    result = minimize(FunctionOracle(square, Box(NONE, ONES)), Endless(1), max_seconds=0.05, cuts=[cut])
    assert result.status is Status.MAX_SECONDS
    assert result.n_calls == 0
    assert result.upper_bound == 0.75


@pytest.mark.parametrize("seed", range(5))
def test_a_ball_on_a_domain_of_one_point_is_found_at_once(seed) -> None:
    """The affine hull sees but the rounding of the slope, which scaled up made a program that HiGHS never solved."""
    rng = np.random.default_rng(seed)
    domain = ProductOfSimplices([1] * int(rng.integers(1, 5)), float(10.0 ** rng.uniform(-3, 3)))
    slope = rng.normal(size=domain.dimension)
    oracle = FunctionOracle(lambda z: (1.0 + z @ slope, slope), domain)
    result = minimize(oracle, Kelley(chebyshev=True), max_seconds=10.0, atol=1e-9)
    assert result.success
    assert result.n_calls == 1


def test_a_loop_without_master_asks_for_the_time() -> None:
    """The ellipsoid method cuts off centers outside the domain without a call."""
    generator, domain = Ellipsoid(), Simplex(30)
    generator.reset(domain, domain.interior_point())
    cut = ObjectiveCut(domain.interior_point(), 1.0, np.arange(30.0))
    with Deadline(perf_counter() - 1.0), pytest.raises(OutOfTime):
        generator.tell(cut)
