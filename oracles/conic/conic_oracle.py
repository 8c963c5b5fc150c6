"""Linear or quadratic optimization over a product of cones, each cone seen through its separation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.answers.curvature import Curvature
from oracle_opt.arguments import callback, finite, flag, instance
from oracle_opt.arrays import Vector, digest
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.domains import Box, Domain, FreeSpace
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import Cone
from oracle_opt.oracles.conic.conic_constraints import ConicConstraints
from oracle_opt.oracles.conic.conic_problem import ConicProblem, Variables, recession_of
from oracle_opt.oracles.conic.conic_proof import ConicProof, combined_multipliers, held_multipliers
from oracle_opt.oracles.conic.conic_proposal import proposed
from oracle_opt.oracles.conic.dual_vector import FIRST, VECTOR
from oracle_opt.oracles.conic.given_multipliers import bounds_of_rows, proposal_of, ray_of
from oracle_opt.oracles.conic.infeasibility import Infeasibility
from oracle_opt.oracles.conic.lagrangian import MULTIPLIERS
from oracle_opt.oracles.conic.modeled import Modeled
from oracle_opt.oracles.conic.quadratic import POINT, Quadratic
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim, missing
from oracle_opt.proposal import Proposal
from oracle_opt.result import Result
from oracle_opt.words import shown

if TYPE_CHECKING:
    import cvxpy as cp


class ConicOracle(ConicConstraints):
    """``min 1/2 x @ P @ x + c @ x + offset`` subject to ``A @ x + s = b``, s in K, a product of cones.

    The data are those that Clarabel and SCS take, `ConicProblem` says more. Where ``s = b - A @ x`` is in K a query is
    answered with the objective. Where it is not, the answer is one half-space for each violated cone; of a matrix, one
    for each negative eigenvalue, and of inequalities, one for each that is violated. They rest on y in the dual cone of
    K, for which every feasible z has ``y @ (b - A @ z) >= 0``. The half-space farthest from x is the cut, the others
    are in `further`.

    Parameters
    ----------
    c : array_like of shape (n,)
        Objective.
    A : array_like or sparse matrix of shape (m, n)
        Rows in the order of the cones.
    b : array_like of shape (m,)
        Right-hand side.
    cones : sequence of Cone
        Their dimensions add up to m.
    domain : Domain, optional
        Further constraints known in closed form, often a `Box`. Default: a `FreeSpace`, see `radius`. With a
        `FreeSpace` the domain takes up rows, as `hold_rows` says: those become a `Box` or `Polyhedron`, which every
        query point satisfies exactly, up to 1e-9, unless they leave no point within the radius. Bounds that are rows
        are kept in full then, however large, also beside a radius of your own. The radius stands in for infinite ones
        alone, on a side from the center or from the other bound, whichever reaches farther, and is a promise. On other
        domains all rows are cuts like the other cones', and equations leave generators that need an interior none.
    radius : float, optional
        Of the `FreeSpace` where no `domain` is given: a promise that some minimizer lies there; the lower bounds rest
        on it. Without it nothing is promised. A run begins with 1e4, or with a hundred times the largest entry of
        Clarabel's solution; one that ends at the edge is followed by another with a radius a hundred times as large,
        up to 1e12, within the calls and seconds that are left, and the result is that of the last.
    P : array_like or sparse matrix of shape (n, n), optional
        Symmetric and positive semidefinite; default: the objective is linear. Values and slopes are those of P itself,
        the `error` of cuts states all rounding. Where P is singular, or indefinite by less than 1e-9 in units in which
        its diagonal is 1, what it may lack of being semidefinite counts times the squares of the domain's width.
    multicut : bool
        Whether the cuts of a quadratic objective carry those of its summands, the linear term and one square of a
        linear function for each positive eigenvalue of P, as `summands`, unless their slopes have more than 4 million
        entries. `Kelley` then needs a dozen or two calls to 1e-6, `AnalyticCenter` and `ProximalBundle` fewer, each of
        which takes longer; `LevelSet` is better off without. Default: yes.
    hold_rows : bool, optional
        Whether with a `FreeSpace` the domain takes up all equations and inequalities (`Zero` and `Nonnegative` cones);
        if not, it takes the equations alone. Default: equations and bounds, the inequalities of one variable. With a
        quadratic objective the default is all inequalities, if they are at most a thousand and the widths of all bounds
        are at least 1e-4, also relative to the largest bound. Inequalities that it does not take are cuts, found where
        they are violated: row generation, which ends linear programs exactly.
    offset : float
        Constant of the objective.
    tolerance : float
        A point x counts as feasible if it misses no row a of an equation or inequality by more than this share, default
        1e-9, of the terms of the row, ``abs(a) @ abs(x) + abs(b)``. The half-space between ``b - A @ x`` and its
        nearest point of any other cone has to be within that share of the largest term, and within
        ``tolerance * min(1, R)`` in units of x, R being the largest norm in the domain; or, relative to the terms of
        ``b - A @ x``, 7e-15. Upper bounds are values at such points: they may lie below the minimum by what is missed
        times the multipliers.
    max_half_spaces : int
        Most half-spaces of one answer, the farthest ones; default 50.
    recover : callable, optional
        Maps x to the variables of the problem that was modeled, a dict of arrays by name; `from_cvxpy` sets it.

    Attributes
    ----------
    problem : ConicProblem
        The data.
    gives : frozenset of kinds of answers
        `Curvature` of a quadratic objective; `FeasibilityCut` unless the domain has taken up all rows.
    free : FreeSpace or None
        The promise of where a minimizer lies, if the domain was one.
    quadratic : Quadratic or None
        The quadratic term.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, entries that are not finite, a P that is not symmetric or not positive semidefinite, or
        one that may not be by rounding on a domain without an end.

    References
    ----------
    .. [1] Goffin & Vial (2002), "Convex nondifferentiable optimization: a survey focused on the analytic center cutting
       plane method", for multiple deep feasibility cuts.

    Examples
    --------
    The largest x + y in the unit disc:

    >>> import numpy as np
    >>> from oracle_opt import Box, minimize
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import ConicOracle, SecondOrder, Zero
    >>> A, b = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]]), np.array([1.0, 0.0, 0.0])
    >>> oracle = ConicOracle([-1, -1], A, b, [SecondOrder(3)], domain=Box([-2, -2], [2, 2]))
    >>> round(minimize(oracle, Kelley()).upper_bound, 5)
    -1.41421

    The point of the line x + 2 y = 5 nearest to the origin:

    >>> nearest = ConicOracle([0, 0], [[1, 2]], [5], [Zero(1)], P=np.eye(2))
    >>> minimize(nearest, Kelley()).point.round(2).tolist()
    [1.0, 2.0]
    """

    witness = (FIRST, VECTOR, POINT, MULTIPLIERS)

    def __init__(
        self,
        c: ArrayLike,
        A: Any,
        b: ArrayLike,
        cones: Sequence[Cone],
        *,
        domain: Domain | None = None,
        radius: float | None = None,
        P: Any = None,
        multicut: bool = True,
        hold_rows: bool | None = None,
        offset: float = 0.0,
        tolerance: float = 1e-9,
        max_half_spaces: int = 50,
        recover: Callable[[Vector], Variables] | None = None,
    ) -> None:
        problem = ConicProblem(c, A, b, cones, P, offset)
        self._set(problem, domain, multicut, hold_rows, tolerance, max_half_spaces, recover, radius)

    def _set(
        self,
        problem: ConicProblem,
        domain: Domain | None,
        multicut: bool,
        hold_rows: bool | None,
        tolerance: float,
        max_half_spaces: int,
        recover: Callable[[Vector], Variables] | None,
        radius: float | None = None,
    ) -> None:
        """All that a constructor does once the data are checked; they are not copied."""
        self.multicut = flag("multicut", multicut)
        if recover is not None:
            callback("recover", recover, "a function of x")
        self._recover = recover
        self._constrain(problem, domain, hold_rows, tolerance, max_half_spaces, radius)
        P = problem.P
        self.quadratic = None if P is None else Quadratic(P, problem.c, problem.offset, self.domain, self.multicut)
        self.gives |= frozenset({Curvature} if self.quadratic is not None else ())

    @classmethod
    def from_cvxpy(
        cls,
        problem: cp.Problem,
        *,
        domain: Domain | None = None,
        radius: float | None = None,
        multicut: bool = True,
        hold_rows: bool | None = None,
        tolerance: float = 1e-9,
        max_half_spaces: int = 50,
        gp: bool = False,
    ) -> ConicOracle:
        """The oracle of a cvxpy problem; `variables` leads back to its variables.

        A maximization is turned round: the oracle minimizes minus the objective, and `Result.value` turns it back. What
        cvxpy knows to be a convex quadratic in the objective is P; other curvature becomes cones. After a run the
        problem has its values as after ``problem.solve()``: `value` of each variable, `dual_value` of each constraint.

        Parameters
        ----------
        problem : cvxpy.Problem
            Convex by cvxpy's rules.
        domain, radius, multicut, hold_rows, tolerance, max_half_spaces
            As above; the domain is one of cvxpy's canonical variables, so rather a `FreeSpace` than a box.
        gp : bool
            Whether the problem is geometric (DGP). By cvxpy's own reduction the oracle then minimizes the logarithm of
            the objective in the logarithms of the variables, and bounds are those of the logarithm. Default: no.

        Raises
        ------
        InvalidArgument
            The problem is not convex by cvxpy's rules, has integer variables or parameters without a value, or needs
            a cone that is not here.

        Examples
        --------
        >>> import cvxpy as cp
        >>> from oracle_opt import minimize
        >>> from oracle_opt.generators import Kelley
        >>> from oracle_opt.oracles import ConicOracle
        >>> x = cp.Variable(2, name="x")
        >>> oracle = ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1]))
        >>> oracle.variables(minimize(oracle, Kelley(), rtol=1e-7).point)["x"].round(4).tolist()
        [-0.7071, -0.7071]
        """
        modeled = Modeled(problem, flag("gp", gp))
        oracle = cls.__new__(cls)
        oracle._set(modeled.form, domain, multicut, hold_rows, tolerance, max_half_spaces, modeled, radius)
        oracle.maximizes = problem.objective.NAME == "maximize"
        return oracle

    @classmethod
    def from_problem(
        cls,
        problem: ConicProblem,
        *,
        domain: Domain | None = None,
        radius: float | None = None,
        multicut: bool = True,
        hold_rows: bool | None = None,
        tolerance: float = 1e-9,
        max_half_spaces: int = 50,
        recover: Callable[[Vector], Variables] | None = None,
    ) -> ConicOracle:
        """Make the oracle of a conic problem.

        Parameters
        ----------
        problem : ConicProblem
            Its data.
        domain, radius, multicut, hold_rows, tolerance, max_half_spaces, recover
            As above.

        Returns
        -------
        ConicOracle
            On the data of the problem.
        """
        instance("problem", problem, ConicProblem, "a ConicProblem; ConicOracle.from_cvxpy takes a cvxpy.Problem")
        oracle = cls.__new__(cls)
        oracle._set(problem, domain, multicut, hold_rows, tolerance, max_half_spaces, recover, radius)
        return oracle

    @classmethod
    def from_model(cls, model: Any, signs: str | None = None) -> ConicOracle:
        """The oracle of a linear program of another package, to `notarize` bounds of whatever solver it has.

        Its domain is the box of the columns, so that nothing is promised. Whole variables are relaxed, as `relaxation`
        says. A maximization is turned round.

        Parameters
        ----------
        model : path, highspy.Highs, linopy.Model, pyomo ConcreteModel or cvxpy.Problem
            A path is that of an MPS or LP file, which HiGHS reads; a cvxpy problem is read by `from_cvxpy`.
        signs : {'highs', 'gurobi', 'negated'}, optional
            Those of the duals of rows: what a unit more of a side adds to the objective, as HiGHS and Gurobi state it,
            or minus that, as Clarabel and SCS do where one minimizes. Default: what the duals of inequalities, and
            columns without end, tell; where they do not it is asked for.

        Returns
        -------
        ConicOracle
            It takes multipliers by the names of rows, in their order, or those that the model itself has.

        Examples
        --------
        >>> import highspy
        >>> from oracle_opt import notarize
        >>> from oracle_opt.oracles import ConicOracle
        >>> highs = highspy.Highs()
        >>> highs.setOptionValue("output_flag", False).name
        'kOk'
        >>> x, y = highs.addVariable(0, 4, name="x"), highs.addVariable(0, 4, name="y")
        >>> row = highs.addConstr(x + 2 * y >= 3, name="need")
        >>> highs.minimize(x + y)
        <HighsStatus.kOk: 0>
        >>> oracle = ConicOracle.from_model(highs)
        >>> round(notarize(oracle).lower, 9), round(notarize(oracle, {"need": 0.4}).lower, 9)
        (1.5, 1.2)
        """
        from oracle_opt.oracles.conic.linear_model import LinearModel  # that is made of this class

        if type(model).__module__.startswith("cvxpy"):
            return cls.from_cvxpy(model)
        return LinearModel.of(model, signs)

    def variables(self, point: Vector) -> Variables:
        """Variables of the modeled problem at a point, arrays by name.

        Raises
        ------
        InvalidArgument
            This oracle was made of matrices, not by `from_cvxpy`.
        """
        if self._recover is None:
            raise InvalidArgument("`variables` needs an oracle made by ConicOracle.from_cvxpy; this one has x alone")
        return self._recover(point)

    def ended(self, result: Result) -> None:
        """Leave values and multipliers in the cvxpy problem that was modeled."""
        if isinstance(self._recover, Modeled) and result.point is not None:
            self._recover.save(result.point, self.multipliers(result), result.success)

    def multipliers(self, result: Result) -> Vector:
        """The vector y of the dual cone behind a proven bound: a dual solution, as good as the bound.

        Parameters
        ----------
        result : Result
            Of a run on this oracle.

        Returns
        -------
        ndarray of shape (m,)
            One for each row, not negative for inequalities; an optimal y has ``P @ x + c + A.T @ y = 0``.
        """
        terms = [] if result.proof is None else result.proof.terms
        y = combined_multipliers(self.problem, terms)
        if result.point is None or not len(self._held) or any(MULTIPLIERS in claim.witness for _, claim in terms):
            return y
        slope = self.problem.c + self.problem.A.T @ y
        if self.problem.P is not None:
            slope = slope + self.problem.P @ result.point
        return y + held_multipliers(self.problem, self._held, result.point, slope)

    def dual_value(self, constraint: cp.Constraint, result: Result) -> Any:
        """The multiplier of a constraint of the cvxpy problem that was modeled, with cvxpy's sign and shape.

        Parameters
        ----------
        constraint : cvxpy.Constraint
            Of the problem.
        result : Result
            Of a run on this oracle that has a point.

        Returns
        -------
        ndarray, float or list
            As cvxpy gives it.

        Raises
        ------
        InvalidArgument
            The oracle was not made by `from_cvxpy`, or the problem has no such constraint.
        """
        if not isinstance(self._recover, Modeled):
            raise InvalidArgument("`dual_value` needs an oracle made by ConicOracle.from_cvxpy")
        assert result.point is not None
        return self._recover.dual_value(constraint, result.point, self.multipliers(result))

    def query(self, query: Query) -> Cut:
        """Separate the point from the cones, or give the objective there.

        Returns
        -------
        ObjectiveCut or FeasibilityCut
            The `extras` of a feasibility cut and of those in its `further` are the vector y of the dual cone behind it:
            `dual_rows`, of shape (k,), the rows of A where y may be other than zero, and `dual_values`, y there;
            `dual_vector` makes the whole of it. A certificate keeps `first_row`, the first of these rows, and `dual`, y
            there or, of a matrix, vectors q of shape (r, order) with ``y = sum of q q'``. Those of a cut of a quadratic
            objective are `point`, where it was taken.

        Raises
        ------
        EmptyLocalizationSet
            Some y of the dual cone has ``A.T @ y = 0`` and ``b @ y < 0``: no point of the domain is feasible.
        """
        cut = self._separate(query.point)
        if cut is not None:
            return cut
        x, c = query.point, self.problem.c
        if self.quadratic is None:
            return ObjectiveCut(x, float(c @ x) + self.problem.offset, c)
        return self.quadratic.cut(x, Curvature in query.wishes)

    @cached_property
    def _proof(self) -> ConicProof:
        """The proof of claims, which holds the data alone."""
        return ConicProof(self.problem, self.domain, self._held, self.tolerance, self.quadratic)

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """The dual vector and its first row, or the point of a cut of the objective; a value needs none."""
        if isinstance(claim, ValueClaim):
            return ()
        return missing(claim, *((FIRST, VECTOR) if claim.kind is ClaimKind.HALF_SPACE else (POINT,)))

    def propose(self) -> Proposal | None:
        """Clarabel's solution, with the Lagrangian at its multipliers as a minorant; `None` with cones of one's own.

        Where a direction of descent without end is proven, a feasible point is proposed.
        """
        reach = self._reach() if self.assumed else None
        words = "" if reach is None else f" within {reach:.0e} of the origin"

        def proves(dual: Vector, exact: bool) -> Bound | None:
            return (self if reach is None else self.within(reach))._proof.infeasible(dual, exact)

        proposal = proposed(self, self._proof.lagrangian, self._direction, proves, words)
        self._nowhere = proposal is not None and bool(proposal.empty)
        return proposal

    def proposed_by(self, multipliers: Any = None, point: ArrayLike | None = None) -> Proposal:
        """A minorant of one multiplier a row, of the dual cone: the better of these and of them mended.

        The signs are those of ``P @ x + c + A.T @ y = 0``, not negative for inequalities: Clarabel's and SCS's, minus
        the `row_dual` of HiGHS. Those of a cvxpy problem, by default, are its own `dual_value`, whoever solved it. Of a
        `FreeSpace` the bounds among the rows are the domain, and nothing is promised; if that proves nothing, a radius
        of the user's counts, and the words say so.
        """
        y = self._given(multipliers)
        x = None if point is None else self._placed(point)
        anywhere = self.unpromised()
        try:
            return replace(proposal_of(anywhere, anywhere._proof, y, x, self.columns), oracle=anywhere)
        except InvalidArgument:
            if self.free is None or self.assumed:
                raise
        own = copy(self)
        own._recover = None  # a cvxpy problem keeps the values that it has
        found = proposal_of(own, own._proof, y, x)
        return replace(
            found, oracle=own, words=f"{found.words}, within the radius {self.free.radius:g} that was stated"
        )

    @property
    def columns(self) -> list[str]:
        """Names of the variables, where a model has them; else none."""
        return []

    def _given(self, multipliers: Any = None) -> Vector:
        """Multipliers that a user gave, one a row of A, or those that the cvxpy problem has."""
        if multipliers is None and isinstance(self._recover, Modeled):
            return self._recover.given()
        return finite("multipliers", multipliers, (len(self.problem.b),), "one a row of `A`")

    def _placed(self, point: Any) -> Vector:
        """A point that a user gave."""
        return finite("point", point, (len(self.problem.c),), "one a column of `A`")

    def infeasible_by(self, ray: Any = None) -> Infeasibility:
        """The proof that no point is feasible, by a Farkas ray of any solver, or such a ray mended.

        Parameters
        ----------
        ray : array_like or mapping, optional
            As the multipliers that `notarize` takes of this oracle.

        Returns
        -------
        Infeasibility
            `prove_infeasible` counts it again.

        Raises
        ------
        InvalidArgument
            It proves nothing.
        """
        anywhere = self.unpromised()
        found = ray_of(anywhere, anywhere._proof, self._given(ray))
        if found is None:
            raise InvalidArgument("`ray` does not prove that no point is feasible")
        return Infeasibility.of(anywhere, found)

    def unpromised(self) -> ConicOracle:
        """The same oracle on the bounds that its rows imply, infinite where they do not, if it was on a `FreeSpace`."""
        if self.free is None:
            return self
        oracle = ConicOracle.__new__(ConicOracle)
        oracle._set(
            self.problem,
            Box(*bounds_of_rows(self.problem)),
            self.multicut,
            False,
            self.tolerance,
            self.max_half_spaces,
            None,
        )
        oracle.maximizes = self.maximizes
        return oracle

    def _direction(self, d: Vector) -> str:
        """A direction in words: what moves of the variables that were modeled, or of x."""
        moved = {"x": d} if self._recover is None else self._recover(d)
        words = ", ".join(f"{name} by {shown(value)}" for name, value in moved.items() if np.any(value))
        return f"{words}; the maximum that was modeled is inf" if self.maximizes else words

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """By the vector of the dual cone behind a half-space; of the objective, by its data and the point of the cut.

        Cones of a user's own have no proof.
        """
        return self._proof.cut(claim, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """The objective at a point that is feasible within the tolerance; `None` with cones of a user's own."""
        return self._proof.value(claim, exact)

    def prove_infeasible(self, found: Infeasibility, exact: bool = False) -> Bound | None:
        """Prove by a vector y that no point of the domain is feasible, from the data alone.

        Parameters
        ----------
        found : Infeasibility
            What `infeasibility` combined; its `dual` alone is taken.
        exact : bool
            Whether to count in fractions; else in floats, with a bound on all rounding.

        Returns
        -------
        float, Fraction or None
            By how much every point of the domain violates ``y @ A @ z <= b @ y``, which holds at feasible points;
            positive. `None` with cones of a user's own.

        Raises
        ------
        Refuted
            The vector proves nothing.
        """
        instance("found", found, Infeasibility, "what `infeasibility` returned")
        return self._proof.infeasible(found.dual, exact)

    def identity(self) -> str:
        """Cones, data, tolerance, and the rows that the domain holds."""
        if self.quadratic is None:
            return super().identity()
        return f"{super().identity()}, quadratic{' in summands' if self.multicut else ''} #{digest(self.quadratic.P)}"

    def within(self, radius: float) -> ConicOracle:
        """Return the same oracle with another radius of its `FreeSpace`.

        Raises
        ------
        InvalidArgument
            The domain is no `FreeSpace`.
        """
        if self.free is None:
            raise InvalidArgument(f"`domain` must be a FreeSpace to take another radius, got {self.domain!r}")
        oracle, domain = ConicOracle.__new__(ConicOracle), FreeSpace(self.free.dimension, radius, self.free.center)
        settings = self.multicut, self.hold_rows, self.tolerance, self.max_half_spaces, self._recover
        oracle._set(self.problem, domain, *settings)
        oracle.maximizes = self.maximizes
        return oracle

    def wider(self, result: Result | None = None) -> ConicOracle | None:
        """The same oracle with another radius if nobody promised this one and it is out of scale, else `None`.

        Before a run, and after one that found no point, the radius is a hundred times the solver's solution where this
        is not well inside, or a millionth; after a run that ended at the radius, or found no point where the solver has
        none either and does not call the problem infeasible, it is a hundred times as large as it was.
        """
        radius = self._wanted_radius(result)
        if radius is None or self._nowhere:
            return None
        oracle = self.within(radius)
        oracle.assumed, oracle._solution = True, self._solution
        return oracle

    def fixed(self) -> ConicOracle:
        """The same oracle, by the radius with which a run that asks the solver would begin."""
        if not self.assumed or self.free is None:
            return self
        return self.within(self._wanted_radius(None) or self.free.radius)

    def as_certified(self, problem: str) -> ConicOracle:
        """With the radius that a certificate names, where nobody promised another, or without any if it names none."""
        anywhere = "minimizer in " not in problem or "radius=inf," in problem
        if self.free is not None and self.free.radius < np.inf and anywhere:
            return self.unpromised()
        named = re.search(r"minimizer in FreeSpace\(\d+, radius=([^,]+),", problem)
        return self.within(float(named[1])) if self.assumed and self.free is not None and named else self

    def recession(self) -> ConicOracle:
        """Directions d with ``-A @ d`` in K, ``P @ d = 0`` and no coordinate above 1: a linear oracle, with b = 0.

        A proven negative value there means that the objective falls without end along d from any feasible point.

        Raises
        ------
        InvalidArgument
            The domain is bounded, so that nothing falls without end, or has constraints other than bounds.
        """
        problem, domain = recession_of(self.problem, self.domain if self.free is None else self.free)
        return type(self).from_problem(problem, domain=domain, tolerance=self.tolerance)
