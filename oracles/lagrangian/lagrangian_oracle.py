"""Lagrangian relaxation: the user solves the relaxed problem, the oracle owns the dual."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import callback, finite, flag, floats, real, text, whole
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.checks import checked_start
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.domains import Box, Domain, FreeSpace, NonnegativeOrthant
from oracle_opt.domains.domain import checked_domain
from oracle_opt.errors import InvalidArgument, InvalidCut
from oracle_opt.executors import checked_executor
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.lagrangian.dual_cuts import DualCuts
from oracle_opt.oracles.lagrangian.recovery import PrimalSolution, restricted_master, weighted_average
from oracle_opt.oracles.lagrangian.relaxed_proof import (
    Examine,
    Examined,
    by_user,
    checked_claim,
    checked_examine,
    checked_point,
    cut_excess,
    joined,
    refuting,
    value_above,
)
from oracle_opt.oracles.lagrangian.relaxed_solution import KnownSolutions, RelaxedSolution
from oracle_opt.oracles.lagrangian.subproblems import PARTS, Subproblems
from oracle_opt.proof.claim import Bound, CutClaim, ValueClaim, missing
from oracle_opt.proposal import Proposal
from oracle_opt.result import Result
from oracle_opt.words import shown

A_FUNCTION = "a function of the multipliers that returns a RelaxedSolution"


class LagrangianOracle(Oracle):
    """Dual of ``min c(x)`` over x in X with ``a(x) == rhs``, or ``a(x) <= rhs`` where `inequality` says so.

    With multipliers u, free for equations and nonnegative for inequalities, the relaxed problem

        theta(u) = min over x in X of c(x) + u @ (a(x) - rhs)

    bounds the primal optimum from below, and theta is concave. The oracle minimizes ``f(u) = -theta(u)``; every x of X
    gives a minorant of f, the optimal x one that touches it. For `maximize`, ``max c(x)`` has ``theta(u) = max over x
    of c(x) - u @ (a(x) - rhs)``, an upper bound, and f is theta itself.

    Parameters
    ----------
    solve : callable, or sequence of callables
        Maps multipliers, an ndarray of shape (n,), to a `RelaxedSolution` minimizing ``c(x) + u @ a(x)`` over X (or
        maximizing ``c(x) - u @ a(x)``); or to a sequence of them, one for each independent summand. Or functions of
        the multipliers, one for each independent summand, each of which returns its `RelaxedSolution`.
    rhs : array_like of shape (n,)
        Right-hand sides of the relaxed constraints; their activity is summed over the summands.
    inequality : bool or array_like of bool of shape (n,)
        Which constraints are ``a(x) <= rhs``, default none. Turn ``>=`` round.
    maximize : bool
        Whether the primal problem is a maximization.
    radius : float
        States that some best multipliers lie within: Euclidean distance from 0 if all constraints are equations, else
        the largest entry. Default 1e4. The dual bound does not rest on it, only the proof that no better one exists.
    domain : Domain, optional
        Domain of the multipliers, in place of the radius, if more is known.
    name : str, optional
        Tells this problem from others in a journal; default is the name of the function, or of the functions.
    executor : concurrent.futures.Executor, optional
        Calls the functions of a sequence: threads, processes, or ``client.get_executor(pure=False)`` of a Dask client.
        It is the user's to shut down. The functions are sent to each of its processes once, then the multipliers alone.
        No answer depends on who gives it, if the functions rest on the multipliers alone.
    parts : int
        Tasks that the functions of a sequence are cut into, in their order.
    examine : callable, or sequence of callables
        Makes cuts provable. It gets an x as a vector: the `compact` form, or else the `solution` that `solve` answered.
        It tells the ``(cost, activity)`` of x, counted anew from the data alone, or raises a `ValueError` if x is not
        in X. There is one for each summand if there are several. Fractions are exact, a cost in floats is taken to be
        rounded once.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, entries that are not finite.

    References
    ----------
    .. [1] Geoffrion (1974), "Lagrangean relaxation for integer programming", Math. Prog. Study 2:82-114.
    .. [2] Lemarechal (2001), "Lagrangian relaxation", in: Computational Combinatorial Optimization, Springer.

    Examples
    --------
    The knapsack ``max 6 x + 5 y + 4 z`` with ``3 x + 2 y + 2 z <= 4`` over x, y, z of 0 and 1, its constraint relaxed:

    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import LagrangianOracle, RelaxedSolution
    >>> worth, size = np.array([6.0, 5.0, 4.0]), np.array([3.0, 2.0, 2.0])
    >>> def solve(u):
    ...     x = (worth > u[0] * size).astype(float)
    ...     return RelaxedSolution(worth @ x, [size @ x], solution=x)
    >>> oracle = LagrangianOracle(solve, [4], inequality=True, maximize=True, radius=10)
    >>> result = minimize(oracle, Kelley(), keep_cuts=True)
    >>> round(oracle.dual_bound(result), 6)
    9.0
    >>> primal = oracle.recover(result.history.cuts)
    >>> round(primal.cost, 6), (size @ primal.solutions[0]).round(6)
    (9.0, np.float64(4.0))
    """

    witness = ("compact", "sizes")

    at_edge = (
        "Or no solution keeps the relaxed constraints: then the dual rises without end, whatever the radius. One "
        "feasible solution excludes that."
    )

    def __init__(
        self,
        solve: Callable[[Vector], RelaxedSolution | Sequence[RelaxedSolution]]
        | Sequence[Callable[[Vector], RelaxedSolution]],
        rhs: ArrayLike,
        *,
        inequality: ArrayLike = False,
        maximize: bool = False,
        radius: float = 1e4,
        domain: Domain | None = None,
        name: str | None = None,
        executor: Executor | None = None,
        parts: int = PARTS,
        examine: Examine | Sequence[Examine] | None = None,
    ) -> None:
        parts = whole("parts", parts)
        if isinstance(solve, Sequence) and solve:
            functions = tuple(callback(f"solve[{k}]", one, A_FUNCTION) for k, one in enumerate(solve))
            instead = "Make them functions that can be pickled, or pass a ThreadPoolExecutor"
            problems = Subproblems(functions, len(functions), executor, parts, "solve", instead)
            self.solve: Callable[[Vector], Any] = lambda u: list(chain.from_iterable(problems.solve(_answered, u)))
            known = ", ".join(dict.fromkeys(_name(one) for one in functions)) + f", {len(functions)} functions"
        else:
            self.solve = callback("solve", solve, f"{A_FUNCTION}, or a sequence of such functions")
            known = _name(solve)
            if checked_executor(executor) is not None:
                raise InvalidArgument(
                    "`executor` has nothing to share out: `solve` must be a sequence of functions, one for each "
                    "independent summand, and got one function"
                )
        self.rhs = floats("rhs", rhs)
        if self.rhs.ndim != 1 or not self.rhs.size:
            raise InvalidArgument(f"`rhs` must have shape (n,), one entry per relaxed constraint, got {self.rhs.shape}")
        if not np.isfinite(self.rhs).all():
            raise InvalidArgument(f"`rhs` must be finite, got {self.rhs[~np.isfinite(self.rhs)][0]}; leave it out")
        given = np.asarray(inequality)
        if given.dtype != np.bool_ or given.shape not in ((), self.rhs.shape):
            raise InvalidArgument(
                f"`inequality` must be True, False or {self.rhs.size} of these, got {shown(inequality)}"
            )
        self.inequality: NDArray[np.bool_] = np.broadcast_to(given, self.rhs.shape).copy()
        self.maximize = flag("maximize", maximize)
        self.name = known if name is None else text("name", name)
        radius = real("radius", radius, above=0.0, infinite=True)
        if domain is None:
            self.domain = _multipliers(self.inequality, radius)
        else:
            self.domain = checked_domain(domain, self.rhs.size, "that of `rhs`")
        lower = None if (bounds := self.domain.linear_constraints()) is None else bounds.lower
        if self.inequality.any() and (lower is None or (lower[self.inequality] < 0).any()):
            raise InvalidArgument(
                f"`domain` must keep the multipliers of inequalities nonnegative, got {self.domain!r}"
            )
        self._sign = -1.0 if maximize else 1.0
        self._examine = checked_examine(examine, len(solve) if isinstance(solve, Sequence) else None)
        self._cuts = DualCuts(self.domain, self.rhs, self._sign, self._examine is not None)
        # number of summands; None where no proof is known
        self._count = None if self._examine is None else len(self._examine)
        self.reset()

    def reset(self) -> None:
        """Forget the relaxed solutions that answers are checked against."""
        self._known = KnownSolutions(self.rhs, self._sign)

    def resume(self, cut: Cut) -> None:
        """Remember the relaxed solution of a cut."""
        self._known.add(cut.extras["cost"], cut.extras["activity"])

    def proposed_by(self, multipliers: ArrayLike, point: ArrayLike | None = None) -> Proposal:
        """The multipliers themselves, the point where theta bounds the primal optimum: one call, and no minorant."""
        if point is not None:
            raise InvalidArgument("`point` must be left out: of a Lagrangian relaxation the multipliers are the point")
        u = finite("multipliers", multipliers, self.rhs.shape, "one a relaxed constraint")
        return Proposal(checked_start(self, u), None, "given multipliers")

    def query(self, query: Query) -> ObjectiveCut:
        """Solve the relaxed problem.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `cost`, `activity` and, for a single summand that gives them, `solution` and `compact`, which
            proves the cut. With several summands its `summands` hold the same of each, and the cut itself `compact` of
            all, one after another, whose `sizes` these are; an equal share of ``u @ rhs`` goes to each.

        Raises
        ------
        InvalidCut
            `solve` did not answer relaxed solutions of the right shape, a `bound` was worse than the solution's own
            value, or a solution of an earlier call has a better value at these multipliers.
        """
        u = np.asarray(query.point)
        answer = self.solve(u.copy())
        answers = [answer] if isinstance(answer, RelaxedSolution) else answer
        if not isinstance(answers, Sequence) or not answers:
            raise InvalidCut(f"`solve` must return a RelaxedSolution or a sequence of them, got {answer!r}")
        if self._examine is not None and len(answers) != len(self._examine):
            raise InvalidCut(
                f"`solve` must return one solution for each `examine`: {len(self._examine)}, got {len(answers)}"
            )
        found = [self._cuts.summand(u, one, k, len(answers)) for k, one in enumerate(answers)]
        summands = [one for one, _ in found]
        cost = sum(one.extras["cost"] for one in summands)
        activity = sum(one.extras["activity"] for one in summands)
        assert isinstance(activity, np.ndarray)
        value, slope, error = summands[0].value, summands[0].subgradient, summands[0].error
        if len(summands) > 1:
            sizes = sum(np.abs(one.extras["activity"]) for one in summands)
            costs = sum(abs(one.extras["cost"]) for one in summands)
            missed = sum(short for _, short in found)
            off = 0.0 if _whole(activity) else EPS * len(summands) * sizes
            value, slope, error = self._cuts.cut(u, cost, activity, self.rhs, missed, costs, len(summands), off)
        self._known.compare(u, value, error)
        self._known.add(cost, activity)
        extras = summands[0].extras if len(summands) == 1 else {"cost": cost, "activity": activity}
        if len(summands) > 1 and all("compact" in one.extras for one in summands):
            extras = {**extras, **joined([one.extras["compact"] for one in summands])}
        whole = tuple(summands) if len(summands) > 1 else ()
        return ObjectiveCut(u, value, slope, error, summands=whole, extras=extras)

    def _examined(self, witness: Mapping[str, Any], summand: int | None, exact: bool) -> Examined | None:
        """Cost and activity of the relaxed solution in a witness, of one summand or of all; None without one."""
        if self._examine is None or "compact" not in witness:
            return None
        functions = self._examine if summand is None else self._examine[summand : summand + 1]
        return by_user(functions, witness, self.rhs.size, exact)

    def relaxed_bound(self, u: Vector, exact: bool = False) -> Bound | None:
        """Bound the optimal value of the relaxed problem by an argument of its own, which shares no code with `solve`.

        It makes `prove_value`, and with it a certificate's bound on the primal problem. The shipped relaxations define
        it; a subclass for a relaxation of your own may. The bound is at most the least ``c(x) + u @ a(x)`` over X at
        the multipliers u, at least the largest ``c(x) - u @ a(x)`` for `maximize`, with all rounding, in fractions if
        `exact`; `None`, the default, if no proof is known.
        """
        return None

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """The compact form of the relaxed solution; a value needs none."""
        return () if isinstance(claim, ValueClaim) else missing(claim, "compact")

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """Examine the relaxed solution of a cut: whether it is in X, its cost and its activity.

        ``f(u) >= -c(x) + u @ (rhs - a(x))`` for each x of X and all multipliers u, with ``+ c(x)`` for `maximize`.
        """
        if self._count is None:
            return None
        summand = checked_claim(claim, self._count)
        with refuting():
            found = self._examined(claim.witness, summand, exact)
            if found is None:
                return None
            count = 1 if summand is None else self._count
            return cut_excess(claim, found, self.domain, self._sign, self.rhs, count)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """Bound f at the multipliers by the optimum of the relaxed problem: see `relaxed_bound`."""
        with refuting():
            u = checked_point(claim, self.domain, self.inequality)
            bound = self.relaxed_bound(u, exact)
            return None if bound is None else value_above(bound, u, self.rhs, self._sign, exact)

    def dual_bound(self, result: Result) -> float:
        """Bound on the primal optimum that the run of a `result` proved: below it, or above it for `maximize`."""
        return -self._sign * result.upper_bound

    def dual_limit(self, result: Result) -> float:
        """Value that the bound of no multipliers exceeds, or falls below for `maximize`, by what a `result` proved."""
        return -self._sign * result.lower_bound

    def _multipliers(self, result: Result) -> Vector:
        """The best multipliers of a run on this oracle."""
        u = result.point
        if u is None or np.shape(u) != self.rhs.shape:
            raise InvalidArgument(
                f"`result` must be of a run on this oracle, with {self.rhs.size} multipliers, got "
                f"{'no point' if u is None else f'a point of shape {np.shape(u)}'}"
            )
        return np.asarray(u)

    def recover(self, cuts: Iterable[Cut], weights: ArrayLike | None = None) -> PrimalSolution:
        """Average relaxed solutions to a primal one.

        The `cuts` are of this oracle: ``result.history.cuts`` of a run with ``keep_cuts=True``, or those of a
        `LightCuts`. The `weights` of the average are not negative, for example ``generator.weight()`` after each call.
        Default: those of the cheapest average among those that violate the constraints least, found by a linear program
        (the restricted master of Dantzig and Wolfe), with weights of its own for each summand.

        The solution is in the convex hull of X, if not in X itself: its cost, if it violates nothing, is the other side
        of the dual bound, and rests on no radius.
        """
        kept = [cut for cut in cuts if isinstance(cut, ObjectiveCut)]
        if not kept:
            raise InvalidArgument("`cuts` must hold the cuts of a run, got none; run with keep_cuts=True")
        columns = [cut.summands or (cut,) for cut in kept]
        if any("activity" not in one.extras for summands in columns for one in summands):
            raise InvalidArgument("`cuts` must be those of a LagrangianOracle, got others")
        if len({len(summands) for summands in columns}) > 1:
            raise InvalidArgument("`cuts` must have the same number of summands each")
        if weights is None:
            shares = restricted_master(columns, self.rhs, self.inequality, self._sign)
        else:
            given = np.array(weights, dtype=float)
            if given.shape != (len(kept),) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
                raise InvalidArgument(f"`weights` must be {len(kept)} nonnegative numbers, not all 0, got {given}")
            shares = np.tile((given / given.sum())[:, None], (1, len(columns[0])))
        primal = weighted_average(columns, shares, self.rhs, self.inequality)
        used = np.flatnonzero(shares.max(axis=1) > 0)
        points = tuple(kept[i].point for i in used)
        return replace(primal, points=points, arrays=self._arrays(points, shares[used]))

    def _arrays(self, points: Sequence[Vector], weights: Matrix) -> dict[str, Any]:
        """Average of relaxed solutions in the problem's arrays, if known: a row of weights each, a column a summand."""
        return {}

    def identity(self) -> str:
        """Name, sense and constraints."""
        data = digest(self.rhs, self.inequality)
        return f"{super().identity()}, {'max' if self.maximize else 'min'} {self.name} #{data}"


def _answered(
    functions: tuple[Callable[[Vector], RelaxedSolution], ...], u: Vector, first: int, last: int
) -> list[RelaxedSolution]:
    return [function(u.copy()) for function in functions[first:last]]


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", repr(function)))


def finite_reach(name: str, reach: float) -> float:
    """Give back a radius made of data; refuse data, by their name, of which it is infinite."""
    if not np.isfinite(reach):
        raise InvalidArgument(f"`{name}` are too large: the multipliers' radius, a multiple of them, is infinite")
    return reach


def _multipliers(inequality: NDArray[np.bool_], radius: float) -> Domain:
    if inequality.all():
        return NonnegativeOrthant(inequality.size, radius)
    if not inequality.any():
        return FreeSpace(inequality.size, radius)
    if not 0 < radius < np.inf:
        raise InvalidArgument(f"`radius` must be positive and finite, got {radius!r}")
    lower, upper = np.where(inequality, 0.0, -radius), np.full(inequality.size, radius)
    return Box(lower, upper, promised=[~inequality, np.ones(inequality.size, dtype=bool)])


def _whole(values: Vector) -> bool:
    """Whether these are whole numbers, of which sums are exact."""
    return bool((values == np.rint(values)).all())
