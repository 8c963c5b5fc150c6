"""Arrays: their types, and the one digest from which every identity is made."""

import hashlib
import sys
from collections.abc import Hashable, Iterable, Mapping, Set
from functools import cached_property
from numbers import Complex, Integral, Real
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.errors import InvalidArgument

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

EPS = 2.0**-52  # twice the unit roundoff: a sum of n products errs by at most n / 2 of it, times the sum of their sizes

DIGITS = 16  # hexadecimal: 64 bits, of BLAKE2b
_NAMED = (FunctionType, MethodType, BuiltinFunctionType, ModuleType, type)  # known by name alone


def real_array(values: ArrayLike) -> Vector:
    """Return a new array of floats; what stands under a mask is no number."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise TypeError("entries are masked: fill or drop them, as the numbers under the mask are no data")
    given = np.asarray(values)
    if given.dtype.kind not in "fiubO":
        raise TypeError(f"real numbers are needed, not {given.dtype}")
    return np.array(given, dtype=float)


def refuse_single(*answers: object) -> None:
    """Refuse numbers of fewer digits than those that bounds are counted in."""
    kinds = {str(one.dtype) for one in answers if isinstance(one, np.ndarray | np.floating) and one.dtype.kind == "f"}
    if few := kinds - {"float64", "longdouble", "float128"}:
        raise TypeError(
            f"they are in single precision ({', '.join(sorted(few))}), so that cuts are wrong by what rounding takes, "
            "and do not say so: compute in float64, data and all, or return an ObjectiveCut with its `error`"
        )


def every(flags: NDArray[np.bool_]) -> bool:
    """Whether all are true: the same as ``all()``, which takes three times as long on a few flags."""
    return bool(flags[flags.argmin()])


def numbered(keys: Iterable[Hashable]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each different key stands first, and for all keys the numbers of theirs in this order."""
    known: dict[Hashable, int] = {}
    numbers = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)
    return np.diff(np.maximum.accumulate(numbers), prepend=-1).nonzero()[0], numbers


def digest(*things: object) -> str:
    """16 hexadecimal digits that tell data from other data: a cryptographic hash, BLAKE2b cut to 64 bits.

    Arrays count with type, shape and every bit, in any layout; sparse ones by sorted rows; numbers by value: 1 is 1.0.
    """
    content = hashlib.blake2b(digest_size=DIGITS // 2)
    _take(content, things, None)
    return content.hexdigest()


def fingerprint(thing: object) -> str:
    """Class of a thing and a digest of its attributes, of whatever kind; functions count by their names."""
    content = hashlib.blake2b(digest_size=DIGITS // 2)
    _take(content, thing, ())
    return f"{_name(type(thing))} #{content.hexdigest()}"


def _take(content: Any, thing: object, above: tuple[int, ...] | None) -> None:
    """Feed the hash; `above` holds the objects that lead here, or is None where objects are refused."""
    if isinstance(thing, np.ndarray) and thing.ndim == 0 and not thing.dtype.hasobject:
        thing = thing.item()
    if thing is None:
        content.update(b"none;")
    elif isinstance(thing, bool | np.bool_):
        content.update(b"bool %d;" % bool(thing))
    elif isinstance(thing, Complex):  # which all numbers are
        content.update(f"number {_number(thing)};".encode())
    elif isinstance(thing, str | bytes | bytearray):
        raw = thing.encode("utf-8", "surrogatepass") if isinstance(thing, str) else bytes(thing)
        content.update(b"%s %d:" % (b"text" if isinstance(thing, str) else b"bytes", len(raw)) + raw)
    elif isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
        _take_array(content, thing)
    elif isinstance(thing, tuple | list):
        content.update(b"sequence %d:" % len(thing))
        for one in thing:
            _take(content, one, above)
    elif isinstance(thing, Mapping):
        content.update(b"mapping %d:" % len(thing))
        _take_sorted(content, list(thing.items()), above)
    elif isinstance(thing, Set):
        content.update(b"set %d:" % len(thing))
        _take_sorted(content, list(thing), above)
    elif _is_sparse(thing):
        _take_sparse(content, thing)
    elif above is None:
        what = f"an array of {thing.dtype}" if isinstance(thing, np.ndarray) else f"a {_name(type(thing))}"
        raise InvalidArgument(f"`things` must be arrays, numbers, texts, or sequences of these, got {what}")
    elif isinstance(thing, np.ndarray):
        content.update(f"objects {thing.shape}:".encode())
        _take(content, thing.ravel().tolist(), above)
    else:
        _take_object(content, thing, above)


def _take_sorted(content: Any, things: list[Any], above: tuple[int, ...] | None) -> None:
    """Things that have no order, by the order of their own hashes."""
    parts = []
    for one in things:
        part = hashlib.blake2b(digest_size=DIGITS)
        _take(part, one, above)
        parts.append(part.digest())
    content.update(b"".join(sorted(parts)))


def _take_array(content: Any, array: np.ndarray[Any, Any]) -> None:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    content.update(f"array {little.dtype.str.replace('>', '<')} {array.shape}:".encode())
    if little.size:
        content.update(little.reshape(-1).view(np.uint8).data)


def _take_sparse(content: Any, given: Any) -> None:
    matrix = given.tocsr(copy=True)
    matrix.sum_duplicates()  # sorts the entries of a row, too
    content.update(f"sparse {matrix.shape}:".encode())
    for part in (matrix.data, matrix.indices.astype("<i8"), matrix.indptr.astype("<i8")):
        _take_array(content, part)


def _take_object(content: Any, thing: object, above: tuple[int, ...]) -> None:
    if isinstance(thing, _NAMED):
        content.update(f"name {_name(thing)};".encode())
        return
    content.update(f"object {_name(type(thing))}:".encode())
    if id(thing) in above:  # it refers to itself
        return
    cached = {
        name for kind in type(thing).__mro__ for name, value in vars(kind).items() if type(value) is cached_property
    }
    attributes = {name: value for name, value in getattr(thing, "__dict__", {}).items() if name not in cached}
    _take(content, attributes, (*above, id(thing)))


def _number(value: Any) -> str:
    if isinstance(value, Integral):
        whole = int(value)
        return float(whole).hex() if abs(whole) <= 2**53 else str(whole)
    if isinstance(value, Real):
        return float(value).hex() if float(value) == value or value != value else repr(value)
    return f"{float(value.real).hex()} {float(value.imag).hex()}"


def _is_sparse(thing: object) -> bool:
    """Whether it is a sparse matrix, of which there are none before scipy.sparse was imported."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(thing))


def class_name(kind: type) -> str:
    """Full name of a class; of this library's own without the module, which may move and makes no other problem."""
    top, _, _ = kind.__module__.partition(".")
    return f"{top if top == __package__ else kind.__module__}.{kind.__qualname__}"


def _name(thing: Any) -> str:
    """Full name of a class, a function or a module."""
    if isinstance(thing, type):
        return class_name(thing)
    return ".".join(
        str(part)
        for part in (
            getattr(thing, "__module__", None),
            getattr(thing, "__qualname__", getattr(thing, "__name__", None)),
        )
        if part is not None
    )
