"""Checks of what the losses of support vector machines are given."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import floats, real
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels._packed import count_signs
from oracle_opt.words import shown


def checked_labels(y: ArrayLike | None, n_points: int | None = None) -> Vector:
    """Return labels as float64, or raise `InvalidArgument` unless they are -1 and +1, both present."""
    if y is None:
        raise InvalidArgument("`y` must hold the labels -1 and +1, got None; without labels take `loss=OneClass()`")
    labels = y if isinstance(y, np.ndarray) else array_of("y", y, "the labels -1 and +1")
    if labels.ndim != 1 or labels.size == 0:
        raise InvalidArgument(f"`y` must have shape (n,), got {labels.shape}")
    # On a small problem the checks take a good part of the time.
    if labels.dtype == np.float64 and labels.flags.c_contiguous:
        n_positive, n_negative = count_signs(labels)
    else:
        n_positive, n_negative = int((labels == 1).sum()), int((labels == -1).sum())
    if n_positive + n_negative < labels.size:
        values = np.unique(labels)
        known = ", ".join(map(shown, values[:4].tolist())) + (", ..." if values.size > 4 else "")
        raise InvalidArgument(
            f"`y` must hold the labels -1 and +1, got {known}; convert two classes by "
            "np.where(y == positive_class, 1, -1)"
        )
    if n_positive == 0 or n_negative == 0:
        raise InvalidArgument(f"`y` must hold both classes -1 and +1, got only {labels[0]}")
    if n_points is not None and labels.size != n_points:
        raise InvalidArgument(f"`y` must have {n_points} labels, one per point, got {labels.size}")
    return np.ascontiguousarray(labels, dtype=float)


def array_of(name: str, values: ArrayLike, instead: str) -> NDArray[Any]:
    """Return an array of any kind, or raise `InvalidArgument`: rows of different lengths make none."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"`{name}` must be {instead}, got {shown(values)}: {problem}") from problem


def checked_targets(y: ArrayLike | None, n_points: int | None = None) -> Vector:
    """Return targets as float64, or raise `InvalidArgument` unless they are n finite numbers."""
    if y is None:
        raise InvalidArgument("`y` must hold the targets, got None; without targets take `loss=OneClass()`")
    targets = np.asarray(floats("y", y, "an array of targets"))
    if targets.ndim != 1 or targets.size == 0:
        raise InvalidArgument(f"`y` must have shape (n,), got {targets.shape}")
    if not np.isfinite(targets).all():
        first = int(np.flatnonzero(~np.isfinite(targets))[0])
        raise InvalidArgument(f"`y` must be finite, got {targets[first]} at {first}; remove such points")
    if n_points is not None and targets.size != n_points:
        raise InvalidArgument(f"`y` must have {n_points} targets, one per point, got {targets.size}")
    return np.ascontiguousarray(targets)


def centered_targets(y: ArrayLike | None, n_points: int) -> tuple[Vector, float, float]:
    """Return checked targets less the middle of their range, that middle, and half the range, at least 0."""
    targets = checked_targets(y, n_points)
    low, high = float(targets.min()), float(targets.max())
    middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    return targets - middle, middle, half


def checked_C(C: float | ArrayLike, name: str = "C") -> float | Vector:
    """Return weights of the loss, or raise `InvalidArgument` unless they are positive finite numbers."""
    if type(C) is float and 0.0 < C < np.inf:
        return C
    weights = floats(name, C, "a positive number, or one for each point")
    if weights.ndim > 1 or weights.size == 0:
        raise InvalidArgument(f"`{name}` must be a number or have shape (n,), got shape {weights.shape}")
    _check_positive(weights, f"`{name}`")
    weights.flags.writeable = False
    return weights if weights.ndim else float(weights)


def checked_weights(weights: ArrayLike) -> Vector:
    """Return weights of points, which nobody can change, or refuse them unless they are positive and finite."""
    checked = np.array(floats("weights", weights, "positive numbers, one for each point"))
    if checked.ndim != 1 or checked.size == 0:
        raise InvalidArgument(f"`weights` must have shape (n,), got shape {checked.shape}")
    _check_positive(checked, "`weights`")
    checked.flags.writeable = False
    return checked


def checked_class_weight(class_weight: Mapping[int, float] | None) -> dict[int, float] | None:
    """Return factors on C, or raise `InvalidArgument` if a class is weighted that is not -1 or +1."""
    if class_weight is None:
        return None
    if not isinstance(class_weight, Mapping):
        raise InvalidArgument(f"`class_weight` must map the labels -1 and +1 to factors, got {shown(class_weight)}")
    if unknown := set(class_weight) - {-1, 1}:
        raise InvalidArgument(f"`class_weight` must weight the labels -1 and +1, got {sorted(map(str, unknown))}")
    return {label: real(f"class_weight[{label}]", class_weight[label], above=0.0) for label in sorted(class_weight)}


def weights_of_points(C: float | Vector, y: Vector, class_weight: Mapping[int, float] | None = None) -> Vector:
    """Weight of the loss of each point, ndarray of shape (n,): C times the weight of the label."""
    if isinstance(C, np.ndarray) and C.shape != y.shape:
        raise InvalidArgument(f"`C` must be a number or have shape {y.shape}, got shape {C.shape}")
    if class_weight is None:
        return np.full(y.size, C)
    weights: Vector = C * np.where(y > 0, class_weight.get(1, 1.0), class_weight.get(-1, 1.0))
    _check_positive(weights, "`C` times `class_weight`")
    return weights


def _check_positive(weights: Vector, name: str) -> None:
    good = (weights > 0) & (weights < np.inf)
    if np.count_nonzero(good) < weights.size:
        bad = weights[~good].flat[0]
        raise InvalidArgument(f"{name} must be positive and finite, got {bad}; for a hard margin take a large number")
