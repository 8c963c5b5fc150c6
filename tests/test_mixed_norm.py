"""Mixed-norm MKL: one oracle for mirror descent, the paper's alternation and cutting planes."""

from dataclasses import replace
from math import inf

import cvxpy as cp
import numpy as np
import pytest
from journal_runs import recalled

from oracle_opt import AnalyticUpdate, CapabilityMismatch, InvalidArgument, Query, Status, minimize
from oracle_opt.generators import SPG, AnalyticCenter, FixedPoint, Kelley, LevelSet, MirrorDescent
from oracle_opt.oracles import ElasticNet, GMKLOracle, GramBank, MixedNormOracle, MKLOracle, uci_bank
from oracle_opt.oracles.mkl.form_proof import forms_by_parts, hyperplane_above, products_by_parts
from oracle_opt.oracles.mkl.group_rounds import extrapolated, sharper_solution
from oracle_opt.oracles.svm import EpsilonInsensitive, Huber, Pinball
from oracle_opt.proof.floats import Floats
from oracle_opt.testing import check_oracle

GROUPS = [[0, 3, 5], [1], [2, 4, 6, 7]]


def problem(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    squared = [((X[:, None, f] - X[None, :, f]) ** 2).sum(axis=2) for f in ([0], [1], [0, 1], [0, 1, 2])]
    return X, y, GramBank([np.exp(-width * D) for D in squared for width in (0.2, 2.0)])


def points(groups, count, seed=0):
    rng = np.random.default_rng(seed)
    made = [np.concatenate([np.full(len(g), 1 / len(g)) for g in groups])]
    for k in range(count):
        made.append(np.concatenate([rng.dirichlet(np.full(len(g), 0.3 if k % 2 else 1.0)) for g in groups]))
    return made


@pytest.mark.parametrize("C", [0.5, 10.0])
def test_conforms(C) -> None:
    _, y, bank = problem()
    check_oracle(MixedNormOracle(bank, y, C, groups=GROUPS), points(GROUPS, 6), accuracies=(1e-2, 1e-10))


def by_clarabel(bank: GramBank, y: np.ndarray, C: float, groups) -> float:
    """max over a of sum(a) - 1/2 (sum over the groups of the largest sqrt(S_k(a)))**2."""
    a, t = cp.Variable(len(y), nonneg=True), cp.Variable(len(groups), nonneg=True)
    constraints = [a <= C, y @ a == 0]
    for j, group in enumerate(groups):
        for k in group:
            values, vectors = np.linalg.eigh(bank.combine(np.eye(bank.n_kernels)[k]))
            used = values > 1e-10
            root = np.sqrt(values[used])[:, None] * vectors[:, used].T
            constraints.append(cp.norm(root @ cp.multiply(y, a)) <= t[j])
    program = cp.Problem(cp.Maximize(cp.sum(a) - 0.5 * cp.square(cp.sum(t))), constraints)
    program.solve(solver=cp.CLARABEL)
    return float(program.value)


@pytest.mark.parametrize(
    ("generator", "gap", "solves"),
    [
        (LevelSet(), 1e-6, None),
        (Kelley(), 1e-6, None),
        (AnalyticCenter(), 1e-6, None),
        (SPG(), 1e-5, None),
        (SPG(tune_accuracy=True), 1e-5, None),
        (MirrorDescent(), 2e-2, None),
        (MirrorDescent(), 2e-2, 1),
        (FixedPoint(updates=True), 1e-3, None),
        (FixedPoint(updates=True), 1e-3, 1),
    ],
    ids=repr,
)
def test_optimum_is_that_of_an_independent_solver(generator, gap, solves) -> None:
    _, y, bank = problem()
    truth = by_clarabel(bank, y, 5.0, GROUPS)
    result = minimize(
        MixedNormOracle(bank, y, 5.0, groups=GROUPS, max_solves=solves), generator, rtol=gap, max_calls=400
    )
    assert result.status is Status.CONVERGED, f"{result.message} {result.relative_gap}"
    assert result.lower_bound <= truth * (1 + 1e-6)
    assert result.upper_bound >= truth * (1 - 1e-6)


def test_one_group_is_l1_mkl() -> None:
    """Whatever the order of the kernels in the group."""
    _, y, bank = problem()
    order = np.array([3, 1, 0, 2, 7, 6, 5, 4])
    mixed, simple = MixedNormOracle(bank, y, 5.0, groups=[order]), MKLOracle(bank, y, 5.0)
    for point in points([range(8)], 4):
        weights = np.empty(8)
        weights[order] = point
        one, other = mixed.query(Query(point)), simple.query(Query(weights))
        assert one.value == pytest.approx(other.value, rel=1e-8)
        least = one.constant + one.subgradient.min()
        assert one.lower_bound == pytest.approx(other.lower_bound, rel=1e-6)
        assert other.lower_bound >= least - 1e-6 * abs(least)  # the best multiple of the dual variables is taken
        np.testing.assert_allclose(one.subgradient, other.subgradient[order], rtol=1e-5)
        assert one.extras["n_solves"] == 1
    for generator in (LevelSet(), MirrorDescent()):
        results = [minimize(oracle, generator, rtol=1e-2, max_calls=200) for oracle in (mixed, simple)]
        assert results[0].upper_bound == pytest.approx(results[1].upper_bound, rel=1e-2)


def test_one_kernel_a_group_weighs_the_groups_alone() -> None:
    _, y, bank = problem()
    groups = [[k] for k in range(8)]
    oracle = MixedNormOracle(bank, y, 5.0, groups=groups)
    result = minimize(oracle, MirrorDescent(), rtol=1e-7)
    assert result.status is Status.CONVERGED
    assert result.n_calls == 1
    assert result.upper_bound == pytest.approx(by_clarabel(bank, y, 5.0, groups), rel=1e-6)


def test_every_group_is_used_and_within_a_group_few() -> None:
    _, y, bank = problem(n=60)
    result = minimize(MixedNormOracle(bank, y, 5.0, groups=GROUPS), LevelSet(), rtol=1e-6)
    c = result.cut.extras["group_weights"]
    assert c.min() > 0.01
    assert c.sum() == pytest.approx(1.0)
    S, point = result.cut.extras["quadratic_forms"], result.point
    # the primal's group norms are equal at the optimum
    np.testing.assert_allclose(
        np.add.reduceat(point * S, [0, 3, 4]) / c**2, (point @ (S / np.repeat(c, [3, 1, 4])))[None].repeat(3), rtol=1e-2
    )


def test_alternation_solves_one_svm_a_call_and_its_error_falls() -> None:
    _, y, bank = problem()
    oracle = MixedNormOracle(bank, y, 5.0, groups=GROUPS, max_solves=1)
    result = minimize(oracle, MirrorDescent(), rtol=1e-2, max_calls=300, keep_cuts=True)
    assert result.status is Status.CONVERGED
    assert {cut.extras["n_solves"] for cut in result.history.cuts} == {1}
    assert result.history.error[-1] < 0.1 * result.history.error[0]


def test_accuracy_wish_saves_solves() -> None:
    _, y, bank = problem()
    oracle = MixedNormOracle(bank, y, 5.0, groups=GROUPS)
    point = points(GROUPS, 0)[0]
    loose = oracle.query(Query(point, accuracy=1e-1))
    oracle.reset()
    tight = oracle.query(Query(point, accuracy=1e-9))
    assert loose.extras["n_solves"] < tight.extras["n_solves"]
    assert tight.error <= 1e-9 * tight.upper
    assert loose.value <= tight.upper


def test_recall_continues_as_if_never_interrupted() -> None:
    _, y, bank = problem()
    recalled(lambda: MixedNormOracle(bank, y, 5.0, groups=GROUPS), points(GROUPS, 4))


def test_the_analytic_update_minimizes_the_primal_at_the_hyperplane() -> None:
    """The hyperplane has norms l_k**2 S_k of its kernels' parts: sum(norms / d) is least over the simplices at it."""
    _, y, bank = problem()
    oracle, rng = MixedNormOracle(bank, y, 5.0, groups=GROUPS), np.random.default_rng(1)
    starts = [0, 3, 4]
    for point in points(GROUPS, 5):
        cut = oracle.query(Query(point, wishes=frozenset({AnalyticUpdate})))
        update, norms = cut.answer(AnalyticUpdate).point, point**2 * cut.extras["quadratic_forms"]
        np.testing.assert_allclose(np.add.reduceat(update, starts), 1.0)
        assert (update >= 0).all()
        used = norms > 1e-14
        least = np.add.reduceat((norms / np.where(used, update, 1.0)) * used, starts)
        for _ in range(30):
            other = np.concatenate([rng.dirichlet(np.ones(len(group))) for group in GROUPS])
            other = update + rng.choice([1.0, 0.1, 0.01]) * (other - update)
            assert (least <= np.add.reduceat(norms / other, starts) * (1 + 1e-12)).all()
        # Cauchy and Schwarz: the minimum itself
        np.testing.assert_allclose(least, np.add.reduceat(np.sqrt(norms), starts) ** 2, rtol=1e-7)


def test_prediction_is_that_of_the_effective_kernel() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    bank = uci_bank(X)
    oracle = MixedNormOracle(bank, y, 100.0, groups=[range(13), range(13, 26), range(26, 39)])
    cut = minimize(oracle, LevelSet(), rtol=1e-4).cut
    K = bank.combine(cut.extras["kernel_weights"])
    np.testing.assert_allclose(
        oracle.decision_function(cut, X), K @ (y * cut.extras["alpha"]) + cut.extras["bias"], rtol=1e-7, atol=1e-9
    )
    assert (oracle.predict(cut, X) == y).mean() > 0.9


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([[0, 1], [2]], r"must partition the kernels 0 to 7, got missing: \[3, 4, 5, 6, 7\]"),
        ([range(8), [2]], r"more than once: \[2\]"),
        ([range(9)], r"not kernels: \[8\]"),
        ([range(8), []], "groups of at least one kernel"),
        ([], "groups of at least one kernel"),
        ([[0.5, 1], range(2, 8)], "indices"),
    ],
)
def test_groups_must_partition_the_kernels(groups, words) -> None:
    _, y, bank = problem()
    with pytest.raises(InvalidArgument, match=words):
        MixedNormOracle(bank, y, 5.0, groups=groups)


