"""The conic form of a cvxpy problem, and the way back to its variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.words import shown

if TYPE_CHECKING:
    import cvxpy as cp

Variables = dict[str, Any]


def conic_form(problem: cp.Problem) -> tuple[ConicProblem, Callable[[Vector], Variables]]:
    """Let cvxpy canonicalize a problem; also the map from x to the problem's own variables.

    Raises
    ------
    InvalidArgument
        The problem breaks the rules of disciplined convex programming, has integer variables or parameters without a
        value, or needs a cone that is not here.
    """
    import cvxpy as cp
    from cvxpy.reductions.solution import Solution

    if not isinstance(problem, cp.Problem):
        raise InvalidArgument(f"`problem` must be a cvxpy.Problem, got {shown(problem)}")
    if not problem.is_dcp():
        raise InvalidArgument("`problem` must be convex by cvxpy's rules (DCP), and problem.is_dcp() is False")
    if problem.is_mixed_integer():
        raise InvalidArgument("`problem` must have continuous variables only; relax its integer ones")
    empty = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if empty:
        raise InvalidArgument(f"`problem` must have values for all parameters, got none for {', '.join(empty)}")
    data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": True})
    names = {variable.id: variable.name() for variable in problem.variables()}

    def recover(x: Vector) -> Variables:
        solution = Solution("optimal", 0.0, {0: x}, None, {})  # no multipliers are asked for
        for reduction, log in zip(reversed(chain.reductions[:-1]), reversed(inverse[:-1]), strict=True):
            solution = reduction.invert(solution, log)
        return {names[key]: np.asarray(value) for key, value in solution.primal_vars.items() if key in names}

    return ConicProblem.from_data(data, triangle="upper", offset=float(inverse[-1]["offset"])), recover
