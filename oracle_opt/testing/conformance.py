"""The error of a plug-in that breaks a rule, in words for its author."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from oracle_opt._journal_file import cut_fields
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut
from oracle_opt.errors import OracleOptError

SHOWN = 12  # entries of an array that a message shows


class ConformanceError(OracleOptError, AssertionError):
    """A plug-in breaks a rule that the library relies on.

    Parameters
    ----------
    subject : str
        Which object breaks it.
    rule : str
        The rule.
    seen : str
        What was seen instead.
    advice : str
        What to do.
    at : mapping from str to ndarray, optional
        The points at which it was seen, by name.
    """

    def __init__(
        self, subject: str, *, rule: str, seen: str, advice: str, at: Mapping[str, Vector] | None = None
    ) -> None:
        self.subject, self.rule, self.seen, self.advice = subject, rule, seen, advice
        self.at = {name: np.array(point) for name, point in (at or {}).items()}
        lines = [f"{subject} breaks a rule.", f"  rule: {rule}", f"  seen: {seen}"]
        lines += [f"  at:   {name} = {np.array2string(np.asarray(z), threshold=SHOWN)}" for name, z in self.at.items()]
        super().__init__("\n".join([*lines, f"  do:   {advice}"]))


@contextmanager
def ruled(subject: str, rule: str, advice: str, at: Mapping[str, Vector] | None = None) -> Iterator[None]:
    """Turn whatever exception is raised inside into a `ConformanceError` of this rule."""
    try:
        yield
    except ConformanceError:
        raise
    except Exception as problem:
        seen = f"{type(problem).__name__} was raised: {problem}"
        raise ConformanceError(subject, rule=rule, seen=seen, advice=advice, at=at) from problem


def check_class(thing: object, kind: type, words: str, advice: str) -> None:
    """Raise a `ConformanceError` unless a plug-in is of the class that it should be of."""
    if not isinstance(thing, kind):
        rule = f"{words} is an object of a subclass of `oracle_opt.{kind.__name__}`"
        seen = f"an object of the class {type(thing).__name__}"
        raise ConformanceError(f"{thing!r}", rule=rule, seen=seen, advice=advice)


def changed(before: Vector, after: Vector) -> bool:
    """Whether an array is no longer what it was, to the last bit."""
    numbers = before.dtype.kind in "fc" and after.dtype.kind in "fc"
    return before.shape != after.shape or not bool(np.array_equal(before, after, equal_nan=numbers))


def copied(cut: Cut) -> dict[str, Any]:
    """All that a cut holds now, by names; but for extras, which may be anything."""
    fields = cut_fields(cut).items()
    return {name: np.array(value) for name, value in fields if "extras/" not in name}


def difference(one: dict[str, Any], two: dict[str, Any], share: float = 0.0) -> str:
    """Say in which field the contents of two cuts differ, by more than a share of its size; no words if in none."""
    for name in sorted(one.keys() | two.keys()):
        if name not in one or name not in two:
            return f"`{name}` is there once and not the other time"
        a, b = one[name], two[name]
        if changed(a, b) and not (share and _alike(a, b, share * max(_size(a), _size(one.get("value", a))))):
            return f"`{name}` is {a} and {b}"
    return ""


def _size(array: Any) -> float:
    return float(np.abs(array).max(initial=0.0)) if np.issubdtype(array.dtype, np.number) else 0.0


def _alike(a: Any, b: Any, allowed: float) -> bool:
    """Whether numbers are as near to each other as that; words are not."""
    numbers = np.issubdtype(a.dtype, np.number) and np.issubdtype(b.dtype, np.number)
    return bool(numbers and a.shape == b.shape and np.abs(a - b).max(initial=0.0) <= allowed)
