"""A solver's solution asked first: nothing of it is believed, and what is proven of it holds."""

import pickle
import sys
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, Certificate, FreeSpace, Minorant, Proposal, Status, minimize
from oracle_opt.errors import InvalidArgument, MissingPackage
from oracle_opt.generators import Kelley, ProximalBundle
from oracle_opt.oracles import ConicOracle, Exponential, Nonnegative, PositiveSemidefinite, Power, SecondOrder, Zero
from oracle_opt.oracles.conic import lagrangian
from oracle_opt.oracles.conic.cone_groups import ConeGroups
from oracle_opt.oracles.conic.lagrangian import MULTIPLIERS
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.enclosure import Enclosure

KINDS = ("linear", "quadratic", "second-order", "matrices", "exponential", "power", "together")


def modeled(kind: str, seed: int) -> cp.Problem:
    """A random problem that has a solution, in units of many sizes."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n, unit = int(rng.integers(3, 9)), float(10.0 ** rng.integers(-3, 3))
    x, a = cp.Variable(n), rng.normal(size=(2 * n, n))
    rows = [a @ x <= unit * (1.0 + np.abs(rng.normal(size=2 * n))), cp.norm_inf(x) <= 3 * unit]
    c = rng.normal(size=n)
    if kind == "linear":
        return cp.Problem(cp.Minimize(c @ x), [*rows, rng.normal(size=n) @ x == 0])
    if kind == "quadratic":
        return cp.Problem(cp.Minimize(cp.sum_squares(rng.normal(size=(n - 1, n)) @ x / unit - 1) + c @ x / unit), rows)
    if kind == "second-order":
        return cp.Problem(cp.Maximize(c @ x - cp.norm(rng.normal(size=(n, n)) @ x)), [*rows, cp.norm(x) <= unit])
    if kind == "matrices":
        X, C = cp.Variable((n, n), symmetric=True), rng.normal(size=(n, n))
        return cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X)), [X >> 0, cp.trace(X) == unit])
    if kind == "exponential":
        return cp.Problem(cp.Minimize(cp.sum(cp.exp(x / unit)) + cp.logistic(c @ x / unit)), rows)
    if kind == "power":
        y = cp.Variable(n)
        return cp.Problem(cp.Minimize(cp.sum(cp.power(y, 1.5)) - c @ y), [y >= 0, cp.sum(y) <= 1 + unit])
    X = cp.Variable((2, 2), PSD=True)
    far = [cp.norm(x) <= unit, cp.sum(cp.exp(x / unit)) <= 2 * n, cp.trace(X) + x[0] / unit == 2]
    return cp.Problem(cp.Minimize(c @ x / unit + X[0, 1] + cp.sum_squares(x / unit)), [*rows, *far])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_one_call_is_proven(kind, seed, tmp_path):
    problem = modeled(kind, seed)
    oracle = ConicOracle.from_cvxpy(problem)
    result = minimize(oracle, atol=1e-8)
    assert result.success, result.message
    assert result.n_calls == 1
    assert "Clarabel" in result.message
    assert result.generator.startswith("SolverFirst('Clarabel")
    with np.errstate(invalid="ignore"):  # powers of what is negative by rounding; then its value is no number
        problem.solve(solver=cp.SCS if kind in ("matrices", "power") else cp.CLARABEL)  # the value alone, roughly
    value = problem.solution.opt_val * (1 if isinstance(problem.objective, cp.Minimize) else -1)
    size = 1e-4 * max(1.0, abs(value)) if kind in ("matrices", "power") else 1e-6 * max(1.0, abs(value))
    assert result.lower_bound - size <= value <= result.upper_bound + size
    certificate = Certificate.load(result.certificate().save(tmp_path / "run.jsonl"))
    fresh = ConicOracle.from_cvxpy(problem)
    verdict = certificate.verify(fresh)
    assert verdict.proven
    assert verdict.lower == pytest.approx(result.lower_bound, rel=1e-9, abs=1e-12)
    if kind in ("linear", "quadratic", "second-order"):
        assert certificate.verify(fresh, exact=True).lower == pytest.approx(result.lower_bound, rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["linear", "quadratic"])
def test_a_polyhedron_is_searched_when_it_is_asked_for_and_is_the_same_then(kind, seed, monkeypatch):
    """Rows that no program was solved over lead to the set, and the certificate, that a named generator has."""
    monkeypatch.setattr(lagrangian, "FLAT", 1e-6)
    problem = modeled(kind, seed)
    oracle, other = (ConicOracle.from_cvxpy(problem) for _ in range(2))
    result = minimize(oracle)
    assert result.success
    assert "_linear" not in vars(oracle.domain)
    assert oracle.domain.contains(result.point)
    certificate = result.certificate()
    assert certificate.verify(oracle, exact=True).proven
    slope = np.random.default_rng(seed).normal(size=oracle.domain.dimension)
    asked = other.domain.minimize_linear(slope)[0]  # before all else
    assert oracle.domain.minimize_linear(slope)[0] == asked
    assert certificate.verify(other, exact=True).proven
    np.testing.assert_array_equal(oracle.domain.bounding_box(), other.domain.bounding_box())


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_multipliers_is_believed(kind):
    """Whatever multipliers and point a claim has, it is charged what it says too much; feasible points say so, too."""
    rng = np.random.default_rng(KINDS.index(kind))
    oracle = ConicOracle.from_cvxpy(modeled(kind, 5))
    proposal = oracle.propose()
    assert proposal is not None
    best = minimize(oracle)
    point, y = proposal.minorant.extras["point"], proposal.minorant.extras[MULTIPLIERS]
    for k in range(30):
        wrong = y * rng.choice([0.0, 1.0, -1.0, 2.0], size=len(y)) if k % 2 else y + rng.normal(size=len(y)) * 10.0**-k
        at = point + rng.normal(size=len(point)) * 10.0 ** rng.integers(-9, 2)
        slope, constant = proposal.minorant.slope + rng.normal(size=len(point)) * (k % 3), float(rng.normal()) + k
        claim = CutClaim(ClaimKind.MINORANT, constant, slope, witness={"point": at, MULTIPLIERS: wrong})
        excess = oracle.prove_cut(claim)
        assert constant + slope @ best.point - excess <= best.upper_bound + 1e-9 * (
            1.0 + abs(best.upper_bound) + abs(constant)
        )


def test_vectors_are_lifted_into_the_dual_cone_in_fractions():
    """Near the boundaries, of all sizes; what holds is then not changed by the repair of a proof in fractions."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        size = 10.0 ** rng.uniform(-150, 150)
        u, w = -size * rng.uniform(0, 1), size * 10.0 ** rng.uniform(-12, 12)
        edge = u * (1.0 + np.log(w) - np.log(-u))
        cones = [Nonnegative(3), SecondOrder(4), Exponential(), Exponential(), Power(float(rng.uniform(0.1, 0.9)))]
        v = rng.normal(size=3) * size
        z = np.r_[rng.normal(size=3), np.linalg.norm(v), v, u, edge, w, rng.normal(size=3), np.abs(rng.normal(size=3))]
        groups, start = ConeGroups(cones), 0
        y = groups.lifted(z)
        assert np.abs(y - z)[:10] == pytest.approx(np.maximum(0, -z)[:10] * (np.arange(10) < 3), abs=1e-11 * size)
        for cone in cones:
            own = y[start : start + cone.dimension]
            start += cone.dimension
            if isinstance(cone, SecondOrder):
                assert Fraction(own[0]) ** 2 >= sum(Fraction(float(one)) ** 2 for one in own[1:])
            elif not isinstance(cone, Power):
                kept = cone.dual_near(Enclosure.of(own, True))
                assert kept is not None
                assert (kept.lower == np.array([Fraction(float(one)) for one in own])).all()
    for _ in range(50):  # down to the smallest numbers, of which sums and products are rounded by their own size
        v = rng.integers(-9, 10, size=4) * 5e-324
        lifted = ConeGroups([SecondOrder(4)]).lifted(v)
        assert Fraction(lifted[0]) ** 2 >= sum(Fraction(float(one)) ** 2 for one in lifted[1:])
    order = 5
    for _ in range(30):
        F = rng.normal(size=(order, 2))
        cone = PositiveSemidefinite(order)
        y = ConeGroups([cone]).lifted(cone.vector(F @ F.T - 1e-14 * np.eye(order)))
        assert np.linalg.eigvalsh(cone.matrix(y))[0] > 0


