"""HiGHS' solution of all scenarios together, asked first: nothing of it is believed, and what is proven of it holds."""

from time import perf_counter

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from test_benders_random import random_program, scenario

from oracle_opt import Certificate, Proposal, Status, _highs_model, minimize
from oracle_opt._deadline import Deadline, seconds_left
from oracle_opt.errors import Refuted
from oracle_opt.generators import Kelley
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import benders_proposal
from oracle_opt.proof.claim import ClaimKind, CutClaim

KINDS = {
    "complete": ("rhs", "technology"),
    "costs": ("rhs", "cost"),
    "matrices": ("rhs", "recourse", "technology"),
    "one scenario": (),
}


def tight(seed):
    """Recourse that is not complete: what is stored, with free changes of it, has to meet every demand."""
    rng, periods = np.random.default_rng(seed), 3
    unit = float(10.0 ** rng.integers(-3, 4))
    balance = np.eye(periods) - np.eye(periods, k=-1)
    W = np.block([[-np.eye(periods), balance, np.eye(periods)], [np.eye(periods), np.zeros((periods, 2 * periods))]])
    T = np.vstack([np.zeros((periods, 2)), np.column_stack([-rng.uniform(0.5, 2.0, periods), np.zeros(periods)])])
    T[0, 1] = -1.0  # bought before
    count = int(rng.integers(2, 6))
    demand = -unit * rng.uniform(0.5, 2.0, (count, periods))
    sides = np.r_[np.full(periods, -unit), np.full(periods, -np.inf)], np.r_[np.full(periods, -unit), np.zeros(periods)]
    return TwoStageProblem(
        [3.0, 2.0],
        np.r_[rng.uniform(0.1, 1.0, periods), rng.uniform(0.0, 0.1, periods), np.full(periods, 0.01)],
        T,
        W,
        *sides,
        [RandomBlock(rng.dirichlet(np.ones(count)), rows=np.arange(periods), rhs=demand)],
        x_upper=20.0 * unit,
        y_lower=np.r_[np.zeros(2 * periods), np.full(periods, -0.1 * unit)],
        y_upper=np.r_[np.full(2 * periods, np.inf), np.full(periods, np.inf)],
    )


def optimum(problem):
    """Of the extensive form, by scipy: scenarios one by one, each side of a row a row of its own."""
    outcomes, p = problem.all_scenarios()
    every = [scenario(problem, outcome) for outcome in outcomes]
    empty = sparse.csr_array((problem.A.shape[0], len(p) * problem.q.size))
    own = sparse.block_diag([sparse.coo_array(W) for _, W, *_ in every])
    rows = sparse.vstack(
        [sparse.hstack([problem.A, empty]), sparse.hstack([np.vstack([T for T, *_ in every]), own])]
    ).tocsr()
    lower = np.concatenate([problem.first_lower, *(low for *_, low, _ in every)])
    upper = np.concatenate([problem.first_upper, *(high for *_, high in every)])
    above, below = np.isfinite(upper), np.isfinite(lower)
    ends = [
        np.r_[one, np.tile(two, len(p))]
        for one, two in ((problem.x_lower, problem.y_lower), (problem.x_upper, problem.y_upper))
    ]
    cost = np.concatenate([problem.c, *(share * q for share, (_, _, q, *_) in zip(p, every, strict=True))])
    sides = np.r_[upper[above], -lower[below]]
    done = linprog(cost, sparse.vstack([rows[above], -rows[below]]), sides, bounds=np.transpose(ends))
    assert done.status in (0, 2)
    return done.fun + problem.offset if done.status == 0 else None


def made(kind, seed):
    return tight(seed) if kind == "tight" else random_program(seed, KINDS[kind])


@pytest.mark.parametrize("kind", [*KINDS, "tight"])
@pytest.mark.parametrize("seed", range(6))
def test_one_call_is_proven(kind, seed, tmp_path):
    problem = made(kind, seed)
    known = optimum(problem)
    result = minimize(BendersOracle(problem), rtol=1e-9, atol=1e-9)
    assert result.success, result.message
    assert result.n_calls == 1
    assert "HiGHS" in result.message
    assert result.generator.startswith("SolverFirst('HiGHS")
    size = 1e-7 * max(1.0, abs(known))
    assert result.lower_bound - size <= known <= result.upper_bound + size
    certificate = Certificate.load(result.certificate().save(tmp_path / "run.jsonl"))
    for exact in (False, True):
        verdict = certificate.verify(BendersOracle(problem), exact=exact)
        assert verdict.proven
        assert verdict.lower == pytest.approx(result.lower_bound, rel=1e-8, abs=1e-8)
        assert verdict.lower <= known + size


@pytest.mark.parametrize("kind", [*KINDS, "tight"])
def test_nothing_of_the_multipliers_is_believed(kind):
    """Minorants of wrong multipliers hold, too, and a claim is charged what its multipliers do not prove."""
    rng = np.random.default_rng(0)
    problem = made(kind, 7)
    known, oracle = optimum(problem), BendersOracle(problem)
    stage, m = oracle._stage, problem.W.shape[0]
    right = oracle.propose()
    vertices = right.minorant.extras["vertices"][right.minorant.extras["vertex_of"]]
    size = 1e-7 * max(1.0, abs(known))
    for k in range(30):
        factors = rng.choice([0.0, 1.0, -1.0, 2.0], size=vertices.shape)
        wrong = vertices * factors if k % 2 else vertices + rng.normal(size=vertices.shape) * 10.0**-k
        forged = benders_proposal.minorant(stage, right.point, wrong / stage.frame.units.rows)
        assert forged is None or forged.minimum(oracle.domain) <= known + size
        slope, constant = right.minorant.slope + rng.normal(size=2 if kind == "tight" else 4) * (k % 3), rng.normal()
        witness = {"vertices": wrong.reshape(-1, m), "vertex_of": np.arange(len(wrong))}
        claim = CutClaim(ClaimKind.MINORANT, right.minorant.constant + constant, slope, witness=witness)
        try:
            excess = oracle.prove_cut(claim)
        except Refuted:
            continue
        least = right.minorant.constant + constant + oracle.domain.minimize_linear(slope)[0]
        assert excess is None or least - excess <= known + size


