"""Projection on a polyhedron by OSQP, where the dual Newton method fails."""

from __future__ import annotations

import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Vector
from oracle_opt.domains.linear_constraints import LinearConstraints


def project_by_osqp(known: LinearConstraints, point: Vector, weights: Vector) -> Vector | None:
    """Nearest point in the norm ``sum(weights * z**2)`` within the bounds; `None` if OSQP fails, too."""
    import osqp
    from scipy import sparse

    A, b = known.inequalities
    rows = sparse.csc_matrix(np.vstack([A, known.equality_matrix, np.eye(len(point))]))
    lower = np.r_[np.full(len(b), -np.inf), known.equality_rhs, known.lower]
    upper = np.r_[b, known.equality_rhs, known.upper]
    solver = osqp.OSQP()
    tight = {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000, "polishing": True, "verbose": False}
    left = min(seconds_left(), 1e10)
    try:
        solver.setup(
            sparse.diags(weights, format="csc"), -weights * point, rows, lower, upper, time_limit=left, **tight
        )
        nearest = solver.solve(raise_error=False).x
    except osqp.OSQPException:
        return None
    if nearest is None or not np.isfinite(nearest).all():
        return None
    clipped: Vector = np.clip(nearest, known.lower, known.upper)
    return clipped
