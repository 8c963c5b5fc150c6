"""What a user's own functions prove of a user's own relaxation."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from relaxed_instances import claims_of

from oracle_opt import InvalidArgument, InvalidCut, Query, Refuted
from oracle_opt.oracles import LagrangianOracle, RelaxedSolution
from oracle_opt.proof.claim import ValueClaim
from oracle_opt.proof.exact_sums import rounded_up


def knapsack(examine=True, several=False):
    """The knapsack of the documentation, its constraint relaxed: every set of things is a relaxed solution."""
    worth, size = np.array([6.0, 5.0, 4.1]), np.array([3.0, 2.0, 2.3])

    def solve(u):
        x = (worth > u[0] * size).astype(float)
        if several:
            return [
                RelaxedSolution(w * one, [s * one], solution=[one]) for w, s, one in zip(worth, size, x, strict=True)
            ]
        return RelaxedSolution(worth @ x, [size @ x], solution=x)

    def tell(x, worth=worth, size=size):
        if np.shape(x) != worth.shape or not np.isin(x, (0.0, 1.0)).all():
            raise ValueError("x must be 0 or 1")
        taken = np.flatnonzero(x)
        return sum((Fraction(worth[j]) for j in taken), Fraction(0)), [
            sum((Fraction(size[j]) for j in taken), Fraction(0))
        ]

    each = [lambda x, j=j: tell(x, worth[j : j + 1], size[j : j + 1]) for j in range(3)] if several else tell
    return LagrangianOracle(solve, [4.0], inequality=True, maximize=True, radius=10, examine=each if examine else None)


@pytest.mark.parametrize("exact", [False, True])
def test_a_relaxation_of_the_users_own_is_examined_by_its_own_function(exact):
    bare = knapsack(examine=False)
    (claim,) = claims_of(bare, bare.query(Query(np.array([1.9]))))
    assert bare.prove_cut(claim, exact) is None
    oracle = knapsack()
    assert oracle.prove_value(ValueClaim(np.array([1.9]), 0.0), exact) is None
    (claim,) = claims_of(oracle, oracle.query(Query(np.array([1.9]))))
    assert oracle.prove_cut(claim, exact) <= 1e-14
    raised = replace(claim, constant=claim.constant + 1e-6)
    assert 0.9e-6 < oracle.prove_cut(raised, exact) < 1.1e-6
    for x in ([0.5, 0, 0], [1, 0], "abc", [np.nan, 0, 0]):
        with pytest.raises(Refuted, match="relaxed solution is none"):
            oracle.prove_cut(replace(claim, witness={"compact": x}), exact)
    several = knapsack(several=True)
    whole, *each = claims_of(several, several.query(Query(np.array([1.9]))))
    for one in (whole, *each):
        assert several.prove_cut(one, exact) <= 1e-14
        assert 0.9e-6 < several.prove_cut(replace(one, constant=one.constant + 1e-6), exact) < 1.1e-6
        steeper = [several.prove_cut(replace(one, slope=one.slope + change), exact) for change in (-1e-3, 1e-3)]
        assert max(steeper) > 5e-3  # the activities of all parts add up
    for sizes in (None, [3], [1, 1, 2], [4, -1, 0], "abc", [1.0, np.nan, 1.0]):
        with pytest.raises(Refuted, match=r"relaxed solution is none|sizes"):
            several.prove_cut(replace(whole, witness={**whole.witness, "sizes": sizes}), exact)
    with pytest.raises(InvalidCut, match="one solution for each `examine`: 1, got 2"):
        LagrangianOracle(lambda u: [RelaxedSolution(0, [0.0])] * 2, [4.0], examine=lambda x: (0.0, [0.0])).query(
            Query(np.zeros(1))
        )
    for one in claims_of(bare := knapsack(examine=False, several=True), bare.query(Query(np.array([1.9])))):
        assert bare.prove_cut(one, exact) is None
    wrong = LagrangianOracle(lambda u: RelaxedSolution(0, [0.0]), [4.0], examine=lambda x: (0.0, [0.0, 0.0]))
    with pytest.raises(Refuted, match="must hold 1 numbers"):
        wrong.prove_cut(claim, exact)


def test_functions_that_examine_are_as_many_as_the_summands():
    def solve(u):
        return RelaxedSolution(1.0, [0.0], compact=[])

    def nothing(x):
        assert x.shape == (0,)
        return Fraction(1), [Fraction(0)]

    for wrong in ([nothing], [nothing] * 3, []):
        with pytest.raises(InvalidArgument, match="`examine` must be one function for each summand"):
            LagrangianOracle([solve, solve], [0.0], examine=wrong)
    two = LagrangianOracle([solve, solve], [0.0], examine=[nothing, nothing])
    for claim in claims_of(two, two.query(Query(np.ones(1)))):  # parts without any number
        assert two.prove_cut(claim, exact=True) == 0


@pytest.mark.parametrize("exact", [False, True])
def test_a_users_own_bound_on_the_relaxed_problem_proves_the_value(exact):
    class Bounded(LagrangianOracle):
        def relaxed_bound(self, u, exact=False):
            return Fraction(5) if exact else 5.0 + u[0]

    two = Bounded(lambda u: RelaxedSolution(5.0, [1.0]), [3.0], inequality=True, maximize=True)
    # theta is at most the bound + u @ rhs
    assert two.prove_value(ValueClaim(np.array([2.0]), 0.0), exact) == (11.0 if exact else 13.0)
    for nothing in (np.inf, np.nan):
        two.relaxed_bound = lambda u, exact, nothing=nothing: nothing
        assert two.prove_value(ValueClaim(np.array([2.0]), 0.0), exact) == np.inf


def test_fractions_are_rounded_up():
    most = float(np.finfo(float).max)
    assert rounded_up(Fraction(10) ** 400) == np.inf
    assert rounded_up(-(Fraction(10) ** 400)) == -most
    for number in (Fraction(1, 3), Fraction(-1, 3), Fraction(2, 3), Fraction(1, 10**400), Fraction(-1, 10**400)):
        assert 0 <= Fraction(rounded_up(number)) - number <= max(abs(number) * Fraction(1, 2**52), Fraction(1, 2**1074))
    assert rounded_up(Fraction(0.1)) == 0.1
