"""Lagrangian relaxation: the dual and its recovery, against HiGHS."""

import numpy as np
import pytest
from provers import FAST
from scipy.optimize import linprog

from oracle_opt import FreeSpace, InvalidArgument, InvalidCut, NonnegativeOrthant, Query, minimize
from oracle_opt.generators import Kelley, LevelSet, ProximalBundle, Subgradient
from oracle_opt.oracles import LagrangianOracle, RelaxedSolution
from oracle_opt.testing import check_oracle


class Hull:
    """``min costs[k] (or max)`` over finitely many x_k, ``activities[k] ==, <= rhs``: small enough to enumerate."""

    def __init__(self, maximize, inequality, seed=0, n=3, count=12):
        rng = np.random.default_rng(seed)
        self.costs, self.activities = rng.normal(size=count), rng.normal(size=(count, n))
        self.rhs = rng.dirichlet(np.ones(count)) @ self.activities
        self.inequality, self.maximize = np.broadcast_to(inequality, n), maximize
        self.sign = -1.0 if maximize else 1.0

    def __call__(self, u):
        k = int((self.sign * self.costs + self.activities @ u).argmin())
        return RelaxedSolution(self.costs[k], self.activities[k], solution=np.eye(len(self.costs))[k])

    def oracle(self, **options):
        given = {"inequality": self.inequality, "maximize": self.maximize, "radius": 50.0}
        return LagrangianOracle(self, self.rhs, name="hull", **(given | options))

    def optimum(self):
        """Of the convex hull, by HiGHS: what the best multipliers reach."""
        rows = self.activities.T
        done = linprog(
            self.sign * self.costs,
            A_eq=np.vstack([np.ones(len(self.costs)), rows[~self.inequality]]),
            b_eq=np.r_[1.0, self.rhs[~self.inequality]],
            A_ub=rows[self.inequality],
            b_ub=self.rhs[self.inequality],
        )
        return self.sign * done.fun


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("inequality", [False, True, [True, False, True]])
def test_signs_bounds_and_recovery(maximize, inequality):
    hull = Hull(maximize, inequality)
    oracle, optimum = hull.oracle(), hull.optimum()
    rng = np.random.default_rng(1)
    points = rng.uniform(-2, 2, (6, 3))
    points[:, hull.inequality] = np.abs(points[:, hull.inequality])
    check_oracle(oracle, list(points), accuracies=(1e-2, 1e-10))
    for generator in FAST:
        result = minimize(oracle, generator, rtol=1e-7, keep_cuts=True)
        assert result.success
        assert oracle.dual_bound(result) == pytest.approx(optimum, abs=1e-5)
        assert hull.sign * (optimum - oracle.dual_bound(result)) >= -1e-9
        assert hull.sign * (oracle.dual_limit(result) - optimum) >= -1e-9
        primal = oracle.recover(result.history.cuts)
        # the other side of the bound: feasible, of the same cost, and the average of the solutions
        assert primal.violation <= 1e-7
        assert primal.cost == pytest.approx(optimum, abs=1e-5)
        assert (primal.weights >= 0).all()
        np.testing.assert_allclose(primal.weights.sum(axis=0), 1)
        np.testing.assert_allclose(primal.solutions[0] @ hull.activities, primal.activity, atol=1e-12)
        assert primal.solutions[0] @ hull.costs == pytest.approx(primal.cost)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shift", [-30.0, 0.0, 30.0])
def test_the_bound_and_its_limit_hold_the_optimum_between_them(maximize, shift):
    """Whatever the sign of the optimum: at each moment of a run on its two sides, at the end near it."""
    hull = Hull(maximize, True, seed=2)
    hull.costs = hull.costs + shift
    oracle, optimum = hull.oracle(), hull.optimum()
    assert np.sign(optimum) == np.sign(shift) or not shift
    for calls in (3, 6, 200):
        result = minimize(oracle, Kelley(), rtol=1e-8, max_calls=calls)
        bound, limit = oracle.dual_bound(result), oracle.dual_limit(result)
        low, high = (limit, bound) if maximize else (bound, limit)
        assert low - 1e-9 <= optimum <= high + 1e-9
    assert bound == pytest.approx(optimum, rel=1e-7)
    assert limit == pytest.approx(optimum, rel=1e-7)


def test_domains_follow_the_constraints():
    hull = Hull(False, False)
    assert isinstance(hull.oracle().domain, FreeSpace)
    assert isinstance(hull.oracle(inequality=True).domain, NonnegativeOrthant)
    mixed = hull.oracle(inequality=[True, False, False]).domain
    assert mixed.lower.tolist() == [0, -50, -50]
    assert mixed.upper.tolist() == [50, 50, 50]


