"""A second-order bundle method: cuts plus the mean curvature of the function at the last points."""

from enum import Enum, auto

import numpy as np

from oracle_opt import (
    Curvature,
    Cut,
    Domain,
    Minorant,
    ObjectiveCut,
    Query,
    QueryPointGenerator,
    Step,
)
from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters.cut_pool import TANGENTS
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.interior_point import minimize_epigraph
from oracle_opt.generators.masters.level_projection import LevelProjection

# A Newton step whose value was predicted to this share of the gap is followed by one with the best point's curvature
# alone. If that is off by more than MISLED of the gap, the share is divided by 4; else doubled, up to this again.
TRUSTED, MISLED = 0.1, 0.3
# A Newton step that leaves more than POOR of the gap makes the mean longer by one Hessian, any other shorter. One that
# leaves more than SLOW is slow, and after PATIENCE slow ones in a row comes a level step.
POOR, SLOW = 0.6, 0.9
PATIENCE = 2
# The share of the gap by which cuts of the summands may exceed the model at its minimizer.
GIVE = 0.05
# The first program of a Newton step holds at most so many variables, those that are largest at the best point.
FIRST = 50


class NewtonPhase(Enum):
    """Which steps are made."""

    LEVEL = auto()  # level steps, until the second-order model predicts a value well
    NEWTON = auto()  # Newton steps
    PAUSE = auto()  # one level step, after slow Newton steps and before more of them


