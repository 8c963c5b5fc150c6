"""Quadratic objectives in units of many decades: cuts, definiteness and bounds against exact fractions."""

from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from provers import FAST
from scipy import sparse

from oracle_opt import Box, FreeSpace, InvalidArgument, Query, minimize
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.oracles import ConicOracle, Nonnegative
from oracle_opt.oracles.conic.definiteness import in_own_units, lack
from oracle_opt.oracles.conic.squares import squares_of
from oracle_opt.proof.elimination import semidefinite


def form(rng, n, rank):
    """A Gram matrix in units that span ten decades, and the units."""
    root, units = rng.normal(size=(rank, n)), 10.0 ** rng.uniform(-5, 5, n)
    P = (root.T @ root) / np.outer(units, units)
    return 0.5 * P + 0.5 * P.T, units


def oracle_of(P, c, units, **more):
    n = len(c)
    return ConicOracle(c, np.zeros((0, n)), [], [], P=P, domain=Box(-units, units), **more)


def value(P, c, x):
    """``1/2 x @ P @ x + c @ x`` in fractions."""
    z = [Fraction(one) for one in x]
    n = range(len(z))
    curved = sum((Fraction(P[i, j]) * z[i] * z[j] for i in n for j in n if P[i, j]), Fraction(0))
    return curved / 2 + sum((Fraction(one) * two for one, two in zip(c, z, strict=True)), Fraction(0))


def plane(cut, x):
    """What a cut says of a point, in fractions."""
    rises = zip(cut.subgradient, x, cut.point, strict=True)
    return sum((Fraction(g) * (Fraction(a) - Fraction(b)) for g, a, b in rises), Fraction(cut.value))


def sum_of_squares(P, squares):
    """``P + D - sum w r r'`` as a matrix of fractions."""
    n, R = P.shape[0], squares.roots.toarray()
    left = [[Fraction(P[i, j]) for j in range(n)] for i in range(n)]
    for i in range(n):
        left[i][i] += Fraction(squares.lack[i])
        for j in range(n):
            left[i][j] -= sum(
                (Fraction(w) * Fraction(r[i]) * Fraction(r[j]) for w, r in zip(squares.weights, R, strict=True)),
                Fraction(0),
            )
    return left


def whole(rows):
    """The same matrix times a number, of whole numbers."""
    unit = lcm(*(one.denominator for row in rows for one in row))
    return [[int(one * unit) for one in row] for row in rows]


@pytest.mark.parametrize("multicut", [True, False])
@pytest.mark.parametrize("rank", [4, 2])
@pytest.mark.parametrize("seed", range(6))
def test_no_cut_exceeds_the_form_anywhere_and_its_error_reaches_the_value(seed, rank, multicut):
    rng = np.random.default_rng(seed)
    P, units = form(rng, 4, rank)
    c = rng.normal(size=4) / units
    oracle = oracle_of(P, c, units, multicut=multicut)
    points = [*rng.uniform(-units, units, (5, 4)), units, -units, np.zeros(4)]
    cuts = [oracle.query(Query(x)) for x in points]
    for cut, x in zip(cuts, points, strict=True):
        true, terms = value(P, c, x), float(np.abs(P) @ np.abs(x) @ np.abs(x) + np.abs(c) @ np.abs(x))
        assert Fraction(cut.value) <= true <= Fraction(cut.value) + Fraction(cut.error)
        assert cut.error <= 1e-12 * (terms + 10.0)
    for x in points:
        true = value(P, c, x)
        assert all(plane(cut, x) <= true for cut in cuts)
        if multicut:  # with the best cut of each summand
            assert sum(max(plane(cut.summands[j], x) for cut in cuts) for j in range(len(cuts[0].summands))) <= true


