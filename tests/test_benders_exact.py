"""Answers of the two-stage and Lagrangian oracles in rational arithmetic: what made them false, each on its own."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from oracle_opt import Query
from oracle_opt.oracles import BendersOracle, LagrangianOracle, RandomBlock, RelaxedSolution, TwoStageProblem
from oracle_opt.oracles.benders.proof import Inside, Interiors, farkas, multiplier_bounds
from oracle_opt.oracles.benders.recourse import DualVertex, Recourse, Solved
from oracle_opt.oracles.benders.standard_form import StandardForm
from oracle_opt.oracles.benders.vertices import Vertices


def fractions(values):
    return [Fraction(float(v)) for v in values]


@pytest.mark.to_the_bit
@pytest.mark.parametrize("short", [5e-10, -5e-10, 1e-12, 3e-8])
def test_a_basis_that_fits_to_the_tolerance_pays_for_what_it_misses(short):
    # Q = 20 max(0, d - x) for d = 4 and 5: the basis of no shortage counts as optimal a bit below 5, too
    demand = RandomBlock([0.5, 0.5], rows=[0], rhs=[[4.0], [5.0]])
    oracle = BendersOracle(TwoStageProblem([1.0], [20.0], [[1.0]], [[1.0]], [4.0], [np.inf], [demand], x_upper=9.0))
    oracle.query(Query(np.array([6.0])))
    x = 5.0 - short
    cut = oracle.query(Query(np.array([x])))
    truth = Fraction(x) + 10 * max(Fraction(0), 5 - Fraction(x))
    assert Fraction(cut.value) <= truth <= Fraction(cut.value) + Fraction(cut.error)
    assert cut.error <= 1e-6  # HiGHS' tolerance, 1e-7, at its price of 10
    for z in (0.0, 4.0, 5.0, 9.0):
        known = Fraction(z) + 10 * max(Fraction(0), 4 - Fraction(z)) + 10 * max(Fraction(0), 5 - Fraction(z))
        assert Fraction(cut.value) + Fraction(cut.subgradient[0]) * (Fraction(z) - Fraction(x)) <= known


def second_stage(seed):
    rng = np.random.default_rng(seed)
    m, k = 3, 5
    W = sparse.csr_array(np.hstack([rng.normal(size=(m, k)), np.eye(m), -np.eye(m)]))
    q = np.r_[rng.uniform(0.5, 1.0, k), rng.uniform(2.0, 4.0, 2 * m)]
    y_upper = np.r_[np.full(2, 3.0), np.full(k - 2 + 2 * m, np.inf)]
    signs = np.full(m, -np.inf), np.full(m, np.inf)
    return rng, W, q, np.zeros(k + 2 * m), y_upper, signs


def form_of(W, y_lower, y_upper, box):
    m = W.shape[0]
    return StandardForm(W, np.zeros((0, 2), dtype=int), y_lower, y_upper, np.zeros(m), np.zeros(m), box, np.ones(m))


@pytest.mark.parametrize("seed", range(8))
def test_multipliers_are_feasible_and_their_constant_is_a_bound_exactly(seed):
    rng, W, q, y_lower, y_upper, signs = second_stage(seed)
    form = form_of(W, y_lower, y_upper, multiplier_bounds(W, y_lower, y_upper, q, q, signs))
    program, interiors = Recourse(form, Interiors(form, 0.0 * q)), Interiors(form, q)
    columns = [fractions(column) for column in W.toarray().T]
    for _ in range(10):
        side = rng.normal(size=W.shape[0])
        assert isinstance(program.solve(q, None, side, side), Solved)
        basic, at = (part[None] for part in program.basis())
        inverse = np.linalg.inv(form.bases(basic, None))
        vertex = Vertices.of(form, inverse, basic, at, q[None], None, interiors(q[None], None))
        zero, sides = np.zeros(1, dtype=int), (side[None], side[None])
        fits, uppers = vertex.tried(form, zero, *sides, np.zeros(len(side)), q[None], None)
        assert fits.all()
        dual, upper = DualVertex(vertex.multipliers[0], float(vertex.constant[0])), uppers[0]
        pi = fractions(dual.multipliers)
        least = Fraction(0)
        for column, cost, most in zip(columns, fractions(q), y_upper, strict=True):
            reduced = cost - sum(a * p for a, p in zip(column, pi, strict=True))
            if np.isinf(most):
                assert reduced >= 0
            else:
                least += min(reduced, 0) * Fraction(most)
        assert Fraction(dual.constant) <= least
        known = linprog(q, A_eq=W.toarray(), b_eq=side, bounds=np.c_[y_lower, y_upper]).fun
        value = float(dual.values(side[None], side[None])[0])
        assert known - 1e-7 <= value <= upper
        assert upper == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_box_of_multipliers_holds_all_feasible_ones(seed):
    rng, W, q, y_lower, y_upper, signs = second_stage(seed)
    low, high = multiplier_bounds(W, y_lower, y_upper, q, q, signs)
    assert np.isfinite([low, high]).all()
    endless = np.isinf(y_upper)
    A = W.toarray().T[endless]
    for _ in range(6):
        pi = linprog(rng.normal(size=len(low)), A, q[endless], bounds=(None, None)).x
        assert (pi >= low - 1e-9).all()
        assert (pi <= high + 1e-9).all()


def test_costs_and_recourse_of_each_scenario_are_set_again():
    # entries that the nominal W does not have, and zeros among those that vary
    vary = RandomBlock([0.5, 0.5], recourse_entries=[[0, 1], [1, 0]], recourse=[[0.0, 3.0], [2.0, 0.0]])
    problem = TwoStageProblem(
        [1.0], [1.0, 1.0, 9.0, 9.0], [[1.0], [1.0]], [[1, 0, 1, 0], [0, 1, 0, 1]], [3, 3], np.inf, [vary], x_upper=9.0
    )
    cut = BendersOracle(problem).query(Query(np.zeros(1)))
    truths = []
    for first, second in ((0.0, 3.0), (2.0, 0.0)):
        W = np.array([[1.0, first, 1, 0], [second, 1, 0, 1]])
        truths.append(linprog([1.0, 1.0, 9.0, 9.0], -W, [-3, -3]).fun)
    assert cut.value == pytest.approx(np.mean(truths))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("seed", range(10))
def test_values_of_relaxations_hold_in_exact_arithmetic(seed, count):
    rng = np.random.default_rng(seed)
    costs, activities, rhs = rng.normal(size=(count, 5)), rng.normal(size=(count, 5, 3)), rng.normal(size=3)

    def worth(k, u):
        pairs = zip(costs[k], activities[k], strict=True)
        return [Fraction(c) + sum(x * y for x, y in zip(fractions(a), u, strict=True)) for c, a in pairs]

    def solve(u):
        each = [worth(k, fractions(u)) for k in range(count)]
        best = [values.index(min(values)) for values in each]
        return [RelaxedSolution(costs[k, i], activities[k, i]) for k, i in enumerate(best)]

    def exact(u):
        return sum(x * y for x, y in zip(fractions(rhs), u, strict=True)) - sum(min(worth(k, u)) for k in range(count))

    oracle, points = LagrangianOracle(solve, rhs), rng.normal(size=(4, 3)) * 30
    for u in points:
        cut = oracle.query(Query(u))
        assert exact(fractions(u)) <= Fraction(cut.value) + Fraction(cut.error)
        assert cut.error <= 1e-9
        for z in points:
            away = [a - b for a, b in zip(fractions(z), fractions(u), strict=True)]
            for several in ((cut,), cut.summands or (cut,)):
                values = [
                    Fraction(one.value) + sum(g * d for g, d in zip(fractions(one.subgradient), away, strict=True))
                    for one in several
                ]
                assert sum(values) <= exact(fractions(z))


@pytest.mark.parametrize("seed", range(6))
def test_rays_of_least_violation_prove_infeasibility(seed):
    rng = np.random.default_rng(seed)
    W, y_upper = sparse.csr_array(rng.normal(size=(4, 3))), np.full(3, 2.0)
    lower = rng.normal(size=4) + 8.0
    upper = np.where(rng.random(4) < 0.5, lower + 1.0, np.inf)
    assert linprog(np.zeros(3), -W.toarray(), -lower, bounds=(0.0, 2.0)).status == 2
    pi = farkas(W, np.zeros(3), y_upper, lower, upper)
    sides = np.where(pi > 0, lower, np.where(pi < 0, upper, 0.0))
    assert np.isfinite(sides).all()
    assert pi @ sides - np.maximum(W.T @ pi, 0.0) @ y_upper > 0


@pytest.mark.parametrize("cost", [[-1.0, -1.0], [1.0, -1.0], [1.0, 3.0], [0.0, 0.0]])
def test_multipliers_inside_leave_reduced_costs_on_their_side(cost):
    W, side, ends = sparse.csr_array([[1.0, 2.0]]), np.ones(2), (np.array([-10.0]), np.array([10.0]))
    inside = Inside(W, np.array(cost), side, np.zeros(2, dtype=bool), ends).multipliers
    assert (cost - W.T @ inside > 0.1).all()
