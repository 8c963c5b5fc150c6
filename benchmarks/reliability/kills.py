"""Processes killed at a random moment of a journaled run, or at a random byte of a write, and resumed."""

import os
import pickle
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _guard import fork
from _journaled import differences, history, random_run

import oracle_opt._journal_file as journal_file
from oracle_opt import JournalWarning

UNIT = "kills of journaled runs"
FULL = 500
SMALL = 8
PATIENCE = 60.0  # seconds until a child counts as hanging


def child(work):
    """Run `work`, which is given a file to write to, in a process of its own: its number and the file to read."""
    reading, writing = os.pipe()
    number = fork()
    if number:
        os.close(writing)
        return number, reading
    try:
        os.close(reading)
        work(writing)
    except BaseException as problem:
        os.write(writing, b"!" + repr(problem).encode()[:2000])
    finally:
        os._exit(0)


def collect(number, reading):
    """All that a child wrote, once it has ended; None if it hangs."""
    ends, said = time.monotonic() + PATIENCE, b""
    os.set_blocking(reading, False)
    while True:
        try:
            piece = os.read(reading, 1 << 16)
            said += piece
            if not piece:
                break
        except BlockingIOError:
            if time.monotonic() > ends:
                os.kill(number, signal.SIGKILL)
                said = None
                break
            time.sleep(0.0005)
    os.close(reading)
    os.waitpid(number, 0)
    return said


def whole(make, generator, options, **more):
    """History and number of calls of a run that nobody kills, in a process of its own; words if it failed."""

    def work(writing):
        calls = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JournalWarning)
            columns = history(make, generator, options, lambda: calls.append(1), **more)
        data = pickle.dumps((columns, len(calls)))
        for start in range(0, len(data), 1 << 12):
            os.write(writing, data[start : start + (1 << 12)])

    began = time.monotonic()
    said = collect(*child(work))
    if said is None:
        return "hangs", 0.0
    return (said[1:].decode() if said[:1] == b"!" else pickle.loads(said)), time.monotonic() - began


def killed(make, generator, options, path, delay, budget):
    """Kill a run after a delay, or once it has written so many bytes; the number of its answers, None if it ended."""

    def work(writing):
        if budget is not None:
            left = [budget]

            class Dying(journal_file.FileIO):
                def write(self, data):
                    if len(data) < left[0]:
                        left[0] -= len(data)
                        return super().write(data)
                    super().write(data[: left[0]])
                    os.kill(os.getpid(), signal.SIGKILL)

            journal_file.FileIO = Dying
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JournalWarning)
            history(make, generator, options, lambda: os.write(writing, b"."), journal=path)
        os.write(writing, b"E")

    number, reading = child(work)
    if budget is None:
        time.sleep(delay)
        os.kill(number, signal.SIGKILL)
    said = collect(number, reading)
    return None if said is None or said.endswith(b"E") else said


def answers(path):
    """How many answers a journal holds."""
    if not os.path.exists(path):
        return 0
    file = journal_file.RecordFile(path)
    file.close()
    return max(len(file.records) - 1, 0)


def trial(problem, path, reference, seconds, size, rng):
    """One kill and what it leaves: None if the run ended before, else words for what is wrong."""
    before = answers(path)
    held = os.path.getsize(path) if path.exists() else 0
    in_write = rng.uniform() < 0.5
    budget = int(rng.integers(1, max(size - held, 2))) if in_write else None
    said = killed(*problem, path, rng.uniform(0.0, 1.1) * seconds, budget)
    if said is None:
        return None
    words = []
    if b"!" in said:
        words.append(f"raised {said}")
    kept, made = answers(path), len(said) - (1 if before and said else 0)
    if not made - 1 <= kept - before <= max(made, 0):
        words.append(f"{before} answers, {made} more made, {kept} kept")
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes() if path.exists() else b"")
    resumed, _ = whole(*problem, journal=copy)
    if isinstance(resumed, str):
        words.append(f"resuming raised {resumed}")
    else:
        wrong = differences(problem[0], reference[0], resumed[0], kept)
        if wrong:
            words.append(f"resumed after {kept} answers with other {', '.join(wrong)}")
        wanted = len(resumed[0]["call"]) - kept + (1 if kept else 0)
        if resumed[1] != wanted:
            words.append(f"resumed by {resumed[1]} calls, not {wanted}")
    return ("in a write" if in_write else "at a moment"), words


def run(count, seed, tally):
    """Each run is killed up to five times, by turns on a new journal and on one that a kill has left."""
    rng = np.random.default_rng(seed)
    made = 0
    with tempfile.TemporaryDirectory() as folder:
        while made < count:
            problem_seed = int(rng.integers(2**32))
            problem = random_run(np.random.default_rng(problem_seed))
            name = f"problem {problem_seed}, {problem[1]!r}, {problem[2]}"
            path = Path(folder) / f"{problem_seed}"
            reference, _ = whole(*problem)
            journaled, seconds = whole(*problem, journal=path)
            if (
                isinstance(reference, str)
                or isinstance(journaled, str)
                or differences(problem[0], reference[0], journaled[0], reference[1])
            ):
                tally.trial(f"{name}: {reference}, journaled {journaled}")
                made += 1
                continue
            size = path.stat().st_size
            path.unlink()
            for _ in range(10):
                if made == count or (made and rng.uniform() < 0.2):
                    break
                if rng.uniform() < 0.5:
                    path.unlink(missing_ok=True)
                outcome = trial(problem, path, reference, seconds, size, rng)
                if outcome is None:  # the run ended before
                    path.unlink()
                    continue
                kind, words = outcome
                made += 1
                tally.trial([f"{name}: {one}" for one in words])
                tally.count(f"killed {kind}")
                tally.count(f"answers kept {'none' if not answers(path) else 'some'}")
