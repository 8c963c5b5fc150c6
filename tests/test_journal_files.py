"""The file of a journal: every bit counts, one run at a time, full disks, and all that a cut can hold."""

import dataclasses
import json
import os
import struct
import sys
import zlib
from contextlib import contextmanager, suppress
from itertools import pairwise

import numpy as np
import pytest
from journal_cuts import assert_same_cut, full_feasibility_cut, full_objective_cut
from journal_runs import assert_same_history, records_of
from scipy import sparse

from oracle_opt import (
    Box,
    Curvature,
    Eigenpairs,
    FunctionOracle,
    InvalidArgument,
    JournalMismatch,
    JournalWarning,
    minimize,
)
from oracle_opt._journal_file import SIGNATURE, RecordFile, _packed, _unpacked, decode, encode
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.journal import Journal
from oracle_opt.listener import Entry
from oracle_opt.oracles import ConicOracle, Nonnegative

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals")


RUN = {"oracle": "x"}


def write(path, payloads) -> list[int]:
    """A file of these records, and where each begins; the last number is its end."""
    file, starts = RecordFile(path), [len(SIGNATURE)]
    for payload in payloads:
        file.append(payload)
        starts.append(os.path.getsize(path))
    file.close()
    return starts


def absolute():
    return FunctionOracle(lambda z: (float(np.abs(z - 0.3).sum()), np.sign(z - 0.3)), Box([0, 0], [1, 1]))


def test_every_flipped_bit_is_noticed_and_the_file_left_alone(tmp_path, unflushed) -> None:
    payloads = [b"run", b"first answer", b"", b"third answer"]
    starts = write(tmp_path / "j", payloads)
    content = (tmp_path / "j").read_bytes()
    assert records_of(tmp_path / "j") == payloads
    for at in range(len(content)):
        for bit in (1, 128):
            damaged = bytearray(content)
            damaged[at] ^= bit
            (tmp_path / "d").write_bytes(damaged)
            number = int(np.searchsorted(starts, at, side="right")) - 1
            words = [f"answer {number}, at byte {starts[number]} of", "the record that says which run", "no journal of"]
            if at >= len(SIGNATURE) - 2:
                words[2] = "another version of"
            with pytest.raises(JournalMismatch, match=words[0 if number > 0 else 1 if number == 0 else 2]):
                RecordFile(tmp_path / "d")
            assert (tmp_path / "d").read_bytes() == damaged


def test_every_truncation_keeps_the_whole_records(tmp_path, unflushed) -> None:
    payloads = [b"run", b"first answer", b"", b"third answer"]
    starts = write(tmp_path / "j", payloads)
    content = (tmp_path / "j").read_bytes()
    for end in range(len(content) + 1):
        (tmp_path / "d").write_bytes(content[:end])
        kept = int(np.searchsorted(starts, end, side="right")) - 1
        file = RecordFile(tmp_path / "d")
        assert file.records == payloads[: max(kept, 0)]
        assert file.torn == end - (starts[kept] if kept > 0 else 0)
        assert (tmp_path / "d").read_bytes() == content[:end]  # till the next record is written
        file.append(b"next")
        file.close()
        assert records_of(tmp_path / "d") == [*payloads[: max(kept, 0)], b"next"]


def test_records_in_other_places_are_refused(tmp_path) -> None:
    starts = write(tmp_path / "j", [b"run", b"one!", b"two!", b"two!", b"four"])
    write(tmp_path / "other", [b"run", b"1111", b"two!", b"two!", b"four"])
    content, other = (tmp_path / "j").read_bytes(), (tmp_path / "other").read_bytes()
    cut = [content[: starts[0]]] + [content[a:b] for a, b in pairwise(starts)]
    for what, number in (
        ([*cut[:2], cut[3], cut[2], *cut[4:]], 1),  # swapped
        ([*cut[:3], *cut[4:]], 2),  # missing
        ([*cut[:4], cut[3], *cut[4:]], 3),  # twice
        ([*cut, cut[-1]], 5),
        ([*cut[:2], *cut[3:]], 1),
        ([content[: starts[2]] + other[starts[2] :]], 2),  # of another journal
        ([*cut[:3], b"x", *cut[3:]], 2),
        ([*cut, b"x"], 5),
        ([*cut, bytes(400)], 5),
    ):
        (tmp_path / "d").write_bytes(b"".join(what))
        with pytest.raises(JournalMismatch, match=f"answer {number}, at byte"):
            RecordFile(tmp_path / "d")


