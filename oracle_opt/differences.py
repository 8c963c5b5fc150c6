"""Cuts of a convex function that returns its value alone: difference quotients, with what they leave open as error."""

from collections.abc import Callable
from concurrent.futures import Executor
from math import inf, isfinite

import numpy as np

from oracle_opt.arguments import callback, instance, real
from oracle_opt.arrays import Vector, real_array
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument, InvalidCut

MOST_VARIABLES = 50  # 2 n + 1 values a cut: beyond, a gradient is worth writing
ASIDE = 1e-5  # where f has a kink at a point, it rarely has one so far beside it, in units of a variable
PROGRAM = 1e-6  # ten times the tolerance of HiGHS
ROUNDING = 4 * np.finfo(float).eps


class Differences:
    """A function of values, as one that returns cuts: see docs/theory.md, "Cuts of values alone"."""

    def __init__(
        self,
        function: Callable[[Vector], float],
        domain: Domain,
        accuracy: float = 1e-14,
        executor: Executor | None = None,
    ) -> None:
        self.function = callback("function", function, "a function of a point that returns a number")
        self.accuracy = real("accuracy", accuracy, least=ROUNDING / 4, below=1.0)
        self.executor = None if executor is None else instance("executor", executor, Executor, "an Executor or None")
        n = domain.dimension
        if n > MOST_VARIABLES:
            raise InvalidArgument(
                f"`domain` must have at most {MOST_VARIABLES} variables where slopes are finite differences, got {n}; "
                "return (value, subgradient), or see FunctionOracle.from_jax and from_torch"
            )
        units = np.eye(n)
        self.lower = np.array([domain.minimize_linear(unit)[0] for unit in units])
        self.upper = np.array([-domain.minimize_linear(-unit)[0] for unit in units])
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise InvalidArgument("`domain` must be bounded, or have a radius, where slopes are finite differences")
        # a polyhedron's ends are known up to the tolerance of a linear program: the set may reach so much further
        slack = PROGRAM * np.maximum(1.0, np.maximum(abs(self.lower), abs(self.upper)))
        self._ends = self.lower - slack, self.upper + slack
        self._aside = np.random.default_rng(0).uniform(-ASIDE, ASIDE, n)

    def __call__(self, point: Vector) -> ObjectiveCut:
        """Return the better of the cuts that are made at the point and, near a kink, beside it."""
        best: tuple[float, Vector] = -inf, np.zeros(len(point))
        ((value, doubt),) = self._values([point])
        for aside in (0.0, 1.0):
            best = max(best, self._minorant(point, aside * self._aside), key=lambda one: one[0])
            if value - best[0] <= ASIDE * max(1.0, abs(value)):
                break
        lower = min(best[0], value)
        return ObjectiveCut(point, lower, best[1], error=(value + doubt - lower) * (1 + ROUNDING))

    def _values(self, points: list[Vector]) -> list[tuple[float, float]]:
        """Values at some points, and by how much each may be wrong."""
        ask = map if self.executor is None else self.executor.map
        values = []
        for point, answer in zip(points, ask(self.function, [one.copy() for one in points]), strict=True):
            try:
                value = float(real_array(answer).reshape(()))
            except (TypeError, ValueError) as problem:
                raise InvalidCut(f"`function` must return a number, got {answer!r}: {problem}") from problem
            if not isfinite(value):
                raise InvalidCut(f"`function` must be finite in a box around the domain, got {value!r} at {point!r}")
            values.append((value, self.accuracy * max(1.0, abs(value))))
        return values

    def _minorant(self, point: Vector, aside: Vector) -> tuple[float, Vector]:
        """Value at the point, less all that is open, and slope of a minorant made at a point beside it."""
        widths = self.upper - self.lower
        scales = np.minimum(np.maximum(1.0, abs(point)), widths)
        steps = np.sqrt(self.accuracy) * scales  # f'' h and accuracy / h weigh the same
        center = np.clip(point + aside * scales, self.lower + steps, self.upper - steps)
        free = np.flatnonzero(widths > 0)
        moved = [np.where(np.arange(len(point)) == i, center + sign * steps, center) for i in free for sign in (1, -1)]
        (value, doubt), *others = self._values([center, *moved])
        slope, total = np.zeros(len(point)), value - doubt
        for k, i in enumerate(free):
            quotients = []
            for end, (there, wrong) in zip(moved[2 * k : 2 * k + 2], others[2 * k : 2 * k + 2], strict=True):
                taken = abs(end[i] - center[i])
                quotients.append((there - value) / taken + (wrong + doubt + ROUNDING * abs(there - value)) / taken)
            above, below = quotients[0], -quotients[1]
            if below > above:
                raise InvalidCut(
                    f"`function` is not convex along variable {i} at {center!r}, or its values are less accurate than "
                    f"`accuracy`={self.accuracy:g}"
                )
            slope[i], half = (above + below) / 2, (above - below) / 2
            reach = max(self._ends[1][i] - center[i], center[i] - self._ends[0][i], abs(point[i] - center[i]))
            total += slope[i] * (point[i] - center[i]) - half * reach * (1 + ROUNDING)
        return total - ROUNDING * len(point) * (abs(total) + abs(slope) @ abs(point - center)), slope
