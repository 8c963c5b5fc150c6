"""Labels of any type: their classes, their numbers, and the weights of classes."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from oracle_opt.arguments import real
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.words import shown

Numbers = NDArray[np.intp]


def checked_y(y: Any, n_points: int) -> NDArray[Any]:
    """Return labels as an array of one type, shape (n,): objects as numbers or strings, where all of them are."""
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if labels.size != n_points:
        raise InvalidArgument(f"`y` must have {n_points} labels, one per row of X, got {labels.size}")
    if np.iscomplexobj(labels):
        raise InvalidArgument("Complex data not supported: `y` must hold labels that are real numbers or strings")
    if labels.dtype == object:
        labels = _of_one_type(labels)
    if labels.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(labels))
        if bad.size:
            raise InvalidArgument(
                f"Input `y` contains {_named(labels[bad[0]])}: row {bad[0]} has no label; leave it out"
            )
    check_classification_targets(labels)
    return labels


def encoded(labels: NDArray[Any], weights: Vector) -> tuple[NDArray[Any], Numbers]:
    """Classes of the rows of positive weight, sorted, and the number of each row's class, any where it has none."""
    classes = np.unique(labels[weights > 0])
    if classes.size < 2:
        every = np.unique(labels)
        why = "" if every.size < 2 else f"; the rows of the other {every.size - 1} have the weight zero"
        raise InvalidArgument(
            f"`y` must hold at least two classes to tell apart, got one class, {shown(classes.tolist()[0])}{why}"
        )
    numbers: Numbers = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    return classes, numbers


def class_factors(class_weight: Any, classes: NDArray[Any], numbers: Numbers, weights: Vector) -> Vector:
    """Factor of each class on C, ndarray of shape (number of classes,)."""
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str) and class_weight == "balanced":
        balanced: Vector = weights.sum() / (classes.size * np.bincount(numbers, weights, classes.size))
        return balanced
    if not isinstance(class_weight, Mapping):
        raise InvalidArgument(
            f"`class_weight` must be a mapping of labels to factors, 'balanced' or None, got {shown(class_weight)}"
        )
    places = {label.item() if isinstance(label, np.generic) else label: i for i, label in enumerate(classes)}
    factors = np.ones(classes.size)
    for label, factor in class_weight.items():
        plain = label.item() if isinstance(label, np.generic) else label
        if plain not in places:
            near = get_close_matches(str(plain), [str(one) for one in places], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            known = ", ".join(repr(one) for one in list(places)[:8]) + (", ..." if len(places) > 8 else "")
            raise InvalidArgument(f"`class_weight` has the label {plain!r}, which is none of the classes {known}{hint}")
        factors[places[plain]] = real(f"class_weight[{plain!r}]", factor, above=0.0)
    return factors


def _of_one_type(labels: NDArray[Any]) -> NDArray[Any]:
    """Objects as numbers, bools or strings."""
    for row, label in enumerate(labels):
        if label is None or (isinstance(label, float) and np.isnan(label)) or type(label).__name__ == "NAType":
            raise InvalidArgument(f"Input `y` contains {_named(label)}: row {row} has no label; leave such rows out")
    if all(isinstance(label, str) for label in labels):
        return labels
    plain = np.array(labels.tolist())
    if plain.dtype.kind in "US" or plain.dtype == object or plain.ndim != 1:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise InvalidArgument(
            f"Unknown label type: `y` must hold labels of one type that can be sorted, got {kinds}; "
            "convert them, for example by y.astype(str)"
        )
    return plain


def _named(value: object) -> str:
    return "None" if value is None else "NaN" if value != value else str(value)
