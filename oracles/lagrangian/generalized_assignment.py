"""The knapsack relaxation of the generalized assignment problem."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import flag, floats, real
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.domains import Box
from oracle_opt.errors import InvalidArgument, InvalidData
from oracle_opt.oracles.lagrangian.assignments import jobs_of, most_worth
from oracle_opt.oracles.lagrangian.lagrangian_oracle import (
    LagrangianOracle,
    finite_reach,
)
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined
from oracle_opt.oracles.lagrangian.relaxed_solution import RelaxedSolution, by_row, positions
from oracle_opt.oracles.lagrangian.subproblems import PARTS, Subproblems
from oracle_opt.proof.claim import Bound
from oracle_opt.reading import Words, data_of


@dataclass(frozen=True, eq=False)
class Knapsacks:
    """The relaxed problem: a knapsack for each agent."""

    costs: NDArray[np.float64]
    uses: NDArray[np.int64]
    capacities: NDArray[np.int64]
    maximize: bool

    def chosen(self, u: Vector, first: int, last: int) -> NDArray[np.bool_]:
        """Which jobs are best for agents `first` to `last` - 1 at these multipliers."""
        part = slice(first, last)
        worth = self.costs[part] - u if self.maximize else -(self.costs[part] + u)
        return best_choices(worth, self.uses[part], self.capacities[part])


def best_choices(worth: Matrix, size: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.bool_]:
    """0-1 choices of the largest worth within the capacities, a row a knapsack.

    Bounds settle most (Dembo & Hammer 1980, see docs/theory_benders.md), dynamic programming decides on the others.
    """
    wanted = (worth > 0) & (size <= capacity[:, None])
    chosen: NDArray[np.bool_] = wanted & (size == 0)
    items = wanted & (size > 0)
    sizes = np.where(items, size, 0)
    chosen |= items & (sizes.sum(axis=1) <= capacity)[:, None]
    rows = np.flatnonzero(sizes.sum(axis=1) > capacity)
    if not rows.size:
        return chosen
    items, sizes, limit = items[rows], sizes[rows], capacity[rows]
    values = np.where(items, worth[rows], 0.0)
    ratio = np.divide(values, sizes, out=np.full(values.shape, -1.0), where=items)
    order = np.argsort(-ratio, axis=1, kind="stable")
    by_size, by_value = (np.take_along_axis(one, order, axis=1) for one in (sizes, values))
    cumulated = np.cumsum(by_size, axis=1)
    at = np.arange(len(rows))
    broken = (cumulated > limit[:, None]).argmax(axis=1)
    left = limit - cumulated[at, broken] + by_size[at, broken]
    taken = np.cumsum(by_value, axis=1)[at, broken] - by_value[at, broken]
    price = by_value[at, broken] / by_size[at, broken]
    most, least = taken + left * price, taken
    # items after the break item that fit, in their order
    after = (np.arange(order.shape[1]) > broken[:, None]) & (by_size > 0)
    while True:
        fits = after & (by_size <= left[:, None])
        if not fits.any():
            break
        first = fits.argmax(axis=1)
        found = fits[at, first]
        least = least + np.where(found, by_value[at, first], 0.0)
        left = left - np.where(found, by_size[at, first], 0)
        after[at, first] = False
    # sums of at most n worths, each rounded
    doubt = 8.0 * EPS * (worth.shape[1] + 4) * values.sum(axis=1)
    settled = items & (most[:, None] - np.abs(values - price[:, None] * sizes) < (least - doubt)[:, None])
    sure = settled & (ratio > price[:, None])
    for row, i in enumerate(rows):
        picked = sure[row]
        open_ones = np.flatnonzero(items[row] & ~settled[row])
        room = int(limit[row] - sizes[row, picked].sum())
        chosen[i] |= picked
        chosen[i, open_ones[_knapsack(values[row, open_ones], sizes[row, open_ones], room)]] = True
    return chosen


def _knapsack(worth: Vector, size: NDArray[np.int64], capacity: int) -> NDArray[np.intp]:
    """The items of the best choice: ``best[c] = max(best[c], best[c - size] + worth)``."""
    if size.sum() <= capacity:
        return np.arange(len(size))
    best = np.zeros(capacity + 1)
    taken = np.zeros((len(size), capacity + 1), dtype=bool)
    for row, s, w in zip(taken, size.tolist(), worth.tolist(), strict=True):
        if s <= capacity:
            with_it = best[:-s] + w
            np.greater(with_it, best[s:], out=row[s:])
            np.maximum(with_it, best[s:], out=best[s:])
    left, chosen = capacity, []
    for j in range(len(size) - 1, -1, -1):
        if taken[j, left]:
            chosen.append(j)
            left -= int(size[j])
    return np.array(chosen, dtype=np.intp)


_TABLE = 2e9  # entries of the dynamic program's table, bytes


class GeneralizedAssignmentOracle(LagrangianOracle):
    """Jobs to agents of limited capacity: ``every job to exactly one agent`` is relaxed, a knapsack per agent is left.

    The best bound is that of the convex hulls of the knapsacks, better than the linear relaxation's.

    Parameters
    ----------
    costs : array_like of shape (m, n)
        Costs of job j on agent i; profits for `maximize`.
    uses : array_like of int of shape (m, n)
        Resource that job j uses on agent i, at least 0.
    capacities : array_like of int of shape (m,)
        Capacities of the agents, at least 0.
    maximize : bool
        Whether costs are profits.
    multicut : bool
        Answer with the agents as `summands`, default not.
    radius : float, optional
        Half the edge of the cube in which best multipliers are stated to lie, around each job's least cost (largest
        profit); default is ten times the difference between the largest and the smallest cost.
    executor : concurrent.futures.Executor, optional
        Solves the knapsacks: threads, processes, or ``client.get_executor(pure=False)`` of a Dask client. It is the
        user's to shut down. A task is sent the multipliers, a number for each job, and brings back a byte for each job
        of its agents. It pays where a knapsack takes milliseconds; no answer depends on it.
    parts : int
        Tasks that the agents are cut into.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, uses or capacities that are no integers or negative, a job that fits no agent. Also
        capacities so large that the table of a knapsack, capacity by jobs, has more than 2e9 entries.

    Notes
    -----
    The knapsacks, whose worths are real and sizes integer, are solved exactly by dynamic programming over the capacity.
    `solution` of an answer is the 0-1 matrix of shape (m, n), or its row with `multicut`; `compact` holds the numbers
    ``i * n + j`` of its ones, which prove the cut. `recover` gives the `arrays`
    "shares", shape (m, n): how much of job j agent i does on average.

    References
    ----------
    .. [1] Ross, Soland (1975), "A branch and bound algorithm for the generalized assignment problem", Math. Prog.
       8:91-103.
    .. [2] Fisher, Jaikumar, Van Wassenhove (1986), "A multiplier adjustment method for the generalized assignment
       problem", Manag. Sci. 32:1095-1103.

    Examples
    --------
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import GeneralizedAssignmentOracle
    >>> oracle = GeneralizedAssignmentOracle([[1, 2, 3], [4, 4, 1]], [[2, 2, 2], [1, 1, 1]], [3, 2])
    >>> round(oracle.dual_bound(minimize(oracle, Kelley())), 4)
    6.0
    """

    polyhedral = True

    def __init__(
        self,
        costs: ArrayLike,
        uses: ArrayLike,
        capacities: ArrayLike,
        *,
        maximize: bool = False,
        multicut: bool = False,
        radius: float | None = None,
        executor: Executor | None = None,
        parts: int = PARTS,
    ) -> None:
        maximize, c = flag("maximize", maximize), floats("costs", costs)
        if c.ndim != 2 or not c.size:
            raise InvalidArgument(f"`costs` must have shape (m, n), agents by jobs, got {c.shape}")
        if not np.isfinite(c).all():
            raise InvalidArgument(f"`costs` must be finite, got {c[~np.isfinite(c)][0]}")
        self.costs = c
        self.uses = _counts("uses", uses, c.shape)
        self.capacities = _counts("capacities", capacities, c.shape[:1])
        self.multicut = flag("multicut", multicut)
        table = c.shape[1] * (1.0 + np.minimum(self.capacities, self.uses.sum(axis=1)).max())
        if table > _TABLE:
            raise InvalidArgument(
                f"`capacities` are so large that a knapsack's table has {table:.2g} entries, more than {_TABLE:.2g}; "
                "scale and round them and `uses`"
            )
        fits = self.uses <= self.capacities[:, None]
        if not fits.any(axis=0).all():
            job = int(np.flatnonzero(~fits.any(axis=0))[0])
            raise InvalidArgument(f"`uses` must let every job fit some agent, and job {job} fits none")
        best = np.where(fits, c, -np.inf).max(axis=0) if maximize else np.where(fits, c, np.inf).min(axis=0)
        with np.errstate(over="ignore"):
            most = 10.0 * max(float(np.ptp(c)), 1.0)
        reach = finite_reach("costs", most) if radius is None else real("radius", radius, above=0.0)
        # the relaxed problem pays u[j] for job j and gets -u[j] back from the constraint: around minus its cost
        middle = best if maximize else -best
        data = digest(c, self.uses, self.capacities)
        knapsacks = Knapsacks(c, self.uses, self.capacities, maximize)
        self._agents = Subproblems(knapsacks, len(c), executor, parts, "costs")
        super().__init__(
            self._knapsacks,
            np.ones(c.shape[1]),
            maximize=maximize,
            domain=Box(middle - reach, middle + reach, promised=True),
            name=f"knapsacks #{data}{', an agent a summand' if multicut else ''}",
        )
        self._count = len(c) if self.multicut else 1

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        maximize: bool = False,
        multicut: bool = False,
        radius: float | None = None,
        executor: Executor | None = None,
        parts: int = PARTS,
    ) -> GeneralizedAssignmentOracle:
        """Read one problem of the OR-Library at `path`: m n, m rows of n costs, m rows of n uses, m capacities.

        `maximize`, `multicut`, `radius`, `executor` and `parts` are as above. `InvalidData` names what cannot be read,
        with its line.
        """
        words = Words.of_file(Path(path))
        m, n = words.count(0, "agents"), words.count(1, "jobs")
        if len(words) != 2 + 2 * m * n + m:
            raise InvalidData(
                f"{path} must hold m n, m * n costs, m * n uses and m capacities, got {len(words)} numbers"
            )
        numbers = words.numbers()
        costs, uses = numbers[2 : 2 + 2 * m * n].reshape(2, m, n)
        with data_of(Path(path), "radius", "executor", "parts"):
            return cls(
                costs,
                uses,
                numbers[-m:],
                maximize=maximize,
                multicut=multicut,
                radius=radius,
                executor=executor,
                parts=parts,
            )

    def _arrays(self, points: Sequence[Vector], weights: Matrix) -> dict[str, Any]:
        shares = np.zeros(self.costs.shape)
        for u, row in zip(points, weights, strict=True):
            shares += row[:, None] * self._chosen(u)
        return {"shares": shares}

    def _chosen(self, u: Vector) -> Matrix:
        """Which jobs are best for each agent at these multipliers, a 0-1 matrix of shape (m, n)."""
        return np.vstack(self._agents.solve(Knapsacks.chosen, u)).astype(float)

    def _knapsacks(self, u: Vector) -> RelaxedSolution | Sequence[RelaxedSolution]:
        worth = self.costs - u if self.maximize else -(self.costs + u)
        chosen = self._chosen(u)
        # each worth is rounded once, each entry of a table is a sum of them
        missed = 2.0 * EPS * (len(u) + 2) * (np.abs(self.costs) + np.abs(u)).sum(axis=1, where=worth > 0)
        missed *= -1.0 if self.maximize else 1.0
        compact = positions(chosen)
        pulls = chosen @ u * (-1.0 if self.maximize else 1.0)
        if self.multicut:
            costs = [fsum(c[x > 0]) for c, x in zip(self.costs, chosen, strict=True)]
            bounds = costs + pulls - missed
            answers = zip(costs, chosen, bounds.tolist(), by_row(compact, *chosen.shape), strict=True)
            return [RelaxedSolution(cost, x, solution=x, bound=bound, compact=some) for cost, x, bound, some in answers]
        cost = fsum(self.costs[chosen > 0])
        bound = cost + float(pulls.sum() - missed.sum())
        return RelaxedSolution(cost, chosen.sum(axis=0), solution=chosen, bound=bound, compact=compact)

    def _examined(self, witness: Mapping[str, Any], summand: int | None, exact: bool) -> Examined | None:
        return jobs_of(self.costs, self.uses, self.capacities, witness, summand, exact)

    def relaxed_bound(self, u: Vector, exact: bool = False) -> Bound:
        """Cost of the best knapsacks by dynamic programming, in floats rounded down (up for `maximize`)."""
        sign = -1 if self.maximize else 1
        return -sign * most_worth(self.costs, self.uses, self.capacities, u, sign, exact)


def _counts(name: str, given: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    values = floats(name, given)
    if values.shape != shape:
        raise InvalidArgument(f"`{name}` must have shape {shape}, got {values.shape}")
    wrong = ~((values >= 0) & (values == np.floor(values)) & (values < 2**31))
    if wrong.any():
        raise InvalidArgument(f"`{name}` must be integers of at least 0, got {values[wrong][0]}; scale and round them")
    return values.astype(np.int64)
