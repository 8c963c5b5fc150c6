"""Perturbed copies: the minimum is that of the original, cuts are true, and what cannot be is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from oracle_opt import (
    Ball,
    Box,
    Curvature,
    FreeSpace,
    FunctionOracle,
    InvalidArgument,
    NonnegativeOrthant,
    ObjectiveCut,
    Polyhedron,
    ProductOfSimplices,
    Query,
    Simplex,
    minimize,
    problems,
)
from oracle_opt.generators import Ellipsoid, LevelSet, ProximalBundle
from oracle_opt.problems import Instance, Problem, perturbed
from oracle_opt.problems.changes import Permutation, Rescaling, Rotation
from oracle_opt.testing import check_oracle

KINDS = ("permuted", "rotated", "rescaled", "noisy")
CHOSEN = (
    "nonsmooth/CB2",
    "nonsmooth/MAXQUAD",
    "nonsmooth/Goffin",
    "max-affine(n=10, pieces=30, seed=0)",
    "max-quadratic(n=10, seed=0)",
    "least-absolute(n=5, m=20, groups=3, seed=0)",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CHOSEN)
def test_the_minimum_stays_and_bounds_are_proofs(name: str, kind: str) -> None:
    (problem,) = problems.find(name)
    copy = perturbed(problem, kind, seed=3)
    instance = copy()
    assert (copy.n, copy.optimum, copy.family) == (problem.n, problem.optimum, problem.family)
    check_oracle(instance.oracle, n_points=3)
    result = minimize(instance.oracle, LevelSet(), instance.start, rtol=1e-6, max_calls=300)
    wrong = instance.optimum_error + 1e-9 * max(1.0, abs(result.upper_bound))
    assert result.lower_bound - wrong <= instance.optimum <= result.upper_bound + wrong
    gap = (result.upper_bound - result.lower_bound) / max(1.0, abs(instance.optimum))
    assert gap <= (5e-3 if kind == "noisy" else 1e-4)
    if kind != "noisy":
        assert result.success or "at the edge of what is promised" in result.message  # minimizers may be a line
    (found,) = problems.find(copy.name)
    assert found.identity() == copy.identity() != problem.identity()
    assert pickle.loads(pickle.dumps(copy))().oracle.identity() == instance.oracle.identity()
    other = perturbed(problem, kind, seed=4)
    assert other.identity() != copy.identity()
    assert other().oracle.identity() != instance.oracle.identity()


def test_noise_is_stated_and_there() -> None:
    (problem,) = problems.find("max-quadratic(n=10, seed=0)")
    exact, noisy = problem().oracle, perturbed(problem, "noisy", seed=1, size=0.01)().oracle
    rng = np.random.default_rng(0)
    lowered = []
    for _ in range(50):
        z = rng.uniform(-1, 1, 10)
        truth, told = exact.query(Query(z)), noisy.query(Query(z))
        assert told.value <= truth.value <= told.upper
        assert 0.005 * max(1, abs(truth.value)) <= told.error <= 0.011 * max(1, abs(truth.value))
        assert not np.array_equal(told.subgradient, truth.subgradient)
        lowered.append((truth.value - told.value) / told.error)
        assert noisy.query(Query(z)).value == told.value
    assert np.std(lowered) > 0.05


@pytest.mark.parametrize("name", ["nonsmooth/MAXQUAD", "matrix-game(n=50, seed=0)", "one-tree(n=15, seed=0)"])
def test_the_order_of_variables_makes_no_difference(name: str) -> None:
    """The same calls, and the same values in the same order, while rounding lets them be."""
    (problem,) = problems.find(name)
    plain, copy = problem(), perturbed(problem, "permuted", seed=1)()
    runs = [minimize(i.oracle, ProximalBundle(), i.start, rtol=1e-6, max_calls=8) for i in (plain, copy)]
    values = [run.history.value for run in runs]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)


def quadratic(domain, *, roots=None):
    """A quadratic function with its curvature, on a domain."""
    n = domain.dimension
    root = np.triu(np.ones((n, n))) if roots is None else roots

    def function(z):
        return ObjectiveCut(z, 0.5 * float(np.sum((root @ z) ** 2)), root.T @ (root @ z), answers=(Curvature(root),))

    return FunctionOracle(function, domain, gives={Curvature})


def made(seed, domain):
    return Instance(quadratic(domain))


@pytest.mark.parametrize("change", [Permutation, Rotation, lambda d, rng: Rescaling(d, rng, 3.0)])
def test_a_change_of_variables_and_back(change) -> None:
    """Points, slopes and curvature, against the matrix of the change."""
    domain = Box(-np.ones(4), np.array([1.0, 2.0, 3.0, 4.0]))
    one = change(domain, np.random.default_rng(0))
    T = np.array([one.old(row) for row in np.eye(4)]).T
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=4), rng.normal(size=4)
    np.testing.assert_allclose(one.old(w), T @ w, atol=1e-14)
    np.testing.assert_allclose(one.new(one.old(w)), w, atol=1e-14)
    np.testing.assert_allclose(one.new_slope(g), g @ T, atol=1e-14)
    np.testing.assert_allclose(one.old_slope(one.new_slope(g)), g, atol=1e-14)
    new = one.new_domain(domain)
    for x in rng.uniform(-2, 5, size=(200, 4)):
        if np.abs(np.r_[x + 1, x - domain.upper]).min() > 1e-6:
            assert new.contains(one.new(x)) == domain.contains(x)
    slope = rng.normal(size=4)
    assert new.minimize_linear(one.new_slope(slope))[0] == pytest.approx(domain.minimize_linear(slope)[0], abs=1e-8)


TRIANGLE = Polyhedron([[1.0, 1.0, 1.0]], [2.0], lower=0.0, upper=1.5)


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("permuted", Simplex(4)),
        ("permuted", ProductOfSimplices([2, 3])),
        ("permuted", NonnegativeOrthant(3, 5.0)),
        ("permuted", Ball(3, center=[1.0, 2.0, 3.0])),
        ("permuted", FreeSpace(3, 9.0, [1.0, 2.0, 3.0])),
        ("permuted", TRIANGLE),
        ("permuted", Box([0.0, 1.0, 2.0], [3.0, 3.0, 3.0])),
        ("rotated", Ball(3, center=[1.0, 2.0, 3.0])),
        ("rotated", FreeSpace(3, 9.0, [1.0, 2.0, 3.0])),
        ("rotated", TRIANGLE),
        ("rotated", Polyhedron(equality_matrix=[[1.0, 1.0, 1.0]], equality_rhs=[1.0], lower=0.0)),
        ("rotated", Box([0.0, 1.0, 2.0], [3.0, 3.0, 3.0])),
        ("rescaled", FreeSpace(3, 9.0, [1.0, 2.0, 3.0])),
        ("rescaled", NonnegativeOrthant(3, 5.0)),
        ("rescaled", TRIANGLE),
        ("rescaled", Box([0.0, 1.0, 2.0], [3.0, 3.0, 3.0])),
        ("noisy", Simplex(4)),
        ("noisy", FreeSpace(3, 9.0)),
        ("noisy", TRIANGLE),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_domains_change_with_the_variables(kind, domain) -> None:
    problem = Problem("own", "own", domain.dimension, lambda seed: made(seed, domain), "by hand")
    method, calls = (Ellipsoid(), 2000) if isinstance(domain, Ball) else (LevelSet(), 300)
    plain = minimize(quadratic(domain), method, rtol=1e-8, max_calls=calls)
    copy = perturbed(problem, kind, seed=2)()
    check_oracle(copy.oracle, n_points=4)
    assert copy.oracle.domain.contains(copy.start) if copy.start is not None else kind == "noisy"
    result = minimize(copy.oracle, method, copy.start, rtol=1e-8, max_calls=calls)
    allowed = 3e-3 * max(1.0, plain.upper_bound) if kind == "noisy" else 1e-6
    assert result.lower_bound <= plain.upper_bound + 1e-9
    assert plain.lower_bound <= result.upper_bound + 1e-9
    assert abs(result.upper_bound - plain.upper_bound) <= allowed


def test_measures_see_the_variables_of_the_problem() -> None:
    def make(seed):
        measure = {"first": lambda cut: float(cut.point[0]), "slope": lambda cut: float(cut.subgradient[2])}
        domain = Box(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0]))
        return Instance(quadratic(domain), measures=measure, traces=measure)

    for kind in KINDS:
        copy, plain = perturbed(Problem("own", "own", 3, make, "by hand"), kind, seed=5)(), make(0)
        start = plain.oracle.domain.interior_point() if copy.start is None else copy.start
        told, known = copy.oracle.query(Query(start)), plain.oracle.query(Query(plain.oracle.domain.interior_point()))
        for measures in (copy.measures, copy.traces):
            assert measures["first"](told) == pytest.approx(1.5, abs=1e-12)
            allowed = 1e-2 if kind == "noisy" else 1e-12
            assert measures["slope"](told) == pytest.approx(known.subgradient[2], abs=allowed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsmooth/CB2~rotatet", "`kind` must be a kind of copy, got 'rotatet': did you mean rotated?"),
        ("nonsmooth/CB2~rotated(size=2)", "`size` must be left out: a rotated copy has none"),
        ("nonsmooth/CB2~noisy(seeds=2)", "noisy has no parameter 'seeds': did you mean seed?"),
        ("nonsmooth/CB2~noisy(size=0)", "`size` must be positive"),
        ("nonsmooth/CB2~noisy(seed=-1)", "`seed` must be a whole number of at least 0"),
        ("nonsmooth/CB5~noisy", "no problem 'CB5'"),
        ("matrix-game(n=3, m=3)~rotated", "must have as its domain a bounded Box without promises"),
        ("matrix-game(n=3, m=3)~rescaled", "must have as its domain a Box, a Polyhedron, FreeSpace or Nonnegative"),
        ("max-affine(n=10000)~rotated", "at most 2000 variables to be rotated, got 10000"),
    ],
)
def test_what_cannot_be_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        problems.find(text)[0](0)
    assert words in str(refusal.value)


def test_a_family_can_be_changed_as_a_whole() -> None:
    found = problems.find("max-affine~permuted(seed=2)")
    assert [one.name for one in found] == [f"{one.name}~permuted(seed=2)" for one in problems.suite("max-affine")]
