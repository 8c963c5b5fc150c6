"""Files of known sets that a user got elsewhere: under which names they are looked for, how they are checked."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

from oracle_opt.datasets.catalog import CatalogEntry
from oracle_opt.datasets.dataset import Dataset
from oracle_opt.datasets.formats import PACKED, bare_name, binary_labels, is_data_file, read_file, read_libsvm
from oracle_opt.errors import InvalidData
from oracle_opt.reading import numbers, read_text, wrong

PLAIN = ("", ".svm", ".libsvm", ".txt", ".csv", ".dat")


def candidates(entry: CatalogEntry, folders: Iterable[Path]) -> list[Path]:
    """List the files that may hold the set, best first; they need not exist."""
    names = [stem + ending + packed for stem in entry.stems for ending in PLAIN for packed in PACKED]
    return [folder / name for folder in folders for name in names]


def names_in_words(entry: CatalogEntry) -> str:
    """Say which names `candidates` has."""
    packed = ", ".join(PACKED[1:])
    return (
        f"{' or '.join(entry.stems)} as LIBSVM text (no ending, .svm, .libsvm, .txt), as .csv with a header line, or "
        f"as .dat with number, label and features of a point in a line; each also packed ({packed})"
    )


def read_user_file(path: Path, name: str, entry: CatalogEntry) -> Dataset:
    """Read a set from a file whose checksum we do not know, and check its shape."""
    lower = path.name.lower()
    if lower.endswith(tuple(".dat" + packed for packed in PACKED)):
        dataset = read_numbered(path)
    else:
        dataset = read_file(path) if is_data_file(lower) else read_libsvm(path)
    dataset = replace(dataset, name=name, description=entry.description)
    if issparse(dataset.X) and dataset.shape[1] < entry.d:
        dataset.X.resize(dataset.shape[0], entry.d)
        dataset = replace(dataset, feature_names=tuple(f"x{j}" for j in range(1, entry.d + 1)))
    n, d = dataset.shape
    wrong_count = entry.n_positive is not None and dataset.n_positive != entry.n_positive
    if (n, d) != (entry.n, entry.d) or wrong_count:
        of_ones = "" if entry.n_positive is None else f", {dataset.n_positive} of them labeled 1"
        known = "" if entry.n_positive is None else f", {entry.n_positive} of them labeled 1"
        raise InvalidData(
            f"{path} is not the set known as {name!r}: it has {n} points with {d} features{of_ones}, and not {entry.n} "
            f"with {entry.d}{known}. It should be {entry.file} of {entry.origin}. "
            "Remove it, or load it under another name by its path"
        )
    return dataset


def read_numbered(path: Path) -> Dataset:
    """Read lines of a number of the point, its label and its features, as KDD Cup 2004 distributes them."""
    lines = [(at, line.split()) for at, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    if not lines or len(lines[0][1]) < 3:
        raise InvalidData(f"{path} needs lines of a number, a label and at least one feature")
    width = len(lines[0][1])
    X = np.empty((len(lines), width - 2))
    for row, (at, words) in zip(X, lines, strict=True):
        values = numbers(words[2:]) if len(words) == width else None
        if values is None:
            reason = (
                "one is not a finite number" if len(words) == width else f"there are {len(words)} values, not {width}"
            )
            raise wrong(path, at, f"it should hold a number, a label and {width - 2} features: {reason}")
        row[:] = values
    y, meaning = binary_labels([words[1] for _, words in lines], [at for at, _ in lines], path, "the label")
    return Dataset(bare_name(path), X, y, tuple(f"x{j}" for j in range(1, width - 1)), meaning, str(path))
