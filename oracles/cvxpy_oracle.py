"""The value function of a cvxpy problem with parameters."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arguments import instance, real
from oracle_opt.arrays import Vector, digest, fingerprint
from oracle_opt.consistency import AnswerMemory
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Box, Domain, FreeSpace
from oracle_opt.domains.domain import checked_domain
from oracle_opt.errors import EmptyLocalizationSet, InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.conic.rows import promised_bounds
from oracle_opt.oracles.disciplined import culprit, refuse_integers, refuse_undisciplined
from oracle_opt.words import shown

if TYPE_CHECKING:
    import cvxpy as cp

_SIGNS = {"nonneg": (0.0, np.inf), "pos": (0.0, np.inf), "nonpos": (-np.inf, 0.0), "neg": (-np.inf, 0.0)}
_BLURRED = 1e4  # how much larger than the value the multipliers may be before they are taken for unbounded
_PENALTIES = (1.0, 1e2, 1e4, 1e6)


class CvxpyOracle(Oracle):
    """``f(p) = min over x of objective(x, p)`` subject to the problem's constraints, p its parameters.

    f is convex where objective and constraints are convex in x and p together. Each parameter becomes a variable v with
    the constraint ``v == p``, whose multiplier is the subgradient of f. Where no x is feasible, the nearest v for which
    one is gives the half-space that separates p from them. On the edge of the feasible p multipliers have no bound; one
    comes from ``v == p`` with an exact penalty, whose value lies below f everywhere. The programs are compiled by cvxpy
    once; a query changes their right-hand side. Cuts have no witness: what multipliers of a solver miss of being
    optimal counts times the size of the variables, which no data bound; a certificate holds "given the cuts".

    Parameters
    ----------
    problem : cvxpy.Problem
        A maximization is turned round: the oracle minimizes minus its value. The problem itself is left as it is.
    parameters : sequence of cvxpy.Parameter, optional
        Those that make up the point, each row by row; the others keep the values they have now. Default: all.
    domain : Domain, optional
        Domain of the point. Default: the signs and bounds that the parameters declare, and the radius.
    radius : float
        States that some best parameters lie within: Euclidean distance from 0 if no parameter declares anything, else
        of each entry that has no bound on a side, from 0 or from its other bound. Default 1e4; the lower bounds rest on
        it, unless all bounds are finite.
    solver : str
        Solver of cvxpy, default "CLARABEL"; "HIGHS" for linear programs.
    options : mapping, optional
        Options of the solver, as in ``problem.solve``. By default Clarabel is asked for a tenth of `accuracy`, as it
        does not keep this to the last digit, and where it does not get there once more by its own tolerances.
    accuracy : float
        What the solver is trusted to, default 1e-8: values relative to themselves, to the sum of the multipliers, which
        weigh its violations, and to the largest cost; half-spaces relative to the distance from 0. Cuts are lowered by
        so much and state twice that as their error, so a proven gap cannot be smaller; and p counts as feasible that
        near to one that is.

    Raises
    ------
    InvalidArgument
        The problem is not convex in variables and parameters together by cvxpy's rules (DCP), not parametrized by them
        (DPP), has integer variables or no parameters; a parameter with further attributes or without a value.

    References
    ----------
    .. [1] Agrawal, Amos, Barratt, Boyd, Diamond, Kolter (2019), "Differentiable convex optimization layers", NeurIPS,
       for DPP.
    .. [2] Boyd, Vandenberghe (2004), "Convex Optimization", 3.2.5 and 5.6.3, for the value function and its slope.

    Examples
    --------
    The distance of p from the unit disc, least on the segment of the domain at (1, 1):

    >>> import cvxpy as cp
    >>> from oracle_opt import Box, minimize
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import CvxpyOracle
    >>> x, p = cp.Variable(2, name="x"), cp.Parameter(2, name="p")
    >>> problem = cp.Problem(cp.Minimize(cp.norm(x - p)), [cp.norm(x) <= 1])
    >>> result = minimize(CvxpyOracle(problem, domain=Box([1, 1], [5, 5])), Kelley())
    >>> round(result.upper_bound, 4), result.cut.extras["x"].round(3).tolist()
    (0.4142, [0.707, 0.707])
    """

    gives = frozenset({FeasibilityCut})

    def __init__(
        self,
        problem: cp.Problem,
        parameters: Sequence[cp.Parameter] | None = None,
        *,
        domain: Domain | None = None,
        radius: float = 1e4,
        solver: str = "CLARABEL",
        options: Mapping[str, Any] | None = None,
        accuracy: float = 1e-8,
    ) -> None:
        import cvxpy as cp

        refuse_integers(problem)
        self.maximizes = problem.objective.NAME == "maximize"
        if not isinstance(solver, str) or solver not in cp.installed_solvers():
            raise InvalidArgument(f"`solver` must be one of {', '.join(cp.installed_solvers())}, got {shown(solver)}")
        accuracy = real("accuracy", accuracy, above=0.0, below=1.0)
        if options is not None:
            instance("options", options, Mapping, "a mapping of the solver's options by name")
        self._attempts = [dict(options or {})]
        if options is None and solver == "CLARABEL":  # which does not keep its tolerances to the last digit
            self._attempts.insert(0, dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 0.1 * accuracy))
        radius = real("radius", radius, above=0.0, infinite=True)
        self.parameters = _checked_parameters(problem, parameters)
        self.solver, self.options, self.accuracy = solver, self._attempts[0], accuracy
        self._point = [cp.Parameter(p.shape) for p in self.parameters]
        objective, constraints, copies = _joint(problem, self.parameters)
        links = [copy == point for copy, point in zip(copies, self._point, strict=True)]
        self._value = _Program(cp.Problem(cp.Minimize(objective), [*constraints, *links]), links)
        # distance to the feasible parameters, and the value with M times that distance: v - e == p
        away = [cp.Variable(p.shape) for p in self.parameters]
        links = [copy - e == point for copy, e, point in zip(copies, away, self._point, strict=True)]
        # the distance is in the maximum norm, which solvers of linear programs can take, too
        length = cp.norm_inf(cp.hstack([cp.vec(e, order="C") for e in away]))
        self._distance = _Program(cp.Problem(cp.Minimize(length), [*constraints, *objective.domain, *links]), links)
        self._factor = cp.Parameter(nonneg=True)
        self._penalty = _Program(
            cp.Problem(cp.Minimize(objective + self._factor * length), [*constraints, *links]), links
        )
        self._copies = copies
        self._names = {variable.name(): variable for variable in problem.variables()}
        size = sum(p.size for p in self.parameters)
        if domain is None:
            domain = _declared(self.parameters, radius)
        self.domain = checked_domain(domain, size, "that of the parameters")
        self.reset()

    def query(self, query: Query) -> Cut:
        """Solve the problem at the parameters.

        Returns
        -------
        ObjectiveCut or FeasibilityCut
            `extras` of an objective cut: the variables, arrays by name.

        Raises
        ------
        EmptyLocalizationSet
            No parameters are feasible.
        RuntimeError
            The problem is unbounded at the parameters, or the solver failed, or gave an answer that it calls inaccurate
            itself or that contradicts an earlier one, which proves nothing: the statuses and the point are named. The
            driver attaches the result so far as `result`.
        """
        cut = self._answered(np.asarray(query.point))
        self._n_answers += 1
        words = self._memory.conflict(cut, self._n_answers)  # the problem is convex: cvxpy's rules say so
        if words:
            raise RuntimeError(
                f"{self.solver} is less exact than `accuracy`, {self.accuracy:g}: its answers exclude each other. "
                f"{words} Try another `solver`, other `options` or a looser `accuracy`"
            )
        return cut

    def reset(self) -> None:
        """Forget the answers so far."""
        self._memory = AnswerMemory(self.domain.dimension)
        self._n_answers = 0

    def _answered(self, point: Vector) -> Cut:
        """Value or half-space at the parameters."""
        statuses = [self._solve(self._value, point)]
        if statuses[0] == "optimal":
            cut = self._objective_cut(self._value, point)
            if cut.error <= _BLURRED * self.accuracy * max(1.0, abs(cut.value)):
                return cut
        status = self._solve(self._distance, point)
        if status == "infeasible":
            raise EmptyLocalizationSet("the problem is infeasible for all parameters")
        statuses.append(status)
        if status != "optimal":
            raise self._failure(point, statuses)
        # the distance d(q) >= d(p) - y @ (q - p) is 0 where q is feasible; its multipliers y are more exact than p - v
        length, normal = float(self._distance.problem.value), -_joined(link.dual_value for link in self._distance.links)
        allowed = self.accuracy * max(1.0, float(np.abs(point).max()))
        if length > 3.0 * allowed:
            unit = float(np.linalg.norm(normal))
            return FeasibilityCut(point, (length - allowed) / unit, normal / unit)
        for factor in _PENALTIES:
            self._factor.value = factor
            statuses.append(self._solve(self._penalty, point))
            if statuses[-1] == "optimal":
                away = point - _joined(copy.value for copy in self._copies)
                if float(np.abs(away).max()) <= 10.0 * allowed:
                    return self._objective_cut(self._penalty, point)
        raise self._failure(point, statuses)

    def split(self, point: Vector) -> dict[str, Vector]:
        """Parameters at a point, arrays by name."""
        pieces = np.split(point, np.cumsum([p.size for p in self.parameters])[:-1])
        return {p.name(): piece.reshape(p.shape) for p, piece in zip(self.parameters, pieces, strict=True)}

    def identity(self) -> str:
        """The problem's expressions and the data it is compiled to, the solver, its options and its accuracy."""
        problem = self._value.problem
        compiled = fingerprint({name: part for name, part in self._compiled.items() if name != "param_prob"})
        leaves: dict[int, int] = {}
        written = digest([_written(part, leaves) for part in (problem.objective, *problem.constraints)])
        solver = f"{self.solver} {fingerprint(self.options)}, accuracy {self.accuracy!r}"
        return f"{super().identity()}, problem #{written}, compiled {compiled}, {solver}"

    @cached_property
    def _steepness(self) -> float:
        """Largest cost of a variable in the compiled program, at parameters of 0."""
        compiled = self._compiled
        return float(np.abs(compiled["c"] if "c" in compiled else compiled["q"]).max(initial=0.0))

    @property
    def _compiled(self) -> dict[str, Any]:
        """The data of the program at parameters of 0."""
        for parameter in self._point:
            parameter.value = np.zeros(parameter.shape)
        data: dict[str, Any] = self._value.problem.get_problem_data(self.solver)[0]
        return data

    def _failure(self, point: Vector, statuses: Sequence[str]) -> RuntimeError:
        """Error of solves that prove neither a value at the point nor that it is infeasible."""
        return RuntimeError(
            f"{self.solver} gives neither a value nor a proof that there is none at {_words(point)}: it stopped with "
            f"the status {', then '.join(dict.fromkeys(statuses))}. Try another `solver`, other `options` or a looser "
            "`accuracy`"
        )

    def _solve(self, program: _Program, point: Vector) -> str:
        for parameter, piece in zip(self._point, self.split(point).values(), strict=True):
            parameter.value = piece
        problem = program.problem
        failed: Exception | None = None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            for options in self._attempts:
                try:
                    problem.solve(solver=self.solver, warm_start=False, **options)
                    failed = None
                except Exception as failure:  # whatever a solver raises, some of them their own kinds of errors
                    failed = failure
                if failed is None and "inaccurate" not in str(problem.status):
                    break
        if failed is not None:
            raise RuntimeError(
                f"{self.solver} failed at {_words(point)}: {failed}. Try another `solver` or other `options`"
            ) from failed
        if problem.status == "unbounded" and program is self._value:
            raise RuntimeError(f"the problem is unbounded below at {_words(point)}, and so is its value function")
        return str(problem.status)

    def _objective_cut(self, program: _Program, point: Vector) -> ObjectiveCut:
        """``f(q) >= value - y @ (q - point)``, y the multipliers of ``v == p``.

        A solution that misses constraints by delta is off by ``multipliers @ delta``, though at a kink those next to
        small multipliers may be large; what a solver leaves of optimality is relative to the costs.
        """
        slope = -_joined(link.dual_value for link in program.links)
        value = float(program.problem.value)
        weight = float(np.abs(_joined(constraint.dual_value for constraint in program.problem.constraints)).sum())
        allowed = self.accuracy * max(1.0, abs(value), weight, self._steepness)
        extras = {name: np.array(variable.value, dtype=float) for name, variable in self._names.items()}
        return ObjectiveCut(point, value - allowed, slope, 2.0 * allowed, extras=extras)


