"""What `AnalyticCenter` promises beyond the conformance tests: few Newton steps, sparse points, few calls."""

import numpy as np
import pytest
from table_problems import PROBLEMS

from oracle_opt import FeasibilityCut, FunctionOracle, InvalidArgument, ObjectiveCut, Oracle, Query, Status, minimize
from oracle_opt.domains import Box, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.generators import AnalyticCenter
from oracle_opt.generators.masters.barrier import Polytope, analytic_center
from oracle_opt.oracles import ConicOracle


def polytope_on_simplex(rng: np.random.Generator, m: int, n: int) -> Polytope:
    matrix, inside = rng.normal(size=(m, n)), rng.dirichlet(np.ones(n))
    rhs, none = matrix @ inside + rng.uniform(0.1, 1, m), np.zeros(n)
    return Polytope(
        matrix, rhs, np.ones(m), none, np.full(n, 0.1), np.full(n, np.inf), none, np.ones((1, n)), none, none
    )


def with_row(polytope: Polytope, row: np.ndarray, rhs: float) -> Polytope:
    rows = np.vstack([polytope.matrix, row]), np.r_[polytope.rhs, rhs], np.ones(len(polytope.rhs) + 1)
    return Polytope(
        *rows,
        polytope.lower,
        polytope.lower_weights,
        polytope.upper,
        polytope.upper_weights,
        polytope.equalities,
        polytope.proximal,
        polytope.anchor,
    )


