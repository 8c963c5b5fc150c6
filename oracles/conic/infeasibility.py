"""The proof that a conic problem has no feasible point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import ROUNDING, Nonnegative, Zero, length
from oracle_opt.words import one_line

if TYPE_CHECKING:
    from oracle_opt.oracles.conic.conic_oracle import ConicOracle


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """A vector y of the dual cone with ``b @ y < 0``: every feasible x has ``y @ A @ x <= b @ y < 0``.

    Attributes
    ----------
    dual : ndarray of shape (m,)
        y.
    reach : float
        No feasible point has a norm below this: ``-b @ y / norm(A.T @ y)``, less what y may be outside the dual cone
        and what rounding may hide. Infinite if ``A.T @ y`` is zero and y in the dual cone without any rounding.
    in_dual_cone : bool
        Whether y was found in the dual cone, cone by cone, up to rounding.
    """

    __repr__ = one_line

    dual: Vector
    reach: float
    in_dual_cone: bool

    @classmethod
    def of(cls, oracle: ConicOracle, dual: Vector) -> Infeasibility:
        """Check a vector against the data of an oracle.

        With d the distance of y from the dual cone, ``y @ (b - A @ x) >= -d norm(b - A @ x)`` for every feasible x.
        """
        cones = oracle.problem.cones
        pieces = np.split(dual, np.cumsum([cone.dimension for cone in cones])[:-1])
        away = [cone.dual_distance(piece) for cone, piece in zip(cones, pieces, strict=True)]
        inside = all(one <= 1e-9 * length(piece) for one, piece in zip(away, pieces, strict=True))
        if _exact(oracle, dual, pieces):
            return cls(dual, np.inf, True)
        size, side = np.sqrt(oracle.problem.A.multiply(oracle.problem.A).sum(axis=1)), np.abs(oracle.problem.b)
        distance, rounding = length(np.array(away)), ROUNDING * np.abs(dual)
        constant = -float(oracle.problem.b @ dual) - distance * length(side) - float(rounding @ side)
        pull = length(oracle.problem.A.T @ dual) + distance * length(size) + float(rounding @ size)
        return cls(dual, constant / pull if constant > 0 and pull > 0 else 0.0, inside)


def _exact(oracle: ConicOracle, dual: Vector, pieces: list[Vector]) -> bool:
    """Whether in exact arithmetic ``A.T @ y = 0`` and ``b @ y < 0``, with y in the dual of polyhedral cones."""
    for cone, piece in zip(oracle.problem.cones, pieces, strict=True):
        plain = isinstance(cone, Zero) or not piece.any() or (isinstance(cone, Nonnegative) and piece.min() >= 0)
        if not plain:
            return False
    used = np.flatnonzero(dual)
    A = oracle.problem.A[used].tocsc()
    y = [Fraction(entry) for entry in dual[used]]
    if sum((one * Fraction(side) for one, side in zip(y, oracle.problem.b[used], strict=True)), Fraction(0)) >= 0:
        return False
    for start, stop in zip(A.indptr[:-1], A.indptr[1:], strict=True):
        entries = zip(A.indices[start:stop], A.data[start:stop], strict=True)
        if sum((y[row] * Fraction(entry) for row, entry in entries), Fraction(0)) != 0:
            return False
    return True


def farkas_vector(A: sparse.csr_array, b: Vector, kinds: NDArray[np.object_], found: Sequence[Vector]) -> Vector:
    """Combine vectors of the dual cone, and rows known without any, to the y described at `ConicOracle.infeasibility`.

    Parameters
    ----------
    A, b
        Of the oracle.
    kinds : ndarray of shape (m,)
        The type of the cone of each row.
    found : sequence of ndarray of shape (m,)
        Vectors of the dual cone.
    """
    from scipy.optimize import linprog  # only here: the import takes time

    # in the proof equations may have either sign, inequalities one only
    units = np.eye(len(b))
    equations, inequalities = units[kinds == Zero], units[kinds == Nonnegative]
    duals = np.vstack([np.array(found).reshape(-1, len(b)), equations, -equations, inequalities])
    constants = -(duals @ b)
    if not (constants > 0).any():
        raise InvalidArgument("`cuts` must hold feasibility cuts that exclude the origin, got none")
    pull = A.T @ duals.T
    n, k = pull.shape
    identity = sparse.eye_array(n)
    # min 1'(p + q) : pull u = p - q, constants u = 1
    solved = linprog(
        np.r_[np.zeros(k), np.ones(2 * n)],
        A_eq=sparse.vstack(
            [sparse.hstack([sparse.csr_array(pull), -identity, identity]), np.r_[constants, np.zeros(2 * n)][None]]
        ),
        b_eq=np.r_[np.zeros(n), 1.0],
    )
    if solved.x is None:
        raise RuntimeError(f"HiGHS stopped with: {solved.message}")
    vector: Vector = np.maximum(solved.x[:k], 0.0) @ duals
    return vector
