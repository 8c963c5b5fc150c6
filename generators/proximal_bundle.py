"""The proximal bundle method with proximity control."""

from enum import Enum, auto

import numpy as np

from oracle_opt import (
    Domain,
    Exhausted,
    FeasibilityCut,
    Minorant,
    ObjectiveCut,
    QueryPointGenerator,
    Step,
)
from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.cut_pool import TANGENTS, CutPool
from oracle_opt.generators.masters.feasible_points import nearest_feasible, nothing_left, prove_empty
from oracle_opt.generators.masters.highs import LPFailure
from oracle_opt.generators.masters.known_model import KnownProgram
from oracle_opt.generators.masters.known_pool import KnownPool
from oracle_opt.generators.masters.linear_program import CutLP, ModelLP, ModelMinimum, MulticutLP
from oracle_opt.generators.masters.polyhedra import NEEDS_ROWS, polyhedral_refusal, simple_part, working_polyhedron
from oracle_opt.generators.masters.proximal_rows import RowMultipliers, rows_of
from oracle_opt.generators.masters.proximity_control import ProximityControl, first_step, scale_of

TRIES = 6  # master problems per call: with a larger weight after a failure, a smaller one where nothing is left to gain
WORTH = 0.05  # share of the predicted decrease that the summands' model may take back
BEHIND = 0.1  # share of the proven gap: where less is predicted, the model may prove more than its steps show
OFTEN = 0.05  # that is tried whenever the calls since are this share of the cuts, and two at least
ENOUGH = 30  # cuts from which on a linear program tells what the model proves
SELDOM, PAUSE = 0.1, 4  # which is solved whenever the calls since are this share of the cuts, and so many
RESOLUTION = 1e-14  # gap relative to the value that is rounding
RUNG, RUNGS = 0.1, 4  # factor from one weight to the next then, and most of them
LARGEST = 1000  # variables: of more the linear program takes long to set up


class ProximalPhase(Enum):
    """The role of the pending point."""

    SEARCH = auto()  # near all feasibility cuts, as there is no center yet
    MASTER = auto()  # the minimizer of the proximal master
    CENTER = auto()  # the center again, which the master cannot better
    MODEL = auto()  # the minimizer of the model of all cuts, far from the center, where the weight means nothing