def test_other_bad_arguments() -> None:
    _, y, bank = problem()
    with pytest.raises(InvalidArgument, match="`max_solves` must be a whole number of at least 1, got 0"):
        MixedNormOracle(bank, y, 5.0, groups=GROUPS, max_solves=0)
    with pytest.raises(InvalidArgument, match=r"`query.point` must be in ProductOfSimplices"):
        MixedNormOracle(bank, y, 5.0, groups=GROUPS).query(Query(np.full(8, 0.5)))
    with pytest.raises(InvalidArgument, match="`scale` must be positive"):
        minimize(MixedNormOracle(bank, y, 5.0, groups=GROUPS), MirrorDescent(scale=0.0))
    with pytest.raises(CapabilityMismatch, match="it needs a domain made of simplices"):
        minimize(GMKLOracle(bank, y, ElasticNet(), C=5.0), MirrorDescent())


def test_a_group_that_tells_nothing_costs_rounding_alone() -> None:
    """Its forms vanish at the optimum, and so does its weight: the error must not be divided by a square of that."""
    points = np.array([[a, b] for a in (1.0, 2, 3, 4) for b in (1.0, 2, 3, 4)])
    y = np.where(points[:, 0] % 2 == 1, 1.0, -1.0)  # the second column tells nothing
    squares = [(points[:, f, None] - points[:, f]) ** 2 for f in (0, 1)]
    bank = GramBank([np.exp(-width * D) for D in squares for width in (0.3, 3.0)])
    for C in (1.0, 100.0):
        oracle = MixedNormOracle(bank, y, C, groups=[[0, 1], [2, 3]])
        result = minimize(oracle, LevelSet(), rtol=1e-4)
        assert result.status is Status.CONVERGED
        assert result.cut.extras["group_weights"][1] < 1e-3
        truth = by_clarabel(bank, y, C, [[0, 1], [2, 3]])
        assert result.lower_bound <= truth * (1 + 1e-6)
        assert truth * (1 - 1e-6) <= result.upper_bound


