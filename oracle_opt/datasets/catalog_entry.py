"""What is known of a data set beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class OpenMLRecipe:
    """How to make one of our sets of one of OpenML's.

    Attributes
    ----------
    data_id : int
        Pins set and version.
    positive : frozenset of str
        Labels that become 1; all others become -1.
    rows_sha256 : str
        Checksum of the rows at 6 significant digits, in sorted order: see `oracle_opt.datasets.openml.rows_checksum`.
    codes : mapping
        Numbers for words in feature columns; a missing value is looked up as ``"?"``.
    """

    data_id: int
    positive: frozenset[str]
    rows_sha256: str
    codes: Mapping[str, float] | None = None


@dataclass(frozen=True)
class CatalogEntry:
    """A set known by name.

    Attributes
    ----------
    file, sha256 : str or None
        Name of its file and the checksum of the file's bytes; None if scikit-learn ships the set. The checksum is None,
        too, where we do not know it.
    n, d : int
        Points, features.
    n_positive : int or None
        Points labeled 1; None if we do not know it.
    description : str
        What the labels mean; donor.
    openml : OpenMLRecipe or None
        None if OpenML has no copy known to hold the same points.
    stems : tuple of str
        Without a checksum the set is checked by its shape, and its file may have any of these names, with any ending.
    origin : str
        Where such a file comes from.
    """

    file: str | None
    sha256: str | None
    n: int
    d: int
    n_positive: int | None
    description: str
    openml: OpenMLRecipe | None = None
    stems: tuple[str, ...] = ()
    origin: str = ""
