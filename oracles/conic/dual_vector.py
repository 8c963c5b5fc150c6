"""Vectors of the dual cone with few entries that are not zero: one of them is behind each half-space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector

ROWS, VALUES = "dual_rows", "dual_values"  # names in the `extras` of a feasibility cut
FIRST, VECTOR = "first_row", "dual"  # the same as a certificate keeps it: short, and enough for a proof


@dataclass(frozen=True, eq=False)
class DualVector:
    """A vector y with an entry for each row of A, zero but for some."""

    rows: NDArray[np.intp]  # of A, rising, where y may be other than zero: shape (k,)
    values: Vector  # y there
    short: Vector | None = None  # what the cone takes in a proof, `Cone.witness`, if that is something else

    @property
    def extras(self) -> dict[str, Any]:
        """The vector as a feasibility cut carries it."""
        proof = self.values if self.short is None else self.short
        return {ROWS: self.rows, VALUES: self.values, FIRST: int(self.rows[0]), VECTOR: proof}

    @classmethod
    def of(cls, extras: Mapping[str, Any], n_rows: int) -> DualVector | None:
        """The vector that a cut carries; `None` if it carries none of so many entries."""
        rows, values = (np.asarray(extras.get(name, ())) for name in (ROWS, VALUES))
        if rows.ndim != 1 or rows.shape != values.shape or not rows.size or rows.dtype.kind not in "iu":
            return None
        if rows.min() < 0 or rows.max() >= n_rows or not np.isfinite(values).all():
            return None
        return cls(rows.astype(np.intp), values.astype(float))


def as_rows(duals: Sequence[DualVector], n_rows: int) -> sparse.csr_array:
    """Sparse matrix whose rows are these vectors."""
    ends = np.cumsum([0, *(len(dual.rows) for dual in duals)])
    columns = np.concatenate([np.zeros(0, dtype=np.intp), *(dual.rows for dual in duals)])
    values = np.concatenate([np.zeros(0), *(dual.values for dual in duals)])
    return sparse.csr_array((values, columns, ends), shape=(len(duals), n_rows))