@pytest.mark.parametrize(("m", "n"), [(4, 9), (20, 5), (30, 80)])
@pytest.mark.parametrize("depth", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_through_or_before_the_center_takes_few_steps(m, n, depth, seed) -> None:
    rng = np.random.default_rng(seed)
    polytope = polytope_on_simplex(rng, m, n)
    center, converged = analytic_center(polytope, np.full(n, 1 / n))
    assert converged
    row = rng.normal(size=n)
    down = row.mean() - row
    slacks, rates = np.r_[polytope.rhs - polytope.matrix @ center, center], np.r_[polytope.matrix @ down, -down]
    room = (slacks[rates > 0] / rates[rates > 0]).min()
    cut = with_row(polytope, row, float(row @ (center + depth * room * down)))
    warm, converged = analytic_center(cut, center, max_steps=15)
    assert converged
    assert cut.interior(warm)
    assert warm.sum() == pytest.approx(1.0, abs=1e-12)
    exact, converged = analytic_center(cut, warm, tolerance=1e-9)
    assert converged
    assert cut.barrier(exact) <= cut.barrier(warm) + 1e-9
    far, _ = analytic_center(cut, center, tolerance=1e-9)
    np.testing.assert_allclose(far, exact, atol=1e-6)


def test_an_empty_set_is_not_called_converged() -> None:
    rng = np.random.default_rng(0)
    polytope = with_row(polytope_on_simplex(rng, 3, 6), np.ones(6), 0.5)  # sum 1 and at most 1/2
    assert not analytic_center(polytope, np.full(6, 1 / 6))[1]


def steep(z: np.ndarray) -> tuple[float, np.ndarray]:
    """Linear but for its first two variables of each block of five."""
    target = np.tile([0.6, 0.4, 0.0, 0.0, 0.0], 2)
    slope = np.tile([0.0, 0.0, 1.0, 2.0, 3.0], 2)
    return float(slope @ z + ((z - target) ** 2).sum()), slope + 2 * (z - target)


def test_vanishing_weights_are_asked_as_zeros() -> None:
    for vanishing in (0.0, 1e-3):
        asked = []

        def function(z, asked=asked):
            asked.append(z)
            return steep(z)

        generator = AnalyticCenter(vanishing=vanishing)
        result = minimize(
            FunctionOracle(function, ProductOfSimplices([5, 5])), generator, rtol=0, atol=1e-6, max_calls=200, probes=0
        )
        assert result.status is Status.CONVERGED
        assert result.lower_bound <= 0.0 <= result.upper_bound
        zeros = np.array([(z == 0).sum() for z in asked])
        np.testing.assert_allclose([z.reshape(2, 5).sum(axis=1) for z in asked], 1.0, atol=1e-12)
        assert zeros.max() == (6 if vanishing else 0)


def largest(family: str, n: int):
    """The largest of 20 random functions on a box, and a bound on the calls that a library of ACCPM needs."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(20, n)), rng.normal(size=20)
    z, c = rng.uniform(-1, 1, size=(20, n)), rng.uniform(0.5, 2, size=20)
    if family == "affine":
        c[:] = 0.0

    def function(x):
        values = a @ x + b + 0.5 * c * ((x - z) ** 2).sum(axis=1)
        i = int(values.argmax())
        return float(values[i]), a[i] + c[i] * (x - z[i])

    return FunctionOracle(function, Box(-np.ones(n), np.ones(n)))


@pytest.mark.parametrize(
    ("family", "n", "calls"), [("affine", 10, 20), ("affine", 30, 28), ("quadratic", 10, 79), ("quadratic", 30, 247)]
)
def test_needs_no_more_calls_than_oboe_for_the_proof(family, n, calls) -> None:
    result = minimize(largest(family, n), AnalyticCenter(), rtol=1e-6, atol=1e-6, max_calls=calls)
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("vanishing", [-0.1, 1.0])
def test_refuses_a_share_out_of_range(vanishing) -> None:
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Simplex(3))
    with pytest.raises(InvalidArgument, match="`vanishing` must be at least 0 and below 1"):
        minimize(oracle, AnalyticCenter(vanishing=vanishing))


class Strict(Oracle):
    """Holds every point asked against all cuts answered before, and against the domain's rows and bounds."""

    gives = frozenset({FeasibilityCut})

    def __init__(self, inner: Oracle) -> None:
        self.inner, self.domain = inner, inner.domain

    def reset(self) -> None:
        self.inner.reset()
        self.feasibility: list[FeasibilityCut] = []
        self.objective: list[ObjectiveCut] = []
        self.calls = 0

    def query(self, query: Query):
        z, known = query.point, self.domain.linear_constraints()
        assert np.abs(known.equality_matrix @ z - known.equality_rhs).max(initial=0.0) <= 1e-9
        if self.calls:  # the first point is the caller's
            assert (z > known.lower).all()
            assert (z < known.upper).all()
            if known.inequality_matrix is not None:
                assert (known.inequality_matrix @ z < known.inequality_rhs).all()
        for cut in self.feasibility:
            assert cut.violation + cut.normal @ (z - cut.point) < 0
        upper = min((cut.upper for cut in self.objective), default=np.inf)
        for cut in self.objective:
            assert cut.value + cut.subgradient @ (z - cut.point) < upper
        self.calls += 1
        answer = self.inner.query(query)
        if isinstance(answer, FeasibilityCut):
            self.feasibility += [answer, *answer.further]
        else:
            self.objective.append(answer)
        return answer


def semidefinite(domain_of) -> tuple[Oracle, float]:
    """``min c @ x`` where a 6 x 6 matrix affine in x is positive semidefinite; the optimum by Clarabel."""
    import cvxpy as cp

    rng = np.random.default_rng(3)
    matrices = rng.normal(size=(5, 6, 6))
    matrices += matrices.transpose(0, 2, 1)
    c, x = rng.normal(size=5), cp.Variable(5)
    domain, constraints = domain_of(x)
    matrix = 3 * np.eye(6) + sum(x[k] * matrices[k] for k in range(5))
    problem = cp.Problem(cp.Minimize(c @ x), [matrix >> 0])
    oracle = ConicOracle.from_cvxpy(problem, domain=domain)
    held = cp.Problem(problem.objective, problem.constraints + constraints)
    held.solve(solver=cp.CLARABEL)
    return oracle, float(held.value)


def on_box(x):
    return Box(np.full(5, -2.0), np.full(5, 2.0)), [x >= -2, x <= 2]


def on_polyhedron(x):
    rng = np.random.default_rng(4)
    rows, equations = rng.normal(size=(4, 5)), rng.normal(size=(2, 5))
    domain = Polyhedron(rows, np.full(4, 0.5), equality_matrix=equations, equality_rhs=np.zeros(2), lower=-2, upper=2)
    return domain, [rows @ x <= 0.5, equations @ x == 0, x >= -2, x <= 2]


@pytest.mark.parametrize("generator", [AnalyticCenter(), AnalyticCenter(proximal=0.0)], ids=["proximal", "pure"])
@pytest.mark.parametrize("domain_of", [on_box, on_polyhedron])
@pytest.mark.parametrize("start", [1.5, -1.5])
def test_stays_strictly_inside_several_deep_cuts(generator, domain_of, start) -> None:
    inner, optimum = semidefinite(domain_of)
    oracle = Strict(inner)
    result = minimize(oracle, generator, inner.domain.project(np.full(5, start)), rtol=1e-5, max_calls=300)
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= optimum + 1e-6 * abs(optimum)
    assert result.upper_bound == pytest.approx(optimum, rel=2e-5)
    assert len(oracle.feasibility) > result.n_calls - len(oracle.objective)  # several of one call


@pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-5])
def test_stays_strictly_inside_parallel_cuts(width) -> None:
    # min z_2 within a slab along the diagonal, whose sides are stated several times at slightly different offsets
    normal = np.array([1.0, -1.0, 0.0])

    def function(z):
        excess = float(normal @ z) - 0.3
        if abs(excess) > width:
            side = np.sign(excess)
            depths = abs(excess) - width * np.array([1.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-4, 1.5])
            cuts = [FeasibilityCut(z, float(depth), side * normal) for depth in depths if depth > 0]
            return FeasibilityCut(z, cuts[0].violation, cuts[0].normal, tuple(cuts[1:]))
        return float(z[1] + z[2] ** 2), np.array([0.0, 1.0, 2 * z[2]])

    oracle = Strict(FunctionOracle(function, Box(-np.ones(3), np.ones(3)), gives={FeasibilityCut}))
    result = minimize(oracle, AnalyticCenter(), [0.9, -0.8, 0.5], rtol=1e-6, max_calls=200)
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= -1.0 <= result.upper_bound  # z_2 = -1, z_1 = -0.7
    assert result.upper_bound == pytest.approx(-1.0, abs=2e-6)


def test_the_proximal_term_does_not_hold_back_where_the_way_is_long() -> None:
    # the center of the largest ball lies in a corner of a long domain, so that the term's unit of length is about 1
    domain = Polyhedron(np.ones((1, 3)), np.array([2e3]), lower=0, upper=np.array([1.0, 1.0, 1e3]))
    assert np.linalg.norm(domain.interior_point()) < 2
    target = np.array([0.3, 0.6, 900.0])
    oracle = FunctionOracle(lambda z: (float(np.abs(z - target).sum()), np.sign(z - target)), domain)
    result = minimize(oracle, AnalyticCenter(), rtol=0.0, atol=1e-3, max_calls=60)
    assert result.success
    assert abs(result.point[2] - 900.0) < 1e-2


def test_a_long_run_where_the_model_is_often_right_does_not_overflow() -> None:
    problem = next(problem for problem in PROBLEMS if problem.name == "Polak2")
    result = minimize(problem.make(), AnalyticCenter(), problem.start, rtol=1e-14, max_calls=400)
    assert result.lower_bound <= problem.optimum * (1 + 1e-13) <= result.upper_bound * (1 + 1e-12)
    assert result.n_calls > 200
