"""Points as users have them - an array, a DataFrame, a sparse array - and the columns that kernels look at."""

import difflib
import sys
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.words import shown

# Columns that a message names; the others are counted.
NAMED = 5
FORMS = "names, numbers, a slice or a mask of columns, or a function of `X` that returns such"


def framed(X: Any) -> Any:
    """A DataFrame of polars as one of pandas; anything else as it is."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(X, polars.DataFrame):
        return X
    frame = require("pandas", "study", "DataFrames of polars").DataFrame
    return frame({name: X[name].to_numpy() for name in X.columns})


def is_frame(X: Any) -> bool:
    """Whether it is a DataFrame of pandas; there is none before pandas was imported."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def column_names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a DataFrame; None for what has none."""
    return tuple(map(str, X.columns)) if is_frame(X) else None


def points_of(X: Any, name: str) -> Any:
    """Return points as a DataFrame, an ndarray or a CSC array of 2 dimensions, whatever the columns hold, or refuse."""
    points: Any
    X = framed(X)
    if is_frame(X):
        points = X
    elif sparse.issparse(X):
        points = sparse.csc_array(X)  # columns are taken of it
    else:
        try:
            points = np.asarray(X)
        except ValueError as problem:
            raise InvalidArgument(
                f"`{name}` must be points, one a row, all with as many columns, got {shown(X)}: {problem}"
            ) from problem
    if len(points.shape) == 1:
        raise InvalidArgument(
            f"`{name}` must have shape (n, columns), got {points.shape}; reshape(-1, 1) makes a column of it, "
            "reshape(1, -1) one point"
        )
    if len(points.shape) == 3:
        raise InvalidArgument(
            f"`{name}` must have shape (n, columns), got {points.shape}; kernels that were computed before go into "
            "KernelList([PrecomputedKernels(stack)]), and `X` is then a column of row indices"
        )
    if len(points.shape) != 2:
        raise InvalidArgument(f"`{name}` must have shape (n, columns), got {shown(X)}")
    if 0 in points.shape:
        raise InvalidArgument(f"`{name}` must have a point and a column at least, got shape {points.shape}")
    return points


def table_of(points: Any, columns: Indices, name: str) -> Matrix | sparse.csr_array:
    """Return some columns of points as finite numbers, or refuse them by the names of the columns."""
    if sparse.issparse(points):
        return _sparse_table(points, columns, name)
    table = _frame_table(points, columns, name) if is_frame(points) else _array_table(points, columns, name)
    wrong = ~np.isfinite(table)
    if wrong.any():
        _refuse_values(wrong, table, points, columns, name)
    return table


def _sparse_table(points: sparse.csc_array, columns: Indices, name: str) -> sparse.csr_array:
    if points.dtype.kind not in "fiub":
        raise InvalidArgument(f"`{name}` must hold real numbers, got a sparse array of {points.dtype}")
    table = sparse.csr_array(points[:, columns], dtype=float)
    table.sum_duplicates()
    table.eliminate_zeros()
    if not np.isfinite(table.data).all():
        at = int(np.flatnonzero(~np.isfinite(table.data))[0])
        row = int(np.searchsorted(table.indptr, at, side="right")) - 1
        column = int(columns[table.indices[at]])
        raise InvalidArgument(f"column {column} of `{name}` must be finite, got {table.data[at]} in row {row}")
    return table


def _array_table(points: NDArray[Any], columns: Indices, name: str) -> Matrix:
    chosen = points[:, columns]
    if chosen.dtype.kind in "fiub":
        return np.array(chosen, dtype=float, order="C")
    if chosen.dtype.kind == "c":
        raise InvalidArgument(f"`{name}` must hold real numbers, got complex ones; pass real and imaginary parts")
    bad = [j for j in range(columns.size) if not _all_real(chosen[:, j])]
    if bad:
        _refuse_kinds([_described(chosen[:, j], f"{columns[j]}") for j in bad], name)
    return np.ascontiguousarray(floats(name, chosen, "points of real numbers, shape (n, columns)"))


def _frame_table(points: Any, columns: Indices, name: str) -> Matrix:
    chosen = points.iloc[:, columns]
    table = np.empty(chosen.shape)
    bad = []
    for j in range(columns.size):
        column = chosen.iloc[:, j]
        kind = _kind(column.dtype)
        if kind == "object" and _all_real_or_missing(column):
            kind = "number"
        if kind == "number":
            table[:, j] = column.to_numpy(dtype=float, na_value=np.nan)
        else:
            bad.append(_described(column, repr(str(points.columns[columns[j]])), kind))
    if bad:
        _refuse_kinds(bad, name)
    return table


