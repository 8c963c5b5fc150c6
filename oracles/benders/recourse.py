"""The second stage of one scenario after the other, by HiGHS."""

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from oracle_opt._highs_model import HighsError, HighsProgram
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.dual_simplex import small_enough
from oracle_opt.oracles.benders.proof import Interiors, farkas
from oracle_opt.oracles.benders.standard_form import StandardForm
from oracle_opt.oracles.benders.vertices import BASIC, LOWER, UPPER, ZERO

_COARSE, _FINE = 1e-7, 1e-10  # of the largest cost: HiGHS' tolerance of reduced costs, by default and at least
_SPREAD = 1e4  # of costs, from which the coarse tolerance may hide the least of them
_MISSED = 1e-6  # of the terms of its column: a reduced cost that is wrong by more is not of an optimum


@dataclass(frozen=True, eq=False)
class DualVertex:
    """Multipliers pi with ``Q(l, u) >= constant + max(pi, 0) @ l + min(pi, 0) @ u`` for all row sides l, u."""

    multipliers: Vector
    constant: float

    def values(self, lower: Matrix, upper: Matrix) -> Vector:
        """Bounds for many sides, rows of shape (s, m)."""
        pi = self.multipliers
        above, below = pi > 0, pi < 0
        result: Vector = self.constant + lower[:, above] @ pi[above] + upper[:, below] @ pi[below]
        return result

    def size(self, sides: Vector) -> float:
        """Sum of the sizes of the terms of such a value, for the sizes of the sides."""
        return abs(self.constant) + float(np.abs(self.multipliers) @ sides)


@dataclass(frozen=True, eq=False)
class Solved:
    """HiGHS's solution of one scenario: its multipliers, to a tolerance, and a point within its bounds."""

    multipliers: Vector
    y: Vector


class Recourse:
    """``Q(l, u) = min q @ y : l <= W @ y <= u, y_lower <= y <= y_upper``, warm-started from the last solution."""

    def __init__(self, form: StandardForm, rays: Interiors) -> None:
        self.form, self._rays = form, rays
        bound = np.isfinite(form.row_lower) | np.isfinite(form.row_upper)
        all_ = small_enough(form.shape) or len(form.entries)  # bases and entries that vary are told by row
        self._rows = np.flatnonzero(bound | bool(all_))
        self._cost: Vector | None = None
        self._values: Vector | None = None
        self.program = HighsProgram({"solver": "simplex"})
        self.program.add_columns(form.y_lower, form.y_upper)
        none = np.full(len(self._rows), np.inf)
        self.program.add_rows(form.W[self._rows], -none, none)

    def solve(self, cost: Vector, values: Vector | None, lower: Vector, upper: Vector) -> Solved | DualVertex:
        """Solve for one pair of sides."""
        program, kinds = self.program, highspy.HighsModelStatus
        if self._cost is None or not np.array_equal(cost, self._cost):
            program.change_costs(cost)
            self._cost = cost.copy()
        if values is not None and (self._values is None or not np.array_equal(values, self._values)):
            for (row, column), value in zip(self.form.entries.tolist(), values.tolist(), strict=True):
                program.change_entry(row, column, value)
            self._values = values.copy()
        program.change_sides(np.arange(len(self._rows)), lower[self._rows], upper[self._rows])
        for attempt in ("warm", "cold", "presolved"):
            if attempt != "warm":
                program.forget()
            # presolve forgets the basis, and solves a few programs on which the simplex method gives up
            program.set_options({"presolve": "on" if attempt == "presolved" else "off"})
            status = program.run()
            if status == kinds.kOptimal:
                found = self._found()
                if self._misses(found.multipliers, cost, values):
                    program.set_options({"dual_feasibility_tolerance": _FINE})
                    if program.run() == kinds.kOptimal:
                        found = self._found()
                    program.set_options({"dual_feasibility_tolerance": _COARSE})
                return found
            if status == kinds.kInfeasible:
                ray = program.ray()
                if ray is not None:
                    return self._ray(self._spread(ray), values, lower, upper)
                if attempt != "warm":
                    break
        if status == kinds.kInfeasible:
            return self.elastic_ray(values, lower, upper)
        if status in (kinds.kUnbounded, kinds.kUnboundedOrInfeasible):
            raise InvalidArgument("`problem` must have a bounded second stage, and its cost falls without end")
        raise HighsError(program.ending(status))

    def elastic_ray(self, values: Vector | None, lower: Vector, upper: Vector) -> DualVertex:
        """The ray of the least total violation."""
        W, form = self.form.matrix(values), self.form
        return self._ray(farkas(W, form.y_lower, form.y_upper, lower, upper), values, lower, upper)

    def _found(self) -> Solved:
        """What HiGHS found."""
        y, pi = self.program.solution()
        return Solved(self.form.cleaned(self._spread(pi)), np.clip(y, self.form.y_lower, self.form.y_upper))

    def _misses(self, pi: Vector, cost: Vector, values: Vector | None) -> bool:
        """Whether a variable without end draws the cost there, by what is small beside the largest cost alone."""
        form, mine, sizes = self.form, None if values is None else values[None], np.abs(cost[cost != 0])
        if not form.side.any() or sizes.max(initial=0.0) < _SPREAD * sizes.min(initial=np.inf):
            return False
        reduced = form.reduced(pi[None], cost[None], mine)[0][0]
        size = np.abs(cost) + form.pulled(np.abs(pi)[None], mine, sizes=True)[0]
        return bool((form.side * reduced < -_MISSED * size).any())

    def _spread(self, multipliers: Vector) -> Vector:
        """Multipliers of all rows."""
        result = np.zeros(self.form.shape[0])
        result[self._rows] = multipliers
        return result

    def _ray(self, ray: Vector, values: Vector | None, lower: Vector, upper: Vector) -> DualVertex:
        """The ray with the sign that proves infeasibility: ``pi W y`` can nowhere reach what the sides ask."""
        ray = ray / max(float(np.abs(ray).max()), 1e-300)
        cost, mine = np.zeros((1, self.form.shape[1])), None if values is None else values[None]
        inside = self._rays(cost, mine)
        candidates = []
        for signed in (ray, -ray):
            pi, constant = self.form.minorants(self.form.cleaned(signed)[None], cost, mine, inside)
            dual = DualVertex(pi[0], float(constant[0]))
            candidates.append((float(dual.values(lower[None], upper[None])[0]), dual))
        return max(candidates, key=lambda pair: pair[0])[1]

    def basis(self) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
        """Basic columns of the last solution, and where each column is."""
        status = self.program.basis()
        kinds = highspy.HighsBasisStatus
        found = np.array([int(one) for one in (*status.col_status, *status.row_status)])
        form = self.form
        below = np.isfinite(np.r_[form.y_lower, form.row_lower])
        above = np.isfinite(np.r_[form.y_upper, form.row_upper])
        at = np.where(below & ((found == int(kinds.kLower)) | ~above), LOWER, np.where(above, UPPER, ZERO))
        at[found == int(kinds.kBasic)] = BASIC
        return np.flatnonzero(at == BASIC), at.astype(np.int8)
