"""The dual simplex method for many scenarios at once, each from a dual vertex that is nearly optimal for it.

Between two calls of an oracle few columns of a scenario's basis change, and a solver that is begun anew takes longer to
be told of a program than to solve it. Nothing proven rests on what is found here: each basis is tried after it.
"""

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix
from oracle_opt.oracles.benders.standard_form import FEASIBLE, StandardForm
from oracle_opt.oracles.benders.vertices import BASIC, LOWER, UPPER, ZERO, Indices, Vertices

_BLOCK = 1 << 17  # entries of the inverses of the scenarios done together: they stay in the cache
LARGEST = 300  # rows of a program from which HiGHS with its sparse factors is faster
_ENTRIES = 1 << 22  # of the program as an array
_PIVOT = 1e-7  # smallest entry that is a pivot, and largest difference between two ways to compute it


def small_enough(shape: tuple[int, int]) -> bool:
    """Whether inverses of the bases of so many rows and columns are worth keeping."""
    m, k = shape
    return bool(m <= LARGEST and m * (k + m) <= _ENTRIES)


def optimal_bases(
    form: StandardForm, begun: Vertices, which: Indices, cost: Matrix, values: Matrix | None, lower: Matrix,
    upper: Matrix,
) -> tuple[NDArray[np.bool_], Indices, NDArray[np.int8]]:  # fmt: skip
    """Bases that are optimal for these sides."""
    m, k = form.shape
    done = np.zeros(len(which), dtype=bool)
    basic, at = np.empty((len(which), m), dtype=np.intp), np.empty((len(which), k + m), dtype=np.int8)
    step = max(1, _BLOCK // m**2)
    for start in range(0, len(which), step):
        part = np.arange(start, min(start + step, len(which)))
        mine = None if values is None else values[part]
        block = _Block(form, begun, which[part], cost if len(cost) == 1 else cost[part], mine, lower[part], upper[part])
        for _ in range(3 * m + 50):
            ended = block.optimal()
            if ended.any():
                ids = part[block.line[ended]]
                done[ids] = True
                basic[ids], at[ids] = block.basic[ended], block.at[ended]
                block.keep(~ended)
            if not len(block.line):
                break
            block.keep(block.pivot())
            if not len(block.line):
                break
    return done, basic[done], at[done]


class _Block:
    """Some scenarios at their current bases."""

    def __init__(
        self, form: StandardForm, begun: Vertices, which: Indices, cost: Matrix, values: Matrix | None, lower: Matrix,
        upper: Matrix,
    ) -> None:  # fmt: skip
        self.form, self.values = form, values
        self.line = np.arange(len(which))
        self.inverse, self.basic, self.at = begun.inverse[which], begun.basic[which], begun.at[which]
        self.z = begun.basics(which, lower, upper)
        pi = begun.multipliers[which]
        self.reduced = np.hstack([cost - form.pulled(pi, values), pi])
        self.lower = np.hstack([np.broadcast_to(form.y_lower, (len(which), form.shape[1])), lower])
        self.upper = np.hstack([np.broadcast_to(form.y_upper, (len(which), form.shape[1])), upper])
        self.below = self.missed = np.zeros_like(self.z)

    def keep(self, some: NDArray[np.bool_]) -> None:
        """Go on with these alone."""
        if some.all():
            return
        for name in ("line", "inverse", "basic", "at", "z", "reduced", "lower", "upper", "below", "missed"):
            setattr(self, name, getattr(self, name)[some])
        if self.values is not None:
            self.values = self.values[some]

    def optimal(self) -> NDArray[np.bool_]:
        """Where the basic columns are within their bounds; elsewhere, what to pivot on is known."""
        low, high = np.take_along_axis(self.lower, self.basic, 1), np.take_along_axis(self.upper, self.basic, 1)
        self.below = low - self.z
        missed = np.maximum(self.below, self.z - high)
        # half of the tolerance, as a basis is tried in other arithmetic
        self.missed = np.where(missed > 0.5 * FEASIBLE * (1.0 + np.abs(self.z)), missed, 0.0)
        return np.asarray(~self.missed.any(axis=1))

    def pivot(self) -> NDArray[np.bool_]:
        """One pivot each: the row of the steepest dual edge, and the column where a reduced cost becomes 0 first."""
        lines = np.arange(len(self.line))
        row = (self.missed**2 / np.einsum("bij,bij->bi", self.inverse, self.inverse)).argmax(axis=1)
        up = self.below[lines, row] > 0  # it rises to its lower bound
        rho = self.inverse[lines, row]
        alpha = np.hstack([self.form.pulled(rho, self.values), -rho])
        # along the edge a reduced cost changes by -t times this, t >= 0
        slope = np.where(up, -1.0, 1.0)[:, None] * alpha
        # a reduced cost on its wrong side, by rounding, is at 0
        size, far = np.abs(slope), np.maximum(np.where(self.at == UPPER, -self.reduced, self.reduced), 0.0)
        able = ((self.at == LOWER) & (slope > _PIVOT)) | ((self.at == UPPER) & (slope < -_PIVOT))
        able |= (self.at == ZERO) & (size > _PIVOT)
        able &= ~self.form.fixed
        size = np.where(able, size, 1.0)
        # of those within the tolerance of the first, the largest pivot (Harris)
        first = np.where(able, (far + FEASIBLE) / size, np.inf).min(axis=1)
        enter = np.where(able & (far <= first[:, None] * size), size, 0.0).argmax(axis=1)
        column = np.matmul(self.inverse, self.form.column(enter, self.values)[:, :, None])[:, :, 0]
        at_pivot = column[lines, row]
        good = np.isfinite(first) & (np.abs(at_pivot) > 0.5 * _PIVOT)
        good &= np.abs(at_pivot - alpha[lines, enter]) <= _PIVOT * (1.0 + np.abs(at_pivot))
        at_pivot = np.where(good, at_pivot, 1.0)
        leave = self.basic[lines, row]
        # dual step: backward where the entering reduced cost is on its wrong side, lest what it misses doubles
        theta = self.reduced[lines, enter] / np.where(good, alpha[lines, enter], 1.0)
        self.reduced -= theta[:, None] * alpha
        self.reduced[lines, leave], self.reduced[lines, enter] = -theta, 0.0
        # primal step
        target = np.where(up, self.lower[lines, leave], self.upper[lines, leave])
        rise = (self.z[lines, row] - target) / at_pivot
        where = self.at[lines, enter]
        begin = np.where(
            where == LOWER, self.lower[lines, enter], np.where(where == UPPER, self.upper[lines, enter], 0.0)
        )
        self.z -= rise[:, None] * column
        self.z[lines, row] = begin + rise
        self.at[lines, leave], self.at[lines, enter] = np.where(up, LOWER, UPPER), BASIC
        self.basic[lines, row] = enter
        column[lines, row] -= 1.0
        self.inverse -= column[:, :, None] * (rho / at_pivot[:, None])[:, None, :]
        return np.asarray(good)
