"""Upper bounds of Benders' function proven from the data, and whole certificates of its runs against the truth."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from test_benders import capacities
from test_benders_pool import VARY, changed, distinct, truth
from test_benders_random import extensive, random_program

from oracle_opt import FeasibilityCut, Query, minimize, problems
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.errors import InvalidCertificate, Refuted
from oracle_opt.generators import Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders.exact_stage import ExactStage
from oracle_opt.oracles.benders.scenario_points import Programs, inner_points
from oracle_opt.proof.claim import ValueClaim

BOTH = pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])


@pytest.mark.campaign(7)
@BOTH
@pytest.mark.parametrize("complete", [True, False], ids=["complete", "incomplete"])
@pytest.mark.parametrize("vary", VARY, ids="+".join)
def test_values_are_proven_within_rounding_of_the_truth(vary, complete, exact):
    problem, feasible = distinct(1, vary, complete=complete, free=complete and vary == VARY[2]), 0
    oracle, rng = BendersOracle(problem), np.random.default_rng(0)
    for _ in range(1 if exact else 2):
        x = rng.uniform(problem.x_lower, problem.x_upper)
        known, cut = truth(problem, x), oracle.query(Query(x))
        if known is None:
            assert isinstance(cut, FeasibilityCut)
            with pytest.raises(Refuted, match="has no second stage"):
                oracle.prove_value(ValueClaim(x, 0.0), exact)
            continue
        feasible += 1
        proven, size = BendersOracle(problem).prove_value(ValueClaim(x, cut.upper), exact), 1.0 + abs(known)
        assert isinstance(proven, Fraction if exact else float)
        assert known - 1e-8 * size <= proven <= cut.upper + 1e-9 * size
        # what a claim says does not move the bound below the truth
        assert oracle.prove_value(ValueClaim(x, -1e3), exact) >= known - 1e-8 * size
    assert feasible or not complete


def only_just_enough(second=9.0):
    """Capacity for the largest demand, no more; equations, and a zero bound that all shipping of one plant meets."""
    demand = RandomBlock([0.3, 0.7], rows=[2, 3], rhs=[[1.1, 2.3], [0.7, 0.1]])
    W = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    T = [[-1, 0], [0, -1], [0, 0], [0, 0]]
    return TwoStageProblem(
        [1, 3], [1.3, 2, 3, 0.1], T, W, [-np.inf, -np.inf, 0, 0], [0, 0, 0, 0], [demand], x_upper=[3.4, second]
    )


@BOTH
@pytest.mark.parametrize("second", [9.0, 1.0], ids=["feasible middle", "infeasible middle"])
def test_at_the_edge_of_what_is_feasible_the_value_is_that_next_to_it(second, exact):
    problem = only_just_enough(second)
    for x in ([3.4, 0.0], [1.1 + 2.3, 0.0], [3.4 - 0.3, 0.3], [3.4 - 0.7, 0.1 + 0.6]):
        cut = BendersOracle(problem).query(Query(np.array(x)))
        proven = BendersOracle(problem).prove_value(ValueClaim(cut.point, cut.upper), exact)
        assert proven == pytest.approx(cut.value, rel=1e-9)
    with pytest.raises(Refuted, match="scenario 0 has no second stage"):
        BendersOracle(problem).prove_value(ValueClaim(np.array([3.3, 0.0]), 0.0), exact)


@BOTH
def test_points_that_are_none_are_refused(exact):
    oracle = BendersOracle(only_just_enough())
    for x in (np.zeros(3), np.array([np.nan, 1.0]), np.array([np.inf, 1.0])):
        with pytest.raises(Refuted, match="2 finite numbers"):
            oracle.prove_value(ValueClaim(x, 0.0), exact)


@pytest.mark.parametrize("seed", range(6))
def test_points_in_fractions_are_feasible(seed):
    rng = np.random.default_rng(seed)
    W, y = rng.normal(size=(3, 6)), rng.uniform(0.0, 1.0, 6)
    y[:3], W[:, 0] = [0.0, 1.0, 0.0], rng.integers(-1, 2, 3)
    at = W @ y
    sides = [(Fraction(at[0]), Fraction(at[0])), (Fraction(at[1]), None), (None, Fraction(at[2]) - Fraction(1, 10**12))]
    found = ExactStage(sparse.csr_array(W), np.zeros(6), np.ones(6), sides).point(y)
    assert all(0 <= one <= 1 for one in found)
    for row, (low, high) in zip(W, sides, strict=True):
        value = sum(Fraction(a) * b for a, b in zip(row.tolist(), found, strict=True))
        assert low is None or value >= low
        assert high is None or value <= high
    assert np.abs(np.array(found, dtype=float) - y).max() <= 1e-10
    assert (
        ExactStage(sparse.csr_array(W[:1]), np.zeros(6), np.zeros(6) + (y > 0.5), [(Fraction(9), None)]).point(y)
        is None
    )


@pytest.mark.parametrize("seed", range(4))
def test_programs_of_many_sides_have_the_minima_of_each(seed):
    rng = np.random.default_rng(seed)
    m, k, count = 3, 5, 40
    W, cost, upper = rng.normal(size=(m, k)), rng.uniform(0.1, 1.0, k), np.r_[np.ones(3), np.inf, np.inf]
    lower_side, wide = rng.normal(size=(count, m)) - 0.5, np.array([0.0, 1.0, np.inf])
    upper_side = lower_side + wide
    points = Programs(cost, sparse.csr_array(W), np.zeros(k), upper).points(lower_side, upper_side)
    inside = inner_points(cost, sparse.csr_array(W), np.zeros(k), upper, wide == 0, lower_side, upper_side)
    found = 0
    for y, near, low, high in zip(points, inside, lower_side, upper_side, strict=True):
        above = np.isfinite(high)
        known = linprog(cost, np.vstack([W[above], -W]), np.r_[high[above], -low], bounds=np.c_[np.zeros(k), upper])
        assert np.isnan(y).any() == (known.status == 2) == np.isnan(near).any()
        if known.status == 0:
            found += 1
            assert cost @ y == pytest.approx(known.fun, abs=1e-8)
            assert cost @ near == pytest.approx(known.fun, abs=1e-3)
            assert (W @ y >= low - 1e-8).all()
            assert (W @ y <= high + 1e-8).all()
    assert found >= 3


SMALL = {"lands", "lands2", "airlift-first", "airlift-second", "assets-small", "chem", "phone1", "env-aggr", "4node-16"}


def certified(tmp_path, oracle, again, generator=None, exact=False, **options):
    """Verdict on the certificate of a run, from its file."""
    run = minimize(oracle, generator or Kelley(), rtol=1e-7, atol=1e-7, **options)
    assert run.success
    return Certificate.load(run.certificate().save(tmp_path / "run.jsonl")).verify(again, exact)


@pytest.mark.campaign(3)
@BOTH
@pytest.mark.parametrize("vary", VARY, ids="+".join)
def test_certificates_of_runs_hold_the_optimum(vary, exact, tmp_path, monkeypatch):
    problem, generator = distinct(2, vary), (Kelley(), LevelSet(), ProximalBundle())[VARY.index(vary) % 3]
    monkeypatch.setattr("test_benders_random.K", problem.q.size)
    known = extensive(problem)
    verdict = certified(
        tmp_path, BendersOracle(problem, n_summands=3), BendersOracle(problem, n_summands=3), generator, exact
    )
    assert verdict.proven
    assert verdict.lower - 1e-9 * abs(known) <= known <= verdict.upper + 1e-9 * abs(known)
    assert verdict.upper - verdict.lower <= 1e-6 * abs(known) + 1e-6


@pytest.mark.parametrize("vary", [("rhs", "technology"), ("rhs", "cost")], ids="+".join)
@pytest.mark.parametrize("parts", [None, 3])
def test_certificates_with_half_spaces_and_by_workers(vary, parts, tmp_path):
    problem = capacities(vary, None)
    with ThreadPoolExecutor(1) as executor:
        oracle = BendersOracle(problem, executor=executor if parts else None, parts=parts)
        verdict = certified(tmp_path, oracle, BendersOracle(problem))
    assert verdict.proven


def test_a_certificate_is_of_its_own_data_and_of_no_other(tmp_path):
    problem = random_program(0, ("rhs", "technology"))
    run = minimize(BendersOracle(problem), Kelley(), rtol=1e-7)
    path = run.certificate().save(tmp_path / "run.jsonl")
    block = problem.blocks[0]
    p = block.probabilities + np.array([1e-3, -1e-3, 0.0])
    others = [
        BendersOracle(changed(problem, c=problem.c * (1.0 + 1e-9))),
        BendersOracle(changed(problem, blocks=[RandomBlock(p, block.rows, block.rhs), *problem.blocks[1:]])),
        BendersOracle(problem, n_summands=3),
        BendersOracle(problem, n_samples=20),
    ]
    for other in others:
        with pytest.raises(InvalidCertificate, match="another problem"):
            Certificate.load(path).verify(other)


def test_runs_on_drawn_tabled_and_changed_scenarios_are_certified_for_these(tmp_path):
    problem = random_program(3, ("rhs",))
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"row0": rng.normal(size=6), "row2": rng.normal(size=6)})
    tabled = problem.with_scenarios(table)
    drawn = {"n_samples": 30, "seed": 4}
    first = BendersOracle(problem)
    minimize(first, Kelley(), rtol=1e-6)
    for oracle, again in (
        (BendersOracle(problem, **drawn), BendersOracle(problem, **drawn)),
        (BendersOracle(tabled), BendersOracle(problem.with_scenarios(table))),
        (BendersOracle(tabled, warm=first), BendersOracle(tabled)),
    ):
        verdict = certified(tmp_path, oracle, again)
        assert verdict.proven
    old = minimize(first, Kelley(), rtol=1e-6, keep_cuts=True)
    warm = BendersOracle(tabled, warm=first)
    verdict = certified(tmp_path, warm, BendersOracle(tabled), cuts=warm.shifted(old.history.cuts))
    assert verdict.proven


@pytest.mark.parametrize("vary", [("rhs", "technology"), ("rhs", "cost")], ids="+".join)
def test_forged_files_are_refused(vary):
    problem = random_program(1, vary)
    oracle = BendersOracle(problem, n_summands=2)
    run = minimize(BendersOracle(problem, n_summands=2), Kelley(), rtol=1e-7)
    certificate = run.certificate()

    def made(cuts=None, value=None, lower=0.0, upper=0.0):
        """The same certificate with other cuts or values: it holds, given these."""
        cuts, value = cuts or certificate.cuts, value or certificate.value
        facts = {"problem": certificate.problem}
        low, high = certificate.lower + lower, certificate.upper + upper
        return Certificate.of(
            oracle.domain, cuts, certificate.multipliers, replace(value, upper=high), low, high, facts
        )

    assert made().verify(oracle).proven
    rise = 1e-5 * abs(certificate.lower)
    higher = [replace(cut, constant=cut.constant + rise) for cut in certificate.cuts]
    steeper = [replace(cut, slope=cut.slope * (1.0 + 1e-3)) for cut in certificate.cuts]
    others = [cut.witness | {"vertices": cut.witness["vertices"] * (1.0 - 1e-3)} for cut in certificate.cuts]
    weaker = [replace(cut, witness=one) for cut, one in zip(certificate.cuts, others, strict=True)]
    for cuts, low in ((higher, rise), (steeper, -10.0), (weaker, 0.0)):
        with pytest.raises(Refuted, match="the witnesses prove a lower bound that is"):
            made(cuts, lower=low, upper=max(2.0 * low, 0.0)).verify(oracle)
    better = made(lower=-2.0 * rise, upper=-rise)
    with pytest.raises(Refuted, match="the incumbent: the value is"):
        better.verify(oracle)
    elsewhere = replace(certificate.value, point=oracle.domain.interior_point())
    with pytest.raises(Refuted, match="the incumbent: the value is"):
        made(value=elsewhere).verify(oracle)


def test_the_second_stage_of_a_run_agrees_with_its_certificate(tmp_path):
    problem = random_program(3, ("rhs",))
    oracle = BendersOracle(problem)
    run = minimize(oracle, Kelley(), rtol=1e-7)
    verdict = run.certificate().verify(BendersOracle(problem))
    low, high = oracle.second_stage(run).expected_bounds
    assert low <= verdict.upper + 1e-9
    assert verdict.lower <= high + 1e-9


def test_a_journaled_run_has_the_same_certificate_when_it_is_taken_up(tmp_path):
    problem = random_program(1, ("rhs", "technology"))
    for _ in range(2):
        run = minimize(BendersOracle(problem), Kelley(), rtol=1e-7, journal=tmp_path / "run.journal")
        verdict = run.certificate().verify(BendersOracle(problem))
        assert verdict.proven


LISTED = [one for one in problems.suite("stochastic") if one.name.partition("/")[2] in SMALL]


@pytest.mark.campaign(4)
@pytest.mark.parametrize("problem", LISTED, ids=lambda problem: problem.name)
def test_public_instances_are_certified(problem, tmp_path):
    generators = (ProximalBundle(), Kelley()) if problem.name.endswith(("chem", "aggr")) else (ProximalBundle(),)
    for generator in generators:
        run = minimize(problem().oracle, generator, rtol=1e-6)
        verdict = Certificate.load(run.certificate().save(tmp_path / "run.jsonl.gz")).verify(problem().oracle)
        assert verdict.proven
        wrong = 1e-6 * abs(problem.optimum)
        assert verdict.lower - wrong <= problem.optimum <= verdict.upper + wrong


def test_a_start_outside_the_bounds_is_brought_inside():
    W, one = sparse.csr_array(np.ones((1, 2))), Fraction(1)
    assert ExactStage(W, np.zeros(2), np.ones(2), [(one, None)]).point(np.array([2.0, -1.0])) == [1, 0]
    assert ExactStage(W, np.zeros(2), np.ones(2), [(one / 2, one / 2)]).point(np.array([2.0, -1.0])) is None
