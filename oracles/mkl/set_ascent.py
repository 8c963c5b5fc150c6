"""One support vector machine solved on one working set of points after another, without the kernel of all points."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.mkl.free_newton import free_newton
from oracle_opt.oracles.mkl.weighted_kernel import WeightedKernel
from oracle_opt.oracles.svm.pieces import Pieces
from oracle_opt.oracles.svm.separable_dual import Separable, unit_of
from oracle_opt.oracles.svm.svm_solution import SVMStatus

# Points of a working set at first.
SET_POINTS = 1_500
# A set has room for so many times the free variables, as long as sets may grow.
ROOM = 1.5
# Free variables, over the largest set, beyond which Newton's method takes them all; for fewer, sets are faster.
CROWD = 2.0
# Share of a set up to which all free variables are taken; else half of the set are those that violate most.
KEPT = 0.8
# Relative gap to which a set is solved, at least and over the one that is wanted of all points; violation, over that of
# all points.
SET_ACCURACY, OF_WANTED, SET_SHARE = 1e-9, 0.1, 0.01
# Share of the gap that is not owed to rounding at which the rest is not worth a set.
ROUNDING_SHARE = 0.1
# So many sets that together raise the objective by less than this share of the gap are no progress.
PATIENCE, PROGRESS = 30, 0.01
# Entries of a step along them that are rounding, over its largest one, and the share of a step that is worth it.
NOTHING, SHORT = 1e-12, 1e-3
# Sets after which steps along the last moves are taken, too, and how many moves.
ALONE, MOVES = 6, 10


class SetAscent:
    """Raises ``L(b) - 1/2 b @ K @ b`` in the variables of one set after another: see docs/theory_machines.md."""

    def __init__(
        self,
        dual: Separable,
        pieces: Pieces,
        kernel: WeightedKernel,
        move: Callable[[Vector, Vector], Vector],
        slack: Callable[[Vector], float],
        b: Vector,
        decision: Vector,
        most_points: int,
        max_steps: int,
    ) -> None:
        self.dual, self.pieces, self.kernel, self.move = dual, pieces, kernel, move
        self.slack, self.b, self.decision = slack, b, decision
        self.most_points, self.max_steps = most_points, max_steps
        self.n_sets = self.n_steps = self.n_newton = 0
        self._set_accuracy = SET_ACCURACY
        self._newton_helps = dual.ridge is not None and bool((dual.ridge > 0).all())
        self._gains: deque[float] = deque(maxlen=PATIENCE)
        self._moves: deque[tuple[Vector, Vector]] = deque(maxlen=MOVES)

    def run(self, accuracy: float) -> SVMStatus:
        """Solve sets until the relative gap is small enough, or nothing but rounding, or they do not lessen it."""
        self._set_accuracy = max(SET_ACCURACY, OF_WANTED * accuracy)
        while True:
            seconds_left()
            gap, _ = self.pieces.gap(self.b, self.decision, self.slack(self.b))
            bare, _ = self.pieces.gap(self.b, self.decision)
            primal = self.dual.value(self.b) - 0.5 * float(self.b @ self.decision) + gap
            if gap <= accuracy * abs(primal):
                return SVMStatus.CONVERGED
            if bare <= ROUNDING_SHARE * gap:
                return SVMStatus.ROUNDING_FLOOR
            if self.n_steps >= self.max_steps:
                return SVMStatus.STEP_LIMIT
            if len(self._gains) == PATIENCE and sum(self._gains) <= PROGRESS * bare:
                return SVMStatus.ROUNDING_FLOOR
            if self._newton_helps and self._crowded():
                self._newton(accuracy, bare)
            elif not self._one_set():
                return SVMStatus.ROUNDING_FLOOR
            if self.n_sets > ALONE:
                self._along_moves()

    def go_to(self, b: Vector) -> None:
        """Move to other dual variables."""
        self.decision += self.move(self.b, b)
        self.b[:] = b

    def _room(self, n_free: int) -> int:
        """Points of the next set, of which so many are free."""
        return min(max(SET_POINTS, int(ROOM * n_free)), self.most_points)

    def _crowded(self) -> bool:
        """Whether the free variables take more than two sets, which cannot grow any more."""
        n_free = self.dual.free(self.b).size
        return self.b.size > self._room(n_free) and n_free > CROWD * self.most_points

    def _newton(self, accuracy: float, gap: float) -> None:
        """Newton's method in all variables; it is not tried again where it does not halve the gap."""
        most_columns = self.most_points**2 // self.b.size
        b, decision, rounds = free_newton(self.pieces, self.kernel, self.b, self.decision, most_columns, accuracy)
        self._newton_helps = self.pieces.gap(b, decision)[0] <= 0.5 * gap
        self.b[:], self.decision = b, decision
        self.n_sets += 1
        self.n_newton += rounds

    def _one_set(self) -> bool:
        """Solve one set; whether it raised the objective."""
        dual, b = self.dual, self.b
        chosen, violation = self._chosen()
        if violation <= 0.0:
            return False
        K, before = self.kernel.block(chosen), b[chosen]
        rest = np.ones(b.size, dtype=bool)
        rest[chosen] = False
        held = float(np.add.reduce(b[rest], dtype=np.longdouble) - np.longdouble(dual.total))
        linear = dual.linear[chosen] - self.decision[chosen] + K @ before
        unit = dual.unit if dual.unit > 0 else unit_of(float(np.abs(self.decision).max()))
        part = replace(dual.part(chosen), linear=linear, total=-held, offset=0.0, unit=unit)
        svm = part.solve(
            part.add_ridge(K),
            start=before,
            accuracy=self._set_accuracy,
            tolerance=SET_SHARE * violation,
            max_steps=self.max_steps - self.n_steps,
        )
        self.n_sets += 1
        self.n_steps += svm.n_steps
        self.n_newton += svm.n_newton
        after = b.copy()
        after[chosen] = svm.signed_dual
        delta, change = after - b, self.move(b, after)
        gain = self._gain(delta, change)
        b[:] = after
        self.decision += change
        self._gains.append(gain)
        self._moves.append((delta, change))
        return gain > 0.0

    def _along_moves(self) -> None:
        """A step to the best point of the space of the last moves, as far as the box allows, unless kinks cost more."""
        dual, b = self.dual, self.b
        lower, upper = dual.box
        slope = dual.linear - self.decision
        if dual.kink is not None:
            slope = slope - dual.kink * np.sign(b)
            lower, upper = np.where(b > 0, 0.0, lower), np.where(b < 0, 0.0, upper)
        if dual.ridge is not None:
            slope = slope - dual.ridge * b
        moves, changes = list(zip(*self._moves, strict=True))
        hessian = np.array([[delta @ change for change in changes] for delta in moves])
        if dual.ridge is not None:
            hessian += np.array([[(delta * dual.ridge) @ other for other in moves] for delta in moves])
        along = np.array([delta @ slope for delta in moves])
        share = np.linalg.lstsq(0.5 * (hessian + hessian.T), along, rcond=1e-10)[0]
        step = sum(x * delta for x, delta in zip(share, moves, strict=True))
        step[np.abs(step) <= NOTHING * np.abs(step).max()] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (upper - b) / step, np.where(step < 0, (lower - b) / step, np.inf))
        length = min(1.0, float(room.min()))
        after = np.clip(b + length * step, lower, upper)
        change = length * sum(x * change for x, change in zip(share, changes, strict=True))
        if length > SHORT and self._gain(after - b, change) > 0.0:
            b[:] = after
            self.decision += change

    def _gain(self, delta: Vector, change: Vector) -> float:
        """By how much the objective is larger at b + delta than at b, for ``change = K @ delta``."""
        dual, b = self.dual, self.b
        gain = float(dual.linear @ delta)
        if dual.kink is not None:
            gain -= float(dual.kink @ (np.abs(b + delta) - np.abs(b)))
        if dual.ridge is not None:
            gain -= 0.5 * float(dual.ridge @ (delta * (2.0 * b + delta)))
        return gain - float(delta @ self.decision) - 0.5 * float(delta @ change)

    def _chosen(self) -> tuple[Indices, float]:
        """The next set, half of it besides the free points able to rise and half to fall, and the largest violation."""
        pieces, n, free = self.pieces, self.b.size, self.dual.free(self.b)
        x = pieces.split(self.b)
        g = pieces.gradient(x, self.decision)
        rising = np.where(x < pieces.upper, g, -np.inf).reshape(-1, n).max(axis=0)
        falling = np.where(x > pieces.lower, g, np.inf).reshape(-1, n).min(axis=0)
        top, bottom = float(rising.max()), float(falling.min())
        pair = [int(rising.argmax()), int(falling.argmin())]
        room = self._room(free.size)
        if n <= room:
            return np.arange(n), top - bottom
        kept = free
        if free.size > KEPT * room:  # sets cannot grow any more
            wrong = np.maximum(rising - bottom, top - falling)[free]
            kept = free[np.argsort(-wrong, kind="stable")[: room // 2]]
        rising[kept], falling[kept] = -np.inf, np.inf
        half = max((room - kept.size) // 2, 1)
        up = np.argpartition(-rising, half - 1)[:half]
        down = np.argpartition(falling, half - 1)[:half]
        up, down = up[np.argsort(-rising[up])], down[np.argsort(falling[down])]
        # as many of each as there are pairs that violate the conditions, twice, as others will
        n_pairs = int(np.count_nonzero(rising[up] > falling[down]))
        taken = max(2 * n_pairs, SET_POINTS // 16)
        up, down = up[:taken], down[:taken]
        up, down = up[rising[up] > -np.inf], down[falling[down] < np.inf]
        return np.unique(np.concatenate([kept, up, down, pair])), top - bottom
