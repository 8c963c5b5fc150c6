"""Which columns of points a kernel looks at, said as in a ColumnTransformer of scikit-learn."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.recipes.points_table import column_names, is_frame
from oracle_opt.words import shown

FORMS = "names, numbers, a slice or a mask of columns, or a function of `X` that returns such"


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
    """Return the numbers of the columns of points that are meant.

    Parameters
    ----------
    columns : str, int, sequence of these, slice, mask, or callable
        Names of columns of a DataFrame; numbers, negative ones from the end; a slice of numbers, or of names with both
        ends, as pandas takes it; a sequence of bool; or a function of the points that returns such.
    points : ndarray, DataFrame or CSC array of shape (n, d)
        As `points_of` returns them.
    group : str
        What the choice is for, in messages.

    Returns
    -------
    ndarray of int
        At least one column, none twice.

    Raises
    ------
    InvalidArgument
        There is no such column, and the nearest name is told; none is chosen, or one twice.
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
    """Where new points have the columns of these numbers of the training points.

    By name where both are DataFrames, else by number; then all columns must be there.

    Raises
    ------
    InvalidArgument
        A column is missing.
    """
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