def test_who_names_a_generator_is_not_proposed_to(monkeypatch):
    problem = made("complete", 0)
    with monkeypatch.context() as patch:
        patch.setattr(BendersOracle, "propose", lambda self: pytest.fail("it was asked"))
        assert minimize(BendersOracle(problem), Kelley()).success
        assert minimize(BendersOracle(problem), first=False).success
    both = minimize(BendersOracle(problem), Kelley(), first=True)
    assert both.n_calls == 1
    assert "Kelley(" in both.generator


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("kind", [*KINDS, "tight"])
def test_a_generator_closes_the_gap_that_is_left(kind, told):
    class Rough(BendersOracle):
        def propose(self):
            proposal = super().propose()
            inside = self.domain.interior_point()
            x = 0.9 * proposal.point + 0.1 * inside
            zero = np.zeros((len(self._stage.probability), self.problem.W.shape[0]))
            weak = benders_proposal.minorant(self._stage, x, zero) if told else None
            return Proposal(x, weak, "a rough solver")

    problem = made(kind, 3)
    known, lines = optimum(problem), []
    result = minimize(Rough(problem), rtol=1e-7, atol=1e-7, log=lines.append)
    assert result.success
    assert result.n_calls > 1
    assert result.lower_bound - 1e-6 * max(1.0, abs(known)) <= known <= result.upper_bound + 1e-6 * max(1.0, abs(known))
    assert "proposed first by a rough solver" in lines


@pytest.mark.parametrize("seed", range(6))
def test_multipliers_that_miss_a_free_variable_leave_the_point(seed):
    """No small move makes a reduced cost of a free variable 0: there is no minorant then, and cuts go on."""
    problem, rng = random_program(seed, ("rhs",)), np.random.default_rng(seed)
    problem.y_lower[0], problem.y_upper[0] = -np.inf, np.inf

    class Astray(BendersOracle):
        def propose(self):
            point, stage = super().propose().point, self._stage
            pi = rng.normal(size=(len(stage.outcomes), problem.W.shape[0]))
            return Proposal(point, benders_proposal.minorant(stage, point, pi), "HiGHS, astray")

    assert Astray(problem).propose().minorant is None
    result, known = minimize(Astray(problem), rtol=1e-8, atol=1e-8), optimum(problem)
    size = 1e-7 * max(1.0, abs(known))
    assert result.success
    assert known - 2 * size <= result.lower_bound <= known + size
    assert result.upper_bound == pytest.approx(known, rel=1e-7, abs=1e-7)


def test_what_is_drawn_several_times_is_solved_once():
    problem = made("costs", 2)
    drawn = BendersOracle(problem, n_samples=200, seed=3)
    result, plain = minimize(drawn, rtol=1e-9, atol=1e-9), minimize(drawn, Kelley(), rtol=1e-7, atol=1e-7)
    assert result.n_calls == 1
    assert result.lower_bound <= plain.upper_bound + 1e-7 * max(1.0, abs(plain.upper_bound))
    assert result.upper_bound == pytest.approx(plain.upper_bound, rel=1e-6, abs=1e-6)
    assert result.certificate().verify(drawn).proven


@pytest.mark.parametrize("seed", range(4))
def test_infeasible_programs_end_as_before(seed):
    problem = tight(seed)
    problem.x_upper = np.zeros(2)
    problem.y_upper = np.zeros(problem.q.size)
    assert optimum(problem) is None
    lines = []
    result = minimize(BendersOracle(problem), log=lines.append, max_calls=50)
    assert result.status is Status.EMPTY
    assert any("Infeasible" in line and "HiGHS" in line for line in lines)


def test_many_scenarios_are_left_to_cuts(monkeypatch):
    oracle = BendersOracle(made("complete", 1))
    assert oracle.propose() is not None
    monkeypatch.setattr(benders_proposal, "MOST_ROWS", 4)
    assert oracle.propose() is None
    assert minimize(oracle).success


def test_entries_that_vary_twice_are_not_proposed_for():
    one = made("complete", 1)
    one.blocks = (*one.blocks, *one.blocks)
    assert BendersOracle(one).propose() is None


def test_a_run_that_was_proposed_is_resumed_from_its_journal(tmp_path):
    problem = made("matrices", 2)
    first = minimize(BendersOracle(problem), journal=tmp_path / "run")
    again = minimize(BendersOracle(problem), journal=tmp_path / "run")
    assert again.n_replayed == first.n_calls == 1
    assert (again.lower_bound, again.upper_bound) == (first.lower_bound, first.upper_bound)


def test_highs_has_half_of_the_time(monkeypatch):
    """Where it does not end in that, cuts have the rest."""
    oracle, left = BendersOracle(made("complete", 1)), []

    def over():
        left.append(seconds_left())
        return 0.0

    with monkeypatch.context() as patch, Deadline(perf_counter() + 100.0):
        patch.setattr(_highs_model, "seconds_left", over)
        proposal = oracle.propose()
    assert 0.0 < left[0] <= 50.0
    assert (proposal.point, proposal.minorant) == (None, None)
    assert "Time limit" in proposal.words
    monkeypatch.setattr(BendersOracle, "propose", lambda self: proposal)
    result = minimize(oracle)
    assert result.success
    assert result.n_calls > 1
    assert "SolverFirst" not in result.generator
