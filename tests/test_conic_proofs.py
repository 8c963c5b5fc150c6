"""Claims of conic programs are proven from witness and data, and forged ones are not; truth comes from Clarabel."""

from dataclasses import replace
from decimal import Decimal, getcontext
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, Status, minimize
from oracle_opt.bounds import cut_rounding
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.errors import Refuted
from oracle_opt.generators import Kelley
from oracle_opt.oracles import (
    Cone,
    ConicOracle,
    Exponential,
    Nonnegative,
    PositiveSemidefinite,
    Power,
    SecondOrder,
    Zero,
)
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.elementary import exp_ends, log_ends, sqrt_ends
from oracle_opt.proof.enclosure import Enclosure

INSIDE = {Exponential: [-0.5, 0.7, 1.0], Power: [1.0, 1.0, 0.2]}
MIXTURES = {
    "inequalities": [Nonnegative(12)],
    "equations": [Zero(1), Nonnegative(8)],
    "second-order": [SecondOrder(4), SecondOrder(3)],
    "semidefinite": [PositiveSemidefinite(3)],
    "exponential": [Exponential()] * 3,
    "power": [Power(0.3), Power(0.05)],
    "all": [Zero(1), Nonnegative(3), SecondOrder(3), PositiveSemidefinite(2), Exponential(), Power(0.7)],
}


def slack(cone):
    """A point inside the cone."""
    if isinstance(cone, PositiveSemidefinite):
        return cone.vector(np.eye(cone.order))
    if isinstance(cone, Zero):
        return np.zeros(cone.dimension)
    return np.array(INSIDE.get(type(cone), [1.0] + [0.3] * (cone.dimension - 1)))


def program(cones, P=None, seed=0, n=4):
    """A random conic oracle on a box with an interior, but for equations."""
    rng = np.random.default_rng(seed)
    m = sum(cone.dimension for cone in cones)
    A, x = rng.normal(size=(m, n)), rng.uniform(-0.3, 0.3, n)
    b = A @ x + np.concatenate([slack(cone) for cone in cones])
    return ConicOracle(rng.normal(size=n), A, b, cones, P=P, domain=Box(np.full(n, -2.0), np.full(n, 2.0)))


def claims_of(cut, witness):
    """All claims of an answer."""
    if isinstance(cut, FeasibilityCut):
        return [claim(one, ClaimKind.HALF_SPACE, witness) for one in (cut, *cut.further)]
    parts = [
        claim(one, ClaimKind.SUMMAND, witness, summand=j, n_summands=len(cut.summands))
        for j, one in enumerate(cut.summands)
    ]
    return [claim(cut, ClaimKind.MINORANT, witness), *parts]


def claim(cut, kind, witness, **more):
    value, slope = (cut.violation, cut.normal) if isinstance(cut, FeasibilityCut) else (cut.value, cut.subgradient)
    constant = cut.constant - cut_rounding(cut.point, value, slope)[0]
    return CutClaim(
        kind, constant, slope, witness={name: cut.extras[name] for name in witness if name in cut.extras}, **more
    )


def run(oracle, calls=12):
    return minimize(oracle, Kelley(), max_calls=calls, keep_cuts=True)


def clarabel(oracle, slope, sign=1.0):
    """The largest of a linear function over the feasible points of the box."""
    it, x = oracle.problem, cp.Variable(oracle.domain.dimension)
    rows, start = [x >= oracle.domain.lower, x <= oracle.domain.upper], 0
    for cone in it.cones:
        v = it.b[start : start + cone.dimension] - it.A[start : start + cone.dimension] @ x
        start += cone.dimension
        if isinstance(cone, Zero):
            rows.append(v == 0)
        elif isinstance(cone, Nonnegative):
            rows.append(v >= 0)
        elif isinstance(cone, SecondOrder):
            rows.append(cp.SOC(v[0], v[1:]))
        elif isinstance(cone, Exponential):
            rows.append(cp.ExpCone(v[0], v[1], v[2]))
        elif isinstance(cone, Power):
            rows.append(cp.PowCone3D(v[0], v[1], v[2], cone.exponent))
        else:
            matrix, k = [[0.0] * cone.order for _ in range(cone.order)], 0
            for j in range(cone.order):
                for i in range(j + 1):
                    matrix[i][j] = matrix[j][i] = v[k] if i == j else v[k] / np.sqrt(2.0)
                    k += 1
            rows.append(cp.bmat(matrix) >> 0)
    problem = cp.Problem(cp.Maximize(sign * slope @ x), rows)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])
