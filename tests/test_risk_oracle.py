"""Empirical risks against their plain formulas, against Clarabel, and their proofs against forged ones."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracle_opt import FreeSpace, FunctionOracle, InvalidArgument, Query, Refuted, minimize
from oracle_opt.generators import LevelSet, Subgradient
from oracle_opt.oracles import RiskOracle
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.testing import check_oracle

KINDS = {
    "hinge": {},
    "logistic": {},
    "auc": {},
    "multiclass": {},
    "quantile": {"level": 0.1},
    "expectile": {"level": 0.8},
    "huber": {"width": 0.7},
}
LABELS = {"hinge": ["no", "yes"], "logistic": [3, 7], "auc": [-1.0, 1.0], "multiclass": ["a", "b", "c"]}
every_kind = pytest.mark.parametrize("kind", KINDS)
weighted = pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])


def drawn(kind, weighted=False, seed=0, m=24, n=3, as_sparse=False, radius=8.0):
    """Data on a grid, so that scores are tied, and their risk."""
    rng = np.random.default_rng(seed)
    X = np.round(2 * rng.normal(size=(m, n))) / 2
    y = np.array(LABELS[kind])[rng.integers(0, len(LABELS[kind]), m)] if kind in LABELS else rng.normal(size=m)
    weights = rng.integers(0, 5, m) * rng.random(m) if weighted else None
    domain = FreeSpace(n * (3 if kind == "multiclass" else 1), radius)
    data = sparse.coo_array(X) if as_sparse else X
    return RiskOracle(kind, data, y, sample_weight=weights, domain=domain, **KINDS[kind]), X, y, weights


def formula(kind, S, y, weights, cvxpy=False):
    """The risk at scores, as written in textbooks: of arrays, or as an expression of cvxpy."""
    positive = (lambda x: cp.pos(x)) if cvxpy else (lambda x: np.maximum(x, 0.0))
    share = np.ones(len(y)) / len(y) if weights is None else weights / weights.sum()
    level, width = KINDS[kind].get("level"), KINDS[kind].get("width")
    signs = np.where(y == max(LABELS[kind]), 1.0, -1.0) if kind in LABELS else None
    if kind == "auc":
        p, n = (np.flatnonzero(signs == sign) for sign in (1.0, -1.0))
        i, j = (one.ravel() for one in np.meshgrid(p, n))
        return share[i] * share[j] / (share[p].sum() * share[n].sum()) @ positive(1.0 - S[i] + S[j])
    if kind == "multiclass":
        own = (y[:, None] == LABELS[kind]).astype(float)
        best = cp.max(S + 1.0 - own, axis=1) if cvxpy else (S + 1.0 - own).max(axis=1)
        return share @ (best - (cp.sum(cp.multiply(own, S), axis=1) if cvxpy else (own * S).sum(axis=1)))
    if kind == "hinge":
        return share @ positive(1.0 - (cp.multiply(signs, S) if cvxpy else signs * S))
    if kind == "logistic":
        return share @ (cp.logistic(cp.multiply(-signs, S)) if cvxpy else np.log1p(np.exp(-signs * S)))
    r = y - S
    if kind == "quantile":
        return share @ (level * positive(r) + (1 - level) * positive(-r))
    if kind == "expectile":
        return share @ (level * positive(r) ** 2 + (1 - level) * positive(-r) ** 2)
    if cvxpy:
        return share @ cp.huber(r, width) / 2
    return share @ np.where(abs(r) <= width, r**2 / 2, width * abs(r) - width**2 / 2)


@every_kind
@weighted
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_values_cuts_and_the_contract(kind, weighted, as_sparse):
    for seed in range(3):
        oracle, X, y, weights = drawn(kind, weighted, seed, as_sparse=as_sparse)
        points = np.random.default_rng(seed).normal(size=(8, oracle.domain.dimension))
        points[0] = 0.0
        values = [formula(kind, X @ w.reshape(3, *oracle.scores(w).shape[1:]), y, weights) for w in points]
        for w, value in zip(points, values, strict=True):
            cut = oracle.query(Query(w))
            assert cut.value == pytest.approx(value, rel=1e-13)
            assert (cut.value + (points - w) @ cut.subgradient <= np.array(values) + 1e-13).all()
            claim = CutClaim(ClaimKind.MINORANT, cut.constant, cut.subgradient, witness=cut.extras)
            assert 0 <= float(oracle.prove_cut(claim, exact=True)) <= oracle.prove_cut(claim) <= 1e-12
            tops = [oracle.prove_value(ValueClaim(w, value), exact) for exact in (True, False)]
            assert isinstance(tops[0], Fraction)
            assert tops[0] <= tops[1] <= tops[0] * (1 + 1e-12) + 1e-15
            assert float(tops[0]) == pytest.approx(value, rel=1e-13)
        check_oracle(oracle, points[:4], other=drawn(kind, weighted, seed + 1)[0], pickles=True)


@every_kind
@weighted
def test_minima_with_a_ridge_against_clarabel(kind, weighted):
    oracle, X, y, weights = drawn(kind, weighted, seed=5, radius=20.0)

    def with_ridge(w):
        cut = oracle.query(Query(w))
        return cut.value + 0.05 * w @ w, cut.subgradient + 0.1 * w

    found = minimize(FunctionOracle(with_ridge, oracle.domain), LevelSet(), rtol=1e-7, max_calls=2000)
    w = cp.Variable((3, 3) if kind == "multiclass" else 3)
    program = cp.Problem(cp.Minimize(formula(kind, X @ w, y, weights, cvxpy=True) + 0.05 * cp.sum_squares(w)))
    program.solve(solver=cp.CLARABEL)
    assert found.upper_bound == pytest.approx(program.value, rel=1e-6)


@every_kind
@weighted
def test_certificates_hold_and_are_proven_from_the_data(kind, weighted):
    oracle = drawn(kind, weighted, seed=2)[0]
    result = minimize(oracle, LevelSet(), rtol=1e-6, max_calls=1000)
    for exact in (False, True):
        verdict = result.certificate().verify(drawn(kind, weighted, seed=2)[0], exact)
        assert verdict.value_proven
        assert (verdict.n_given, verdict.n_proven) == (0, verdict.n_cuts)
        assert verdict.lower <= result.upper_bound * (1 + 1e-12)
        assert verdict.upper - verdict.lower <= 2e-6 * result.upper_bound


@every_kind
@weighted
def test_forged_claims_prove_no_more_than_is_true(kind, weighted):
    rng = np.random.default_rng(3)
    oracle = drawn(kind, weighted, seed=3)[0]
    points = rng.normal(size=(30, oracle.domain.dimension))
    cuts = [oracle.query(Query(w)) for w in points]
    for cut, other in pairwise(cuts):
        u = np.asarray(cut.extras["row_weights"])
        for weights in (rng.permutation(u), u + 1, 2 * u, -u, other.extras["row_weights"], u[1:], u * np.nan, "u"):
            claim = CutClaim(ClaimKind.MINORANT, cut.constant + 0.1, cut.subgradient, witness={"row_weights": weights})
            for exact in (False, True):
                try:
                    excess = oracle.prove_cut(claim, exact)
                except Refuted:
                    continue
                proven = claim.constant - float(excess)
                assert all(proven + cut.subgradient @ one.point <= one.value + 1e-9 for one in cuts)
                assert excess >= 0.0999
    claim = replace(claim, witness={})
    assert oracle.prove_cut(claim) is None
    assert oracle.missing_witness(claim) == ("row_weights",)
    with pytest.raises(Refuted, match="neither half-spaces"):
        oracle.prove_cut(replace(claim, kind=ClaimKind.HALF_SPACE))
    bound = CutClaim(ClaimKind.BOUND, 0.25, np.zeros(oracle.domain.dimension))
    assert oracle.prove_cut(bound) == 0.25
    assert oracle.prove_cut(replace(bound, constant=-1.0)) == 0.0


@pytest.mark.parametrize("kind", ["hinge", "auc", "multiclass"])
def test_a_minimum_of_zero_is_certified_without_any_promise(kind):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.sign(X @ [1.0, 2.0, 3.0])
    oracle = RiskOracle(kind, X + y[:, None], y)
    result = minimize(oracle, Subgradient(), atol=1e-9, max_calls=300)
    for exact in (False, True):
        verdict = result.certificate().verify(oracle, exact)
        assert verdict.proven
        assert 0 <= verdict.gap <= 1e-9


@weighted
@pytest.mark.parametrize("scale", [1e-310, 1e-12, 1.0, 3e7, 1e150])
def test_the_value_over_pairs_in_floats_is_never_less_than_in_fractions(weighted, scale):
    rng = np.random.default_rng(7)
    for m, digits in ((2, 0), (30, 0), (30, 1), (700, 1), (700, 9)):
        X, y = scale * np.round(rng.normal(size=(m, 3)), digits), rng.permutation(np.arange(m) % 2)
        weights = 10.0 ** rng.uniform(-12, 3, m) if weighted else None
        oracle = RiskOracle("auc", X, y, sample_weight=weights)
        apart = RiskOracle("auc", X / scale + 100.0 * y[:, None], y, sample_weight=weights)
        for risk, w in (
            (oracle, rng.normal(size=3)),
            (oracle, np.zeros(3)),
            (apart, np.ones(3)),
            (oracle, np.eye(3)[0]),
        ):
            exact, upper = (risk.prove_value(ValueClaim(w, 0.0), exact) for exact in (True, False))
            assert exact <= upper <= float(exact) + 1e-13 * risk.size_of_terms(w)
            assert risk is oracle or exact == 0
    with pytest.raises(Refuted, match="is not finite"):
        RiskOracle("auc", [[1e300], [-1e300]], [0, 1]).prove_value(ValueClaim([1e300], 0.0))


def test_what_an_estimator_asks_for():
    X, y = np.eye(3), np.array(["c", "a", "b"])
    oracle = RiskOracle("multiclass", X, y)
    assert oracle.classes.tolist() == ["a", "b", "c"]
    assert (oracle.n_features, oracle.domain.dimension) == (3, 9)
    assert (oracle.scores(np.arange(9.0)) == np.arange(9.0).reshape(3, 3)).all()
    assert oracle.polyhedral
    assert not RiskOracle("logistic", X, [1, 1, 0]).polyhedral
    assert RiskOracle("huber", X.astype(np.float32), [1, 1, 0]).classes is None


@pytest.mark.parametrize(
    ("kind", "changed", "words"),
    [
        ("svm", {}, "`kind` must be one of 'hinge', 'quantile', 'expectile', 'huber', 'logistic', 'auc', 'multiclass'"),
        ("hinge", {"X": [[1.0], [np.nan]]}, "`X` must be finite, got nan"),
        ("hinge", {"X": sparse.csr_array([[np.inf], [1.0]])}, "`X` must be finite, got inf"),
        ("hinge", {"X": [1.0, 2.0]}, r"`X` must be a matrix .* got shape \(2,\)"),
        ("hinge", {"y": [1, 0, 1]}, r"`y` must have shape \(2,\), one label for each row of `X`, got \(3,\)"),
        ("huber", {"y": [1, 0, 1]}, r"`y` must have shape \(2,\), one target for each row of `X`, got \(3,\)"),
        ("auc", {"y": [1, 1]}, "`y` must have two classes for 'auc', got 1"),
        ("hinge", {"X": np.eye(3), "y": [1, 2, 3]}, "`y` must have two classes for 'hinge', got 3"),
        ("multiclass", {"y": [1, 1]}, "`y` must have two classes or more for 'multiclass', got 1"),
        ("logistic", {"y": [1.0, np.nan]}, "`y` must be labels for 'logistic', finite"),
        ("quantile", {"y": ["a", "b"]}, "`y` must be an array of real numbers"),
        ("hinge", {"level": 0.5}, "`level` is for 'quantile' and 'expectile', not for 'hinge', got 0.5"),
        ("quantile", {"width": 2}, "`width` is for 'huber', not for 'quantile', got 2"),
        ("quantile", {"level": 1.0}, "`level` must lie strictly between 0 and 1, got 1.0"),
        ("huber", {"width": 0.0}, "`width` must be positive, got 0.0"),
        (
            "hinge",
            {"sample_weight": [1.0, -1.0]},
            "`sample_weight` must not be negative, nor all 0, got .* of -1",
        ),
        ("hinge", {"sample_weight": [0.0, 0.0]}, "`sample_weight` must not be negative, nor all 0"),
        ("auc", {"sample_weight": [0.0, 1.0]}, "`sample_weight` must be positive somewhere in each class for 'auc'"),
        ("multiclass", {"domain": FreeSpace(2, 1.0)}, "`domain` must have dimension 4, one coordinate for each column"),
    ],
)
def test_wrong_data_are_refused_in_words(kind, changed, words):
    with pytest.raises(InvalidArgument, match=words):
        RiskOracle(kind, **({"X": np.eye(2), "y": [0, 1]} | changed))