@dataclass(frozen=True, eq=False)
class _Program:
    """A problem, and those of its constraints whose right-hand sides are the point."""

    problem: cp.Problem
    links: list[Any]


def _written(part: Any, leaves: dict[int, int]) -> Any:
    """An expression, a constraint or an atom as sequences that `digest` takes, variables numbered as they occur."""
    import cvxpy as cp

    kind = type(part).__name__
    if isinstance(part, cp.Variable | cp.Parameter):
        return kind, leaves.setdefault(part.id, len(leaves)), part.shape
    if isinstance(part, cp.Constant):
        return kind, part.value
    if isinstance(part, cp.Expression | cp.constraints.constraint.Constraint | cp.problems.objective.Objective):
        known = part.get_data() if isinstance(part, cp.Expression) else None  # of a constraint a number from a counter
        return kind, _written(known, leaves), [_written(argument, leaves) for argument in part.args]
    if isinstance(part, tuple | list):
        return [_written(one, leaves) for one in part]
    return part if isinstance(part, np.ndarray) else str(part)


def _words(point: Vector) -> str:
    return "the parameters " + np.array2string(point, precision=6, threshold=10)


def _joined(pieces: Iterable[Any]) -> Vector:
    """All entries, row by row; multipliers of cones are lists of arrays."""
    flat = [part for piece in pieces for part in (piece if isinstance(piece, list) else [piece])]
    return np.concatenate([np.asarray(part, dtype=float).ravel() for part in flat])


