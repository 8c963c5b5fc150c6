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

JOINED = 3
INNER = 0.0002  # share of the gap to which a local model is minimized ...
FINEST = 1e-10  # ... but no finer than this share of the value
PRICINGS = 4  # rounds of coordinates that join
STEEPEST = 8  # coordinates of least slope that are looked at from the beginning
JOIN = 15  # coordinates that join at a time
EXCESS = 0.1  # share of the gap by which the slope of a coordinate has to be better than all that are there


class FaceBundle(NewtonBundle):
    """x"""

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
    ) -> None:
        super().__init__(switch, memory, level, max_cuts)
        self.promise = real("promise", promise, above=0.0, below=1.0)
        self.rounds = whole("rounds", rounds, 0)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        super().reset(domain, point)
        self._proof = CuttingPlaneModel(domain, self.max_cuts)
        self._levels = LevelProjection(self._proof)
        self._is_face = False
        self.n_inner = 0
        self.log = []; self._lasts = []

    def ask(self) -> Query:
        """Return the next query point, with the wish for a local model and for curvature."""
        return Query(self._point, wishes=frozenset({Curvature, LocalModel}))

    def tell(self, cut: Cut) -> Step:
        """Add the cut, minimize the local model; step to its minimizer, or as `NewtonBundle` does."""
        assert isinstance(cut, ObjectiveCut)  # the method takes no feasibility cuts
        before = self._model.gap
        better = self._model.add(cut)
        self._proof.add(cut)
        self._remember(cut)
        error = self._error(cut)
        if not self._is_face:
            self._judge(error, before)
        promised = self._promised(cut)
        self._is_face = promised is not None
        if promised is None:
            self._step(cut, error, self._levels)
        else:
            best = self._model.pool.best
            root = self._root(best, alone=False)
            self._point = promised
            self._predicted = None if root is None else self._second_order(best, root, promised)
        self.log.append(("face" if self._is_face else "newton" if self._is_newton else "level", self.n_inner, self._proof.gap/abs(cut.value)))
        return Step.SERIOUS if better else Step.NULL

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts, local ones among them, by the linear program's multipliers."""
        return self._proof.minorant

    def _promised(self, cut: ObjectiveCut) -> Vector | None:
        """The minimizer of the local model if its predicted value is a serious step."""
        best, proof = self._proof.pool.best, self._proof
        local = self._local(cut)
        for _ in range(self.rounds + 1):
            if local is None or not proof.gap > proof.resolution:
                break
            minimum = self._minimum(local, best)
            if minimum is None:
                break
            predicted, local = local.predict(minimum)
            if predicted <= proof.pool.upper - self.promise * proof.gap:
                return minimum.point
        return None

    def _local(self, cut: ObjectiveCut) -> LocalFunction | None:
        """The local model at the best point, in which moves what moves at the last one, too."""
        best = self._proof.pool.best
        self._lasts = [cut, *self._lasts][:JOINED]
        told = best.answer(LocalModel)
        if told is None or told.function is None:
            return None
        f = told.function
        for c in self._lasts:
            if c is not best: f = f.joined(c.answer(LocalModel).function)
        return f

    def _minimum(self, local: LocalFunction, best: ObjectiveCut) -> LocalMinimum | None:
        """Minimize a local model over the coordinates that matter; its cuts join the proof."""
        proof = self._proof
        slopes = best.subgradient
        active = proof.minimum.point > 1e-9
        active |= best.point > 1e-2 * best.point.max()
        active[np.argsort(slopes)[:STEEPEST]] = True
        found = None
        for _ in range(PRICINGS):
            gap = min(proof.gap, abs(proof.pool.upper))
            accuracy = max(INNER * gap, FINEST * abs(proof.pool.upper))
            coordinates = np.flatnonzero(active)
            minimum = local.minimize(coordinates, best.point, accuracy)
            if minimum is None:
                return found
            found = minimum
            self.n_inner += minimum.n_steps
            slopes = minimum.cut.subgradient
            proof.add(minimum.cut)
            least = slopes[coordinates].min()
            order = np.argsort(slopes)[:JOIN]
            wanted = order[~active[order] & (slopes[order] < least - EXCESS * gap * 1.0)]
            if not len(wanted):
                break
            active[wanted] = True
        return found