@pytest.mark.parametrize("name", MIXTURES)
def test_honest_claims_are_proven_but_for_rounding(name, exact):
    oracle = program(MIXTURES[name])
    result = run(oracle)
    n_half_spaces = 0
    for cut in result.history.cuts:
        for one in claims_of(cut, oracle.witness):
            excess = oracle.prove_cut(one, exact)
            assert isinstance(excess, Fraction if exact else float)
            assert 0 <= excess <= 1e-12 * (1.0 + abs(one.constant) + oracle.domain.extent(one.slope))
            n_half_spaces += one.kind is ClaimKind.HALF_SPACE
    assert n_half_spaces
    value = oracle.prove_value(ValueClaim(result.point, result.upper_bound), exact)
    true = sum((Fraction(a) * Fraction(b) for a, b in zip(oracle.problem.c, result.point, strict=True)), Fraction(0))
    assert true <= value <= true + Fraction(1, 10**12)


@pytest.mark.parametrize("name", MIXTURES)
def test_what_is_proven_of_forged_claims_is_true(name):
    """A steeper slope, a larger constant, another witness, other data: refused, or charged with what is false."""
    oracle, other = program(MIXTURES[name]), program(MIXTURES[name], seed=1)
    rng = np.random.default_rng(3)
    cuts = [cut for cut in run(oracle).history.cuts if isinstance(cut, FeasibilityCut)]
    for cut in cuts[:2]:
        honest = claims_of(cut, oracle.witness)[0]
        dual = honest.witness["dual"]
        i = rng.integers(len(honest.slope))
        steeper = honest.slope.copy()
        steeper[i] += 1e-6
        forged = [
            (oracle, replace(honest, slope=steeper)),
            (oracle, replace(honest, constant=honest.constant + 1e-6)),
            (oracle, replace(honest, witness={**honest.witness, "dual": dual + 1e-6 * rng.normal(size=dual.shape)})),
            (oracle, replace(honest, witness={**honest.witness, "dual": -dual})),
            (other, honest),
        ]
        for judge, one in forged:
            try:
                excess = judge.prove_cut(one)
            except Refuted:
                continue
            assert one.constant + clarabel(judge, one.slope) <= excess + 1e-6 * (1 + excess)
            exact = judge.prove_cut(one, exact=True)
            assert exact <= excess * (1 + 1e-9) + 1e-15
        # these two are wrong by 1e-6 somewhere in the box, and what proves the honest one does not prove them
        assert oracle.prove_cut(forged[0][1]) > 1e-7
        assert oracle.prove_cut(forged[1][1]) > 1e-7


@pytest.mark.campaign(4)
@pytest.mark.parametrize("seed", range(4))
def test_repaired_vectors_are_in_the_dual_cone_exactly(seed):
    """At the edges, too: entries of very different sizes, on the boundary, outside it."""
    rng = np.random.default_rng(seed)
    getcontext().prec = 60
    for _ in range(40):
        u, w = -(10.0 ** rng.uniform(-9, 3)), 10.0 ** rng.uniform(-9, 3)
        v = u * (1 + np.log(w / -u)) * (1 + rng.choice([0, 1e-15, -1e-15, 0.3])) - rng.choice([0.0, 1e-12])
        a = float(rng.choice([0.5, 0.01, 0.99, rng.uniform()]))
        p, q = 10.0 ** rng.uniform(-6, 6, 2)
        r = (p / a) ** a * (q / (1 - a)) ** (1 - a) * (1 + rng.choice([0, 1e-15, 1e-3])) * rng.choice([-1, 1])
        for exact in (False, True):
            u1, v1, w1 = (_decimal(one) for one in _lower(Exponential().dual_near(Enclosure.of([u, v, w], exact))))
            assert v1 - u1 * (1 + (w1 / -u1).ln()) >= -(1 + abs(v1)) * Decimal("1e-50")
            u1, v1, w1 = (_decimal(one) for one in _lower(Power(a).dual_near(Enclosure.of([p, q, r], exact))))
            x = _decimal(Fraction(a))
            assert u1 >= 0
            assert v1 >= 0
            most = (x * (u1 / x).ln() + (1 - x) * (v1 / (1 - x)).ln()).exp()
            assert abs(w1) <= most * (1 + Decimal("1e-40"))
            cone = SecondOrder(5)
            y = rng.normal(size=5) * 10.0 ** rng.uniform(-9, 9, 5)
            t, *rest = (Fraction(one) for one in _lower(cone.dual_near(Enclosure.of(y, exact))))
            assert t >= 0
            assert t * t >= sum(one * one for one in rest)