def _kind(dtype: Any) -> str:
    """The kind of a column of a DataFrame: numbers, text, categories, dates, or objects."""
    from pandas.api import types

    if isinstance(dtype, sys.modules["pandas"].CategoricalDtype):
        return "categories"
    if types.is_complex_dtype(dtype):
        return "complex numbers"
    if types.is_numeric_dtype(dtype):
        return "number"
    of_time = types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype)
    if of_time or isinstance(dtype, sys.modules["pandas"].PeriodDtype):
        return "dates"
    return "text" if types.is_string_dtype(dtype) and not types.is_object_dtype(dtype) else "object"


def _all_real(column: NDArray[Any]) -> bool:
    return column.dtype == object and all(isinstance(one, Real) for one in column)


def _all_real_or_missing(column: Any) -> bool:
    return all(isinstance(one, Real) for one in column.dropna())


def _described(column: Any, label: str, kind: str = "object") -> tuple[str, str]:
    """The label of a column that holds no numbers, and what it holds."""
    if kind == "categories":
        known = column.cat.categories.tolist()
        return label, f"categories such as {shown(known[0])}" if known else kind
    if kind in ("dates", "complex numbers"):
        return label, kind
    strange = next((one for one in column if not isinstance(one, Real)), None)
    what = "text such as " if isinstance(strange, str) else f"the {type(strange).__name__} "
    return label, f"{what}{shown(str(strange) if isinstance(strange, str) else strange)}"


def _refuse_kinds(bad: Sequence[tuple[str, str]], name: str) -> None:
    """Refuse columns that hold no numbers, with what makes numbers of them."""
    labels = [label for label, _ in bad]
    listed = ", ".join(f"column {label} holds {what}" for label, what in bad[:NAMED])
    more = f", and {len(bad) - NAMED} columns more" if len(bad) > NAMED else ""
    kinds = {what.split(" ")[0] for _, what in bad}
    advice = []
    if kinds - {"dates", "complex"}:
        columns = ", ".join(label for label in labels[:NAMED])
        advice.append(
            f"make numbers of them first, with ColumnTransformer([('coded', OneHotEncoder(), [{columns}])], "
            "remainder='passthrough'), or with OrdinalEncoder() where they have an order; or name the columns that the "
            "kernels are to look at: ('group', kernels, columns)"
        )
    if "dates" in kinds:
        advice.append("make numbers of dates, such as (column - column.min()).dt.days")
    if "complex" in kinds:
        advice.append("pass real and imaginary parts")
    # scikit-learn's own checks of estimators look for these words
    raise InvalidArgument(f"`{name}` must be a table of numbers: {listed}{more}; {'; '.join(advice)}")


def _refuse_values(wrong: NDArray[np.bool_], table: Matrix, points: Any, columns: Indices, name: str) -> None:
    """Refuse numbers that are missing or infinite, by row and column."""
    row, j = np.argwhere(wrong)[0].tolist()
    label = repr(str(points.columns[columns[j]])) if is_frame(points) else f"{columns[j]}"
    where = f" (label {points.index[row]!r})" if is_frame(points) and points.index[row] != row else ""
    others = int(wrong.sum()) - 1
    more = f", and {others} more such numbers in {int(wrong.any(axis=1).sum())} rows" if others else ""
    if np.isnan(table[row, j]):
        got, advice = "NaN", "fill them in by SimpleImputer() before, in a pipeline, or drop these rows"
    else:
        got, advice = f"{table[row, j]}", "drop these rows, or cut the values off at a number"
    raise InvalidArgument(f"column {label} of `{name}` must be finite, got {got} in row {row}{where}{more}; {advice}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Words that name what may have been meant: "did you mean 'width'?"; or what there is."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not close:
        lower = {one.lower(): one for one in reversed(names)}
        close = [lower[one] for one in difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)]
    if close:
        return f"did you mean {close[0]!r}?"
    listed = ", ".join(map(repr, names[:10]))
    return f"there are {listed}{f' and {len(names) - 10} more' if len(names) > 10 else ''}"