def _checked_parameters(problem: cp.Problem, given: Sequence[cp.Parameter] | None) -> list[cp.Parameter]:
    known = problem.parameters()
    if given is not None and (isinstance(given, str) or not isinstance(given, Iterable)):
        raise InvalidArgument(f"`parameters` must be a sequence of parameters of the problem, got {shown(given)}")
    chosen = list(known if given is None else given)
    if not chosen:
        raise InvalidArgument("`problem` must have parameters: cvxpy.Parameter(shape) where the point is to enter")
    for p in chosen:
        if not any(p is other for other in known):
            raise InvalidArgument(f"`parameters` must be parameters of the problem, got {shown(p)}")
        others = [
            name
            for name, value in p.attributes.items()
            if name not in _SIGNS and name != "bounds" and value not in (None, False)
        ]
        if others:
            raise InvalidArgument(
                f"`parameters` may declare signs and bounds only, and {p.name()} declares {', '.join(others)}"
            )
    names = [p.name() for p in chosen]
    if len(set(names)) < len(names):
        raise InvalidArgument(f"`parameters` must have names of their own, each once, got {', '.join(names)}")
    for p in known:
        if p.value is None and not any(p is other for other in chosen):
            raise InvalidArgument(f"`problem` must have values for parameters that stay fixed, got none for {p.name()}")
    return chosen


