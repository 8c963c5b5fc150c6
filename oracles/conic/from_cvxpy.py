"""The conic form of a cvxpy problem, and the way back to its variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, PositiveSemidefinite, SecondOrder, Zero
from oracle_opt.oracles.conic.exponential import Exponential
from oracle_opt.oracles.conic.power import Power

if TYPE_CHECKING:
    import cvxpy as cp

Variables = dict[str, Any]


@dataclass(frozen=True, eq=False)
class ConicForm:
    """``min 1/2 x @ P @ x + c @ x + offset, A @ x + b in K``, and the map from x to the problem's own variables."""

    P: sparse.csr_array | None
    c: Vector
    A: sparse.csr_array
    b: Vector
    cones: list[Cone]
    offset: float
    recover: Callable[[Vector], Variables]


def conic_form(problem: cp.Problem) -> ConicForm:
    """Let cvxpy canonicalize a problem.

    Raises
    ------
    InvalidArgument
        The problem breaks the rules of disciplined convex programming, has integer variables or parameters without a
        value, or needs a cone that is not here.
    """
    import cvxpy as cp
    from cvxpy.reductions.solution import Solution

    if not isinstance(problem, cp.Problem):
        raise InvalidArgument(f"`problem` must be a cvxpy.Problem, got {problem!r}")
    if not problem.is_dcp():
        raise InvalidArgument("`problem` must be convex by cvxpy's rules (DCP), and problem.is_dcp() is False")
    if problem.is_mixed_integer():
        raise InvalidArgument("`problem` must have continuous variables only; relax its integer ones")
    empty = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if empty:
        raise InvalidArgument(f"`problem` must have values for all parameters, got none for {', '.join(empty)}")
    data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": True})
    dims = data["dims"]
    if dims.pnd:
        raise InvalidArgument("`problem` must do without power cones of more than three entries (PowConeND, geo_mean)")
    cones: list[Cone] = []
    cones += [Zero(dims.zero)] if dims.zero else []
    cones += [Nonnegative(dims.nonneg)] if dims.nonneg else []
    cones += [SecondOrder(size) for size in dims.soc]
    cones += [PositiveSemidefinite(order) for order in dims.psd]
    cones += [Exponential() for _ in range(dims.exp)]
    cones += [Power(exponent) for exponent in dims.p3d]
    names = {variable.id: variable.name() for variable in problem.variables()}

    def recover(x: Vector) -> Variables:
        solution = Solution("optimal", 0.0, {0: x}, {}, {})
        for reduction, log in zip(reversed(chain.reductions[:-1]), reversed(inverse[:-1]), strict=True):
            solution = reduction.invert(solution, log)
        return {names[key]: np.asarray(value) for key, value in solution.primal_vars.items() if key in names}

    # cvxpy says b - A x in K
    A, b = sparse.csr_array(-data["A"]), np.asarray(data["b"], dtype=float)
    P = sparse.csr_array(data["P"]) if data.get("P") is not None and data["P"].nnz else None
    return ConicForm(P, np.asarray(data["c"], dtype=float), A, b, cones, float(inverse[-1]["offset"]), recover)
