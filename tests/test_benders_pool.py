"""Distinct scenarios: dual vertices of all against all, dual simplex steps, and what is carried over to new demands."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp
from test_benders_random import extensive, random_program, scenario

from oracle_opt import FeasibilityCut, InvalidArgument, ObjectiveCut, Query, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import scenario_solvers, vertices
from oracle_opt.oracles.benders.scenario_servers import share_of

COUNT = 40
VARY = [("rhs",), ("rhs", "technology"), ("rhs", "cost"), ("recourse",), ("rhs", "technology", "cost", "recourse")]


def changed(problem, **changes):
    """The same program with other data."""
    names = "c q T W row_lower row_upper blocks A first_lower first_upper x_lower x_upper y_lower y_upper offset"
    return TwoStageProblem(**({name: getattr(problem, name) for name in names.split()} | changes))


def distinct(seed, vary, whole=False, complete=True, free=False):
    """A random program, no two scenarios of which are alike; of whole numbers it is degenerate.

    Rows are of every sense, some columns are boxed; without the column that lowers the last row some scenarios have
    no second stage at some points.
    """
    problem, rng = random_program(seed, ()), np.random.default_rng([seed, 7])
    m, k = problem.W.shape
    count, what = COUNT, {}
    if "rhs" in vary:
        what |= {"rows": np.arange(m), "rhs": problem.rhs + rng.normal(size=(count, m))}
    if "technology" in vary:
        what |= {"technology_entries": [[0, 0], [1, 3], [3, 1]], "technology": rng.normal(size=(count, 3))}
    if "cost" in vary:
        columns = [0, k - 2, k - m - 1]
        what |= {"cost_columns": columns, "cost": problem.q[columns] * rng.uniform(0.7, 1.4, (count, 3))}
    if "recourse" in vary:
        what |= {"recourse_entries": [[0, 0], [2, 0]], "recourse": rng.normal(size=(count, 2))}
    changes, q = {}, problem.q
    if whole:
        what = {name: np.rint(given) if name in ("rhs", "technology") else given for name, given in what.items()}
        W = np.rint(problem.W.toarray())
        sides = (np.rint(side) for side in (problem.row_lower, problem.row_upper))
        changes |= {"W": W, "T": np.rint(problem.T.toarray()), "q": np.rint(2 * q)}
        changes |= dict(zip(("row_lower", "row_upper"), sides, strict=True))
    if not complete:
        W = changes.get("W", problem.W.toarray())[:, : k - 1]
        changes |= {"W": W, "q": q[: k - 1], "y_lower": problem.y_lower[: k - 1], "y_upper": problem.y_upper[: k - 1]}
    if free:
        # a column without bounds, whose cost two others bracket
        W = np.c_[changes.get("W", problem.W.toarray()), rng.normal(size=m)]
        W = np.c_[W, -W[:, -1]]
        low, high = np.r_[problem.y_lower, -np.inf, 0.0], np.r_[problem.y_upper, np.inf, np.inf]
        changes |= {"W": W, "q": np.r_[changes.get("q", q), 0.0, 0.5], "y_lower": low, "y_upper": high}
    return changed(problem, blocks=[RandomBlock(rng.dirichlet(np.full(count, 9.0)), **what)], **changes)


def truth(problem, x):
    """The expectation at x by a program a scenario; None if one has no second stage."""
    outcomes, p = problem.all_scenarios()
    total = float(problem.c @ x) + problem.offset
    for outcome, share in zip(outcomes, p, strict=True):
        T, W, q, lower, upper = scenario(problem, outcome)
        bounds = np.c_[problem.y_lower, problem.y_upper].T
        done = milp(q, constraints=LinearConstraint(W, lower - T @ x, upper - T @ x), bounds=tuple(bounds))
        if done.status == 2:
            return None
        assert done.status == 0
        total += share * done.fun
    return total


def check(problem, oracle, seed, count=4):
    """Cuts of points that go on from each other, against the truth; how many of each kind there were."""
    rng, kinds, known = np.random.default_rng(seed), [0, 0], []
    x = rng.uniform(problem.x_lower, problem.x_upper)
    for _ in range(count):
        x = np.clip(x + 0.6 * rng.normal(size=len(x)), problem.x_lower, problem.x_upper)
        cut, value = oracle.query(Query(x)), truth(problem, x)
        known.append((x, cut, value))
        if value is None:
            assert isinstance(cut, FeasibilityCut)
            kinds[1] += 1
            continue
        size = 1.0 + abs(value)
        assert isinstance(cut, ObjectiveCut)
        assert cut.value <= value + 1e-9 * size
        assert value - 1e-9 * size <= cut.upper
        assert cut.error <= 1e-6 * size
        kinds[0] += 1
    for x, cut, _ in known:
        for z, _, value in known:
            if value is not None and isinstance(cut, FeasibilityCut):
                assert all(one.violation + one.normal @ (z - x) <= 1e-7 for one in (cut, *cut.further))
            elif value is not None:
                assert cut.value + cut.subgradient @ (z - x) <= value + 1e-8 * (1.0 + abs(value))
    return kinds


@pytest.mark.campaign(7)
@pytest.mark.parametrize("whole", [False, True], ids=["general", "degenerate"])
@pytest.mark.parametrize("vary", VARY, ids="+".join)
@pytest.mark.parametrize("free", [False, True], ids=["bounded", "free"])
def test_values_and_cuts_of_distinct_scenarios(vary, whole, free):
    stepped = 0
    for seed in range(2):
        problem = distinct(seed, vary, whole, free=free)
        oracle = BendersOracle(problem)
        assert check(problem, oracle, seed)[1] == 0
        server = oracle._server
        first = 1 if problem.only_rows_vary else COUNT
        assert server.solved <= first + 2  # HiGHS begins; what comes then is steps
        stepped += server.stepped
    assert stepped > 0


@pytest.mark.parametrize("vary", [VARY[0], VARY[1], VARY[4]], ids="+".join)
def test_scenarios_without_a_second_stage_give_half_spaces(vary):
    found = np.zeros(2, dtype=int)
    for seed in range(6):
        problem = distinct(seed, vary, complete=False)
        found += check(problem, BendersOracle(problem), seed, count=6)
    assert (found > 0).all()


@pytest.mark.campaign(2)
@pytest.mark.parametrize("vary", VARY, ids="+".join)
def test_bounds_of_a_run_hold_the_optimum_of_the_extensive_form(vary, monkeypatch):
    for seed, generator in enumerate((Kelley(), LevelSet(), ProximalBundle())):
        problem = distinct(seed, vary)
        monkeypatch.setattr("test_benders_random.K", problem.q.size)
        known = extensive(problem)
        oracle = BendersOracle(problem)
        run = minimize(oracle, generator, rtol=1e-7, atol=1e-7, max_calls=300)
        assert run.status is Status.CONVERGED
        assert oracle.n_summands == 20
        assert run.lower_bound <= known + 1e-7 * max(1.0, abs(known))
        assert run.upper_bound >= known - 1e-7 * max(1.0, abs(known))


def test_where_steps_fail_every_scenario_is_solved(monkeypatch):
    problem = distinct(3, ("rhs", "technology"))
    known, x = BendersOracle(problem), 0.5 * (problem.x_lower + problem.x_upper)
    value = known.query(Query(x)).value

    def none(form, begun, which, *given):
        shape = begun.basic.shape[1], begun.at.shape[1]
        return np.zeros(len(which), bool), np.zeros((0, shape[0]), np.intp), np.zeros((0, shape[1]), np.int8)

    monkeypatch.setattr(scenario_solvers, "optimal_bases", none)
    oracle = BendersOracle(problem)
    assert oracle.query(Query(x)).value == pytest.approx(value, rel=1e-9)
    assert oracle._server.solved > 5
    assert oracle._server.stepped == 0


def test_of_too_many_vertices_those_go_that_were_best_longest_ago(monkeypatch):
    monkeypatch.setattr(vertices, "_MOST", 8)
    problem = distinct(1, ("rhs",))
    oracle, plenty = BendersOracle(problem), BendersOracle(problem)
    points = np.random.default_rng(0).uniform(problem.x_lower, problem.x_upper, (6, len(problem.c)))
    for x in points:
        pool = oracle._server.pool
        cut = oracle.query(Query(x))
        last = pool._last[: len(pool)].max()
        assert cut.value == pytest.approx(plenty.query(Query(x)).value, rel=1e-9)
        kept = {one.tobytes() for one in pool.vertices.at[pool._last[: len(pool)] == last]}
        pool.begin()
        assert len(pool) <= 8
        left = {one.tobytes() for one in pool.vertices.at}
        assert len(left & kept) == min(len(kept), len(left))


def test_vertices_of_one_value_do_not_hide_each_other():
    # Q = 0 for each scenario at every vertex, and which basis is feasible depends on the side
    rng = np.random.default_rng(0)
    demands = RandomBlock(np.full(3000, 1 / 3000), rows=np.arange(6), rhs=rng.choice([-1.0, 1.0], (3000, 6)))
    W = np.hstack([np.eye(6), -np.eye(6)])
    problem = TwoStageProblem([1.0], np.zeros(12), np.zeros((6, 1)), W, np.zeros(6), np.zeros(6), [demands], x_upper=1)
    oracle = BendersOracle(problem)
    oracle.query(Query(np.zeros(1)))
    assert oracle._server.stepped < 1000
    oracle.query(Query(np.ones(1)))
    assert oracle._server.stepped < 1500


def after(problem, seed):
    """New demands, technology and probabilities, and more scenarios."""
    rng, block = np.random.default_rng(seed), problem.blocks[0]
    rhs = np.vstack([block.rhs, block.rhs[:20]])
    more = RandomBlock(rng.dirichlet(np.full(60, 9.0)), block.rows, rhs + 0.2 * rng.normal(size=rhs.shape))
    return changed(problem, blocks=[more], T=problem.T * 1.1, row_upper=problem.row_upper + 0.1)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("generator", [Kelley(), ProximalBundle(), LevelSet(), AnalyticCenter()], ids=repr)
def test_after_new_demands_fewer_programs_and_fewer_calls(generator, monkeypatch):
    calls, steps = [0, 0], [0, 0]
    for seed in range(3):
        problem = distinct(seed, ("rhs",))
        monkeypatch.setattr("test_benders_random.K", problem.q.size)
        old = BendersOracle(problem)
        first = minimize(old, generator, rtol=1e-6, keep_cuts=True)
        new = after(problem, seed)
        known = extensive(new)
        cold, warm = BendersOracle(new), BendersOracle(new, warm=old)
        cuts = warm.shifted(first.history.cuts)
        n_objective = sum(isinstance(cut, ObjectiveCut) for cut in first.history.cuts)
        assert len(cuts) == n_objective
        assert np.isfinite(cuts[0].error)
        runs = minimize(cold, generator, rtol=1e-6), minimize(warm, generator, first.point, rtol=1e-6, cuts=cuts)
        for i, (run, oracle) in enumerate(zip(runs, (cold, warm), strict=True)):
            assert run.status is Status.CONVERGED
            assert run.lower_bound <= known + 1e-6 * max(1.0, abs(known))
            assert run.upper_bound >= known - 1e-6 * max(1.0, abs(known))
            calls[i] += run.n_calls
            steps[i] += oracle._server.stepped + oracle._server.solved
        assert warm._server.solved == 0  # reset, too, keeps what was known
    assert calls[1] < calls[0]
    assert steps[1] < 0.7 * steps[0]


def test_cuts_shifted_are_minorants_of_the_new_problem():
    problem = distinct(5, ("rhs",), complete=False)
    old = BendersOracle(problem)
    run = minimize(old, Kelley(), rtol=1e-6, keep_cuts=True)
    new = after(problem, 0)
    cuts = BendersOracle(new, warm=old, n_summands=3).shifted(run.history.cuts)
    rng, compared = np.random.default_rng(0), 0
    for _ in range(8):
        z = rng.uniform(new.x_lower, new.x_upper)
        value = truth(new, z)
        for cut in cuts:
            if isinstance(cut, ObjectiveCut) and value is not None:
                assert cut.value + cut.subgradient @ (z - cut.point) <= value + 1e-8 * (1.0 + abs(value))
                compared += 1
    assert compared > 10
    assert all(truth(new, cut.point) <= cut.upper + 1e-8 for cut in cuts if np.isfinite(cut.error))


@pytest.mark.parametrize("what", ["q", "W"])
def test_after_new_costs_the_bases_that_are_dual_feasible_still_are_known(what):
    problem = distinct(2, ("rhs",))
    old = BendersOracle(problem)
    minimize(old, Kelley(), rtol=1e-6)
    rng = np.random.default_rng(0)
    given = problem.W.toarray() if what == "W" else problem.q
    new = changed(problem, **{what: given * (1.0 + 0.6 * rng.uniform(-1.0, 1.0, given.shape))})
    warm = BendersOracle(new, warm=old)
    assert 0 < len(warm._stage.known[0]) < len(old._server.pool)
    check(new, warm, 1)
    turned = changed(problem, q=problem.q[::-1] + 50.0 * rng.normal(size=problem.q.size) ** 2)
    check(turned, BendersOracle(turned, warm=old), 2)


def test_what_cannot_be_carried_over_is_refused():
    problem = distinct(0, ("rhs",))
    old = BendersOracle(problem)
    with pytest.raises(InvalidArgument, match="`warm` knows no dual vertices"):
        BendersOracle(problem, warm=old)
    with pytest.raises(InvalidArgument, match="`cuts` can be shifted by"):
        old.shifted([])
    x = old.domain.interior_point()
    cut = old.query(Query(x))
    with pytest.raises(InvalidArgument, match="`warm` must be a BendersOracle"):
        BendersOracle(problem, warm=problem)
    with pytest.raises(InvalidArgument, match=r"costs or the recourse matrix vary"):
        BendersOracle(distinct(0, ("cost",)), warm=old)
    with pytest.raises(InvalidArgument, match="rows and columns of `problem`, 4 and 11, got 4 and 9"):
        BendersOracle(distinct(0, ("rhs",), free=True), warm=old)
    with pytest.raises(InvalidArgument, match=r"`cuts\[0\]` must be an ObjectiveCut"):
        old.shifted([x])
    assert len(old.shifted([cut])) == 1


def test_the_identity_tells_what_was_known():
    problem = distinct(0, ("rhs",))
    old = BendersOracle(problem)
    cold = old.identity()
    old.query(Query(problem.x_lower))
    assert old.identity() == cold
    warm = BendersOracle(problem, warm=old).identity()
    assert warm != cold
    assert warm == BendersOracle(problem, warm=old).identity()
    old.query(Query(problem.x_upper))
    assert BendersOracle(problem, warm=old).identity() not in (cold, warm)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("free", [False, True], ids=["bounded", "free"])
@pytest.mark.parametrize("vary", VARY, ids="+".join)
def test_tasks_have_the_same_bits_whatever_was_done_before(vary, free):
    problem = distinct(3, vary, free=free)
    x, y = (np.clip(given, problem.x_lower, problem.x_upper) for given in (np.zeros(4), np.ones(4)))
    oracle, other = BendersOracle(problem, parts=4), BendersOracle(problem, parts=4)
    other.query(Query(y))
    share_of(other._stage, y, 30, 40, [])
    with ThreadPoolExecutor(2) as executor:
        threads = BendersOracle(problem, parts=4, executor=executor)
        cuts = [one.query(Query(x)) for one in (oracle, other, threads)]
    assert len({(cut.value, cut.error, cut.subgradient.tobytes()) for cut in cuts}) == 1


def test_parts_of_an_executor_start_from_what_was_known():
    problem = distinct(4, ("rhs",))
    old = BendersOracle(problem)
    minimize(old, Kelley(), rtol=1e-6)
    new, x = after(problem, 1), 0.5 * (problem.x_lower + problem.x_upper)
    cuts = []
    for workers in (1, 2):
        with ThreadPoolExecutor(workers) as executor:
            cuts.append(BendersOracle(new, warm=old, executor=executor, parts=3).query(Query(x)))
    alone = BendersOracle(new, warm=old, parts=3)
    cuts.append(alone.query(Query(x)))
    assert len({(cut.value, cut.error, cut.subgradient.tobytes()) for cut in cuts}) == 1
    assert cuts[0].value == pytest.approx(truth(new, x), rel=1e-9)
