"""What is compared before a journal is gone on with: the last answer, asked for again."""

import numpy as np
import pytest
from journal_runs import absolute

from oracle_opt import Box, EmptyLocalizationSet, FunctionOracle, JournalMismatch, Oracle, Simplex, minimize
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query
from oracle_opt.generators import SPG, Kelley, LevelSet
from oracle_opt.journal import disagreement
from oracle_opt.listener import Entry

pytestmark = pytest.mark.usefixtures("unflushed")


def shifted(by, name="shifted", convex=True):
    def function(z):
        return float(((z - by) ** 2).sum()), 2 * (z - by)

    return FunctionOracle(function, Box(-np.ones(2), np.ones(2)), name=name, convex=convex)


@pytest.mark.parametrize("convex", [True, False])
def test_another_function_of_the_same_name_is_refused_and_says_what_differs(tmp_path, convex) -> None:
    generator, path = (LevelSet() if convex else SPG()), tmp_path / "j"
    written = minimize(shifted(0.9, convex=convex), generator, rtol=1e-3, max_calls=5, journal=path)
    before = path.read_bytes()
    value = written.history.value[-1]
    for by in (2.0, 0.9 + 1e-5, -0.9):
        with pytest.raises(
            JournalMismatch,
            match=rf"last recorded query, number {written.n_calls}, otherwise: value .* now, value {value:.10g} then",
        ) as one:
            minimize(shifted(by, convex=convex), generator, rtol=1e-3, journal=path)
        assert one.value.result.n_calls == 0
    assert path.read_bytes() == before
    unchecked = minimize(shifted(2.0, convex=convex), generator, max_calls=5, journal=path, journal_check=False)
    assert unchecked.history.value[-1] == value


def test_other_random_data_are_refused(tmp_path) -> None:
    def scenarios(seed):
        draws = np.random.default_rng(seed).normal(size=(50, 3))

        def mean_distance(z):
            away = draws - z
            return float(np.abs(away).mean()), -np.sign(away).mean(axis=0) / 3

        return FunctionOracle(mean_distance, Box(-np.ones(3), np.ones(3)))

    minimize(scenarios(0), Kelley(), max_calls=4, journal=tmp_path / "j")
    for seed in range(1, 20):
        with pytest.raises(JournalMismatch, match="another function, random seed or data file"):
            minimize(scenarios(seed), Kelley(), max_calls=4, journal=tmp_path / "j")
    assert minimize(scenarios(0), Kelley(), max_calls=9, journal=tmp_path / "j").n_calls > 4


class Answers(Oracle):
    """Gives what it is told to, in turn."""

    gives = frozenset({FeasibilityCut})

    def __init__(self, *answers, convex=True):
        self.answers, self.convex, self.domain, self.resets = list(answers), convex, Box([-4.0], [4.0]), 0

    def reset(self):
        self.resets += 1

    def query(self, query):
        value, slope, error = self.answers.pop(0)
        if value is None:
            return FeasibilityCut(query.point, slope, np.array([error]))
        return ObjectiveCut(query.point, value, np.array([slope]), error)


@pytest.mark.parametrize(
    ("fresh", "words"),
    [
        ((1.0, 0.5, 0.25), ""),
        ((0.5, 0.5, 0.5), ""),
        ((1.25, 0.5, 0.1), ""),
        ((0.5, 0.5, 0.5 - 1e-12), ""),
        ((0.5, 0.5, 0.4), r"value 0.5 to 0.9 now, value 1 to 1.25 then"),
        ((1.26, 0.5, 3.0), r"value 1.26 to 4.26 now, value 1 to 1.25 then"),
        ((None, 1.0, 1.0), "violation 1 now, value 1 to 1.25 then: the point is infeasible now"),
        # the first answer was value 2 at 0, and this one claims 1 + 3 at least there
        ((1.0, -3.0, 0.25), r"the answer given now contradicts answer 1. By the cut of answer 2 .* at least 4 "),
    ],
)
def test_what_is_compared_of_the_last_answer(tmp_path, fresh, words) -> None:
    run = [(2.0, -1.0, 0.0), (1.0, 0.5, 0.25)]

    class Twice(Kelley):
        def reset(self, domain, point):
            super().reset(domain, point)
            self.told = 0

        def ask(self):
            return np.array([float(self.told)])

        def tell(self, cut):
            self.told += 1
            return super().tell(cut)

    minimize(Answers(*run), Twice(), [0.0], max_calls=2, journal=tmp_path / "j")
    oracle = Answers(fresh)
    if words:
        with pytest.raises(JournalMismatch, match=words):
            minimize(oracle, Twice(), [0.0], max_calls=2, journal=tmp_path / "j")
        assert oracle.resets == 1
    else:
        assert minimize(oracle, Twice(), [0.0], max_calls=2, journal=tmp_path / "j").n_calls == 2
        assert oracle.resets == 2  # what the check left behind is forgotten
    assert not oracle.answers


def test_of_a_function_that_is_not_convex_the_last_value_alone_is_compared() -> None:
    entries = [Entry(Query(np.array([0.0])), ObjectiveCut(np.array([0.0]), 2.0, np.array([-1.0])), 0.0)]
    entries += [Entry(Query(np.array([1.0])), ObjectiveCut(np.array([1.0]), 1.0, np.array([0.5])), 0.0)]
    fresh = ObjectiveCut(np.array([1.0]), 1.0, np.array([-3.0]))
    assert "contradicts answer 1" in disagreement(entries, fresh, True)
    assert disagreement(entries, fresh, False) == ""
    # an oracle whose recorded answers contradict each other is taken up as it was
    entries[1] = Entry(entries[1].query, fresh, 0.0)
    assert disagreement(entries, fresh, True) == ""
    outside = FeasibilityCut(np.array([1.0]), 1.0, np.array([1.0]))
    entries[1] = Entry(entries[1].query, outside, 0.0)
    assert disagreement(entries, outside, True) == ""
    assert "feasible now" in disagreement(entries, fresh, True)
    excludes = FeasibilityCut(np.array([1.0]), 1.0, np.array([-1.0]))
    assert "the point of answer 1 is infeasible" in disagreement(entries, excludes, True)


def test_an_oracle_that_fails_in_the_check_says_so_and_keeps_the_journal(tmp_path) -> None:
    minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=3, rtol=1e-12)
    before = (tmp_path / "j").read_bytes()

    def away(z):
        raise OSError("the license server is away")

    oracle = FunctionOracle(away, Simplex(4), name="absolute")
    with pytest.raises(OSError, match="license") as caught:
        minimize(oracle, Kelley(), journal=tmp_path / "j", rtol=1e-12)
    assert caught.value.result.n_calls == 0
    assert (tmp_path / "j").read_bytes() == before


def test_an_oracle_that_finds_no_point_at_all_does_not_take_up_answers(tmp_path) -> None:
    minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=3, rtol=1e-12)

    def nowhere(z):
        raise EmptyLocalizationSet("none")

    oracle = FunctionOracle(nowhere, Simplex(4), name="absolute")
    with pytest.raises(JournalMismatch, match="number 3, otherwise: it proves now that there is no point at all, none"):
        minimize(oracle, Kelley(), journal=tmp_path / "j", rtol=1e-12)