class NewtonBundle(QueryPointGenerator):
    """Level steps while cuts alone tell more, then Newton steps on a model of cuts and curvature.

    The Newton model is ``max_i (constant_i + slope_i @ z) + 1/2 mean_j |R_j (z - best)|^2``, the cuts plus the Hessians
    ``R_j.T @ R_j`` that the oracle stated at the best point and at the last others. The proven bound is that of the
    cuts alone. Without curvature the method is `LevelSet`.

    Parameters
    ----------
    switch : float
        Newton steps begin after a level step whose value this model predicted to this share of the gap, default 0.05.
    memory : int
        Least number of Hessians in the mean, default 3; 1 is the best point's alone.
    level : float
        That of the level steps, default 0.8.
    max_cuts : int
        Keep at most so many objective cuts; slack ones are dropped and their proof is kept as one aggregate cut.
    most_memory : int
        Largest number, default 10: the mean grows while Newton steps leave much of the gap.

    Notes
    -----
    *Hand-over.* Each step records the value that the Newton model predicts at the query point; its error, relative to
    the gap, decides what follows. So adding a constant to the function, or scaling it, changes no step. After two
    Newton steps in a row that each leave more than nine tenths of the gap, a level step follows. So curvature that is
    far too large, or wrong, delays the method and cannot stop it.

    *Mean curvature.* Where the function is only piecewise twice differentiable, the Hessian of one point is that of one
    piece. For an SVM it has the rank of the free support vectors and says nothing of the directions in which they
    change. The remainder of the linear model is an average of the Hessians along the segment, and the mean over the
    best point and the last others stands for it. It becomes longer where Newton steps leave more than six tenths of the
    gap, as kernels of low rank make them do. Once a Newton step was predicted to a tenth of the gap, the best point's
    Hessian alone is taken, which makes the end fast. A best point without curvature leaves the others.

    *Bound.* The model with curvature is no minorant and proves nothing: it only says where to ask. The lower bound is
    the minimum of a convex combination of cuts, whatever the oracle says of its curvature.

    An interior point method minimizes the model over the variables that matter: the largest of the best point and the
    support of the linear program's minimizer. Variables with a negative reduced cost are added until there is none,
    which makes the solution exact. If that fails numerically, a level step is taken.

    References
    ----------
    Lemarechal & Sagastizabal (1997), "Variable metric bundle methods", for bundles with curvature; Qi & Sun (1993), "A
    nonsmooth version of Newton's method", for piecewise smooth functions; Chapelle & Rakotomamonjy (2008), "Second
    order optimization of kernel parameters", for the Hessian of an SVM.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import NewtonBundle
    >>> from oracle_opt.oracles import GramBank, MKLOracle
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)  # one kernel for each column
    >>> oracle = MKLOracle(GramBank([np.outer(x, x) for x in X.T]), y, C=1)
    >>> result = minimize(oracle, NewtonBundle())
    >>> result.success, result.point.round(2).tolist()
    (True, [0.7, 0.3, 0.0])
    """

    needs_convexity = True
    reads_extras = False
    takes = frozenset({Curvature})

    def __init__(
        self,
        switch: float = 0.05,
        memory: int = 3,
        level: float = 0.8,
        max_cuts: int = 1000,
        most_memory: int = 10,
    ) -> None:
        self.switch = real("switch", switch, above=0.0, below=1.0)
        self.memory = whole("memory", memory)
        self.most_memory = whole("most_memory", most_memory)
        self.level = real("level", level, above=0.0, below=1.0)
        self.max_cuts = whole("max_cuts", max_cuts)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse everything but a simplex, scaled or not."""
        blocks = domain.simplices()
        return "it needs a domain that is one simplex" if blocks is None or len(blocks.sizes) > 1 else None

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        blocks = domain.simplices()
        assert blocks is not None  # `refusal` refuses all other domains
        self._blocks = blocks
        self._model = CuttingPlaneModel(domain, self.max_cuts)
        self._levels = LevelProjection(self._model)
        self._point = point
        self._curved: list[ObjectiveCut] = []  # the latest cuts with curvature, newest first
        self._predicted: float | None = None
        self._phase = NewtonPhase.LEVEL
        self._is_newton = self._is_alone = False  # the pending point: a Newton point, of the best point's Hessian alone
        self._slow, self._length, self._trusted = 0, self.memory, TRUSTED

    def ask(self) -> Query:
        """Return the level or Newton point, with the wish for curvature."""
        return Query(self._point, wishes=frozenset({Curvature}))

    def tell(self, cut: Cut) -> Step:
        """Add the cut; step to the level set or to the minimizer of the second-order model."""
        assert isinstance(cut, ObjectiveCut)  # the method takes no feasibility cuts
        before = self._model.gap
        better = self._model.add(cut)
        if self._model.pool.best is None:  # cuts of an earlier run, of which no value is known
            return Step.NULL
        self._remember(cut)
        error = self._error(cut)
        self._judge(error, before)
        self._step(cut, error, self._levels)
        return Step.SERIOUS if better else Step.NULL

    def _remember(self, cut: ObjectiveCut) -> None:
        """Keep the cut among the latest with curvature, if it has one in all variables."""
        if _whole_curvature(cut) is not None:
            self._curved = [cut, *self._curved[: self._length]]  # one more than now, as the mean may grow

    def _error(self, cut: ObjectiveCut) -> float:
        """How far the value is from that predicted."""
        return np.inf if self._predicted is None else abs(cut.upper - self._predicted)

    def _judge(self, error: float, before: float) -> None:
        """Decide whether Newton steps follow and of how many Hessians; `before` is the gap before the cut."""
        gap = self._model.gap
        if not self._is_newton:
            follow = self._phase is NewtonPhase.PAUSE or error <= self.switch * gap
            self._slow, self._phase = 0, NewtonPhase.NEWTON if follow else NewtonPhase.LEVEL
            return
        if self._is_alone:
            self._trusted = self._trusted / 4 if error > MISLED * gap else min(TRUSTED, 2 * self._trusted)
        if gap > POOR * before:
            self._length = min(self._length + 1, max(self.memory, self.most_memory))
        else:
            self._length = max(self._length - 1, self.memory)
        self._slow = self._slow + 1 if gap > SLOW * before else 0
        self._phase = NewtonPhase.NEWTON if self._slow < PATIENCE else NewtonPhase.PAUSE

    def _step(self, cut: ObjectiveCut, error: float, levels: LevelProjection) -> None:
        """Find the next query point, and what the second-order model says there."""
        model = self._model
        best, gap = model.pool.best, model.gap
        assert best is not None
        self._is_alone = self._is_newton and error <= self._trusted * gap
        root = self._root(best, alone=self._is_alone)
        newton = None
        if self._phase is NewtonPhase.NEWTON and root is not None and gap > 0:
            for _ in range(TANGENTS):
                newton = self._newton_point(best, root, gap)
                if newton is None or not model.pool.add_tangent(
                    newton, model.pool.objective.largest(newton) + GIVE * gap
                ):
                    break
        self._is_newton = newton is not None
        self._point = levels.project(cut.point, self.level) if newton is None else newton
        self._predict(root if self._is_newton else None)

    def _predict(self, root: Matrix | None = None) -> None:
        """Remember the value of the second-order model at the next query point, by default of the mean curvature."""
        best = self._model.pool.best
        assert best is not None
        root = self._root(best, alone=False) if root is None else root
        self._predicted = None if root is None else self._second_order(best, root, self._point)

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the linear program's multipliers."""
        return self._model.minorant

    def _root(self, best: ObjectiveCut, alone: bool) -> Matrix | None:
        """Factor of the Hessian of the best point alone, or of the mean with the last others; `None` if unknown."""
        curved = [cut for cut in self._curved if cut is not best]
        if _whole_curvature(best) is not None:
            curved = [best, *curved]
        told = [_whole_curvature(cut) for cut in curved[: 1 if alone else self._length]]
        factors = [factor for factor in told if factor is not None]
        return np.vstack(factors) / np.sqrt(len(factors)) if factors else None

    def _second_order(self, best: ObjectiveCut, root: Matrix, point: Vector) -> float:
        """Value of the Newton model."""
        rows = self._model.pool.objective
        moved = root @ (point - best.point)
        return rows.largest(point) + 0.5 * float(moved @ moved)

    def _newton_point(self, best: ObjectiveCut, root: Matrix, gap: float) -> Vector | None:
        """Minimize the model in units of the gap, in the weights; `None` if the interior point method fails."""
        assert self._model.minimum is not None
        pool, blocks = self._model.pool, self._blocks
        root, weights = blocks.slopes(root / np.sqrt(gap)), blocks.weights(best.point)
        slopes, constants = pool.objective.matrix / gap, (pool.objective.constant - pool.upper) / gap
        slopes, target = blocks.slopes(slopes), root @ weights
        lowest = blocks.weights(self._model.minimum.point)
        active = lowest > 1e-6 * lowest.max()
        largest = np.argsort(weights)[-FIRST:]
        active[largest[weights[largest] > 1e-3 * weights.max()]] = True
        while True:
            chosen = np.flatnonzero(active)
            part = root[:, chosen]
            # the tiny ridge makes the minimizer unique where neither cuts nor curvature do
            hessian = part.T @ part
            hessian[np.diag_indices(len(chosen))] += 1e-10 * max(float(hessian.diagonal().max()), 1.0)
            solved = minimize_epigraph(hessian, -target @ part, slopes[:, chosen], constants, blocks.radius)
            if not solved.converged:
                return None
            # at zero: the slope of cuts and curvature, plus the multiplier of the sum
            reduced = solved.multipliers @ slopes + (part @ solved.x - target) @ root + solved.sum_multiplier
            wanted = np.flatnonzero(~active & (reduced < -1e-6 * (1.0 + abs(solved.sum_multiplier))))
            if not len(wanted):
                break
            active[wanted[np.argsort(reduced[wanted])[: max(50, len(chosen) // 2)]]] = True
        weights = np.zeros(len(active))
        weights[chosen] = solved.x
        weights[weights < 1e-9 * weights.max()] = 0.0
        return blocks.point(weights * (blocks.radius / weights.sum()))


def _whole_curvature(cut: ObjectiveCut) -> Matrix | None:
    """The factor of a cut's Hessian; `None` where the oracle told none, or that of some variables alone."""
    told = cut.answer(Curvature)
    return None if told is None or told.coordinates is not None else told.factor
