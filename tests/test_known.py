"""Terms that are known: never linearized by methods that take them, proven as all else is, right against Clarabel."""

import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from known_problems import drawn

from oracle_opt import (
    Ball,
    Box,
    CapabilityMismatch,
    FeasibilityCut,
    FreeSpace,
    FunctionOracle,
    InvalidArgument,
    L1Term,
    QuadraticTerm,
    Query,
    Refuted,
    Simplex,
    Status,
    minimize,
)
from oracle_opt.domains._multipliers import simplex_quadratic
from oracle_opt.generators import SPG, AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import Composite, RiskOracle
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.testing import ConformanceError, check_oracle

AWARE = {"level": lambda: LevelSet(0.5), "proximal": ProximalBundle, "kelley": Kelley, "default": lambda: None}
RNG = np.random.default_rng(0)
TERMS = [
    QuadraticTerm(0.3),
    QuadraticTerm(2.0, center=RNG.normal(size=4), diagonal=[1, 0, 2, 0.5]),
    QuadraticTerm(0.5, factor=RNG.normal(size=(2, 4))),
    L1Term(0.2),
    L1Term([0.1, 0, 0.3, 1]) + QuadraticTerm(0.1, RNG.normal(size=4), factor=RNG.normal(size=(4, 4))),
]


def risk(kind, m=60, n=5, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return RiskOracle(kind, X, np.where(X @ rng.normal(size=n) + rng.normal(size=m) > 0, 1, -1), **options)


def agrees_with_clarabel(seed):
    oracle, problem, z, words = drawn(seed)
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return 0
    if problem.status != "optimal" or np.linalg.norm(z.value) > 5e3:  # outside of what is promised
        return 0
    n_open, best = 0, problem.value
    size = max(abs(best), 1e-6)
    for name, generator in AWARE.items():
        result = minimize(oracle, generator(), rtol=1e-6, atol=1e-9, max_calls=300)
        loose = 1e-5 if FeasibilityCut in oracle.gives else 2e-6  # Clarabel's own point is feasible up to a tolerance
        assert result.lower_bound <= best + loose * size + 1e-7, (seed, words, name)
        assert result.lower_bound <= result.upper_bound + 1e-10 * size, (seed, words, name)  # points are of the domain
        assert result.upper_bound >= best - loose * size - 1e-7 * max(1.0, abs(best)), (seed, words, name)
        n_open += result.status is not Status.CONVERGED
    return n_open


@pytest.mark.parametrize("part", range(4))
def test_random_problems_agree_with_clarabel_and_nearly_all_are_closed(part):
    assert sum(map(agrees_with_clarabel, range(1000 + 25 * part, 1025 + 25 * part))) <= 5  # of 100 runs


@pytest.mark.campaign(10)
@pytest.mark.parametrize("part", range(20))
def test_two_thousand_random_problems_agree_with_clarabel(part):
    assert (
        sum(map(agrees_with_clarabel, range(5000 + 100 * part, 5100 + 100 * part))) <= 22
    )  # of 400 runs, some at rounding


@pytest.mark.parametrize("term", TERMS, ids=str)
def test_a_tangent_lies_below_its_term_and_touches_it(term):
    domain = Box(-np.ones(4), np.ones(4))
    for seed in range(50):
        rng = np.random.default_rng(seed)
        point, other = rng.uniform(-1, 1, (2, 4)) * (rng.random((2, 4)) < 0.8)
        for tangent in (term.touching(point, domain), term.tangent(rng.normal(size=4), domain, point)):
            assert tangent.constant + tangent.slope @ other - tangent.error <= term.value(other) + 1e-14
        touching = term.touching(point, domain)
        assert touching.constant + touching.slope @ point == pytest.approx(term.value(point), abs=1e-13)
        constant, slope = term.proven(touching.witness, 4, exact=True)
        proven = constant + (slope * Enclosure.of(other, exact=True)).sum()
        assert proven.upper.item() <= term.enclosed(other, exact=True).upper.item()
        assert float(constant.upper) == pytest.approx(touching.constant, abs=1e-14)


def test_the_tangent_at_the_minimizer_gives_the_conjugate():
    term, slope = QuadraticTerm(2.0, center=[1.0, 0.0]) + L1Term(0.5), np.array([0.3, -4.0])
    domain = Box([-1, -1], [1, 1])
    tangent = term.tangent(slope, domain, np.zeros(2))
    least = tangent.constant + domain.minimize_linear(slope + tangent.slope)[0]
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 401)] * 2), -1).reshape(-1, 2)
    assert least == pytest.approx(min(slope @ z + term.value(z) for z in grid), abs=1e-4)


