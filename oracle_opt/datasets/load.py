"""Finding a data set: a folder of yours, the cache, scikit-learn, OpenML; or a file by its path.

OpenML's copy is not our file: its numbers may be written with other digits and its rows may stand in another order. So
what is checked is the number of points, features and positive labels, and a checksum over the rows in sorted order
with 6 significant digits. Whether the order is that of the reference file is not known; if it is not, the random
splits of one seed differ from those made of the reference file.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.datasets.catalog import CATALOG, CatalogEntry, OpenMLRecipe, names
from oracle_opt.datasets.dataset import Dataset
from oracle_opt.datasets.formats import PACKED, bare_name, binary_labels, is_data_file, read_file, read_libsvm
from oracle_opt.errors import DataUnavailable, InvalidArgument, InvalidData
from oracle_opt.files import atomic_text
from oracle_opt.optional import require
from oracle_opt.reading import numbers, read_text, wrong

if TYPE_CHECKING:
    import pandas as pd


def fetch(name: str, entry: CatalogEntry, recipe: OpenMLRecipe) -> Dataset:
    """Download a set and check that it is the one meant."""
    fetch_openml = require("sklearn.datasets", "learn", "data sets of OpenML").fetch_openml
    require("pandas", "learn", "data sets of OpenML")
    origin = f"OpenML data {recipe.data_id}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a retry, or an inactive version: the check below decides
            bunch = fetch_openml(data_id=recipe.data_id, as_frame=True, parser="auto", cache=False, n_retries=1)
    except (OSError, HTTPException, ValueError) as problem:
        raise DataUnavailable(f"{origin}: {type(problem).__name__}: {problem}") from problem
    try:
        X = _numbers(bunch.data, recipe)
    except ValueError as problem:
        raise InvalidData(f"{origin}: {problem}") from problem
    y = np.where([str(label).strip() in recipe.positive for label in bunch.target], 1.0, -1.0)
    dataset = Dataset(name, X, y, tuple(map(str, bunch.data.columns)), entry.description, origin)
    check(dataset, entry, recipe)
    return dataset


def check(dataset: Dataset, entry: CatalogEntry, recipe: OpenMLRecipe) -> None:
    """Raise InvalidData unless the set has the known size, class counts and rows."""
    n, d = dataset.shape
    if (n, d, dataset.n_positive) != (entry.n, entry.d, entry.n_positive):
        raise InvalidData(
            f"{dataset.source} is not the set known as {dataset.name}: it has {n} points, {d} features and "
            f"{dataset.n_positive} positive labels instead of {entry.n}, {entry.d} and {entry.n_positive}"
        )
    if rows_checksum(dataset.dense(), dataset.y) != recipe.rows_sha256:
        raise InvalidData(
            f"{dataset.source} is not the set known as {dataset.name}: it has the right size, but other values"
        )


def rows_checksum(X: Matrix, y: Vector) -> str:
    """SHA-256 of the rows "label,x1,...,xd", values at 6 significant digits, in sorted order."""
    table = np.column_stack((y, X)) + 0.0  # -0 becomes 0
    rows = sorted(",".join(f"{value:.6g}" for value in row) for row in table.tolist())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def _numbers(frame: pd.DataFrame, recipe: OpenMLRecipe) -> Matrix:
    if recipe.codes is None:
        return np.ascontiguousarray(frame.to_numpy(dtype=float))
    codes = recipe.codes

    def number(value: Any) -> float:
        word = value.strip() if isinstance(value, str) else "?"
        if word not in codes:
            raise ValueError(f"the value {value!r} is none of {', '.join(codes)}")
        return codes[word]

    columns = [[number(value) for value in frame[column].tolist()] for column in frame.columns]
    return np.ascontiguousarray(np.array(columns, dtype=float).T)


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


FOLDER_VARIABLE = "ORACLE_OPT_DATA"
CACHE_VARIABLE = "ORACLE_OPT_CACHE"


def load(name: str | os.PathLike[str], *, download: bool = True) -> Dataset:
    """Load a data set.

    A known name is looked for in the folder the environment variable ORACLE_OPT_DATA names, then in the cache, then
    fetched from OpenML and put into the cache. Files found in either place must have the known SHA-256. `wdbc` and
    `digits` come with scikit-learn and need no file. Some sets a user has to fetch: `covertype`, `kddcup04`,
    `real_sim`, `rcv1`, `leukemia`, `breast_cancer`, `a2a` and `w7a`. Their files are looked for in the same two places,
    also under the names their pages give them, and checked by their shape, as we know no checksum of theirs.

    The cache is the folder the environment variable ORACLE_OPT_CACHE names, by default `oracle_opt` in XDG_CACHE_HOME
    or ~/.cache.

    Parameters
    ----------
    name : str or path-like
        One of `names()`, or the path of a CSV or LIBSVM file (`.csv`, `.svm`, `.libsvm`, `.txt`, each also with `.gz`,
        `.bz2` or `.xz` behind). A CSV file has a header line; its label is the one column called label, class, target
        or y, else the last. A column without a name that numbers the rows, as pandas writes its index, is left out with
        a warning. There are exactly two labels: the smaller becomes -1, the larger 1.
    download : bool
        Whether OpenML may be asked; default True.

    Returns
    -------
    Dataset
        Points and labels.

    Raises
    ------
    InvalidArgument
        The name is not known; the message has the nearest ones.
    InvalidData
        A file cannot be used, or is not the set its name says.
    DataUnavailable
        The set is nowhere to be had; the message says what was tried and what to do.

    Examples
    --------
    >>> from oracle_opt.datasets import load
    >>> load("wdbc").shape
    (569, 30)
    """
    text = os.fspath(name)
    entry = CATALOG.get(text)
    if entry is not None:
        return _load_known(text, entry, download)
    if Path(text).is_file() or Path(text).name != text or is_data_file(text):
        return read_file(Path(text))
    near = difflib.get_close_matches(text, names(), n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names())}."
    raise InvalidArgument(f"there is no data set {text!r}: {hint} A file is given by its path, such as ./{text}.csv")


@dataclass(frozen=True)
class Availability:
    """Where a known set would come from.

    Attributes
    ----------
    name : str
        What `load` knows it by.
    n, d : int
        Numbers of points and of features.
    n_positive : int or None
        Number of points labeled 1, where it is known.
    description : str
        What the set is about.
    place : str
        A file, a package or an address.
    here : bool
        Whether it is there without a download.
    """

    name: str
    n: int
    d: int
    n_positive: int | None
    description: str
    place: str
    here: bool


def available() -> tuple[Availability, ...]:
    """List the known sets, with where `load` would take each from; reads and fetches nothing.

    Returns
    -------
    tuple of Availability
        One for each set.
    """
    return tuple(
        Availability(name, entry.n, entry.d, entry.n_positive, entry.description, *_place(name, entry))
        for name, entry in CATALOG.items()
    )


def cache_folder() -> Path:
    """Return the folder where fetched sets are kept; it need not exist."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "oracle_opt"