def test_what_is_written_over_a_longer_torn_record_is_the_end_of_the_file(tmp_path) -> None:
    z = np.array([0.5])
    long = Entry(Query(z), ObjectiveCut(z, 1.0, z, extras={"long": np.arange(5000.0)}), 0.0)
    short = Entry(Query(z), ObjectiveCut(z, 2.0, z), 0.0)
    with Journal(tmp_path / "j", RUN) as journal:
        journal.answered(short)
        journal.answered(long)
    os.truncate(tmp_path / "j", os.path.getsize(tmp_path / "j") - 3)
    with pytest.warns(JournalWarning, match="dropped a torn last record of .* bytes; 1 answers are kept"):
        journal = Journal(tmp_path / "j", RUN)
    with journal:
        journal.answered(short)
        journal.answered(short)
    with Journal(tmp_path / "j", RUN) as journal:
        assert [entry.cut.value for entry in journal.entries] == [2.0, 2.0, 2.0]


def forged(path, length: int, payload: bytes, number: int = 1) -> None:
    """Append a record whose head is right and states a length and no hash of the payload."""
    head = struct.pack("<4sQQ16s", b"REC\n", number, length, bytes(16))
    path.write_bytes(path.read_bytes() + head + struct.pack("<I", zlib.crc32(head)) + payload)


@pytest.mark.parametrize("length", [3, 2**41, 2**63, 2**64 - 1])
def test_lengths_that_cannot_be_are_damage(tmp_path, length) -> None:
    write(tmp_path / "j", [b"{}"])
    forged(tmp_path / "j", length, b"abc")
    with pytest.raises(JournalMismatch, match="answer 1, at byte"):
        Journal(tmp_path / "j", {})


