"""Cutting planes that ask the oracle for no more accuracy than the gap needs."""

import numpy as np
import pytest
from tiny_kernels import tiny_mixed_norm, tiny_mixed_norm_optimum

from oracle_opt import Query, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet
from oracle_opt.oracle import Oracle


class Watched(Oracle):
    """Notes the accuracies wished for."""

    def __init__(self, inner: Oracle) -> None:
        self.inner, self.domain, self.wishes = inner, inner.domain, []

    def reset(self) -> None:
        self.inner.reset()

    def query(self, query: Query):
        self.wishes.append(query.accuracy)
        return self.inner.query(query)


def run(generator, rtol):
    oracle = Watched(tiny_mixed_norm())
    return minimize(oracle, generator, rtol=rtol, keep_cuts=True, probes=0), oracle.wishes


@pytest.mark.parametrize("method", [LevelSet, Kelley, AnalyticCenter])
def test_a_tenth_of_the_gap_is_asked_and_a_call_costs_fewer_svms(method) -> None:
    result, wishes = run(method(tune_accuracy=True), 1e-5)
    assert result.success
    by_model = 1.0 - result.history.model_bound / result.history.upper_bound
    gaps = np.r_[np.inf, by_model[:-1]]
    np.testing.assert_allclose(wishes, np.minimum(0.1 * gaps, 0.1), rtol=1e-6)
    assert result.history.error[:3].max() > 1e-6 * result.upper_bound  # the wish is used
    optimum = tiny_mixed_norm_optimum()
    assert (result.history.lower_bound <= optimum * (1 + 1e-7)).all()
    assert (result.history.upper_bound >= optimum * (1 - 1e-7)).all()
    exact, none = run(method(), 1e-5)
    assert exact.success
    assert set(none) == {None}
    solves, of_exact = (np.mean([cut.extras["n_solves"] for cut in r.history.cuts]) for r in (result, exact))
    assert solves < of_exact
