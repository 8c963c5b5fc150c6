"""Reading CSV and LIBSVM files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oracle_opt.cuts import Vector
from oracle_opt.datasets.dataset import Dataset
from oracle_opt.errors import InvalidData

CSV = (".csv", ".csv.gz")
LIBSVM = tuple(ending + packed for ending in (".svm", ".libsvm", ".txt") for packed in ("", ".gz"))
LABEL_NAMES = ("label", "class", "target", "y")


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
    """Read a CSV or LIBSVM file, by its ending.

    Parameters
    ----------
    path : Path
        `.csv`, or LIBSVM text as `.svm`, `.libsvm`, `.txt`; each also with `.gz` behind.
    n_features : int, optional
        Number of columns of a LIBSVM file; default is the largest index in it.

    Returns
    -------
    Dataset
        Dense from CSV, sparse from LIBSVM. Of the two labels the smaller becomes -1, the larger 1.

    Raises
    ------
    InvalidData
        No such file, or no binary classification data in it; the message says what is wrong.
    """
    if not path.is_file():
        raise InvalidData(f"there is no file {path}")
    name = path.name.lower()
    try:
        if name.endswith(CSV):
            return _read_csv(path)
        if name.endswith(LIBSVM):
            return _read_libsvm(path, n_features)
    except InvalidData:
        raise
    except (OSError, EOFError, ValueError) as problem:
        raise InvalidData(f"{path} cannot be read: {problem}") from problem
    raise InvalidData(f"{path}: cannot tell its format; end its name in one of {', '.join(CSV + LIBSVM)}")


def _read_csv(path: Path) -> Dataset:
    import pandas as pd

    try:
        frame = pd.read_csv(path, dtype=str, skipinitialspace=True)  # text: Python's float reads it back exactly
    except pd.errors.EmptyDataError as problem:
        raise InvalidData(f"{path} is empty; expected a header line and rows of numbers") from problem
    if all(_is_number(column) for column in frame.columns):
        raise InvalidData(f"{path} has no header line: its first line holds numbers only")
    named = [column for column in frame.columns if column.lower() in LABEL_NAMES]
    if len(named) > 1:
        raise InvalidData(f"{path} has {len(named)} columns that could be the label, {named}; keep one")
    label = named[0] if named else frame.columns[-1]
    if frame.empty or frame.shape[1] < 2:
        raise InvalidData(f"{path} needs at least one row and one feature column, got shape {frame.shape}")
    features = frame.drop(columns=label)
    X = np.empty(features.shape)
    for j, column in enumerate(features.columns):
        X[:, j] = _numbers(features[column].tolist(), f"column {column!r} of {path}")
    y, meaning = binary_labels(frame[label].tolist(), f"column {label!r} of {path}")
    return Dataset(bare_name(path), X, y, tuple(features.columns), meaning, str(path))


def _numbers(values: list[Any], where: str) -> Vector:
    """Convert words, missing ones being nan, to finite numbers or raise InvalidData."""
    numbers = np.array([float(value) if _is_number(value) else np.nan for value in values])
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        value = values[bad[0]]
        what = f"is {value!r}, not a finite number" if isinstance(value, str) else "is missing"
        raise InvalidData(f"{where}: the value of row {bad[0] + 1} {what}")
    return numbers


def _read_libsvm(path: Path, n_features: int | None) -> Dataset:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    X, labels = load_svmlight_file(str(path), n_features=n_features, dtype=np.float64, zero_based=False)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InvalidData(f"{path} needs at least one row and one feature, got shape {X.shape}")
    if not np.isfinite(X.data).all():
        raise InvalidData(f"{path} has a value that is not a finite number")
    y, meaning = binary_labels(labels.tolist(), f"the label of {path}")
    feature_names = tuple(f"x{j}" for j in range(1, X.shape[1] + 1))
    return Dataset(bare_name(path), csr_array(X), y, feature_names, meaning, str(path))


def binary_labels(values: Sequence[Any], where: str) -> tuple[Vector, str]:
    """Map exactly two label values to -1 and 1, in sorted order; also say which is which.

    Parameters
    ----------
    values : sequence of length n
        Numbers or words.
    where : str
        For the error message.

    Returns
    -------
    y : ndarray of shape (n,)
        -1.0 and 1.0.
    meaning : str
        Such as "1 = yes, -1 = no".

    Raises
    ------
    InvalidData
        A label is missing, or there are not exactly two values.
    """
    missing = [i for i, value in enumerate(values) if isinstance(value, float) and np.isnan(value)]
    if missing:
        raise InvalidData(f"{where}: the label of row {missing[0] + 1} is missing")
    as_number = all(map(_is_number, values))
    labels: list[Any] = [float(value) if as_number else str(value) for value in values]
    kinds = sorted(set(labels))
    if len(kinds) != 2:
        shown = ", ".join(map(_word, kinds[:5])) + (", ..." if len(kinds) > 5 else "")
        raise InvalidData(f"{where} must have exactly two values, got {len(kinds)}: {shown}")
    low, high = kinds
    return np.array([1.0 if label == high else -1.0 for label in labels]), f"1 = {_word(high)}, -1 = {_word(low)}"


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