def chosen_columns(columns: Any, points: Any, group: str) -> Indices:
    """Return the numbers of the columns of points that are meant; `group` is what the choice is for, in messages.

    Meant by names of columns of a DataFrame, numbers, negative ones from the end, or a slice, of names with both ends.
    Or by a sequence of these or of bool, or a function of the points that returns such.
    """
    names, d = column_names(points), points.shape[1]
    wanted = columns(points) if callable(columns) else columns
    if isinstance(wanted, slice):
        found = np.arange(d)[_slice_of(wanted, names, group)]
    else:
        listed = _listed(wanted, group)
        if listed and all(isinstance(one, bool | np.bool_) for one in listed):
            if len(listed) != d:
                raise InvalidArgument(
                    f"`columns` of {group!r} are a mask of {len(listed)} columns, and `X` has {d}; {_of(names)}"
                )
            found = np.flatnonzero(listed)
        elif listed and all(isinstance(one, str) for one in listed):
            found = np.array([_place(one, names, group) for one in listed], dtype=np.intp)
        else:
            found = np.array([_number(one, d, group, columns) for one in listed], dtype=np.intp)
    if found.size == 0:
        raise InvalidArgument(f"`columns` of {group!r} must choose a column at least, got {shown(columns)}")
    values, counts = np.unique(found, return_counts=True)
    if counts.max() > 1:
        twice = int(values[counts.argmax()])
        label = repr(names[twice]) if names else f"{twice}"
        raise InvalidArgument(f"`columns` of {group!r} must name no column twice, got column {label} twice")
    return found


def check_form(columns: Any, group: str) -> None:
    """Refuse what cannot say which columns, whatever the points are."""
    if isinstance(columns, slice) or callable(columns):
        return
    for one in _listed(columns, group):
        if not isinstance(one, str | int | np.integer | np.bool_):
            raise InvalidArgument(f"`columns` of {group!r} must be {FORMS}, got {shown(columns)}")


def placed_columns(new: Any, columns: Indices, names: Sequence[str] | None, n_columns: int, name: str) -> Indices:
    """Where new points have these columns of the training points: by name where both are DataFrames, else by number."""
    there = column_names(new)
    if names is not None and there is not None and len(set(names)) == len(names):
        wanted = [names[j] for j in columns.tolist()]
        missing = [one for one in wanted if one not in there]
        if missing:
            raise InvalidArgument(f"`{name}` has no column {missing[0]!r}; {nearest(missing[0], there)}")
        return np.array([there.index(one) for one in wanted], dtype=np.intp)
    if new.shape[1] != n_columns:
        raise InvalidArgument(
            f"`{name}` must have {n_columns} columns, those of the points that the kernels were fitted on, got shape "
            f"{tuple(new.shape)}"
        )
    return columns


def _listed(columns: Any, group: str) -> list[Any]:
    """One column or several as a list."""
    if isinstance(columns, str | int | np.integer):
        return [columns]
    if isinstance(columns, dict | bytes) or is_frame(columns) or not isinstance(columns, Iterable):
        raise InvalidArgument(f"`columns` of {group!r} must be {FORMS}, got {shown(columns)}")
    return list(columns)


def _slice_of(wanted: slice, names: Sequence[str] | None, group: str) -> slice:
    """A slice of numbers; one of names includes both its ends."""
    ends = wanted.start, wanted.stop
    if not any(isinstance(end, str) for end in ends):
        return wanted
    places = [None if end is None else _place(end, names, group) for end in ends]
    return slice(places[0], None if places[1] is None else places[1] + 1, wanted.step)


def _place(name: str, names: Sequence[str] | None, group: str) -> int:
    """Number of the column of a name."""
    if names is None:
        raise InvalidArgument(
            f"`columns` of {group!r} name the column {name!r}, and `X` has no names; pass a DataFrame, or numbers"
        )
    if names.count(name) > 1:
        raise InvalidArgument(f"`columns` of {group!r} name {name!r}, and {names.count(name)} columns have that name")
    if name not in names:
        raise InvalidArgument(f"`columns` of {group!r} name {name!r}, which `X` does not have; {nearest(name, names)}")
    return names.index(name)


def _number(one: Any, d: int, group: str, columns: Any) -> int:
    """Number of a column, counted from the end if it is negative."""
    if isinstance(one, bool | np.bool_) or not isinstance(one, int | np.integer):
        raise InvalidArgument(f"`columns` of {group!r} must be {FORMS}, got {shown(columns)}")
    if not -d <= one < d:
        raise InvalidArgument(f"`columns` of {group!r} must be from 0 to {d - 1}, got {one}")
    return int(one) % d


def _of(names: Sequence[str] | None) -> str:
    return f"these are {shown(list(names))}" if names else "one entry for each column"