def test_who_names_a_generator_is_not_proposed_to(monkeypatch):
    oracle = ConicOracle.from_cvxpy(modeled("quadratic", 0))
    named = minimize(oracle, ProximalBundle(), max_calls=30)
    plain = minimize(oracle, first=False, max_calls=30)
    assert "Clarabel" not in named.message + plain.message
    both = minimize(oracle, Kelley(), first=True)
    assert both.n_calls == 1
    assert "Kelley(" in both.generator
    with pytest.raises(Exception, match="`first` must be"):
        minimize(oracle, first="yes")


@pytest.mark.parametrize("told", [True, False])
def test_a_generator_goes_on_where_a_gap_is_left(told):
    """From the point that was proposed, with or without what was proven."""

    class Rough(ConicOracle):
        def propose(self):
            made = super().propose()
            point = self.domain.project(made.point + 0.01)
            slope = np.zeros(len(point))
            weak = Minorant(-1e3, slope, extras={"point": point, MULTIPLIERS: np.zeros(len(self.problem.b))})
            return Proposal(point, weak if told else None, "a rough solver")

    rng = np.random.default_rng(3)
    A = np.vstack([np.zeros((1, 3)), -np.eye(3)])
    oracle = Rough(rng.normal(size=3), A, np.r_[1.0, np.zeros(3)], [SecondOrder(4)], domain=FreeSpace(3, 10.0))
    lines = []
    result = minimize(oracle, log=lines.append)
    assert result.success
    assert result.n_calls > 1
    assert result.upper_bound == pytest.approx(-np.linalg.norm(oracle.problem.c), rel=1e-5)
    assert "proposed first by a rough solver" in lines
    assert result.generator.startswith("SolverFirst('a rough solver', ")


