"""Journals: killed at any byte and resumed, refused when they belong to another run."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
from affine_pieces import largest
from journal_runs import Counted, absolute, assert_same_history
from tiny_kernels import tiny_mkl

from oracle_opt import Box, Curvature, FunctionOracle, ObjectiveCut, Polyhedron, Query, Simplex, minimize
from oracle_opt._journal_file import RecordFile
from oracle_opt.errors import InvalidCut, JournalMismatch, JournalWarning
from oracle_opt.generators import SPG, AnalyticCenter, Kelley, LevelSet, ProximalBundle, Subgradient
from oracle_opt.journal import Journal
from oracle_opt.oracles import GramBank, MKLOracle

pytestmark = pytest.mark.usefixtures("unflushed")


@pytest.mark.campaign(2)
@pytest.mark.parametrize("make", [absolute, tiny_mkl], ids=["function", "mkl"])
@pytest.mark.parametrize("generator", [LevelSet(), Kelley(), SPG(), Subgradient()], ids=lambda g: type(g).__name__)
def test_killed_at_random_bytes_and_resumed(tmp_path, make, generator) -> None:
    options = {"rtol": 1e-12, "max_calls": 12, "probes": 0}
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

    oracle, options = FunctionOracle(largest(A, b), domain), {"rtol": 1e-9, "max_calls": 12}
    for generator in (Kelley(), AnalyticCenter(), ProximalBundle()):
        whole = minimize(oracle, generator, **options)
        path = tmp_path / type(generator).__name__
        minimize(oracle, generator, journal=path, **(options | {"max_calls": 3}))
        assert_same_history(whole, minimize(oracle, generator, **options))
        assert_same_history(whole, minimize(oracle, generator, journal=path, **options))


def test_a_longer_run_goes_on_where_the_shorter_ended(tmp_path) -> None:
    short = minimize(absolute(), Kelley(), journal=tmp_path / "j", max_calls=3, rtol=1e-12)
    oracle = Counted(absolute())
    longer = minimize(oracle, Kelley(), journal=tmp_path / "j", max_calls=8, rtol=1e-12, probes=0)
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
    result = minimize(oracle, Kelley(), journal=tmp_path / "j", rtol=1e-12, max_calls=6, probes=0)
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
            journal.recall(query, liar)
    assert liar.identity() == absolute().identity()


def test_objects_that_cannot_be_stored_are_named(tmp_path) -> None:
    def answer(z):
        return ObjectiveCut(z, 0.0, z, extras={"model": object()})

    with pytest.raises(InvalidCut, match=r"`extras\['model'\]` must be an array or a number"):
        minimize(FunctionOracle(answer, Box([0.0], [1.0])), Kelley(), journal=tmp_path / "j")


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