def _lower(y):
    assert (y.lower == y.upper).all()
    return y.lower.tolist()


def _decimal(value):
    value = Fraction(value)
    return Decimal(value.numerator) / Decimal(value.denominator)


@pytest.mark.parametrize("dual", [[-1.0, 2.0, 0.0], [-1.0, 2.0, -3.0], [1.0, -1.0, -1.0], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("cone", [Exponential(), Power(0.3), SecondOrder(3)], ids=repr)
def test_degenerate_vectors_prove_the_truth_or_nothing(cone, dual):
    oracle = program([cone])
    claimed = CutClaim(ClaimKind.HALF_SPACE, 0.1, np.ones(4), witness={"first_row": 0, "dual": np.array(dual)})
    for exact in (False, True):
        try:
            excess = float(oracle.prove_cut(claimed, exact))
        except Refuted:
            continue
        assert claimed.constant + clarabel(oracle, claimed.slope) <= excess + 1e-6


@pytest.mark.parametrize(
    "wrong",
    [
        {"first_row": 99},
        {"first_row": -1},
        {"first_row": 0.5},
        {"first_row": 1},
        {"first_row": np.nan},
        {"first_row": "0"},
        {"dual": np.array([np.nan, 0.0, 0.0])},
        {"dual": np.array([np.inf, 0.0, 0.0])},
        {"dual": np.ones(2)},
        {"dual": np.ones((1, 3))},
        {"dual": np.zeros(0)},
        {"dual": "none"},
        {"dual": np.array([1e308, 1e308, 1e308])},
    ],
    ids=repr,
)
def test_witnesses_that_are_none_are_refused_in_words(wrong):
    oracle = program([SecondOrder(3)])
    witness = {"first_row": 0, "dual": np.array([1.0, 0.0, 0.0]), **wrong}
    for exact in (False, True):
        try:
            excess = oracle.prove_cut(CutClaim(ClaimKind.HALF_SPACE, 0.0, np.ones(4), witness=witness), exact)
        except Refuted:
            continue
        assert excess > 1e100


def test_without_a_witness_nothing_is_said_and_kinds_that_it_has_not_are_refused():
    oracle = program([SecondOrder(3)])
    assert oracle.prove_cut(CutClaim(ClaimKind.HALF_SPACE, 0.0, np.ones(4))) is None
    for kind in (ClaimKind.BOUND, ClaimKind.SUMMAND):
        with pytest.raises(Refuted):
            oracle.prove_cut(CutClaim(kind, 0.0, np.zeros(4), n_summands=3))
    with pytest.raises(Refuted, match="finite"):
        oracle.prove_cut(CutClaim(ClaimKind.MINORANT, 0.0, np.full(4, np.nan)))


@pytest.mark.parametrize("name", MIXTURES)
def test_infeasible_points_are_refused_and_those_of_a_run_are_not(name):
    oracle = program(MIXTURES[name])
    result = run(oracle, 40)
    assert oracle.prove_value(ValueClaim(result.point, result.upper_bound)) is not None
    for cut in result.history.cuts:
        if isinstance(cut, FeasibilityCut) and cut.violation > 1e-7:
            with pytest.raises(Refuted, match="misses"):
                oracle.prove_value(ValueClaim(cut.point, -np.inf))
    with pytest.raises(Refuted):
        oracle.prove_value(ValueClaim(np.full(4, np.nan), 0.0))


FORMS = {
    "definite": np.diag([1.0, 2.0, 3.0, 4.0]) + 0.3,
    "of rank 2": np.array([[1.0, 2, 0, 1], [0, 1, 1, 3]]).T @ np.array([[1.0, 2, 0, 1], [0, 1, 1, 3]]),
    "diagonal": np.diag([0.3, 0.0, 1e-9, 7.0]),
    "of floats": (lambda Q: Q.T @ Q)(np.random.default_rng(5).normal(size=(2, 4))),
}


@pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])
@pytest.mark.parametrize("form", FORMS)
def test_quadratic_objectives_and_their_summands_are_proven(form, exact):
    oracle = program([Nonnegative(3)], P=FORMS[form])
    P, c = oracle.problem.P.toarray(), oracle.problem.c
    result = run(oracle)
    points = np.random.default_rng(0).uniform(-2, 2, (50, 4))
    f = 0.5 * np.einsum("ki,ij,kj->k", points, P, points) + points @ c
    for cut in result.history.cuts:
        for one in claims_of(cut, oracle.witness):
            excess = oracle.prove_cut(one, exact)
            assert 0 <= excess <= 1e-11 * (1.0 + abs(one.constant) + oracle.domain.extent(one.slope))
            for raised in (
                replace(one, constant=one.constant + 1e-6),
                replace(one, slope=one.slope + 1e-6 * np.array([1.0, 0, 0, -1])),
            ):
                if raised.kind is ClaimKind.HALF_SPACE:
                    continue
                more = oracle.prove_cut(raised, exact)
                if raised.kind is ClaimKind.MINORANT:
                    assert (raised.constant + points @ raised.slope - float(more) <= f + 1e-12).all()
                if raised.slope is one.slope:
                    assert more > 1e-8
    x = [Fraction(one) for one in result.point]
    true = sum(Fraction(P[i, j]) * x[i] * x[j] / 2 for i in range(4) for j in range(4))
    true += sum(Fraction(a) * b for a, b in zip(c, x, strict=True))
    value = oracle.prove_value(ValueClaim(result.point, result.upper_bound), exact)
    assert true <= value <= true + Fraction(1, 10**12)


@pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])
@pytest.mark.parametrize("name", MIXTURES)
def test_a_certificate_of_a_run_is_verified_against_the_data(name, exact, tmp_path):
    oracle = program(MIXTURES[name], P=FORMS["definite"] if name == "inequalities" else None)
    result = minimize(oracle, Kelley(), rtol=1e-4)
    path = result.certificate().save(tmp_path / "run.jsonl")
    verdict = Certificate.load(path).verify(
        program(MIXTURES[name], P=None if oracle.problem.P is None else FORMS["definite"]), exact=exact
    )
    assert verdict.n_given == 0
    assert verdict.value_proven
    assert verdict.lower <= result.lower_bound + 1e-12
    assert verdict.upper >= result.upper_bound - 1e-12
    assert verdict.upper - verdict.lower <= result.gap + 1e-9
    if oracle.problem.P is None:
        least = -clarabel(oracle, oracle.problem.c, -1.0)
        assert verdict.lower - 1e-6 <= least <= verdict.upper + 1e-6


def test_rational_bounds_hold_what_they_bound():
    getcontext().prec = 80
    rng = np.random.default_rng(0)
    for _ in range(100):
        x = Fraction(float(rng.normal() * 10 ** rng.uniform(-12, 2)))
        for (low, high), true in (
            (exp_ends(x), _decimal(x).exp()),
            (log_ends(abs(x)), _decimal(abs(x)).ln()),
            (sqrt_ends(abs(x)), _decimal(abs(x)).sqrt()),
        ):
            wrong = Decimal("1e-75") * abs(true)
            assert _decimal(low) - wrong <= true <= _decimal(high) + wrong
            assert high - low <= Fraction(1, 2**130) * max(1, abs(high))
    with pytest.raises(OverflowError):
        exp_ends(Fraction(10**6))
    for function in (log_ends, sqrt_ends):
        with pytest.raises(ValueError, match="the"):
            function(Fraction(-1))