def test_constraints_of_the_domain_are_told_to_the_solver():
    rng = np.random.default_rng(4)
    A = np.vstack([np.zeros((1, 3)), -np.eye(3)])
    c = np.array([1.0, -2.0, 0.5])
    oracle = ConicOracle(c, A, np.r_[1.0, np.zeros(3)], [SecondOrder(4)], domain=Box([-0.1] * 3, [0.2, 0.3, 0.4]))
    result = minimize(oracle)
    assert result.n_calls == 1
    for z in rng.uniform([-0.1] * 3, [0.2, 0.3, 0.4], size=(1000, 3)):
        assert np.linalg.norm(z) > 1 or c @ z >= result.lower_bound


def test_infeasible_problems_end_as_before():
    empty = ConicOracle([1.0, 1.0], [[1.0, 0.0], [-1.0, 0.0]], [-1.0, -1.0], [Nonnegative(1), Nonnegative(1)])
    lines = []
    result = minimize(empty, log=lines.append, max_calls=50)
    assert result.status is Status.EMPTY
    assert any("PrimalInfeasible" in line for line in lines)


def test_a_solver_that_is_missing_or_fails_is_told(monkeypatch):
    oracle = ConicOracle([1.0, 1.0], -np.eye(2), [0.0, 0.0], [Nonnegative(2)], domain=Box([-1, -1], [1, 1]))

    def broken(*data):
        raise RuntimeError("out of luck")

    with monkeypatch.context() as patch:
        patch.setattr("oracle_opt.oracles.conic.conic_proposal._solved", broken)
        lines = []
        assert minimize(oracle, log=lines.append).success
        assert any("out of luck" in line for line in lines)
    monkeypatch.setitem(sys.modules, "clarabel", None)  # as where it is not installed
    lines = []
    assert minimize(oracle, log=lines.append).success
    assert any("`clarabel` is needed" in line for line in lines)
    with pytest.raises(MissingPackage):
        minimize(oracle, first=True)


def test_a_run_that_was_proposed_is_resumed_from_its_journal(tmp_path):
    problem, path = modeled("second-order", 2), tmp_path / "run"
    first = minimize(ConicOracle.from_cvxpy(problem), journal=path)
    again = minimize(ConicOracle.from_cvxpy(problem), journal=path)
    assert again.n_replayed == first.n_calls == 1
    assert (again.lower_bound, again.upper_bound) == (first.lower_bound, first.upper_bound)


