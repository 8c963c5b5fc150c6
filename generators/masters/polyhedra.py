"""The domain as polyhedral methods need it: bounded linear constraints."""

import numpy as np

from oracle_opt import Box, Domain
from oracle_opt.arrays import Matrix, Vector

NEEDS_ROWS = "it needs a domain with linear constraints"
NEEDS_BOUNDS = "it needs a bounded domain; state a finite radius or finite bounds"


def polyhedral_refusal(domain: Domain) -> str | None:
    """Say why a cutting-plane model on a domain has no bounded master, if so.

    Parameters
    ----------
    domain : Domain
        That of the oracle.

    Returns
    -------
    str or None
        A few words, as `QueryPointGenerator.refusal` returns.
    """
    return NEEDS_ROWS if domain.promised_polyhedron() is None else boundless_refusal(domain)


def boundless_refusal(domain: Domain) -> str | None:
    """Say that the set in which a minimizer is promised has no end, if so."""
    return None if np.isfinite(domain.bounding_box()).all() else NEEDS_BOUNDS


def working_polyhedron(domain: Domain) -> Domain:
    """Return the domain itself, or the box its stated radius makes of it."""
    polyhedron = domain.promised_polyhedron()
    assert polyhedron is not None  # `refusal` refuses all other domains
    return polyhedron


def simple_part(domain: Domain) -> tuple[Domain, Matrix, Vector]:
    """The set itself, or its bounds, in which projections are simple, and the equations that are missing there."""
    constraints = domain.linear_constraints()
    assert constraints is not None  # `refusal` refuses all other domains
    if constraints.inequality_rhs is None and not domain.euclidean_only:
        return domain, np.zeros((0, domain.dimension)), np.zeros(0)
    return Box(constraints.lower, constraints.upper), constraints.equality_matrix, constraints.equality_rhs


def ball_of(domain: Domain) -> tuple[Vector, float] | None:
    """Center and radius, where the set in which a minimizer is promised is a ball; by what the domain answers."""
    stated = domain.stated_constraints()
    if stated is not None and not stated.is_everything:
        return None
    center, radius = domain.enclosing_ball()
    if not np.isfinite(radius):
        return None
    for slope in (np.ones(domain.dimension), np.arange(1.0, domain.dimension + 1.0), np.eye(1, domain.dimension)[0]):
        for one in (slope, -slope):
            least = float(one @ center) - radius * float(np.linalg.norm(one))
            if not abs(domain.minimize_linear(one)[0] - least) <= 1e-9 * (abs(least) + radius):
                return None
    return center, radius
