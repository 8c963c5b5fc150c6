"""Averages of averages of cuts: the same claims as one by one, in bounded memory."""

import copy
import gc
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from affine_pieces import largest
from table_problems import PROBLEMS

from oracle_opt import Box, FunctionOracle, ObjectiveCut, minimize
from oracle_opt.generators import Kelley, LevelSet, ProximalBundle
from oracle_opt.generators.masters import CutPool
from oracle_opt.proof import parts as parts_module
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.parts import Combination, numbers_of


def claim(k: int, n: int = 3, **witness: object) -> CutClaim:
    return CutClaim(ClaimKind.MINORANT, float(k), np.full(n, float(k)), witness=witness)


def weights_of(combination: Combination) -> dict[float, float]:
    return {one.constant: weight for weight, one in combination.weighted()}


def test_averages_of_averages_are_those_of_their_claims() -> None:
    """A chain as a method makes it that drops cuts: each average of some claims, old and new, and the one before."""
    rng = np.random.default_rng(0)
    singles = [Combination([(1.0, claim(k))]) for k in range(300)]
    average, truth = singles[0], {0.0: 1.0}
    for k in range(1, 290):
        chosen, shares = rng.integers(max(0, k - 5), k + 10, size=4).tolist(), rng.dirichlet(np.ones(5)).tolist()
        average = Combination.of(
            [(shares[0], average), *((s, singles[c]) for s, c in zip(shares[1:], chosen, strict=True))]
        )
        truth = {one: shares[0] * weight for one, weight in truth.items()}
        for s, c in zip(shares[1:], chosen, strict=True):
            truth[float(c)] = truth.get(float(c), 0.0) + s
        assert average.most_size <= 2 * 3 * (len(truth) + 5)
    found = weights_of(average)
    assert found == pytest.approx({one: weight for one, weight in truth.items() if weight > 0}, rel=1e-12)
    assert average.size == 3 * len(found)
    assert average.weighted() == average.weighted()
    assert len({id(one) for _, one in average.weighted()}) == len(found)


def test_weights_of_nothing_are_left_out() -> None:
    tiny = Combination([(1e-200, claim(1)), (0.0, claim(2)), (0.5, claim(3))])
    average = Combination.of([(1e-200, tiny), (0.0, Combination([(1.0, claim(4))])), (1.0, Combination([]))])
    assert weights_of(average) == {3.0: 0.5e-200}
    assert weights_of(Combination.of([])) == {}
    assert Combination.of([]).size == 0


def test_numbers_are_counted_but_not_made() -> None:
    class Made(Mapping[str, object]):
        def __getitem__(self, name: str) -> object:
            raise AssertionError("made")

        def __iter__(self):
            return iter(["proof"])

        def __len__(self) -> int:
            return 1

    assert numbers_of(claim(1, 4, proof=np.zeros((2, 5)), number=3.0)) == 15
    assert numbers_of(CutClaim(ClaimKind.MINORANT, 0.0, np.zeros(4), witness=Made())) == 4


def test_copies_and_pickles_of_averages_are_the_same() -> None:
    first, second = claim(1), claim(2)
    one = Combination.of([(0.25, Combination([(1.0, first)])), (0.75, Combination([(0.5, second), (0.5, first)]))])
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert weights_of(other) == weights_of(one) == {1.0: 0.625, 2.0: 0.375}


@pytest.mark.parametrize("generator", [ProximalBundle(max_cuts=6), LevelSet(max_cuts=6), Kelley(max_cuts=6)], ids=repr)
def test_what_stands_for_dropped_cuts_holds_a_limited_number_of_numbers(
    generator: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through thousands of calls: averages of averages would hold all cuts there were."""
    monkeypatch.setattr(parts_module, "MOST", 100)
    problem = next(one for one in PROBLEMS if one.name == "sum of maxima on box")
    gc.collect()
    before = {id(one) for one in gc.get_objects() if isinstance(one, Combination)}
    result = minimize(problem.make(), generator, rtol=1e-12, max_calls=120)
    held = [one for one in gc.get_objects() if isinstance(one, Combination) and id(one) not in before]
    assert held
    assert max(one.size for one in held) <= 4 * 100  # a minorant of some rows
    certificate = result.certificate()
    assert certificate.lower == result.lower_bound <= problem.optimum


def test_rows_that_are_averages_count_with_all_that_they_hold() -> None:
    pool = CutPool(PROBLEMS[0].make().domain)
    for k, slope in enumerate(np.random.default_rng(1).normal(size=(40, 4))):
        pool.add(ObjectiveCut(np.zeros(4), float(k), slope, extras={"k": np.zeros(6)}))
    before = pool.minorant(np.ones(40), np.zeros(0))
    assert before is not None
    assert sum(part.size for part in before.parts) == 40 * (4 + 6)
    assert pool.shrink(10, np.ones(40), np.zeros(0)) is not None
    after = pool.minorant(np.r_[np.zeros(5), 1.0], np.zeros(0))
    assert after is not None
    assert sum(part.size for part in after.parts) == 40 * (4 + 6)


@pytest.mark.parametrize("calls", [25, 70])  # before and after the linear program of all cuts is there
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["copy", "pickle"])
def test_methods_are_copied_and_pickled_with_what_their_minorants_are_made_of(
    copied: Callable[[Any], Any], calls: int
) -> None:
    """Rows that are dropped later are kept by the shares of the copy, as by those of the original."""
    problem = next(one for one in PROBLEMS if one.name == "sum of maxima on box")
    generator = ProximalBundle(max_cuts=30)
    minimize(problem.make(), generator, rtol=0, max_calls=calls)
    other = copied(generator)
    for one in (generator, other):
        minorant, pool = one.minorant(), one._pool
        before = sorted((w, claim.constant) for part in minorant.parts for w, claim in part.weighted())
        for rows in (pool.objective, pool.feasibility):
            rows.keep(np.zeros(len(rows), dtype=bool))
        after = sorted((w, claim.constant) for part in minorant.parts for w, claim in part.weighted())
        assert before == after
        assert len(before) > 3


def test_nothing_is_given_up_while_there_is_room() -> None:
    """Averages that share their claims are counted once: there is room for each cut of the run, and no more."""
    rng = np.random.default_rng(0)
    slopes, heights = rng.normal(size=(200, 40)), rng.normal(size=200)

    oracle = FunctionOracle(largest(slopes, heights), Box(-np.ones(40), np.ones(40)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts_module, "MOST", 300 * 40)
        result = minimize(oracle, ProximalBundle(max_cuts=8), rtol=1e-12, max_calls=300)
    assert result.proof is not None
    assert len(result.proof.terms) > 100
    assert not any(claim.note for _, claim in result.proof.terms)
