"""Which columns of a table a kernel looks at, named as in a ColumnTransformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from oracle_opt.arrays import Matrix
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.words import shown


def column_names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a DataFrame; None for what has none."""
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def chosen_columns(columns: Any, names: Sequence[str] | None, n_columns: int) -> Indices:
    """Numbers of the columns that are meant by names, numbers, a slice or a mask."""
    if isinstance(columns, slice):
        return np.arange(n_columns)[columns]
    given = [columns] if isinstance(columns, str | int) else list(columns)
    if given and all(isinstance(one, str) for one in given):
        missing = [one for one in given if one not in (names or ())]
        if missing:
            raise InvalidArgument(f"there is no column {missing[0]!r}; known are {shown(names)}")
        assert names is not None
        return np.array([names.index(one) for one in given], dtype=np.intp)
    found = np.asarray(given)
    if found.dtype == bool and found.shape == (n_columns,):
        return np.flatnonzero(found)
    if found.dtype.kind not in "iu" or found.ndim != 1 or not ((-n_columns <= found) & (found < n_columns)).all():
        raise InvalidArgument(f"`columns` must be names, numbers, a slice or a mask of columns, got {shown(columns)}")
    return found.astype(np.intp) % n_columns


def table_of(X: Any, columns: Indices) -> Matrix | sparse.csr_array:
    """Some columns of the points, float64."""
    if sparse.issparse(X):
        return sparse.csr_array(sparse.csc_array(X)[:, columns], dtype=float)
    chosen = X.iloc[:, columns].to_numpy(dtype=float) if hasattr(X, "iloc") else np.asarray(X, dtype=float)[:, columns]
    return np.ascontiguousarray(chosen)
