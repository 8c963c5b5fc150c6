"""What a vector proves of infeasibility holds: against points that are feasible, and against exact arithmetic."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt.oracles import ConicOracle, Nonnegative, SecondOrder, Zero
from oracle_opt.oracles.conic.infeasibility import Infeasibility


def test_what_is_outside_the_dual_cone_costs_its_distance():
    """x >= 1 is feasible at 1 alone: a slightly negative multiplier of a slack row must not reach any farther."""
    for away in (1e-12, 1e-7, 1e-3):
        for A, b in (
            ([[-1.0], [0.0]], [-1.0, 1e6]),  # the side of the other row is large
            ([[-1.0], [-1e6]], [-1.0, 0.0]),  # or its length
            ([[-1.0], [1e3]], [-1.0, 1e7]),
        ):
            oracle = ConicOracle([1.0], A, b, [Nonnegative(2)])
            proof = Infeasibility.of(oracle, np.array([1.0, -away]))
            assert proof.reach <= 1.0
            assert proof.in_dual_cone == (away < 1e-9)
            if away < 1e-9:
                assert proof.reach == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_no_feasible_point_is_nearer_than_a_proof_reaches(seed):
    """Random vectors, of the dual cone and a little outside, against the feasible point of least norm by Clarabel."""
    rng = np.random.default_rng(seed)
    n, cones = 4, [Zero(1), Nonnegative(3), SecondOrder(4)]
    A = rng.normal(size=(8, n)) * 10.0 ** rng.uniform(-2, 2, (8, 1))
    far = 30.0 * rng.normal(size=n)
    inside = np.r_[0.0, rng.uniform(0, 1, 3), 5.0, rng.normal(size=3)]
    oracle = ConicOracle(np.ones(n), -A, inside - A @ far, cones)
    x = cp.Variable(n)
    v = A @ x + oracle.problem.b
    nearest = cp.Problem(cp.Minimize(cp.norm(x)), [v[0] == 0, v[1:4] >= 0, cp.norm(v[5:]) <= v[4]])
    nearest.solve(solver=cp.CLARABEL)
    equation, rows, curved = (constraint.dual_value for constraint in nearest.constraints)
    w = v.value[5:] / np.linalg.norm(v.value[5:])
    best = np.r_[-equation, rows, float(curved) * np.r_[1.0, -w]]
    proof = Infeasibility.of(oracle, best if oracle.problem.b @ best < 0 else np.r_[equation, best[1:]])
    assert proof.reach <= nearest.value * (1 + 1e-6)
    assert proof.reach >= nearest.value * (1 - 1e-3)
    proven = 0
    for _ in range(300):
        y = best * rng.choice([1.0, rng.uniform(0.5, 2)], 8) + 10.0 ** rng.uniform(-9, 0) * rng.normal(size=8)
        reach = Infeasibility.of(oracle, y).reach
        assert reach <= nearest.value * (1 + 1e-6)
        proven += reach > 0
    assert proven > 20


@pytest.mark.parametrize("side", [0.5, 1e-300, 3.0])
def test_a_vector_that_proves_the_opposite_proves_nothing(side):
    oracle = ConicOracle([1.0], [[0.0], [-1.0]], [side, -2.0], [Nonnegative(2)])
    proof = Infeasibility.of(oracle, np.array([1.0, 0.0]))
    assert proof.reach == 0.0
    turned = ConicOracle([1.0], [[0.0], [-1.0]], [-side, -2.0], [Nonnegative(2)])
    proof = Infeasibility.of(turned, np.array([1.0, 0.0]))
    assert proof.reach == np.inf
    assert proof.in_dual_cone


def test_without_rounding_means_exactly():
    """0.1 + 0.2 is not 0.3 in these numbers: what remains of A.T @ y bounds the reach."""
    rows = [[-0.1], [-0.2], [0.3]]
    oracle = ConicOracle([1.0], rows, [-1.0, 0.0, 0.0], [Nonnegative(3)])
    proof = Infeasibility.of(oracle, np.ones(3))
    assert 1e10 < proof.reach < np.inf
    exact = ConicOracle([1.0], [[-0.25], [-0.5], [0.75]], [-1.0, 0.0, 0.0], [Nonnegative(3)])
    assert Infeasibility.of(exact, np.ones(3)).reach == np.inf
    curved = ConicOracle([1.0], [[-0.25], [-0.5], [0.75]], [-1.0, 0.0, 0.0], [SecondOrder(3)])
    assert not Infeasibility.of(curved, np.ones(3)).in_dual_cone
    assert Infeasibility.of(curved, np.ones(3)).reach < np.inf