@pytest.mark.parametrize("kind", ["hinge", "auc", "logistic"])
@pytest.mark.parametrize("generator", [LevelSet(0.5), ProximalBundle(), Kelley(), AnalyticCenter()], ids=repr)
@pytest.mark.parametrize("term", [QuadraticTerm(0.1), QuadraticTerm(0.05) + L1Term(0.02)], ids=str)
def test_certificates_are_proven_from_the_data(kind, generator, term):
    oracle = Composite(risk(kind), term)
    result = minimize(oracle, generator, rtol=1e-5)
    assert result.success
    for exact in (False, True):
        verdict = result.certificate().verify(oracle, exact=exact)
        assert verdict.proven
        assert verdict.lower <= result.upper_bound
        assert verdict.gap <= 2e-5 * abs(result.upper_bound) + 1e-12


@pytest.mark.parametrize("exact", [False, True])
def test_forged_tangents_prove_no_more_than_is_true(exact):
    oracle = Composite(risk("hinge"), QuadraticTerm(0.1) + L1Term(0.02))
    cut = oracle.query(Query(np.full(5, 0.1)))
    claim = CutClaim(ClaimKind.MINORANT, cut.constant, cut.subgradient, witness=cut.extras)
    assert oracle.prove_cut(claim, exact) <= 1e-12
    assert oracle.prove_cut(replace(claim, constant=claim.constant + 0.5), exact) >= 0.5 - 1e-12
    moved = {**cut.extras, "known_point": cut.extras["known_point"] + 0.5}
    assert oracle.prove_cut(replace(claim, witness=moved), exact) > 1e-3
    for name, wrong in (("known_slope", np.full(5, 0.021)), ("known_point", np.full(4, 0.1)), ("known_point", None)):
        with pytest.raises(Refuted):
            oracle.prove_cut(replace(claim, witness={**cut.extras, name: wrong}), exact)
    bare = {"row_weights": cut.extras["row_weights"]}
    assert oracle.missing_witness(replace(claim, witness=bare)) == ("known_point", "known_slope")


def test_methods_that_take_the_term_need_fewer_calls_and_others_say_that_they_linearize():
    oracle = Composite(risk("hinge", 300, 20, domain=FreeSpace(20, radius=20)), QuadraticTerm(1e-2))
    whole = FunctionOracle(lambda z: (lambda cut: (cut.value, cut.subgradient))(oracle.query(Query(z))), oracle.domain)
    for generator in (LevelSet(0.5), ProximalBundle()):
        aware, unaware = (minimize(one, generator, max_calls=2000) for one in (oracle, whole))
        assert aware.success
        assert aware.n_calls <= 0.7 * unaware.n_calls
    linearized = "The known term was linearized"
    assert linearized not in minimize(oracle).message
    assert "LevelSet(level=0.5) was chosen: a term of the function is known" in minimize(oracle).message
    assert linearized in minimize(oracle, AnalyticCenter(), max_calls=5).message
    ball = Composite(FunctionOracle(lambda z: (abs(z).sum(), np.sign(z)), Ball(3)), QuadraticTerm())
    assert linearized in minimize(ball, SPG(), max_calls=5).message


def test_a_generator_forgets_the_term_of_an_earlier_run():
    generator = LevelSet()
    minimize(Composite(risk("hinge"), QuadraticTerm()), generator)
    assert generator.known is not None
    minimize(risk("hinge", domain=Box(-np.ones(5), np.ones(5))), generator, max_calls=5)
    assert generator.known is None


@pytest.mark.parametrize("seed", range(10))
def test_a_term_that_bends_proves_a_radius(seed):
    term = QuadraticTerm(10 ** np.random.default_rng(seed).uniform(-2, 1), center=np.full(5, 0.3))
    term = term if seed % 2 else term + L1Term(0.1)
    oracle = Composite(risk("auc", seed=seed), term)
    result = minimize(oracle)
    assert result.success
    assert np.linalg.norm(result.point - 0.3) <= oracle.domain.radius
    assert result.certificate().verify(oracle).proven


def test_two_terms_added_one_after_the_other_are_known_both():
    first, second = QuadraticTerm(0.5), L1Term(0.05)
    nested, whole = Composite(Composite(risk("hinge"), first), second), Composite(risk("hinge"), first + second)
    assert nested.identity() == whole.identity()
    assert nested.domain.radius == whole.domain.radius
    with pytest.raises(InvalidArgument, match="into one"):
        Composite(nested, second)


