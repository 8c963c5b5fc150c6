"""The directions in which a conic problem has no end, as a problem of its own."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from oracle_opt.domains import Box, Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem


def recession_of(problem: ConicProblem, domain: Domain) -> tuple[ConicProblem, Box]:
    """The problem and the domain of `ConicOracle.recession`."""
    known = domain.linear_constraints()
    if known is None or not known.has_bounds_alone or np.isfinite([known.lower, known.upper]).all():
        raise InvalidArgument(f"`domain` must have bounds alone, and not all finite, to recede in, got {domain!r}")
    box = Box(np.where(np.isinf(known.lower), -1.0, 0.0), np.where(np.isinf(known.upper), 1.0, 0.0))
    A, cones = problem.A, problem.cones
    if problem.P is not None:
        flat = problem.P[np.diff(problem.P.indptr) > 0]  # P @ d = 0
        A = sparse.csr_array(sparse.vstack([sparse.csr_array(A), flat]))
        cones = (*cones, Zero(flat.shape[0])) if flat.shape[0] else cones
    return ConicProblem(problem.c, A, np.zeros(A.shape[0]), cones), box
