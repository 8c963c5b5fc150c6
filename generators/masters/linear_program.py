"""Linear programs over the cuts, one row per cut: the least point of the model, of the multicut one, a largest ball."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain
from oracle_opt._highs_model import units_of_sizes
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.generators.masters.feasible_points import prove_empty
from oracle_opt.generators.masters.highs import TOLERANCE, LPFailure, WarmLP

NONE, EMPTY = np.zeros(0, dtype=np.intp), np.zeros(0)
FIRST_COLUMNS = 50
ROUNDS = 50  # limit on the rounds of adding columns
LARGE = 1e3  # a range above it may be large for want of knowledge
FINEST = 1e-7  # share of the largest entry of a row that its side counts as at least
FLAT = 1e-6  # share of a slope below which its part in the affine hull is not told from rounding


@dataclass(frozen=True, eq=False)
class ModelMinimum:
    """Where a model is least.

    Attributes
    ----------
    point : ndarray of shape (n,)
        A minimizer, a point of the domain.
    value : float
        The model there; -inf without objective cuts.
    objective, feasibility, summands : ndarray
        Multipliers of the rows of `CutPool.objective`, `CutPool.feasibility` and `CutPool.summands`, up to a common
        factor: `CutPool.minorant` makes the proof of them.
    """

    point: Vector
    value: float
    objective: Vector
    feasibility: Vector
    summands: Vector


class CutLP(ABC):
    """``min t`` over z of the domain and t; a row per cut, ``scale_i (slope_i @ z + constant_i - level) <= w_i t``.

    Columns join by reduced costs ("sifting"), see docs/theory_methods.md; Bixby et al. (1992), listed in
    docs/theory.md.
    """

    def __init__(self, domain: Domain, t_lower: float, t_upper: float, n_heights: int = 1) -> None:
        constraints = domain.linear_constraints()
        assert constraints is not None
        self._domain = domain
        self._constraints = constraints
        self._bounds = constraints.lower, constraints.upper
        self._n_heights = n_heights
        self._lp = WarmLP(np.ones(n_heights), np.full(n_heights, t_lower), np.full(n_heights, t_upper))
        self._units = np.ones(domain.dimension)  # of the variables
        self._objective = CutRows()
        self._feasibility = CutRows()
        self._columns = NONE  # variables of the program, in its order, after t
        self._outside = np.ones(domain.dimension, dtype=bool)
        self._level = np.nan

    @abstractmethod
    def _current_level(self, pool: CutPool) -> float:
        """Level of the objective rows; that of feasibility rows is 0. Called before cuts are taken up."""

    @abstractmethod
    def _factors(self, slopes: Matrix) -> tuple[Vector, Vector]:
        """Scale and w of the rows of these objective cuts."""

    def _feasibility_factors(self, slopes: Matrix, constants: Vector) -> tuple[Vector, Vector]:
        """Scales in which the side of a row is 1, so that tolerances are relative to it, and no part in t."""
        largest = np.abs(slopes * self._units).max(axis=1)
        return 1.0 / np.clip(np.abs(constants), FINEST * largest, largest), np.zeros(len(slopes))

    def _groups(self, pool: CutPool) -> list[tuple[CutRows, Rows]]:
        """All rows of cuts: as they stand in the program, and in the pool."""
        return [(self._feasibility, pool.feasibility), (self._objective, pool.objective)]

    def _heights(self, weights: Vector, summands: NDArray[np.intp], of: CutRows) -> Matrix:
        """Coefficients of t in the rows of some cuts with these w."""
        return -weights[:, None]

    def _levels(self, level: float, summands: NDArray[np.intp], of: CutRows) -> Vector | float:
        """Levels of the rows of some cuts."""
        return 0.0 if of is self._feasibility else level

    def solve(self, pool: CutPool) -> ModelMinimum | None:
        """Take up new cuts and minimize, -inf without objective cuts; `None` if the others leave nothing."""
        self._take_up(pool)
        solved = self._lp.solve()
        if solved is None and self._outside.any():
            self._add_columns(pool, np.flatnonzero(self._outside))
            solved = self._lp.solve()
        for _ in range(ROUNDS):
            if solved is None:
                break
            wanted = self._wanted(pool, solved[1])
            if not len(wanted):
                break
            self._add_columns(pool, wanted)
            solved = self._lp.solve()
        if solved is None:
            ray = self._lp.ray
            if len(ray) and prove_empty(self._domain, pool.feasibility, self._feasibility.multipliers(ray)):
                return None
            raise LPFailure("HiGHS calls the rows contradictory, and no multipliers prove it")
        solution, duals = solved
        point = np.zeros(self._domain.dimension)
        point[self._columns] = solution[self._n_heights :]
        point = self._domain.project(point)
        whole, outer = self._objective.multipliers(duals), self._feasibility.multipliers(duals)
        return ModelMinimum(point, pool.value(point), whole, outer, self._part_multipliers(duals, pool))

    def bound(self, lower: Vector, upper: Vector, pool: CutPool) -> None:
        """Take other bounds of the domain's variables; columns outside must still be able to stand at zero."""
        self._bounds = lower, upper
        self._add_columns(pool, np.flatnonzero(self._outside & (lower > 0)))
        for place, column in enumerate(self._columns, start=self._n_heights):
            self._lp.change_column_bounds(place, lower[column], upper[column])

    def keep(self, mask: NDArray[np.bool_], summands: NDArray[np.bool_]) -> None:
        """Drop the objective cuts, and those of summands, that the pool dropped."""
        self._drop(self._objective, mask, [self._feasibility])

    def _part_multipliers(self, duals: Vector, pool: CutPool) -> Vector:
        """Multipliers of the cuts of summands, which are not in this program."""
        return np.zeros(len(pool.summands)) if pool.n_summands else EMPTY

    def _drop(self, known: CutRows, mask: NDArray[np.bool_], others: list[CutRows]) -> None:
        mask = mask[: len(known.places)]  # the newest cuts are not in a program that failed to take them up
        gone = np.sort(known.places[~mask])
        self._lp.delete_rows(gone)
        known.places, known.scales = known.places[mask], known.scales[mask]
        for rows in (known, *others):
            rows.places -= np.searchsorted(gone, rows.places)

    def _begin(self, slope: Vector) -> None:
        """Choose units of the variables, by which tolerances become relative, and add the equations.

        A unit is the range or, where that says little, what moves the function of this `slope` as others do.
        """
        lower, upper = self._domain.bounding_box()
        ranges = upper - lower
        units = units_of_sizes(np.minimum(ranges, 1.0))
        moves = np.abs(slope) * units
        wide = ranges > LARGE
        least = float(moves[~wide].max(initial=0.0)) or float(moves.max())
        natural = np.divide(least, moves, out=np.ones(len(slope)), where=moves > 0)
        units[wide] = units_of_sizes(np.clip(natural, 1.0, ranges))[wide]
        self._units = units
        rhs, rows = self._constraints.equality_rhs, np.abs(self._constraints.equality_matrix * units)
        sizes = units_of_sizes(rows.max(axis=1, initial=0.0))
        self._lp.add_rows(np.zeros((len(rhs), self._n_heights)), rhs, rhs, 1.0 / sizes)

    def _take_up(self, pool: CutPool) -> None:
        if not len(self._columns):
            first = next(rows.row(0) for _, rows in self._groups(pool) if len(rows))
            self._begin(pool.objective.row(0) if len(pool.objective) else first)
            self._first_columns(first)
        level = self._current_level(pool)
        if level != self._level:
            self._level = level
            known = self._objective
            sides = (level - pool.objective.constant[: len(known.places)]) * known.scales
            self._lp.change_rows_upper(known.places, sides)
        for known, rows in self._groups(pool):
            self._take_up_rows(known, rows, level)

    def _take_up_rows(self, known: CutRows, rows: Rows, level: float) -> None:
        new = slice(len(known.places), len(rows.constant))
        if new.start == new.stop:
            return
        slopes = np.array([rows.row(i) for i in range(new.start, new.stop)])
        constants, summands, heights = rows.constant[new], rows.summand[new], self._n_heights
        if known is self._feasibility:
            scales, weights = self._feasibility_factors(slopes, constants)
        else:
            scales, weights = self._factors(slopes)
        matrix = np.empty((len(slopes), heights + len(self._columns)))
        matrix[:, :heights] = self._heights(weights, summands, known)
        np.multiply(slopes[:, self._columns], scales[:, None], out=matrix[:, heights:])
        sides = (self._levels(level, summands, known) - constants) * scales
        first = self._lp.n_rows
        self._lp.add_rows(matrix, np.full(len(slopes), -np.inf), sides)
        known.places = np.concatenate([known.places, np.arange(first, first + len(slopes))])
        known.scales = np.concatenate([known.scales, scales])

    def _first_columns(self, slope: Vector) -> None:
        """Begin with the columns of least slope and a vertex; with all, where one left out would not stand at zero."""
        chosen = np.zeros(len(slope), dtype=bool)
        chosen[np.argpartition(slope, min(FIRST_COLUMNS, len(slope) - 1))[:FIRST_COLUMNS]] = True
        chosen |= self._domain.minimize_linear(slope)[1] != 0
        may_wait = not self._constraints.lower.any() and np.isinf(self._constraints.upper).all()
        if not may_wait or len(slope) <= 2 * FIRST_COLUMNS:
            chosen[:] = True
        self._insert(np.flatnonzero(chosen), self._constraints.equality_matrix[:, chosen])

    def _wanted(self, pool: CutPool, duals: Vector) -> NDArray[np.intp]:
        """Columns outside with the most negative reduced costs, at most as many as there are inside."""
        if len(self._columns) == self._domain.dimension:
            return NONE
        paid = duals[: len(self._constraints.equality_rhs)] @ self._constraints.equality_matrix
        reduced = sum(rows.combine(known.multipliers(duals)) for known, rows in self._groups(pool)) - paid
        reduced *= self._units
        wanted = (self._outside & (reduced < -TOLERANCE)).nonzero()[0]
        return wanted[np.argsort(reduced[wanted])[: max(FIRST_COLUMNS, len(self._columns))]]

    def _add_columns(self, pool: CutPool, columns: NDArray[np.intp]) -> None:
        matrix = np.empty((self._lp.n_rows, len(columns)))
        matrix[: len(self._constraints.equality_rhs)] = self._constraints.equality_matrix[:, columns]
        for known, rows in self._groups(pool):
            matrix[known.places] = rows.block(np.arange(len(rows)), columns) * known.scales[:, None]
        self._insert(columns, matrix)

    def _insert(self, columns: NDArray[np.intp], matrix: Matrix) -> None:
        lower, upper = self._bounds
        lower, upper = lower[columns], upper[columns]
        self._lp.add_columns(lower, upper, matrix, self._units[columns])
        self._columns = np.r_[self._columns, columns]
        self._outside[columns] = False