def _joint(problem: cp.Problem, chosen: Sequence[cp.Parameter]) -> tuple[Any, list[Any], list[cp.Variable]]:
    """Objective to minimize, constraints, and the variables that stand for the parameters; DCP in all of them."""
    import cvxpy as cp

    refuse_undisciplined(problem)
    fixed = {id(p): cp.Constant(p.value) for p in problem.parameters() if not any(p is other for other in chosen)}
    minimized = problem.objective.args[0]
    if isinstance(problem.objective, cp.Maximize):
        minimized = -minimized
    for signed in (
        False,
        True,
    ):  # a declared sign is a constraint, which blurs multipliers at zero: only if DCP needs it
        copies = [
            cp.Variable(p.shape, name=p.name(), **{name: True for name in _SIGNS if signed and p.attributes[name]})
            for p in chosen
        ]
        places = fixed | {id(p): copy for p, copy in zip(chosen, copies, strict=True)}
        objective = minimized.tree_copy(places)
        constraints = [constraint.tree_copy(places) for constraint in problem.constraints]
        joint = cp.Problem(cp.Minimize(objective), constraints)
        if joint.is_dcp():
            return objective, constraints, copies
    words = "" if problem.is_dcp(dpp=True) else "; it is not parametrized by the rules (DPP) either"
    raise InvalidArgument(
        f"`problem` must be convex in variables and parameters together by cvxpy's rules, else its value is not convex "
        f"in the parameters, and is not at {culprit(joint)}{words}"
    )


def _declared(parameters: Sequence[cp.Parameter], radius: float) -> Domain:
    """The signs and bounds that parameters declare, in full; the radius stands in for infinite ones, as a promise."""
    lower, upper = (np.concatenate([_side(p, side) for p in parameters]) for side in (0, 1))
    free = FreeSpace(len(lower), radius)
    if np.isinf(lower).all() and np.isinf(upper).all():
        return free
    if not 0 < radius < np.inf and np.isinf([lower, upper]).any():
        raise InvalidArgument(f"`radius` must be positive and finite, got {radius!r}")
    lower, upper, promised = promised_bounds(lower, upper, free)
    if not (lower <= upper).all():
        raise InvalidArgument("`parameters` must declare signs and bounds that some number satisfies, and they do not")
    return Box(lower, upper, promised=promised)


def _side(parameter: cp.Parameter, side: int) -> Vector:
    """Lower bounds of the entries of a parameter, or upper ones, row by row."""
    best = (max, min)[side]
    sign = best(
        [pair[side] for name, pair in _SIGNS.items() if parameter.attributes[name]], default=(-np.inf, np.inf)[side]
    )
    bounds = parameter.attributes.get("bounds")
    given = np.broadcast_to(sign if bounds is None or bounds[side] is None else bounds[side], parameter.shape)
    tighter: Vector = (np.maximum, np.minimum)[side](given.astype(float).ravel(), sign)
    return tighter
