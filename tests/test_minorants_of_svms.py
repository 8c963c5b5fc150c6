"""Minorants of kernel learning hold also where the SVM's point does not quite add up to what it should."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from oracle_opt import Query
from oracle_opt.oracles import GramBank, MKLOracle, RandomBlock
from oracle_opt.oracles.mkl.formula import forms_near, proven
from oracle_opt.oracles.svm import Hinge, solve_csvc
from oracle_opt.proof.floats import Floats


def problem(seed, n=9):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(3, n, 4))
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return rng, GramBank([root @ root.T / n for root in roots]), y, rng.uniform(0.5, 3.0, n)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.1, 1.0])
def test_a_point_that_is_out_of_balance_proves_what_a_balanced_one_near_it_does(seed, share):
    """Between the optimum with its equation and the better one without: the minorant stays below the former."""
    rng, bank, y, C = problem(seed)
    w = rng.uniform(0.1, 1.0, 3)
    K, dual = bank.combine(w), Hinge(C).dual(y, len(y))
    lower, upper = np.minimum(C * y, 0.0), np.maximum(C * y, 0.0)
    balanced = solve_csvc(K, y, C, accuracy=1e-12)
    free = scipy_minimize(
        lambda b: (0.5 * b @ K @ b - y @ b, K @ b - y),
        np.zeros(len(y)),
        jac=True,
        bounds=list(zip(lower, upper, strict=True)),
        options={"ftol": 1e-15, "gtol": 1e-12},
    ).x
    b = np.clip(balanced.signed_dual + share * (free - balanced.signed_dual), lower, upper)
    imbalance = abs(float(b.sum())) + 1e-14
    S = np.array([b @ bank.combine(row) @ b for row in np.eye(3)])
    forms = forms_near(bank, b, imbalance, S, bank.form_error(b, b))
    proof = proven(dual, b, imbalance, forms, lambda: 1.0, Floats)
    constant, F = proof.constant.below(), proof.forms
    for other in (w, *rng.uniform(0.0, 2.0, (6, 3)), np.eye(3)[0]):
        known = solve_csvc(bank.combine(other), y, C, accuracy=1e-12).dual_objective
        assert constant - 0.5 * other @ F <= known * (1 + 1e-12)
    # no more is lost than the way to a balanced point
    naive = y @ b - 0.5 * w @ S
    largest = max(np.diag(bank.combine(row)).max() for row in np.eye(3))
    way = imbalance * (1.0 + imbalance) + 0.5 * w.sum() * imbalance * (2 * np.abs(b).sum() + imbalance) * largest
    assert constant - 0.5 * w @ F >= naive - 2 * way - 1e-9 * abs(naive)
    if share == 1.0 and imbalance > 0.1:
        assert naive > balanced.dual_objective  # so that the imbalance has to count


def test_whole_numbers_are_a_point_too():
    _, bank, y, C = problem(0)
    oracle = MKLOracle(bank, y, C)
    whole, floats = (oracle.query(Query(np.array([0, 1, 0], dtype=kind))) for kind in (int, float))
    assert whole.point.dtype == float
    assert whole.value == pytest.approx(floats.value)
    np.testing.assert_allclose(whole.subgradient, floats.subgradient)


def test_blocks_may_name_no_rows():
    block = RandomBlock([0.5, 0.5], rows=[], rhs=[[], []], cost_columns=[0], cost=[[1.0], [2.0]])
    assert block.rows.dtype == np.intp
    assert block.rhs.shape == (2, 0)