class CutRows:
    """Where the rows of the pool's objective cuts, or of others, stand in the program, and their factors."""

    def __init__(self) -> None:
        self.places = NONE
        self.scales = np.zeros(0)

    def multipliers(self, duals: Vector) -> Vector:
        """Multipliers of the cuts as they stand in the pool."""
        return np.maximum(-duals[self.places], 0.0) * self.scales if len(self.places) else EMPTY


class ModelLP(CutLP):
    """``min theta`` subject to ``theta >= constant_i + slope_i @ z``, feasibility cuts and the domain.

    theta is counted from the best first cut, in units of its slope. A row is divided by the geometric mean of this unit
    and its largest entry: tolerances mean the same on every problem, and no entry is as small as zero to HiGHS.
    """

    def __init__(self, domain: Domain) -> None:
        # theta stays fixed until the first objective cut bounds it from below
        super().__init__(domain, 0.0, 0.0)
        self._unit = 0.0
        self._origin = 0.0

    def _current_level(self, pool: CutPool) -> float:
        if not self._unit and len(pool.objective):
            best = pool.best  # None where no value is known, as of cuts of an earlier run
            slope = pool.objective.row(0) if best is None else best.subgradient
            constant = pool.objective.constant[0] if best is None else best.constant
            self._unit = float(np.abs(slope * self._units).max()) or 1.0
            self._origin = float(constant + slope @ self._domain.interior_point())
            self._lp.change_column_bounds(0, -np.inf, np.inf)
        return self._origin

    def _factors(self, slopes: Matrix) -> tuple[Vector, Vector]:
        return row_factors(slopes * self._units, self._unit)


