"""What polyhedral methods need of a domain: bounded linear constraints."""

from __future__ import annotations

import numpy as np

from oracle_opt import Box, Domain, FreeSpace, NonnegativeOrthant


def polyhedral_refusal(domain: Domain) -> str | None:
    """Say why a cutting-plane model on this domain has no bounded master, if so."""
    constraints = domain.linear_constraints()
    if constraints is None:
        return "it needs a domain with linear constraints"
    if np.isinf(constraints.lower).any() or (np.isinf(constraints.upper).any() and not len(constraints.equality_rhs)):
        return "it needs a bounded domain; state a finite radius or finite bounds"
    return None


def working_polyhedron(domain: Domain) -> Domain:
    """Return the domain itself, or the box its stated radius makes of it."""
    if isinstance(domain, FreeSpace | NonnegativeOrthant):
        constraints = domain.linear_constraints()
        assert constraints is not None
        return Box(constraints.lower, constraints.upper)
    return domain
