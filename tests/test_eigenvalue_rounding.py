"""Bounds on rounding in the proofs of largest eigenvalues: they hold where all errors add up, and are close."""

from fractions import Fraction

import numpy as np
import pytest
from test_eigenvalue_witness import definite, exact

from oracle_opt import FreeSpace
from oracle_opt.oracles import MaxEigenvalueOracle
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.elimination import semidefinite


@pytest.mark.parametrize("columns", [1, 40, 300])
def test_the_bound_on_rounding_is_one_where_all_errors_have_the_same_sign(columns):
    """Equal columns, rows of many sizes, one variable: what is claimed is what floats make of the witness."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        order = 6
        rows = rng.random(order) * 10.0 ** -rng.integers(0, 9, order)
        R = np.repeat(rows[:, None], columns, axis=1)
        A = np.zeros((order, order))
        i = int(rows.argmax())
        A[i, i], A[np.ix_(rows < rows[i], rows < rows[i])] = float(seed % 2), 1.0
        oracle = MaxEigenvalueOracle(np.diag(rng.random(order)), [A], [0.0], trace=3.0, domain=FreeSpace(1, 1e6))
        W = np.zeros((order, order))
        for column in R.T:
            W += np.outer(column, column)
        for share in (np.nextafter(3.0, 4.0), 3.0 * (1 + columns * 2.0**-54), 3.0 * (1 - columns * 2.0**-54)):
            scale = share / float(np.trace(W))
            claim = CutClaim(
                ClaimKind.MINORANT,
                scale * float(np.sum(oracle.C.toarray() * W)),
                np.array([-scale * float(np.sum(A * W))]),
                witness={"factor": R},
            )
            in_floats, in_fractions = oracle.prove_cut(claim), oracle.prove_cut(claim, exact=True)
            assert in_floats >= in_fractions
            assert in_floats <= float(in_fractions) + 1e-12 * columns * (1.0 + 1e6 * abs(claim.slope[0]))


def test_the_bound_on_rounding_of_a_matrix_is_one_where_all_terms_are_rounded_alike():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        one = np.full((2, 2), rng.random())
        y = np.full(400, -rng.random())
        C, A, b = np.zeros((2, 2)), [one] * 400, np.zeros(400)
        oracle = MaxEigenvalueOracle(C, A, b, trace=1.0, domain=FreeSpace(400, 100.0))
        top = -Fraction(float(y[0])) * Fraction(float(one[0, 0])) * 800
        for exactly in (False, True):
            upper = Fraction(oracle.prove_value(ValueClaim(y, 0.0), exactly))
            assert 0 <= upper - top <= Fraction(2e-13) * top


@pytest.mark.parametrize("of_slope", [False, True])
def test_the_bound_on_rounding_is_one_where_rows_are_small_and_their_products_cancel(of_slope):
    """Two short rows that are orthogonal up to rounding, beside a long one: what is left of their product is error."""
    met = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        columns = (3, 7, 40)[seed % 3]
        R = rng.normal(size=(3, columns))
        R[1] -= (R[1] @ R[2]) / (R[2] @ R[2]) * R[2]
        R[1:] *= 10.0 ** -rng.integers(0, 9)
        one, none = np.zeros((3, 3)), np.zeros((3, 3))
        one[1, 2] = one[2, 1] = rng.choice([-1.0, 1.0])
        C, A = (none, one) if of_slope else (one, none)
        oracle = MaxEigenvalueOracle(C, [A], [0.0], trace=1.0, domain=FreeSpace(1, 1.0))
        form = 2.0 * one[1, 2] * float(np.einsum("ij,ij->i", R[[1]], R[[2]])[0]) / float(np.sum(R * R))
        constant, slope = (0.0, -form) if of_slope else (form, 0.0)
        claim = CutClaim(ClaimKind.MINORANT, constant, np.array([slope]), witness={"factor": R})
        in_floats, in_fractions = oracle.prove_cut(claim), oracle.prove_cut(claim, exact=True)
        assert in_floats >= in_fractions
        met += in_fractions > 3e-16 * abs(form)
        longest = np.linalg.norm(R, axis=1)
        assert in_floats <= 1e-15 * (columns + 10) * longest[1] * longest[2] / float(np.sum(R * R))
    assert met > 20  # where nothing is lost there is nothing to bound


def test_whole_numbers_are_eliminated_as_fractions_are():
    """Definite, singular and indefinite matrices, with zeros for pivots."""
    seen = set()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        order = int(rng.integers(1, 7))
        G = rng.integers(-3, 4, (order, order + seed % 3 - 1 or 1))
        M = G @ G.T + int(rng.integers(-1, 2)) * np.eye(order, dtype=int)
        known = definite(exact(M))
        seen.add(known)
        assert semidefinite(M.tolist(), strictly=True) == known
        assert semidefinite(M.tolist()) == (np.linalg.eigvalsh(M)[0] > -1e-9)
    assert seen == {True, False}
