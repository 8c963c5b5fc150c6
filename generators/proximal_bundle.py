"""The proximal bundle method with proximity control."""

from __future__ import annotations

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
from oracle_opt.generators.masters.first_step import first_step
from oracle_opt.generators.masters.polyhedral import NEEDS_ROWS, simple_part
from oracle_opt.generators.masters.proximal import proximal_point

TRIES = 6  # master problems per call: with a larger weight after a failure, a smaller one where nothing is left to gain
WORTH = 0.05  # share of the predicted decrease that the summands' model may take back


class ProximalBundle(QueryPointGenerator):
    """Minimize the cutting-plane model plus a quadratic that keeps it near the center.

    The next query point minimizes ``max_i (constant_i + slope_i @ z) + weight / 2 * |z - center|^2`` over the domain
    and the feasibility cuts. It becomes the center, a serious step, if the value falls by at least `descent` times
    what the model predicts; otherwise its cut improves the model, a null step. The weight follows Kiwiel's proximity
    control.

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
    bound. The master needs no bounded domain; the bound needs one. Where the proven gap is a hundred times the
    predicted decrease the weight is halved: the proof then loses more to the quadratic than the step gains. If the
    master fails numerically it is solved again with ten times the weight, a few times; then its last iterate is asked,
    which is a point of the domain in any case. A center that the model cannot better beyond rounding is asked again,
    upon which the driver stops.

    References
    ----------
    Kiwiel (1990), "Proximity control in bundle methods for convex nondifferentiable minimization"; Lemarechal &
    Sagastizabal (1997), "Variable metric bundle methods".
    """

    needs_convexity = True
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
        self._pool = CutPool(domain)
        self._pool.add_domain(domain)
        self._point = point
        self._center: ObjectiveCut | None = None
        self._weight = 0.0
        self._least_weight = 0.0
        self._age = 0  # serious steps in a row since the weight changed, null steps counted down
        self._typical = np.inf  # Kiwiel's variation estimate: linearization errors above it are large
        self._decrease = 0.0  # predicted at the pending point
        # multipliers of the last master problem: of objective cuts, of feasibility cuts and of equations
        self._multipliers, self._outer, self._pulls = np.zeros(0), np.zeros(0), np.zeros(len(self._rhs))
        self._minorant: Minorant | None = None
        self._lower = -np.inf
        self._end: Exhausted | None = None

    def ask(self) -> Vector:
        """Return the minimizer of the proximal master."""
        if self._end is not None:
            raise self._end
        return self._point

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Decide on the step, set the weight, solve the master."""
        step = Step.FEASIBILITY if isinstance(cut, FeasibilityCut) else self._judge(cut)
        self._pool.add(cut)
        if self._center is None:
            self._restore()
        else:
            self._solve(self._center)
            self._adapt()
        return step

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the master's multipliers."""
        return self._minorant

    def _judge(self, cut: ObjectiveCut) -> Step:
        """Descent test and proximity control (Kiwiel 1990, procedure 2.2)."""
        center = self._center
        if center is None:
            self._center = cut
            self._start_weight(cut)
            return Step.SERIOUS
        if not np.array_equal(cut.point, self._point):  # this is a cut of an earlier run: no decrease was predicted
            if cut.upper < center.upper:
                self._center = cut
                return Step.SERIOUS
            return Step.NULL
        if not self._decrease > 0:  # the center was asked again
            return Step.NULL
        gain, predicted, before = center.upper - cut.upper, self._decrease, self._weight
        # the weight for which the parabola through both values and the predicted slope has its minimum at the point
        fitted = 2.0 * before * (1.0 - gain / predicted)
        if gain >= self.descent * predicted:
            weight = before
            if gain >= 0.5 * predicted and self._age > 0:
                weight = fitted
            elif self._age > 3:
                weight = 0.5 * before
            self._weight = max(weight, 0.1 * before, self._least_weight)
            self._typical = max(self._typical, 2.0 * predicted)
            self._age = max(self._age + 1, 1) if self._weight == before else 1
            self._center = cut
            return Step.SERIOUS
        away = cut.point - center.point
        error = center.upper - cut.value + float(cut.subgradient @ away)
        pull = before * float(np.linalg.norm(away))  # norm of the aggregate subgradient
        self._typical = min(self._typical, pull + max(predicted - before * float(away @ away), 0.0))
        if error > max(self._typical, 10.0 * predicted) and self._age < -3:
            self._weight = min(max(fitted, before), 10.0 * before)
        self._age = min(self._age - 1, -1) if self._weight == before else -1
        return Step.NULL

    def _start_weight(self, cut: ObjectiveCut) -> None:
        norm = float(np.linalg.norm(cut.subgradient)) or 1.0
        self._weight = self.proximal or norm / first_step(self._domain, cut, 0.1)
        self._least_weight = 1e-10 * self._weight

    def _solve(self, center: ObjectiveCut) -> None:
        """Solve the master; with what the summands say at its solution once more, until that is worth little."""
        for _ in range(TANGENTS):
            self._solve_whole(center)
            height = center.upper - (1.0 - WORTH) * self._decrease
            if not self._decrease > 0 or not self._pool.add_tangent(self._point, height):
                return

    def _adapt(self) -> None:
        """After a call: a smaller weight where the proof is far behind, fewer cuts where they are too many."""
        pool, gap = self._pool, self._pool.upper - self._lower
        if np.isfinite(gap) and self._decrease < 0.01 * gap:
            self._weight = max(0.5 * self._weight, self._least_weight)
        m = len(pool.objective)
        a = np.zeros(m)
        a[: len(self._multipliers)] = self._multipliers
        outer = np.zeros(len(pool.feasibility))
        outer[: len(self._outer)] = self._outer
        if pool.shrink(self.max_cuts, a, outer) is not None:
            a = np.zeros(len(pool.objective))
            a[-1] = 1.0
        self._multipliers = a

    def _solve_whole(self, center: ObjectiveCut) -> None:
        """Solve the master of the whole cuts."""
        pool, m = self._pool, len(self._pool.objective)
        # rows in the unit of the values: model minus value of the center, and feasibility cuts times a slope
        unit = float(np.abs(pool.objective.matrix).max()) or 1.0
        scale = unit / np.abs(pool.feasibility.matrix).max(axis=1, initial=0.0)
        steep = unit / np.abs(self._equations).max(axis=1, initial=0.0)
        matrix = np.vstack(
            [pool.objective.matrix, pool.feasibility.matrix * scale[:, None], self._equations * steep[:, None]]
        )
        allowed = 1e-9 * unit
        sides = -pool.feasibility.constant * scale - 3.0 * allowed  # stay inside the feasibility cuts
        rhs = np.r_[center.upper - pool.objective.constant, sides, self._rhs * steep]
        start = np.zeros(len(rhs))
        start[: min(m, len(self._multipliers))] = self._multipliers[:m]
        start[m - 1] += not start.any()
        start /= start.sum()
        start[m : m + len(self._outer)] = self._outer / scale[: len(self._outer)]
        start[m + len(scale) :] = self._pulls / steep
        # the rounding of the rows that are active
        floor = 1e-15 * max(abs(center.upper), float((np.abs(matrix[start > 0]) @ np.abs(center.point)).max()))
        failures = 0
        for _ in range(TRIES):
            done = proximal_point(
                self._master,
                center.point,
                self._weight,
                matrix,
                rhs,
                m,
                start,
                floor=floor,
                allowed=allowed,
                n_equations=len(steep),
            )
            outer = done.multipliers[m : m + len(scale)] * scale
            self._prove(done.multipliers[:m], outer)
            self._point, self._decrease = self._inside(done.point), -done.value
            moved = self._decrease > 10.0 * floor and bool((done.point != center.point).any())
            if not done.converged and failures < 3:
                failures += 1
                self._weight *= 10.0
                if failures == 2:  # the cause may be the start, or the margin where it leaves no point
                    start[m:] = 0.0
                    rhs[m : m + len(scale)] += 3.0 * allowed
            elif not moved and self._weight > self._least_weight:
                self._weight *= 0.1
            else:
                break
        if not moved:
            self._point, self._decrease = center.point, 0.0
        self._multipliers = np.maximum(done.multipliers[:m], 0.0)
        if done.converged:
            self._outer, self._pulls = outer, done.multipliers[m + len(scale) :] * steep

    def _inside(self, point: Vector) -> Vector:
        """Return the point of the domain nearest to one that satisfies the master's rows to its tolerance."""
        return point if self._master is self._domain else self._domain.project(point)

    def _prove(self, objective: Vector, feasibility: Vector) -> None:
        minorant = self._pool.minorant(objective, feasibility)
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