@pytest.mark.campaign(5)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_groups", "C"), [(2, 10.0), (2, 1000.0), (6, 10.0), (6, 1000.0)])
def test_groups_that_tell_nothing_do_not_hold_the_gap_up(n_groups, C, seed) -> None:
    """The first column has two values and tells nothing: its forms are far below the rounding of their sums."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, n_groups))
    X[:, 0] = rng.integers(0, 2, 60)
    squares = [(X[:, None, j] - X[None, :, j]) ** 2 for j in range(n_groups)]
    bank = GramBank([np.exp(-D / (2 * s * s)) for D in squares for s in (1.0, 10.0)])
    target = X[:, -1] + 0.3 * X[:, n_groups // 2] ** 2 + 0.1 * rng.normal(size=60)
    groups = [[2 * j, 2 * j + 1] for j in range(n_groups)]
    loss = [EpsilonInsensitive(C=C, epsilon=0.1), Huber(C=C), Pinball(0.7, C=C)][seed % 3]
    oracle = MixedNormOracle(bank, target, loss, groups=groups)
    result = minimize(oracle, rtol=1e-6, max_calls=300)
    assert result.status is Status.CONVERGED, f"{result.message} {result.relative_gap}"
    assert result.cut.extras["group_weights"][0] < 1e-3
    for exact in (False, True):
        assert result.certificate().verify(oracle, exact).proven


@pytest.mark.campaign(inf)
def test_eleven_groups_of_real_data_close_a_millionth() -> None:
    data = pytest.importorskip("sklearn.datasets").load_diabetes()
    X, y = data.data[:300] / data.data.std(axis=0), data.target[:300]
    y = (y - y.mean()) / y.std()
    kernels = []
    for columns in [[j] for j in range(10)] + [list(range(10))]:
        D = ((X[:, None, columns] - X[None, :, columns]) ** 2).sum(axis=2)
        kernels += [np.exp(-D / (2 * s * s * len(columns))) / len(X) for s in (0.3, 1.0, 3.0, 10.0)]
    groups = [range(4 * j, 4 * j + 4) for j in range(11)]
    oracle = MixedNormOracle(GramBank(kernels, check=False), y, EpsilonInsensitive(C=10.0, epsilon=0.1), groups=groups)
    result = minimize(oracle, LevelSet(), rtol=1e-6, max_calls=150)
    assert result.status is Status.CONVERGED, f"{result.message} {result.relative_gap}"
    assert result.certificate().verify(oracle).proven


def test_forms_by_leading_digits_are_those_of_long_double() -> None:
    rng, long = np.random.default_rng(0), np.longdouble
    if np.finfo(long).eps > 1e-18:
        pytest.skip("long double is no more than double here")
    for n in (3, 40, 150):
        X = rng.normal(size=(n, 2))
        D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        K, b = np.array([np.exp(-1e-9 * D), np.exp(-D)]), 100 * rng.normal(size=n)
        b -= b.mean()
        b[0] = 0.0
        S, exact = forms_by_parts(GramBank(K, check=False), b), b.astype(long) @ (K.astype(long) @ b.astype(long)).T
        spread = np.abs(b) @ np.abs(K) @ np.abs(b)
        assert (np.abs(S.x - exact) <= S.r + 1e-19 * n * spread).all()
        assert (S.r <= 1e-13 * n * np.maximum(np.abs(exact.astype(float)), 1e-6 * spread)).all()


def test_products_by_leading_digits_are_those_of_long_double() -> None:
    """Also where they all but cancel, as of a kernel that tells nothing; and what is left of a solution's gap holds."""
    rng, long = np.random.default_rng(1), np.longdouble
    if np.finfo(long).eps > 1e-18:
        pytest.skip("long double is no more than double here")
    for n in (4, 30, 90):
        X = rng.normal(size=(n, 2))
        D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        K, b = np.array([np.exp(-1e-9 * D), np.exp(-D)]), np.where(rng.random(n) < 0.7, rng.normal(size=n), 0.0)
        b[0] -= b.sum()
        found = products_by_parts(GramBank(K, check=False), np.arange(n), b)
        exact = (K.astype(long) @ b.astype(long)).T
        spread = 1e-19 * n * (np.abs(K) @ np.abs(b)).T  # what long double may lose itself
        assert (np.abs(found.x - exact) <= found.r + spread).all()
        assert (found.r <= 1e-12 * np.maximum(np.abs(found.x), 1e-6 * np.abs(b).sum())).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_sharper_solution_still_bounds_the_optimum(seed) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    squares = [(X[:, None, j] - X[None, :, j]) ** 2 for j in (0, 1)]
    bank, target = GramBank([np.exp(-1e-8 * squares[0]), np.exp(-squares[1])]), X[:, 1] + 0.1 * rng.normal(size=30)
    dual, d = EpsilonInsensitive(C=10.0, epsilon=0.1).dual(target, 30), np.array([1e6, 1.0])
    K = bank.combine(d)
    svm = dual.solve(K, accuracy=1e-3 if seed % 2 else 1e-10, noise=bank.noise(2))
    best = dual.solve(bank.combine(d), accuracy=1e-13, noise=bank.noise(2))
    S = bank.quadratic_forms(svm.signed_dual)
    coarse = Floats(S, bank.form_error(svm.signed_dual, svm.signed_dual)[0] * bank.sizes[0])
    sharp = sharper_solution(bank, dual, d, svm, coarse)
    assert best.dual_objective <= sharp.primal_objective <= svm.primal_objective
    assert sharp.gap <= svm.gap
    # the hyperplane of its bias costs no more than is said
    shown = hyperplane_above(bank, dual, sharp.signed_dual, sharp.bias, d, True)
    assert shown.above() <= sharp.primal_objective * (1 + 1e-12)