def test_products_of_cuts_replace_the_search_on_a_whole_space():
    """Diagonals of few numbers, an intercept of which nothing is known too; cuts are dropped and averaged."""
    rng = np.random.default_rng(4)
    X, y = np.c_[rng.normal(size=(80, 6)), np.ones(80)], rng.normal(size=80)
    for diagonal in (np.ones(7), [1, 1, 1, 2, 2, 2, 0], np.arange(1, 8)):  # the last has too many
        oracle = Composite(
            RiskOracle("quantile", X, y, level=0.7, domain=FreeSpace(7, radius=20)),
            QuadraticTerm(0.1, diagonal=diagonal),
        )
        z = cp.Variable(7)
        r = y - X @ z
        loss = cp.sum(cp.maximum(0.7 * r, -0.3 * r)) / 80 + 0.05 * cp.sum(cp.multiply(diagonal, cp.square(z)))
        best = cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
        for generator in (LevelSet(0.5), ProximalBundle(), Kelley(), LevelSet(0.5, max_cuts=12)):
            result = minimize(oracle, generator, rtol=1e-6, max_calls=800)
            assert result.success, (repr(generator), result.message)
            assert result.lower_bound - 1e-8 <= best <= result.upper_bound + 1e-8


@pytest.mark.parametrize("generator", AWARE)
def test_a_run_goes_on_from_its_journal(tmp_path, generator):
    oracle = Composite(risk("hinge"), QuadraticTerm(0.05) + L1Term(0.01))
    whole = minimize(oracle, AWARE[generator](), rtol=1e-8)
    for calls in (1, 5, 12):
        journal = tmp_path / f"{calls}.journal"
        minimize(oracle, AWARE[generator](), rtol=1e-8, max_calls=calls, journal=journal)
        resumed = minimize(oracle, AWARE[generator](), rtol=1e-8, journal=journal)
        assert (resumed.n_calls, resumed.upper_bound, resumed.lower_bound) == (
            whole.n_calls,
            whole.upper_bound,
            whole.lower_bound,
        )


@pytest.mark.parametrize("kind", ["hinge", "huber", "logistic"])
@pytest.mark.parametrize("generator", [None, ProximalBundle()], ids=repr)
def test_a_tiny_ridge_makes_a_wide_domain_and_no_honest_run_is_refused(kind, generator):
    X = np.random.default_rng(7).normal(size=(80, 6)) * 10.0 ** np.arange(-3, 3)
    y = X[:, 5] + np.random.default_rng(8).normal(size=80)
    data = RiskOracle(kind, X, y if kind == "huber" else np.sign(y))
    for term in (QuadraticTerm(1e-10), QuadraticTerm(1e-10, center=np.full(6, 5.0)) + L1Term(1e-9)):
        oracle = Composite(data, term)
        result = minimize(oracle, generator, max_calls=150)
        assert oracle.domain.radius < 1e9  # by its value: by its slope it is 1e11
        for exact in (False, True):
            assert result.certificate().verify(oracle, exact=exact).lower <= result.upper_bound


def test_few_cuts_still_end_at_the_minimum():
    oracle = Composite(risk("hinge", 200, 10), QuadraticTerm(0.01))
    best = minimize(oracle).upper_bound
    for generator in (LevelSet(0.5, max_cuts=15), ProximalBundle(max_cuts=15), Kelley(max_cuts=40)):
        result = minimize(oracle, generator, rtol=1e-4, max_calls=600)
        assert result.success, repr(generator)
        assert result.lower_bound <= best
        assert result.certificate().verify(oracle).proven


def test_oracles_with_a_term_keep_the_contract():
    check_oracle(
        Composite(risk("quantile", domain=FreeSpace(5, radius=9)), QuadraticTerm(0.3) + L1Term(0.1)),
        other=Composite(risk("quantile", domain=FreeSpace(5, radius=9)), QuadraticTerm(0.3) + L1Term(0.2)),
        pickles=True,
    )
    lying = FunctionOracle(lambda z: (z @ z, 2 * z), Box(-np.ones(3), np.ones(3)))
    lying.known = QuadraticTerm(4.0)  # of z @ z, half of that is known at most
    with pytest.raises(ConformanceError, match="known"):
        check_oracle(lying)
    lying.known = QuadraticTerm(2.0)
    check_oracle(lying)


