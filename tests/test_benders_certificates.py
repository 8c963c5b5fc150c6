"""What dual vectors of scenarios prove of the cuts of Benders' oracle: honest claims stand, forged ones do not."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import cache
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp
from test_benders_pool import VARY, changed, distinct
from test_benders_random import scenario

from oracle_opt import FeasibilityCut, Query, minimize
from oracle_opt.bounds import cut_rounding
from oracle_opt.errors import Refuted
from oracle_opt.generators import Kelley
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import scenario_duals, scenario_solvers
from oracle_opt.proof.claim import ClaimKind, CutClaim


def claims_of(cut, n_summands):
    """Every cut of an answer as a claim."""
    if isinstance(cut, FeasibilityCut):
        for one in (cut, *cut.further):
            constant = one.constant - cut_rounding(one.point, one.violation, one.normal)[0]
            yield CutClaim(ClaimKind.HALF_SPACE, constant, one.normal, tolerance=one.error, witness=one.extras)
        return
    for j, one in enumerate((cut, *cut.summands), -1):
        constant = one.constant - cut_rounding(one.point, one.value, one.subgradient)[0]
        kind, what = (ClaimKind.MINORANT, (0, 0)) if j < 0 else (ClaimKind.SUMMAND, (j, n_summands))
        yield CutClaim(kind, constant, one.subgradient, *what, witness=one.extras)


def asked(oracle, seed, count):
    """Answers at random points."""
    rng, (lower, upper) = np.random.default_rng(seed), oracle.domain.bounding_box()
    return [oracle.query(Query(rng.uniform(lower, upper))) for _ in range(count)]


class Truth:
    """Values of the second stage at some points, by a program a scenario; infinite where there is none."""

    def __init__(self, problem, seed=5, count=3):
        rng = np.random.default_rng(seed)
        self.problem, self.points = problem, rng.uniform(problem.x_lower, problem.x_upper, (count, len(problem.c)))
        outcomes, self.p = problem.all_scenarios()
        self.values = np.array([[self._one(outcome, x) for outcome in outcomes] for x in self.points])

    def _one(self, outcome, x):
        T, W, q, lower, upper = scenario(self.problem, outcome)
        bounds = np.c_[self.problem.y_lower, self.problem.y_upper].T
        done = milp(q, constraints=LinearConstraint(W, lower - T @ x, upper - T @ x), bounds=tuple(bounds))
        assert done.status in (0, 2)
        return done.fun if done.status == 0 else np.inf

    def allows(self, claim, excess=0.0):
        """Whether the claim less the excess is true at the points."""
        first = self.points @ self.problem.c + self.problem.offset
        number = np.arange(len(self.p))
        group = number * claim.n_summands // len(self.p) == claim.summand if claim.n_summands else number >= 0
        mine = self.p * group
        known = first * mine.sum() / self.p.sum() + np.where(group, self.values, 0.0) @ mine
        if claim.kind is ClaimKind.HALF_SPACE:
            known = np.where(np.isfinite(self.values).all(axis=1), 0.0, np.inf)
        said = claim.constant + self.points @ claim.slope - float(excess)
        return bool((said <= known + 1e-8 * (1.0 + np.abs(said))).all())


@cache
def example(vary, complete=True, free=False, seed=0):
    """A problem, answers of its oracle as claims, and the truth."""
    problem = distinct(seed, vary, complete=complete, free=free)
    oracle = BendersOracle(problem, n_summands=7)
    found = [claim for cut in asked(oracle, seed, 4) for claim in claims_of(cut, oracle.n_summands)]
    return problem, found, Truth(problem)


@pytest.mark.campaign(7)
@pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])
@pytest.mark.parametrize("free", [False, True], ids=["bounded", "free"])
@pytest.mark.parametrize("vary", VARY, ids="+".join)
def test_honest_cuts_are_proven_as_they_stand(vary, free, exact):
    problem, claims, truth = example(vary, free=free)
    again = BendersOracle(problem, n_summands=7)
    for claim in claims[:: 3 if exact else 1]:
        excess = again.prove_cut(claim, exact)
        assert isinstance(excess, Fraction if exact else float)
        assert 0 <= excess <= 1e-12 * (1.0 + abs(claim.constant))
        assert truth.allows(claim)


@pytest.mark.parametrize("vary", [VARY[0], VARY[4]], ids="+".join)
def test_half_spaces_are_proven_by_their_rays(vary):
    found = 0
    for seed in range(3):
        problem, claims, truth = example(vary, complete=False, seed=seed)
        again = BendersOracle(problem, n_summands=7)
        for claim in claims:
            if claim.kind is ClaimKind.HALF_SPACE:
                found += 1
                for exact in (False, True):
                    assert 0 <= again.prove_cut(claim, exact) <= 1e-11 * (1.0 + abs(claim.constant))
                assert truth.allows(claim)
                wrong = replace(claim, witness=claim.witness | {"ray_of": (claim.witness["ray_of"] + 1) % 40})
                assert truth.allows(claim, again.prove_cut(wrong))
                assert again.prove_cut(replace(claim, constant=claim.constant + 1e-3)) >= 1e-3 - 1e-9
    assert found >= 3


def forged(claim, rng):
    """Claims that say another thing than the oracle did, or prove it by other numbers."""
    witness = dict(claim.witness)
    vertices, vertex_of = witness["vertices"], witness["vertex_of"].astype(int)
    for size in (1e-9, 1e-6, 1e-3, 1.0):
        for _ in range(3):
            moved = vertices.copy()
            moved[rng.integers(len(moved)), rng.integers(moved.shape[1])] += size * rng.choice([-1, 1])
            yield replace(claim, witness=witness | {"vertices": moved})
    yield replace(claim, witness=witness | {"vertex_of": rng.permutation(vertex_of)})
    yield replace(claim, witness=witness | {"vertex_of": 0 * vertex_of})
    yield replace(claim, constant=claim.constant + 1e-3)
    yield replace(claim, slope=claim.slope + 1e-3 * rng.normal(size=claim.slope.size))
    if claim.kind is ClaimKind.SUMMAND:
        sized = [j for j in range(7) if len(range(-(-j * 40 // 7), -(-(j + 1) * 40 // 7))) == len(vertex_of)]
        yield from (replace(claim, summand=j) for j in sized)


@pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])
@pytest.mark.parametrize("vary", [VARY[1], VARY[4]], ids="+".join)
def test_what_is_proven_of_a_forged_claim_is_true(vary, exact):
    problem, claims, truth = example(vary)
    oracle, rng, refused, kept = BendersOracle(problem, n_summands=7), np.random.default_rng(1), 0, 0
    for claim in claims[:: 9 if exact else 4]:
        for other in forged(claim, rng):
            try:
                excess = oracle.prove_cut(other, exact)
            except Refuted:
                refused += 1
                continue
            if excess is not None:
                kept += 1
                assert truth.allows(other, excess)
    assert refused >= 1
    assert kept >= 10


@pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])
def test_of_other_data_the_same_witness_proves_what_is_true_there(exact):
    problem, claims, _ = example(VARY[1])
    block = problem.blocks[0]
    p = block.probabilities.copy()
    p[:2] += [-1e-3, 1e-3]
    others = [
        changed(problem, blocks=[replace(block, probabilities=p)]),
        changed(problem, blocks=[replace(block, rhs=block.rhs + 0.01)]),
        changed(problem, q=1.01 * problem.q),
        changed(problem, T=problem.T * 1.01),
        changed(problem, c=problem.c - 0.01),
        changed(problem, y_upper=0.9 * problem.y_upper),
    ]
    lost = []
    for other in others:
        oracle, truth = BendersOracle(other, n_summands=7), Truth(other)
        each = [(claim, oracle.prove_cut(claim, exact)) for claim in claims[:: 8 if exact else 3]]
        assert all(truth.allows(claim, excess) for claim, excess in each)
        lost.append(max(float(excess) for _, excess in each))
    assert np.array(lost)[[0, 1, 3, 4]].min() > 1e-6  # where costs rise the old vertices may be feasible still


@pytest.mark.parametrize("exact", [False, True], ids=["floats", "fractions"])
def test_what_is_no_witness_is_refused(exact):
    problem, claims, _ = example(VARY[0])
    oracle, claim = BendersOracle(problem, n_summands=7), claims[1]
    assert claim.kind is ClaimKind.SUMMAND
    vertices, vertex_of = claim.witness["vertices"], claim.witness["vertex_of"]
    far, huge = vertices.copy(), vertices.copy()
    far[0, 0], huge[0] = np.nan, 1e308
    wrong = [
        {"vertices": far},
        {"vertices": vertices + 1e6},
        {"vertices": vertices - 1e6},
        {"vertices": huge},
        {"vertices": -huge},
        {"vertices": vertices[:, 1:]},
        {"vertices": vertices[0]},
        {"vertices": vertices.astype(str)},
        {"vertex_of": vertex_of[1:]},
        {"vertex_of": vertex_of + 0.5},
        {"vertex_of": vertex_of.astype(int) - len(vertices)},
        {"vertex_of": vertex_of.astype(int) + len(vertices)},
        {"vertex_of": np.full(len(vertex_of), np.inf)},
    ]
    for one in wrong:
        with pytest.raises(Refuted):
            oracle.prove_cut(replace(claim, witness=dict(claim.witness) | one), exact)
    for one in ({"n_summands": 6}, {"summand": 7}, {"summand": -1}, {"constant": np.nan}, {"slope": np.zeros(3)}):
        with pytest.raises(Refuted):
            oracle.prove_cut(replace(claim, **one), exact)
    for one in ({}, {"vertices": vertices}):
        assert oracle.prove_cut(replace(claim, witness=one), exact) is None


def test_tasks_of_an_executor_bring_back_what_proves_their_sums():
    for vary in (VARY[1], VARY[2]):
        problem = distinct(0, vary)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes, ThreadPoolExecutor(2) as threads:
            for executor in (processes, threads) if vary == VARY[1] else (threads,):
                oracle = BendersOracle(problem, n_summands=7, executor=executor, parts=3)
                for cut in asked(oracle, 0, 2):
                    for claim in claims_of(cut, 7):
                        assert BendersOracle(problem, n_summands=7).prove_cut(claim) == 0.0


def test_old_witnesses_stay_true_while_the_pool_forgets(monkeypatch):
    monkeypatch.setattr("oracle_opt.oracles.benders.vertices._MOST", 12)
    for vary in (("rhs",), ("rhs", "cost")):
        problem = distinct(1, vary)
        oracle = BendersOracle(problem, n_summands=3)
        claims = [claim for cut in asked(oracle, 1, 12) for claim in claims_of(cut, 3)]
        again = BendersOracle(problem, n_summands=3)
        assert all(again.prove_cut(claim) == 0.0 for claim in claims)


@pytest.mark.parametrize("vary", [("rhs",), ("rhs", "cost")], ids="+".join)
def test_multipliers_of_highs_itself_prove_as_well(vary, monkeypatch):
    # no basis fits any scenario, so that every one is answered by what HiGHS found
    monkeypatch.setattr(scenario_solvers, "bytes_of_one", lambda form: scenario_solvers.MOST_BYTES + 1)
    problem = distinct(2, vary)
    oracle = BendersOracle(problem, n_summands=3)
    claims = [claim for cut in asked(oracle, 1, 2) for claim in claims_of(cut, 3)]
    assert all(BendersOracle(problem, n_summands=3).prove_cut(claim) == 0.0 for claim in claims)


def test_shifted_cuts_are_proven_for_the_new_problem():
    problem = distinct(0, ("rhs", "technology"))
    block, rng = problem.blocks[0], np.random.default_rng(0)
    new = changed(problem, blocks=[replace(block, rhs=block.rhs + 0.1 * rng.normal(size=block.rhs.shape))])
    old = BendersOracle(problem, n_summands=4)
    first = minimize(old, Kelley(), rtol=1e-6, keep_cuts=True)
    warm = BendersOracle(new, n_summands=4, warm=old)
    shifted, truth = warm.shifted(first.history.cuts), Truth(new)
    cold = BendersOracle(new, n_summands=4)
    assert warm.identity() != cold.identity()
    assert warm.problem_identity() == cold.problem_identity() != old.problem_identity()
    claims = [claim for cut in shifted for claim in claims_of(cut, 4)]
    assert len(shifted) >= 5
    for claim in claims:
        assert cold.prove_cut(claim) == 0.0
        assert truth.allows(claim)
    stale = [claim for cut in first.history.cuts for claim in claims_of(cut, 4)]
    assert max(cold.prove_cut(claim) for claim in stale) > 1e-6


def test_an_entry_that_varies_twice_is_left_as_given():
    blocks = [RandomBlock([0.5, 0.5], rows=[0], rhs=[[1.0], [3.0]]) for _ in range(2)]
    problem = TwoStageProblem([1.0], [5.0], [[1.0]], [[1.0]], [2.0], [np.inf], blocks, x_upper=9.0)
    oracle = BendersOracle(problem)
    cut = oracle.query(Query(np.array([1.0])))
    assert all(oracle.prove_cut(claim) is None for claim in claims_of(cut, oracle.n_summands))


def test_equations_of_the_dual_are_solved_exactly():
    # a free variable and two opposite ones of opposite costs: the dual has no inside, and floats only come near
    W = [[0.1, 0.3, -0.3, 1.0, 0.0], [0.7, 0.2, -0.2, 0.0, 1.0], [0.3, -0.5, 0.5, -1.0, -1.0]]
    demand = RandomBlock([0.5, 0.5], rows=[0, 1], rhs=[[1.0, 2.0], [2.0, 1.5]])
    low, high = [-np.inf, 0, 0, 0, 0], [np.inf, np.inf, np.inf, np.inf, np.inf]
    problem = TwoStageProblem(
        [1.0], [0.1, 0.7, -0.7, 2.0, 3.0], [[1.0], [0.5], [0.0]], W, [0, 0, -4], [np.inf, np.inf, 9], [demand],
        y_lower=low, y_upper=high, x_upper=3.0,
    )  # fmt: skip
    oracle = BendersOracle(problem)
    inside = 0
    for cut in asked(oracle, 0, 5):
        for claim in claims_of(cut, oracle.n_summands):
            for exact in (False, True):
                inside += 1
                assert 0 <= oracle.prove_cut(claim, exact) <= 1e-13
    assert inside >= 6


def test_too_many_dual_vectors_are_not_kept(monkeypatch):
    monkeypatch.setattr(scenario_solvers, "MOST_NUMBERS", 100)
    oracle = BendersOracle(distinct(0, ("rhs", "cost")), n_summands=3)
    cut = asked(oracle, 0, 1)[0]
    assert dict(cut.extras) == {} == dict(cut.summands[0].extras)
    assert all(oracle.prove_cut(claim) is None for claim in claims_of(cut, 3))


def test_witnesses_refer_to_one_table_and_are_compact_when_read():
    oracle = BendersOracle(distinct(0, ("rhs",)), n_summands=2)
    first, second = asked(oracle, 0, 2)
    (table, index), (later, _) = first.extras.pieces[0], second.extras.pieces[0]
    assert table.base is later.base or len(later) > len(table)
    assert index.dtype == np.uint8
    assert first.summands[1].extras.pieces[0][1].base is index
    vertices, vertex_of = first.extras["vertices"], first.extras["vertex_of"]
    assert len(vertices) == len(np.unique(index)) <= len(vertex_of) == 40
    np.testing.assert_array_equal(vertices[vertex_of], table[index])
    halves = np.concatenate([one.extras["vertices"][one.extras["vertex_of"]] for one in first.summands])
    np.testing.assert_array_equal(halves, table[index])
    assert sorted(first.extras) == ["vertex_of", "vertices"]
    with pytest.raises(KeyError):
        first.extras["ray"]


def test_a_table_never_changes_what_it_once_held():
    table, rng = scenario_duals.DualTable(np.ones(3)), np.random.default_rng(0)
    views = []
    for count in (2, 0, 5, 1, 9):
        added = rng.normal(size=(count, 3))
        numbers = table.add(added)
        np.testing.assert_array_equal(table.rows[numbers], added)
        views.append((table.rows, table.rows.copy()))
    assert len(table) == 17
    assert all((view == copy).all() for view, copy in views)


@pytest.mark.parametrize("exact", [False, True])
def test_a_dual_vector_of_a_side_that_is_not_there_is_refused_in_words(exact):
    """Of a row without a lower side, and of one without an upper side; the others may have either sign."""
    problem, claims, _ = example("rows")
    oracle, sides = BendersOracle(problem, n_summands=7), (problem.row_lower, problem.row_upper)
    wrong = [
        (i, 1.0 if np.isinf(low) else -1.0)
        for i, (low, up) in enumerate(zip(*sides, strict=True))
        if np.isinf(low - up)
    ]
    claim = next(one for one in claims if "vertices" in one.witness)
    assert wrong
    for i, sign in wrong:
        vertices = np.array(claim.witness["vertices"])
        vertices[:, i] = sign
        with pytest.raises(Refuted, match=f"wrong sign in row {i}"):
            oracle.prove_cut(replace(claim, witness={**claim.witness, "vertices": vertices}), exact)
