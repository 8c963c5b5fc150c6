"""Summands whose slopes cancel to rounding are honest; what is more than rounding is refused."""

from dataclasses import replace

import numpy as np
import pytest

from oracle_opt import Box, FunctionOracle, InvalidCut, ObjectiveCut, Query, minimize
from oracle_opt.checks import check_cut
from oracle_opt.generators import Kelley
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem


def newsvendor(rng):
    """A program of one variable, with numbers and probabilities of which sums are rounded; slopes cancel often."""
    m, count = int(rng.integers(1, 3)), int(rng.integers(2, 7))
    size = 10.0 ** rng.integers(-3, 4)
    less, more = size * rng.integers(1, 10, m) / 10, size * rng.integers(1, 10, m) / 10
    T = rng.integers(1, 10, (m, 1)) / 10
    p = rng.integers(1, 10, count).astype(float)
    p /= p.sum()
    # the cost of x is such that over some scenarios the slope is 0
    taken = rng.integers(0, count + 1)
    c = float(p[:taken].sum() * (less @ T)[0] - p[taken:].sum() * (more @ T)[0])
    W, q = np.c_[np.eye(m), -np.eye(m)], np.r_[less, more]
    block = RandomBlock(p, rows=np.arange(m), rhs=rng.integers(0, 60, (count, m)) / 10)
    upper = 10.0 ** rng.integers(0, 7)
    problem = TwoStageProblem([c], q, T, W, np.zeros(m), np.zeros(m), [block], x_upper=upper)
    return BendersOracle(problem, n_summands=int(rng.integers(2, count + 1)))


@pytest.mark.campaign(5)
@pytest.mark.parametrize("part", range(10))
def test_honest_sums_of_one_variable_are_taken_and_others_refused(part):
    """A hundred programs: all cuts along a line, and the same with one number changed by more than rounding."""
    flat = 0
    for trial in range(100):
        rng = np.random.default_rng([part, trial])
        oracle = newsvendor(rng)
        upper = float(oracle.domain.bounding_box()[1][0])
        for x in np.r_[0.0, rng.uniform(0.0, min(upper, 20.0), 2)]:
            point = np.array([x])
            cut = oracle.query(Query(point))
            check_cut(cut, point, oracle)
            terms = sum(abs(float(one.subgradient[0])) for one in cut.summands)
            flat += abs(float(cut.subgradient[0])) <= 1e-14 * max(terms, abs(oracle.problem.c[0]))
            j = int(rng.integers(len(cut.summands)))
            one = cut.summands[j]
            size = max(abs(cut.value), 1e-3) / upper + terms
            for wrong in (
                replace(one, subgradient=one.subgradient + 1e-4 * size * rng.choice([-1.0, 1.0])),
                replace(
                    one,
                    value=one.value
                    + 1e-4 * (abs(cut.value) + sum(abs(s.value) for s in cut.summands) + cut.error + 1e-9),
                ),
            ):
                parts = (*cut.summands[:j], wrong, *cut.summands[j + 1 :])
                with pytest.raises(InvalidCut, match="`summands` must add up to the cut"):
                    check_cut(replace(cut, summands=parts), point, oracle)
    assert flat > 20


@pytest.mark.parametrize("seed", range(5))
def test_slopes_that_are_differences_of_large_numbers(seed):
    """Two halves with slopes a and -a, of ten thousand terms each: the sum is rounding of what was added."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.integers(-6, 7)
    terms = size * rng.normal(size=(2, 10_000))
    terms -= terms.mean(axis=1)[:, None]

    def halves(z):
        each = [ObjectiveCut(z, float(size + (row * z[0]).sum()), np.array([row.sum()])) for row in terms]
        return ObjectiveCut(
            z, 2 * size + float((terms * z[0]).sum()), np.array([terms[:, ::-1].ravel().sum()]), summands=tuple(each)
        )

    oracle = FunctionOracle(halves, Box([-1.0], [1.0]))
    for x in (-1.0, 0.0, 0.3):
        check_cut(halves(np.array([x])), np.array([x]), oracle)
    cut = halves(np.array([0.3]))
    steeper = replace(cut.summands[0], subgradient=np.array([1e-6 * size]))
    with pytest.raises(InvalidCut, match="`summands` must add up to the cut"):
        check_cut(replace(cut, summands=(steeper, cut.summands[1])), np.array([0.3]), oracle)


def test_a_run_over_slopes_that_cancel_ends():
    rng = np.random.default_rng(3)
    for _ in range(30):
        assert minimize(newsvendor(rng), Kelley(), rtol=1e-6, max_calls=60).success