def test_weights_of_the_subgradient_method_average_to_a_primal_solution():
    hull = Hull(False, False, seed=3)
    oracle, generator, weights = hull.oracle(), Subgradient(), []
    result = minimize(
        oracle, generator, max_calls=4000, keep_cuts=True, callback=lambda _: weights.append(generator.weight())
    )
    early, late = (oracle.recover(result.history.cuts[:k], weights[:k]) for k in (40, 4000))
    assert late.violation < 0.2 * early.violation
    assert late.violation < 0.1
    best = oracle.recover(result.history.cuts)
    assert best.violation <= 1e-7
    assert best.cost == pytest.approx(hull.optimum(), abs=1e-2)


def test_without_enough_solutions_the_least_violation_is_told():
    hull = Hull(False, False)
    oracle = hull.oracle()
    cut = oracle.query(Query(np.zeros(3)))
    primal = oracle.recover([cut])
    assert primal.weights.tolist() == [[1.0]]
    assert primal.violation == pytest.approx(np.abs(cut.extras["activity"] - hull.rhs).max())


def test_summands_become_parts():
    first, second = Hull(False, True, seed=5), Hull(False, True, seed=6)
    rhs = first.rhs + second.rhs
    split = LagrangianOracle(lambda u: (first(u), second(u)), rhs, inequality=True, radius=50)

    def together(u):
        a, b = first(u), second(u)
        return RelaxedSolution(a.cost + b.cost, np.asarray(a.activity) + b.activity)

    joint = LagrangianOracle(together, rhs, inequality=True, radius=50)
    for u in np.random.default_rng(0).uniform(0, 2, (5, 3)):
        cut, same = split.query(Query(u)), joint.query(Query(u))
        assert cut.value == pytest.approx(same.value)
        np.testing.assert_allclose(cut.subgradient, same.subgradient)
        assert sum(part.value for part in cut.summands) == pytest.approx(cut.value)
        np.testing.assert_allclose(sum(part.subgradient for part in cut.summands), cut.subgradient)
    result = minimize(split, Kelley(), rtol=1e-8, keep_cuts=True)
    primal = split.recover(result.history.cuts)
    assert primal.weights.shape == (result.n_calls, 2)
    assert primal.violation <= 1e-7
    assert primal.cost == pytest.approx(split.dual_bound(result), rel=1e-6, abs=1e-6)
    assert len(primal.solutions) == 2
    # weights of their own for each summand can only be cheaper than common ones
    assert joint.recover(minimize(joint, Kelley(), rtol=1e-8, keep_cuts=True).history.cuts).solutions == ()


@pytest.mark.parametrize("maximize", [False, True])
def test_inexact_solutions_state_their_bound(maximize):
    hull = Hull(maximize, False)
    rng = np.random.default_rng(0)

    def sloppy(u):
        values = hull.sign * hull.costs + hull.activities @ u
        k = int(rng.choice(np.flatnonzero(values <= values.min() + 0.05)))
        return RelaxedSolution(hull.costs[k], hull.activities[k], bound=hull.sign * (values.min() - 0.01))

    oracle, exact = LagrangianOracle(sloppy, hull.rhs, maximize=maximize, radius=50), hull.oracle()
    for u in rng.uniform(-2, 2, (20, 3)):
        cut, truth = oracle.query(Query(u)), exact.query(Query(u)).value
        assert cut.value <= truth + 1e-12
        assert truth <= cut.upper + 1e-12
        assert 0.01 - 1e-12 <= cut.error <= 0.06 + 1e-12
    result = minimize(oracle, ProximalBundle(), max_calls=60)
    assert hull.sign * (hull.optimum() - oracle.dual_bound(result)) >= -1e-9
    assert oracle.dual_bound(result) == pytest.approx(hull.optimum(), abs=0.1)