def row_factors(slopes: Matrix, unit: float) -> tuple[Vector, Vector]:
    """Scale of each row, and the coefficient of theta in it, with theta counted in this unit."""
    largest = np.abs(slopes).max(axis=1)
    scales = 1.0 / np.sqrt(np.maximum(largest, 1e-12 * unit) * unit)
    return scales, unit * scales


class ChebyshevLP(CutLP):
    """``max r`` such that the ball of radius r around z fits: ``(constant_i + slope_i @ z - upper) / norm_i + r <= 0``.

    See docs/theory_methods.md, "The largest ball"; a norm_i is at least a millionth of the norm of the whole slope.
    """

    def __init__(self, domain: Domain) -> None:
        super().__init__(domain, -np.inf, 0.0)
        lower, upper = domain.bounding_box()
        self._wide = None if (lower < upper).all() else lower < upper

    def _begin(self, slope: Vector) -> None:
        super()._begin(slope)
        # an orthonormal basis of the equalities' normals, to project slopes on the affine hull
        normals = (self._constraints.equality_matrix * self._units).T
        self._normals = np.linalg.qr(normals)[0] if normals.size else None
        lower, upper = self._domain.bounding_box()
        diameter = float(np.linalg.norm((upper - lower) / self._units))
        self._lp.change_column_bounds(0, -diameter, 0.0)

    def _current_level(self, pool: CutPool) -> float:
        return pool.upper

    def _factors(self, slopes: Matrix) -> tuple[Vector, Vector]:
        slopes = slopes * self._units
        inside = slopes if self._normals is None else slopes - (slopes @ self._normals) @ self._normals.T
        if self._wide is not None:  # fixed variables are not in the affine hull
            inside = inside * self._wide
        norms = np.maximum(np.linalg.norm(inside, axis=1), FLAT * np.linalg.norm(slopes, axis=1))
        return 1.0 / np.where(norms > 0, norms, 1.0), np.ones(len(slopes))

    def _feasibility_factors(self, slopes: Matrix, constants: Vector) -> tuple[Vector, Vector]:
        return self._factors(slopes)  # the ball has to fit between these, too


