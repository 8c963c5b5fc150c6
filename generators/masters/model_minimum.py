"""The least point of all cuts by linear programming, for methods that hold the model back and get stuck."""

from __future__ import annotations

from oracle_opt import Domain
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.highs import LPFailure
from oracle_opt.generators.masters.linear_program import CutLP, ModelLP, ModelMinimum
from oracle_opt.generators.masters.multicut import MulticutLP
from oracle_opt.generators.masters.polyhedral import polyhedral_refusal, working_polyhedron

LARGEST = 1000  # variables: of more the linear program takes long to set up


def model_minimum(domain: Domain, pool: CutPool) -> ModelMinimum | None:
    """Minimize the model of a pool over the domain, with the cuts of the summands where there are some.

    Parameters
    ----------
    domain : Domain
        That of the oracle.
    pool : CutPool
        With at least one objective cut.

    Returns
    -------
    ModelMinimum or None
        `None` if the domain has no end or more than 1000 variables, the feasibility cuts leave nothing, or HiGHS fails.
    """
    if domain.dimension > LARGEST or polyhedral_refusal(domain) is not None:
        return None
    polyhedron = working_polyhedron(domain)
    program: CutLP = MulticutLP(polyhedron, pool.n_summands) if pool.n_summands else ModelLP(polyhedron)
    try:
        return program.solve(pool)
    except LPFailure:
        return None
