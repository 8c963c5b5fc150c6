"""The protein folds as a set of kernels: a distance for each of their twelve views, and the 27 folds as classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from oracle_opt.datasets.kernel_files import Arrays
from oracle_opt.datasets.load import folders, load, what_to_do
from oracle_opt.errors import DataUnavailable, InvalidData
from oracle_opt.reading import numbers, read_text

FOLDS = "proteinfold_folds.csv.gz"
LAST_POSITIVE = 15  # folds 1 to 15 are labeled 1 in the binary set


def read_protein_folds() -> tuple[Arrays, str]:
    """Read the views of `load("proteinfold")` and the fold of each protein.

    Returns
    -------
    arrays : Arrays
        Squared Euclidean distances, (12, 694, 694), and the folds, 1 to 27.
    source : str
        The file of the folds.

    Raises
    ------
    DataUnavailable
        One of the two files is not there.
    InvalidData
        One of them is damaged, or they do not belong together.
    """
    dataset = load("proteinfold")
    path = next((folder / FOLDS for folder in folders() if (folder / FOLDS).is_file()), None)
    if path is None:
        raise DataUnavailable(f"the folds of 'proteinfold' are not here: {what_to_do(FOLDS)}")
    folds = _folds(path)
    if folds.shape != dataset.y.shape or ((folds <= LAST_POSITIVE) != (dataset.y > 0)).any():
        raise InvalidData(
            f"{path} does not belong to the set 'proteinfold': it holds {folds.size} folds, and those of the "
            f"{dataset.y.size} proteins labeled 1 should be 1 to {LAST_POSITIVE}"
        )
    X = dataset.dense()
    views = np.array([name.partition("_")[0] for name in dataset.feature_names])
    distances = []
    for view in np.unique(views):
        Z = X[:, views == view]
        products, norms = Z @ Z.T, (Z * Z).sum(axis=1)
        D = np.maximum(norms[:, None] + norms - products - products.T, 0.0)  # symmetric to the last bit
        np.fill_diagonal(D, 0.0)
        distances.append(D)
    return Arrays(np.array(distances), None, True, folds), str(path)


def _folds(path: Path) -> np.ndarray:
    """Whole numbers below a header line."""
    _, *lines = read_text(path).split()
    values = numbers(lines)
    if values is None:
        raise InvalidData(f"{path} must hold a header line and a number in each further line")
    return np.asarray(values).astype(int)
