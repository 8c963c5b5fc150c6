"""One claim in place of an average: the mean of dual variables proves at least what the mean of the cuts does."""

import numpy as np
import pytest

from oracle_opt import Oracle, Query, minimize
from oracle_opt.bounds import MERGED
from oracle_opt.datasets import load
from oracle_opt.generators import NewtonBundle, Subgradient
from oracle_opt.oracles import GMKLOracle, GramBank, MixedNormOracle, MKLOracle, SharedWeightsOracle, uci_bank
from oracle_opt.oracles.mkl.regularizers import LpRegularizer
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from oracle_opt.proof.claim import ClaimKind, claim_of_cut

LOSSES = (Hinge, SquaredHinge, Logistic, lambda C: EpsilonInsensitive(C, 0.1))


def kernels(rng):
    X = rng.normal(size=(20, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return GramBank([np.exp(-squared / width) for width in (0.1, 1.0, 10.0)] + [X @ X.T])


def labels(rng):
    return np.resize([1.0, -1.0], 20)[rng.permutation(20)]


def oracle_of(seed):
    rng = np.random.default_rng(seed)
    bank, C = kernels(rng), 10.0 ** rng.uniform(-1, 3)
    if seed % 5 == 4:
        return SharedWeightsOracle([MKLOracle(bank, labels(rng), C), MKLOracle(kernels(rng), labels(rng), 2 * C)])
    return MKLOracle(bank, labels(rng), LOSSES[seed % 5](C))


@pytest.mark.parametrize("seed", range(30))
def test_the_mean_of_the_witnesses_proves_what_the_mean_of_the_cuts_does_and_more(seed) -> None:
    oracle, rng = oracle_of(seed), np.random.default_rng(seed)
    n = oracle.domain.dimension
    claims = [claim_of_cut(oracle.query(Query(rng.dirichlet(np.ones(n)))), 0.0) for _ in range(12)]
    weights = rng.exponential(size=12)
    merged = oracle.merged(claims, weights)
    assert oracle.prove_cut(merged, exact=True) == 0
    assert not merged.slope.any()
    shares = weights / weights.sum()
    average = shares @ [one.constant for one in claims]
    average += oracle.domain.minimize_linear(shares @ [one.slope for one in claims])[0]
    least = minimize(oracle, NewtonBundle(), rtol=1e-8)
    size = abs(least.upper_bound)
    assert average - 1e-9 * size <= merged.constant <= least.upper_bound + 1e-9 * size


def test_a_run_that_averages_ends_with_one_claim_that_proves_more(monkeypatch) -> None:
    data = load("wdbc")
    oracle = MKLOracle(uci_bank(data.dense()[:200]), data.y[:200], C=100.0)
    claimed = minimize(oracle, Subgradient(scale=3.0), rtol=1e-12, max_calls=MERGED)
    monkeypatch.setattr(MKLOracle, "merged", Oracle.merged)
    averaged = minimize(oracle, Subgradient(scale=3.0), rtol=1e-12, max_calls=MERGED)
    assert claimed.n_calls == averaged.n_calls == MERGED
    assert claimed.lower_bound > averaged.lower_bound
    certificate = claimed.certificate()
    assert certificate.verify(oracle).proven
    assert [cut.kind for cut in certificate.cuts] == [ClaimKind.BOUND]


def test_what_is_not_concave_or_has_no_witness_is_averaged_as_before() -> None:
    rng = np.random.default_rng(0)
    bank, y = kernels(rng), labels(rng)
    for oracle in (
        MixedNormOracle(bank, y, 1.0, groups=[[0, 1], [2, 3]]),
        GMKLOracle(bank, y, LpRegularizer(2), C=1.0, radius=10.0),
    ):
        claim = claim_of_cut(oracle.query(Query(oracle.domain.interior_point())), 0.0)
        assert oracle.merged([claim, claim], np.ones(2)) is None
    oracle = MKLOracle(bank, y, 1.0)
    claim = claim_of_cut(oracle.query(Query(oracle.domain.interior_point())), 0.0)
    claim.witness.pop("signed_dual")
    assert oracle.merged([claim], np.ones(1)) is None