def folders() -> list[Path]:
    """Return the folders where files of known sets are looked for, best first; they need not exist."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return [*([Path(folder).expanduser()] if folder else []), cache_folder()]


def what_to_do(wanted: str) -> str:
    """Say into which folder a file has to be put, and which folders were looked into; the file comes first."""
    first, *more = wanted.split("\n")
    unset = "" if os.environ.get(FOLDER_VARIABLE) else ", which is not set"
    lines = [f"put {first} into the folder that {FOLDER_VARIABLE} names{unset}", *more]
    return "\n".join([*lines, *(f"  looked in: {folder}" for folder in folders())])


def _candidates(entry: CatalogEntry) -> list[Path]:
    """Where the file of a set may be, best first."""
    return candidates(entry, folders()) if entry.stems else [folder / str(entry.file) for folder in folders()]


def _fetched_file(name: str) -> Path:
    return cache_folder() / f"{name}.openml.csv"


def _place(name: str, entry: CatalogEntry) -> tuple[str, bool]:
    if entry.file is None:
        return "scikit-learn", True
    for path in (*_candidates(entry), _fetched_file(name)):
        if path.is_file():
            return str(path), True
    return (f"OpenML {entry.openml.data_id}" if entry.openml else f"needs the file {entry.file}"), False


def _load_known(name: str, entry: CatalogEntry, download: bool) -> Dataset:
    if entry.stems:
        return _from_user_file(name, entry)
    if entry.file is None:
        return _from_sklearn(name, entry)
    for path in _candidates(entry):
        if path.is_file():
            _verify(path, name, str(entry.sha256))
            return replace(read_file(path, entry.d), name=name, description=entry.description)
    if entry.openml is not None:
        fetched = _fetched_file(name)
        if fetched.is_file():
            dataset = replace(read_file(fetched), name=name, description=entry.description)
            check(dataset, entry, entry.openml)
            return dataset
        if download:
            try:
                dataset = fetch(name, entry, entry.openml)
            except DataUnavailable as problem:
                raise DataUnavailable(_nowhere(name, entry, f"{problem}")) from problem
            _keep(dataset, fetched)
            return dataset
        raise DataUnavailable(_nowhere(name, entry, "OpenML: not asked, as `download` is False"))
    raise DataUnavailable(_nowhere(name, entry, "OpenML: it has no copy known to hold the same points"))


def _from_user_file(name: str, entry: CatalogEntry) -> Dataset:
    for path in _candidates(entry):
        if path.is_file():
            return read_user_file(path, name, entry)
    wanted = f"{entry.file} of {entry.origin}\n  names looked for: {names_in_words(entry)}"
    raise DataUnavailable(f"the data set {name!r} is not here: {what_to_do(wanted)}")


def _nowhere(name: str, entry: CatalogEntry, openml: str) -> str:
    tried = [f"  {path}: no such file" for path in _candidates(entry)]
    if not os.environ.get(FOLDER_VARIABLE):
        tried.insert(0, f"  {FOLDER_VARIABLE} is not set")
    return "\n".join(
        (
            f"the data set {name!r} is not here. Tried:",
            *tried,
            f"  {openml}",
            f"Put {entry.file} (SHA-256 {entry.sha256}) into a folder and set {FOLDER_VARIABLE} to it.",
        )
    )


def _verify(path: Path, name: str, sha256: str) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise InvalidData(f"{path} cannot be read: {problem}") from problem
    if found != sha256:
        raise InvalidData(
            f"{path} is not the file known as {name!r}: its SHA-256 is {found} instead of {sha256}. "
            "Remove it, or load it under another name by its path"
        )


def _keep(dataset: Dataset, path: Path) -> None:
    """Write a fetched set in our CSV form."""
    pd = require("pandas", "learn", "keeping a fetched data set")

    frame = pd.DataFrame(dataset.dense(), columns=list(dataset.feature_names))
    frame["label"] = dataset.y.astype(int)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_text(path, frame.to_csv(index=False))
    except OSError as problem:
        warnings.warn(f"the data set is here, but not kept for the next time: {problem}", stacklevel=4)


def _from_sklearn(name: str, entry: CatalogEntry) -> Dataset:
    sets = require("sklearn.datasets", "learn", f"the data set {name}, which it brings along")
    bunch = sets.load_breast_cancer() if name == "wdbc" else sets.load_digits()
    # wdbc: scikit-learn's target is 0 = malignant.
    positive = bunch.target == 0 if name == "wdbc" else bunch.target <= 4
    X = np.ascontiguousarray(bunch.data, dtype=float)
    y = np.where(positive, 1.0, -1.0)
    return Dataset(name, X, y, tuple(map(str, bunch.feature_names)), entry.description, "scikit-learn")
