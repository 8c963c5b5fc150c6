"""Checks of an estimator's X, y and weights, in the words that scikit-learn's users know."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.recipes.points_table import framed
from oracle_opt.words import shown

DATES = (date, timedelta, np.datetime64, np.timedelta64)  # those of pandas are such
Points = Any  # ndarray or CSR array of shape (n, d)


def checked_points(estimator: BaseEstimator, X: Any, *, fit: bool) -> Points:
    """Return X as float64, an ndarray or a CSR array, and note or compare its columns."""
    if np.ma.is_masked(X):
        raise InvalidArgument("`X` must have no masked entries: fill or drop them, as what is under a mask is no data")
    X = framed(X)
    refuse_stacks(X)
    refuse_strings(type(estimator).__name__, X)
    points = validate_data(
        estimator,
        X,
        reset=fit,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_min_samples=2 if fit else 1,
    )
    refuse_missing(estimator, points)
    return points


def refuse_stacks(X: Any) -> None:
    """Raise `InvalidArgument` for a stack of kernels, with the way to pass one."""
    of_list = isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], np.ndarray | list | tuple)
    dimensions = X.ndim if isinstance(X, np.ndarray) else 1 + np.ndim(X[0]) if of_list else 2
    if dimensions >= 3:
        raise InvalidArgument(
            f"`X` must have two dimensions, points and columns, got {dimensions}. A stack of precomputed kernels goes "
            "into the estimator: `kernels=KernelList([PrecomputedKernels(stack)])` with the kernels of all points, and "
            "X are then row indices, a column such as np.arange(n)[:, None]; so rows can be split, shuffled and "
            "cross-validated"
        )


def refuse_strings(name: str, X: Any) -> None:
    """Raise `InvalidArgument` where a table or an array of objects holds strings or dates: all columns are named."""
    found, words = [], ""
    for column, values in _columns_of_objects(X):
        for row, value in enumerate(values):
            if isinstance(value, DATES):
                got = f"the date {shown(str(value))} in row {row}, column {column}"
                raise InvalidArgument(f"`X` must hold numbers, got {got}: pass days since a fixed date, say")
            if isinstance(value, str | bytes) and not _is_number(value):
                words = words or f"{shown(str(value))} in row {row}, column {column}"
                found.append(column)
                break
    if found:
        columns = ", ".join(found)
        raise InvalidArgument(
            f"`X` must hold numbers, got {words}{f'; columns of text are {columns}' * (len(found) > 1)}. "
            f"Encode such a column first: make_pipeline(make_column_transformer((OneHotEncoder(), [{columns}]), "
            f"remainder='passthrough'), {name}())"
        )


def refuse_missing(estimator: BaseEstimator, points: Points) -> None:
    """Raise `InvalidArgument` where points are not finite: row and column are named, and the remedy."""
    data = points.data if sparse.issparse(points) else points
    if np.isfinite(data.sum()) or np.isfinite(data).all():
        return
    if sparse.issparse(points):
        at = points.tocoo()
        k = int(np.flatnonzero(~np.isfinite(at.data))[0])
        row, column, value = int(at.row[k]), int(at.col[k]), float(at.data[k])
    else:
        row, column = (int(i) for i in np.argwhere(~np.isfinite(points))[0])
        value = float(points[row, column])
    name = type(estimator).__name__
    names = getattr(estimator, "feature_names_in_", None)
    where = f"row {row}, column {column}" if names is None else f"row {row}, column {names[column]!r}"
    if np.isnan(value):
        raise InvalidArgument(
            f"Input `X` contains NaN: {where} (rows are counted from 0). Fill missing values first, as "
            f"make_pipeline(SimpleImputer(), {name}()) does, or leave such rows out"
        )
    raise InvalidArgument(
        f"Input `X` contains infinity: {where} (rows are counted from 0) is {value}, inf. Clip or transform such a "
        "column first"
    )


def checked_weights(sample_weight: Any, n_points: int) -> Vector:
    """Return weights of the points, shape (n,), not negative, some positive."""
    if sample_weight is None:
        return np.ones(n_points)
    try:
        weights = np.array(sample_weight, dtype=float)
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"`sample_weight` must be numbers, got {shown(sample_weight)}: {problem}") from problem
    if weights.ndim == 0:
        weights = np.full(n_points, float(weights))
    if weights.shape != (n_points,):
        raise InvalidArgument(
            f"`sample_weight` must have shape ({n_points},), one weight per row of X, got {weights.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(weights))
    if bad.size:
        raise InvalidArgument(f"`sample_weight` must be finite, got {weights[bad[0]]} in row {bad[0]}")
    bad = np.flatnonzero(weights < 0)
    if bad.size:
        raise InvalidArgument(f"`sample_weight` must not be negative, got {weights[bad[0]]:g} in row {bad[0]}")
    if not weights.any():
        raise InvalidArgument("`sample_weight` must hold at least one weight that is not zero: all weights are zero")
    return weights


def _columns_of_objects(X: Any) -> list[tuple[str, Sequence[Any] | NDArray[Any]]]:
    """Columns that may hold strings, with their names in words: of a DataFrame, or of an array of objects."""
    if isinstance(X, np.ndarray):
        if X.dtype.kind not in "OUSMm" or X.ndim != 2:
            return []
        return [(str(j), X[:, j]) for j in range(X.shape[1])]
    if isinstance(X, list | tuple):
        rows = [row for row in X if isinstance(row, list | tuple)]
        if len(rows) < len(X) or len({len(row) for row in rows}) != 1:
            return []
        return [(str(j), column) for j, column in enumerate(zip(*rows, strict=True))]
    if sparse.issparse(X):
        return []
    columns, types = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if columns is None or types is None:
        return []
    return [
        (repr(column), np.asarray(X[column]))
        for column, kind in zip(columns, types, strict=True)
        if np.asarray(X[column][:1]).dtype.kind in "OUSMm"
    ]


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
