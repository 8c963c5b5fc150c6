"""Journals: killed at any byte and resumed, refused when they belong to another run."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings

import cvxpy as cp
import numpy as np
import pytest
from journal_cuts import assert_same_cut
from tiny_kernels import tiny_gmkl, tiny_mixed_norm, tiny_mkl

from oracle_opt import (
    Box,
    Curvature,
    EmptyLocalizationSet,
    FeasibilityCut,
    FunctionOracle,
    InvalidCut,
    JournalMismatch,
    JournalWarning,
    ObjectiveCut,
    Oracle,
    Polyhedron,
    Query,
    Simplex,
    minimize,
)
from oracle_opt._journal_check import disagreement
from oracle_opt._journal_file import RecordFile
from oracle_opt.generators import (
    SPG,
    AnalyticCenter,
    Kelley,
    LevelSet,
    NewtonBundle,
    ProximalBundle,
    SpectralBundle,
    Subgradient,
)
from oracle_opt.journal import Entry, Journal
from oracle_opt.oracles import (
    BendersOracle,
    ConicOracle,
    CvxpyOracle,
    FacilityLocationOracle,
    GramBank,
    MaxEigenvalueOracle,
    MKLOracle,
    RandomBlock,
    SecondOrder,
    TwoStageProblem,
)


@pytest.fixture(autouse=True)
def unflushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing needs to reach the disk here."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


class Counted(Oracle):
    """Passes everything on and counts."""

    def __init__(self, inner):
        self.inner, self.domain, self.calls = inner, inner.domain, 0

    def reset(self):
        self.inner.reset()

    def resume(self, cut):
        self.inner.resume(cut)

    def identity(self):
        return self.inner.identity()

    def query(self, query):
        self.calls += 1
        return self.inner.query(query)


def absolute():
    target = np.array([0.1, 0.2, 0.3, 0.4])
    return FunctionOracle(lambda z: (float(np.abs(z - target).sum()), np.sign(z - target)), Simplex(4), name="absolute")


def assert_same_history(one, other) -> None:
    for name in ("call", "step", "value", "error", "upper_bound", "lower_bound", "bound_source", "model_bound"):
        np.testing.assert_array_equal(getattr(one.history, name), getattr(other.history, name))


@pytest.mark.parametrize("make", [absolute, tiny_mkl], ids=["function", "mkl"])
@pytest.mark.parametrize("generator", [LevelSet(), Kelley(), SPG(), Subgradient()], ids=lambda g: type(g).__name__)
def test_killed_at_random_bytes_and_resumed(tmp_path, make, generator) -> None:
    options = {"rtol": 1e-12, "max_calls": 12}
    whole = minimize(make(), generator, journal=tmp_path / "whole", **options)
    content = (tmp_path / "whole").read_bytes()
    rng = np.random.default_rng(0)
    ends = [0, 1, 20, 21, 22, 40, len(content) - 1, len(content), *rng.integers(0, len(content), 6)]
    for end in ends:
        path = tmp_path / f"killed-{end}"
        path.write_bytes(content[:end])
        oracle = Counted(make())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JournalWarning)
            resumed = minimize(oracle, generator, journal=path, **options)
        assert_same_history(whole, resumed)
        assert oracle.calls <= whole.n_calls + 1
        assert path.read_bytes()[:21] == content[:21]
        # and what is there now replays without a single call but the check
        for check in (True, False):
            again = Counted(make())
            assert_same_history(whole, minimize(again, generator, journal=path, journal_check=check, **options))
            assert again.calls == check


@pytest.mark.parametrize("seed", [12, 25, 29, 30, 39, 40])
def test_runs_on_one_polyhedron_object_are_the_same_however_often(tmp_path, seed) -> None:
    # of integer data, so that linear programs have many solutions
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    if seed % 3 == 0:
        domain = Polyhedron(equality_matrix=np.ones((1, d)), equality_rhs=[1.0], lower=0)
    elif seed % 3 == 1:
        domain = Polyhedron(rng.choice([-1, 1], (4, d)), np.ones(4), lower=-1, upper=1)
    else:
        domain = Polyhedron(np.vstack([np.eye(d), np.ones((1, d))]), np.ones(d + 1), lower=0)
    A, b = rng.integers(-2, 3, (6, d)).astype(float), rng.integers(-1, 2, 6).astype(float)

    def largest(z):
        values = A @ z + b
        return values.max(), A[values.argmax()]

    oracle, options = FunctionOracle(largest, domain), {"rtol": 1e-9, "max_calls": 12}
    for generator in (Kelley(), AnalyticCenter(), ProximalBundle()):
        whole = minimize(oracle, generator, **options)
        path = tmp_path / type(generator).__name__
        minimize(oracle, generator, journal=path, **(options | {"max_calls": 3}))
        assert_same_history(whole, minimize(oracle, generator, **options))
        assert_same_history(whole, minimize(oracle, generator, journal=path, **options))


def test_a_longer_run_goes_on_where_the_shorter_ended(tmp_path) -> None:
    short = minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=3, rtol=1e-12)
    oracle = Counted(absolute())
    longer = minimize(oracle, Kelley(), journal=tmp_path / "j", max_calls=8, rtol=1e-12)
    assert short.n_calls == 3
    assert oracle.calls == longer.n_calls - 3 + 1  # the last one is asked again


def test_a_torn_record_is_dropped_and_said_so(tmp_path) -> None:
    minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=5, rtol=1e-12)
    content = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(content[:-3])
    with pytest.warns(JournalWarning, match="dropped a torn last record of .* bytes; 4 answers are kept"):
        minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=5, rtol=1e-12)
    oracle = Counted(absolute())
    assert minimize(oracle, Kelley(), journal=tmp_path / "j", max_calls=5, rtol=1e-12).n_calls == 5
    assert oracle.calls == 1


def test_an_exception_keeps_what_was_answered(tmp_path) -> None:
    class Fails(Counted):
        def query(self, query):
            if self.calls == 4:
                raise OSError("the license server is away")
            return super().query(query)

    with pytest.raises(OSError, match="license"):
        minimize(Fails(absolute()), Kelley(), journal=tmp_path / "j", rtol=1e-12)
    oracle = Counted(absolute())
    result = minimize(oracle, Kelley(), journal=tmp_path / "j", rtol=1e-12, max_calls=6)
    assert oracle.calls == result.n_calls - 4 + 1


def test_other_problems_generators_seeds_and_starts_are_refused(tmp_path) -> None:
    path = tmp_path / "j"
    minimize(absolute(), Kelley(), journal=path, max_calls=3, rtol=1e-12)
    before = path.read_bytes()
    other = FunctionOracle(absolute().function, Simplex(4), name="other")
    with pytest.raises(JournalMismatch, match="written for another oracle"):
        minimize(other, Kelley(), journal=path)
    with pytest.raises(JournalMismatch, match="written for another generator"):
        minimize(absolute(), Kelley(chebyshev=True), journal=path)
    with pytest.raises(JournalMismatch, match="written for another starting point"):
        minimize(absolute(), Kelley(), [1.0, 0.0, 0.0, 0.0], journal=path)
    assert path.read_bytes() == before


class Weighted(Kelley):
    """With an array among its parameters."""

    def __init__(self, weights):
        super().__init__()
        self.weights = weights


class OtherWeighted(Weighted):
    """The same by its parameters."""

    def __repr__(self):
        return super().__repr__().replace("Other", "")


def test_generators_are_known_by_their_class_and_by_all_entries_of_their_parameters(tmp_path) -> None:
    def options(generator):
        return {"oracle": absolute(), "generator": generator, "max_calls": 3, "journal": tmp_path / "j"}

    weights = np.ones(2000)
    minimize(**options(Weighted(weights)))
    minimize(**options(Weighted(weights.copy())))
    for other in (
        Weighted(np.where(np.arange(2000) == 1000, np.nextafter(1, 2), 1.0)),
        OtherWeighted(weights),
        Kelley(),
    ):
        with pytest.raises(JournalMismatch, match="written for another generator"):
            minimize(**options(other))


def test_mkl_problems_differ_by_data_labels_and_C(tmp_path) -> None:
    kernels, y = [np.eye(4), np.ones((4, 4)) + np.eye(4)], np.array([1.0, 1, -1, -1])
    path = tmp_path / "j"
    minimize(MKLOracle(GramBank(kernels), y), Kelley(), journal=path, max_calls=2)
    for other in (
        MKLOracle(GramBank(kernels), y, C=99.0),
        MKLOracle(GramBank(kernels), -y),
        MKLOracle(GramBank([2 * k for k in kernels]), y),
    ):
        with pytest.raises(JournalMismatch, match="another oracle"):
            minimize(other, Kelley(), journal=path)


def test_points_are_compared_on_replay(tmp_path) -> None:
    minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=5, rtol=1e-12)
    liar = FunctionOracle(lambda z: (float(z @ z), 2 * z), Simplex(4), name="absolute")
    file = RecordFile(tmp_path / "j")
    file.close()
    run = json.loads(file.records[0])
    for query, words in (
        (Query(np.full(4, 0.3)), "call 1 was asked at another point than now, away by 0.05 in some variable"),
        (Query(np.full(3, 0.25)), "call 1 was asked in 4 variables, now 3"),
        (Query(np.full(4, 0.25), 1e-3), "call 1 was asked for the accuracy None, now 0.001"),
        (
            Query(np.full(4, 0.25), wishes=frozenset({Curvature})),
            "call 1 was asked without the wish for second derivatives, now",
        ),
    ):
        with Journal(tmp_path / "j", run) as journal, pytest.raises(JournalMismatch, match=words):
            journal.next_answer(query, liar)
    assert liar.identity() == absolute().identity()


def test_objects_that_cannot_be_stored_are_named(tmp_path) -> None:
    def answer(z):
        return ObjectiveCut(z, 0.0, z, extras={"model": object()})

    with pytest.raises(InvalidCut, match=r"`extras\['model'\]` must be an array or a number"):
        minimize(FunctionOracle(answer, Box([0.0], [1.0])), Kelley(), journal=tmp_path / "j")


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


def test_earlier_cuts_are_part_of_the_run_with_all_they_hold(tmp_path) -> None:
    z = np.full(4, 0.25)
    told = absolute().query(Query(z))
    options = {"max_calls": 3, "rtol": 1e-12, "journal": tmp_path / "j"}
    whole = minimize(absolute(), Kelley(), cuts=[told], **options)
    assert_same_history(whole, minimize(absolute(), Kelley(), cuts=[told], **options))
    others = [[], [told, told], [dataclasses.replace(told, value=np.nextafter(told.value, -1))]]
    others += [[dataclasses.replace(told, **change)] for change in ({"error": 1e-9}, {"lower_bound": 0.0})]
    others += [[dataclasses.replace(told, subgradient=np.nextafter(told.subgradient, 0))]]
    others += [[dataclasses.replace(told, further=(told,))], [dataclasses.replace(told, extras={"a": z})]]
    for cuts in others:
        with pytest.raises(JournalMismatch, match="another sequence of earlier cuts"):
            minimize(absolute(), Kelley(), cuts=cuts, **options)


def journaled():
    """Oracles of all kinds, each with a generator for it."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(8, 3))
    cost = rng.uniform(1, 9, (4, 6))
    demand = RandomBlock([0.25, 0.5, 0.25], rows=[1], rhs=[[2.0], [6.0], [7.0]])
    shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -np.inf, [0, 2], [demand], x_upper=10)
    x, p = cp.Variable(2, name="x"), cp.Parameter(2, name="p")
    weights = np.triu(rng.uniform(size=(5, 5)), 1)
    weights += weights.T
    laplacian = np.diag(weights.sum(axis=0)) - weights
    return {
        "mkl": (tiny_mkl, NewtonBundle()),
        "mixed norm": (tiny_mixed_norm, LevelSet(tune_accuracy=True)),
        "gmkl": (tiny_gmkl, Kelley()),
        "two-stage program": (lambda: BendersOracle(shop, n_summands=3), Kelley()),
        "cone program": (
            lambda: ConicOracle([1, 1, 1], np.vstack([np.zeros(3), -A]), np.r_[2.0, np.ones(8)], [SecondOrder(9)]),
            AnalyticCenter(),
        ),
        "eigenvalue": (
            lambda: MaxEigenvalueOracle(laplacian / 4, [np.diag(row) for row in np.eye(5)], np.ones(5), trace=5),
            SpectralBundle(),
        ),
        "facilities": (lambda: FacilityLocationOracle(5 * np.ones(4), cost, multicut=True), ProximalBundle()),
        "cvxpy": (
            lambda: CvxpyOracle(
                cp.Problem(cp.Minimize(cp.norm(x - p)), [cp.norm(x) <= 1]), domain=Box([1, -2], [5, 7])
            ),
            Kelley(),
        ),
    }


@pytest.mark.parametrize("name", journaled())
def test_runs_of_every_kind_of_oracle_resume_as_they_were(tmp_path, name) -> None:
    make, generator = journaled()[name]
    options = {"rtol": 1e-7, "max_calls": 40, "keep_cuts": True}
    whole = minimize(make(), generator, **options)
    assert whole.n_calls > 2
    for stop in sorted({1, whole.n_calls // 2, whole.n_calls - 1}):
        minimize(make(), generator, journal=tmp_path / f"{stop}", **(options | {"max_calls": stop}))
        oracle = Counted(make())
        oracle.convex, oracle.gives = oracle.inner.convex, oracle.inner.gives
        resumed = minimize(oracle, generator, journal=tmp_path / f"{stop}", **options)
        assert_same_history(whole, resumed)
        assert oracle.calls == whole.n_calls - stop + 1
        for one, other in zip(whole.history.cuts, resumed.history.cuts, strict=True):
            assert_same_cut(one, other)
