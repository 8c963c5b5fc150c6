"""Directions along which the objective of a conic problem falls without end, told in fractions.

Along d with ``c @ d < 0``, ``P @ d = 0`` and ``-A @ d`` in K every feasible point stays feasible. A solver knows d but
for rounding, which is no such direction where K leaves no room. So what is about zero there is made zero, by
elimination in fractions, and the rest has to be inside of K.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.conic.cone_groups import ConeGroups
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.definiteness import lacking
from oracle_opt.proof.elimination import eliminated
from oracle_opt.proof.enclosure import Enclosure

NOTHING = (1e-6, 0.0)  # shares of the largest terms that are taken for zero, one after the other
LEAST = 1e-7  # share of the terms of the objective by which it has to fall
MOST = 10**6  # entries that are counted with in fractions
ELIMINATED = 3000  # entries of the rows that are made zero


def proven_ray(recession: ConicProblem, near: Vector) -> Vector | None:
    """The floats of a direction near to one that is given, of which the fractions are proven; None if none is.

    `recession` is the problem of the directions, of ``A @ d`` and of ``P @ d = 0`` as rows, all sides being 0.
    """
    A, c, groups = sparse.csr_array(recession.A), recession.c, ConeGroups(recession.cones)
    largest = float(np.abs(near).max())
    if A.nnz > MOST or not largest < np.inf or not c @ near < -LEAST * float(np.abs(c) @ np.abs(near)):
        return None
    start = near / largest
    sizes = abs(A).max(axis=1).toarray().ravel() if A.nnz else np.zeros(A.shape[0])
    for share in NOTHING:
        seconds_left()  # raises OutOfTime
        rows = A[_flat(groups, np.abs(A @ start) <= share * sizes)]
        if rows.nnz > ELIMINATED:
            continue
        d = Enclosure.of(start, exact=True).lower
        missed = -Enclosure(d, d).mapped(rows).lower
        cut = rows.indptr[1:-1]
        parts = zip(np.split(rows.indices, cut), np.split(rows.data, cut), strict=True)
        lines = [{int(k): Fraction(a) for k, a in zip(*part, strict=True) if a} for part in parts]
        moves = eliminated(zip(lines, missed, strict=False), lambda j: float(abs(start[j])) + EPS) or {}
        for j, move in moves.items():
            d[j] += move
        v = -Enclosure(d, d).mapped(A).lower
        if sum(Fraction(one) * step for one, step in zip(c.tolist(), d, strict=True)) < 0 and _within(groups, v):
            return np.array(d, dtype=float)
    return None


def _flat(groups: ConeGroups, zero: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows that have to be zero for all that the cones leave free where they are about zero."""
    flat = zero.copy()
    flat[groups.zero] = True
    for rows in groups.second:
        flat[rows] = zero[rows].all(axis=1, keepdims=True)
    for cone, rows in groups.matrices:
        left = cone.matrix(zero[rows].astype(float)).diagonal() > 0.0
        flat[rows] = cone.vector((left[:, None] | left).astype(float)) > 0.0
    return flat


def _within(groups: ConeGroups, v: NDArray[Any]) -> bool:
    """Whether fractions are in all cones, for certain; of power cones only zeros are."""
    if v[groups.zero].any() or (v[groups.plus] < 0).any() or any(v[rows].any() for _, rows in groups.others):
        return False
    for rows in groups.second:
        if (v[rows[:, 0]] < 0).any() or (v[rows[:, 0]] ** 2 < (v[rows[:, 1:]] ** 2).sum(axis=1)).any():
            return False
    for cone, rows in groups.matrices:
        whole = cone.matrix(v[rows].astype(float))
        U = whole[np.ix_(whole.any(axis=0), whole.any(axis=0))]
        if len(U) and lacking(U, error=4.0 * EPS * len(U) * float(np.abs(U).max()), most=0.0) > 0.0:
            return False
    for x, y, z in v[groups.exponential]:  # y exp(x / y) <= z
        ratio = Enclosure.of(x / y, exact=True) if y > 0 else None
        if y < 0 or (x > 0 or z < 0 if ratio is None else (ratio.exp() * y).upper.item() > z):
            return False
    return True
