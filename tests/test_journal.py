"""Journals: killed at any byte and resumed, refused when they belong to another run."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tiny_kernels import tiny_mkl

from oracle_opt import (
    Box,
    FeasibilityCut,
    FunctionOracle,
    InvalidCut,
    JournalMismatch,
    JournalWarning,
    ObjectiveCut,
    Oracle,
    Query,
    Simplex,
    minimize,
)
from oracle_opt.generators import SPG, Kelley, LevelSet, Subgradient
from oracle_opt.journal import Entry, Journal
from oracle_opt.oracles import GramBank, MKLOracle


class Counted(Oracle):
    """Passes everything on and counts."""

    def __init__(self, inner):
        self.inner, self.domain, self.calls = inner, inner.domain, 0

    def reset(self):
        self.inner.reset()

    def recall(self, cut):
        self.inner.recall(cut)

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
    ends = [0, 1, 20, 21, 22, 40, len(content) - 1, len(content), *rng.integers(0, len(content), 12)]
    for end in ends:
        path = tmp_path / f"killed-{end}"
        path.write_bytes(content[:end])
        oracle = Counted(make())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JournalWarning)
            resumed = minimize(oracle, generator, journal=path, **options)
        assert_same_history(whole, resumed)
        assert oracle.calls <= whole.n_calls
        assert path.read_bytes()[:21] == content[:21]
        # and what is there now replays without a single call
        again = Counted(make())
        assert_same_history(whole, minimize(again, generator, journal=path, **options))
        assert again.calls == 0


def test_a_longer_run_goes_on_where_the_shorter_ended(tmp_path) -> None:
    short = minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=3, rtol=1e-12)
    oracle = Counted(absolute())
    longer = minimize(oracle, Kelley(), journal=tmp_path / "j", max_calls=8, rtol=1e-12)
    assert short.n_calls == 3
    assert oracle.calls == longer.n_calls - 3


def test_a_torn_record_is_dropped_and_said_so(tmp_path) -> None:
    minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=5, rtol=1e-12)
    content = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(content[:-3])
    with pytest.warns(JournalWarning, match="dropped a torn last record of .* bytes; 4 answers are kept"):
        minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=5, rtol=1e-12)
    oracle = Counted(absolute())
    assert minimize(oracle, Kelley(), journal=tmp_path / "j", max_calls=5, rtol=1e-12).n_calls == 5
    assert oracle.calls == 0


def test_an_exception_keeps_what_was_answered(tmp_path) -> None:
    class Fails(Counted):
        def query(self, query):
            if self.calls == 4:
                raise OSError("the licence server is away")
            return super().query(query)

    with pytest.raises(OSError, match="licence"):
        minimize(Fails(absolute()), Kelley(), journal=tmp_path / "j", rtol=1e-12)
    oracle = Counted(absolute())
    result = minimize(oracle, Kelley(), journal=tmp_path / "j", rtol=1e-12, max_calls=6)
    assert oracle.calls == result.n_calls - 4


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
    with Journal(tmp_path / "j", {}) as journal, pytest.raises(JournalMismatch, match="call 1 was asked at another"):
        journal.next_answer(Query(np.full(4, 0.3)))
    assert liar.identity() == absolute().identity()


def test_foreign_and_damaged_files_are_refused(tmp_path) -> None:
    (tmp_path / "text").write_text("dear diary")
    with pytest.raises(JournalMismatch, match="is no journal of this library"):
        minimize(absolute(), Kelley(), journal=tmp_path / "text")
    assert (tmp_path / "text").read_text() == "dear diary"
    minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=5, rtol=1e-12)
    content = bytearray((tmp_path / "j").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(JournalMismatch, match="is damaged at byte"):
        minimize(absolute(), Kelley(), journal=tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == content


def test_every_field_of_a_cut_survives(tmp_path) -> None:
    z = np.array([0.25, 0.75])
    part = ObjectiveCut(z, 1.0, z, extras={"name": np.array(["a", "b"])})
    full = ObjectiveCut(z, 2.0, 3 * z, 0.5, -7.0, (part, part), np.ones((1, 2)), {"alpha": z, "bias": 0.25, "n": 3})
    feasibility = FeasibilityCut(z, 0.1, -z, (FeasibilityCut(z, 0.2, z),), {"ray": z})
    with Journal(tmp_path / "j", {"oracle": "x"}) as journal:
        journal.append(Entry(Query(z, 1e-3, True), full, 0.5))
        journal.append(Entry(Query(z), feasibility, 0.25))
    with Journal(tmp_path / "j", {"oracle": "x"}) as journal:
        first, second = journal.next_answer(Query(z)), journal.next_answer(Query(z))
        assert journal.next_answer(Query(z)) is None
    assert (first.query.accuracy, first.query.curvature, first.seconds) == (1e-3, True, 0.5)
    assert (first.cut.value, first.cut.error, first.cut.lower_bound) == (2.0, 0.5, -7.0)
    np.testing.assert_array_equal(first.cut.curvature, np.ones((1, 2)))
    assert first.cut.extras["bias"] == 0.25
    assert isinstance(first.cut.extras["n"], int)
    assert [p.extras["name"][1] for p in first.cut.parts] == ["b", "b"]
    assert second.query.accuracy is None
    np.testing.assert_array_equal(second.cut.parts[0].normal, z)
    np.testing.assert_array_equal(second.cut.extras["ray"], z)


def test_objects_that_cannot_be_stored_are_named(tmp_path) -> None:
    def answer(z):
        return ObjectiveCut(z, 0.0, z, extras={"model": object()})

    with pytest.raises(InvalidCut, match=r"`extras\['model'\]` must be an array or a number"):
        minimize(FunctionOracle(answer, Box([0.0], [1.0])), Kelley(), journal=tmp_path / "j")
