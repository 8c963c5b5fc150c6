"""What oracles take from cvxpy: requirements of problems, and terms that an expression is the sum of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.known import KnownTerm, L1Term, QuadraticTerm
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


PARTS = "a sum of multiples of sum_squares(A @ z - b), where some z makes that 0, and norm1(multiply(w, z))"


def known_term(expression: cp.Expression) -> KnownTerm:
    """The term that a cvxpy expression of one variable is, a vector."""
    variables = expression.variables()
    if expression.size != 1 or len(variables) != 1:
        raise InvalidArgument(f"`known` must be a number of one variable, a vector; got {shown(expression)}")
    terms = [_term(atom, multiple, variables[0]) for atom, multiple in _atoms(expression, 1.0)]
    return sum(terms[1:], start=terms[0])


def _term(atom: Any, multiple: float, variable: Any) -> KnownTerm:
    """A multiple of squares or of absolute values."""
    matrix, offset = _affine(atom.args[0], variable)
    plain = matrix.shape[0] == matrix.shape[1] and not (matrix - np.diag(np.diag(matrix))).any()
    if type(atom).__name__ == "norm1" and plain and not offset.any() and multiple >= 0:
        return L1Term(multiple * np.abs(np.diag(matrix)))
    center = np.linalg.lstsq(matrix, -offset)[0] if offset.any() else None
    met = center is None or np.allclose(matrix @ center, -offset, rtol=1e-12, atol=1e-12 * np.abs(offset).max())
    if type(atom).__name__ == "norm1" or not met or not multiple > 0:
        raise InvalidArgument(f"`known` must be {PARTS}; got {shown(atom)}")
    if plain:
        return QuadraticTerm(2.0 * multiple, center, diagonal=np.diag(matrix) ** 2)
    return QuadraticTerm(2.0 * multiple, center, factor=matrix)


def _atoms(expression: Any, multiple: float) -> Iterator[tuple[Any, float]]:
    """The squares and norms that it is the sum of, with their multiples."""
    kind, arguments = type(expression).__name__, expression.args
    constants = [one for one in arguments if one.is_constant() and one.size == 1]
    if kind == "AddExpression":
        for one in arguments:
            yield from _atoms(one, multiple)
    elif kind in ("multiply", "MulExpression") and len(constants) == 1:
        other = arguments[0] if constants[0] is arguments[1] else arguments[1]
        yield from _atoms(other, multiple * float(constants[0].value))
    elif kind == "DivExpression" and constants and constants[0] is arguments[1]:
        yield from _atoms(arguments[0], multiple / float(constants[0].value))
    elif kind == "norm1":
        yield expression, multiple
    elif kind == "quad_over_lin" and arguments[1].is_constant():
        yield expression, multiple / float(arguments[1].value)
    else:
        raise InvalidArgument(f"`known` must be {PARTS}; got {shown(expression)}")


def _affine(expression: Any, variable: Any) -> tuple[Matrix, Vector]:
    """``matrix @ z + offset``, by its values."""
    if not expression.is_affine():
        raise InvalidArgument(f"`known` must be {PARTS}; got {shown(expression)}")
    before, columns = variable.value, []
    for point in (np.zeros(variable.size), *np.eye(variable.size)):
        variable.value = point.reshape(variable.shape)
        columns.append(np.asarray(expression.value, dtype=float).ravel())
    variable.value = before
    return np.array(columns[1:]).T - columns[0][:, None], columns[0]
