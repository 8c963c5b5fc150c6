"""Mutated files for every reader: a valid object comes back at once, or `InvalidData` with the file and a reason.

In half of the trials one number becomes something that is none; then the file must be refused, and a line that the
message names must be the right one. In a tenth nothing changes but ends of lines, encoding and packing; then the same
object must come back. In the others one to three things happen to the file: flipped bits, missing,
doubled or exchanged lines and words, other numbers, other encodings, damaged or endless gzip.
"""

import contextlib
import gzip
import re
import resource
import signal
import tempfile
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np
from _seeds import FORMATS
from _seeds import content as content_of

from oracle_opt import InvalidData

UNIT = "mutated files"
FULL, SMALL = 5000, 150
SECONDS, BYTES = 2.0, 200e6

_NUMBER = re.compile(r"(?<![\w.+-])[+-]?\d+(\.\d*)?([eE][+-]?\d+)?(?![\w.])")
NOT_NUMBERS = ("nan", "1e400", "1_0", "٣", "0x1", "--1", "1,5e", "-1e999", "NaN", "1__0", "²")
NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1",
    "0",
    "1_0",
    "1000000000000000000",
    "9" * 30,
    "3e8",
    "300000000",
    "1e-400",
)
NUMBERS += ("-0", "1e308", "0.5", "2", "1e20", "-1e30", "9" * 5000)


def run(count, seed, tally):
    """Make `count` trials."""
    _bomb()
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        for make, reader, *_ in FORMATS.values():  # so that no import is counted
            reader(_write(Path(folder), {path: text.encode() for path, text in make(rng).items()})[0])
            _clear(Path(folder))
        for trial in range(count):
            name = str(rng.choice(list(FORMATS)))
            state = f"seed {seed}, trial {trial}, {name}"
            kind = rng.choice([_poisoned, _rewritten, _battered], p=[0.5, 0.1, 0.4])
            words = kind(Path(folder), name, rng, tally)
            tally.trial([f"{state}: {word}" for word in words])


def _poisoned(folder, name, rng, tally):
    """One number becomes a word that is none: the file is refused, by its line."""
    make, reader, _, infinite = FORMATS[name]
    files = make(rng)
    chosen = str(rng.choice(list(files)))
    places = list(_NUMBER.finditer(files[chosen]))
    if not places:
        chosen = next(iter(files))
        places = list(_NUMBER.finditer(files[chosen]))
    place = places[rng.integers(len(places))]
    word = str(rng.choice(NOT_NUMBERS if infinite else (*NOT_NUMBERS, "inf", "-Infinity")))
    line = files[chosen].count("\n", 0, place.start()) + 1
    files[chosen] = files[chosen][: place.start()] + word + files[chosen][place.end() :]
    paths = _write(folder, {path: text.encode() for path, text in files.items()})
    what, value, words = _read(reader, paths)
    if what == "read":
        words.append(f"{place[0]!r} in line {line} of {chosen} became {word!r}, and the file was read")
    named = re.search(r", line (\d+): ", str(value)) if what == "refused" else None
    if named and int(named[1]) != line:
        words.append(f"line {line} of {chosen} is wrong by {word!r}, and the message says {value}")
    tally.count("refused by the line" if named else what)
    _clear(folder)
    return words


def _rewritten(folder, name, rng, tally):
    """The same text with other line ends, a mark, packing: the same object."""
    make, reader, _, _ = FORMATS[name]
    files = {path: text.encode() for path, text in make(rng).items()}
    truth = content_of(reader(_write(folder, files)[0]))
    _clear(folder)
    end, mark, pack = [b"\n", b"\r\n", b"\r"][rng.integers(3)], rng.random() < 0.5, rng.random() < 0.5
    for path, text in list(files.items()):
        text = (b"\xef\xbb\xbf" if mark else b"") + text.replace(b"\n", end) + end * int(rng.integers(3))
        files[path] = gzip.compress(text) if pack else text
    ending = ".gz" if pack and rng.random() < 0.5 else ""
    what, value, words = _read(reader, _write(folder, {f"{path}{ending}": text for path, text in files.items()}))
    if what != "read" or content_of(value) != truth:
        words.append(f"line ends {end}, mark {mark}, packed {pack}{ending}: {value}")
    tally.count("read" if what == "read" else what)
    _clear(folder)
    return words


def _battered(folder, name, rng, tally):
    """One to three changes of any kind: an object that is one, or a refusal."""
    make, reader, good, _ = FORMATS[name]
    contents = {path: text.encode() for path, text in make(rng).items()}
    done = []
    for _ in range(rng.integers(1, 4)):
        path = str(rng.choice(list(contents)))
        change = CHANGES[rng.integers(len(CHANGES))]
        contents[path] = change(contents[path], rng)
        done.append(f"{change.__name__} {path}")
    first = next(iter(contents))
    if rng.random() < 0.1:
        # the ending says gzip, and the content may or may not be
        contents = {f"{path}.gz" if path == first else path: content for path, content in contents.items()}
        done.append("gz ending")
    paths = _write(folder, contents)
    if rng.random() < 0.02:
        paths[-1].unlink()
        if rng.random() < 0.5:
            paths[-1].mkdir()
        done.append("no file")
    what, value, words = _read(reader, paths)
    if what == "read" and not good(value):
        words.append("what was read is not valid")
    tally.count(what)
    _clear(folder)
    return [f"{', '.join(done)}: {word}" for word in words]


def _write(folder, contents):
    paths = [folder / name for name in contents]
    for path, whole in zip(paths, contents.values(), strict=True):
        path.write_bytes(whole)
    return paths


