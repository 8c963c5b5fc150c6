"""Machines that share the weights of their kernels: against Clarabel, the rules of oracles, and one machine alone."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Curvature, InvalidArgument, Query, Simplex, minimize
from oracle_opt.generators import SPG, Kelley, LevelSet, NewtonBundle
from oracle_opt.oracles import GramBank, Groups, KernelMachine, KernelWeightsOracle, SharedWeightsOracle
from oracle_opt.oracles.mkl import ElasticNet, EntropyRegularizer, GMKLOracle, LpRegularizer, MKLOracle, Regularizer
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge
from oracle_opt.testing import check_oracle

RNG = np.random.default_rng(11)
N, P, M = 18, 4, 3
KERNELS = [A @ A.T / 5 + 0.05 * np.eye(N) for A in RNG.normal(size=(P, N, 5))]
ROOTS = [np.linalg.cholesky(K).T for K in KERNELS]
BANK = GramBank(KERNELS)
KINDS = np.arange(N) % M
LABELS = [np.where(c == KINDS, 1.0, -1.0) for c in range(M)]
REGULARIZERS = [None, LpRegularizer(1.5), LpRegularizer(2.0, 3.0), ElasticNet(0.5, 2.0), EntropyRegularizer(2.0)]


def machines(loss):
    return [MKLOracle(BANK, y, loss) for y in LABELS]


def by_clarabel(loss: Hinge | SquaredHinge, r: Regularizer | None) -> float:
    """Largest dual objective of all machines together, from its definition."""
    b = [cp.Variable(N) for _ in LABELS]
    signed = [cp.multiply(y, one) for y, one in zip(LABELS, b, strict=True)]
    limits = [cp.sum(one) == 0 for one in b] + [one >= 0 for one in signed]
    value = sum(cp.sum(one) for one in signed)
    if isinstance(loss, Hinge):
        limits += [one <= loss.C for one in signed]
    else:
        value -= sum(cp.sum_squares(one) for one in b) / (4 * loss.C)
    S = [sum(cp.sum_squares(root @ one) for one in b) for root in ROOTS]
    if r is None:
        value -= 0.5 * cp.max(cp.hstack(S))
    elif isinstance(r, LpRegularizer):
        above = cp.Variable(P, nonneg=True)
        limits += [one <= above[k] for k, one in enumerate(S)]
        value -= cp.square(cp.pnorm(above, r.p / (r.p - 1.0))) / (8 * r.weight)
    elif isinstance(r, ElasticNet):
        value -= sum(cp.square(cp.pos(0.5 * one - r.linear)) for one in S) / (2 * r.quadratic)
    else:
        value -= r.weight * sum(cp.exp(0.5 * one / r.weight) - 1 for one in S)
    problem = cp.Problem(cp.Maximize(value), limits)
    problem.solve(solver="CLARABEL")
    return float(problem.value)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("r", REGULARIZERS, ids=str)
@pytest.mark.parametrize("loss", [Hinge(0.5), SquaredHinge(0.5)], ids=str)
def test_bounds_enclose_the_optimum_of_an_independent_solver(loss, r) -> None:
    oracle, truth = SharedWeightsOracle(machines(loss), r), by_clarabel(loss, r)
    check_oracle(oracle)
    for generator in [None, LevelSet(), NewtonBundle()] if r is None else [None, SPG()]:
        result = minimize(oracle, generator, rtol=1e-6)
        assert result.success
        assert (result.history.lower_bound <= truth + 1e-7 * abs(truth)).all()
        assert result.lower_bound <= truth + 1e-7 * abs(truth) <= result.upper_bound + 3e-7 * abs(truth)


def test_one_machine_is_the_oracle_of_that_machine() -> None:
    points = [RNG.dirichlet(np.ones(P)) for _ in range(4)]
    of_simplex = MKLOracle(BANK, LABELS[0], C=2.0), SharedWeightsOracle([MKLOracle(BANK, LABELS[0], C=2.0)])
    r = LpRegularizer(1.5)
    of_orthant = GMKLOracle(BANK, LABELS[0], r, C=2.0), SharedWeightsOracle([MKLOracle(BANK, LABELS[0], C=2.0)], r)
    for alone, shared in (of_simplex, of_orthant):
        for w in points:
            one, two = alone.query(Query(w)), shared.query(Query(w))
            assert two.value == pytest.approx(one.value, rel=1e-9)
            assert two.lower_bound == pytest.approx(one.lower_bound, rel=1e-9)
            assert np.allclose(two.subgradient, one.subgradient, rtol=1e-7)
            assert np.allclose(shared.decision_function(two, KERNELS)[:, 0], alone.decision_function(one, KERNELS))


def test_a_sum_is_the_sum_of_its_machines_whatever_points_they_see() -> None:
    pairs = [np.flatnonzero(c != KINDS) for c in range(M)]
    labels = [np.where(KINDS[points] == (c + 1) % M, 1.0, -1.0) for c, points in enumerate(pairs)]
    parts = [BANK.on(points) for points in pairs]
    copies = [GramBank([K[np.ix_(points, points)] for K in KERNELS]) for points in pairs]
    w = RNG.dirichlet(np.ones(P))
    shared = SharedWeightsOracle([MKLOracle(bank, y, C=0.7) for bank, y in zip(parts, labels, strict=True)])
    cut = shared.query(Query(w, wishes=frozenset({Curvature})))
    alone = [MKLOracle(bank, y, C=0.7).query(Query(w)) for bank, y in zip(copies, labels, strict=True)]
    assert cut.value == pytest.approx(sum(one.value for one in alone), rel=1e-9)
    assert np.allclose(cut.subgradient, sum(one.subgradient for one in alone), rtol=1e-7)
    for m, one in enumerate(alone):
        of = shared.cut_of(cut, m)
        assert of.value == pytest.approx(one.value, rel=1e-9)
        assert np.allclose(of.extras["signed_dual"], one.extras["signed_dual"], atol=1e-6)
        assert of.extras["bias"] == pytest.approx(one.extras["bias"], abs=1e-6)


def test_models_and_the_table_of_weights_are_those_of_the_run() -> None:
    oracle = SharedWeightsOracle(machines(Hinge(0.5)))
    result = minimize(oracle)
    values = oracle.decision_function(result.cut, KERNELS)
    for m, model in enumerate(oracle.models(result)):
        assert np.allclose(model.decision_function(KERNELS), values[:, m], atol=1e-12)
    assert oracle.weights(result)["weight"].tolist() == result.point.tolist()
    assert oracle.weights(result, largest_first=True)["name"][0] == f"kernel {result.point.argmax()}"


def test_machines_over_groups_of_kernels_decide_by_their_own_losses() -> None:
    """With the weights of the kernels that the machines had, and not those of the point, which the groups divide."""
    of = [KernelMachine(BANK, LABELS[0], C=1.0), KernelMachine(BANK, np.arange(N) / N, EpsilonInsensitive(1.0, 0.01))]
    oracle = KernelWeightsOracle(of, Groups(P, [range(P - 1), [P - 1]]))
    cut = minimize(oracle, rtol=1e-4).cut
    values, predicted = oracle.decision_function(cut, KERNELS), oracle.predict(cut, KERNELS)
    for m, model in enumerate(oracle.models(cut)):
        assert np.allclose(model.decision_function(KERNELS), values[:, m], atol=1e-12)
        assert np.array_equal(of[m].loss.predict(values[:, m]), predicted[:, m])
    assert oracle.weights(cut)["weight"].to_numpy() == pytest.approx(cut.extras["kernel_weights"])
    with pytest.raises(InvalidArgument, match="2 machines: ask for its `models`"):
        oracle.model(cut)


def test_the_curvature_is_that_of_the_sum() -> None:
    oracle, w = SharedWeightsOracle(machines(Hinge(5.0))), np.full(P, 1.0 / P)
    cut = oracle.query(Query(w, 1e-12, frozenset({Curvature})))
    factor, away = cut.answer(Curvature).factor, 1e-5 * np.array([1.0, -1.0, 0.5, -0.5])
    ends = [oracle.query(Query(w + sign * away, 1e-12)).subgradient for sign in (1, -1)]
    assert np.allclose(factor.T @ (factor @ away), 0.5 * (ends[0] - ends[1]), rtol=1e-4, atol=1e-10)


def test_machines_of_one_bank_share_their_combined_kernel() -> None:
    oracle = SharedWeightsOracle([MKLOracle(BANK, LABELS[0]), MKLOracle(BANK, LABELS[1], SquaredHinge(1.0))])
    calls = []
    combine = BANK.combine
    BANK.combine = lambda weights, out=None: (calls.append(1), combine(weights, out))[1]
    try:
        oracle.query(Query(np.full(P, 1.0 / P)))
    finally:
        del BANK.combine
    assert len(calls) == 1


def test_dual_variables_of_an_earlier_run_are_where_the_next_one_starts() -> None:
    oracle = SharedWeightsOracle(machines(Hinge(0.5)))
    w = np.full(P, 1.0 / P)
    cold = oracle.query(Query(w, 1e-10))
    oracle.start_from(cold.extras["signed_dual"])
    warm = oracle.query(Query(w, 1e-10))
    assert warm.extras["n_steps"] < cold.extras["n_steps"]
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    oracle.start_from(None)
    assert oracle.query(Query(w, 1e-10)).extras["n_steps"] == cold.extras["n_steps"]


def test_journals_of_shared_weights_go_on(tmp_path) -> None:
    oracle = SharedWeightsOracle(machines(Hinge(0.5)))
    whole = minimize(oracle, Kelley(), rtol=1e-6)
    minimize(oracle, Kelley(), rtol=1e-6, journal=tmp_path / "run", max_calls=3)
    resumed = minimize(oracle, Kelley(), rtol=1e-6, journal=tmp_path / "run")
    assert resumed.n_calls == whole.n_calls
    assert np.allclose(resumed.history.value, whole.history.value, rtol=1e-7)


def test_what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one MKLOracle"):
        SharedWeightsOracle([])
    with pytest.raises(InvalidArgument, match="same number of kernels"):
        SharedWeightsOracle([MKLOracle(BANK, LABELS[0]), MKLOracle(BANK.subset([0, 1]), LABELS[1])])
    with pytest.raises(InvalidArgument, match="grow faster than linearly"):
        SharedWeightsOracle([MKLOracle(BANK, loss=OneClass(0.5))], LpRegularizer(2.0, power=1.0))
    regression = SharedWeightsOracle([MKLOracle(BANK, KINDS * 1.0, EpsilonInsensitive(1.0)), machines(1.0)[0]])
    assert isinstance(regression.domain, Simplex)
    with pytest.raises(InvalidArgument, match=r"query\.point"):
        regression.query(Query(np.ones(P)))