IMPOSSIBLE = {
    "inequalities": ([[1.0, 1.0], [-1.0, -1.0]], [1.0, -1.5], [Nonnegative(2)]),
    "equations": ([[1.0, 2.0], [2.0, 4.0]], [1.0, 3.0], [Zero(2)]),
    "second-order": ([[0.0, 0], [-1, 0], [0, -1], [-1, 0]], [1.0, 0.0, 0.0, -1.5], [SecondOrder(3), Nonnegative(1)]),
    "semidefinite": (
        [[-1.0, 0], [0, 0], [0, -1], [1, 1]],
        [0.0, 2.0, 0.0, 1.0],
        [PositiveSemidefinite(2), Nonnegative(1)],
    ),
    "exponential": ([[-1.0, 0], [0, 0], [0, -1], [-1, 1]], [0.0, 1.0, 0.0, 0.5], [Exponential(), Nonnegative(1)]),
    "power": ([[-1.0, 0], [-1, 0], [0, -1], [1, -1]], [0.0, 0.0, 0.0, -0.5], [Power(0.3), Nonnegative(1)]),
}


@pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_that_nothing_is_feasible_is_proven_and_of_other_data_it_is_not(name, exact):
    A, b, cones = IMPOSSIBLE[name]

    def oracle(sides=b):
        return ConicOracle([1.0, 0.0], A, sides, cones, domain=Box([-3.0, -3.0], [3.0, 3.0]))

    asked = oracle()
    result = minimize(asked, Kelley(), keep_cuts=True)
    assert result.status is Status.EMPTY
    found = asked.infeasibility(result.history.cuts)
    margin = asked.prove_infeasible(found, exact)
    assert margin > 1e-3
    possible = oracle(np.asarray(b) + np.r_[np.zeros(len(b) - 1), 10.0] if name != "equations" else [1.0, 2.0])
    with pytest.raises(Refuted):
        possible.prove_infeasible(found, exact)
    for wrong in (-found.dual, 0.0 * found.dual, np.full(len(b), np.nan)):
        with pytest.raises(Refuted):
            asked.prove_infeasible(replace(found, dual=wrong), exact)


class Slab(Nonnegative):
    """A cone of a user's own."""

    def separate(self, v, most=None):
        return super().separate(v, most)


class Wedge(Cone):
    """The points with ``abs(v[1]) <= v[0]``, in the plane: its own dual, which it states."""

    dimension = 2

    def separate(self, v, most=None):
        return SecondOrder(2).separate(v, most)

    def dual_near(self, y):
        end = np.array([max(y.lower[0], abs(y.lower[1])), y.lower[1]], dtype=y.lower.dtype)
        return Enclosure(end, end)

    def point_near(self, v):
        near = self.project(v)
        return np.array([max(near[0], abs(near[1])), near[1]])


class Narrow(Wedge):
    """Another cone, which says nothing of its dual."""

    def separate(self, v, most=None):
        return super().separate(v, most)


def test_a_cone_of_a_users_own_is_proven_where_it_states_its_dual_and_not_by_what_it_inherits():
    for kind in (Wedge, Narrow):
        oracle = ConicOracle(
            [1.0, 0.3], [[-1.0, 0.0], [0.0, -1.0]], [-1.0, 0.0], [kind()], domain=Box([-3, -3], [3, 3])
        )
        result = minimize(oracle, Kelley())
        assert result.lower_bound <= 1.0 + 1e-9 <= result.upper_bound + 1e-6
        verdict = result.certificate().verify(oracle)
        assert verdict.proven == (kind is Wedge)


def test_cones_of_a_users_own_have_no_proof_and_the_file_says_given_the_cuts():
    oracle = ConicOracle([-1.0, -1.0], [[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0], [Slab(2)], domain=Box([-3, -3], [3, 3]))
    result = minimize(oracle, Kelley())
    verdict = result.certificate().verify(oracle)
    half_spaces = [one for one in result.certificate().cuts if one.kind is ClaimKind.HALF_SPACE]
    assert half_spaces
    assert verdict.n_given == len(half_spaces)
    assert not verdict.proven
