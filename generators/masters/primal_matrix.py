"""The primal matrix behind a minorant of a largest eigenvalue: what a certificate shows for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters.spectral_models import ChosenRows, Span
from oracle_opt.proof.claim import ClaimKind, CutClaim, below
from oracle_opt.proof.parts import Parts, Weighted

NOTHING = 1e-24  # share of W that no bound can tell from zero
Piece = tuple[float, Span | ChosenRows, Matrix]


@dataclass(frozen=True, eq=False)
class PrimalMatrix:
    """``W = sum_k weight_k P_k V_k P_k' + diag(d)``, of trace one: references to what the masters used."""

    order: int
    pieces: tuple[Piece, ...]
    diagonal: Vector | None

    @classmethod
    def of(
        cls,
        basis: Span | ChosenRows,
        V: Matrix,
        order: int,
        single: tuple[NDArray[np.intp], Vector],
        earlier: PrimalMatrix | None,
        share: float,
    ) -> PrimalMatrix:
        """``P V P'``, entries of the diagonal, and a share of an earlier matrix, none that is next to nothing."""
        diagonal = None
        if len(single[0]):
            diagonal = np.zeros(order)
            diagonal[single[0]] = single[1]
        pieces: tuple[Piece, ...] = ()
        if earlier is not None and share > 0:
            pieces = tuple((share * w, P, K) for w, P, K in earlier.pieces if share * w > NOTHING)
            if len(pieces) > 1 and sum(len(K) for _, _, K in pieces) > order:
                total = np.zeros((order, order))
                for w, P, K in pieces:
                    total += w * P.large(K)
                pieces = ((1.0, ChosenRows(np.arange(order), order), total),)
            if diagonal is not None and earlier.diagonal is not None:
                diagonal += share * earlier.diagonal
        return cls(order, ((1.0, basis, V), *pieces), diagonal)

    @property
    def size(self) -> int:
        """How many numbers `factor` and the diagonal have, at most."""
        columns = min(self.order, sum(len(V) for _, _, V in self.pieces))
        return self.order * columns + (0 if self.diagonal is None else self.order)

    def factor(self) -> Matrix:
        """R of at most N columns, ``R R'`` next to the sum of the pieces: what rounding made negative is left out."""
        found = []
        for weight, P, V in self.pieces:
            root = np.sqrt(weight) * _root(V)
            if isinstance(P, Span):
                found.append(P.columns @ root)
            else:
                rows = np.zeros((self.order, root.shape[1]))
                rows[P.rows] = root
                found.append(rows)
        R = np.hstack(found)
        return R if R.shape[1] <= self.order else _root(R @ R.T)


def _root(V: Matrix) -> Matrix:
    """A factor of a symmetric matrix without its negative eigenvalues."""
    values, axes = np.linalg.eigh(0.5 * (V + V.T))
    positive = values > 0
    root: Matrix = axes[:, positive] * np.sqrt(values[positive])
    return root


class PrimalWitness(Mapping[str, Matrix]):
    """Witness W of a minorant, computed when read: `factor` and, with blocks of order one, `diagonal`."""

    def __init__(self, matrix: PrimalMatrix) -> None:
        self._matrix = matrix

    @cached_property
    def _arrays(self) -> dict[str, Matrix]:
        diagonal = self._matrix.diagonal
        return {"factor": self._matrix.factor()} | ({} if diagonal is None else {"diagonal": np.maximum(diagonal, 0.0)})

    def __getitem__(self, name: str) -> Matrix:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


class PrimalParts(Parts):
    """A minorant as one claim, with the primal matrix as its witness."""

    def __init__(self, constant: float, error: float, slope: Vector, matrix: PrimalMatrix) -> None:
        self._constant, self._error, self._slope, self.matrix = constant, error, slope, matrix

    def weighted(self) -> Sequence[Weighted]:
        """Return the claim."""
        constant, witness = below(self._constant, self._error), PrimalWitness(self.matrix)
        return ((1.0, CutClaim(ClaimKind.MINORANT, constant, self._slope, witness=witness)),)

    @property
    def size(self) -> int:
        """How many numbers its slope and witness have, at most."""
        return len(self._slope) + self.matrix.size