class MulticutLP(CutLP):
    """``min sum_j theta_j`` with ``theta_j >= constant_i + slope_i @ z`` for the cuts i of the summand j.

    Whole cuts bound the sum of all theta_j; units are those of `ModelLP`. Birge & Louveaux (1988), "A multicut
    algorithm for two-stage stochastic linear programs".
    """

    def __init__(self, domain: Domain, n_summands: int) -> None:
        super().__init__(domain, -np.inf, np.inf, n_summands)
        self._summands = CutRows()
        self._unit = 0.0
        self._origins = np.zeros(n_summands)

    def keep(self, mask: NDArray[np.bool_], summands: NDArray[np.bool_]) -> None:
        """Drop the objective cuts, and those of summands, that the pool dropped."""
        self._drop(self._objective, mask, [self._feasibility, self._summands])
        self._drop(self._summands, summands, [self._feasibility, self._objective])

    def _groups(self, pool: CutPool) -> list[tuple[CutRows, Rows]]:
        return [*super()._groups(pool), (self._summands, pool.summands)]

    def _current_level(self, pool: CutPool) -> float:
        if not self._unit:
            summands = pool.summands
            first = np.unique(summands.summand, return_index=True)[1]
            self._unit = max(float(np.abs(summands.row(i) * self._units).max()) for i in first) or 1.0
            self._origins = summands.constant[first] + summands.products(self._domain.interior_point())[first]
        return float(self._origins.sum())

    def _factors(self, slopes: Matrix) -> tuple[Vector, Vector]:
        return row_factors(slopes * self._units, self._unit)

    def _heights(self, weights: Vector, summands: NDArray[np.intp], of: CutRows) -> Matrix:
        if of is not self._summands:
            return np.tile(-weights[:, None], self._n_heights)
        matrix = np.zeros((len(weights), self._n_heights))
        matrix[np.arange(len(weights)), summands] = -weights
        return matrix

    def _levels(self, level: float, summands: NDArray[np.intp], of: CutRows) -> Vector | float:
        return self._origins[summands] if of is self._summands else super()._levels(level, summands, of)

    def _part_multipliers(self, duals: Vector, pool: CutPool) -> Vector:
        return self._summands.multipliers(duals)