def test_a_group_comes_back_from_a_very_small_weight() -> None:
    _, y, bank = problem()
    oracle, point = MixedNormOracle(bank, y, 5.0, groups=GROUPS), points(GROUPS, 1)[1]
    truth = oracle.query(Query(point, 1e-8))
    oracle.resume(replace(truth, extras={**truth.extras, "group_weights": np.array([1.0, 1e-9, 1e-9])}))
    back = oracle.query(Query(point, 1e-8))
    assert back.value == pytest.approx(truth.value, rel=1e-6)
    assert back.error <= 1e-6 * truth.value


@pytest.mark.parametrize("seed", range(5))
def test_a_weight_held_at_the_least_one_does_not_disturb_the_extrapolation(seed) -> None:
    """The rounds are a linear map of the logarithms; that of the first weight leads far below what is allowed."""
    rng, n = np.random.default_rng(seed), 7
    fixed, M = rng.normal(size=n) - 3.0, 0.2 * rng.normal(size=(n, n))
    for end, log in ((0, -40.0), (-1, 0.0)):  # the least weight, and the largest
        fixed[end], M[end], M[:, end] = log, 0.0, 0.0
    c, tried, found = np.full(n, 1 / n), [], []
    for count in range(40):
        least = 1e-9 * 2 ** (count // 4)  # it rises where a machine rounds too much
        tried.append(np.log(c))
        found.append(fixed + M @ (tried[-1] - tried[-1][-1] - fixed))
        found[-1] -= np.log(np.exp(found[-1]).sum())
        c = extrapolated(tried[-6:], found[-6:], least)
    logs = np.log(c) - np.log(c[-1])
    np.testing.assert_allclose(logs[1:], fixed[1:], atol=1e-8)
    assert logs[0] == pytest.approx(np.log(least))
