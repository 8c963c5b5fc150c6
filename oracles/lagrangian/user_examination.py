"""Relaxed solutions of a relaxation of the user's own, examined by its functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import callback
from oracle_opt.arrays import EPS
from oracle_opt.certificates.exact_sums import exact
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined

Examine = Callable[[Any], tuple[Any, Any]]


def checked_examine(examine: Examine | Sequence[Examine] | None, count: int | None) -> tuple[Examine, ...] | None:
    """The user's functions, as many as there are summands, if their number is known."""
    if examine is None:
        return None
    meaning = "a function of a relaxed solution that returns its cost and activity"
    if isinstance(examine, Sequence):
        found = tuple(callback(f"examine[{k}]", one, meaning) for k, one in enumerate(examine))
    else:
        found = (callback("examine", examine, meaning),)
    if not found or (count is not None and len(found) != count):
        raise InvalidArgument(
            f"`examine` must be one function for each summand, {'at least 1' if count is None else count}, got "
            f"{len(found)}"
        )
    return found


def by_user(examine: Sequence[Examine], witness: Mapping[str, Any], dimension: int, in_fractions: bool) -> Examined:
    """What a user's own functions tell of a relaxed solution, of each its part; all parts together are examined."""
    try:
        x, sizes = np.ravel(witness["compact"]), [-1]
        if len(examine) > 1:
            sizes = [int(size) for size in np.ravel(witness["sizes"])]
            if len(sizes) != len(examine) or min(sizes) < 0 or sum(sizes) != x.size:
                raise Refuted(f"the sizes {sizes} do not make {len(examine)} parts of {x.size} numbers")
        parts = np.split(x, np.cumsum(sizes[:-1]))
        told = [_told(*function(part)) for function, part in zip(examine, parts, strict=True)]
        cost, error = sum((one[0] for one in told), Fraction(0)), sum((one[1] for one in told), Fraction(0))
        if any(len(values) != dimension for _, _, values in told):
            raise Refuted(f"the activity of a relaxed solution must hold {dimension} numbers")
        activity = [sum(values, Fraction(0)) for values in zip(*(one[2] for one in told), strict=True)]
        if in_fractions:
            return Examined(cost, activity, float(error) * (1.0 + EPS))
        floats = [float(one) for one in activity]
    except Refuted:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
        raise Refuted(f"the relaxed solution is none: {problem}") from problem
    off = [abs(float(exact(near) - one)) for near, one in zip(floats, activity, strict=True)]
    return Examined(cost, np.array(floats), float(error) * (1.0 + EPS), np.array(off) * (1.0 + EPS))


def _told(cost: Any, activity: Any) -> tuple[Fraction, Fraction, list[Fraction]]:
    """Cost, by how much it may be rounded, and activity."""
    values = [one if isinstance(one, Fraction) else exact(one) for one in np.ravel(activity).tolist()]
    if isinstance(cost, Fraction | int):
        return Fraction(cost), Fraction(0), values
    return exact(cost), abs(exact(cost)) * exact(EPS), values


def joined(compact: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The compact forms of all summands, one after another, and their sizes."""
    sizes = np.array([one.size for one in compact], dtype=np.int32)
    return {"compact": np.concatenate([np.ravel(one) for one in compact]), "sizes": sizes}
