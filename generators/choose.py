"""Which generator `minimize` takes where none is given: a short rule on what the oracle states of itself."""

import numpy as np

from oracle_opt import AnalyticUpdate, Curvature, Eigenpairs, FeasibilityCut, Oracle, QueryPointGenerator
from oracle_opt.arguments import instance
from oracle_opt.generators.analytic_center import AnalyticCenter
from oracle_opt.generators.ellipsoid import Ellipsoid
from oracle_opt.generators.kelley import Kelley
from oracle_opt.generators.level_set import LevelSet
from oracle_opt.generators.newton_bundle import NewtonBundle
from oracle_opt.generators.proximal_bundle import ProximalBundle
from oracle_opt.generators.spectral_bundle import SpectralBundle
from oracle_opt.generators.spg import SPG
from oracle_opt.generators.subgradient import Subgradient

FEW = 10  # variables, at most


def choose_generator(oracle: Oracle) -> QueryPointGenerator:
    """Return the generator that `minimize` takes for this oracle where it is given none, with default parameters.

    The choice is made before the first call, of what the oracle states: whether its function is convex, what its
    answers carry (`gives`), and what its domain answers. What answers show later, as that the function is smooth,
    `minimize` goes on with by itself.
    docs/how_to_choose.md has the rule as a table, and how far it is from the best generator on many problems.

    Parameters
    ----------
    oracle : Oracle
        It is not called.

    Returns
    -------
    QueryPointGenerator
        One that can serve the oracle, if some shipped one can.

    Raises
    ------
    InvalidArgument
        It is no oracle.

    Examples
    --------
    >>> from oracle_opt import Ball, Box, FunctionOracle
    >>> from oracle_opt.generators import choose_generator
    >>> many = FunctionOracle(lambda z: (abs(z).sum(), (z > 0) * 2.0 - 1.0), Box([-1.0] * 60, [1.0] * 60))
    >>> type(choose_generator(many)).__name__
    'ProximalBundle'
    """
    return _rule(oracle)[0]


def explain_choice(oracle: Oracle) -> str:
    """Say in a sentence which generator `choose_generator` returns for an oracle, and why.

    Parameters
    ----------
    oracle : Oracle
        The oracle that is to be minimized.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> from oracle_opt import Ball, FunctionOracle
    >>> from oracle_opt.generators import explain_choice
    >>> explain_choice(FunctionOracle(lambda z: (z @ z, 2 * z), Ball(30)))
    'No generator was given, and SPG() was chosen: the domain has no linear constraints.'
    """
    generator, reason = _rule(oracle)
    usual = type(generator)().parameters()
    words = ", ".join(f"{name}={value!r}" for name, value in generator.parameters().items() if value != usual[name])
    return f"No generator was given, and {type(generator).__name__}({words}) was chosen: {reason}."


def _rule(oracle: Oracle) -> tuple[QueryPointGenerator, str]:
    """The choice and its reason: the first line that holds decides."""
    instance("oracle", oracle, Oracle, "an Oracle; wrap a function in FunctionOracle")
    domain, gives = oracle.domain, oracle.gives
    constraints, simplices, n = domain.stated_constraints(), domain.simplices(), domain.dimension
    cuts = FeasibilityCut in gives
    if not oracle.convex:
        reason = "the function is not convex"
        return (Subgradient(), f"{reason}, and points may be infeasible") if cuts else (SPG(), reason)
    if constraints is None:
        reason = "the domain has no linear constraints"
        if (cuts or n <= FEW) and _is_bounded(oracle) and Ellipsoid().refusal(domain) is None:
            return Ellipsoid(), f"{reason}, and {'points may be infeasible' if cuts else f'at most {FEW} variables'}"
        if cuts:
            end = "too many variables for an ellipsoid" if _is_bounded(oracle) else "no end"
            return Subgradient(), f"{reason} and {end}, and points may be infeasible"
        return SPG(), reason
    if oracle.known is not None:
        taken = "a term of the function is known, and taken as it is"
        if not _is_bounded(oracle):
            return ProximalBundle(), taken
        return (LevelSet(0.5), f"{taken}; it bends") if oracle.known.curvature else (LevelSet(), taken)
    if Eigenpairs in gives and constraints.is_everything and not cuts:
        return SpectralBundle(), "the function is a largest eigenvalue, on a domain without constraints"
    if AnalyticUpdate in gives and simplices is None and not cuts:
        return SPG(), "the oracle gives analytic updates, as smooth functions of kernel weights do"
    if not _is_bounded(oracle):
        return ProximalBundle(), "no radius is stated in which a minimizer lies"
    if Curvature in gives and simplices is not None and len(simplices.sizes) == 1 and not cuts:
        return NewtonBundle(), "the oracle gives curvature, on a simplex"
    if cuts and oracle.costly:
        return AnalyticCenter(), "points may be infeasible, and calls are long, as those of large second stages"
    if cuts and oracle.curved:
        return AnalyticCenter(), "points may be infeasible, and constraints are curved, as those of cones"
    if simplices is None and not constraints.has_bounds_alone and (cuts or Curvature in gives):
        reason = "points may be infeasible" if cuts else "the oracle gives curvature"
        return Kelley(), f"the domain is a polyhedron, and {reason}, as in linear and quadratic programs"
    if cuts and oracle.polyhedral:
        return Kelley(), "points may be infeasible, and all is affine by pieces, as in a linear program"
    if cuts:
        return AnalyticCenter(), "points may be infeasible"
    if simplices is not None and oracle.polyhedral:
        return Kelley(), "all is affine by pieces, on a domain made of simplices, as in a matrix game"
    if simplices is not None:
        return ProximalBundle(), "the domain is made of simplices, and the oracle gives no curvature that helps there"
    if not constraints.is_everything and not np.isfinite([constraints.lower, constraints.upper]).all():
        return ProximalBundle(), "the bounds of the domain have no end on some side, as those of prices"
    if oracle.polyhedral:
        return ProximalBundle(), "all is affine by pieces, as in a Lagrangian relaxation"
    return ProximalBundle(), "nothing else is known of the function"


def _is_bounded(oracle: Oracle) -> bool:
    """Whether the set in which a minimizer is promised has an end in every direction."""
    return bool(np.isfinite(oracle.domain.bounding_box()).all())