def bad_payloads():
    z = np.array([0.5])
    good = encode(Entry(Query(z), ObjectiveCut(z, 1.0, z, extras={"a": np.arange(99.0)}), 0.0))
    rng = np.random.default_rng(0)
    yield from (good[: len(good) // 2], b"", b"PK\x03\x04", _packed({"a": z}), good.replace(b"cut/value", b"cut/valor"))
    yield from (good.replace(b"'<f8'", b"'|O'"), good.replace(b"[99]", b"[9e9]"), good.replace(b"[99]", b"[98]"))
    for _ in range(200):
        changed = bytearray(good)
        for at in rng.integers(0, len(good), 3):
            changed[at] = rng.integers(256)
        yield bytes(changed)


def test_answers_that_cannot_be_read_are_refused_by_number(tmp_path, unflushed) -> None:
    for payload in bad_payloads():
        (tmp_path / "j").unlink(missing_ok=True)
        z = np.array([0.5])
        write(
            tmp_path / "j", [json.dumps(RUN).encode(), encode(Entry(Query(z), ObjectiveCut(z, 1.0, z), 0.0)), payload]
        )
        with suppress(CannotBeRead), renamed():
            Journal(tmp_path / "j", RUN).__exit__(None, None, None)  # where a changed byte did no harm


FIELDS = [
    {"seconds": -1.0},
    {"seconds": np.nan},
    {"query": 0.5},
    {"query": np.array([1])},
    {"wishes": np.array(["Curvature"])},
    {"wishes": np.array([1])},
    {"cut/kinds": np.array(["Curvature"])},
]


@pytest.mark.parametrize("change", FIELDS)
def test_answers_with_fields_that_cannot_be_are_refused_by_number(tmp_path, change) -> None:
    z = np.array([0.5])
    fields = _unpacked(encode(Entry(Query(z), ObjectiveCut(z, 1.0, z), 0.0)))
    write(tmp_path / "j", [json.dumps(RUN).encode(), _packed(fields)])
    Journal(tmp_path / "j", RUN).__exit__(None, None, None)
    write(tmp_path / "bad", [json.dumps(RUN).encode(), _packed(fields | change)])
    with pytest.raises(JournalMismatch, match="answer 1 cannot be read"):
        Journal(tmp_path / "bad", RUN)


class CannotBeRead(Exception):
    """The only refusal that is right here."""


@contextmanager
def renamed():
    try:
        yield
    except JournalMismatch as problem:
        if "answer 2 cannot be read" not in str(problem):
            raise
        raise CannotBeRead from problem


@pytest.mark.parametrize("head", [b"", b"nonsense", b"[1]", b"null", b'"text"', b"\xff", b"{" * 100_000])
def test_a_first_record_that_says_nothing_is_refused(tmp_path, head) -> None:
    write(tmp_path / "j", [head])
    with pytest.raises(JournalMismatch, match="does not say which run"):
        Journal(tmp_path / "j", RUN)


def test_files_that_are_no_journals_are_left_alone(tmp_path) -> None:
    for content, words in (
        (b"dear diary", "is no journal of this library"),
        (b"oracle_opt journal 2\nREC\n", "was written by another version of this library"),
        (b"oracle_opt journal", None),  # killed while it was made
    ):
        (tmp_path / "f").write_bytes(content)
        if words is None:
            RecordFile(tmp_path / "f").close()
        else:
            with pytest.raises(JournalMismatch, match=words):
                minimize(absolute(), Kelley(), journal=tmp_path / "f")
        assert (tmp_path / "f").read_bytes() == content
    for path, why in ((tmp_path, "it is a folder"), (tmp_path / "none" / "x", "its folder must be there")):
        with pytest.raises(InvalidArgument, match=f"`journal` must be a file to write, got .*{why}"):
            minimize(absolute(), Kelley(), journal=path)


@POSIX
def test_devices_are_refused() -> None:
    with pytest.raises(JournalMismatch, match="must be a regular file"):
        minimize(absolute(), Kelley(), journal=os.devnull)


@pytest.mark.parametrize(
    "cut",
    [
        ObjectiveCut(np.array([0.5, 0.5, 0.5]), 1.0, np.ones(3)),
        ObjectiveCut(np.array([0.5, 0.5]), 1.0, np.ones(3)),
        ObjectiveCut(np.array([0.5, 0.25]), 1.0, np.ones(2)),
        ObjectiveCut(np.array([0.5, 0.5]), np.nan, np.ones(2)),
        ObjectiveCut(np.array([0.5, 0.5]), 1.0, np.array([1.0, np.nan])),
        ObjectiveCut(np.array([0.5, 0.5]), 1.0, np.ones(2), error=-1.0),
        FeasibilityCut(np.array([0.5, 0.5]), 1.0, np.ones(2)),
    ],
)
def test_replayed_answers_pass_the_checks_of_fresh_ones(tmp_path, cut) -> None:
    minimize(absolute(), Kelley(), [0.5, 0.5], max_calls=0, journal=tmp_path / "j")
    run = json.loads(records_of(tmp_path / "j")[0])
    with Journal(tmp_path / "j", run) as journal:
        journal.answered(Entry(Query(np.array([0.5, 0.5])), cut, 0.0))
    with pytest.raises(JournalMismatch, match="answer 1 is none of this oracle: "):
        minimize(absolute(), Kelley(), [0.5, 0.5], journal=tmp_path / "j", journal_check=False)


def test_an_answer_without_the_warm_start_of_the_oracle_is_refused(tmp_path) -> None:
    class Warm(FunctionOracle):
        def resume(self, cut):
            self.last = cut.extras["warm"]

    def oracle():
        return Warm(absolute().function, Box([0, 0], [1, 1]), name="warm")

    minimize(oracle(), Kelley(), max_calls=2, journal=tmp_path / "j")
    with pytest.raises(JournalMismatch, match="answer 1 is none of this oracle: 'warm'"):
        minimize(oracle(), Kelley(), max_calls=2, journal=tmp_path / "j")


def test_every_field_of_every_cut_survives(tmp_path) -> None:
    rng = np.random.default_rng(0)
    cuts = [full_objective_cut(rng), full_feasibility_cut(rng)]
    for cut in cuts:  # a new field must be given above, or this fails
        for field in dataclasses.fields(cut):
            if field.default is not dataclasses.MISSING:
                assert not np.array_equal(getattr(cut, field.name), field.default), field.name
            elif field.default_factory is not dataclasses.MISSING:
                assert getattr(cut, field.name) != field.default_factory(), field.name
    z, kinds = rng.normal(size=4), frozenset({Curvature, Eigenpairs})
    queries = [Query(z, 1e-3, kinds), Query(z)]
    with Journal(tmp_path / "j", RUN) as journal:
        for query, cut in zip(queries, cuts, strict=True):
            journal.answered(Entry(query, cut, 0.5))
    with Journal(tmp_path / "j", RUN, kinds) as journal:
        for query, cut, entry in zip(queries, cuts, journal.entries, strict=True):
            assert_same_cut(cut, entry.cut)
            assert {type(entry.cut.extras.get(name, 3)) for name in ("n",)} == {int}
            assert (entry.query.accuracy, entry.query.wishes) == (query.accuracy, query.wishes)
            np.testing.assert_array_equal(entry.query.point, query.point)
            assert entry.seconds == 0.5
    empty = ObjectiveCut(z, 1.0, z)
    assert_same_cut(empty, decode(encode(Entry(Query(z), empty, 0.0)), frozenset()).cut)


def arrays(rng: np.random.Generator, share: float):
    """Arrays of every type and layout, about so many of whose entries are not zero."""
    for dtype in ("<f8", ">f8", "f4", "f2", "g", "c16", "i8", "i4", "i1", "u8", "?", "U3", "S5", "M8[s]", "i4,f8"):
        for shape in ((), (0,), (1,), (640,), (7, 13), (3, 0), (2, 5, 4)):
            array = np.zeros(shape, dtype)
            some = rng.random(shape) < share
            array[some] = rng.integers(0, 2, (some.sum(), array.itemsize), np.uint8).view(dtype)[:, 0]
            yield from (array, np.asfortranarray(array), np.repeat(array[None], 3, 0)[::2])
    signed = np.where(rng.random(640) < share, np.array([[-0.0], [np.nan], [-np.inf], [5e-324]]), 0.0)
    yield from (*signed, signed, signed.T, -signed)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.6, 0.7, 1.0])
