"""Linear estimators of a quantile and of a ranking: the optima of other solvers, proven, by scikit-learn's rules."""

import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import QuantileRegressor as Peer
from sklearn.metrics import mean_pinball_loss, roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracle_opt import InvalidArgument, InvalidCertificate, Refuted
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.generators import ProximalBundle
from oracle_opt.learn import AUCRanker, QuantileRegressor


@pytest.mark.campaign(7)
@parametrize_with_checks([QuantileRegressor(), QuantileRegressor(penalty="l1", quantile=0.7), AUCRanker()])
def test_the_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


def drawn(seed, m=60):
    """Points, targets, weights, a quantile and a penalty, of several sizes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, rng.integers(1, 8))) * 10 ** rng.uniform(-1, 1)
    y = X @ rng.normal(size=X.shape[1]) + rng.standard_t(2, size=m) * 10 ** rng.uniform(-1, 1) + rng.normal() * 10
    return X, y, rng.integers(0, 3, m).astype(float), rng.uniform(0.05, 0.95), 10 ** rng.uniform(-3, 0)


def agrees(model, objective, solution) -> None:
    """The bounds of the fit hold between them what Clarabel finds, and our point has the value that is claimed."""
    best = solution.solve(solver=cp.CLARABEL)
    upper, slack = model.result_.upper_bound, 1e-6 * abs(best)
    assert model.result_.lower_bound - slack <= best <= upper + slack
    assert objective == pytest.approx(upper, rel=1e-9)
    assert max(model.gap_, (upper - best - slack) / abs(upper)) <= 1e-4


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(10))
def test_quantiles_are_those_of_clarabel(seed, penalty) -> None:
    (X, y, s, q, alpha), free = drawn(seed), seed % 3 > 0
    model = QuantileRegressor(quantile=q, alpha=alpha, penalty=penalty, fit_intercept=free).fit(X, y, s)
    w, b = cp.Variable(X.shape[1]), cp.Variable() if free else 0.0
    size = cp.norm1 if penalty == "l1" else lambda w: cp.sum_squares(w) / 2
    r, loss = y - X @ w - b, mean_pinball_loss(y, model.predict(X), alpha=q, sample_weight=s)
    mean = s / s.sum() @ cp.maximum(q * r, (q - 1) * r)
    agrees(model, loss + alpha * size(model.coef_).value, cp.Problem(cp.Minimize(mean + alpha * size(w))))
    if penalty == "l1":  # the lower bound is below the peer's value, and our value is not far above
        peer = Peer(quantile=q, alpha=alpha, fit_intercept=free, solver="highs").fit(X, y, s)
        at = alpha * np.abs(peer.coef_).sum() + mean_pinball_loss(y, peer.predict(X), alpha=q, sample_weight=s)
        assert (1 - 1e-9) * model.result_.lower_bound <= at >= (1 - 1e-4) * model.result_.upper_bound


@pytest.mark.parametrize("seed", range(6))
def test_rankings_are_those_of_clarabel_on_all_pairs(seed) -> None:
    X, y, s, q, alpha = drawn(seed, 40)
    up = y > np.quantile(y, q)
    model = AUCRanker(alpha=alpha).fit(X, np.where(up, "yes", "no"), s)
    w = cp.Variable(X.shape[1])
    pairs = (X[~up][:, None] - X[up][None]).reshape(-1, X.shape[1])
    weights = np.outer(s[~up], s[up]).ravel() / (s[~up].sum() * s[up].sum())
    loss = weights @ np.maximum(1 + pairs @ model.coef_[0], 0) + alpha / 2 * (model.coef_**2).sum()
    agrees(model, loss, cp.Problem(cp.Minimize(weights @ cp.pos(1 + pairs @ w) + alpha / 2 * cp.sum_squares(w))))
    assert model.score(X, np.where(up, "yes", "no"), s) == roc_auc_score(up, X @ model.coef_[0], sample_weight=s)
    right, scores = s @ ((model.predict(X) == "yes") == up), X @ model.coef_[0]
    assert right == max(s @ ((scores > cut) == up) for cut in [-np.inf, *scores])


MODELS = [QuantileRegressor(), QuantileRegressor(penalty="l1", generator=ProximalBundle()), AUCRanker(alpha=0.1)]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_certificate_is_proven_from_the_data_and_refused_where_it_was_tampered_with(model) -> None:
    X, y, s, _, _ = drawn(1)
    model = pickle.loads(pickle.dumps(model.fit(X, y if isinstance(model, QuantileRegressor) else y > 0, s)))
    made, lower = model.certificate(), model.result_.lower_bound
    verdicts = [made.verify(model.oracle_, exact=exact) for exact in (False, True)]
    assert [(one.proven, one.lower == pytest.approx(lower, rel=1e-9)) for one in verdicts] == [(True, True)] * 2
    raised = [replace(cut, constant=cut.constant + 1e-2 * lower) for cut in made.cuts]
    facts = {**made.facts, "problem": made.problem}
    raised = Certificate.of(model.oracle_.domain, raised, made.multipliers, made.value, lower, made.upper, facts)
    with pytest.raises(Refuted, match="line"):
        raised.verify(model.oracle_)
    with pytest.raises(InvalidCertificate):
        made.verify(clone(model).fit(X + 1e-3, y if isinstance(model, QuantileRegressor) else y > 0, s).oracle_)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_weights_are_repeated_rows_and_sparse_points_are_points(model) -> None:
    X, y, s, _, _ = drawn(2)
    X, y = X * (np.abs(X) > 0.5), y if isinstance(model, QuantileRegressor) else y > 10
    found, times = model.fit(X, y, s).predict(X), s.astype(int)
    assert (model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict(X) == found).all()
    assert model.fit(sparse.csr_array(X), y, s).predict(sparse.csr_array(X)) == pytest.approx(found, rel=1e-2, abs=1e-2)


def test_a_gap_that_is_not_closed_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match="the proven relative gap is .* Raise max_calls or rtol"):
        model = QuantileRegressor(max_calls=2).fit(*drawn(3)[:2])
    assert (model.gap_ > 1e-4, model.n_calls_, model.n_iter_) == (True, 2, 2)


@pytest.mark.parametrize(
    "model",
    [QuantileRegressor(quantile=1.0), QuantileRegressor(penalty="L2"), AUCRanker(alpha=0), AUCRanker()],
    ids=str,
)
def test_refusals_name_what_is_wrong(model) -> None:
    words = "`quantile` must lie strictly", "`penalty` must be", "`alpha` must be positive", "Only binary .* got"
    with pytest.raises(InvalidArgument, match="|".join(words)):
        model.fit(np.eye(4), [0, 1, 2, 2])
