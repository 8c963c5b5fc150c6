"""Reading CSV and LIBSVM files."""

import csv
import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.datasets.dataset import Dataset
from oracle_opt.errors import InvalidData
from oracle_opt.optional import require
from oracle_opt.reading import number, numbers, read_text, shown, whole, wrong

PACKED = ("", ".gz", ".bz2", ".xz")
CSV = tuple(".csv" + packed for packed in PACKED)
LIBSVM = tuple(ending + packed for ending in (".svm", ".libsvm", ".txt") for packed in PACKED)
LABEL_NAMES = ("label", "class", "target", "y")
_NAMELESS = "Unnamed: "  # how pandas calls a column without a name
MISSING = ("", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NULL", "null", "None")
# a LIBSVM file's largest index: that of the largest public sets for a small file, ten a byte for a large one
_ALWAYS, _PER_BYTE = 2**20, 10


def is_data_file(name: str) -> bool:
    """Whether the name ends like a CSV or LIBSVM file."""
    return name.lower().endswith(CSV + LIBSVM)


def bare_name(path: Path) -> str:
    """Name of a file without folder and endings."""
    name = path.name
    for ending in sorted(CSV + LIBSVM, key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return path.stem


def read_file(path: Path, n_features: int | None = None) -> Dataset:
    """Read a CSV or LIBSVM file, by its ending."""
    name = path.name.lower()
    if not is_data_file(name):
        ways = ", ".join(CSV + LIBSVM)
        raise InvalidData(f"{path}: cannot tell its format; end its name in one of {ways}")
    return _read_csv(path) if name.endswith(CSV) else read_libsvm(path, n_features)


def _read_csv(path: Path) -> Dataset:
    text = read_text(path)
    try:
        return _table(path, text)
    except InvalidData as problem:
        header = next((line for line in text.split("\n") if line.strip()), "")
        mark = next((mark for mark in ";\t|" if mark in header), None)
        if mark is None:
            raise
        raise InvalidData(f"{problem}; if its values are separated by {shown(mark)}, a comma is wanted") from problem


def _table(path: Path, text: str) -> Dataset:
    rows, lines = _fields(path, text)
    if not rows:
        raise InvalidData(f"{path} is empty; expected a header line and rows of numbers")
    given = rows.pop(0)
    nameless = [f"{_NAMELESS}{j}" for j in range(len(given))]
    # a file that was read and written again has the name that its first index got, too
    known = set(given)
    nameless = [f"{_NAMELESS}column {j}" if name in known else name for j, name in enumerate(nameless)]
    header = [name or other for name, other in zip(given, nameless, strict=True)]
    at = lines.pop(0)
    if all(number(name) is not None for name in header):
        raise wrong(path, at, "there is no header line: it holds numbers only")
    if len(set(header)) < len(header):
        twice = next(name for name, count in Counter(header).items() if count > 1)
        raise wrong(path, at, f"the column {shown(twice)} stands twice")
    named = [j for j, name in enumerate(header) if name.lower() in LABEL_NAMES]
    if len(named) > 1:
        names = [header[j] for j in named]
        raise wrong(path, at, f"{len(named)} columns could be the label, {names}; keep one")
    label = named[0] if named else len(header) - 1
    if not rows or len(header) < 2:
        shape = len(rows), len(header)
        raise InvalidData(f"{path} needs at least one row and one feature column, got shape {shape}")
    for fields, line in zip(rows, lines, strict=True):
        if len(fields) != len(header):
            raise wrong(path, line, f"there are {len(fields)} values for {len(header)} columns")
    labels = [fields.pop(label) for fields in rows]
    names = header[:label] + header[label + 1 :]
    values = numbers([field for fields in rows for field in fields])
    if values is None:
        raise _not_a_number(path, rows, lines, names)
    X = values.reshape(len(rows), len(names))
    numbering = [j for j, name in enumerate(names) if name.startswith(_NAMELESS) and _numbers_rows(X[:, j])]
    if numbering:
        left_out = ", ".join(shown(names[j]) for j in numbering)
        if len(numbering) == len(names):
            raise wrong(path, at, f"there is no feature but {left_out}, which has no name and numbers the rows")
        warnings.warn(
            f"{path}: the column {left_out} is left out: it has no name and numbers the rows, as pandas writes them; "
            "give it a name if it is a feature",
            stacklevel=5,
        )
        X, names = np.delete(X, numbering, axis=1), [name for j, name in enumerate(names) if j not in numbering]
    y, meaning = binary_labels(labels, lines, path, f"column {shown(header[label])}")
    return Dataset(bare_name(path), X, y, tuple(names), meaning, str(path))


def _numbers_rows(column: Vector) -> bool:
    """Whether a column may be an index: different whole numbers from 0 on, also of rows that were shuffled or drawn."""
    return bool((column >= 0).all() and (column == np.floor(column)).all() and len(np.unique(column)) == len(column))


def _fields(path: Path, text: str) -> tuple[list[list[str]], list[int]]:
    """Rows that are not blank, and the numbers of their lines."""
    rows, lines = [], []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        for row in reader:
            if any(field.strip() for field in row) or len(row) > 1:
                rows.append([field.strip() for field in row])
                lines.append(reader.line_num)
    except csv.Error as problem:
        raise wrong(path, reader.line_num, f"it cannot be read as CSV: {problem}") from problem
    return rows, lines


def _not_a_number(path: Path, rows: list[list[str]], lines: list[int], names: list[str]) -> InvalidData:
    """Make the error of the first value that is not a finite number."""
    places = ((i, j) for i, fields in enumerate(rows) for j, field in enumerate(fields) if number(field) is None)
    i, j = next(places)
    what = "is missing" if rows[i][j] in MISSING else f"is {shown(rows[i][j])}, not a finite number"
    return wrong(path, lines[i], f"the value of column {shown(names[j])} {what}")


def read_libsvm(path: Path, n_features: int | None = None) -> Dataset:
    """Read LIBSVM text, whatever the file's name; parameters, result and errors are those of `read_file`."""
    from scipy.sparse import csr_array

    load_svmlight_file = require("sklearn.datasets", "learn", "files in the form of LIBSVM").load_svmlight_file
    text = read_text(path)
    most = max(_ALWAYS, _PER_BYTE * len(text)) if n_features is None else n_features
    # the compiled reader says no lines, and takes 1_0 and inf: it reads what cannot hold such words
    plain = re.sub(r"#.*", "", text) if "#" in text else text
    trouble = re.search(r"[^0-9+\-.eE:\sqid]", plain) is not None or not plain.strip() or not plain.isascii()
    if not trouble:
        try:
            X, labels = load_svmlight_file(
                io.BytesIO(plain.encode()), n_features=n_features, dtype=np.float64, zero_based=False
            )
            trouble = X.shape[1] > most or not np.isfinite(X.data).all() or not np.isfinite(labels).all()
        except (ValueError, OverflowError):
            trouble = True
    if trouble:
        _find_trouble(path, plain, most)
        raise InvalidData(f"{path} cannot be read as LIBSVM text")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InvalidData(f"{path} needs at least one row and one feature, got shape {X.shape}")
    lines = [at for at, line in enumerate(plain.split("\n"), 1) if line.strip()]
    y, meaning = binary_labels([f"{label:.17g}" for label in labels.tolist()], lines, path, "the label")
    feature_names = tuple(f"x{j}" for j in range(1, X.shape[1] + 1))
    return Dataset(bare_name(path), csr_array(X), y, feature_names, meaning, str(path))


def _find_trouble(path: Path, text: str, most: int) -> None:
    """Read LIBSVM text word by word and raise the error of the first wrong one."""
    empty = True
    for at, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if words and number(words[0]) is None:
            raise wrong(path, at, f"the label {shown(words[0])} is not a finite number")
        empty, before = empty and not words, 0
        for word in words[1:]:
            name, colon, value = word.partition(":")
            index = whole(name)
            if not colon or (index is None and name != "qid"):
                raise wrong(path, at, f"{shown(word)} is not of the form index:value")
            if number(value) is None:
                raise wrong(path, at, f"the value {shown(value)} of index {shown(name)} is not a finite number")
            if index is None:
                continue
            if index <= before:
                reason = "indices count from 1" if index < 1 else f"it follows {before}, and indices must increase"
                raise wrong(path, at, f"the index {index} cannot be used: {reason}")
            if index > most:
                raise wrong(path, at, f"the index {index} is too large for a file of this size, at most {most} is read")
            before = index
    if empty:
        raise InvalidData(f"{path} is empty; it needs at least one row and one feature")


def binary_labels(values: Sequence[str], lines: Sequence[int], path: Path, where: str) -> tuple[Vector, str]:
    """Map exactly two label values to -1 and 1, in sorted order; also say which is which."""
    found = {value: number(value) for value in set(values)}
    for value in found:
        if value in MISSING or _infinite(value):
            what = "is missing" if value in MISSING else f"is {shown(value)}"
            raise wrong(path, lines[list(values).index(value)], f"{where}: the label {what}")
    as_numbers = None not in found.values()
    labels = [found[value] if as_numbers else value for value in values]
    kinds = sorted(set(labels))  # type: ignore[type-var]  # all numbers or all words
    if len(kinds) != 2:
        words = ", ".join(map(_word, kinds[:5])) + (", ..." if len(kinds) > 5 else "")
        raise InvalidData(f"{path}: {where} must have exactly two values, got {len(kinds)}: {words}")
    low, high = kinds
    return np.array([1.0 if label == high else -1.0 for label in labels]), f"1 = {_word(high)}, -1 = {_word(low)}"


def _infinite(word: str) -> bool:
    try:
        return not math.isfinite(float(word))
    except ValueError:
        return False


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)[:40]
