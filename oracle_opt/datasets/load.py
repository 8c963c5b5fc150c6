"""Finding a data set: a folder of yours, the cache, scikit-learn, OpenML; or a file by its path."""

import difflib
import hashlib
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from oracle_opt.datasets.catalog import CATALOG, CatalogEntry, names
from oracle_opt.datasets.dataset import Dataset
from oracle_opt.datasets.formats import is_data_file, read_file
from oracle_opt.datasets.openml import check, fetch
from oracle_opt.datasets.user_files import candidates, names_in_words, read_user_file
from oracle_opt.errors import DataUnavailable, InvalidArgument, InvalidData
from oracle_opt.files import atomic_text
from oracle_opt.optional import require

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
