"""An answered query as bytes: an `.npz` archive without pickles, whose names are the paths of the cut's fields.

Answers of any kind are written under the name of their class, by arrays of their own.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
from oracle_opt.cuts import Cut, FeasibilityCut, Kind, ObjectiveCut, Query
from oracle_opt.errors import InvalidCut
from oracle_opt.listener import Entry

Fields = dict[str, NDArray[Any]]
Kinds = Set[Kind]


def encode(entry: Entry) -> bytes:
    """Bytes of an entry.

    Raises
    ------
    InvalidCut
        An extra is neither an array nor a number, or an answer gives arrays of objects.
    """
    accuracy = np.nan if entry.query.accuracy is None else entry.query.accuracy
    fields: dict[str, Any] = {"seconds": entry.seconds, "query": entry.query.point, "accuracy": accuracy}
    fields["wishes"] = _names(sorted(entry.query.wishes, key=lambda kind: kind.__name__))
    for name, value in cut_fields(entry.cut).items():
        if np.asarray(value).dtype.hasobject:
            raise InvalidCut(f"`{_place(name)}` must be an array or a number to be journaled, got {type(value)}")
        fields[f"cut/{name}"] = value
    stream = io.BytesIO()
    np.savez(stream, **fields)
    return stream.getvalue()


def decode(payload: bytes, kinds: Kinds) -> Entry:
    """Entry of these bytes, with answers of these kinds; any exception at all says that they are none."""
    with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
        fields = {name: archive[name] for name in archive.files}
    accuracy, seconds = float(fields["accuracy"]), float(fields["seconds"])
    if not seconds >= 0:
        raise ValueError(f"the oracle took {seconds} seconds")
    if fields["query"].ndim != 1 or fields["query"].dtype != np.float64:
        raise ValueError(f"the query point is an array of {fields['query'].dtype}, shape {fields['query'].shape}")
    wishes = frozenset(_kind(name, kinds) for name in fields["wishes"].tolist())
    query = Query(fields["query"], None if np.isnan(accuracy) else accuracy, wishes)
    return Entry(query, _cut(_grouped(fields)["cut"], kinds), seconds)


def cut_fields(cut: Cut) -> dict[str, Any]:
    """All that a cut holds, by paths: `value`, `summands/0/value`, `extras/alpha`."""
    if isinstance(cut, ObjectiveCut):
        names = ["point", "value", "subgradient", "error", "lower_bound"]
    else:
        names = ["point", "violation", "normal", "error"]
    fields = {name: getattr(cut, name) for name in names}
    fields |= {f"extras/{name}": value for name, value in cut.extras.items()}
    several: dict[str, tuple[Cut, ...]] = {"further": cut.further}
    if isinstance(cut, ObjectiveCut):
        several["summands"] = cut.summands
        if cut.answers:
            fields["kinds"] = _names(type(one) for one in cut.answers)
        for one in cut.answers:
            fields |= {f"answers/{type(one).__name__}/{name}": array for name, array in one.arrays().items()}
    for name, others in several.items():
        for i, other in enumerate(others):
            fields |= {f"{name}/{i}/{inner}": value for inner, value in cut_fields(other).items()}
    return fields


def _names(kinds: Iterable[type[Answer]]) -> NDArray[np.str_]:
    return np.array([kind.__name__ for kind in kinds], dtype=np.str_)


def _kind(name: str, kinds: Kinds) -> type[Answer]:
    for kind in kinds:
        if kind.__name__ == name and issubclass(kind, Answer):
            return kind
    raise ValueError(f"it has to do with answers of the kind {name}, which neither oracle nor generator knows")


def _place(name: str) -> str:
    """How a user writes what is at a path: an extra, or an array of an answer."""
    which = max("extras/", "answers/", key=name.rfind)
    before, _, rest = name.rpartition(which)
    return f"{before.replace('/', '.')}{which[:-1]}[{rest!r}]"


def _grouped(fields: Mapping[str, NDArray[Any]]) -> dict[str, Fields]:
    """Fields by the first word of their paths, under the rest of it."""
    groups: dict[str, Fields] = {}
    for name, value in fields.items():
        first, _, rest = name.partition("/")
        groups.setdefault(first, {})[rest] = value
    return groups


def _cut(fields: Fields, kinds: Kinds) -> Cut:
    own = {name: value for name, value in fields.items() if "/" not in name}
    inner = _grouped({name: value for name, value in fields.items() if "/" in name})
    extras = {name: array.item() if array.ndim == 0 else array for name, array in inner.get("extras", {}).items()}
    further = _several(inner.get("further", {}), kinds)
    if "normal" in own:
        return FeasibilityCut(
            own["point"],
            float(own["violation"]),
            own["normal"],
            further=further,
            extras=extras,
            error=float(own["error"]),
        )
    return ObjectiveCut(
        own["point"],
        float(own["value"]),
        own["subgradient"],
        error=float(own["error"]),
        lower_bound=float(own["lower_bound"]),
        summands=_several(inner.get("summands", {}), kinds),
        extras=extras,
        further=further,
        answers=_answers(own["kinds"].tolist(), inner.get("answers", {}), kinds) if "kinds" in own else (),
    )


def _several(fields: Fields, kinds: Kinds) -> tuple[Any, ...]:
    groups = _grouped(fields)
    return tuple(_cut(groups[str(i)], kinds) for i in range(len(groups)))


def _answers(names: list[str], fields: Fields, kinds: Kinds) -> tuple[Answer, ...]:
    groups = _grouped(fields)
    return tuple(_kind(name, kinds).from_arrays(groups.get(name, {})) for name in names)