def test_cones_of_ones_own_are_not_proposed_for():
    class Mine(Nonnegative):
        pass

    oracle = ConicOracle([1.0], [[-1.0]], [0.0], [Mine(1)], domain=Box([-1], [1]))
    assert oracle.propose() is None
    assert minimize(oracle).success
    free = ConicOracle([1.0], [[1.0]], [2.0], [Zero(1)])
    assert replace(free.propose(), words="").point == pytest.approx([2.0])


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("seed", range(40))
def test_problems_without_a_minimum_or_of_any_numbers_end_with_a_word(seed):
    """Unbounded, infeasible, of entries of all sizes: no exception, no false bound, no success without a minimum."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    cones = [Nonnegative(m), SecondOrder(n + 1), *([Exponential()] if seed % 3 == 0 else [])]
    rows = sum(cone.dimension for cone in cones)
    far = 10.0 ** rng.integers(-12, 12, size=(rows, 1)) if seed % 2 else 1.0
    A, b = far * rng.normal(size=(rows, n)) * (rng.random((rows, n)) < 0.7), np.ravel(far * rng.normal(size=(rows, 1)))
    oracle = ConicOracle(rng.normal(size=n), A, b, cones)
    result = minimize(oracle, max_calls=5)
    assert result.lower_bound <= result.upper_bound or result.status in (Status.CONTRADICTION, Status.OUTSIDE)
    x = cp.Variable(n)
    K = [b[:m] - A[:m] @ x >= 0, cp.SOC(b[m] - A[m] @ x, b[m + 1 : m + n + 1] - A[m + 1 : m + n + 1] @ x)]
    if seed % 3 == 0:
        K.append(cp.ExpCone(*(b[i] - A[i] @ x for i in range(-3, 0))))
    problem = cp.Problem(cp.Minimize(oracle.problem.c @ x), K)
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError:
        return
    if problem.status == "optimal" and result.success:
        assert result.lower_bound <= problem.value + 1e-6 * (1.0 + abs(problem.value))
    assert not (result.success and problem.status in ("infeasible", "unbounded"))


@pytest.mark.parametrize("kind", ["linear", "quadratic", "second-order"])
@pytest.mark.parametrize("seed", range(4))
def test_floats_charge_at_least_what_fractions_do(kind, seed):
    """On a box, where both take the same maximum; of multipliers that solve the problem, and of others."""
    rng = np.random.default_rng(seed)
    problem = ConicOracle.from_cvxpy(modeled(kind, seed)).problem
    oracle = ConicOracle.from_problem(problem, domain=Box([-1e3] * len(problem.c), [1e3] * len(problem.c)))
    made = oracle.propose().minorant
    groups = ConeGroups(problem.cones)
    for k in range(6):
        x, y = made.extras["point"], made.extras[MULTIPLIERS]
        if k > 2:
            x = x + rng.normal(size=len(x))
            y = np.abs(y) * rng.uniform(0, 2, len(y)) + 10.0 ** -rng.integers(0, 12) * rng.random(len(y))
        constant = made.constant + float(rng.normal()) * 10.0 ** -rng.integers(0, 14) * (k > 0)
        witness = {"point": x, MULTIPLIERS: groups.lifted(y)}
        claim = CutClaim(ClaimKind.MINORANT, constant, made.slope + 1e-9 * (k % 2), witness=witness)
        assert Fraction(oracle.prove_cut(claim)) >= oracle.prove_cut(claim, exact=True)


@pytest.mark.parametrize("seed", range(5))
def test_a_maximization_keeps_its_sense_and_variables_their_values(seed):
    rng = np.random.default_rng(seed)
    x, scale = cp.Variable((2, 3), name="x"), cp.Parameter(nonneg=True, value=2.0)
    c = rng.normal(size=(2, 3))
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(c, x)) + 7), [cp.norm(x, "fro") <= scale])
    x.save_value(np.full((2, 3), 5.0))
    result = minimize(ConicOracle.from_cvxpy(problem))
    best = 2.0 * np.linalg.norm(c) + 7
    assert result.value == pytest.approx(best, rel=1e-7)
    assert result.value <= best * (1 + 1e-9) <= result.bound * (1 + 2e-9)
    assert f"at least {result.value:.10g}, at most {result.bound:.10g}" in str(result)
    assert result.value_of(x) == pytest.approx(2.0 * c / np.linalg.norm(c), abs=1e-4)
    assert result.value_of("x") == pytest.approx(result.value_of(x))
    assert result.value_of(cp.sum(x) * scale + 1) == pytest.approx(2.0 * result.value_of(x).sum() + 1)
    assert x.value == pytest.approx(result.value_of(x))  # as after problem.solve()
    with pytest.raises(InvalidArgument, match="`what` must be of the variables x, got other"):
        result.value_of("other")
    with pytest.raises(InvalidArgument, match="`value_of` needs"):
        pickle.loads(pickle.dumps(result)).value_of(x)
    least = minimize(ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(-problem.objective.args[0]), problem.constraints)))
    assert (least.value, least.bound) == (least.upper_bound, least.lower_bound)
    assert least.value == pytest.approx(-best, rel=1e-7)
