"""The proof that a conic problem has no feasible point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from scipy import sparse

from oracle_opt.arguments import instance, instances
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import ROUNDING, Nonnegative, Zero, length
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.dual_vector import ROWS, VALUES, DualVector, as_rows
from oracle_opt.oracles.conic.row_matrix import dense_rows, row_norms
from oracle_opt.oracles.conic.rows import rows_of
from oracle_opt.words import one_line

SOME_CUTS = "a cut: pass result.history.cuts of a run with keep_cuts=True"
JOIN = 2000  # rows that join the proof at a time


class Constrained(Protocol):
    """An oracle whose constraints a vector is held against: a `ConicOracle`."""

    problem: ConicProblem


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
    def of(cls, oracle: Constrained, dual: Vector) -> Infeasibility:
        """Check a vector against the data of an oracle.

        With d the distance of y from the dual cone, ``y @ (b - A @ x) >= -d norm(b - A @ x)`` for every feasible x.
        """
        cones = oracle.problem.cones
        pieces = np.split(dual, np.cumsum([cone.dimension for cone in cones])[:-1])
        away = [cone.dual_distance(piece) for cone, piece in zip(cones, pieces, strict=True)]
        inside = all(one <= 1e-9 * length(piece) for one, piece in zip(away, pieces, strict=True))
        if _exact(oracle, dual, pieces):
            return cls(dual, np.inf, True)
        size, side = row_norms(oracle.problem.A), np.abs(oracle.problem.b)
        distance, rounding = length(np.array(away)), ROUNDING * np.abs(dual)
        constant = -float(oracle.problem.b @ dual) - distance * length(side) - float(rounding @ side)
        pull = length(oracle.problem.A.T @ dual) + distance * length(size) + float(rounding @ size)
        return cls(dual, constant / pull if constant > 0 and pull > 0 else 0.0, inside)


def _exact(oracle: Constrained, dual: Vector, pieces: list[Vector]) -> bool:
    """Whether in exact arithmetic ``A.T @ y = 0`` and ``b @ y < 0``, with y in the dual of polyhedral cones."""
    for cone, piece in zip(oracle.problem.cones, pieces, strict=True):
        plain = isinstance(cone, Zero) or not piece.any() or (isinstance(cone, Nonnegative) and piece.min() >= 0)
        if not plain:
            return False
    used = np.flatnonzero(dual)
    A = sparse.csc_array(oracle.problem.A[used])
    y = [Fraction(entry) for entry in dual[used]]
    if sum((one * Fraction(side) for one, side in zip(y, oracle.problem.b[used], strict=True)), Fraction(0)) >= 0:
        return False
    for start, stop in zip(A.indptr[:-1], A.indptr[1:], strict=True):
        entries = zip(A.indices[start:stop], A.data[start:stop], strict=True)
        if sum((y[row] * Fraction(entry) for row, entry in entries), Fraction(0)) != 0:
            return False
    return True


def known_dual(name: str, cut: FeasibilityCut, n_rows: int) -> DualVector:
    """Return the vector of the dual cone that a cut carries, or refuse a cut of another oracle."""
    dual = DualVector.of(cut.extras, n_rows)
    if dual is None:
        raise InvalidArgument(
            f"`{name}` must be a cut of this oracle, with `{ROWS}` and `{VALUES}` of its {n_rows} rows in its `extras`"
        )
    return dual


def duals_of(cuts: Iterable[Cut], n_rows: int) -> list[DualVector]:
    """Vectors of the dual cone of all feasibility cuts of a run; anything else than cuts of the oracle is refused."""
    known: list[DualVector] = []
    for i, one in enumerate(instances("cuts", cuts, object, SOME_CUTS)):
        if not isinstance(one, FeasibilityCut):
            instance(f"cuts[{i}]", one, ObjectiveCut, SOME_CUTS)
            continue
        known += [known_dual(f"cuts[{i}]", cut, n_rows) for cut in (one, *one.further)]
    return known


def infeasibility_of(oracle: Constrained, found: Sequence[DualVector]) -> Infeasibility:
    """Combine vectors of the dual cone to the y of `ConicOracle.infeasibility`, by linear programs.

    Rows known without any join where their reduced costs are negative, until there are none ("sifting").
    """
    A, b, cones = oracle.problem.A, oracle.problem.b, oracle.problem.cones
    m = len(b)
    equations, inequalities = rows_of(cones, Zero), rows_of(cones, Nonnegative)
    # in the proof equations may have either sign, inequalities one only
    rows = np.r_[equations, equations, inequalities]
    signs = np.r_[np.ones(len(equations)), -np.ones(len(equations)), np.ones(len(inequalities))]
    combined = as_rows(found, m)
    pulls, constants = (
        np.asarray(combined @ A if isinstance(A, np.ndarray) else (combined @ A).toarray()),
        -(combined @ b),
    )
    of_rows = -signs * b[rows]
    if not ((constants > 0).any() or (of_rows > 0).any()):
        raise InvalidArgument("`cuts` must hold feasibility cuts that exclude the origin, got none")
    joined = np.zeros(len(rows), dtype=bool)
    joined[np.argsort(-of_rows, kind="stable")[:JOIN]] = True
    while True:
        inside = np.flatnonzero(joined)
        u, prices, level = _least_pull(
            np.vstack([pulls, signs[inside, None] * dense_rows(A, rows[inside])]), np.r_[constants, of_rows[inside]]
        )
        reduced = -signs * (A @ prices)[rows] - level * of_rows
        wanted = np.flatnonzero(~joined & (reduced < -1e-9 * max(1.0, abs(level))))
        if not len(wanted):
            break
        joined[wanted[np.argsort(reduced[wanted], kind="stable")[:JOIN]]] = True
    y = combined.T @ u[: len(found)]
    np.add.at(y, rows[inside], signs[inside] * u[len(found) :])
    return Infeasibility.of(oracle, y)


def _least_pull(pulls: Matrix, constants: Vector) -> tuple[Vector, Vector, float]:
    """``min norm_1(u @ pulls)`` over u >= 0 with ``u @ constants = 1``: u and the multipliers of both conditions."""
    from scipy.optimize import linprog  # only here: the import takes time

    k, n = pulls.shape
    identity = sparse.eye_array(n)
    # min 1'(p + q) : pulls' u = p - q, constants u = 1
    solved = linprog(
        np.r_[np.zeros(k), np.ones(2 * n)],
        A_eq=sparse.vstack(
            [sparse.hstack([sparse.csr_array(pulls.T), -identity, identity]), np.r_[constants, np.zeros(2 * n)][None]]
        ),
        b_eq=np.r_[np.zeros(n), 1.0],
    )
    if solved.x is None:
        raise RuntimeError(f"HiGHS stopped with: {solved.message}")
    return np.maximum(solved.x[:k], 0.0), solved.eqlin.marginals[:n], float(solved.eqlin.marginals[n])