def test_arrays_come_back_bit_by_bit_and_zeros_take_no_bytes(share) -> None:
    given = {f"a\n/{i}": array for i, array in enumerate(arrays(np.random.default_rng(0), share))}
    found = _unpacked(_packed(given))
    assert list(found) == list(given)
    for name, array in given.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.writeable
        assert found[name].flags.fnc == array.flags.fnc  # sums of products depend on it
    one = {"a": given["a\n/9"]}
    assert len(_packed(one)) <= min(one["a"].nbytes, 12 * np.count_nonzero(one["a"])) + 60
    assert len(_packed(one | {"b": one["a"] + 0.0})) <= len(_packed(one)) + 60  # the same bytes are written once


def test_a_run_on_cones_is_resumed_from_a_short_journal(tmp_path) -> None:
    rng = np.random.default_rng(0)
    rows = sparse.random_array((400, 640), density=0.005, rng=rng)
    oracle = ConicOracle(
        rng.random(640),
        -rows,
        1.0 - rows @ np.ones(640),
        [Nonnegative(400)],
        domain=Box(np.zeros(640), np.full(640, 9.0)),
    )
    limits = {"rtol": 1e-9, "journal": tmp_path / "j"}
    whole = minimize(oracle, LevelSet(), max_calls=8, **limits | {"journal": tmp_path / "whole"})
    minimize(oracle, LevelSet(), max_calls=4, **limits)
    assert_same_history(minimize(oracle, LevelSet(), max_calls=8, **limits), whole)
    assert os.path.getsize(tmp_path / "j") < 60_000 * whole.n_calls
