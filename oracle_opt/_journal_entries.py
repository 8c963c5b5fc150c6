"""An answered query as bytes: an `.npz` archive without pickles, whose names are the paths of the cut's fields."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.eigenpairs import AffineMatrix, SpectralPart
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.errors import InvalidCut

Fields = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Entry:
    """One answered query: the question, the answer and the seconds the oracle took."""

    query: Query
    cut: Cut
    seconds: float


def encode(entry: Entry) -> bytes:
    """Bytes of an entry.

    Raises
    ------
    InvalidCut
        An extra is neither an array nor a number.
    """
    accuracy = np.nan if entry.query.accuracy is None else entry.query.accuracy
    fields: dict[str, Any] = {"seconds": entry.seconds, "query": entry.query.point, "accuracy": accuracy}
    fields["wants_curvature"] = entry.query.curvature
    for name, value in cut_fields(entry.cut).items():
        if np.asarray(value).dtype.hasobject:
            raise InvalidCut(f"`{_extra(name)}` must be an array or a number to be journaled, got {type(value)}")
        fields[f"cut/{name}"] = value
    stream = io.BytesIO()
    np.savez(stream, **fields)
    return stream.getvalue()


def decode(payload: bytes) -> Entry:
    """Entry of these bytes; any exception at all says that they are none."""
    with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
        fields = {name: archive[name] for name in archive.files}
    accuracy, seconds = float(fields["accuracy"]), float(fields["seconds"])
    if not seconds >= 0:
        raise ValueError(f"the oracle took {seconds} seconds")
    if fields["query"].ndim != 1 or fields["query"].dtype != np.float64:
        raise ValueError(f"the query point is an array of {fields['query'].dtype}, shape {fields['query'].shape}")
    query = Query(fields["query"], None if np.isnan(accuracy) else accuracy, bool(fields["wants_curvature"]))
    return Entry(query, _cut(_grouped(fields)["cut"]), seconds)


def cut_fields(cut: Cut) -> dict[str, Any]:
    """All that a cut holds, by paths: `value`, `summands/0/value`, `extras/alpha`."""
    if isinstance(cut, ObjectiveCut):
        names = ["point", "value", "subgradient", "error", "lower_bound"] + ["curvature"] * (cut.curvature is not None)
    else:
        names = ["point", "violation", "normal", "error"]
    fields = {name: getattr(cut, name) for name in names}
    fields |= {f"extras/{name}": value for name, value in cut.extras.items()}
    several: dict[str, tuple[Cut, ...]] = {"further": cut.further}
    if isinstance(cut, ObjectiveCut):
        several["summands"] = cut.summands
        if cut.spectral is not None:
            part = cut.spectral
            arrays = {"trace": part.trace, "b": part.b, "values": part.values, "vectors": part.vectors}
            fields |= {f"spectral/{name}": array for name, array in (arrays | part.matrix.arrays()).items()}
    for name, others in several.items():
        for i, other in enumerate(others):
            fields |= {f"{name}/{i}/{inner}": value for inner, value in cut_fields(other).items()}
    return fields


def _extra(name: str) -> str:
    """How a user writes the extra of a path."""
    before, _, extra = name.rpartition("extras/")
    return f"{before.replace('/', '.')}extras[{extra!r}]"


def _grouped(fields: Mapping[str, NDArray[Any]]) -> dict[str, Fields]:
    """Fields by the first word of their paths, under the rest of it."""
    groups: dict[str, Fields] = {}
    for name, value in fields.items():
        first, _, rest = name.partition("/")
        groups.setdefault(first, {})[rest] = value
    return groups


def _cut(fields: Fields) -> Cut:
    own = {name: value for name, value in fields.items() if "/" not in name}
    inner = _grouped({name: value for name, value in fields.items() if "/" in name})
    extras = {name: array.item() if array.ndim == 0 else array for name, array in inner.get("extras", {}).items()}
    further = _several(inner.get("further", {}))
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
        summands=_several(inner.get("summands", {})),
        curvature=own.get("curvature"),
        extras=extras,
        further=further,
        spectral=_spectral(inner["spectral"]) if "spectral" in inner else None,
    )


def _several(fields: Fields) -> tuple[Any, ...]:
    groups = _grouped(fields)
    return tuple(_cut(groups[str(i)]) for i in range(len(groups)))


def _spectral(arrays: Fields) -> SpectralPart:
    matrix, trace = AffineMatrix.from_arrays(arrays), float(arrays["trace"])
    return SpectralPart(matrix, trace, arrays["b"], arrays["values"], arrays["vectors"])