def test_a_copy_in_the_middle_of_a_run_goes_on():
    oracle, generator = Composite(risk("hinge"), QuadraticTerm(0.1)), LevelSet(0.5)
    generator.know(oracle.known)
    generator.reset(oracle.domain, np.zeros(5))
    for _ in range(6):
        generator.tell(oracle.query(Query(generator.ask())))
    again = pickle.loads(pickle.dumps(generator))
    assert (again.ask() == generator.ask()).all()
    assert again.minorant().constant == generator.minorant().constant


def test_a_term_may_be_a_cvxpy_expression():
    rng = np.random.default_rng(3)
    z, R, c, w = cp.Variable(5), rng.normal(size=(2, 5)), rng.normal(size=5), rng.uniform(size=5)
    for expression in (
        0.3 * cp.sum_squares(z),
        cp.sum_squares(cp.multiply(w, z - c)) / 4,
        2 * cp.norm1(z) + 0.5 * (0.2 * cp.sum_squares(R @ z - R @ c)),
        cp.norm1(cp.multiply(w, z)) * 3,
    ):
        term, point = Composite(risk("hinge"), expression).known, rng.normal(size=5)
        z.value = point
        assert term.value(point) == pytest.approx(expression.value, rel=1e-12)
        assert (z.value == point).all()
    result = minimize(Composite(risk("hinge"), 0.05 * cp.sum_squares(z)))
    assert result.upper_bound == minimize(Composite(risk("hinge"), QuadraticTerm(0.1))).upper_bound
    for wrong in (
        cp.norm2(z),
        cp.sum_squares(R.T @ z[:2] - c),
        cp.norm1(z - c),
        -cp.norm1(z),
        cp.sum(z),
        cp.norm1(z) + 1,
    ):
        with pytest.raises(InvalidArgument, match="`known` must be"):
            Composite(risk("hinge"), wrong)


def test_refusals_say_what_to_do():
    with pytest.raises(InvalidArgument, match=r"put .* into one"):
        QuadraticTerm() + (QuadraticTerm() + L1Term(1.0))
    with pytest.raises(InvalidArgument, match="must be of 5 variables"):
        Composite(risk("hinge"), L1Term([1.0, 2.0]))
    with pytest.raises(InvalidArgument, match="must have 5 variables"):
        Composite(risk("hinge"), L1Term(1.0), Box([0], [1]))
    with pytest.raises(InvalidArgument, match="must be a part of"):
        Composite(risk("hinge", domain=Simplex(5)), L1Term(1.0), Box(np.full(5, -1), np.full(5, 1)))
    with pytest.raises(CapabilityMismatch, match="not convex"):
        Composite(FunctionOracle(lambda z: (-z @ z, -2 * z), Ball(2), convex=False), L1Term(1.0))


def test_a_flat_row_alone_in_a_support_is_left():
    """A cut without slope is no minimum where a term is known: the quadratic of multipliers starts there."""
    hessian = np.diag([100.0, 1e-315])
    found = simplex_quadratic(hessian, np.array([2.0, 0.0]), np.array([0.0, 1.0]), 2, 1e-12, 1e-12)
    assert found == pytest.approx([0.02, 0.98])


@pytest.mark.parametrize(
    "generator", [LevelSet(interior=True), LevelSet(entropic=True), Kelley(chebyshev=True)], ids=repr
)
def test_variants_without_a_master_for_terms_get_cuts_of_the_sum(generator):
    oracle = Composite(risk("hinge", domain=Simplex(5)), QuadraticTerm(0.1))
    result = minimize(oracle, generator, max_calls=300)
    assert "The known term was linearized" in result.message
    assert result.lower_bound <= minimize(oracle).upper_bound
    assert minimize(oracle, LevelSet(), rtol=1e-6).success


def test_extreme_weights_and_parts_of_the_domain_end_proven():
    for weight in (1e-9, 1e9):
        result = minimize(Composite(risk("hinge", domain=FreeSpace(5, radius=100)), QuadraticTerm(weight)), rtol=1e-6)
        assert result.success, result.message
    part = Box(np.full(5, -0.1), np.full(5, 0.2))
    for term in (QuadraticTerm(0.1), L1Term(0.01)):
        oracle = Composite(risk("auc"), term, part)
        result = minimize(oracle)
        assert result.success
        assert part.contains(result.point)
        assert result.certificate().verify(oracle, exact=True).proven
    known = minimize(Composite(risk("hinge"), QuadraticTerm(0.1)), rtol=1e-8).upper_bound
    assert minimize(Composite(risk("hinge"), QuadraticTerm(0.1)), LevelSet(target=known), max_calls=60).success