@pytest.mark.campaign(2)
@pytest.mark.parametrize(
    ("decades", "generator", "make"),
    [(7, generator, np.asarray) for generator in FAST]
    + [(decades, Kelley(), np.asarray) for decades in (3, 6, 9, 12)]
    + [(7, Kelley(), make) for make in (lambda P: P.astype(np.float32), sparse.csc_array)],
)
def test_a_coupled_tiny_unit_is_not_left_out(decades, generator, make):
    """The minimum is -2/3 in every unit s; half of P is below rounding beside the other half."""
    s = 2.0 ** -np.rint(decades * np.log2(10))
    P, c = np.array([[1, 0.5 * s], [0.5 * s, s * s]]), np.array([-1, -s])
    domain = Box([-10, -10 / s], [10, 10 / s])
    oracle = ConicOracle(c, [[1.0, 0]], [1e3], [Nonnegative(1)], P=make(P), domain=domain)
    run = minimize(oracle, generator, rtol=1e-6, max_calls=200)
    assert run.success or decades > 9
    assert Fraction(run.lower_bound) <= Fraction(-2, 3) <= Fraction(run.upper_bound)
    assert value(P, c, run.point) <= Fraction(run.upper_bound)
    assert run.certificate().verify(oracle).proven


@pytest.mark.parametrize("seed", range(12))
def test_what_a_form_may_lack_is_proven_and_what_squares_leave_is_convex(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    P, _ = form(rng, n, int(rng.integers(1, n + 1)))
    rows = sparse.csr_array(P)
    D, squares = lack(rows), squares_of(rows)
    assert semidefinite(whole([[Fraction(P[i, j]) + (i == j) * Fraction(D[i]) for j in range(n)] for i in range(n)]))
    assert semidefinite(whole(sum_of_squares(P, squares)))
    assert max((D / P.diagonal()).max(), (squares.lack / P.diagonal()).max()) <= 1e-12


def test_a_form_of_whole_numbers_lacks_nothing_and_one_of_full_rank_neither():
    rng = np.random.default_rng(0)
    root = rng.integers(-3, 4, size=(2, 5)).astype(float)
    assert not lack(sparse.csr_array(root.T @ root)).any()
    P, _ = form(rng, 6, 9)
    assert not lack(sparse.csr_array(P)).any()
    assert not squares_of(sparse.csr_array(P)).lack.any()


@pytest.mark.campaign(3)
@pytest.mark.parametrize("multicut", [True, False])
@pytest.mark.parametrize("below", [1e-15, 1e-12, 4e-10, 1e-7])
@pytest.mark.parametrize("seed", range(3))
def test_a_form_with_a_negative_eigenvalue_is_refused_or_its_values_are_not_exceeded(seed, below, multicut):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 3))
    flat = np.linalg.svd(root)[2][-1]
    units = 10.0 ** rng.uniform(-3, 3, 3)
    P = (root.T @ root - below * np.outer(flat, flat)) / np.outer(units, units)
    P, far = 0.5 * P + 0.5 * P.T, 1e6 * units
    least, *_, largest = np.linalg.eigvalsh(in_own_units(sparse.csr_array(P), np.arange(3))[0])
    if least < -1e-9 * largest:
        with pytest.raises(InvalidArgument, match="`P` must be positive semidefinite"):
            oracle_of(P, np.zeros(3), far, multicut=multicut)
        return
    assert below < 1e-7
    oracle = oracle_of(P, np.zeros(3), far, multicut=multicut)
    run = minimize(oracle, LevelSet(), max_calls=20)
    corner = far * flat / np.abs(flat).max()
    assert Fraction(run.lower_bound) <= value(P, np.zeros(3), corner)
    assert run.certificate().verify(oracle).proven


def test_what_rounding_hides_needs_a_domain_with_an_end():
    root = np.array([[1.0, 1.0 / 3.0]])
    with pytest.raises(InvalidArgument, match="`domain` have bounds"):
        ConicOracle([0.0, 0.0], np.zeros((0, 2)), [], [], P=root.T @ root * 1.1, domain=FreeSpace(2, np.inf))
    free = ConicOracle([0.0, 0.0], np.zeros((0, 2)), [], [], P=np.eye(2), domain=FreeSpace(2, np.inf))
    assert free.query(Query(np.ones(2))).value == pytest.approx(1.0)


def test_a_recession_is_flat_for_all_of_the_form():
    """A direction of a tiny eigenvalue is curved all the same: nothing falls without end along it."""
    s = 1e-8
    oracle = ConicOracle([0.0, -1.0], np.zeros((0, 2)), [], [], P=[[1.0, 0.5 * s], [0.5 * s, s * s]])
    away = oracle.recession()
    assert away.problem.A.shape[0] == 2
    assert np.linalg.matrix_rank(away.problem.A.toarray() / [[1.0], [s]] / [1.0, s]) == 2
