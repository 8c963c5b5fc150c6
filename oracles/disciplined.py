"""Requirements of all oracles that are made of a cvxpy problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oracle_opt.errors import InvalidArgument
from oracle_opt.words import shown

if TYPE_CHECKING:
    import cvxpy as cp


def refuse_integers(problem: cp.Problem) -> None:
    """Refuse what is no cvxpy problem, and one with whole variables."""
    import cvxpy as cp

    if not isinstance(problem, cp.Problem):
        raise InvalidArgument(f"`problem` must be a cvxpy.Problem, got {shown(problem)}")
    if problem.is_mixed_integer():
        names = [v.name() for v in problem.variables() if v.attributes["integer"] or v.attributes["boolean"]]
        raise InvalidArgument(
            f"`problem` must have continuous variables only, and these are whole: {', '.join(names)}; relax them"
        )


def refuse_undisciplined(problem: cp.Problem, gp: bool = False) -> None:
    """Refuse a problem that is not convex, or with `gp` geometric, by the rules, and name what breaks them."""
    if gp and not problem.is_dgp():
        raise InvalidArgument("`problem` must be geometric by cvxpy's rules (DGP) with gp=True, and is not")
    if gp or problem.is_dcp():
        return
    instead = "; it is geometric (DGP): pass gp=True" if problem.is_dgp() else ""
    instead = instead or ("; it is quasiconvex (DQCP): problem.solve(qcp=True) bisects" if problem.is_dqcp() else "")
    raise InvalidArgument(f"`problem` must be convex by cvxpy's rules (DCP), and is not at {culprit(problem)}{instead}")


def culprit(problem: cp.Problem) -> str:
    """The smallest expression that breaks the rules, in words."""
    broken: Any = next(part for part in (problem.objective, *problem.constraints) if not part.is_dcp())
    while deeper := [argument for argument in broken.args if not argument.is_dcp()]:
        broken = deeper[0]
    return str(broken)
