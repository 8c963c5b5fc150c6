"""The proof that a conic problem has no feasible point."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.cuts import Cut, FeasibilityCut, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import Nonnegative, Zero

if TYPE_CHECKING:
    from oracle_opt.oracles.conic.oracle import ConicOracle


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """A vector y of the dual cone with ``b @ y < 0``: every feasible x has ``y @ A @ x >= -b @ y > 0``.

    Attributes
    ----------
    dual : ndarray of shape (m,)
        y.
    reach : float
        No feasible point has a norm below ``-b @ y / norm(A.T @ y)``; infinite if ``A.T @ y`` is zero.
    in_dual_cone : bool
        Whether y was found in the dual cone, cone by cone.
    """

    dual: Vector
    reach: float
    in_dual_cone: bool

    @classmethod
    def of(cls, oracle: ConicOracle, dual: Vector) -> Infeasibility:
        """Check a vector against the data of an oracle."""
        pieces = np.split(dual, np.cumsum([cone.dimension for cone in oracle.cones])[:-1])
        inside = all(cone.dual_contains(piece) for cone, piece in zip(oracle.cones, pieces, strict=True))
        pull, constant = float(np.linalg.norm(oracle.A.T @ dual)), -float(oracle.b @ dual)
        return cls(dual, (constant / pull if pull > 0 else np.inf) if constant > 0 else 0.0, inside)


def farkas_vector(A: sparse.csr_array, b: Vector, kinds: NDArray[np.object_], cuts: Iterable[Cut]) -> Vector:
    """Combine feasibility cuts, and rows that are known without any, to the y described at `ConicOracle.infeasibility`.

    Parameters
    ----------
    A, b
        Of the oracle.
    kinds : ndarray of shape (m,)
        The type of the cone of each row.
    cuts : iterable of cuts
        With the vectors of the dual cone among their `extras`.
    """
    from scipy.optimize import linprog  # only here: the import takes time

    found = [part.extras["dual"] for cut in cuts if isinstance(cut, FeasibilityCut) for part in (cut, *cut.parts)]
    # equations may serve the proof with either sign, inequalities with one
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