def test_wrong_answers_are_found():
    hull = Hull(False, False)

    def oracle(solve):
        return LagrangianOracle(solve, hull.rhs, radius=50)

    def run(solve):
        return minimize(oracle(solve), Kelley())

    for maximize, word in ((False, "smaller"), (True, "greater")):
        other = Hull(maximize, False)
        turned = LagrangianOracle(lambda u: other(-u), other.rhs, maximize=maximize)  # noqa: B023 - the usual mistake
        points = np.random.default_rng(0).normal(size=(10, 3))
        with pytest.raises(InvalidCut, match=f"`solve` must answer with an optimal solution.* {word} value"):
            [turned.query(Query(u)) for u in points]
    with pytest.raises(InvalidCut, match="`bound` of summand 0 must be at most"):
        run(lambda u: RelaxedSolution(1.0, np.zeros(3), bound=2.0))
    with pytest.raises(InvalidCut, match="must return a RelaxedSolution"):
        run(lambda u: [(1.0, np.zeros(3))])
    for wrong in ([], None, 3.0):
        with pytest.raises(InvalidCut, match="RelaxedSolution or a sequence of them, got"):
            run(lambda u: wrong)  # noqa: B023
    with pytest.raises(InvalidCut, match="`activity` of summand 0 must have the shape"):
        run(lambda u: RelaxedSolution(1.0, [1.0]))
    with pytest.raises(InvalidCut, match="must be finite"):
        run(lambda u: RelaxedSolution(np.nan, np.zeros(3)))


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_an_answer_may_be_worse_than_an_earlier_one_by_rounding_and_no_more(maximize, scale):
    sign = -1.0 if maximize else 1.0
    unit = max(1.0, scale)
    for worse, refused in ((1e-12, False), (1e-7, True), (1e-3, True)):
        costs = iter([scale, scale + sign * worse * unit])
        oracle = LagrangianOracle(lambda u: RelaxedSolution(next(costs), np.zeros(2)), np.zeros(2), maximize=maximize)  # noqa: B023
        oracle.query(Query(np.zeros(2)))
        if refused:
            with pytest.raises(InvalidCut, match="the one of 1 calls before has a"):
                oracle.query(Query(np.ones(2)))
        else:
            assert oracle.query(Query(np.ones(2))).value == pytest.approx(-sign * scale)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_a_bound_may_be_better_than_its_solution_by_rounding_and_no_more(maximize, scale):
    sign = -1.0 if maximize else 1.0
    for better, refused in ((1e-13, False), (1e-9, True), (-1e-3, False)):
        bound = scale + sign * better * max(1.0, scale)
        oracle = LagrangianOracle(lambda u: RelaxedSolution(scale, [0.0], bound=bound), [0.0], maximize=maximize)  # noqa: B023
        if refused:
            with pytest.raises(InvalidCut, match="`bound` of summand 0"):
                oracle.query(Query(np.zeros(1)))
        else:
            missed = max(0.0, -better) * max(1.0, scale)
            assert oracle.query(Query(np.zeros(1))).error == pytest.approx(missed, abs=1e-14 * max(1.0, scale))


def test_what_a_journal_recalls_is_held_against_later_answers():
    hull = Hull(False, False)
    cut = hull.oracle().query(Query(np.zeros(3)))
    fresh = hull.oracle()
    fresh.solve = lambda u: RelaxedSolution(hull.costs.max(), hull.activities[hull.costs.argmax()])
    worst = fresh.query(Query(np.zeros(3)))
    assert worst.value < cut.value
    fresh.reset()
    fresh.resume(cut)
    with pytest.raises(InvalidCut, match="the one of 1 calls before has a smaller value"):
        fresh.query(Query(np.zeros(3)))


def test_journal_replays(tmp_path):
    hull = Hull(False, [True, False, True])
    path = tmp_path / "run.journal"
    first = minimize(hull.oracle(), LevelSet(), max_calls=5, keep_cuts=True, journal=path)
    whole = minimize(hull.oracle(), LevelSet(), keep_cuts=True, journal=path)
    plain = minimize(hull.oracle(), LevelSet(), keep_cuts=True)
    assert first.n_calls == 5
    assert whole.upper_bound == plain.upper_bound
    cost = hull.oracle().recover(whole.history.cuts).cost
    assert cost == pytest.approx(hull.oracle().recover(plain.history.cuts).cost)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((3, [1.0]), {}, "`solve` must be a function"),
        ((abs, [[1.0]]), {}, r"`rhs` must have shape \(n,\)"),
        ((abs, [np.inf]), {}, "`rhs` must be finite"),
        ((abs, [1.0]), {"inequality": [True, False]}, "`inequality` must be True, False or 1"),
        ((abs, [1.0]), {"inequality": 1}, "`inequality` must be True, False or"),
        ((abs, [1.0]), {"domain": FreeSpace(2, 1)}, "`domain` must have dimension 1"),
        ((abs, [1.0]), {"inequality": True, "domain": FreeSpace(1, 1)}, "nonnegative"),
        ((abs, [1.0]), {"radius": 0}, "`radius` must be positive"),
        ((abs, [1.0, 1.0]), {"radius": np.inf, "inequality": [True, False]}, "`radius` must be positive and finite"),
    ],
)
def test_bad_arguments_are_named(arguments, options, words):
    with pytest.raises(InvalidArgument, match=words):
        LagrangianOracle(*arguments, **options)


def test_bad_recoveries_are_named():
    hull = Hull(False, False)
    oracle = hull.oracle()
    cuts = [oracle.query(Query(u)) for u in np.eye(3)]
    with pytest.raises(InvalidArgument, match="`cuts` must hold the cuts"):
        oracle.recover([])
    with pytest.raises(InvalidArgument, match="`weights` must be 3"):
        oracle.recover(cuts, [1, 2])
    with pytest.raises(InvalidArgument, match="`weights` must be 3"):
        oracle.recover(cuts, [1, -1, 1])
    split = LagrangianOracle(lambda u: (hull(u), hull(u)), hull.rhs)
    with pytest.raises(InvalidArgument, match="must have the same number"):
        oracle.recover([*cuts, split.query(Query(np.zeros(3)))])


def test_identities_differ():
    made = [Hull(False, False).oracle(), Hull(False, True).oracle(), Hull(True, False).oracle()]
    assert len({oracle.identity() for oracle in made}) == len(made)
