"""The directions in which a conic problem has no end, as a problem of its own."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from oracle_opt.domains import Box, Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.quadratic import Quadratic


def recession_of(problem: ConicProblem, quadratic: Quadratic | None, domain: Domain) -> tuple[ConicProblem, Box]:
    """The problem and the domain of `ConicOracle.recession`."""
    known = domain.linear_constraints()
    if known is None or not known.has_bounds_alone or np.isfinite([known.lower, known.upper]).all():
        raise InvalidArgument(f"`domain` must have bounds alone, and not all finite, to recede in, got {domain!r}")
    box = Box(np.where(np.isinf(known.lower), -1.0, 0.0), np.where(np.isinf(known.upper), 1.0, 0.0))
    A, cones = problem.A, problem.cones
    if quadratic is not None and quadratic.roots.shape[0]:
        A = sparse.csr_array(sparse.vstack([sparse.csr_array(A), quadratic.roots]))
        cones = (*cones, Zero(quadratic.roots.shape[0]))
    return ConicProblem(problem.c, A, np.zeros(A.shape[0]), cones), box