def _clear(folder):
    for path in folder.iterdir():
        path.rmdir() if path.is_dir() else path.unlink()


def _read(reader, paths):
    """What happened, the object or error, and the complaints."""
    words, began = [], process_time()
    try:
        with _limits():
            what, value = "read", reader(paths[0])
    except InvalidData as problem:
        what, value = "refused", problem
        if not any(str(path.with_suffix("")) in str(problem) for path in paths):
            words.append(f"the message names no file: {problem}")
    except Exception as problem:  # what the campaign looks for
        what, value = "failed", problem
        words.append(f"{type(problem).__name__}: {str(problem)[:200]}")
    if process_time() - began > SECONDS:
        words.append(f"it took {process_time() - began:.1f} s")
    return what, value, words


@contextlib.contextmanager
def _limits():
    """At most 200 MB more of address space, and ten times the seconds."""

    def late(*_):
        raise TimeoutError("still reading")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10 * SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (int(pages * resource.getpagesize() + BYTES), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def _bomb():
    return gzip.compress(bytes(2**28))


def flips(content, rng):
    """Flip one to five bits."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 6) if content else 0):
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    return bytes(content)


def cut(content, rng):
    """Drop the end."""
    return content[: rng.integers(len(content) + 1)]


def cut_front(content, rng):
    """Drop the beginning."""
    return content[rng.integers(len(content) + 1) :]


def _lines(change):
    def changed(content, rng):
        lines = content.split(b"\n")
        i, j = rng.integers(len(lines), size=2)
        return b"\n".join(change(lines, i, j, rng))

    changed.__name__ = change.__name__
    return changed


@_lines
def drop_line(lines, i, j, rng):
    """Drop a line."""
    return lines[:i] + lines[i + 1 :]


@_lines
def double_line(lines, i, j, rng):
    """Put a line in again, anywhere."""
    return [*lines[:j], lines[i], *lines[j:]]


@_lines
def exchange_lines(lines, i, j, rng):
    """Exchange two lines."""
    lines[i], lines[j] = lines[j], lines[i]
    return lines


@_lines
def many_lines(lines, i, j, rng):
    """Put a line in up to a thousand times."""
    return lines[:j] + [lines[i]] * min(1000, 10**6 // (1 + len(lines[i]))) + lines[j:]


def _words(change):
    def changed(content, rng):
        words = re.split(rb"([\s,:]+)", content)  # words at even places, what parts them at odd ones
        i, j = 2 * rng.integers((len(words) + 1) // 2, size=2)
        change(words, i, j, rng)
        return b"".join(words)

    changed.__name__ = change.__name__
    return changed


@_words
def drop_word(words, i, j, rng):
    """Drop a word."""
    words[i] = b""


@_words
def double_word(words, i, j, rng):
    """Put a word in twice."""
    words[i] = words[i] + b" " + words[i]


@_words
def exchange_words(words, i, j, rng):
    """Exchange two words."""
    words[i], words[j] = words[j], words[i]


@_words
def other_number(words, i, j, rng):
    """Put a number of some kind in place of a word."""
    words[i] = str(rng.choice(NUMBERS)).encode()


@_words
def long_word(words, i, j, rng):
    """Put a very long word in place of a word."""
    words[i] = bytes(rng.choice([b"x", b"9", b"1_"])) * 200_000


def other_numbers(content, rng):
    """Put another number in place of each of some."""
    text = content.decode("latin-1")
    return _NUMBER.sub(lambda m: str(rng.choice(NUMBERS)) if rng.random() < 0.2 else m[0], text).encode()


def zero_bytes(content, rng):
    """Put zero bytes in."""
    i = rng.integers(len(content) + 1)
    return content[:i] + bytes(int(rng.integers(1, 9))) + content[i:]


def garbage(content, rng):
    """Put random bytes in, perhaps in place of all."""
    i, some = rng.integers(len(content) + 1), rng.bytes(int(rng.integers(1, 300)))
    return some if rng.random() < 0.3 else content[:i] + some + content[i:]


def encoded(content, rng):
    """Write it in another encoding, with a mark or letters with an accent."""
    text = content.decode("latin-1")
    kind = rng.choice(["utf-16", "utf-8-sig", "latin-1", "utf-32"])
    return text.replace("e", "é").encode(kind) if rng.random() < 0.5 else text.encode(kind)


def line_ends(content, rng):
    """Write other ends of lines."""
    return content.replace(b"\n", [b"\r\n", b"\r", b"\n\n", b"\x85", b"\x0c", b" "][rng.integers(6)])


def empty(content, rng):
    """Leave nothing, or blanks."""
    return [b"", b" \n \n", b"\xef\xbb\xbf", b"\n" * 1000][rng.integers(4)]


def packed(content, rng):
    """Pack it, perhaps twice, and perhaps damage that."""
    for _ in range(rng.integers(1, 3)):
        content = gzip.compress(content)
    return [flips, cut, garbage, lambda content, rng: content][rng.integers(4)](content, rng)


def bomb(content, rng):
    """Pack it with 256 MiB of zeros behind."""
    return gzip.compress(content) + _bomb() if rng.random() < 0.2 else gzip.compress(content) + _bomb()[:5000]


CHANGES = (
    flips,
    cut,
    cut_front,
    drop_line,
    double_line,
    exchange_lines,
    many_lines,
    drop_word,
    double_word,
    exchange_words,
)
CHANGES += (other_number, other_numbers, long_word, zero_bytes, garbage, encoded, line_ends, empty, packed, bomb)
