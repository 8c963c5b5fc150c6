"""A cvxpy problem as a conic one, and the way back: values of its variables, multipliers of its constraints."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem, Variables
from oracle_opt.oracles.conic.conic_proposal import _solved
from oracle_opt.oracles.disciplined import refuse_integers, refuse_undisciplined

if TYPE_CHECKING:
    import cvxpy as cp


class Modeled:
    """The conic form of a cvxpy problem, as cvxpy canonicalizes it for Clarabel, and the way back.

    Raises `InvalidArgument` where the problem is not disciplined convex, or with `gp` not disciplined geometric, has
    integer variables or parameters without a value, or needs a cone that is not here.
    """

    def __init__(self, problem: cp.Problem, gp: bool = False) -> None:
        import cvxpy as cp

        refuse_integers(problem)
        refuse_undisciplined(problem, gp)
        empty = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
        if empty:
            raise InvalidArgument(f"`problem` must have values for all parameters, got none for {', '.join(empty)}")
        self.problem = problem
        self._names = {variable.id: variable.name() for variable in problem.variables()}
        if not self._names:  # cvxpy makes no conic form of constants alone
            problem = cp.Problem(problem.objective, [*problem.constraints, cp.Variable() == 0])
        options = {"use_quad_obj": True}
        data, self._chain, self._inverse = problem.get_problem_data(cp.CLARABEL, gp=gp, solver_opts=options)
        self._rows = np.flatnonzero(~np.isposinf(data["b"]))  # others hold everywhere, as x <= inf
        self._n_rows = len(data["b"])
        try:
            self.form = ConicProblem.from_data(data, triangle="upper", offset=float(self._inverse[-1]["offset"]))
        except InvalidArgument as refusal:
            infinite = "; ".join(
                str(part) for part in (problem.objective, *problem.constraints) if not _is_finite(part)
            )
            if not infinite:
                raise
            raise InvalidArgument(
                "`problem` must have finite numbers but for sides that hold everywhere, such as x <= inf; look at "
                f"{' '.join(infinite.split()):.200}"
            ) from refusal

    def __call__(self, x: Vector) -> Variables:
        """The variables at a point, by name."""
        values = self._solution(x).primal_vars
        return {self._names[key]: np.asarray(value) for key, value in values.items() if key in self._names}

    def save(self, x: Vector, y: Vector, proven: bool) -> None:
        """Leave values and multipliers in the problem, as a solver of cvxpy does: optimal, or inaccurate."""
        if self._names:
            self.problem.unpack(self._solution(x, y, "Solved" if proven else "AlmostSolved"))

    def given(self) -> Vector:
        """The multipliers of the constraints, whoever solved the problem, and Clarabel's of rows that atoms make.

        Each entry of a dual value is one of y, times a number: two vectors y tell which.
        """
        m = len(self._rows)
        y = np.full(m, np.nan)
        of_ones, of_places = (
            self._solution(np.zeros(self.form.c.size), one).dual_vars
            for one in np.stack([np.ones(m), np.arange(m) + 1.0])
        )
        for constraint in self.problem.constraints:
            saved = [one.value for one in constraint.dual_variables]
            if any(value is None for value in saved):
                raise InvalidArgument(f"`multipliers` must be given: {constraint} has no dual value, solve the problem")
            held = np.concatenate([np.ravel(value, order="F") for value in saved])
            parts = [_flat(constraint, told[constraint.id]) for told in (of_ones, of_places)]
            for one, before in zip(constraint.dual_variables, saved, strict=True):
                one.save_value(before)
            used = parts[0] != 0
            y[np.rint(parts[1][used] / parts[0][used]).astype(np.intp) - 1] = held[used] / parts[0][used]
        return self._completed(y)

    def _completed(self, y: Vector) -> Vector:
        """Multipliers whose unknown ones, NaN, are best given the others: they solve what the others leave."""
        import clarabel

        form, start = self.form, 0
        missing = np.isnan(y)
        y = np.where(missing, 0.0, y)
        cones: list[Cone] = []
        for cone in form.cones:
            its = slice(start, start := start + cone.dimension)
            if isinstance(cone, Zero | Nonnegative):
                cones += [type(cone)(int(missing[its].sum()))] if missing[its].any() else []
            else:
                missing[its] = missing[its].any()
                cones += [cone] if missing[its].any() else []
        if cones:
            y[missing] = 0.0
            left = ConicProblem(form.c + form.A.T @ y, form.A[missing], form.b[missing], cones, form.P)
            found = _solved(clarabel, left, left.b)[1]
            y[missing] = np.where(np.isfinite(found), found, 0.0)
        return y

    def dual_value(self, constraint: cp.Constraint, x: Vector, y: Vector) -> Any:
        """The multiplier of a constraint, with cvxpy's sign and shape; what is saved in the problem stays."""
        if all(constraint is not one for one in self.problem.constraints):
            raise InvalidArgument(f"`what` must be a constraint of the problem that was modeled, got {constraint}")
        saved = [one.value for one in constraint.dual_variables]
        try:
            constraint.save_dual_value(self._solution(x, y).dual_vars[constraint.id])
            return constraint.dual_value
        finally:
            for one, before in zip(constraint.dual_variables, saved, strict=True):
                one.save_value(before)

    def _solution(self, x: Vector, y: Vector | None = None, status: str = "Solved") -> Any:
        """What cvxpy makes of a solver's x and multipliers."""
        z = np.zeros(self._n_rows)  # cvxpy 1.6 cannot do without
        if y is not None:
            z[self._rows] = y
        found = SimpleNamespace(status=status, x=x, z=z, obj_val=0.0, solve_time=0.0, iterations=0)
        return self._chain.invert(found, self._inverse)


def _flat(constraint: cp.Constraint, told: Any) -> Vector:
    """The dual value of a constraint that a solver's vector makes, in one vector."""
    constraint.save_dual_value(told)
    return np.concatenate([np.ravel(one.value, order="F") for one in constraint.dual_variables])


def _is_finite(part: Any) -> bool:
    """Whether all numbers in an objective or a constraint of cvxpy are finite."""
    values = [leaf.value for leaf in (*part.constants(), *part.parameters())]
    return all(np.isfinite(value.data if sparse.issparse(value) else value).all() for value in values)
