"""Fetching a known set from OpenML, in our form: same columns, same labels, checked.

OpenML's copy is not our file: its numbers may be written with other digits and its rows may stand in another order. So
what is checked is the number of points, features and positive labels, and a checksum over the rows in sorted order
with 6 significant digits. Whether the order is that of the reference file is not known; if it is not, the random
splits of one seed differ from those made of the reference file.
"""

from __future__ import annotations

import hashlib
import warnings
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.datasets.catalog import CatalogEntry, OpenMLRecipe
from oracle_opt.datasets.dataset import Dataset
from oracle_opt.errors import DataUnavailable, InvalidData
from oracle_opt.optional import require

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