class ProximalBundle(QueryPointGenerator):
    """Minimize the cutting-plane model plus a quadratic that keeps it near the center.

    The next query point minimizes ``max_i (constant_i + slope_i @ z) + weight / 2 * |z - center|^2`` over the domain
    and the feasibility cuts. It becomes the center, a serious step, if the value falls by at least `descent` times
    what the model predicts; otherwise its cut improves the model, a null step. The weight is set by
    `ProximityControl`. Where the domain bounds all variables, distances are measured in units of its widths.

    Parameters
    ----------
    descent : float
        Share of the predicted decrease that makes a step serious, between 0 and 1/2.
    proximal : float, optional
        The first weight; default is the norm of the first subgradient over a tenth of the way to its minimizer on the
        domain, or over 1 where that is infinite.
    max_cuts : int
        Keep at most so many objective cuts; slack ones are dropped and their proof is kept as one aggregate cut.

    Notes
    -----
    The master problem is solved through its dual, which has one variable per cut; the multipliers give the proven
    bound. The master needs no bounded domain; the bound needs one.

    Steps and proof want different weights: a point near the center is a good next query, while the bound is best where
    nothing holds the model back. So where less than a tenth of the proven gap is predicted, multipliers for the bound
    are also taken elsewhere, and no oracle call is spent on that. From 30 cuts on, on bounded domains of up to 1000
    variables, a linear program minimizes the model of all cuts. It goes on from its last solution, whenever the calls
    since are a tenth of the cuts and at least four. Otherwise masters with smaller weights are solved, whenever the
    calls since are a twentieth of the cuts, and two at least. Each weight is a tenth of the last; there are up to four,
    as long as they prove much more.

    If the master fails numerically it is solved again with ten times the weight, a few times; then its last iterate is
    asked, which is a point of the domain in any case. A center that the master cannot better beyond rounding would be
    asked again. The linear program then gives the bound and, while the gap is not closed, the next point. Where there
    is none the driver stops.

    References
    ----------
    Kiwiel (1990), "Proximity control in bundle methods for convex nondifferentiable minimization"; Lemarechal &
    Sagastizabal (1997), "Variable metric bundle methods".

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import ProximalBundle
    >>> minimize(problems.find("nonsmooth/LQ")[0](0).oracle, ProximalBundle(), rtol=1e-4).success
    True
    """

    needs_convexity = True
    reads_extras = False
    takes_known = True
    takes = frozenset({FeasibilityCut})

    def __init__(self, descent: float = 0.1, proximal: float | None = None, max_cuts: int = 1000) -> None:
        self.descent = real("descent", descent, above=0.0, below=0.5)
        self.proximal = None if proximal is None else real("proximal", proximal, above=0.0)
        self.max_cuts = whole("max_cuts", max_cuts)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without linear constraints."""
        return NEEDS_ROWS if domain.linear_constraints() is None else None

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        self._domain = domain
        # constraints of the domain that are not simple become rows of the master problem
        self._master, self._equations, self._rhs = simple_part(domain)
        self._scale = scale_of(domain)
        self._pool = CutPool(domain) if self.known is None else KnownPool(domain, self.known)
        if (form := self._pool.form) is not None:
            self._master, self._equations, self._rhs = form.domain, form.equations, form.sides
        self._pool.add_domain(domain)
        self._point = point
        self._center: ObjectiveCut | None = None
        self._control = ProximityControl()
        self._decrease = 0.0  # predicted at the pending point
        # of the last master problem
        self._multipliers = RowMultipliers(np.zeros(0), np.zeros(0), np.zeros(len(self._rhs)))
        self._minorant: Minorant | None = None
        self._lower = -np.inf
        self._phase = ProximalPhase.SEARCH
        small = domain.dimension <= LARGEST and polyhedral_refusal(domain) is None and self.known is None
        self._polyhedron = working_polyhedron(domain) if small else None
        self._program: CutLP | KnownProgram | None = None  # of all cuts, begun anew where some were dropped
        self._since = 0  # calls since the model was last asked for a proof alone
        self._end: Exhausted | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_program": None}  # a copy begins it anew: HiGHS cannot be pickled

    def ask(self) -> Vector:
        """Return the minimizer of the proximal master."""
        if self._end is not None:
            raise self._end
        return self._point

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Decide on the step, set the weight, solve the master."""
        step = Step.FEASIBILITY if isinstance(cut, FeasibilityCut) else self._judge(cut)
        self._pool.add(cut)
        if step is Step.SERIOUS and self._center is not None and self._pool.flatten(self._center):
            self._start_weight(self._center)  # the old one is of another scale
            self._program = None
            self._multipliers = RowMultipliers(np.zeros(0), self._multipliers.feasibility, self._multipliers.equations)
        if self._center is None:
            self._restore()
        else:
            self._solve(self._center)
            self._since += 1
            if self._decrease < BEHIND * self._gap() < np.inf:
                self._catch_up(self._center)
            self._control.catch_up(self._decrease, self._gap())
            self._phase = ProximalPhase.MASTER if self._decrease > 0 else self._resort(self._center)
            self._shrink()
        return step

    def learn(self, cut: ObjectiveCut | FeasibilityCut) -> None:
        """Add the cut to the others."""
        self._pool.add(cut)

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the master's multipliers."""
        return self._minorant

    def _gap(self) -> float:
        return self._pool.upper - self._lower

    def _judge(self, cut: ObjectiveCut) -> Step:
        """Descent test and proximity control (Kiwiel 1990, procedure 2.2)."""
        center = self._center
        if center is None:
            if not np.isfinite(cut.upper):  # a cut of an earlier run, of which no value is known, is no center
                return Step.NULL
            self._center = cut
            self._start_weight(cut)
            return Step.SERIOUS
        if not np.array_equal(cut.point, self._point):  # this is a cut of an earlier run: no decrease was predicted
            if cut.upper < center.upper:
                self._center = cut
                return Step.SERIOUS
            return Step.NULL
        if self._phase is ProximalPhase.CENTER:
            return Step.NULL
        if self._phase is ProximalPhase.MODEL:
            if cut.upper >= center.upper:
                return Step.NULL
            self._center = cut
            return Step.SERIOUS
        gain, predicted, control = center.upper - cut.upper, self._decrease, self._control
        # a value that falls by half of its size is a good one, whatever a model of another scale promised
        if gain >= self.descent * predicted or gain >= 0.5 * abs(center.upper) > 0:
            control.serious(gain, predicted)
            self._center = cut
            return Step.SERIOUS
        away = cut.point - center.point
        error = center.upper - cut.value + float(cut.subgradient @ away)
        square = float(self._scale @ away**2)
        pull = control.weight * np.sqrt(square)  # norm of the aggregate subgradient
        variation = pull + max(predicted - control.weight * square, 0.0)
        control.null(gain, predicted, error, variation)
        return Step.NULL

    def _start_weight(self, cut: ObjectiveCut) -> None:
        slope = cut.subgradient / np.sqrt(self._scale)
        largest = float(np.abs(slope).max()) or 1.0
        norm = largest * (float(np.linalg.norm(slope / largest)) or 1.0)
        self._control.start(self.proximal or norm / first_step(self._domain, cut, 0.1, self._scale))

    def _solve(self, center: ObjectiveCut) -> None:
        """Solve the master; with what the summands say at its solution once more, until that is worth little."""
        for _ in range(TANGENTS):
            self._solve_whole(center)
            height = center.upper - (1.0 - WORTH) * self._decrease
            if not self._decrease > 0 or not self._pool.add_tangent(self._point, height):
                return

    def _solve_whole(self, center: ObjectiveCut) -> None:
        """Solve the master of the whole cuts."""
        rows = rows_of(self._pool, center, self._master, self._equations, self._rhs)
        start = rows.start(self._multipliers)
        failures = 0
        for _ in range(TRIES):
            done = rows.minimize(self._control.weight, self._scale, start)
            found = rows.multipliers(done)
            self._prove(found)
            self._point, self._decrease = self._inside(done.point), -done.value
            moved = self._decrease > 10.0 * rows.floor and bool((done.point != center.point).any())
            if not done.converged and failures < 3:
                failures += 1
                self._control.stiffen()
                if failures == 2:  # the cause may be the start, or the margin where it leaves no point
                    start = rows.without_constraints(start)
            elif moved or not self._control.loosen():
                break
        if not moved:
            self._point, self._decrease = center.point, 0.0
        objective, last = np.maximum(found.objective, 0.0), found if done.converged else self._multipliers
        self._multipliers = RowMultipliers(objective, last.feasibility, last.equations)

    def _catch_up(self, center: ObjectiveCut) -> None:
        """Take multipliers for the proof alone: of the program or of masters with smaller weights, now and then."""
        n_cuts = len(self._pool.objective)
        linear = self._pool.form is not None and self._pool.form.is_norm
        by_program = (self._polyhedron is not None or linear) and n_cuts >= ENOUGH
        if self._since <= (max(SELDOM * n_cuts, PAUSE - 1) if by_program else max(OFTEN * n_cuts, 1.0)):
            return
        self._since = 0
        if by_program and self._model_minimum() is not None:
            return
        rows = rows_of(self._pool, center, self._master, self._equations, self._rhs)  # with the last tangent
        start, weight = rows.start(self._multipliers), self._control.weight
        for _ in range(RUNGS):
            weight *= RUNG
            done, before = rows.minimize(weight, self._scale, start), self._gap()
            self._prove(rows.multipliers(done))
            if not done.converged or self._gap() > (1.0 - BEHIND) * before:
                return
            start = done.multipliers

    def _resort(self, center: ObjectiveCut) -> ProximalPhase:
        """Kelley's step where the master, in bad scales, ends at its tolerance and would ask the center again."""
        rounding = RESOLUTION * abs(self._pool.upper)
        least = self._model_minimum() if self._gap() > rounding else None
        if least is not None and self._gap() > rounding and least.value < center.upper:
            self._point, self._decrease = least.point, center.upper - least.value
            return ProximalPhase.MODEL
        return ProximalPhase.CENTER

    def _model_minimum(self) -> ModelMinimum | None:
        """Minimize the model of all cuts, with those of the summands where there are some, and take the proof of it."""
        pool, domain = self._pool, self._polyhedron
        if isinstance(pool, KnownPool):
            return self._known_minimum(pool)
        if domain is None:
            return None
        if self._program is None or (pool.n_summands and not isinstance(self._program, MulticutLP)):
            self._program = MulticutLP(domain, pool.n_summands) if pool.n_summands else ModelLP(domain)
        assert not isinstance(self._program, KnownProgram)
        try:
            least = self._program.solve(pool)
        except LPFailure:
            least = self._program = None
        if least is not None:
            self._take(pool.minorant(least.objective, least.feasibility, least.summands))
        return least

    def _known_minimum(self, pool: KnownPool) -> ModelMinimum | None:
        """The same of the cuts and a known term, where both are piecewise linear."""
        program = self._program if isinstance(self._program, KnownProgram) else KnownProgram.of(pool, self._domain)
        self._program = program
        least = None if program is None else program.solve()
        if least is not None:
            self._take(pool.minorant(least.objective, least.feasibility))
        return least

    def _shrink(self) -> None:
        """Fewer cuts where they are too many."""
        pool, known = self._pool, self._multipliers
        objective, outer = np.zeros(len(pool.objective)), np.zeros(len(pool.feasibility))
        objective[: len(known.objective)], outer[: len(known.feasibility)] = known.objective, known.feasibility
        if pool.shrink(self.max_cuts, objective, outer) is not None:
            objective = np.zeros(len(pool.objective))
            objective[-1] = 1.0
            self._program = None
        self._multipliers = RowMultipliers(objective, known.feasibility, known.equations)

    def _inside(self, point: Vector) -> Vector:
        """Return the point of the domain nearest to one that satisfies the master's rows to its tolerance."""
        return point if self._master is self._domain else self._domain.project(point)

    def _prove(self, multipliers: RowMultipliers) -> None:
        self._take(self._pool.minorant(multipliers.objective, multipliers.feasibility))

    def _take(self, minorant: Minorant | None) -> None:
        """Take up a minorant if it proves more."""
        if minorant is None:
            return
        bound = minorant.minimum(self._domain)
        if bound > self._lower or self._minorant is None:
            self._minorant, self._lower = minorant, max(bound, self._lower)

    def _restore(self) -> None:
        """Before the first objective cut: the nearest point of the feasibility cuts."""
        nearest = nearest_feasible(self._domain, self._pool.feasibility, self._point)
        if not nearest.converged:
            proven = prove_empty(self._domain, self._pool.feasibility, nearest.multipliers)
            if proven or bool((nearest.point == self._point).all()):
                self._end = nothing_left(proven)
        self._point = nearest.point
