"""Relaxed solutions of a relaxation of the user's own, examined by its functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

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


def by_user(examine: Examine, x: Any, dimension: int, in_fractions: bool) -> Examined:
    """What a user's own function tells of a relaxed solution."""
    try:
        cost, activity = examine(x)
        exact_cost = isinstance(cost, Fraction | int)
        number = Fraction(cost) if exact_cost else exact(cost)
        values = [one if isinstance(one, Fraction) else Fraction(float(one)) for one in np.ravel(activity).tolist()]
    except Refuted:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
        raise Refuted(f"the relaxed solution is none: {problem}") from problem
    if len(values) != dimension:
        raise Refuted(f"the activity of a relaxed solution must hold {dimension} numbers, got {len(values)}")
    error = 0.0 if exact_cost else EPS * abs(float(cost))
    if in_fractions:
        return Examined(number, values, error)
    floats = np.array([float(one) for one in values])
    off = [abs(float(exact(near) - one)) for near, one in zip(floats.tolist(), values, strict=True)]
    return Examined(number, floats, error, np.array(off) * (1.0 + EPS))
