"""The adapter that makes an oracle of functions: of value and gradient, of values alone, or of another library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from oracle_opt.answers.answer import Answer
from oracle_opt.arguments import callback, called_otherwise, flag, instance, instances, real, text
from oracle_opt.arrays import EPS, Matrix, Vector, real_array, refuse_single
from oracle_opt.cuts import Cut, FeasibilityCut, Kind, ObjectiveCut, Query, owned
from oracle_opt.domains import Domain
from oracle_opt.errors import EmptyLocalizationSet, InvalidArgument, InvalidCut
from oracle_opt.feasibility import FAR, allowed
from oracle_opt.oracle import Oracle
from oracle_opt.proof.claim import CutClaim, ValueClaim
from oracle_opt.words import shown

if TYPE_CHECKING:
    from fractions import Fraction

A_KIND = "FeasibilityCut or a kind of Answer"
C = TypeVar("C", ObjectiveCut, FeasibilityCut)
POINT = "point"  # the witness that an oracle made of a function provides itself
A_PROOF = "a function of a claim and of `exact` that returns a number or None"
A_FUNCTION = "a function of a point that returns (value, subgradient)"
AN_EQUATION = "domain=Polyhedron(equality_matrix=..., equality_rhs=..., lower=..., upper=...)"
OPPOSITE = 1e-12  # rounding of linear parts, relative to their terms
A_DOMAIN = "a Domain such as Box(lower, upper)"


class FunctionOracle(Oracle):
    """An oracle made of a function, perhaps with constraints that are functions.

    The function gets a copy of the point, and what it returns is copied: it may change the one and use the other
    again. Several runs may share the oracle; whether they may share the function is the function's matter.

    A function without gradients has `from_values`, one of JAX or PyTorch `from_jax` and `from_torch`.

    Parameters
    ----------
    function : callable
        Maps a point, an ndarray of shape (n,), to ``(value, subgradient)`` or to a cut. The value +inf says "not here".
    domain : Domain
        Where the function is minimized.
    constraints : sequence of callable
        Convex functions; z is feasible where all are at most 0. Each maps a point to ``(value, subgradient)``. A point
        that violates some is answered by a cut for each of these, the most violated first in its unit, and the
        function itself is asked at no such point.
    tolerance : float
        A point z counts as feasible where each constraint, with value v and subgradient s there, has
        ``v <= tolerance * (abs(s) @ abs(z) + abs(s @ z - v))``, but for rounding: the step that mends it is small
        beside the entries of z that it changes.
    gives : iterable of kinds of answers
        What the function may return besides value and subgradient: `FeasibilityCut`, kinds of `Answer` in its cuts.
    convex : bool
        Whether the function is convex.
    name : str, optional
        Tells this problem from others in a journal; default is the function's name.
    witness : iterable of str
        Names of the `extras` of the function's cuts that prove them, as `Oracle.witness`. The name ``"point"`` stands
        for the query point, which is added to the extras by itself. Default: none.
    prove_cut, prove_value : callable, optional
        What judges claims: called as `Oracle.prove_cut` and `Oracle.prove_value` are, with the claim and `exact`.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import FunctionOracle, Query, Simplex
    >>> oracle = FunctionOracle(lambda z: (z @ z, 2 * z), Simplex(2))
    >>> oracle.query(Query(np.array([0.5, 0.5]))).value
    0.5

    The point of a disk that is nearest to (2, 1):

    >>> from oracle_opt import Box, minimize
    >>> target = np.array([2.0, 1.0])
    >>> disk = lambda z: (z @ z - 1, 2 * z)
    >>> nearest = FunctionOracle(lambda z: ((z - target) @ (z - target), 2 * (z - target)), Box([-2, -2], [2, 2]),
    ...                          constraints=[disk])
    >>> minimize(nearest).point.round(2).tolist()
    [0.89, 0.45]
    """

    stateless = True

    @called_otherwise(equalities=AN_EQUATION, domain=A_DOMAIN + " or FreeSpace(n), where it is minimized")
    def __init__(
        self,
        function: Callable[[Vector], tuple[Any, Any] | Cut],
        domain: Domain,
        *,
        constraints: Sequence[Callable[[Vector], tuple[Any, Any]]] = (),
        tolerance: float = 1e-9,
        gives: Iterable[Kind] = (),
        convex: bool = True,
        name: str | None = None,
        witness: Iterable[str] = (),
        prove_cut: Callable[[CutClaim, bool], float | Fraction | None] | None = None,
        prove_value: Callable[[ValueClaim, bool], float | Fraction | None] | None = None,
    ) -> None:
        self.function = callback("function", function, A_FUNCTION)
        self.domain = instance("domain", domain, Domain, A_DOMAIN)
        if callable(constraints):
            raise InvalidArgument(f"`constraints` must be a list of functions, got {shown(constraints)}; pass [it]")
        self.constraints = tuple(
            callback(f"constraints[{i}]", one, A_FUNCTION)
            for i, one in enumerate(instances("constraints", constraints, object, A_FUNCTION))
        )
        self.tolerance = real("tolerance", tolerance, least=0.0)
        self.gives = frozenset(instances("gives", gives, type, A_KIND))
        for kind in self.gives:
            if not issubclass(kind, Answer | FeasibilityCut):
                raise InvalidArgument(f"`gives` must hold {A_KIND}, got {shown(kind)}")
        if self.constraints:
            self.gives |= {FeasibilityCut}
        self.convex = flag("convex", convex)
        self.name = _name(function) if name is None else text("name", name)
        names = instances("witness", witness, str, "the name of one of a cut's extras")
        self.witness = names or type(self).witness  # a subclass may name them
        self._prove_cut = None if prove_cut is None else callback("prove_cut", prove_cut, A_PROOF)
        self._prove_value = None if prove_value is None else callback("prove_value", prove_value, A_PROOF)

    @classmethod
    def from_values(
        cls,
        function: Callable[[Vector], float],
        domain: Domain,
        *,
        accuracy: float = 1e-14,
        executor: Executor | None = None,
        **options: Any,
    ) -> Self:
        """Make an oracle of a convex function that returns its value alone, by finite differences.

        A query takes ``2 n + 1`` values, twice as many near a kink. The slopes of f in each direction lie between two
        difference quotients; what that leaves open over the whole domain is the `error` of the cut, so that bounds
        hold in spite of it. The gap that can be reached is about ``1e-7 * n`` times the size of f, more in a large
        domain.

        The `function` maps a point of shape (n,) to a finite number, in the smallest box around the `domain`, which is
        bounded, or has a promised radius; n is at most 50. A value may be wrong by `accuracy` at most, relative to
        ``max(1, abs(value))``. An `executor` computes the values of a query at the same time; processes need a function
        that can be pickled. The `options` are as of the constructor, without `gives`.
        """
        from oracle_opt.differences import Differences

        instance("domain", domain, Domain, A_DOMAIN)
        return cls(Differences(function, domain, accuracy, executor), domain, **{"name": _name(function), **options})

    @classmethod
    def from_jax(cls, function: Callable[[Any], Any], domain: Domain, **options: Any) -> Self:
        """Make an oracle of a convex function written in JAX; its gradient is taken in double precision.

        The `function` maps a JAX array of shape (n,) to a number and is compiled at the first call. The `domain` and
        the `options` are as of the constructor, and `constraints` functions of the same kind. `MissingPackage` says
        that JAX is not installed.
        """
        from oracle_opt.autodiff import of_jax

        return cls._differentiated(of_jax, function, domain, options)

    @classmethod
    def from_torch(cls, function: Callable[[Any], Any], domain: Domain, **options: Any) -> Self:
        """Make an oracle of a `function` in PyTorch of a tensor; `domain` and `options` are as for `from_jax`."""
        from oracle_opt.autodiff import of_torch

        return cls._differentiated(of_torch, function, domain, options)

    @classmethod
    def _differentiated(
        cls, bridge: Callable[..., Any], function: Callable[[Any], Any], domain: Domain, options: dict[str, Any]
    ) -> Self:
        """An oracle of a function, and of constraints, that another library differentiates."""
        constraints = options.pop("constraints", ())
        if not callable(constraints):  # a single function is refused by the constructor
            given = instances("constraints", constraints, object, "a function of a point")
            constraints = [bridge(f"constraints[{i}]", one) for i, one in enumerate(given)]
        return cls(bridge("function", function), domain, constraints=constraints, **options)

    def query(self, query: Query) -> Cut:
        """Evaluate the constraints at the query point, and the function where all hold."""
        cut: Any = self._violated(query.point, self.tolerance)
        if cut is None:
            cut = self._evaluated(query.point)
        answered: Cut = _with_point(cut) if POINT in self.witness else cut
        return answered

    @cached_property
    def _extent(self) -> Vector:
        """Largest size of each variable in the domain."""
        extent: Vector = np.abs(self.domain.bounding_box()).max(axis=0)
        return extent

    def separation(self, point: Vector) -> FeasibilityCut | None:
        """Cuts of the constraints that are above 0 but for rounding, the most violated first."""
        return self._violated(point, 0.0)

    def missed(self, point: Vector) -> list[tuple[float, float]]:
        """Values of the constraints at a `point` of the domain, each with the largest one that counts as held there."""
        answers = [self._constraint(i, point) for i in range(len(self.constraints))]
        return [(value, self._allowed(value, normal, point, self.tolerance)) for value, normal in answers]

    def _allowed(self, value: float, normal: Vector, point: Vector, tolerance: float) -> float:
        """Up to which value a constraint counts as held: in the unit of the terms of its linear part at the point."""
        side = np.array([float(normal @ point) - value])
        return float(allowed(np.abs(normal[None]), point, side, tolerance, self._extent)[0])

    def _constraint(self, i: int, point: Vector) -> tuple[float, Vector]:
        """Value and subgradient of a constraint."""
        answer = self.constraints[i](point.copy())
        try:
            value, slope = _pair(answer, point)
            finite = abs(value) < inf and bool(np.isfinite(slope).all())
        except (TypeError, ValueError) as problem:
            raise InvalidCut(
                f"`constraints[{i}]` must return (value, subgradient), got {answer!r}: {problem}"
            ) from problem
        if not finite:
            raise InvalidCut(f"`constraints[{i}]` must return finite numbers, got {answer!r} at {point!r}")
        return value, slope

    def _violated(self, point: Vector, tolerance: float) -> FeasibilityCut | None:
        """Cuts of the constraints that are violated, the most violated first; `None` if the point counts as feasible.

        The error of a cut is what a point that counts as feasible may be above it, for a constraint that is linear.
        """
        cuts, answers = [], []
        for i in range(len(self.constraints)):
            value, normal = self._constraint(i, point)
            answers.append((value, normal))
            error = self._allowed(value, normal, point, tolerance)
            if value > error:
                if not normal.any():
                    raise EmptyLocalizationSet(
                        f"`constraints[{i}]` is {value!r} with a slope of 0: if it is convex and meant to be at most 0 "
                        "(scipy's are at least 0 and have the other sign), no point is feasible"
                    )
                cuts.append((value / (error or 1.0), FeasibilityCut(point, value, normal, error=error)))
        if not cuts:
            return None
        self._refuse_equation(answers, point)
        first, *others = (cut for _, cut in sorted(cuts, key=lambda one: -one[0]))
        return replace(first, further=tuple(others))

    @np.errstate(all="ignore")
    def _refuse_equation(self, answers: list[tuple[float, Vector]], point: Vector) -> None:
        """Refuse opposite affine constraints that leave no width, but of one variable: they are one equation."""
        values, normals = (np.array(part) for part in zip(*answers, strict=True))
        units = np.array([size or 1.0 for size in np.abs(normals).max(axis=1)])
        slopes, sides = normals / units[:, None], values / units
        i = int(sides.argmax())
        terms = sides[i] + np.abs(slopes[i]) @ np.abs(point)
        same = (np.abs(slopes + slopes[i]).max(axis=1) <= OPPOSITE) & (np.abs(sides + sides[i]) <= OPPOSITE * terms)
        for j in map(int, np.flatnonzero(same & (len(point) > 1))):
            if (side := self._equation([i, j], units[[i, j]], slopes[[i, j]])) is not None:
                raise InvalidArgument(
                    f"`constraints[{j}]` and `constraints[{i}]` are opposite: both hold where {shown(normals[i])} @ z "
                    f"== {side!r}. Put that equality into the domain: {AN_EQUATION}"
                )

    def _equation(self, pair: list[int], units: Vector, slopes: Matrix) -> float | None:
        """The right-hand side where two constraints are seen to be one affine equation; `None` if that is not clear."""
        near, seen = np.zeros(slopes.shape[1]), []
        for k in range(6):  # near 0, where terms are small, and in the middle; far out, where curves have turned
            corner = self.domain.bounding_box()[k % 2] if k > 3 else near
            far = np.linspace(0.3, 0.6, len(near)) * (np.nan_to_num(corner, posinf=FAR, neginf=-FAR) - near)
            here = self.domain.project(near + far)
            try:
                asked = [self._constraint(i, here) for i in pair]
            except Exception:  # a function may have no answer where no method asked
                return None
            values, normals = (np.array(part) for part in zip(*asked, strict=True))
            sides, there = values / units, normals / units[:, None]
            size, width = float(np.abs(sides).max()), -float(sides.sum())
            rounding = (len(near) + 2) * EPS * (size + np.abs(slopes[0]) @ np.abs(here))
            turned = max(np.abs(there - slopes).max(), np.abs(there.sum(axis=0)).max())
            if sides.max() < 0 or turned > 4.0 * EPS or abs(width) > rounding or (k == 3 and size > 2.0 * rounding):
                return None
            seen.append((width - 4.0 * EPS * size, float(normals[0] @ here - values[0])))
            if k < 3:
                end = self.domain.minimize_linear(slopes[int(sides[0] < sides[1])])[1]
                way = np.nan_to_num(end, posinf=FAR, neginf=-FAR) - here
                near = here + 0.5 * abs(sides[0] - sides[1]) / (abs(slopes[0] @ way) or 1.0) * way
        return seen[3][1] if min(seen[1:4])[0] <= 0 else None  # a width that is no rounding has one sign

    def _evaluated(self, point: Vector) -> Cut:
        """The answer of the function at a feasible point."""
        answer = self.function(point.copy())
        try:
            if isinstance(answer, ObjectiveCut | FeasibilityCut):
                return owned(answer)
            return ObjectiveCut(point, *_pair(answer, point))
        except (TypeError, ValueError, AttributeError) as problem:
            raise InvalidCut(
                f"`function` must return (value, subgradient) or a cut, got {answer!r}: {problem}"
            ) from problem

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        """Ask the function that was passed under this name; `None` without one."""
        return None if self._prove_cut is None else self._prove_cut(claim, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """Ask the function that was passed under this name; `None` without one."""
        return None if self._prove_value is None else self._prove_value(claim, exact)

    def __repr__(self) -> str:
        return f"FunctionOracle({shown(self.name)}, on {shown(self.domain)})"

    def identity(self) -> str:
        """Name of the function, and what it is said to be; what the function computes is not known here."""
        gives = f", gives {' '.join(sorted(kind.__name__ for kind in self.gives))}" if self.gives else ""
        names = " ".join(map(_name, self.constraints))
        constrained = f", constraints {names} up to {self.tolerance!r}" if names else ""
        return f"{super().identity()}, function {self.name}{gives}{constrained}"


def _pair(answer: Any, point: Vector) -> tuple[float, Vector]:
    """Value and subgradient, as numbers; where the value is +inf nobody reads the subgradient, and it may be None."""
    value, subgradient = answer
    number = value
    if not isinstance(value, float):
        if np.shape(value) == point.shape and subgradient is not None and np.ndim(subgradient) == 0:
            raise ValueError("the subgradient stands first; did you swap them?")
        number = real_array(value).reshape(())
    number = float(number)
    if number == inf:
        return number, np.zeros(point.shape)
    if not (isinstance(value, float) and isinstance(subgradient, np.ndarray) and subgradient.dtype == np.float64):
        refuse_single(value, subgradient)
    return number, real_array(subgradient)


def _name(function: Any) -> str:
    """The name of a function in an identity."""
    return str(getattr(function, "__qualname__", repr(function)))


def _with_point(cut: C) -> C:
    """The cut, and all that came with it, with the query point among its extras."""
    extras, further = {**cut.extras, POINT: cut.point}, tuple(_with_point(one) for one in cut.further)
    parts: dict[str, Any] = {"further": further}
    if isinstance(cut, ObjectiveCut):
        parts["summands"] = tuple(_with_point(one) for one in cut.summands)
    return replace(cut, extras=extras, **parts)
