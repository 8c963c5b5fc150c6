"""A bundle method for expensive oracles that hand over a local model: it is minimized between two calls."""

from __future__ import annotations

import numpy as np

from oracle_opt import (
    Curvature,
    Cut,
    Domain,
    LocalFunction,
    LocalMinimum,
    LocalModel,
    Minorant,
    ObjectiveCut,
    Query,
    Step,
)
from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.level_projection import LevelProjection
from oracle_opt.generators.newton_bundle import NewtonBundle

# A local model is minimized to this share of the gap, but no finer than that of the value. Where the function falls by
# orders of magnitude in one step, most of the gap is error of the bound, so the share is small.
INNER, FINEST = 2e-4, 1e-10
JOINED = 3  # the last cuts whose free variables may move, too
STEEPEST = 8  # coordinates of least slope that a local model knows from the beginning
PRICINGS, JOINING = 4, 15  # rounds of coordinates that join it, and how many at a time
EXCESS = 0.1  # share of the gap by which their slope has to be less than all others


class FaceBundle(NewtonBundle):
    """Minimize a local model of the oracle between two calls: for functions that cost more than all masters.

    An oracle that gives a `LocalModel` hands over a convex function g below f that is f near the point and cheap. For
    multiple kernel learning g is the support vector machine in which the bounded variables stay. After each call

    1. g of the best point is minimized over the coordinates that matter. One cut of f comes out, valid whatever the
       minimum is worth, and joins the proof of the lower bound.
    2. The oracle estimates f at the minimizer from above, without a call. If that is below the best value by `promise`
       times the gap, the minimizer is the next query point: f is at most the estimate there, so the step is serious.
    3. If not, g is made larger where it differs from f most at the minimizer, and it starts over, `rounds` times.
    4. If there is no promise then either, or the last one was not kept, a step as of `NewtonBundle` follows.

    Parameters
    ----------
    promise : float
        Share of the gap, default 0.5.
    rounds : int
        How often the local model is enlarged between two calls, default 2; 0: never. More of them leave fewer calls.
    switch, memory, level, max_cuts, most_memory
        As for `NewtonBundle`.

    Notes
    -----
    *What it costs.* Steps of the inner problems are counted: `Result` shows them beside the calls, as column
    `inner_steps` of the history. On small problems they take longer than the calls they save; docs/how_to_choose.md
    says from where it pays.

    *Coordinates.* The local model is minimized over the coordinates of the linear program's minimizer, those that are
    large at the best point and those of least slope. Others join by the slopes of the local model's cut, on which all
    coordinates are.

    *Two models.* The cuts of local models tell of the curvature of f, and a model with curvature would count it twice.
    So these cuts are kept for the bound and for level steps, and Newton steps know the cuts of the oracle alone.

    *Bound.* Every cut is a proven minorant of f, so no claim of a local model can falsify the bound.

    References
    ----------
    Lemarechal, Nemirovskii & Nesterov (1995), "New variants of bundle methods", for level steps; Joachims (1999),
    "Making large-scale SVM learning practical", for machines in which most variables stay.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import FaceBundle
    >>> from oracle_opt.oracles import MKLOracle, uci_bank
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> result = minimize(MKLOracle(uci_bank(X), np.sign(X[:, 0] * X[:, 1])), FaceBundle())
    >>> result.success, result.n_calls <= 6, int(result.history.inner_steps.sum()) > 0
    (True, True, True)
    """

    takes = frozenset({Curvature})
    needs = frozenset({LocalModel})

    def __init__(
        self,
        promise: float = 0.5,
        rounds: int = 2,
        switch: float = 0.05,
        memory: int = 3,
        level: float = 0.8,
        max_cuts: int = 1000,
        most_memory: int = 10,
    ) -> None:
        super().__init__(switch, memory, level, max_cuts, most_memory)
        self.promise = real("promise", promise, above=0.0, below=1.0)
        self.rounds = whole("rounds", rounds, 0)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        super().reset(domain, point)
        self._proof = CuttingPlaneModel(domain, self.max_cuts)  # its cuts are those of the oracle and of local models
        self._levels = LevelProjection(self._proof)
        self._locals: list[LocalFunction] = []  # those of the last cuts, newest first
        self._is_promised = False
        self._n_inner = 0

    def ask(self) -> Query:
        """Return the next query point, with the wish for a local model and for curvature."""
        return Query(self._point, wishes=frozenset({Curvature, LocalModel}))

    def tell(self, cut: Cut) -> Step:
        """Add the cut, minimize the local model; step to its minimizer or as `NewtonBundle` does."""
        assert isinstance(cut, ObjectiveCut)  # the method takes no feasibility cuts
        before = self._model.gap
        better = self._model.add(cut)
        self._proof.add(cut)
        self._remember(cut)
        error = self._error(cut)
        if not self._is_promised:
            self._judge(error, before)
        broken = self._is_promised and not better
        promised = self._promised(cut)
        self._is_promised = not (promised is None or broken or np.array_equal(promised, cut.point))
        if promised is None or not self._is_promised:
            self._step(cut, error, self._levels)
        else:
            self._point = promised
            self._predict()
        return Step.SERIOUS if better else Step.NULL

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts, those of local models among them, by the linear program's multipliers."""
        return self._proof.minorant

    def inner_steps(self) -> int:
        """Return the steps of the minimizations of local models."""
        return self._n_inner

    def _promised(self, cut: ObjectiveCut) -> Vector | None:
        """The minimizer of the local model, or of a larger one, if a serious step is promised there."""
        proof = self._proof
        local = self._local(cut)
        for _ in range(self.rounds + 1):
            minimum = None if local is None or not proof.gap > proof.resolution else self._minimum(local)
            if local is None or minimum is None:
                return None
            predicted, local = local.predict(minimum)
            if predicted <= proof.pool.upper - self.promise * proof.gap:
                return minimum.point
        return None

    def _local(self, cut: ObjectiveCut) -> LocalFunction | None:
        """The local model of the best point, in which may move what may in those of the last cuts."""
        best = self._proof.pool.best
        assert best is not None
        new, local = (
            None if told is None else told.function for told in (one.answer(LocalModel) for one in (cut, best))
        )
        if new is not None:
            self._locals = [new, *self._locals[: JOINED - 1]]
        if local is not None:
            for other in self._locals:
                local = local.joined(other)
        return local

    def _minimum(self, local: LocalFunction) -> LocalMinimum | None:
        """Minimize a local model over the coordinates that matter; its cuts join the proof."""
        proof, found = self._proof, None
        best = proof.pool.best
        assert best is not None
        assert proof.minimum is not None
        weights, upper = self._blocks.weights(best.point), abs(proof.pool.upper)
        active = (self._blocks.weights(proof.minimum.point) > 1e-9 * self._blocks.radius) | (
            weights > 1e-2 * weights.max()
        )
        active[np.argsort(self._blocks.slopes(best.subgradient))[:STEEPEST]] = True
        for _ in range(PRICINGS):
            coordinates, accuracy = np.flatnonzero(active), max(INNER * min(proof.gap, upper), FINEST * upper)
            minimum = local.minimize(coordinates, best.point, accuracy)
            if minimum is None:
                break
            found = minimum
            self._n_inner += minimum.n_steps
            proof.add(minimum.cut)
            slopes = self._blocks.slopes(minimum.cut.subgradient)
            steep = np.argsort(slopes)[:JOINING]
            limit = slopes[coordinates].min() - EXCESS * min(proof.gap, upper) / self._blocks.radius
            joining = steep[~active[steep] & (slopes[steep] < limit)]
            if not joining.size:
                break
            active[joining] = True
        return found
