"""Arguments as users pass them: of the kind that is needed, or refused by name with what to pass."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from math import inf, isnan
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector, real_array
from oracle_opt.errors import InvalidArgument
from oracle_opt.words import shown

if TYPE_CHECKING:
    from scipy import sparse

T = TypeVar("T")
P = ParamSpec("P")


def called_otherwise(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function: a call with a wrong name, or without one of its own in `names`, is told what to pass."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def named(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except TypeError:
                known = inspect.signature(function).parameters
                if any(one.kind is one.VAR_KEYWORD for one in known.values()):
                    raise
                called = function.__qualname__.removesuffix(".__init__").rpartition("<locals>.")[2]
                ours = [name for name in known if name != "self"]
                for word in set(kwargs).difference(known):
                    near = difflib.get_close_matches(word, ours, n=1, cutoff=0.5)
                    instead = f"did you mean `{near[0]}`?" if near else f"it has {', '.join(ours)}"
                    if word in names:
                        instead = f"pass `{names[word]}`"
                    raise TypeError(f"{called}() has no argument `{word}`: {instead}") from None
                for word in set(names).intersection(known):
                    if word not in inspect.signature(function).bind_partial(*args, **kwargs).arguments:
                        raise TypeError(f"{called}() needs `{word}`: {names[word]}") from None
                raise

        return named

    return decorate


def spelled(kind: type[T]) -> type[T]:
    """Decorate a class: its constructor answers a wrong name by the nearest one, unless that is decorated itself."""
    if not hasattr(kind.__init__, "__wrapped__"):
        kind.__init__ = called_otherwise()(kind.__init__)  # type: ignore[method-assign]
    return kind


class NamedArguments:
    """Base of classes of which each is `spelled`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in cls.__dict__:
            spelled(cls)


def instance(name: str, value: object, kind: type[T], instead: str) -> T:
    """Return a value of a class, or refuse it."""
    if isinstance(value, kind):
        return value
    hint = f"; call it: {value.__name__}(...)" if isinstance(value, type) and issubclass(value, kind) else ""
    raise InvalidArgument(f"`{name}` must be {instead}, got {shown(value)}{hint}")


def instances(name: str, values: Iterable[Any], kind: type[T], instead: str) -> tuple[T, ...]:
    """Return a sequence of objects of a class as a tuple, or refuse it."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidArgument(f"`{name}` must be a sequence, each {instead}, got {shown(values)}")
    return tuple(instance(f"{name}[{i}]", value, kind, instead) for i, value in enumerate(values))


def flag(name: str, value: object) -> bool:
    """Return True or False, or refuse anything else."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidArgument(f"`{name}` must be True or False, got {shown(value)}")


def text(name: str, value: object, instead: str = "a text") -> str:
    """Return a str, or refuse anything else."""
    return instance(name, value, str, instead)


def real(
    name: str,
    value: object,
    *,
    least: float = -inf,
    above: float = -inf,
    most: float = inf,
    below: float = inf,
    infinite: bool = False,
) -> float:
    """Return a number as a float, or refuse it."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu":
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InvalidArgument(f"`{name}` must be a number, got {shown(value)}")
    number = float(value)
    fits = least <= number <= most and (number > above or above == -inf) and (number < below or below == inf)
    if not fits or isnan(number) or (abs(number) == inf and not infinite):
        wanted = _bounds(least, above, most, below)
        finite = " and finite" if abs(number) == inf and wanted != "be finite" else ""
        raise InvalidArgument(f"`{name}` must {wanted}{finite}, got {value!r}")
    return number


def whole(name: str, value: object, least: int = 1) -> int:
    """Return a whole number as an int, or refuse it; 3.0 is one, and True is none."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu":
        value = value[()]
    integral = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if isinstance(value, bool) or not integral:
        raise InvalidArgument(f"`{name}` must be a whole number of at least {least}, got {shown(value)}")
    number = int(value)  # type: ignore[call-overload]
    if number < least:
        raise InvalidArgument(f"`{name}` must be a whole number of at least {least}, got {value!r}")
    return int(number)


def floats(name: str, values: ArrayLike, instead: str = "an array of real numbers") -> Vector:
    """Return a new array of floats, or refuse what is none: words, None, complex numbers, rows of different lengths."""
    try:
        given: Any = values if np.ma.is_masked(values) else np.asarray(values)
        if given.ndim == 0 and given.dtype == bool:
            raise TypeError("True and False are no numbers")
        if given.dtype == object and not all(isinstance(one, Real) for one in given.flat):
            raise TypeError("not all entries are numbers")
        return real_array(given)
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"`{name}` must be {instead}, got {shown(values)}: {problem}") from problem


def finite(name: str, values: ArrayLike, shape: tuple[int, ...], what: str) -> Vector:
    """Return a new array of finite floats of a shape, or say `what` was to be passed."""
    given = floats(name, values)
    if given.shape != shape:
        raise InvalidArgument(f"`{name}` must have shape {shape}, {what}, got {given.shape}")
    if not np.isfinite(given).all():
        raise InvalidArgument(
            f"`{name}` must be finite, got {given[~np.isfinite(given)][0]}; put 0 where nothing is known"
        )
    return given


def one_of(name: str, value: object, words: Iterable[str]) -> str:
    """Return one of some words, or refuse what is none of them."""
    known = tuple(words)
    if isinstance(value, str) and value in known:
        return value
    raise InvalidArgument(f"`{name}` must be one of {', '.join(map(repr, known))}, got {shown(value)}")


def callback(name: str, value: object, instead: str) -> Callable[..., Any]:
    """Return what can be called, or refuse it."""
    if callable(value):
        return value
    raise InvalidArgument(f"`{name}` must be {instead}, got {shown(value)}")


def sparse_matrix(name: str, matrix: Any) -> sparse.csr_array:
    """Return a new sparse matrix of floats, without duplicate entries, or refuse what is no matrix."""
    from scipy import sparse  # only here: the import takes time

    if not sparse.issparse(matrix):
        matrix = floats(name, matrix, "a matrix of real numbers, dense or sparse")
    if matrix.ndim != 2:
        raise InvalidArgument(f"`{name}` must be a matrix, of two dimensions, got {matrix.ndim}")
    made = sparse.csr_array(matrix, dtype=float, copy=True)
    made.sum_duplicates()
    return made


def _bounds(least: float, above: float, most: float, below: float) -> str:
    """Say in words which numbers are allowed."""
    if above > -inf and below < inf:
        return f"lie strictly between {above:g} and {below:g}"
    if least > -inf and most < inf:
        return f"lie between {least:g} and {most:g}"
    parts = []
    if above == 0.0:
        parts.append("positive")
    elif above > -inf:
        parts.append(f"above {above:g}")
    elif least > -inf:
        parts.append(f"at least {least:g}")
    if below < inf:
        parts.append(f"below {below:g}")
    elif most < inf:
        parts.append(f"at most {most:g}")
    return f"be {' and '.join(parts) or 'finite'}"
