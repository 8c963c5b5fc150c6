"""Linear or quadratic optimization over a product of cones, each cone seen through its separation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.answers.curvature import Curvature
from oracle_opt.arguments import callback, flag, instance, instances, real, whole
from oracle_opt.arrays import Vector, digest, fingerprint
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Box, Domain, FreeSpace
from oracle_opt.domains.domain import checked_domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.from_cvxpy import Variables, conic_form
from oracle_opt.oracles.conic.half_spaces import HalfSpaces, extent_of
from oracle_opt.oracles.conic.infeasibility import Infeasibility, farkas_vector
from oracle_opt.oracles.conic.quadratic import Quadratic
from oracle_opt.oracles.conic.rows import domain_of_rows
from oracle_opt.words import shown

if TYPE_CHECKING:
    import cvxpy as cp


SOME_CUTS = "a cut: pass result.history.cuts of a run with keep_cuts=True"
HELD = 1000  # the domain takes up at most so many inequalities unasked: it is made of dense matrices


class ConicOracle(Oracle):
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
        Further constraints known in closed form, often a `Box`. Default: `FreeSpace` of radius 1e4, a promise that
        some minimizer lies there; the lower bounds rest on it. With a `FreeSpace` the domain takes up rows, as
        `hold_rows` says: those become a `Box` or `Polyhedron`, which every query point satisfies exactly, up to 1e-9,
        unless they leave no point within the radius. On other domains all rows are cuts like the other cones', and
        equations leave generators that need an interior none.
    P : array_like or sparse matrix of shape (n, n), optional
        Symmetric and positive semidefinite; default: the objective is linear.
    multicut : bool
        Whether the cuts of a quadratic objective carry those of its summands, the linear term and one square of a
        linear function for each positive eigenvalue of P, as `summands`. `Kelley` then needs a dozen or two calls to
        1e-6, `AnalyticCenter` and `ProximalBundle` fewer, each of which takes longer; `LevelSet` is better off without.
        Default: yes.
    hold_rows : bool, optional
        Whether with a `FreeSpace` the domain takes up all equations and inequalities (`Zero` and `Nonnegative` cones);
        if not, it takes the equations alone. Default: equations and bounds, the inequalities of one variable, and
        with a quadratic objective all inequalities, if they are at most a thousand. Inequalities that it does not take
        are cuts, found where they are violated: row generation, which ends linear programs exactly.
    offset : float
        Constant of the objective.
    tolerance : float
        A point x counts as feasible if it is as near as this, default 1e-9, to every half-space, in units of x: that of
        an equation or inequality within ``tolerance * max(1, norm(x))``; that between ``b - A @ x`` and its nearest
        point of any other cone within ``tolerance`` or, relative to the terms of ``b - A @ x``, 7e-15. Upper
        bounds are values at such points: they may lie below the minimum by the distances from the cones times the
        multipliers.
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
        Shapes that do not fit, entries that are not finite, a P that is not symmetric or not positive semidefinite.

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
    >>> from oracle_opt.oracles import ConicOracle, SecondOrder
    >>> A, b = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]]), np.array([1.0, 0.0, 0.0])
    >>> oracle = ConicOracle([-1, -1], A, b, [SecondOrder(3)], domain=Box([-2, -2], [2, 2]))
    >>> round(minimize(oracle, Kelley()).upper_bound, 5)
    -1.41421

    The point of the line x + 2 y = 5 nearest to the origin:

    >>> from oracle_opt.oracles import Zero
    >>> nearest = ConicOracle([0, 0], [[1, 2]], [5], [Zero(1)], P=np.eye(2))
    >>> minimize(nearest, Kelley()).point.round(2).tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        c: ArrayLike,
        A: Any,
        b: ArrayLike,
        cones: Sequence[Cone],
        *,
        domain: Domain | None = None,
        P: Any = None,
        multicut: bool = True,
        hold_rows: bool | None = None,
        offset: float = 0.0,
        tolerance: float = 1e-9,
        max_half_spaces: int = 50,
        recover: Callable[[Vector], Variables] | None = None,
    ) -> None:
        self.problem = ConicProblem(c, A, b, cones, P, offset)
        m, n = self.problem.A.shape
        self.tolerance = real("tolerance", tolerance, least=0.0)
        self.max_half_spaces = whole("max_half_spaces", max_half_spaces)
        self.domain = checked_domain(FreeSpace(n, 1e4) if domain is None else domain, n, "that of `c`")
        self.quadratic = None if self.problem.P is None else Quadratic(self.problem.P)
        self.multicut = flag("multicut", multicut)
        self.hold_rows = None if hold_rows is None else flag("hold_rows", hold_rows)
        if recover is not None:
            callback("recover", recover, "a function of x")
        self._recover = recover
        known = self.domain.linear_constraints()
        self.free: FreeSpace | None = None
        if known is not None and known.is_everything:
            center, radius = self.domain.enclosing_ball()
            self.free = FreeSpace(n, radius, center)
        self._half_spaces = HalfSpaces(self.problem, self.tolerance, self.max_half_spaces)
        used = self.problem.cones
        self._kinds = np.repeat([type(cone) for cone in used], [cone.dimension for cone in used])
        self._held = np.zeros(0, dtype=np.intp)  # rows that the domain holds
        if self.free is not None:
            self._hold(self.free)
        self.gives = frozenset({FeasibilityCut} if len(self._held) < m else ())
        self.gives |= frozenset({Curvature} if self.quadratic is not None else ())
        self._extent = extent_of(self.domain)

    def _hold(self, free: FreeSpace) -> None:
        """Make equations, bounds and perhaps all inequalities a part of the domain, unless no point near is left."""
        equations, inequalities = np.flatnonzero(self._kinds == Zero), np.flatnonzero(self._kinds == Nonnegative)
        quadratic = self.quadratic is not None
        if self.hold_rows is False:
            inequalities = inequalities[:0]
        elif self.hold_rows is None and not (quadratic and len(inequalities) <= HELD):
            inequalities = inequalities[np.diff(self.problem.A.indptr)[inequalities] == 1]
        if not len(equations) + len(inequalities):
            return
        domain = domain_of_rows(self.problem.A, self.problem.b, equations, inequalities, free, quadratic)
        if domain is not None:
            self.domain, self._held = domain, np.r_[equations, inequalities]

    @classmethod
    def from_cvxpy(
        cls,
        problem: cp.Problem,
        *,
        domain: Domain | None = None,
        multicut: bool = True,
        hold_rows: bool | None = None,
        tolerance: float = 1e-9,
        max_half_spaces: int = 50,
    ) -> ConicOracle:
        """The oracle of a cvxpy problem; `variables` leads back to its variables.

        A maximization is turned round: the oracle minimizes minus the objective. What cvxpy knows to be a convex
        quadratic in the objective is P; other curvature becomes cones.

        Parameters
        ----------
        problem : cvxpy.Problem
            Convex by cvxpy's rules.
        domain, multicut, hold_rows, tolerance, max_half_spaces
            As above; the domain is one of cvxpy's canonical variables, so rather a `FreeSpace` than a box.

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
        form, recover = conic_form(problem)
        return cls.from_problem(
            form,
            domain=domain,
            multicut=multicut,
            hold_rows=hold_rows,
            tolerance=tolerance,
            max_half_spaces=max_half_spaces,
            recover=recover,
        )

    @classmethod
    def from_problem(
        cls,
        problem: ConicProblem,
        *,
        domain: Domain | None = None,
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
        domain, multicut, hold_rows, tolerance, max_half_spaces, recover
            As above.

        Returns
        -------
        ConicOracle
            On the data of the problem.
        """
        instance("problem", problem, ConicProblem, "a ConicProblem; ConicOracle.from_cvxpy takes a cvxpy.Problem")
        return cls(
            problem.c,
            problem.A,
            problem.b,
            problem.cones,
            domain=domain,
            P=problem.P,
            multicut=multicut,
            hold_rows=hold_rows,
            offset=problem.offset,
            tolerance=tolerance,
            max_half_spaces=max_half_spaces,
            recover=recover,
        )

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

    def query(self, query: Query) -> Cut:
        """Separate the point from the cones, or give the objective there.

        Returns
        -------
        ObjectiveCut or FeasibilityCut
            The `extras` of a feasibility cut and of those in its `further`: `dual`, the vector y of the dual cone, of
            shape (m,).

        Raises
        ------
        EmptyLocalizationSet
            Some y of the dual cone has ``A.T @ y = 0`` and ``b @ y < 0``: no point of the domain is feasible.
        """
        cuts = self._half_spaces.at(query.point, self._held, self._extent)
        if not cuts:
            return self._objective(query.point, Curvature in query.wishes)
        first, rest = cuts[0], tuple(cuts[1 : self.max_half_spaces])
        return FeasibilityCut(first.point, first.violation, first.normal, rest, first.extras, first.error)

    def _objective(self, x: Vector, wished: bool) -> ObjectiveCut:
        """Value and gradient, with the cuts of its summands, and the root of P where it is asked for."""
        c = self.problem.c
        linear = float(c @ x) + self.problem.offset
        if self.quadratic is None:
            return ObjectiveCut(x, linear, c)
        curved, pull = self.quadratic.at(x)
        summands = (ObjectiveCut(x, linear, c), *self.quadratic.summands(x)) if self.multicut else ()
        answers = (Curvature(self.quadratic.roots.toarray()),) if wished else ()
        return ObjectiveCut(x, linear + curved, c + pull, summands=summands, answers=answers)

    def __repr__(self) -> str:
        return f"ConicOracle({self.problem!r}, on {shown(self.domain)})"

    def identity(self) -> str:
        """Cones, data, tolerance, and the rows that the domain holds."""
        it = self.problem
        data = digest(it.c, it.offset, it.A, it.b, self._held, [fingerprint(cone) for cone in it.cones])
        words = f"#{data}, tolerance {self.tolerance!r}, at most {self.max_half_spaces} half-spaces"
        if self.free is not None:
            words += f", minimizer in {self.free.identity()}"
        if self.quadratic is not None:
            words += f", quadratic{' in summands' if self.multicut else ''} #{digest(self.quadratic.P)}"
        return f"{super().identity()}, {len(it.cones)} cones {words}"

    def within(self, radius: float) -> ConicOracle:
        """Return the same oracle with another radius of its `FreeSpace`.

        Raises
        ------
        InvalidArgument
            The domain is no `FreeSpace`.
        """
        if self.free is None:
            raise InvalidArgument(f"`domain` must be a FreeSpace to take another radius, got {self.domain!r}")
        return ConicOracle.from_problem(
            self.problem,
            domain=FreeSpace(self.free.dimension, radius, self.free.center),
            multicut=self.multicut,
            hold_rows=self.hold_rows,
            tolerance=self.tolerance,
            max_half_spaces=self.max_half_spaces,
            recover=self._recover,
        )

    def recession(self) -> ConicOracle:
        """Directions d with ``-A @ d`` in K, ``P @ d = 0`` and no coordinate above 1: a linear oracle, with b = 0.

        A proven negative value there means that the objective falls without end along d from any feasible point.

        Raises
        ------
        InvalidArgument
            The domain is bounded, so that nothing falls without end, or has constraints other than bounds.
        """
        domain = self.domain if self.free is None else self.free
        known = domain.linear_constraints()
        if known is None or not known.has_bounds_alone or np.isfinite([known.lower, known.upper]).all():
            raise InvalidArgument(f"`domain` must have bounds alone, and not all finite, to recede in, got {domain!r}")
        box = Box(np.where(np.isinf(known.lower), -1.0, 0.0), np.where(np.isinf(known.upper), 1.0, 0.0))
        c, A, cones = self.problem.c, self.problem.A, self.problem.cones
        if self.quadratic is not None and self.quadratic.roots.shape[0]:
            A = sparse.csr_array(sparse.vstack([A, self.quadratic.roots]))
            cones = (*cones, Zero(self.quadratic.roots.shape[0]))
        return ConicOracle(c, A, np.zeros(A.shape[0]), cones, domain=box, tolerance=self.tolerance)

    def infeasibility(self, cuts: Iterable[Cut]) -> Infeasibility:
        """Combine the feasibility cuts of a run that ended with an empty localization set into one proof.

        The multipliers u >= 0 of the cuts make ``y = sum u_i y_i`` with ``b @ y = -1`` and the least ``|A.T @ y|_1``
        (Farkas' lemma where that is zero).

        Parameters
        ----------
        cuts : iterable of cuts
            Those of a run with ``keep_cuts=True``: ``result.history.cuts``.

        Returns
        -------
        Infeasibility
            The vector y of the dual cone, and how far it reaches.

        Raises
        ------
        InvalidArgument
            These are no cuts of this oracle, or they prove nothing: none has a positive constant.
        """
        known = list(self._half_spaces.impossible)
        for i, one in enumerate(instances("cuts", cuts, object, SOME_CUTS)):
            if not isinstance(one, FeasibilityCut):
                instance(f"cuts[{i}]", one, ObjectiveCut, SOME_CUTS)
                continue
            for cut in (one, *one.further):
                if np.shape(cut.extras.get("dual", ())) != self.problem.b.shape:
                    raise InvalidArgument(f"`cuts[{i}]` must be a cut of this oracle, with `dual` in its `extras`")
                known.append(cut.extras["dual"])
        return Infeasibility.of(self, farkas_vector(self.problem.A, self.problem.b, self._kinds, known))
