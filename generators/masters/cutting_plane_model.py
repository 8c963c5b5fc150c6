"""The cutting-plane model every polyhedral method keeps: cuts, their linear program, and the proof it gives."""

import numpy as np

from oracle_opt import Domain, FeasibilityCut, Minorant, ObjectiveCut, Query
from oracle_opt.arrays import EPS, Vector, every
from oracle_opt.bounds import relative_gap
from oracle_opt.generators.masters.cut_pool import TANGENTS, CutPool
from oracle_opt.generators.masters.feasible_points import nearest_feasible, nothing_left, prove_empty
from oracle_opt.generators.masters.highs import LPFailure
from oracle_opt.generators.masters.linear_program import ChebyshevLP, CutLP, ModelLP, ModelMinimum, MulticutLP
from oracle_opt.generators.masters.model_dual import ModelDual
from oracle_opt.generators.masters.polyhedra import working_polyhedron

COARSEST, FINEST = 1e-1, 1e-12  # relative errors that oracles are asked for
MANY = 2000  # variables from which on the dual of a model on bounds alone takes less time than HiGHS
WORTH = 0.1  # share of the depth below the upper bound that a piece of the summands' model has to take off


class CuttingPlaneModel:
    """The model ``m(z) = max_i constant_i + slope_i @ z`` of a function, minimized after each cut by a linear program.

    ::

        minimize t   subject to   constant_i + slope_i @ z <= t,   feasibility cuts,   z in the domain

    Where cuts come with summands, the program has a variable t_j for each and the model is the sum of theirs. HiGHS
    goes on from its last basis, so that a cut costs a few steps of the dual simplex method; on simplices the program
    holds no more columns than it needs. On bounds alone a vertex leaves as many columns between their bounds as there
    are cuts, and all the others would be looked at one by one. There, from 2000 variables on, `ModelDual` solves the
    dual instead, to a thousandth of what is left of the gap (docs/peers.md has the measurement).

    The multipliers of the cuts give `minorant`, whose minimum over the domain is the proven bound `lower`; the
    program's own value is never used as one. Should the program fail numerically, the newest objective cut stands in
    for the model: its minimizer over the domain for that of the model, itself for the minorant. The best bound proven
    so far stays. Before the first objective cut the nearest point of the feasibility cuts stands in.

    Parameters
    ----------
    domain : Domain
        One that `polyhedral_refusal` does not refuse: with linear constraints, and bounded where a minimizer is
        promised.
    max_cuts : int
        Keep at most so many objective cuts; the proof of those dropped stays as one aggregate cut.
    chebyshev : bool
        Whether the linear program gives the center of the largest ball between the cuts instead of the minimum.

    Attributes
    ----------
    domain : Domain
        The polyhedron that the model is minimized over: the domain, without what it only promises.
    pool : CutPool
        The cuts, with the best value seen, `pool.upper`, and its cut, `pool.best`.
    minimum : ModelMinimum or None
        Where the model is least, its value there and the multipliers; `None` before the first cut, and if the
        feasibility cuts provably leave nothing.
    empty : bool
        Whether they provably leave nothing: `query` then ends the run.
    minorant : Minorant or None
        The combination of cuts by the linear program's multipliers.
    lower : float
        The best minimum of a minorant over the domain so far.
    failed : bool
        Whether the last linear program failed.
    """

    minimum: ModelMinimum | None = None
    minorant: Minorant | None = None
    lower = -np.inf
    empty = failed = False
    _asked: Vector | None = None
    _predicted = np.inf

    def __init__(self, domain: Domain, max_cuts: int = 1000, chebyshev: bool = False) -> None:
        self.domain = domain = working_polyhedron(domain)
        self.pool = CutPool(domain)
        self._chebyshev = chebyshev
        self._lp: CutLP | ModelDual = ChebyshevLP(domain) if chebyshev else _master(domain)
        self._max_cuts = max_cuts
        self.pool.add_domain(domain)

    @property
    def gap(self) -> float:
        """Best value seen, with its error, minus the proven bound."""
        return self.pool.upper - self.lower

    @property
    def resolution(self) -> float:
        """The gap below which the rounding of the bounds hides it."""
        error = 0.0 if self.minorant is None else self.minorant.error
        return max(4.0 * EPS * abs(self.pool.upper), 2.0 * error)

    @property
    def decrease(self) -> float:
        """Best value seen, with its error, minus what the model says at the point of `expect`; -inf before."""
        return self.pool.upper - self._predicted

    def query(self, point: Vector, tune_accuracy: bool = False) -> Vector | Query:
        """The answer of `ask`: the `point`, with `tune_accuracy` and the wish of an error of 1/10 of the relative gap.

        `EmptyLocalizationSet` says that the feasibility cuts provably leave nothing.
        """
        if self.empty:
            raise nothing_left(proven=True)
        if not tune_accuracy:
            return point
        wanted = 0.1 * relative_gap(self.pool.upper, self.lower)
        return Query(point, float(np.clip(wanted, FINEST, COARSEST)))

    def expect(self, point: Vector) -> None:
        """Remember the next query point and what the model says there, for `error`."""
        least = self.minimum
        self._asked = point
        self._predicted = least.value if least is not None and point is least.point else self.pool.value(point)

    def error(self, cut: ObjectiveCut) -> float:
        """``(f(z) - m(z)) / (U - m(z))`` before the cut is added: the model's error over the decrease it predicted.

        Infinite where it predicted none, or where the cut is not of the expected query point.
        """
        decrease = self.pool.upper - self._predicted
        if self._asked is None or not decrease > 0 or not every(cut.point == self._asked):
            return np.inf
        return (cut.upper - self._predicted) / decrease

    def add(self, cut: ObjectiveCut | FeasibilityCut) -> bool:
        """Take up a `cut` that `tell` was told, and minimize; whether it is the best seen so far."""
        before = self.pool.best
        self.pool.add(cut)
        best = self.pool.best
        if (
            best is not None and best is not before and self.pool.flatten(best)
        ):  # the program's unit is that of a steep cut
            self._lp = ChebyshevLP(self.domain) if self._chebyshev else _master(self.domain)
        if self.pool.n_summands and isinstance(self._lp, ModelLP | ModelDual):
            self._lp = MulticutLP(self.domain, self.pool.n_summands)
        try:
            self.minimum = self._lp.solve(self.pool)
            if self._chebyshev:
                self._refine()
            self.failed = False
        except LPFailure:
            self.failed = True
        if self.failed:
            self.minimum = self._of_newest_cut() if len(self.pool.objective) else self._of_no_cut(cut.point)
        self.empty = self.minimum is None
        if self.minimum is not None and len(self.pool.objective):
            multipliers = self.minimum.objective, self.minimum.feasibility, self.minimum.summands
            self.minorant = self.pool.minorant(*multipliers)
            if self.minorant is not None:
                self.lower = max(self.lower, self.minorant.minimum(self.domain))
            masks = self.pool.shrink(self._max_cuts, *multipliers)
            if masks is not None:
                self._lp.keep(*masks)
        return self.pool.best is not before

    def minimum_within(self, lower: Vector, upper: Vector) -> ModelMinimum | None:
        """Minimize the model of all cuts so far between bounds, within the domain.

        Parameters
        ----------
        lower, upper : ndarray of shape (n,)
            Bounds around a point of the domain; they may lie outside.

        Returns
        -------
        ModelMinimum or None
            `None` if the linear program fails. Its multipliers prove nothing over the domain.
        """
        known = self.domain.linear_constraints()
        assert known is not None
        lower, upper = np.clip([lower, upper], known.lower, known.upper)
        try:
            self._lp.bound(lower, upper, self.pool)
            return self._lp.solve(self.pool)
        except LPFailure:
            return None
        finally:
            self._lp.bound(known.lower, known.upper, self.pool)

    def _refine(self) -> None:
        """Add to the whole cuts, all that the ball knows, what the summands say at its center, and solve again."""
        for _ in range(TANGENTS):
            if self.minimum is None:
                return
            whole = self.pool.objective.largest(self.minimum.point)
            if not self.pool.add_tangent(self.minimum.point, whole + WORTH * (self.pool.upper - whole)):
                return
            self.minimum = self._lp.solve(self.pool)

    def _of_no_cut(self, point: Vector) -> ModelMinimum | None:
        nearest = nearest_feasible(self.domain, self.pool.feasibility, point)
        if not nearest.converged and prove_empty(self.domain, self.pool.feasibility, nearest.multipliers):
            return None
        zeros = np.zeros(len(self.pool.feasibility))
        return ModelMinimum(nearest.point, -np.inf, np.zeros(0), zeros, np.zeros(len(self.pool.summands)))

    def _of_newest_cut(self) -> ModelMinimum:
        rows = self.pool.objective
        multipliers = np.zeros(len(rows))
        multipliers[-1] = 1.0
        point = self.domain.minimize_linear(rows.row(len(rows) - 1))[1]
        value = rows.largest(point)
        outer, summands = np.zeros(len(self.pool.feasibility)), np.zeros(len(self.pool.summands))
        return ModelMinimum(point, value, multipliers, outer, summands)


def _master(domain: Domain) -> CutLP | ModelDual:
    """The fastest minimizer of the model on this domain."""
    constraints = domain.linear_constraints()
    assert constraints is not None
    simple = constraints.has_bounds_alone and not domain.euclidean_only
    return ModelDual(domain) if simple and domain.dimension >= MANY else ModelLP(domain)
