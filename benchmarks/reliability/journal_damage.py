"""Journals with bytes flipped, cut, added or moved: refused, or replayed as they were."""

import os
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from _journaled import differences, history, random_run

from oracle_opt import JournalMismatch, JournalWarning
from oracle_opt._journal_file import SIGNATURE, RecordFile

UNIT = "damaged journals"
FULL = 5000
SMALL = 150
TRIALS = 40  # of one run


def read(path):
    """Payloads of a journal; the reason if it is refused."""
    try:
        file = RecordFile(path)
    except JournalMismatch as problem:
        return str(problem)
    file.close()
    return file.records


def written(path, records):
    """Write a journal of these records; where each begins, and the end."""
    Path(path).unlink(missing_ok=True)
    file, starts = RecordFile(path), [len(SIGNATURE)]
    for record in records:
        file.append(record)
        starts.append(os.path.getsize(path))
    file.close()
    return starts


def flip(content, starts, other, rng):
    """Bits."""
    for _ in range(int(rng.integers(1, 4))):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    return content


def overwrite(content, starts, other, rng):
    """Bytes, by others or by zeros."""
    at, size = int(rng.integers(len(content))), int(rng.integers(1, 64))
    content[at : at + size] = (
        rng.bytes(len(content[at : at + size])) if rng.uniform() < 0.5 else bytes(len(content[at : at + size]))
    )
    return content


def truncate(content, starts, other, rng):
    """The end."""
    return content[: int(rng.integers(len(content)))]


def insert(content, starts, other, rng):
    """Bytes that were not there."""
    at = int(rng.integers(len(content) + 1))
    return content[:at] + rng.bytes(int(rng.integers(1, 64))) + content[at:]


def remove(content, starts, other, rng):
    """Bytes that were."""
    at = int(rng.integers(len(content)))
    return content[:at] + content[at + int(rng.integers(1, 256)) :]


def of_records(content, starts, other, rng):
    """Swapped, doubled, left out, taken from another journal of the same run."""
    parts = [bytes(content[a:b]) for a, b in pairwise([0, *starts])]
    i, j = (int(k) for k in rng.integers(1, len(parts), 2))
    kind = int(rng.integers(4))
    if kind == 0:
        parts[i], parts[j] = parts[j], parts[i]
    elif kind == 1:
        parts.insert(j, parts[i])
    elif kind == 2:
        del parts[i]
    else:
        return content[: starts[i]] + other[starts[i] :] if i > 1 else content[: starts[i]]
    return b"".join(parts)


def resigned(records, rng):
    """Records of which one payload is damaged and yet has the right hash."""
    records = list(records)
    i = int(rng.integers(len(records)))
    payload = bytearray(records[i])
    for _ in range(int(rng.integers(1, 4))):
        payload[int(rng.integers(len(payload)))] = int(rng.integers(256))
    records[i] = bytes(payload[: int(rng.integers(len(payload)))] if rng.uniform() < 0.2 else payload)
    return records


DAMAGE = (flip, overwrite, truncate, insert, remove, of_records)


def outcome(problem, path):
    """History of a run on a journal, or why it was refused, or what else was raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JournalWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return history(*problem, journal=path), None
        except JournalMismatch as error:
            return None, str(error)
        except Exception as error:
            return None, error


def trial(problem, reference, records, starts, content, other, path, rng):
    """One damage and what came of it: a name and words for what is wrong."""
    if rng.uniform() < 0.2:
        written(path, resigned(records, rng))
        _, why = outcome(problem, path)
        wrong = [] if why is None or isinstance(why, str) else [f"forged, and raised {why!r}"]
        return ("forged, replayed" if why is None else "forged, refused"), wrong
    damage = DAMAGE[int(rng.integers(len(DAMAGE)))]
    damaged = bytes(damage(bytearray(content), starts, other, rng))
    path.write_bytes(damaged)
    kept = read(path)
    resumed, why = outcome(problem, path)
    name = damage.__name__
    if resumed is None:
        if not isinstance(why, str):
            return f"{name}, raised", [f"{name}: raised {why!r}"]
        wrong = [] if path.read_bytes() == damaged else [f"{name}: refused, and the file is another"]
        return f"{name}, refused", wrong
    words = []
    if isinstance(kept, str) or kept != records[: len(kept)]:
        words.append(f"{name}: replayed what was not written")
    elif len(kept) < len(records) - (len(damaged) < len(content)) and not content.startswith(damaged):
        words.append(f"{name}: dropped answers other than the last of a file that is shorter")
    if wrong := differences(problem[0], reference, resumed, len(kept) - 1):
        words.append(f"{name}: replayed with other {', '.join(wrong)}")
    return f"{name}, replayed", words


def run(count, seed, tally):
    """Damages of one journal after another; files need not reach the disk here."""
    rng, sync = np.random.default_rng(seed), os.fsync
    os.fsync = lambda handle: None
    try:
        with tempfile.TemporaryDirectory() as folder:
            path, made = Path(folder) / "journal", 0
            while made < count:
                problem_seed = int(rng.integers(2**32))
                problem = random_run(np.random.default_rng(problem_seed))
                name = f"problem {problem_seed}, {problem[1]!r}, {problem[2]}"
                path.unlink(missing_ok=True)
                reference = history(*problem, journal=path)
                records, content = read(path), path.read_bytes()
                path.unlink()
                history(*problem, journal=path)
                other = path.read_bytes()
                starts = written(path, records)
                if path.read_bytes() != content:
                    tally.trial(f"{name}: records written again are another file")
                    made += 1
                for _ in range(min(TRIALS, count - made)):
                    kind, words = trial(problem, reference, records, starts, content, other, path, rng)
                    tally.trial([f"{name}: {one}" for one in words])
                    tally.count(kind)
                    made += 1
    finally:
        os.fsync = sync
